//! Files in, settings and warnings out.

use std::fs;

use super::*;

struct Home {
    home: tempfile::TempDir,
    cwd: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let new = || tempfile::tempdir().unwrap();
        let this = Self { home: new(), cwd: new() };
        for root in [&this.home, &this.cwd] {
            fs::create_dir(root.path().join(".maia")).unwrap();
        }
        this
    }

    fn user(self, name: &str, text: &str) -> Self {
        fs::write(self.home.path().join(".maia").join(name), text).unwrap();
        self
    }

    fn folder(self, name: &str, text: &str) -> Self {
        fs::write(self.cwd.path().join(".maia").join(name), text).unwrap();
        self
    }

    fn load(&self, trusted: bool) -> Result<Loaded, SettingsError> {
        load(&Places::new(self.home.path(), self.cwd.path(), self.home.path()), trusted)
    }
}

fn shown(loaded: &Loaded) -> String {
    loaded.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

const ALL: &str = r#"{
  "LiteLLM_URL": "http://h:4000", "OpenAI_EndPoint": "/x", "LiteLLM_Models": "/y", "LiteLLM_API_Key": " sk-1\n",
  "MaxIterations": 7, "MaxOutputTokens": 9, "MaxParallelAgents": 1, "MaxAgentDepth": 2, "MaxSpawns": 3,
  "MaxInFlight": 4, "ContextSize": 128000, "AskAtCost": 2.5, "model": "m",
  "permissions": {"allow": ["Read"], "deny": ["Bash(rm *)"], "ask": "Edit"}
}"#;

#[test]
fn every_key_of_the_person() {
    let loaded = Home::new().user("settings.json", ALL).load(false).unwrap();
    assert_eq!(shown(&loaded), "");
    let settings = loaded.settings;
    assert_eq!(settings.litellm_url.as_deref(), Some("http://h:4000"));
    assert_eq!(settings.litellm_key.as_ref().map(Secret::expose), Some("sk-1"));
    assert!(!format!("{settings:?}").contains("sk-1"));
    assert_eq!((settings.max_iterations, settings.max_output_tokens), (7, Some(9)));
    assert_eq!((settings.max_parallel_agents, settings.max_agent_depth), (1, 2));
    assert_eq!((settings.max_spawns, settings.max_in_flight), (3, 4));
    assert_eq!((settings.context_size, settings.ask_at_cost_micros), (Some(128_000), 2_500_000));
    assert_eq!(settings.model.unwrap().0, "m");
    assert_eq!(settings.rules[0].rules.ask, ["Edit"]);
    assert!(settings.rules[0].source.ends_with(".maia/settings.json"));
}

#[test]
fn nothing_is_set_without_files() {
    let loaded = Home::new().load(true).unwrap();
    assert_eq!(loaded.settings, Settings::default());
    assert!(loaded.warnings.is_empty());
}

