//! Guarded paths that a command names in its words: `cat .env`, `cp x .git/hooks/y` (SAFETY 1).
//!
//! - Asked by `judge` before any allow rule counts. A secret path among the words asks, unless a rule names that one
//!   path (`Read(.env)`) or this very command; a protected one asks always, unless the program only reads.
//! - A word is looked at as the program gets it, and in pieces: `--file=x`, `-fx`, `a:b`, `@x`, and what stands between
//!   the quotes and brackets of a script. A hole such as `$HOME` is tried as home, as nothing and as any text.
//! - Not a proof: a program can build a name by itself, which is what a sandbox is for. Bounded by work.

use std::path::{Path, PathBuf};

use super::habits::{Habit, Scripts, Use, habit, takes_names};
use super::pieces::{defaults, looks_like_name, may_be_guarded, pieces};
use super::survey::{Survey, Whereabouts};
use super::text::Texts;
use super::unwrap::{program, unwrap};
use super::word::Word;
use crate::permission::paths::{Place, normalize};
use crate::permission::pattern::HOLE;
use crate::permission::rule::{Family, Matcher, Rules};
use crate::permission::{guarded, protected_path, shapes};

/// Paths that are looked up for one line; beyond them it is a doubt.
const MAX_LOOKUPS: usize = 20_000;
/// Options whose value is a folder that other words count from.
const FOLDER_OPTIONS: &[&str] =
    &["-C", "--directory", "--cwd", "--chdir", "--prefix", "--work-tree", "-execdir"];
/// Keys by the names that they are made with.
const KEYS: &[&str] =
    &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss", "id_ecdsa_sk", "id_ed25519_sk"];

/// Returns why the line asks for a path that its words name, if it does. `folders` are those that the shell may be in.
pub(super) fn doubt(rules: &Rules, survey: &Survey, folders: Vec<PathBuf>, place: &Place) -> Option<String> {
    let mut look = Look::new(rules, survey, folders, place);
    let feeds = survey.parts.iter().flat_map(|part| &part.feeds).map(String::as_str);
    survey.commands.iter().try_for_each(|words| look.command(words)).and_then(|()| look.fed(feeds)).err()
}

/// What one look at a word is about.
#[derive(Clone, Copy)]
struct Aim<'a> {
    paths: Use,
    files: bool,
    scripts: Scripts,
    /// The whole command, for a rule that names it.
    command: &'a [Word],
}

struct Look<'a> {
    rules: &'a Rules,
    survey: &'a Survey,
    place: &'a Place,
    /// Folders that a relative path may count from.
    folders: Vec<PathBuf>,
    /// Whether a plain name leads to nothing guarded from every one of them.
    is_plain_ground: bool,
    left: usize,
}

impl<'a> Look<'a> {
    fn new(rules: &'a Rules, survey: &'a Survey, mut folders: Vec<PathBuf>, place: &'a Place) -> Self {
        if survey.whereabouts == Whereabouts::Unknown {
            folders.push(normalize(&place.home));
        }
        let is_plain_ground = rules.secrets.is_empty()
            && rules.protected.is_empty()
            && folders.iter().all(|folder| is_plain(folder));
        Self { rules, survey, place, folders, is_plain_ground, left: MAX_LOOKUPS }
    }

    /// Looks at the words of one command.
    fn command(&mut self, words: &[Word]) -> Result<(), String> {
        let lead = words.iter().take_while(|word| word.is_assignment()).count();
        let (assignments, core) = words.split_at(lead);
        let is_sed = core.first().is_some_and(|first| matches!(program(first), "sed" | "gsed"));
        if !is_sed && !words.iter().any(|word| self.may_name(word)) {
            return Ok(());
        }
        // A value is for the command behind it, or for what comes later in the line.
        let paths = if core.is_empty() { Use::Writes } else { Use::Reads };
        for word in assignments {
            self.word(word, Aim { paths, files: false, scripts: Scripts::None, command: words })?;
        }
        let Some((first, _)) = core.split_first() else { return Ok(()) };
        let Habit { paths, texts, scripts, files, deep } = habit(core);
        self.word(first, Aim { paths: Use::Reads, files: false, scripts: Scripts::None, command: words })?;
        if paths == Use::Nothing {
            let texts: Vec<&str> = core[1..].iter().map(|word| &*word.text).collect();
            return self.fed(texts.into_iter());
        }
        // What a wrapper runs is a command of its own here, with habits of its own.
        let mut is_left_out = vec![false; core.len()];
        let inner = unwrap(core).words.into_iter().flat_map(|(from, to)| from..to);
        for at in inner.chain(texts) {
            if let Some(is_left_out) = is_left_out.get_mut(at) {
                *is_left_out = true;
            }
        }
        let known = self.folders.len();
        self.enter(core);
        let aim = Aim { paths, files, scripts, command: words };
        let mut done = Ok(());
        for (at, word) in core.iter().enumerate().skip(1) {
            if is_left_out[at] {
                continue;
            }
            done = self.word(word, aim);
            if done.is_ok() && deep && !is_target(core, at) {
                done = self.whole_home(word, core);
            }
            if done.is_err() {
                break;
            }
        }
        self.folders.truncate(known);
        done
    }

