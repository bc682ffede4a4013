//! The open file of a journal: what is done to it, and, in tests, the failures of that.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// The file.
#[derive(Debug)]
pub(crate) struct Disk {
    file: File,
    #[cfg(test)]
    pub(crate) faults: std::sync::Arc<faults::Faults>,
}

impl Disk {
    /// Opens `path` for reading and writing, and makes it (0600) when it is missing.
    pub(crate) fn open_or_create(path: &Path) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(Self {
            file,
            #[cfg(test)]
            faults: std::sync::Arc::default(),
        })
    }

    /// Opens the same file once more, through `path`.
    ///
    /// # Errors
    /// The file is gone, or another one is in its place.
    pub(crate) fn reopen(&self, path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let (old, new) = (self.file.metadata()?, file.metadata()?);
        if (old.dev(), old.ino()) != (new.dev(), new.ino()) {
            return Err(io::Error::other("another file is in its place"));
        }
        Ok(Self {
            file,
            #[cfg(test)]
            faults: self.faults.clone(),
        })
    }

    /// Returns the file itself, for reading.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Writes `bytes` at `offset`: one system call unless the system takes only a part.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(test)]
        let bytes = self.faults.write(&self.file, bytes, offset)?;
        self.file.write_all_at(bytes, offset)
    }

    /// Makes what was written durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        #[cfg(test)]
        self.faults.sync()?;
        self.file.sync_data()
    }

    /// Cuts the file to `len` bytes.
    pub(crate) fn cut(&self, len: u64) -> io::Result<()> {
        #[cfg(test)]
        self.faults.cut()?;
        self.file.set_len(len)
    }

    /// Drops the system's copy of the file from memory as far as it can, so that the next read asks the device.
    pub(crate) fn forget_cache(&self) -> io::Result<()> {
        Ok(fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }
}

/// Failures on order.
#[cfg(test)]
pub(crate) mod faults {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::sync::Mutex;

    use rustix::io::Errno;

    /// What fails next; each failure is used once.
    #[derive(Debug, Default)]
    pub(crate) struct Faults {
        pub(crate) write: Mutex<Option<(usize, Errno)>>,
        pub(crate) sync: Mutex<Vec<Errno>>,
        pub(crate) cut: Mutex<Vec<Errno>>,
    }

    impl Faults {
        /// Writes the first bytes that were ordered to get through, and fails; without an order returns `bytes`.
        pub(super) fn write<'a>(&self, file: &File, bytes: &'a [u8], offset: u64) -> io::Result<&'a [u8]> {
            match self.write.lock().expect("not poisoned").take() {
                Some((through, errno)) => {
                    file.write_all_at(&bytes[..through.min(bytes.len())], offset)?;
                    Err(errno.into())
                }
                None => Ok(bytes),
            }
        }

        pub(super) fn sync(&self) -> io::Result<()> {
            self.sync.lock().expect("not poisoned").pop().map_or(Ok(()), |errno| Err(errno.into()))
        }

        pub(super) fn cut(&self) -> io::Result<()> {
            self.cut.lock().expect("not poisoned").pop().map_or(Ok(()), |errno| Err(errno.into()))
        }
    }
}