#[test]
fn a_folder_without_trust_only_forbids() {
    let home = Home::new()
        .user("settings.json", r#"{"LiteLLM_URL": "http://good"}"#)
        .user("config.json", r#"{"model": "mine"}"#)
        .folder("config.json", r#"{"model": "theirs"}"#)
        .folder(
            "settings.json",
            r#"{"LiteLLM_URL": "http://evil", "LiteLLM_API_Key": "sk-2", "MaxSpawns": 9999, "mode": "auto",
                "permissions": {"allow": ["Bash"], "ask": ["Edit"], "deny": ["Write"]}}"#,
        );
    for trusted in [false, true] {
        let loaded = home.load(trusted).unwrap();
        let settings = &loaded.settings;
        assert_eq!(settings.litellm_url.as_deref(), Some("http://good"));
        assert_eq!((&settings.litellm_key, settings.max_spawns), (&None, 200));
        let folder = &settings.rules[1].rules;
        assert_eq!(
            (folder.ask.as_slice(), folder.deny.as_slice()),
            (&["Edit".to_owned()][..], &["Write".to_owned()][..])
        );
        assert_eq!(folder.allow.len(), usize::from(trusted));
        assert_eq!(settings.model.as_ref().unwrap().0, if trusted { "theirs" } else { "mine" });
        let shown = shown(&loaded);
        assert!(
            shown.contains("`mode`") && shown.contains("`LiteLLM_URL` never counts from a folder"),
            "{shown}"
        );
        assert_eq!(shown.contains("not trusted"), !trusted, "{shown}");
        assert!(!shown.contains("sk-2") && !shown.contains("evil"), "{shown}");
    }
}

#[test]
fn home_as_launch_folder_is_the_person() {
    let home = Home::new().user("settings.json", ALL);
    let places = Places::new(home.home.path(), home.home.path(), home.home.path());
    let settings = load(&places, false).unwrap().settings;
    assert_eq!(settings.rules.len(), 1);
    assert_eq!(settings.rules[0].rules.allow, ["Read"]);
}

#[test]
fn a_broken_file_stops_the_person_and_not_the_folder() {
    let broken = "{\n  \"LiteLLM_API_Key\": \"sk-3\",\n}\n";
    let error = Home::new().user("settings.json", broken).load(true).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("settings.json:3:1: "), "{text}");
    assert!(!format!("{error:?} {text}").contains("sk-3"), "{text}");

    let loaded = Home::new().folder("settings.json", broken).folder("config.json", "[]").load(true).unwrap();
    assert!(loaded.settings.rules.is_empty());
    let shown = shown(&loaded);
    assert!(shown.contains("settings.json:3: ") && shown.contains("config.json:1: "), "{shown}");
}

#[test]
fn values_of_the_wrong_kind_stop_with_their_line() {
    for (key, value) in [
        ("MaxIterations", "0"),
        ("MaxIterations", "1.5"),
        ("MaxIterations", "\"50\""),
        ("MaxSpawns", "-1"),
        ("ContextSize", "1e99"),
        ("AskAtCost", "0"),
        ("LiteLLM_API_Key", "12345"),
        ("permissions", "[\"Write\"]"),
    ] {
        let text = format!("{{\n  \"LiteLLM_URL\": \"http://h\",\n  \"{key}\": {value}\n}}");
        let shown = Home::new().user("settings.json", &text).load(false).unwrap_err().to_string();
        // The name of the folder is random and may hold anything.
        let (_, said) = shown.rsplit_once("settings.json").expect("the file is named");
        assert!(said.contains(":3:3: ") && said.contains(key) && !said.contains(value), "{shown}");
    }
}

#[test]
fn what_is_passed_over_is_said_with_its_line() {
    let loaded = Home::new()
        .user(
            "settings.json",
            "{\"maxiterations\": 3,\n\"Colour\": 1,\n\"permissions\": {\"deny\": [\"Write\", 7, \"Bash(\"],\n\
             \"allowed\": []},\n\"permissions\": {\"deny\": [\"Edit\"]}}",
        )
        .load(false)
        .unwrap();
    assert_eq!(loaded.settings.rules[0].rules.deny, ["Write", "Edit"]);
    assert_eq!(loaded.settings.max_iterations, 50);
    let shown = shown(&loaded);
    for text in [
        "stands twice",
        "write it `MaxIterations`",
        ":2: `Colour`",
        ":3: `Bash(`",
        ":4: `allowed`",
        "no text",
    ] {
        assert!(shown.contains(text), "{shown} lacks {text}");
    }
}

#[test]
fn a_mark_at_the_start_is_passed_over_and_other_bytes_are_not() {
    let loaded = Home::new().user("settings.json", "\u{feff}{\"MaxSpawns\": 5}").load(false).unwrap();
    assert_eq!(loaded.settings.max_spawns, 5);
    let home = Home::new();
    fs::write(home.home.path().join(".maia/settings.json"), [b'{', b'\n', 0xFF]).unwrap();
    assert!(home.load(false).unwrap_err().to_string().contains(":2:1: this is not UTF-8"));
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let text = format!("{{\"a\": {}", "[".repeat(200_000));
    assert!(Home::new().user("settings.json", &text).load(false).is_err());
}
