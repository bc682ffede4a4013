//! Which of our crates may know which, and where heavy dependencies stay.
//!
//! A sentence in ARCHITECTURE.md does not keep a wall up; this does. A new pair is a decision: it gets its row here in a
//! commit of its own that says why.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};

/// Normal dependencies between our crates: who → whom. Nothing else may be drawn, and all of these are.
const ARROWS: &[(&str, &[&str])] = &[
    ("maia-protocol", &[]),
    ("maia-core", &["maia-protocol"]),
    ("maia-journal", &["maia-protocol"]),
    ("maia-index", &["maia-protocol", "maia-core", "maia-journal"]),
    ("maia-llm", &["maia-protocol"]),
    ("maia-tools", &["maia-protocol"]),
    ("maia-actors", &["maia-protocol", "maia-core", "maia-llm", "maia-journal", "maia-tools"]),
    (
        "maia",
        &[
            "maia-protocol",
            "maia-core",
            "maia-llm",
            "maia-journal",
            "maia-index",
            "maia-tools",
            "maia-actors",
            "maia-tui",
        ],
    ),
    ("maia-tui", &["maia-protocol"]),
    ("maia-test-support", &[]),
    ("maia-tests", &[]),
    ("xtask", &[]),
];

/// This package: nothing of it is in the product, so whatever it names, it names as a test.
const TEST_PACKAGE: &str = "maia-tests";

/// Arrows that only tests draw. They may be drawn, not all of them are.
const DEV_ARROWS: &[(&str, &[&str])] = &[
    // The cases of whole answers hold what follows from them too, and that is decided in the core.
    ("maia-llm", &["maia-core", "maia-test-support"]),
    ("maia-tools", &["maia-test-support"]),
    ("maia-actors", &["maia-test-support"]),
    ("maia", &["maia-test-support"]),
    (
        TEST_PACKAGE,
        &[
            "maia",
            "maia-protocol",
            "maia-core",
            "maia-llm",
            "maia-journal",
            "maia-index",
            "maia-tools",
            "maia-actors",
            "maia-test-support",
        ],
    ),
];

/// Dependencies that a crate was made to keep to itself, with the crates that may name them. A name with nobody beside it
/// is a card that is not played yet: the crate that is to own it comes with it.
const OWNED: &[(&str, &[&str])] = &[
    ("reqwest", &["maia-llm"]),
    ("rustls", &["maia-llm"]),
    ("tokio", &["maia-llm", "maia-tools", "maia-actors", "maia-tui", "maia", "maia-test-support"]),
    ("ractor", &["maia-actors", "maia"]),
    ("dashmap", &["maia-actors", "maia"]),
    ("tree-sitter", &["maia-core"]),
    ("tree-sitter-bash", &["maia-core"]),
    ("brush-parser", &["maia-core"]),
    ("crc32c", &["maia-journal"]),
    ("similar", &["maia-tools"]),
    ("clap", &["maia"]),
    ("miette", &["maia"]),
    ("sled", &["maia-index"]),
    ("ratatui", &["maia-tui"]),
    ("crossterm", &["maia-tui"]),
    ("pulldown-cmark", &["maia-tui"]),
    ("tiktoken-rs", &[]),
    ("petgraph", &["maia-core"]),
];

/// Crates that must not reach these, through however many others.
const NEVER_REACHED: &[(&str, &[&str])] = &[
    ("maia-protocol", &["tokio", "ractor", "reqwest", "sled", "crossterm"]),
    ("maia-core", &["tokio", "ractor", "reqwest", "sled", "crossterm"]),
    ("maia-journal", &["tokio", "ractor", "reqwest", "sled", "crossterm"]),
    ("maia-llm", &["ractor", "sled", "crossterm", "aws-lc-sys", "openssl-sys"]),
    ("maia-index", &["tokio", "ractor", "reqwest", "crossterm"]),
    ("maia-tools", &["ractor", "reqwest", "sled", "crossterm"]),
    ("maia-actors", &["sled", "crossterm"]),
    ("maia-tui", &["ractor", "reqwest", "sled"]),
];

type Arrow = (String, String);

fn allowed(table: &[(&str, &[&str])]) -> BTreeSet<Arrow> {
    let pairs =
        table.iter().flat_map(|(from, to)| to.iter().map(|to| ((*from).to_owned(), (*to).to_owned())));
    pairs.collect()
}

