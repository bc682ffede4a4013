//! The turn of an agent as a state machine without I/O (ENGINE 2, ENGINE 5).
//!
//! - [`step`] applies a committed record and says which effects it calls for.
//! - [`plan`] looks ahead on a copy of the state and gives all records of one decision.
//! - [`open`] says what a rebuilt agent has to look at: effects that have begun and not ended.
//! - [`request`] builds what the model is asked, from the state alone.
//!
//! Asked by the actor Agent and by its supervisor; owns nothing. The main agent and sub-agents are the
//! same machine: they differ in their [`Setup`].

mod again;
mod apply;
mod ask;
mod calls;
mod effect;
pub mod next;
mod plan;
mod prompt;
mod state;
mod texts;

pub use apply::step;
pub use effect::{Effect, open, startable};
pub use plan::{Context, Input, Limits, SpawnPlan, plan, wants_place};
pub use prompt::{agent_tool, delegate_tool, request};
pub use state::{Activity, Call, CallState, Pending, Phase, Setup, State, add, is_file_tool};
pub use texts::handed_to_parent;
