//! Bodies too long for a line: `blobs/<sha256>`, durable before the record that names them (ENGINE 1).
//!
//! - Asked by the file that appends and by whatever reads a record.
//! - A blob has its name only once it is whole and durable: written beside, synced, renamed, folder synced.
//! - A blob that no record names (its append failed) stays: the batch may come again, and it costs room only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::dir::{create_private, hex, sync_dir};
use crate::error::Fault;

/// A body on its way to the disk.
#[derive(Debug)]
pub(crate) struct Blob {
    hash: String,
    bytes: Vec<u8>,
}

impl Blob {
    /// Returns the blob of `bytes`.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { hash: hex(&Sha256::digest(&bytes)), bytes }
    }

    /// Returns the SHA-256 of its bytes, hexadecimal.
    #[cfg(test)]
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns what stands in the line instead.
    pub(crate) fn reference(&self) -> BlobRef<'_> {
        BlobRef { blob: &self.hash, bytes: self.bytes.len() as u64 }
    }
}

/// What stands in a line in place of a long body.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlobRef<'a> {
    /// SHA-256, hexadecimal.
    blob: &'a str,
    /// Length in bytes.
    bytes: u64,
}

impl<'a> BlobRef<'a> {
    /// Returns the reference that `body` is, if it is one.
    pub(crate) fn of_body(body: &'a [u8]) -> Option<Self> {
        if !body.starts_with(b"{\"blob\":\"") {
            return None; // Nearly every body.
        }
        let reference: Self = serde_json::from_slice(body).ok()?;
        // The hash becomes a file's name: it must not be able to lead elsewhere.
        let is_hash = reference.blob.len() == 64
            && reference.blob.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hash.then_some(reference)
    }
}

/// The blobs of one session.
#[derive(Debug)]
pub(crate) struct Blobs {
    dir: PathBuf,
}

impl Blobs {
    /// Returns the blobs of the session in folder `session`; nothing is touched.
    pub(crate) fn new(session: &Path) -> Self {
        Self { dir: session.join("blobs") }
    }

    /// Makes `blobs` durable under their names.
    ///
    /// # Errors
    /// The system's; what was half written is gone again as far as possible.
    pub(crate) fn store(&self, blobs: &[Blob]) -> io::Result<()> {
        if blobs.is_empty() {
            return Ok(());
        }
        create_private(&self.dir)?;
        for blob in blobs {
            // A blob that is there was durable before it got its name.
            if self.read(&blob.reference()).is_ok() {
                continue;
            }
            let temporary = self.dir.join(format!("{}{TEMPORARY}", blob.hash));
            let written = write_durably(&temporary, &blob.bytes)
                .and_then(|()| fs::rename(&temporary, self.dir.join(&blob.hash)));
            if let Err(error) = written {
                // What cannot be removed now is removed by the next opening.
                let _ = fs::remove_file(&temporary);
                return Err(error);
            }
        }
        sync_dir(&self.dir)
    }

    /// Reads and verifies a blob.
    ///
    /// # Errors
    /// [`Fault::Blob`] when it is missing, has another length or other bytes, or is not text.
    pub(crate) fn read(&self, reference: &BlobRef<'_>) -> Result<String, Fault> {
        let fault = |problem: String| Fault::Blob { hash: reference.blob.to_owned(), problem };
        let path = self.dir.join(reference.blob);
        let found = fs::metadata(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => fault("is missing".to_owned()),
            _ => fault(format!("cannot be read: {error}")),
        })?;
        // Looked at before it is opened and read: it may have become a pipe, or have any size.
        if !found.is_file() {
            return Err(fault("is not a file".to_owned()));
        }
        if found.len() != reference.bytes {
            return Err(fault(format!("has {} bytes instead of {}", found.len(), reference.bytes)));
        }
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(reference.bytes).read_to_end(&mut bytes))
            .map_err(|error| fault(format!("cannot be read: {error}")))?;
        if hex(&Sha256::digest(&bytes)) != reference.blob {
            return Err(fault("has other bytes than were written".to_owned()));
        }
        String::from_utf8(bytes).map_err(|_| fault("is not text".to_owned()))
    }

    /// Removes what was half written when an earlier owner was killed. Only the session's owner may ask.
    pub(crate) fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().ends_with(TEMPORARY) {
                // One that stays is in nobody's way: the next write of the same blob begins it anew.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// How the name of a blob ends while it is being written.
const TEMPORARY: &str = ".writing";

/// Writes a file (0600) and makes its bytes durable.
fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> (tempfile::TempDir, Blobs, Blob) {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::new(folder.path());
        let blob = Blob::new(text.as_bytes().to_vec());
        blobs.store(std::slice::from_ref(&blob)).expect("stored");
        (folder, blobs, blob)
    }

    #[test]
    fn a_blob_is_read_back_or_named_as_bad() {
        let (folder, blobs, blob) = stored("text");
        assert_eq!(blobs.read(&blob.reference()).as_deref(), Ok("text"));
        let path = folder.path().join("blobs").join(blob.hash());
        for (bytes, problem) in [("texT", "other bytes"), ("tex", "3 bytes instead of 4"), ("", "0 bytes")] {
            fs::write(&path, bytes).expect("written");
            let fault = blobs.read(&blob.reference()).expect_err("damaged").to_string();
            assert!(fault.contains(problem) && fault.contains(blob.hash()), "{fault}");
        }
        blobs.store(std::slice::from_ref(&blob)).expect("a damaged one is replaced");
        assert_eq!(blobs.read(&blob.reference()).as_deref(), Ok("text"));
        fs::remove_file(&path).expect("it is there");
        assert!(blobs.read(&blob.reference()).expect_err("gone").to_string().contains("is missing"));
        fs::create_dir(&path).expect("a folder in its place");
        assert!(blobs.read(&blob.reference()).expect_err("a folder").to_string().contains("not a file"));
    }

    #[test]
    fn half_written_blobs_are_swept() {
        let (folder, blobs, blob) = stored("text");
        let half = folder.path().join("blobs").join(format!("{}{TEMPORARY}", "0".repeat(64)));
        fs::write(&half, "te").expect("written");
        blobs.sweep();
        assert!(!half.exists());
        assert!(blobs.read(&blob.reference()).is_ok());
    }

    #[test]
    fn a_reference_cannot_lead_elsewhere() {
        let of = |blob: &str| {
            BlobRef::of_body(format!("{{\"blob\":\"{blob}\",\"bytes\":1}}").as_bytes()).is_some()
        };
        assert!(of(&"a".repeat(64)));
        assert!(!of(&"A".repeat(64)) && !of(&"a".repeat(63)) && !of(&format!("../{}", "a".repeat(61))));
        let extra = format!("{{\"blob\":\"{}\",\"bytes\":1,\"x\":1}}", "a".repeat(64));
        assert!(BlobRef::of_body(extra.as_bytes()).is_none(), "a body of its own that only begins alike");
    }
}
