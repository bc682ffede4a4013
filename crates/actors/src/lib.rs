//! The actors: they carry out what `maia-core` decides and turn answers into records (ENGINE 4).
//!
//! - Started by the binary through [`process::Process`]; every session is one tree under a [`root::Root`].
//! - No handler waits for a model, a tool, a person, a disk or another actor: work runs in tasks that cast back.
//! - Everybody is addressed by path through one table ([`address::AddressBook`]), never by a kept reference.

pub mod address;
pub mod agent;
pub mod agent_supervisor;
pub mod children;
pub mod env;
pub mod event_hub;
pub mod failpoint;
pub mod journal;
pub mod lock_table;
pub mod model_gateway;
pub mod permission_broker;
pub mod process;
pub mod reaper;
pub mod root;
pub mod scheduler;
pub mod session;
pub mod tool_executor;
