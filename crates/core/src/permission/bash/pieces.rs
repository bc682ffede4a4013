//! The pieces of a word that may be paths: `--file=x`, `-fx`, `a:b`, `@x`, names in a script.
//!
//! - Asked by `named.rs`; owns the quick test by which nearly every word is left alone.

use std::path::Path;

use super::habits::Scripts;
use crate::permission::paths::Place;

/// Characters that part the pieces of a word.
const PARTS: [char; 3] = ['=', ':', ','];
/// Characters that part the pieces of a script.
const SCRIPT_PARTS: [char; 19] =
    ['\'', '"', '`', '(', ')', '[', ']', '{', '}', '<', '>', ';', ',', '|', ' ', '\t', '\n', '&', '='];
/// Returns the pieces of `text` that may be paths; those of a script when it is one.
pub(super) fn pieces(text: &str, script: Scripts) -> Vec<&str> {
    let mut pieces = Vec::new();
    if text.contains("://") {
        // An address, unless it is one of a file.
        if let Some((_, path)) = text.split_once("file://") {
            pieces.push(path);
        }
        if script == Scripts::None {
            return pieces;
        }
    } else {
        pieces.push(text.trim_start_matches('@'));
    }
    if text.contains(PARTS) {
        pieces.extend(text.split(PARTS).map(|piece| piece.trim_start_matches('@')));
        pieces.extend(text.split_once('=').map(|(_, value)| value));
    }
    if text.starts_with('-') && !text.starts_with("--") {
        pieces.extend(text.get(2..));
        // Behind letters that may be options: `-czf.env`.
        let begin = text.find(['.', '/', '~']).or_else(|| text.find("id_"));
        let begin = begin.filter(|&at| at > 2 && text[1..at].chars().all(|c| c.is_ascii_alphanumeric()));
        pieces.extend(begin.and_then(|at| text.get(at..)));
    }
    if script == Scripts::Sed {
        // The name of a file stands right behind the command: `$r.env`, `s/a/b/w.env`.
        let commands = text.match_indices(['r', 'R', 'w', 'W', 'e']);
        let names = commands.filter_map(|(at, _)| text.get(at + 1..));
        let names = names.flat_map(|rest| [Some(rest), rest.split(['\n', ';', '}']).next()]).flatten();
        pieces.extend(names.filter(|rest| rest.starts_with(['.', '/', '~']) || rest.starts_with("id_")));
    }
    if script != Scripts::None {
        pieces.extend(text.split(SCRIPT_PARTS).filter(|piece| piece.contains(['.', '/', '~', '_'])));
        pieces.retain(|piece| !is_substitution(piece));
    }
    pieces
}

/// Returns whether `piece` is the `s/a/b/` of an editor.
fn is_substitution(piece: &str) -> bool {
    let mut chars = piece.chars();
    let (Some('s' | 'y'), Some(delimiter)) = (chars.next(), chars.next()) else { return false };
    !delimiter.is_alphanumeric()
        && piece.matches(delimiter).count() >= 3
        && piece.rsplit(delimiter).next().is_some_and(|flags| flags.chars().all(char::is_alphanumeric))
}

/// Returns what the raw word may become where a variable is not set: `.env` of `${x:-.env}`.
pub(super) fn defaults(raw: &str) -> impl Iterator<Item = &str> {
    raw.split("${").skip(1).filter_map(|rest| {
        let inside =
            rest.split('}').next()?.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        inside.trim_start_matches(':').strip_prefix(['-', '+', '='])
    })
}

/// Returns whether `text` may hold a guarded path, seen from a folder in which plain names are none.
///
/// Takes too much rather than too little; one look at the bytes.
pub(super) fn may_be_guarded(text: &str, place: &Place) -> bool {
    let mut before = b'/';
    for &b in text.as_bytes() {
        let begins = matches!(
            before,
            b'/' | b'='
                | b':'
                | b','
                | b'@'
                | b'\''
                | b'"'
                | b'`'
                | b'('
                | b'['
                | b'{'
                | b'<'
                | b'>'
                | b';'
                | b'|'
                | b' '
                | b'\t'
                | b'\n'
                | b'&'
        );
        if b == b'~' || (b == b'.' && (begins || text.starts_with('-'))) {
            return true;
        }
        before = b;
    }
    if text.starts_with('/')
        && (place.home.starts_with(text)
            || place.state.as_deref().is_some_and(|state| Path::new(text).starts_with(state)))
    {
        return true;
    }
    let holds = |wanted: &str| {
        text.len() >= wanted.len()
            && text.as_bytes().windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
    };
    holds("id_")
        || holds(".pem")
        || holds(".git")
        || holds("proc/")
        || holds("snap/")
        || holds("library/")
        || place.state.as_deref().and_then(Path::to_str).is_some_and(|state| text.contains(state))
}

/// Returns whether `name` can be taken for the name of a file, and not for a sentence or an expression.
pub(super) fn looks_like_name(name: &str) -> bool {
    !name.contains(|c: char| c.is_whitespace() || c.is_control() || "(){}<>|;\"'$`!^\\".contains(c))
}
