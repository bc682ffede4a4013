//! Which variables of maia's environment a child process gets (SAFETY 5).
//!
//! - Asked once a session by whoever makes the [`crate::Workspace`]; pure.
//! - Three classes: what changes how programs are loaded or shells start (never), keys of endpoints (never), and in a run
//!   that no person watches whatever looks like a credential.

/// Keys of endpoints that maia itself may read, whatever the settings say.
const ENDPOINT_KEYS: [&str; 2] = ["LITELLM_API_KEY", "OPENAI_API_KEY"];

/// Variables that make a shell or the loader run or load something.
const LOADING: [&str; 8] = [
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "BASH_XTRACEFD",
    "BASH_LOADABLES_PATH",
];

/// Returns the variables that a child gets, in the order given.
///
/// `strict` is for `auto` and headless runs: what looks like a credential is left out too, unless `keep` names it.
/// `secret_names` are the keys of endpoints and what server configurations expand: left out always, `keep` or not.
pub fn child_env(
    vars: impl IntoIterator<Item = (String, String)>,
    strict: bool,
    keep: &[String],
    secret_names: &[String],
) -> Vec<(String, String)> {
    let kept = |name: &str| keep.iter().any(|kept| kept == name);
    vars.into_iter()
        .filter(|(name, _)| {
            let never = loads(name)
                || ENDPOINT_KEYS.iter().any(|key| name.eq_ignore_ascii_case(key))
                || secret_names.iter().any(|secret| name.eq_ignore_ascii_case(secret));
            !never && (!strict || kept(name) || !credential(name))
        })
        .collect()
}

/// Whether the variable changes what a program loads or a shell runs before its command.
fn loads(name: &str) -> bool {
    // `BASH_FUNC_name%%` carries an exported function, which would take the place of the program that was judged.
    name.starts_with("LD_") || name.starts_with("BASH_FUNC_") || LOADING.contains(&name)
}

/// Whether the name looks like that of a credential.
fn credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["_TOKEN", "_KEY", "_SECRET"].iter().any(|end| name.ends_with(end))
        || name.contains("PASSWORD")
        || name.starts_with("AWS_")
        || name == "SSH_AUTH_SOCK"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(strict: bool, keep: &[&str], secret: &[&str], vars: &[&str]) -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let vars = vars.iter().map(|name| ((*name).to_owned(), "x".to_owned()));
        child_env(vars, strict, &owned(keep), &owned(secret)).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn keys_of_endpoints_and_loaders_never_pass() {
        let vars = [
            "PATH",
            "LITELLM_API_KEY",
            "MY_KEY",
            "LD_PRELOAD",
            "BASH_ENV",
            "ENV",
            "BASH_FUNC_ls%%",
            "GH_TOKEN",
        ];
        assert_eq!(names(false, &["MY_KEY", "LD_PRELOAD"], &["MY_KEY"], &vars), ["PATH", "GH_TOKEN"]);
    }

    #[test]
    fn a_strict_run_gets_no_credentials_but_those_kept() {
        let vars = [
            "HOME",
            "GH_TOKEN",
            "AWS_PROFILE",
            "SSH_AUTH_SOCK",
            "PGPASSWORD",
            "db_password",
            "X_SECRET",
            "TOKENS",
        ];
        assert_eq!(names(true, &["GH_TOKEN"], &[], &vars), ["HOME", "GH_TOKEN", "TOKENS"]);
    }
}
