//! The table of programs that run other programs.
//!
//! - Asked by `unwrap.rs`; transparent for `deny` and `ask`, opaque for `allow` (cases S053 to S057).
//! - Data only. A program that is missing here is a hole in `deny`, never in `allow`.

/// What a wrapper does with the words after its own options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// They are a command.
    Words,
    /// Joined by blanks they are a line for a shell.
    Line,
}

/// How the command line of a wrapper is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapper {
    /// Short options whose value may be the next word.
    pub short: &'static str,
    /// Short options known to take no value; of any other it is not known.
    pub flags: &'static str,
    /// Long options whose value is the next word, when there is no `=`.
    pub long: &'static [&'static str],
    /// Operands before the command.
    pub operands: usize,
    /// Whether `NAME=value` may stand before the command.
    pub assigns: bool,
    /// What the rest is.
    pub runs: Runs,
}

const PLAIN: Wrapper =
    Wrapper { short: "", flags: "", long: &[], operands: 0, assigns: false, runs: Runs::Words };

/// Shells: they run the text after `-c`, else a file, else what they are fed.
pub(super) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh", "posh"];

/// Programs with a subcommand that runs the words after it, and how many operands stand between.
pub(super) const RUNNERS: &[(&str, &[&str], usize)] = &[
    ("poetry", &["run"], 0),
    ("uv", &["run"], 0),
    ("pipenv", &["run"], 0),
    ("pipx", &["run"], 0),
    ("pdm", &["run"], 0),
    ("hatch", &["run"], 0),
    ("rye", &["run"], 0),
    ("conda", &["run"], 0),
    ("mamba", &["run"], 0),
    ("micromamba", &["run"], 0),
    ("bundle", &["exec"], 0),
    ("foreman", &["run"], 0),
    ("rbenv", &["exec"], 0),
    ("pyenv", &["exec"], 0),
    ("nodenv", &["exec"], 0),
    ("rvm", &["do"], 0),
    ("npm", &["exec", "x"], 0),
    ("pnpm", &["exec", "dlx"], 0),
    ("yarn", &["exec", "dlx"], 0),
    ("lerna", &["exec"], 0),
    ("nx", &["exec"], 0),
    ("volta", &["run"], 0),
    ("mise", &["exec", "x"], 0),
    ("asdf", &["exec"], 0),
    ("rustup", &["run"], 1),
    ("nix", &["run", "shell", "develop"], 0),
    ("direnv", &["exec"], 1),
    ("op", &["run"], 0),
    ("doppler", &["run"], 0),
    ("dotenv", &["run"], 0),
    ("aws-vault", &["exec"], 1),
    ("chamber", &["exec"], 1),
    ("flatpak-spawn", &["--host"], 0),
    ("distrobox", &["enter"], 1),
    ("toolbox", &["run"], 0),
    ("ip", &["exec"], 1),
    ("lxc", &["exec"], 1),
    ("machinectl", &["shell"], 1),
    ("perf", &["stat", "record", "trace"], 0),
    ("start-stop-daemon", &["--exec", "-x"], 0),
    ("tmux", &["new", "new-session", "neww", "new-window", "splitw", "split-window", "run", "run-shell"], 0),
];

