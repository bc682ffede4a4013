//! The one thread that owns a session's file: joins, writes, syncs, reads (ENGINE 2).
//!
//! - Asked by the actor through a channel, in order; answers by casting to it.
//! - Owns the store and the index, nothing of who listens.
//! - What waits is written as one batch: one write and one `fdatasync` for all. Then it is answered order by order, so that
//!   a history holds everything that was ordered before it and nothing that was ordered after it.
//! - The channel has no bound: a machine has at most one append under way and decides nothing before it hears of it, so
//!   that there are never more than a few orders an agent.
//! - It ends when the actor is gone, in whatever way: the channel closes, and it first writes what is still in it.

mod faults;

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use maia_journal::{AppendError, Journal};
use maia_protocol::{ActorPath, Body, NewRecord, Record};
use ractor::ActorRef;
use tokio::sync::oneshot;

use super::JournalMsg;
use super::index::Index;
use crate::address;
use crate::failpoint::Failpoints;
use faults::Faults;

/// How long a full disk is left alone before the next try (ENGINE 2).
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// How long a record that nobody waits for stands back for others to come. A short command ends within it: what came of it
/// then shares one sync with the record of its process, instead of waiting for that one's.
const STAND_BACK: Duration = Duration::from_millis(10);

/// What the thread is told.
pub(super) enum Order {
    /// Append these as one.
    Append(Vec<NewRecord>),
    /// Read the history of this path.
    Read(ActorPath),
    /// Look for room now.
    Retry,
}

impl Order {
    /// Tells whether nobody waits for it: the helper whose process it names ends by itself when maia is gone (SAFETY 5).
    fn stands_back(&self) -> bool {
        let started = |record: &NewRecord| matches!(record.body, Body::ProcessStarted { .. });
        matches!(self, Self::Append(records) if records.iter().all(started))
    }
}

/// The actor's end of the channel.
pub(super) struct WriterHandle {
    orders: Option<Sender<Order>>,
    ended: oneshot::Receiver<()>,
}

impl WriterHandle {
    /// Gives an order.
    pub(super) fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // When the thread has ended, its `Broken` is already in the mailbox and says why.
            let _ = orders.send(order);
        }
    }

    /// Lets the thread finish, and waits until it has closed the file.
    pub(super) async fn close(&mut self) {
        self.orders = None;
        // An error is an end too: the other side is dropped with the thread.
        let _ = (&mut self.ended).await;
    }
}

/// Starts the thread of `journal`, which holds `history`.
///
/// # Errors
/// The system gives no thread.
pub(super) fn start(
    actor: ActorRef<JournalMsg>,
    journal: Box<dyn Journal>,
    history: Vec<Record>,
    failpoints: Failpoints,
) -> io::Result<WriterHandle> {
    let (orders, receiver) = mpsc::channel();
    let (ended, wait) = oneshot::channel();
    std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
        let _guard = PanicGuard(actor.clone());
        let index = Index::new(history);
        let faults = Faults::new(failpoints);
        let writer = Writer {
            actor,
            orders: receiver,
            waiting: VecDeque::new(),
            closed: false,
            journal,
            index,
            faults,
        };
        writer.run(); // Consumes the writer: the file is closed when it returns.
        drop(ended);
    })?;
    Ok(WriterHandle { orders: Some(orders), ended: wait })
}

/// Tells the actor when the thread panics: nobody else would.
struct PanicGuard(ActorRef<JournalMsg>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let message = "the thread that writes it panicked".to_owned();
            let _ = self.0.cast(JournalMsg::Broken { message });
        }
    }
}

struct Writer {
    actor: ActorRef<JournalMsg>,
    orders: Receiver<Order>,
    /// Orders that were received and not yet looked at.
    waiting: VecDeque<Order>,
    /// Whether the actor is gone.
    closed: bool,
    journal: Box<dyn Journal>,
    index: Index,
    faults: Faults,
}

/// What is told once a batch is durable.
enum Answer {
    /// The next so many records.
    Publish(usize),
    /// The history of this path.
    Read(ActorPath),
}

/// `Break` when the thread has to end.
type Step = ControlFlow<()>;

impl Writer {
    fn run(mut self) {
        while self.receive() {
            let orders = std::mem::take(&mut self.waiting);
            for group in self.faults.groups(orders) {
                if self.carry_out(group).is_break() {
                    return;
                }
            }
        }
    }

