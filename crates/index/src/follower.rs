//! Keeps the index of an open session behind its journal, on a thread of its own that nobody waits for.
//!
//! - Told of each commit by [`Poke`]; waits until it is quiet, so that agents at work get the processor.
//! - Owns the writing of the index while the session is open. What it has not done when the process ends, however that
//!   ends, is done by whoever looks next.
//! - A journal that is short gets no index: see [`WORTH_BYTES`].
//! - What goes wrong is said once, and then it is off: the journal has everything.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use maia_journal::Entries;
use maia_protocol::Seq;

use crate::error::IndexError;
use crate::open::{begin_anew, open};
use crate::reader::{Shared, WORTH_BYTES};
use crate::store::Index;

/// How long nothing was committed before the index is worked on.
const QUIET: Duration = Duration::from_millis(300);

/// Records after which it is worked on although it is not quiet: what a reader scans behind it stays short.
const AHEAD: Seq = 20_000;

/// Failures after which it is off.
const FAILURES: u32 = 3;

/// Tells a follower how far the journal is committed. Costs a lock that nobody holds for long.
#[derive(Debug, Default)]
pub struct Poke {
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    seq: Seq,
    stopped: bool,
}

impl Poke {
    /// Says that records up to `seq` are durable.
    pub fn committed(&self, seq: Seq) {
        let mut told = self.lock();
        told.seq = told.seq.max(seq);
        drop(told);
        self.changed.notify_one();
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_one();
    }

    fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is more than `done`, and then until it is quiet or `ahead` records wait; `None` when it is over.
    fn wait(&self, done: Seq, ahead: Seq) -> Option<Seq> {
        let idle = |told: &mut Told| !told.stopped && told.seq <= done;
        let mut told = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        loop {
            if told.stopped {
                return None;
            }
            let seq = told.seq;
            if seq.saturating_sub(done) >= ahead {
                return Some(seq);
            }
            let moved = |told: &mut Told| !told.stopped && told.seq == seq;
            let waited = self.changed.wait_timeout_while(told, QUIET, moved);
            let (next, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                return Some(seq);
            }
            told = next;
        }
    }
}

/// The thread; dropping it lets it end after the batch that it is at.
pub struct Follower {
    poke: Arc<Poke>,
    ended: mpsc::Receiver<()>,
}

impl Follower {
    /// Starts to follow the session in folder `dir`, which this process has open.
    ///
    /// `shared` is where readers find the index. `warn` is called at most once, with why it is off from then on.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        dir: &Path,
        poke: Arc<Poke>,
        shared: Shared,
        warn: impl FnOnce(String) + Send + 'static,
    ) -> io::Result<Self> {
        Self::start_from(dir, WORTH_BYTES, poke, shared, warn)
    }

    /// As [`Follower::start`], for journals of `worth` bytes and more.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start_from(
        dir: &Path,
        worth: u64,
        poke: Arc<Poke>,
        shared: Shared,
        warn: impl FnOnce(String) + Send + 'static,
    ) -> io::Result<Self> {
        let (ending, ended) = mpsc::channel();
        let mut work = Work { dir: dir.to_owned(), worth, poke: poke.clone(), shared, failures: 0 };
        std::thread::Builder::new().name("index".to_owned()).spawn(move || {
            if let Err(error) = work.follow() {
                warn(format!("this session is not indexed any more: {error}"));
            }
            work.shared.put(None);
            drop(work);
            drop(ending);
        })?;
        Ok(Self { poke, ended })
    }

    /// Stops it and waits until it has closed the index, at most `patience`; tells whether it has.
    pub fn stop(self, patience: Duration) -> bool {
        self.poke.stop();
        self.ended_by_itself(patience)
    }

    /// Waits until it has ended, at most `patience`; tells whether it has.
    pub fn ended_by_itself(&self, patience: Duration) -> bool {
        self.ended.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Disconnected)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.poke.stop();
    }
}

/// What the thread has.
struct Work {
    dir: PathBuf,
    worth: u64,
    poke: Arc<Poke>,
    shared: Shared,
    failures: u32,
}

impl Work {
    fn follow(&mut self) -> Result<(), IndexError> {
        // What was there before has waited so long: the first frame comes before it.
        let (mut done, mut ahead) = (0, Seq::MAX);
        while let Some(seq) = self.poke.wait(done, ahead) {
            ahead = AHEAD;
            let entries = Entries::open(&self.dir)?;
            if entries.bytes()? >= self.worth
                && let Err(error) = self.catch_up(&entries, seq)
            {
                self.failures += 1;
                if self.failures >= FAILURES {
                    return Err(error);
                }
                continue; // At once: what was wrong is set aside by now.
            }
            done = seq;
        }
        Ok(())
    }

    fn catch_up(&self, entries: &Entries, seq: Seq) -> Result<(), IndexError> {
        let index = match self.shared.get() {
            Some(index) => index,
            None => {
                let index = open(&self.dir, entries)?;
                self.shared.put(Some(index.clone()));
                index
            }
        };
        match index.catch_up(entries, seq, || self.poke.is_stopped()) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.shared.put(None);
                if matches!(error, IndexError::Damaged(_)) {
                    self.begin_anew(index)?;
                }
                Err(error)
            }
        }
    }

    /// Sets a damaged index aside; the next try fills a new one.
    fn begin_anew(&self, index: Index) -> Result<(), IndexError> {
        let index = begin_anew(index, &self.dir, true)?;
        self.shared.put(Some(index));
        Ok(())
    }
}
