//! Finds a session by what a person calls it.

use std::path::{Path, PathBuf};

use maia_journal::SessionDir;

use crate::error::Failure;

/// Names that an error lists.
const NAMED: usize = 8;

/// Returns the folder of the session of `project` whose name or id is `wanted`, or begins so and no other does. The case
/// does not count where that leaves one.
///
/// # Errors
/// None, or several (exit 2, with the names that there are); the folder cannot be listed (exit 1).
pub fn find(project: &Path, wanted: &str) -> Result<PathBuf, Failure> {
    let listing = maia_journal::sessions(project).map_err(|error| {
        Failure::failed(format!("the sessions cannot be listed: {}", Failure::with_causes(&error)))
    })?;
    let names: Vec<_> =
        listing.sessions.iter().map(|found| (found.name.as_str(), found.id.as_str())).collect();
    match pick(&names, wanted) {
        Pick::One(at) => return Ok(listing.sessions[at].dir.clone()),
        Pick::Several(found) => {
            let mend = format!("name one of {}", shortened(&found));
            return Err(Failure::usage(format!("several sessions begin with \"{wanted}\"")).mend(mend));
        }
        Pick::None => {}
    }
    // One that cannot be listed, such as that of a later version, has its id all the same.
    if let Ok(dir) = SessionDir::new(project, wanted)
        && dir.journal().is_file()
    {
        return Ok(dir.path().to_owned());
    }
    let known: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    let mend = match known.len() {
        0 => "there are none yet; `maia sessions list --all` lists those of other folders".to_owned(),
        _ => format!("there are {}", shortened(&known)),
    };
    Err(Failure::usage(format!("this folder has no session \"{wanted}\"")).mend(mend))
}

#[derive(Debug, PartialEq)]
enum Pick<'a> {
    None,
    One(usize),
    Several(Vec<&'a str>),
}

/// Picks among names and ids.
fn pick<'a>(names: &[(&'a str, &'a str)], wanted: &str) -> Pick<'a> {
    let lower = wanted.to_lowercase();
    let ways: [&dyn Fn(&str) -> bool; 4] = [
        &|text| text == wanted,
        &|text| text.to_lowercase() == lower,
        &|text| text.starts_with(wanted),
        &|text| text.to_lowercase().starts_with(&lower),
    ];
    for (way, fits) in ways.iter().enumerate() {
        let found: Vec<_> = (0..names.len()).filter(|&at| fits(names[at].0) || fits(names[at].1)).collect();
        match found.as_slice() {
            [] => {}
            [at] => return Pick::One(*at),
            // A whole name that several have is the newest one's: they are listed in that order.
            [at, ..] if way < 2 => return Pick::One(*at),
            // An empty beginning is none.
            _ if wanted.is_empty() => return Pick::None,
            several => return Pick::Several(several.iter().map(|&at| names[at].0).collect()),
        }
    }
    Pick::None
}

fn shortened(names: &[&str]) -> String {
    let mut text = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_name_id_or_a_beginning_of_its_own() {
        let names = [("session_3", "0193-c"), ("Session_2", "0193-b"), ("session_2", "0192-a"), ("x", "y")];
        assert_eq!(pick(&names, "session_2"), Pick::One(2), "exactly");
        assert_eq!(pick(&names, "SESSION_2"), Pick::One(1), "the newest of two");
        assert_eq!(pick(&names, "0193-b"), Pick::One(1));
        assert_eq!(pick(&names, "0192"), Pick::One(2));
        assert_eq!(pick(&names, "0193"), Pick::Several(vec!["session_3", "Session_2"]));
        assert_eq!(pick(&names, "SESSION_3"), Pick::One(0));
        assert_eq!(pick(&names, "nothing"), Pick::None);
        assert_eq!(pick(&names, ""), Pick::None);
        assert_eq!(pick(&[], "x"), Pick::None);
    }
}
