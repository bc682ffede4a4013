//! Numbers as a person reads them: tokens, money, time.
//!
//! Asked by the widgets; owns nothing.

/// Returns a count as `950`, `12.3k`, `200k`, `1.05M` (mission M13.3).
pub fn count(n: u64) -> String {
    // Each step ends where rounding would reach the next one's unit.
    match n {
        0..=999 => n.to_string(),
        1_000..=99_949 => trim(n as f64 / 1e3, 1, "k"),
        99_950..=999_499 => format!("{}k", (n + 500) / 1_000),
        _ => trim(n as f64 / 1e6, 2, "M"),
    }
}

/// Returns micro-dollars as `$0.003`, `$0.12`, `$12`; nothing for nothing, and never nothing for something.
pub fn money(micros: u64) -> String {
    let dollars = micros as f64 / 1e6;
    match micros {
        0 => String::new(),
        1..=99_499 => format!("${:.3}", dollars.max(0.001)),
        99_500..=9_994_999 => format!("${dollars:.2}"),
        _ => format!("${dollars:.0}"),
    }
}

/// Returns seconds as `12s`, `3m05`, `2h07`.
pub fn elapsed(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m{:02}", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Returns milliseconds as `40ms`, `1.2s`, and longer ones as [`elapsed`].
pub fn duration(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms}ms"),
        1_000..=9_949 => format!("{:.1}s", ms as f64 / 1e3),
        _ => elapsed((ms + 500) / 1_000),
    }
}

fn trim(value: f64, digits: usize, unit: &str) -> String {
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_in_the_mission() {
        for (n, expected) in [
            (0, "0"),
            (950, "950"),
            (1_000, "1k"),
            (12_345, "12.3k"),
            (99_949, "99.9k"),
            (99_950, "100k"),
            (200_000, "200k"),
            (999_600, "1M"),
            (1_050_000, "1.05M"),
        ] {
            assert_eq!(count(n), expected);
        }
        for (micros, expected) in [
            (0, ""),
            (1, "$0.001"),
            (3_400, "$0.003"),
            (99_600, "$0.10"),
            (120_000, "$0.12"),
            (12_300_000, "$12"),
        ] {
            assert_eq!(money(micros), expected);
        }
        assert_eq!((elapsed(59), elapsed(185), elapsed(7_620)), ("59s".into(), "3m05".into(), "2h07".into()));
        assert_eq!(
            (duration(40), duration(1_249), duration(9_960)),
            ("40ms".into(), "1.2s".into(), "10s".into())
        );
    }
}
