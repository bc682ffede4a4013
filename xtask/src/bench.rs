//! Runs the benchmarks of all crates in release, then prints the numbers to reach beside.
//!
//! - A benchmark is `benches/<name>.rs` of a crate under `crates/` or of the package `tests`; each prints what it measured.
//! - Owns nothing: what is to be reached is in [`crate::numbers`].

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::numbers;
use crate::{entries, stem};

#[derive(Debug, PartialEq, Eq)]
struct Bench {
    package: String,
    name: String,
}

/// Runs the benchmarks whose `package/name` contains one of `names`, all of them where there are none.
///
/// # Errors
/// A sentence when none fits, one cannot be built, or one fails.
pub fn run(root: &Path, names: &[&str]) -> Result<(), String> {
    let found = find(root)?;
    let wanted = |bench: &&Bench| names.is_empty() || names.iter().any(|name| shown(bench).contains(name));
    let chosen: Vec<&Bench> = found.iter().filter(wanted).collect();
    if chosen.is_empty() {
        let known: Vec<String> = found.iter().map(shown).collect();
        return Err(format!("no benchmark fits; there are {}", known.join(", ")));
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for bench in chosen {
        println!("\n{}", shown(bench));
        let arguments = ["bench", "--package", &bench.package, "--bench", &bench.name];
        match Command::new(&cargo).args(arguments).current_dir(root).status() {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("{} failed: {status}", shown(bench))),
            Err(error) => return Err(format!("cargo could not be started: {error}")),
        }
    }
    println!("\n{}", numbers::table(&found.iter().map(shown).collect::<Vec<_>>()));
    Ok(())
}

fn shown(bench: &Bench) -> String {
    format!("{}/{}", bench.package, bench.name)
}

/// Returns every benchmark of the repository, by package and name.
fn find(root: &Path) -> Result<Vec<Bench>, String> {
    let mut packages: Vec<PathBuf> = entries(&root.join("crates"))?;
    packages.push(root.join("tests"));
    let mut found = Vec::new();
    for folder in packages {
        let files = entries(&folder.join("benches"))?;
        let rust = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        let names: Vec<String> = rust.map(|path| stem(path)).collect();
        if names.is_empty() {
            continue;
        }
        let manifest = folder.join("Cargo.toml");
        let text =
            std::fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
        let package = package(&text).ok_or_else(|| format!("{}: it names no package", manifest.display()))?;
        found.extend(names.into_iter().map(|name| Bench { package: package.to_owned(), name }));
    }
    Ok(found)
}

/// Returns the name of the package in a manifest: the first `name` of the house's manifests is always that.
fn package(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = \""))?;
    line.split('"').next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_of_the_journal_is_found() {
        let found = find(&crate::root()).expect("the folders can be listed");
        let append = Bench { package: "maia-journal".to_owned(), name: "append".to_owned() };
        assert!(found.contains(&append), "{found:?}");
    }

    #[test]
    fn every_number_that_names_a_benchmark_names_one_that_exists() {
        let found: Vec<String> =
            find(&crate::root()).expect("the folders can be listed").iter().map(shown).collect();
        let unknown: Vec<&str> = numbers::NUMBERS
            .iter()
            .filter_map(|number| number.bench)
            .filter(|name| !found.iter().any(|f| f == name))
            .collect();
        assert_eq!(unknown, Vec::<&str>::new());
    }
}
