//! The numbers to reach (SPEC section 6), with what others take and which benchmark measures each.
//!
//! - Printed by `cargo xtask bench` below what was measured; ratios of one run count, CPU and memory more than time.
//! - Figures of others come from the same kind of machine: two cores.

/// One number.
pub struct Number {
    /// What is measured.
    pub what: &'static str,
    /// What others take.
    pub others: &'static str,
    /// What maia is to reach.
    pub reach: &'static str,
    /// The benchmark that prints it, `package/name`; `None` while there is none.
    pub bench: Option<&'static str>,
}

/// All numbers of SPEC section 6, in its order.
pub const NUMBERS: &[Number] = &[
    Number {
        what: "maia --version, CPU",
        others: "codex 8 ms, claude 16, qwen 40, opencode 1,080",
        reach: "5 ms",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "TUI: start to first full frame",
        others: "codex 0.11 to 0.15 s, claude 0.74 s",
        reach: "0.05 s",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "TUI at rest",
        others: "codex 0 % CPU, 0 bytes/s",
        reach: "0 %, 0 bytes/s",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "headless turn, one answer: CPU, peak memory",
        others: "codex 0.30 s, 144 MB; claude 0.65 s, 204 MB; pi 2.0 s, 172 MB",
        reach: "0.03 s, 30 MB",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "own time between two requests of an agent, `true` in Bash between",
        others: "pi 17 ms, claude 42, codex 76",
        reach: "5 ms, journaled; CPU 3 ms beside bash itself",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "4 sub-agents, each one Bash call: wall, CPU",
        others: "codex 0.90 s, 1.25 s; claude 1.07 s, 1.36 s",
        reach: "0.1 s, 0.1 s",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "8 sub-agents at once",
        others: "codex runs 6 and fails 2",
        reach: "all run or wait, none fails",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "prompt sent for \"hi\"",
        others: "pi 1.2k tokens, opencode 6.8k, codex 9.0k, claude 11.4k, qwen 17.2k",
        reach: "2.5k main agent, 1.5k sub-agent, same prefix each time",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "1,000 sub-agents, 2 calls and a Read each: CPU each, peak memory",
        others: "bare ractor 0.21 ms, 25 MB; autogen-core 12 ms, 88 MB; langgraph 26 ms, 216 MB",
        reach: "0.6 ms, 80 MB, all done, journaled",
        bench: Some("maia-tests/spine"),
    },
    Number {
        what: "journal, 64 producers, 500-byte records",
        others: "one by one: 880/s",
        reach: "5,000/s, or 5 times one by one of the same run",
        bench: Some("maia-journal/append"),
    },
    Number { what: "resume of 10,000 records", others: "", reach: "0.3 s", bench: Some("maia-tests/spine") },
    Number {
        what: "text search over 100 sessions of 1,000 records",
        others: "",
        reach: "0.5 s",
        bench: None,
    },
    Number {
        what: "frame 120×40, 2,000 lines of transcript, tree of 1,000",
        others: "naive 22 ms",
        reach: "1 ms median",
        bench: Some("maia-tui/frame"),
    },
    Number {
        what: "permission verdict, a 200-character command; a 1 MB line",
        others: "",
        reach: "0.1 ms; 0.2 s",
        bench: Some("maia-core/verdict"),
    },
];

/// Returns the table for a person; `benches` are those that there are.
pub fn table(benches: &[String]) -> String {
    let width = NUMBERS.iter().map(|number| number.what.chars().count()).max().unwrap_or_default();
    let mut lines = vec!["To reach, at most (others beside; ratios of one run count):".to_owned()];
    for number in NUMBERS {
        let by = number
            .bench
            .filter(|name| benches.iter().any(|bench| bench == name))
            .unwrap_or("not measured yet");
        let padding = " ".repeat(width - number.what.chars().count());
        lines.push(format!("{}{padding}  {}  [{by}]", number.what, number.reach));
        if !number.others.is_empty() {
            lines.push(format!("{}  {}", " ".repeat(width), number.others));
        }
    }
    lines.join("\n")
}
