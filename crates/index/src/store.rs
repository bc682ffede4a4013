//! What the index holds, and how it grows with the journal.
//!
//! - One tree, so that what belongs to some records comes in one batch, whole or not at all:
//!   `r` seq → place and word hashes; `a` actor NUL seq → place; `o` sha256 seq → call; `k` → keyframe; `h` → head.
//! - Numbers are big-endian, so that keys sort by them.
//! - The same records give the same keys and values, however they were cut into batches: an index equals a rebuild.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use maia_journal::{Entries, Entry, Lock, Place, Position};
use maia_protocol::{ActorPath, Body, CallId, Record, Seq};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::IndexError;
use crate::open::{FOLDER, guarded, private};
use crate::overview::Overview;
use crate::shown::shown_at;
use crate::words;

/// Version of keys and values; another one is built again.
const FORMAT: u32 = 2;

/// Records that are added at once.
const BATCH: usize = 512;

/// Records between two keyframes: what a reader folds at most behind one.
const KEYFRAME: Seq = 1_000;

/// How far the index reaches, and in which journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    format: u32,
    /// The session's id.
    pub session: String,
    /// Number of the last record that it holds.
    pub seq: Seq,
    offset: u64,
    len: u32,
    crc: u32,
}

impl Head {
    /// Returns the place behind its last record.
    pub fn end(&self) -> Position {
        Position { offset: self.offset + u64::from(self.len) + 1, seq: self.seq }
    }
}

/// Keys with their values.
pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The index of one session. Clones are the same one.
#[derive(Clone)]
pub struct Index {
    inner: Arc<Inner>,
}

struct Inner {
    db: Option<sled::Db>,
    /// The fold up to the head, once somebody adds to it.
    growing: Mutex<Option<Overview>>,
    folder: PathBuf,
    lock: Option<Lock>, // Last: given back when the database is closed.
}

impl Drop for Inner {
    fn drop(&mut self) {
        let db = self.db.take();
        // What cannot be written any more is built again.
        let _ = guarded(|| {
            drop(db);
            Ok(())
        });
        private(&self.folder);
    }
}

impl Index {
    pub(crate) fn new(db: sled::Db, lock: Lock, dir: &Path) -> Self {
        let (growing, folder) = (Mutex::new(None), dir.join(FOLDER));
        Self { inner: Arc::new(Inner { db: Some(db), growing, folder, lock: Some(lock) }) }
    }

    /// Closes the database and returns its lock; `None` when somebody else still uses it.
    pub(crate) fn close(self) -> Option<Lock> {
        let mut inner = Arc::into_inner(self.inner)?;
        inner.lock.take()
    }

