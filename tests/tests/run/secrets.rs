//! Keys: sent to their endpoint, and seen nowhere else (SAFETY 5, SAFETY 6).

use std::path::{Path, PathBuf};

use maia_tests::harness::endpoint::{calls, says};
use maia_tests::harness::{Endpoint, World, of_type};
use serde_json::json;

use crate::MAIA;

const KEY: &str = "sk-never-to-be-seen-0123456789";
const TOKEN: &str = "ghp_neverToBeSeen0123456789";

/// Returns every file below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.filter_map(Result::ok).collect::<Vec<_>>());
    let paths = entries.unwrap_or_default().into_iter().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_key_is_sent_to_its_endpoint_and_seen_nowhere_else() {
    for by_settings in [false, true] {
        let world = World::new(MAIA);
        // In a file: named in the command itself, such paths are asked about.
        world.write(
            "look.sh",
            "env; cat /proc/$PPID/environ | tr '\\0' '\\n'; cat /proc/self/environ | tr '\\0' '\\n'\n",
        );
        let endpoint = Endpoint::start(|asked| match asked.step {
            1 => calls(&[
                ("Bash", json!({"command": "sh look.sh"})),
                (
                    "Bash",
                    json!({"command": "echo MAIA_TEST_MARK=$MAIA_TEST_MARK ${OPENAI_API_KEY:-no key} ${GITHUB_TOKEN:-no token}"}),
                ),
            ]),
            _ => says("done"),
        });
        let maia =
            world.run().args(["go", "--json", "--mode", "auto", "--no-sandbox"]).env("GITHUB_TOKEN", TOKEN);
        let maia = if by_settings {
            let settings = json!({"LiteLLM_URL": endpoint.url(), "LiteLLM_API_Key": KEY});
            world.write_home(".maia/settings.json", settings.to_string());
            maia.model("test-model")
        } else {
            maia.endpoint(endpoint.url()).env("OPENAI_API_KEY", KEY)
        };
        let ended = maia.end().with_code(0);
        let bearer = format!("Bearer {KEY}");
        assert!(endpoint.requests().iter().all(|request| request.header("authorization") == Some(&bearer)));
        for secret in [KEY, TOKEN] {
            assert!(!ended.out().contains(secret) && !ended.err().contains(secret), "{secret}: {ended}");
            for request in endpoint.requests() {
                assert!(
                    !String::from_utf8_lossy(&request.body).contains(secret),
                    "{secret} went to the model"
                );
            }
            for file in files(&world.state()) {
                let bytes = std::fs::read(&file).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{secret} in {}", file.display());
            }
        }
        let events = ended.events();
        let results = of_type(&events, "tool_result");
        let said = results.iter().find(|result| result["id"] == "maia:1.2").expect("it ran");
        // The test would notice: what is no secret is there.
        let output = said["output"].as_str().unwrap_or_default();
        assert!(
            output.contains("MAIA_TEST_MARK=maia-test-") && output.contains("no key no token"),
            "{output}"
        );
    }
}

#[test]
fn what_is_recorded_is_for_the_person_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (world, endpoint) = (World::new(MAIA), Endpoint::start(|_| says("hello")));
    world.run().arg("go").endpoint(endpoint.url()).end().with_code(0);
    let state = files(&world.state());
    assert!(!state.is_empty());
    for path in state.iter().flat_map(|file| [Some(file.as_path()), file.parent()]).flatten() {
        let mode = std::fs::metadata(path).map(|found| found.permissions().mode() & 0o077).unwrap_or(0);
        assert_eq!(mode, 0, "{}", path.display());
    }
    assert_eq!(files(&world.cwd()), Vec::<PathBuf>::new(), "nothing is made in the folder");
}
