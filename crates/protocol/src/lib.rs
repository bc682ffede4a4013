//! What crosses a crate or reaches disk: ids, records, events, orders, verdicts. Serde data, no runtime.
//!
//! - Every other crate speaks in these types; this one depends on none of ours.
//! - It decides nothing: decisions are in `maia-core`, effects in `maia-tools` and `maia-actors`.
//! - JSON shapes are a contract: a record is read back years later (ENGINE 1), an event is read by
//!   other people's scripts (SPEC section 4). Fields are added, never renamed.

pub mod definition;
pub mod event;
pub mod id;
pub mod line;
pub mod message;
pub mod model;
pub mod op;
pub mod outcome;
pub mod permission;
pub mod record;
pub mod snapshot;
pub mod tool;

pub use definition::AgentDefinition;
pub use event::Event;
pub use id::{ActorPath, CallId, Seq};
pub use message::{Block, Message, Role};
pub use model::{Answer, AnsweredCall, DEMO, StopReason, Usage};
pub use op::Op;
pub use outcome::{Outcome, Totals};
pub use permission::{Decision, Mode, RuleSet, Ruling, Verdict};
pub use record::{Body, NewRecord, Record};
pub use snapshot::Snapshot;
pub use tool::{ToolOutput, ToolSpec};
