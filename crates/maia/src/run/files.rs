//! `@file` in a request: the files that it names are added as data (mission M11.4, thin).

use std::path::Path;

/// Characters of one file that are added (mission M11.4-limits).
const FILE_CHARS: usize = 50_000;

/// What comes after a name in a sentence.
const STOPS: &[char] = &['.', ',', ';', ':', '!', '?', ')'];

/// Returns the request with the files that it names by `@` added, and what is to be said of files that cannot be.
///
/// What names no file stays text, and nothing is said of it: an address of a person begins so too.
pub fn with_files(text: &str, cwd: &Path, home: &Path) -> (String, Vec<String>) {
    let (mut all, mut faults) = (text.to_owned(), Vec::new());
    for word in text.split_whitespace().filter_map(|word| word.strip_prefix('@')) {
        let names = [word, word.trim_end_matches(STOPS)];
        let path = |name: &str| match name.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => cwd.join(name),
        };
        let named = names.into_iter().find(|name| !name.is_empty() && path(name).exists());
        let Some(name) = named else { continue };
        match content(&path(name)) {
            Ok(content) => all.push_str(&format!("\n\n<data from=\"{name}\">\n{content}\n</data>")),
            Err(why) => faults.push(format!("@{name} was not added: {why}")),
        }
    }
    (all, faults)
}

fn content(path: &Path) -> Result<String, String> {
    if path.is_dir() {
        return Err("it is a folder".to_owned());
    }
    let bytes = crate::settings::read_small(path).map_err(|error| error.to_string())?;
    let mut text = String::from_utf8(bytes).map_err(|_| "it is no text".to_owned())?;
    if text.contains('\0') {
        return Err("it is no text".to_owned());
    }
    if let Some((at, _)) = text.char_indices().nth(FILE_CHARS) {
        text.truncate(at);
        text.push_str("\n[cut]");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, folder: &Path) -> (String, Vec<String>) {
        let (all, faults) = with_files(text, folder, folder);
        (all.strip_prefix(text).expect("the request stays as it is").to_owned(), faults)
    }

    #[test]
    fn files_are_added_as_data_and_other_words_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.txt"), "hello").expect("a file");
        let data = "\n\n<data from=\"a.txt\">\nhello\n</data>";
        let text = "look at @a.txt and @nobody";
        assert_eq!(added(text, folder.path()), (data.to_owned(), vec![]));
        assert_eq!(added("what is in @a.txt?", folder.path()), (data.to_owned(), vec![]));
    }

    #[test]
    fn what_cannot_be_added_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("sub")).expect("a folder");
        std::fs::write(folder.path().join("b.bin"), [0xff, 0xfe, 0]).expect("a file");
        let large = std::fs::File::create(folder.path().join("large")).expect("a file");
        large.set_len(1 << 30).expect("a hole");
        let (text, faults) = added("@sub @b.bin @large", folder.path());
        assert_eq!((text.as_str(), faults.len()), ("", 3), "{faults:?}");
        assert_eq!(faults[0], "@sub was not added: it is a folder");
        assert_eq!(faults[1], "@b.bin was not added: it is no text");
    }

    #[test]
    fn a_long_file_is_cut_by_characters() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |text: &str| std::fs::write(folder.path().join("a"), text).expect("a file");
        write(&"é".repeat(FILE_CHARS));
        assert!(!added("@a", folder.path()).0.contains("[cut]"), "as long as it may be");
        write(&"é".repeat(FILE_CHARS + 1));
        let text = added("@a", folder.path()).0;
        assert!(text.contains("é\n[cut]\n") && text.matches('é').count() == FILE_CHARS);
    }
}