/// Returns how `program` runs another program.
pub(super) fn find(program: &str) -> Option<Wrapper> {
    let wrapper = match program {
        "!" | "builtin" | "busybox" | "toybox" | "eatmydata" | "fakeroot" | "torsocks" | "torify"
        | "proxychains" | "proxychains4" | "chronic" | "unbuffer" | "catchsegv" | "rlwrap" | "caffeinate"
        | "linux32" | "linux64" | "setarch" | "npx" | "bunx" | "pkexec" | "run0" | "systemd-run"
        | "firejail" | "bwrap" | "prlimit" | "cpulimit" | "xvfb-run" | "dbus-run-session" | "cross-env"
        | "dotenv" | "entr" | "valgrind" | "perf" | "hyperfine" | "nsenter" | "unshare" | "gdb" | "lldb"
        | "faketime" | "proot" | "tini" | "dumb-init" | "chpst" | "softlimit" | "numactl" | "cgexec"
        | "ifne" | "tsocks" | "uvx" | "watchexec" | "screen" | "sshpass" | "xterm" | "gnome-terminal"
        | "konsole" | "alacritty" | "kitty" | "foot" | "urxvt" | "runuser" | "setpriv" | "udocker" => PLAIN,
        "gosu" | "su-exec" | "setuidgid" | "s6-setuidgid" | "envdir" | "s6-envdir" | "lockf" => {
            Wrapper { operands: 1, ..PLAIN }
        }
        "env" => Wrapper {
            short: "uCa",
            flags: "iv0",
            long: &["--unset", "--chdir", "--argv0"],
            assigns: true,
            ..PLAIN
        },
        "command" => Wrapper { flags: "p", ..PLAIN },
        "exec" => Wrapper { short: "a", flags: "cl", ..PLAIN },
        "nohup" => PLAIN,
        "setsid" => Wrapper { flags: "cfw", ..PLAIN },
        "stdbuf" => Wrapper { short: "ioe", long: &["--input", "--output", "--error"], ..PLAIN },
        "nice" => Wrapper { short: "n", flags: "0123456789", long: &["--adjustment"], ..PLAIN },
        "ionice" => Wrapper { short: "cnpPu", flags: "t", long: &["--class", "--classdata"], ..PLAIN },
        "chrt" => Wrapper { short: "TPD", flags: "abdefiormv", operands: 1, ..PLAIN },
        "taskset" => Wrapper { flags: "ac", operands: 1, ..PLAIN },
        "time" => Wrapper { short: "fo", flags: "pavq", long: &["--format", "--output"], ..PLAIN },
        "timeout" => {
            Wrapper { short: "ks", flags: "fpv", long: &["--kill-after", "--signal"], operands: 1, ..PLAIN }
        }
        "sudo" => Wrapper {
            short: "ughpCTrtDRUaB",
            flags: "AbEHinPsSkKNV",
            long: &[
                "--user",
                "--group",
                "--host",
                "--prompt",
                "--chdir",
                "--chroot",
                "--role",
                "--type",
                "--other-user",
            ],
            assigns: true,
            ..PLAIN
        },
        "doas" => Wrapper { short: "uCa", flags: "nsL", ..PLAIN },
        "xargs" | "gxargs" => Wrapper {
            short: "adEILnPs",
            flags: "0rtpxoiel",
            long: &[
                "--arg-file",
                "--delimiter",
                "--max-args",
                "--max-procs",
                "--max-chars",
                "--max-lines",
                "--process-slot-var",
            ],
            ..PLAIN
        },
        "strace" | "ltrace" => {
            Wrapper { short: "eopsuabEIOPSUXAnlFx", flags: "fqrtTvVyzZcCDwkdhiLS", ..PLAIN }
        }
        "chroot" => Wrapper { long: &["--userspec", "--groups"], operands: 1, ..PLAIN },
        "flock" => {
            Wrapper { short: "wEF", flags: "sxeunov", long: &["--timeout", "--wait"], operands: 1, ..PLAIN }
        }
        "watch" => {
            Wrapper { short: "nq", flags: "bcdegptwx", long: &["--interval"], runs: Runs::Line, ..PLAIN }
        }
        "ssh" | "autossh" | "mosh" => Wrapper {
            short: "bcDEeFIiJLlmOopQRSWw",
            flags: "46AaCfGgKkMNnqsTtVvXxYy",
            operands: 1,
            runs: Runs::Line,
            ..PLAIN
        },
        "eval" => Wrapper { runs: Runs::Line, ..PLAIN },
        "parallel" | "sem" => Wrapper {
            short: "jaSNnLPCIdE",
            flags: "kXmuvt0q",
            long: &["--jobs", "--arg-file", "--colsep", "--delay", "--timeout", "--joblog", "--results"],
            runs: Runs::Line,
            ..PLAIN
        },
        _ => return None,
    };
    Some(wrapper)
}