fn metadata() -> MetadataCommand {
    let mut command = MetadataCommand::new();
    command.manifest_path(maia_tests::root().join("Cargo.toml"));
    command
}

fn members() -> Vec<Package> {
    metadata().no_deps().exec().expect("cargo reads the manifests of this workspace").packages
}

/// Whether something is named by the product or by a test.
fn is_of_tests(member: &Package, dependency: &Dependency) -> bool {
    dependency.kind == DependencyKind::Development || member.name.as_str() == TEST_PACKAGE
}

/// Returns who of ours names whom of ours, in the product or in tests.
fn drawn(members: &[Package], of_tests: bool) -> BTreeSet<Arrow> {
    let ours: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let arrows = members.iter().flat_map(|member| {
        let named = member.dependencies.iter().filter(|dependency| {
            is_of_tests(member, dependency) == of_tests && ours.contains(dependency.name.as_str())
        });
        named.map(|dependency| (member.name.to_string(), dependency.name.clone()))
    });
    arrows.collect()
}

#[test]
fn arrows_between_our_crates_are_those_of_the_table() {
    let drawn = drawn(&members(), false);
    let allowed = allowed(ARROWS);
    assert_eq!(
        drawn.difference(&allowed).collect::<Vec<_>>(),
        Vec::<&Arrow>::new(),
        "drawn, not in the table"
    );
    assert_eq!(
        allowed.difference(&drawn).collect::<Vec<_>>(),
        Vec::<&Arrow>::new(),
        "in the table, not drawn"
    );
}

#[test]
fn arrows_of_tests_are_listed_too() {
    let drawn = drawn(&members(), true);
    let allowed = allowed(DEV_ARROWS);
    assert_eq!(drawn.difference(&allowed).collect::<Vec<_>>(), Vec::<&Arrow>::new());
}

#[test]
fn every_crate_has_its_row() {
    let rows: BTreeSet<String> = ARROWS.iter().map(|(from, _)| (*from).to_owned()).collect();
    let members: BTreeSet<String> = members().iter().map(|member| member.name.to_string()).collect();
    assert_eq!(rows, members);
}

#[test]
fn heavy_dependencies_stay_with_their_owners() {
    let owners: BTreeMap<&str, &[&str]> = OWNED.iter().copied().collect();
    let mut strayed = Vec::new();
    for member in members() {
        for dependency in member.dependencies.iter().filter(|found| !is_of_tests(&member, found)) {
            let owned = owners.get(dependency.name.as_str());
            if owned.is_some_and(|owners| !owners.contains(&member.name.as_str())) {
                strayed.push(format!("{} names {}", member.name, dependency.name));
            }
        }
    }
    assert_eq!(strayed, Vec::<String>::new());
}

#[test]
fn pure_crates_reach_no_runtime() {
    let only_here = vec!["--filter-platform".to_owned(), host()];
    let metadata = metadata().other_options(only_here).exec().expect("cargo resolves this workspace");
    let names: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
    let nodes: BTreeMap<_, _> =
        metadata.resolve.iter().flat_map(|resolve| &resolve.nodes).map(|node| (&node.id, node)).collect();
    let mut reached_anyway = Vec::new();
    for (from, never) in NEVER_REACHED {
        let start = metadata.workspace_packages().into_iter().find(|member| member.name.as_str() == *from);
        let start = start.unwrap_or_else(|| panic!("{from} is no crate of this workspace"));
        let (mut seen, mut open) = (BTreeSet::from([&start.id]), vec![&start.id]);
        while let Some(id) = open.pop() {
            for next in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
                let in_product = next.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
                if in_product && seen.insert(&next.pkg) {
                    open.push(&next.pkg);
                }
            }
        }
        assert!(seen.len() > 10, "{from}: only {} packages were looked at", seen.len());
        let reached: BTreeSet<&str> = seen.iter().filter_map(|id| names.get(*id).copied()).collect();
        let wrong = never.iter().filter(|never| reached.contains(**never));
        reached_anyway.extend(wrong.map(|wrong| format!("{from} reaches {wrong}")));
    }
    assert_eq!(reached_anyway, Vec::<String>::new());
}

/// Returns the platform that this test was built for.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(rustc).arg("-vV").output().expect("the compiler that built this test is there");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("the compiler names its host").to_owned()
}
