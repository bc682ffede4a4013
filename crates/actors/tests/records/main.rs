//! The three actors that records pass through or that outlive everybody: journal, event hub, reaper; with fakes around them.

mod event_hub;
#[cfg(feature = "failpoints")]
mod failpoints;
mod journal;
mod reaper;
mod store;
mod support;
