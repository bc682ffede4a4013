//! Reads orders from standard input, one JSON object a line (SPEC section 4, `--ops`).

use maia_actors::root::RootMsg;
use maia_protocol::Op;
use ractor::ActorRef;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

/// Bytes of one order at most.
const MAX_LINE: u64 = 1024 * 1024;

/// Reads until the input ends; then nobody can answer any more. What is no order is said on stderr and passed over.
pub async fn read(root: ActorRef<RootMsg>) {
    let mut input = BufReader::new(tokio::io::stdin());
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        number += 1;
        match (&mut input).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let order = match serde_json::from_slice::<Op>(&line) {
            Ok(op) => RootMsg::Op(op),
            Err(error) => RootMsg::BadOrder { message: format!("line {number} of the orders: {error}") },
        };
        if root.cast(order).is_err() {
            return;
        }
    }
    let _ = root.cast(RootMsg::NobodyAnswers);
}
