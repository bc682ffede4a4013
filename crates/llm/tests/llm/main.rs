//! The client and the assembly at their boundary: bodies as servers sent them, and what must come of each.

mod cases;
mod client;
mod script;
mod sockets;
mod whole;
