//! Tests of finding the command behind a wrapper.

use super::super::split;
use super::*;

fn found_in(command: &str) -> Vec<String> {
    let words: Vec<Word> =
        split::words(command).expect("one command").iter().map(|raw| Word::read(raw)).collect();
    let inner = unwrap(&words);
    let text = |(from, to): &(usize, usize)| {
        words[*from..*to].iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ")
    };
    inner.words.iter().map(text).chain(inner.lines.iter().map(|line| line.trim().to_owned())).collect()
}

#[test]
fn the_command_behind_a_wrapper_is_found() {
    for (command, expect) in [
        ("env rm x", "rm x"),
        ("env -i A=1 -u B rm x", "rm x"),
        ("env A=1 \\B=2 'C'=3 rm x", "rm x"),
        ("env -S 'rm -rf x'", "rm -rf x"),
        ("env -iS'rm x'", "rm x"),
        ("/usr/bin/env rm x", "rm x"),
        ("command -p rm x", "rm x"),
        ("timeout 5 rm x", "rm x"),
        ("timeout -k 1 --signal KILL 5s rm x", "rm x"),
        ("timeout --foreground 5 rm x", "rm x"),
        ("nice -n 5 rm x", "rm x"),
        ("nice -5 rm x", "rm x"),
        ("sudo -u bob -- rm x", "rm x"),
        ("sudo -nu bob A=1 rm x", "rm x"),
        ("xargs -0 -n1 -P 4 rm x", "rm x"),
        ("xargs -I {} rm {}", "rm {}"),
        ("find . -name y -exec rm {} ';' -print", "rm {}"),
        ("find . -exec rm {} +", "rm {}"),
        ("fd -e rs -x rm x", "rm x"),
        ("bash -c 'rm x'", "rm x"),
        ("bash -lc 'rm x'", "rm x"),
        ("bash -o pipefail -ec 'rm x' y", "rm x"),
        ("sh -c \"rm $x\"", "rm ${_}"),
        ("su bob -c 'rm x'", "rm x"),
        ("eval rm x", "rm x"),
        ("trap 'rm x' EXIT", "rm x"),
        ("watch -n 1 rm x", "rm x"),
        ("ssh -p 22 host rm x", "rm x"),
        ("flock -n /tmp/l rm x", "rm x"),
        ("flock /tmp/l -c 'rm x'", "rm x"),
        ("git submodule foreach 'rm x'", "rm x"),
        ("git rebase -x 'rm x' main", "rm x"),
        ("git -c 'alias.z=!rm x' z", "rm x"),
        ("uv run rm x", "rm x"),
        ("env - rm x", "rm x"),
        ("script -qc 'rm x' out", "rm x"),
        ("runuser -u bob -- rm x", "rm x"),
        ("direnv exec . rm x", "rm x"),
        ("aws-vault exec prod -- rm x", "rm x"),
        ("gosu bob rm x", "rm x"),
        ("tmux new -d 'rm x'", "rm x"),
        ("busybox rm x", "rm x"),
        ("stdbuf -oL rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("! rm x", "rm x"),
        ("parallel rm x ::: a", "rm x"),
    ] {
        assert!(found_in(command).iter().any(|found| found == expect), "{command}: {:?}", found_in(command));
    }
}

#[test]
fn arguments_are_not_taken_for_commands() {
    for command in
        ["command -v rm", "git rm x", "bash script.sh rm", "timeout 5 grep rm x", "grep rm x", "env"]
    {
        assert!(
            !found_in(command).iter().any(|found| found.starts_with("rm")),
            "{command}: {:?}",
            found_in(command)
        );
    }
}
