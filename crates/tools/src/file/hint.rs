//! What to tell a model whose text was not found, so that it does not turn to `sed`.
//!
//! - Asked only when an Edit failed; pure, and bounded by the size of the file.

/// Characters of a line that are shown.
const SHOWN: usize = 160;

/// Returns what may help, with its own punctuation in front; empty when there is nothing to say.
///
/// The nearest line is one that is the same without blanks, shown escaped so that tabs and unusual spaces can be seen.
pub(crate) fn for_absent(file: &str, old: &str) -> String {
    if file.is_empty() {
        return ": the file is empty".to_owned();
    }
    if numbered(old) {
        return ": it seems to begin with a line number of Read, which is not part of the file".to_owned();
    }
    let trimmed = old.trim();
    if !trimmed.is_empty() && trimmed != old && file.contains(trimmed) {
        return "; without the blanks or line ends at its beginning and end it is".to_owned();
    }
    let Some(wanted) = old.lines().map(bare).find(|line| !line.is_empty()) else { return String::new() };
    for (index, line) in file.lines().enumerate() {
        // Lengths first: almost all lines are told apart without building anything.
        if line.len() >= wanted.len() && bare(line) == wanted {
            let shown: String = line.chars().take(SHOWN).collect();
            return format!("; the nearest line is {}, with these blanks: {shown:?}", index + 1);
        }
    }
    let lower = wanted.to_lowercase();
    if let Some((index, line)) = file.lines().enumerate().find(|(_, line)| bare(line).to_lowercase() == lower)
    {
        let shown: String = line.chars().take(SHOWN).collect();
        return format!("; the nearest line is {}, in other case: {shown:?}", index + 1);
    }
    String::new()
}

/// Returns the line without blanks of any kind.
fn bare(line: &str) -> String {
    line.chars().filter(|character| !character.is_whitespace() && *character != '\u{200b}').collect()
}

/// Whether the text begins like a line of Read: blanks, digits, a tab.
fn numbered(text: &str) -> bool {
    let rest = text.trim_start_matches(' ');
    let after = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    after.len() < rest.len() && after.starts_with('\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_line_is_shown_with_its_blanks() {
        let hint = for_absent("x\n\tif a {\n", "    if a {\n        b();");
        assert!(hint.contains("is 2") && hint.contains("\\tif a {"), "{hint}");
        assert!(for_absent("1\u{202f}000 €\n", "1 000 €").contains("\\u{202f}"));
    }

    #[test]
    fn common_mistakes_are_named() {
        assert!(for_absent("bar\n", "     2\tbar").contains("line number"));
        assert!(for_absent("a\nb", "b\n").contains("end it is"));
        assert!(for_absent("", "b").contains("empty"));
        assert!(for_absent("Foo()\n", "foo()").contains("other case"));
        assert_eq!(for_absent("a", "zzz"), "");
    }
}