    /// Writes all appends of `orders` as one batch, then answers order by order.
    fn carry_out(&mut self, orders: VecDeque<Order>) -> Step {
        let (mut batch, mut answers) = (Vec::new(), Vec::new());
        for order in orders {
            match order {
                Order::Append(records) => {
                    answers.push(Answer::Publish(records.len()));
                    batch.extend(records);
                }
                // What comes before all appends need not wait for room.
                Order::Read(path) if batch.is_empty() => self.read(path)?,
                Order::Read(path) => answers.push(Answer::Read(path)),
                Order::Retry => {} // There is room.
            }
        }
        if batch.is_empty() {
            return Step::Continue(());
        }
        let mut written = self.write(&batch)?.into_iter();
        drop(batch);
        let mut publish = 0;
        for answer in answers {
            match answer {
                Answer::Publish(count) => publish += count,
                Answer::Read(path) => {
                    self.publish(written.by_ref().take(std::mem::take(&mut publish)));
                    self.read(path)?;
                }
            }
        }
        self.publish(written);
        Step::Continue(())
    }

    /// Waits for orders and takes all that are there; tells whether there are any.
    fn receive(&mut self) -> bool {
        if self.waiting.is_empty() {
            match self.orders.recv() {
                Ok(order) => self.waiting.push_back(order),
                Err(mpsc::RecvError) => return false,
            }
        }
        self.waiting.extend(self.orders.try_iter());
        if self.waiting.iter().all(Order::stands_back) {
            // A channel that is closed, or silent, is no reason not to write.
            self.waiting.extend(self.orders.recv_timeout(STAND_BACK));
            self.waiting.extend(self.orders.try_iter());
        }
        true
    }

    /// Makes `batch` durable and returns its records; on a full disk tries as often as it takes.
    fn write(&mut self, batch: &[NewRecord]) -> ControlFlow<(), Vec<Record>> {
        let mut full = false;
        loop {
            match self.append(batch) {
                Ok(records) => {
                    if full {
                        self.tell(JournalMsg::Room);
                    }
                    return ControlFlow::Continue(records);
                }
                Err(error) if error.full => {
                    if !full {
                        full = true;
                        self.tell(JournalMsg::Full { message: error.to_string() });
                    }
                    self.wait_for_room()?;
                }
                Err(error) => self.broken(error.to_string())?,
            }
        }
    }

    fn append(&mut self, batch: &[NewRecord]) -> Result<Vec<Record>, AppendError> {
        let now = Timestamp::now();
        self.faults.before(&mut *self.journal, batch, now)?;
        self.journal.append(batch, now)
    }

    fn publish(&mut self, records: impl Iterator<Item = Record>) {
        let records: Vec<_> = records.map(Arc::new).collect();
        records.iter().for_each(|record| self.index.add(record));
        if !records.is_empty() {
            self.tell(JournalMsg::Written { records });
        }
    }

    /// Waits until it is worth trying again; what is ordered meanwhile queues behind, histories too: a machine must not
    /// begin to act while records of the one before it are still to come.
    fn wait_for_room(&mut self) -> Step {
        if self.closed {
            return Step::Break(()); // That was the last try; nobody was ever told of these records.
        }
        let until = Instant::now() + TRY_AGAIN;
        loop {
            match self.orders.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Order::Retry) | Err(RecvTimeoutError::Timeout) => return Step::Continue(()),
                Ok(order) => self.waiting.push_back(order),
                Err(RecvTimeoutError::Disconnected) => {
                    self.closed = true;
                    return Step::Continue(());
                }
            }
        }
    }

    fn read(&mut self, path: ActorPath) -> Step {
        let found = if path == address::event_hub() {
            self.index.all(&*self.journal)
        } else {
            self.index.history(&path, &*self.journal)
        };
        match found {
            Ok(records) => {
                self.tell(JournalMsg::Read { path, records });
                Step::Continue(())
            }
            Err(error) => self.broken(error.to_string()),
        }
    }

    fn broken(&self, message: String) -> Step {
        self.tell(JournalMsg::Broken { message });
        Step::Break(())
    }

    fn tell(&self, message: JournalMsg) {
        // The actor may be gone: what is durable is found by the next opening.
        let _ = self.actor.cast(message);
    }
}

#[cfg(test)]
mod tests {
    use maia_protocol::{CallId, ToolOutput};

    use super::*;

    #[test]
    fn only_the_start_of_a_process_stands_back() {
        let agent = ActorPath::main();
        let call = || CallId::new(&agent, 1, 1);
        let record = |body| NewRecord::new(agent.clone(), body);
        let started =
            || record(Body::ProcessStarted { call: call(), pid: 7, start_time: 1, boot_id: "b".to_owned() });
        let done = record(Body::ToolDone {
            call: call(),
            tool: "Bash".to_owned(),
            output: ToolOutput::ok(""),
            duration_ms: 1,
        });
        assert!(Order::Append(vec![started()]).stands_back());
        assert!(!Order::Append(vec![started(), done]).stands_back());
        assert!(!Order::Read(agent.clone()).stands_back());
        assert!(!Order::Retry.stands_back());
    }
}
