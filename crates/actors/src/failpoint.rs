//! Faults for tests (ENGINE 9): `MAIA_FAIL=journal:17=kill,actor:maia/reviewer#1=panic@3,disk:full@40`.
//!
//! - Asked by every actor at the head of its handler, and by the journal before a batch is written.
//! - Without the cargo feature `failpoints` nothing is read from the environment and no check does anything.
//! - Grammar: `journal:N=kill` (after record N is durable, before anybody hears of it; an opening is written whole), `actor:PATH=panic@N` (at the
//!   N-th message), `actor:PATH:KIND=panic@N` (at the N-th message of that kind), `disk:full@N` (from record N on).

use std::sync::Arc;

/// The faults of this process. Cheap to clone; counters are shared.
#[derive(Clone, Default)]
pub struct Failpoints {
    #[cfg_attr(not(feature = "failpoints"), expect(dead_code, reason = "read in builds for tests only"))]
    inner: Option<Arc<Faults>>,
}

#[cfg(not(feature = "failpoints"))]
struct Faults;

#[cfg(feature = "failpoints")]
struct Faults {
    kill_at: Vec<u64>,
    full_from: Option<u64>,
    panics: Vec<PanicAt>,
}

#[cfg(feature = "failpoints")]
struct PanicAt {
    path: String,
    kind: Option<String>,
    countdown: std::sync::atomic::AtomicU64,
}

#[cfg(not(feature = "failpoints"))]
impl Failpoints {
    /// Returns no faults.
    pub fn from_env() -> Self {
        Self::default()
    }

    /// Does nothing.
    pub fn message(&self, _path: &str, _kind: &str) {}

    /// Returns no record.
    pub fn kill_at(&self, _first: u64, _last: u64) -> Option<u64> {
        None
    }

    /// Returns no record.
    pub fn full_from(&self) -> Option<u64> {
        None
    }
}

#[cfg(feature = "failpoints")]
impl Failpoints {
    /// Reads `MAIA_FAIL`; what cannot be read is said on stderr, so that a test with a typing error does not pass.
    pub fn from_env() -> Self {
        match std::env::var("MAIA_FAIL") {
            Ok(text) if !text.is_empty() => Self::parse(&text),
            _ => Self::default(),
        }
    }

    /// Reads the grammar of the module.
    ///
    /// # Panics
    /// When `text` is none: a test with a typing error must not pass.
    pub fn parse(text: &str) -> Self {
        let mut faults = Faults { kill_at: Vec::new(), full_from: None, panics: Vec::new() };
        for fault in text.split(',') {
            let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("MAIA_FAIL: {fault}"));
            if let Some(at) = fault.strip_prefix("journal:").and_then(|rest| rest.strip_suffix("=kill")) {
                faults.kill_at.push(number(at));
            } else if let Some(at) = fault.strip_prefix("disk:full@") {
                faults.full_from = Some(number(at));
            } else if let Some((who, at)) =
                fault.strip_prefix("actor:").and_then(|rest| rest.split_once("=panic@"))
            {
                let (path, kind) =
                    who.rsplit_once(':').map_or((who, None), |(path, kind)| (path, Some(kind.to_owned())));
                let countdown = std::sync::atomic::AtomicU64::new(number(at));
                faults.panics.push(PanicAt { path: path.to_owned(), kind, countdown });
            } else {
                panic!("MAIA_FAIL: {fault}");
            }
        }
        Self { inner: Some(Arc::new(faults)) }
    }

    /// Counts a message of the actor at `path`.
    ///
    /// # Panics
    /// When a fault says so: that is what it is for.
    pub fn message(&self, path: &str, kind: &str) {
        use std::sync::atomic::Ordering;
        let Some(faults) = &self.inner else { return };
        for fault in &faults.panics {
            if fault.path == path && fault.kind.as_ref().is_none_or(|wanted| wanted == kind) {
                let left =
                    fault.countdown.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
                assert!(left != Ok(1), "injected: {path} at {kind}");
            }
        }
    }

    /// Returns the record in `first..=last` after which the process is to die.
    pub fn kill_at(&self, first: u64, last: u64) -> Option<u64> {
        let faults = self.inner.as_ref()?;
        faults.kill_at.iter().copied().find(|at| (first..=last).contains(at))
    }

    /// Returns the record from which the disk is full.
    pub fn full_from(&self) -> Option<u64> {
        self.inner.as_ref()?.full_from
    }
}