    /// Adds the folders that options make the others count from: `tar -C ~ -cf x .ssh`.
    fn enter(&mut self, core: &[Word]) {
        for (at, word) in core.iter().enumerate().skip(1).take(64) {
            let attached = FOLDER_OPTIONS.iter().find_map(|name| word.text.strip_prefix(name));
            let value = match attached {
                Some("") => core.get(at + 1).map(|next| &*next.text),
                Some(value) => Some(value.trim_start_matches('=')),
                None => None,
            };
            if let Some(value) = value.filter(|_| self.folders.len() < 64) {
                let value = value.replace(HOLE, &self.place.home.display().to_string());
                let folder = self.resolve(&self.folders[0], &value);
                self.folders.push(folder);
            }
        }
    }

    /// Looks at texts that may reach a program as names: `echo .env | xargs cat`, `xargs cat <<< .env`.
    fn fed<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> Result<(), String> {
        if !self.is_fed() {
            return Ok(());
        }
        let aim = Aim { paths: Use::Reads, files: true, scripts: Scripts::None, command: &[] };
        for text in texts.filter(|text| self.may_be(text)).collect::<Vec<_>>() {
            // `printf` and `echo -e` write these as the ends of names.
            for piece in [r"\n", r"\0", r"\t"].iter().fold(vec![text], |pieces, end| {
                pieces.into_iter().flat_map(|piece| piece.split(end)).collect()
            }) {
                for name in piece.split_whitespace() {
                    self.path(&name.replace(HOLE, ""), false, aim)?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether something in the line takes what it is fed for names.
    fn is_fed(&self) -> bool {
        self.survey.commands.iter().any(|words| takes_names(words))
    }

    fn may_name(&self, word: &Word) -> bool {
        word.glob || word.text.contains(HOLE) || self.may_be(&word.text)
    }

    fn may_be(&self, text: &str) -> bool {
        !self.is_plain_ground || may_be_guarded(text, self.place)
    }

    /// Looks at every reading of one word.
    fn word(&mut self, word: &Word, aim: Aim<'_>) -> Result<(), String> {
        // In a script for `sed` a name may begin anywhere.
        if aim.scripts != Scripts::Sed && !self.may_name(word) {
            return Ok(());
        }
        for default in defaults(&word.raw) {
            self.path(default, true, aim)?;
        }
        let is_script = aim.scripts != Scripts::None;
        for piece in pieces(&word.text, aim.scripts) {
            if !piece.contains(HOLE) {
                self.path(piece, word.glob && !is_script, aim)?;
                continue;
            }
            let anything = if is_script { "" } else { "*" };
            let rest = piece.strip_prefix(HOLE);
            if let Some(rest) = rest.filter(|rest| rest.starts_with('/')) {
                let home = self.place.home.display();
                self.path(&format!("{home}{}", rest.replace(HOLE, anything)), !is_script, aim)?;
            }
            // `$name.*` is about files of that name, not about hidden ones.
            let wild = word.glob && !is_script && rest.is_none();
            self.path(&piece.replace(HOLE, ""), wild, aim)?;
            if !is_script {
                self.path(&piece.replace(HOLE, anything), true, aim)?;
            }
        }
        Ok(())
    }

    /// Looks at one path, from every folder; `wild` where its wildcards are some.
    fn path(&mut self, text: &str, wild: bool, aim: Aim<'_>) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        let is_anchored = text.starts_with(['/', '~']);
        let count = if is_anchored { 1 } else { self.folders.len() };
        for at in 0..count {
            self.left = self.left.checked_sub(1).ok_or("the command names more paths than are looked at")?;
            let path = self.resolve(&self.folders[at], text);
            if let Some(why) = self.secret(&path, wild, aim)
                && !self.is_opened(&path, aim.command)
            {
                let shown = self.place.show(&path);
                let mend = if wild && shapes::is_wild(&shown) {
                    "only a rule that is exactly this command opens it".to_owned()
                } else {
                    format!("a rule `Read({shown})`, or one that is exactly this command, opens it")
                };
                return Err(format!("the command names `{shown}`, a secret path: {why}; {mend}"));
            }
            if aim.paths == Use::Writes
                && let Some(why) = self.protected(&path, wild)
            {
                let shown = self.place.show(&path);
                return Err(format!("the command may write `{shown}`, which is protected: {why}"));
            }
        }
        Ok(())
    }

    fn resolve(&self, folder: &Path, text: &str) -> PathBuf {
        match text.strip_prefix('~').map(|rest| rest.split_once('/')) {
            // `~+` and names of accounts count as home: a little too much.
            Some(Some((_, rest))) => normalize(&self.place.home.join(rest.trim_start_matches('/'))),
            Some(None) => normalize(&self.place.home),
            None => normalize(&folder.join(text)),
        }
    }

    fn secret(&self, path: &Path, wild: bool, aim: Aim<'_>) -> Option<&'static str> {
        let by_place = guarded::secret_place(path, self.place).or_else(|| {
            let covers = self.rules.secrets.iter().any(|pattern| pattern.covers(path, self.place, true));
            covers.then_some("your settings say so")
        });
        if by_place.is_some() {
            return by_place;
        }
        if wild && let Some(why) = shapes::secret(path, self.place) {
            return Some(why);
        }
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        if !looks_like_name(&name) || (wild && shapes::is_wild(&name)) {
            return None;
        }
        // Many words begin with `id_`; a key is what is called like one, or what is opened as a file.
        let is_word = name.starts_with("id_")
            && !name.ends_with(".pem")
            && !aim.files
            && !KEYS.iter().any(|key| {
                name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
        guarded::secret_name(&name).filter(|_| !is_word)
    }

    fn protected(&self, path: &Path, wild: bool) -> Option<&'static str> {
        protected_path(self.rules, path, self.place)
            .or_else(|| shapes::protected(path, self.place).filter(|_| wild))
    }

    /// Returns whether a rule names this one path, or this very command, without wildcards.
    fn is_opened(&self, path: &Path, command: &[Word]) -> bool {
        let reads = self.rules.of(Family::Allow, "Read").any(|rule| {
            matches!(&rule.matcher, Matcher::Path(pattern) if pattern.is_literal && pattern.covers(path, self.place, false))
        });
        let is_named = |words: &[Word]| {
            let texts = Texts::new(words);
            self.rules.of(Family::Allow, "Bash").any(
                |rule| matches!(&rule.matcher, Matcher::Command(pattern) if pattern.exact && pattern.covers(&texts)),
            )
        };
        reads
            || (!command.is_empty() && is_named(command))
            || self.survey.parts.iter().all(|part| !part.words.is_empty() && is_named(&part.words))
    }

    /// Refuses to let a program go through all of home: the secret paths lie there.
    fn whole_home(&self, word: &Word, core: &[Word]) -> Result<(), String> {
        let name = core.first().map(program).unwrap_or_default();
        let goes_deep = matches!(name, "tar" | "bsdtar" | "rg" | "ripgrep" | "ag" | "ack" | "mv" | "7z")
            || core.iter().skip(1).any(|word| {
                let text = &*word.text;
                text == "--recursive"
                    || text == "--archive"
                    || (text.starts_with('-')
                        && !text.starts_with("--")
                        && text.contains(['r', 'R', 'a', 'd']))
            });
        let text = word.text.replace(HOLE, &self.place.home.display().to_string());
        if !goes_deep || !text.starts_with(['/', '~', '.']) {
            return Ok(());
        }
        let path = self.resolve(&self.folders[0], &text);
        if self.place.home.starts_with(&path) && path != normalize(&self.place.cwd) {
            let shown = path.display();
            return Err(format!("the command goes through all of `{shown}`, where secret paths lie"));
        }
        Ok(())
    }
}

/// Returns whether the word is where a copy goes to.
fn is_target(core: &[Word], at: usize) -> bool {
    at + 1 == core.len()
        && core.first().is_some_and(|first| matches!(program(first), "cp" | "mv" | "rsync" | "scp"))
}

/// Returns whether nothing about the folder makes plain names in it guarded ones.
fn is_plain(folder: &Path) -> bool {
    folder.components().all(|component| {
        let name = component.as_os_str().to_string_lossy().to_ascii_lowercase();
        !(name.starts_with('.')
            || name.ends_with(".git")
            || matches!(name.as_str(), "proc" | "snap" | "library"))
    })
}
