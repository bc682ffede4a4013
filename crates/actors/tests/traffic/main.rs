//! The actors that keep agents out of each other's way, each with fakes around it: locks, places, the gateway, questions.

mod fakes;
mod gateway;
mod leaving;
mod locks;
mod orders;
mod places;
mod questions;
