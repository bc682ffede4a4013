//! Reads how long an endpoint asks to wait (ENGINE 6).
//!
//! - Asked by the client for every response that is no success, and by scripts.
//! - Owns nothing; what time it is comes in.

use jiff::Timestamp;

/// Returns the wait in milliseconds, by the first header that says one.
///
/// `header` gives the value of a header by its name. LiteLLM passes the upstream's header on as
/// `llm_provider-retry-after` only (LLM-9).
pub(crate) fn read<'a>(header: impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Option<u64> {
    let milliseconds = |name| header(name).and_then(|value| positive(value, 1.0));
    let seconds_or_date = |name| {
        let value = header(name)?.trim();
        positive(value, 1_000.0).or_else(|| until(value, now))
    };
    milliseconds("retry-after-ms")
        .or_else(|| seconds_or_date("retry-after"))
        .or_else(|| milliseconds("llm_provider-retry-after-ms"))
        .or_else(|| seconds_or_date("llm_provider-retry-after"))
}

/// Reads a number that is not below zero, times `unit`.
fn positive(value: &str, unit: f64) -> Option<u64> {
    let number: f64 = value.trim().parse().ok()?;
    // A float cast saturates; infinity and what is no number are no wait that anybody means.
    (number >= 0.0 && number.is_finite()).then_some((number * unit) as u64)
}

/// Reads an HTTP date; one that has passed means no wait.
fn until(value: &str, now: Timestamp) -> Option<u64> {
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let wait = date.as_millisecond().saturating_sub(now.as_millisecond());
    Some(u64::try_from(wait).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_header_is_read() {
        let now: Timestamp = "1994-11-06T08:49:00Z".parse().expect("a time");
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<u64>);
        let cases: &[Row<'_>] = &[
            (&[], None),
            (&[("retry-after", "7")], Some(7_000)),
            (&[("retry-after", " 0.5 ")], Some(500)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(37_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after-ms", "250"), ("retry-after", "7")], Some(250)),
            (&[("llm_provider-retry-after", "60")], Some(60_000)),
            (&[("retry-after", "x"), ("llm_provider-retry-after", "3")], Some(3_000)),
        ];
        for (headers, expected) in cases {
            let header =
                |name: &str| headers.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
            assert_eq!(read(header, now), *expected, "{headers:?}");
        }
    }
}
