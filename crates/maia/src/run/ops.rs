//! Reads orders from standard input, one JSON object a line (SPEC section 4, `--ops`).

use maia_actors::root::RootMsg;
use maia_protocol::Op;
use ractor::ActorRef;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

/// Bytes of one order at most.
const MAX_LINE: u64 = 1024 * 1024;

/// Reads until the input ends; then nobody can answer any more. What is no order is said as an `error` event and passed over.
pub async fn read(root: ActorRef<RootMsg>) {
    let mut input = BufReader::new(tokio::io::stdin());
    let mut number = 0_u64;
    loop {
        number += 1;
        let line = match next(&mut input).await {
            None => break,
            Some(Ok(line)) => line,
            Some(Err(TooLong)) => {
                let message = format!("line {number} of the orders has more than {MAX_LINE} bytes");
                if root.cast(RootMsg::BadOrder { message }).is_err() {
                    return;
                }
                continue;
            }
        };
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

/// A line of more than [`MAX_LINE`] bytes.
#[derive(Debug, PartialEq)]
struct TooLong;

/// Returns the next line; `None` when there is no more. Of one that is too long nothing is taken for another order.
async fn next(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Result<Vec<u8>, TooLong>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        match (&mut *input).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) if line.is_empty() && !too_long => return None,
            Ok(0) | Err(_) => break,
            Ok(_) if line.ends_with(b"\n") => break,
            Ok(_) if (line.len() as u64) < MAX_LINE => break,
            Ok(_) => {
                too_long = true;
                line.clear();
            }
        }
    }
    Some(if too_long { Err(TooLong) } else { Ok(line) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_rest_of_a_long_line_is_no_order() {
        let stop = r#"{"op":"stop","actor":"maia"}"#;
        let long = "x".repeat(usize::try_from(MAX_LINE).expect("it fits"));
        let text = format!("{stop}\n{long}{stop}\n\n{stop}");
        let mut input = text.as_bytes();
        let whole = |line: &str| Some(Ok(line.as_bytes().to_vec()));
        assert_eq!(next(&mut input).await, whole(&format!("{stop}\n")));
        assert_eq!(next(&mut input).await, Some(Err(TooLong)));
        assert_eq!(next(&mut input).await, whole("\n"));
        assert_eq!(next(&mut input).await, whole(stop));
        assert_eq!(next(&mut input).await, None);
    }
}
