//! Decisions as plain functions over plain data. No I/O, no clock, no runtime.
//!
//! - Asked by the actors, which carry out what comes back; by the binary for checks.
//! - Owns nothing: state comes in, records and effects go out (ENGINE 2).

pub mod agent_file;
pub mod apart;
pub mod data;
pub mod event;
pub mod gateway;
pub mod graph;
pub mod locks;
pub mod mask;
pub mod owners;
pub mod permission;
pub mod question;
pub mod restart;
pub mod schedule;
pub mod session;
pub mod turn;
pub mod view;