    fn call<T>(&self, call: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T, IndexError> {
        let db = self.inner.db.as_ref().ok_or(IndexError::Busy)?;
        guarded(|| call(db))
    }

    /// Returns how far it reaches; `None` when it is empty.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn head(&self) -> Result<Option<Head>, IndexError> {
        let Some(bytes) = self.call(|db| db.get(b"h"))? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| IndexError::Damaged(error.to_string()))
    }

    /// Tells whether it is the index of `entries`, as far as it reaches.
    pub(crate) fn fits(&self, entries: &Entries) -> Result<bool, IndexError> {
        let Some(head) = self.head()? else {
            // Empty, or so damaged that it looks so.
            return self.call(|db| Ok(db.is_empty()));
        };
        let place = Place { offset: head.offset, len: head.len };
        let last = entries.at(place, head.seq).is_ok_and(|(_, crc)| crc == head.crc);
        Ok(last && head.format == FORMAT && session_of(entries)? == head.session)
    }

    /// Adds what the journal holds beyond the head, up to record `until` or until `stop` says so; flushes at the end.
    ///
    /// Returns how far it reaches then. It may stop earlier: at a line that is not whole, or not good.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] and [`IndexError::Journal`].
    pub fn catch_up(
        &self,
        entries: &Entries,
        until: Seq,
        stop: impl Fn() -> bool,
    ) -> Result<Option<Head>, IndexError> {
        let mut growing = self.inner.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut head = self.head()?;
        let mut overview = match growing.take() {
            Some(overview) => overview,
            None => self.overview_at_head(entries, head.as_ref())?,
        };
        loop {
            let from = head.as_ref().map(Head::end).unwrap_or_default();
            if from.seq >= until || stop() {
                break;
            }
            let mut adding = Adding::default();
            entries.each(from, |entry| {
                let Ok(record) = entry.record() else { return ControlFlow::Break(()) };
                overview.step(&record);
                adding.add(entry, &record, &overview);
                if adding.count == BATCH || record.seq >= until {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            let count = adding.count;
            if let Some(reached) = adding.head {
                let text = serde_json::to_vec(&reached).unwrap_or_default(); // Plain data: it has a form.
                adding.batch.insert(b"h", text);
                let batch = adding.batch;
                self.call(|db| db.apply_batch(batch))?;
                head = Some(reached);
            }
            if count < BATCH {
                break;
            }
        }
        self.flush()?;
        *growing = Some(overview);
        Ok(head)
    }

    /// Returns the fold of all records up to `head`.
    fn overview_at_head(&self, entries: &Entries, head: Option<&Head>) -> Result<Overview, IndexError> {
        let Some(head) = head else { return Ok(Overview::default()) };
        let (mut overview, from) = self.keyframe()?;
        entries.each(from, |entry| {
            if entry.line.seq > head.seq {
                return ControlFlow::Break(());
            }
            match entry.record() {
                Ok(record) => overview.step(&record),
                Err(_) => return ControlFlow::Break(()),
            }
            ControlFlow::Continue(())
        })?;
        Ok(overview)
    }

    /// Makes what was added survive the end of the process.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn flush(&self) -> Result<(), IndexError> {
        self.call(|db| db.flush()).map(drop)
    }

    /// Returns the last stored fold, and the place behind its last record: from there on the journal has to be folded.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn keyframe(&self) -> Result<(Overview, Position), IndexError> {
        let Some(bytes) = self.call(|db| db.get(b"k"))? else { return Ok(Default::default()) };
        let overview = Overview::read(&bytes).map_err(|error| IndexError::Damaged(error.to_string()))?;
        let seq = overview.last.map_or(0, |(seq, _)| seq);
        let value = self.call(|db| db.get(key(b'r', seq)))?;
        let place = value.as_deref().and_then(read_place);
        let place = place.ok_or_else(|| IndexError::Damaged(format!("record {seq} is missing")))?;
        Ok((overview, Position { offset: place.offset + u64::from(place.len) + 1, seq }))
    }

    /// Returns the last `limit` records of `actor` before number `before`, ascending, by number and place.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn older(
        &self,
        actor: &ActorPath,
        before: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Place)>, IndexError> {
        let (from, to) = (actor_key(actor, 0), actor_key(actor, before));
        let len = from.len();
        let mut found = self.call(|db| {
            let own =
                db.range(from..to).rev().filter(|item| item.as_ref().is_ok_and(|(key, _)| key.len() == len));
            own.take(limit).collect::<sled::Result<Vec<_>>>()
        })?;
        found.reverse();
        let read = |(key, value): &(sled::IVec, sled::IVec)| Some((read_seq(key)?, read_place(value)?));
        let found: Option<Vec<_>> = found.iter().map(read).collect();
        found.ok_or_else(|| IndexError::Damaged("a key of another form".to_owned()))
    }

    /// Returns the numbers of the records that may hold every word of `text`, ascending: all that do, and a few that do
    /// not.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn candidates(&self, text: &str) -> Result<Vec<Seq>, IndexError> {
        let wanted = words::of_query(text);
        self.call(|db| {
            let mut found = Vec::new();
            for item in db.scan_prefix(b"r") {
                let (key, value) = item?;
                let hashes = value.get(PLACE..).unwrap_or_default();
                if hashes.first() == Some(&MANY) || wanted.iter().all(|hash| holds(hashes, *hash)) {
                    found.extend(read_seq(&key));
                }
            }
            Ok(found)
        })
    }

    /// Returns the calls whose output has this SHA-256, with the numbers of their records, ascending.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn outputs(&self, sha256: &[u8; 32]) -> Result<Vec<(Seq, CallId)>, IndexError> {
        self.call(|db| {
            let mut found = Vec::new();
            for item in db.scan_prefix([&b"o"[..], sha256].concat()) {
                let (key, value) = item?;
                let call = CallId::from(String::from_utf8_lossy(&value).into_owned());
                found.extend(read_seq(&key).map(|seq| (seq, call)));
            }
            Ok(found)
        })
    }

    /// Returns all keys and values, in order: what tests compare.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn dump(&self) -> Result<Pairs, IndexError> {
        self.call(|db| {
            db.iter().map(|item| item.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
        })
    }
}

