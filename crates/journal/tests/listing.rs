//! Sessions at a glance.

mod support;

use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use maia_journal::{Journal, Listing, SessionDir, sessions};
use support::{folder, now, open, opened, told};

fn session(project: &Path, id: &str, last: Timestamp) -> SessionDir {
    let dir = SessionDir::new(project, id).expect("an id");
    dir.create().expect("made");
    let mut journal = open(dir.path()).journal;
    journal.append(&[opened(&format!("name of {id}"))], now()).expect("appended");
    journal.append(&[told("x"), told("y")], last).expect("appended");
    dir
}

#[test]
fn sessions_are_listed_by_their_last_use() {
    let project = folder();
    assert_eq!(sessions(project.path()).expect("no session yet"), Listing::default());
    let later = |seconds| now() + SignedDuration::from_secs(seconds);
    session(project.path(), "a", later(30));
    let b = session(project.path(), "b", later(50));
    session(project.path(), "c", later(10));
    // An end that is torn, or longer than what is looked at, hides only what it hides.
    let mut torn = fs::read(b.journal()).expect("it is there");
    torn.extend_from_slice(b"{\"v\":1,\"seq\":4,");
    fs::write(b.journal(), &torn).expect("written");

    let listing = sessions(project.path()).expect("listed");
    assert_eq!(listing.warnings, Vec::<String>::new());
    let names: Vec<&str> = listing.sessions.iter().map(|session| &*session.name).collect();
    assert_eq!(names, ["name of b", "name of a", "name of c"]);
    let first = &listing.sessions[0];
    assert_eq!((&*first.id, &*first.dir), ("b", b.path()));
    assert_eq!((first.opened, &*first.model, &*first.cwd), (now(), "m", Path::new("/home/é")));
    assert_eq!(first.last, Some((3, later(50))));
    assert_eq!(fs::read(b.journal()).expect("it is there"), torn, "looking changes nothing");

    torn.extend_from_slice(&vec![0; 200_000]);
    fs::write(b.journal(), &torn).expect("written");
    let listing = sessions(project.path()).expect("listed");
    assert_eq!(
        listing.sessions.iter().find(|session| session.id == "b").map(|session| session.last),
        Some(None)
    );
}

#[test]
fn what_cannot_be_listed_is_said() {
    let project = folder();
    session(project.path(), "good", now());
    let all = project.path().join("sessions");
    for (id, bytes) in
        [("garbage", &b"garbage\n"[..]), ("later", b"{\"v\":2,\n"), ("zeros", &[0; 100]), ("empty", b"")]
    {
        fs::create_dir(all.join(id)).expect("made");
        fs::write(all.join(id).join("journal.jsonl"), bytes).expect("written");
    }
    fs::create_dir(all.join("never")).expect("made");
    fs::create_dir_all(all.join("folder/journal.jsonl")).expect("made");
    fs::write(all.join("file"), "x").expect("written");
    let mut journal = open(SessionDir::new(project.path(), "never").expect("an id").path()).journal;
    journal.append(&[told("begins otherwise")], now()).expect("appended");

    let listing = sessions(project.path()).expect("listed");
    assert_eq!(listing.sessions.iter().map(|session| &*session.id).collect::<Vec<_>>(), ["good"]);
    for (id, part) in [
        ("file", ""),
        ("folder", "not a file"),
        ("garbage", "first record"),
        ("later", "later version"),
        ("never", "told instead of session_opened"),
        ("zeros", "first record"),
    ] {
        let path = format!("{}:", all.join(id).display());
        let warning = listing.warnings.iter().find(|warning| warning.contains(&path));
        assert!(warning.is_some_and(|warning| warning.contains(part)), "{id}: {:?}", listing.warnings);
    }
    assert_eq!(listing.warnings.len(), 6, "{:?}", listing.warnings);
}
