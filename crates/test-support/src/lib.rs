//! What tests of several crates need: an endpoint that plays a model's server, and the events that it sends.
//!
//! - A dev-dependency only; nothing of it is in the product.
//! - Nothing here waits for a time: tests wait for what was counted or recorded.

pub mod http;
pub mod sse;

pub use http::{FakeEndpoint, Gate, Reply, Request};
pub use sse::Sse;