/// What comes in one batch.
#[derive(Default)]
struct Adding {
    batch: sled::Batch,
    count: usize,
    head: Option<Head>,
}

impl Adding {
    /// Adds a record; `overview` is the fold up to it.
    fn add(&mut self, entry: &Entry<'_>, record: &Record, overview: &Overview) {
        let (seq, place) = (record.seq, write_place(entry.place));
        let mut value = place.to_vec();
        match words::of_record(record) {
            Some(hashes) => {
                value.push(FEW);
                value.extend(hashes.iter().flat_map(|hash| hash.to_be_bytes()));
            }
            None => value.push(MANY),
        }
        self.batch.insert(&key(b'r', seq), value);
        for actor in shown_at(record) {
            self.batch.insert(actor_key(&actor, seq), &place);
        }
        if let Body::ToolDone { call, output, .. } = &record.body {
            let hash = Sha256::digest(output.text.as_bytes());
            let key = [&b"o"[..], &hash, &seq.to_be_bytes()].concat();
            self.batch.insert(key, call.as_str().as_bytes());
        }
        if seq.is_multiple_of(KEYFRAME) {
            let text = serde_json::to_vec(overview).unwrap_or_default(); // Plain data: it has a form.
            self.batch.insert(b"k", text);
        }
        let Place { offset, len } = entry.place;
        let session = overview.session.clone();
        self.head = Some(Head { format: FORMAT, session, seq, offset, len, crc: entry.crc });
        self.count += 1;
    }
}

/// Bytes of a place.
const PLACE: usize = 12;

/// Before the hashes of a record: they follow, or there are too many.
const FEW: u8 = 0;
const MANY: u8 = 1;

fn write_place(place: Place) -> [u8; PLACE] {
    let mut bytes = [0; PLACE];
    bytes[..8].copy_from_slice(&place.offset.to_be_bytes());
    bytes[8..].copy_from_slice(&place.len.to_be_bytes());
    bytes
}

fn read_place(bytes: &[u8]) -> Option<Place> {
    let (offset, rest) = bytes.split_first_chunk()?;
    let (len, _) = rest.split_first_chunk()?;
    Some(Place { offset: u64::from_be_bytes(*offset), len: u32::from_be_bytes(*len) })
}

fn key(kind: u8, seq: Seq) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&seq.to_be_bytes());
    key
}

fn actor_key(actor: &ActorPath, seq: Seq) -> Vec<u8> {
    [b"a", actor.as_str().as_bytes(), &[0], &seq.to_be_bytes()].concat()
}

/// Returns the number at the end of a key.
fn read_seq(key: &[u8]) -> Option<Seq> {
    key.split_last_chunk().map(|(_, seq)| Seq::from_be_bytes(*seq))
}

/// Tells whether the sorted hashes behind the first byte hold `wanted`.
fn holds(hashes: &[u8], wanted: u32) -> bool {
    let (hashes, _) = hashes.get(1..).unwrap_or_default().as_chunks::<4>();
    hashes.binary_search_by_key(&wanted, |bytes| u32::from_be_bytes(*bytes)).is_ok()
}

/// Returns the id of the session that a journal is of; empty when its first record is no opening.
fn session_of(entries: &Entries) -> Result<String, IndexError> {
    let mut session = String::new();
    entries.each(Position::default(), |entry| {
        if let Ok(Record { body: Body::SessionOpened(opened), .. }) = entry.record() {
            session = opened.session;
        }
        ControlFlow::Break(())
    })?;
    Ok(session)
}
