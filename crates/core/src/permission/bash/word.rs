//! One word of a command: what is written, and what the program gets to see.
//!
//! - Asked by both grammars' walks and by the tolerant splitter; rules are matched with what this gives.
//! - Quotes and backslashes are removed as bash removes them; what is only known when the command runs
//!   becomes a hole. Whatever is not on the list here is `odd`, and an odd word is never allowed.

use std::rc::Rc;

use super::ansi;
use super::nest::{after_ansi, after_back, after_brace, after_double, after_paren, after_single};
use crate::permission::pattern::HOLE;

/// Expansions within expansions that are still taken apart.
const MAX_DEPTH: usize = 12;

/// A word taken apart. Texts are shared: words are copied into every command that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The text as written.
    pub raw: Rc<str>,
    /// The text after quote removal, with a [`HOLE`] for each piece that is not known yet.
    pub text: Rc<str>,
    /// Whether it holds unquoted `*`, `?` or `[`.
    pub glob: bool,
    /// Whether it holds an unquoted `{a,b}` or `{1..3}`.
    pub braces: bool,
    /// Whether it begins with an unquoted `~`.
    pub tilde: bool,
    /// Whether it runs commands: `$( )`, backticks, `<( )`.
    pub runs: bool,
    /// What is not understood about it.
    pub odd: Option<&'static str>,
    /// Texts in it that bash runs.
    pub bodies: Vec<String>,
}

impl Word {
    /// Takes the word written as `raw` apart.
    pub fn read(raw: &str) -> Self {
        // Most words are plain: they are what they look like.
        if raw.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&b)) {
            return Self::plain(raw);
        }
        let chars: Vec<char> = raw.chars().collect();
        let mut reader = Reader::default();
        reader.bare(&chars);
        reader.finish(raw)
    }

    /// Takes the body of an unquoted here-document apart: quotes are text in it.
    pub fn read_document(raw: &str) -> Self {
        let chars: Vec<char> = raw.chars().collect();
        let mut reader = Reader::default();
        reader.double(&chars, false, 0);
        reader.finish(raw)
    }

    /// Makes a word that is what it looks like, or that is not looked at closer yet.
    pub fn plain(text: &str) -> Self {
        let text: Rc<str> = text.into();
        Self {
            raw: Rc::clone(&text),
            text,
            glob: false,
            braces: false,
            tilde: false,
            runs: false,
            odd: None,
            bodies: Vec::new(),
        }
    }

    /// Returns whether the text is known before the command runs.
    pub fn is_fixed(&self) -> bool {
        self.odd.is_none() && !self.runs && !self.braces && !self.text.contains(HOLE)
    }

    /// Returns whether bash takes this word, in front of a command, as an assignment.
    pub fn is_assignment(&self) -> bool {
        let Some((name, _)) = self.raw.split_once('=') else { return false };
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }
}

/// What is known of a word while it is read.
#[derive(Default)]
struct Reader {
    text: String,
    glob: bool,
    braces: bool,
    tilde: bool,
    runs: bool,
    odd: Option<&'static str>,
    bodies: Vec<String>,
}

impl Reader {
    fn finish(self, raw: &str) -> Word {
        let Self { text, glob, braces, tilde, runs, odd, bodies } = self;
        Word { raw: raw.into(), text: text.into(), glob, braces, tilde, runs, odd, bodies }
    }

    fn mark(&mut self, odd: &'static str) {
        self.odd.get_or_insert(odd);
    }

    /// Reads text outside of quotes.
    fn bare(&mut self, chars: &[char]) {
        self.tilde = chars.first() == Some(&'~');
        self.braces = has_braces(chars);
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at += 1;
            match c {
                '\\' => {
                    match chars.get(at) {
                        Some('\n') => {}
                        Some(&escaped) => self.text.push(escaped),
                        None => self.mark("a backslash at the end"),
                    }
                    at += 1;
                }
                '\'' => {
                    let Some(end) = after_single(chars, at) else {
                        return self.mark("a quote that is not closed");
                    };
                    self.text.extend(&chars[at..end - 1]);
                    at = end;
                }
                '"' => {
                    let Some(end) = after_double(chars, at) else {
                        return self.mark("a quote that is not closed");
                    };
                    self.double(&chars[at..end - 1], true, 0);
                    at = end;
                }
                '$' if chars.get(at) == Some(&'\'') => {
                    let Some(end) = after_ansi(chars, at + 1) else {
                        return self.mark("a quote that is not closed");
                    };
                    match ansi::decode(&chars[at + 1..end - 1]) {
                        Some(text) => self.text.push_str(&text),
                        None => self.mark("an escape in $'…' that is not understood"),
                    }
                    at = end;
                }
                // A quote for translation is a double quote where nothing is translated.
                '$' if chars.get(at) == Some(&'"') => {}
                '$' => at = self.dollar(chars, at, 0),
                '`' => at = self.backticks(chars, at),
                '<' | '>' if chars.get(at) == Some(&'(') => at = self.substitution(chars, at + 1),
                '(' | ')' | '<' | '>' | '|' | '&' | ';' => self.mark("an array or an extended pattern"),
                '*' | '?' => {
                    self.glob = true;
                    self.text.push(c);
                }
                '[' => {
                    // Alone it is the name of a program.
                    self.glob |= chars[at..].contains(&']');
                    self.text.push(c);
                }
                _ => self.text.push(c),
            }
        }
    }

    /// Reads text inside of double quotes, or of a here-document, where `"` is text.
    fn double(&mut self, chars: &[char], quoted: bool, depth: usize) {
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at += 1;
            match c {
                '\\' => match chars.get(at) {
                    Some('\n') => at += 1,
                    Some(&escaped) if matches!(escaped, '$' | '`' | '\\') || (escaped == '"' && quoted) => {
                        self.text.push(escaped);
                        at += 1;
                    }
                    _ => self.text.push('\\'),
                },
                '$' => at = self.dollar(chars, at, depth),
                '`' => at = self.backticks(chars, at),
                _ => self.text.push(c),
            }
        }
    }

    fn backticks(&mut self, chars: &[char], at: usize) -> usize {
        self.runs = true;
        self.text.push(HOLE);
        let Some(end) = after_back(chars, at) else {
            self.mark("a backtick that is not closed");
            return chars.len();
        };
        // Inside backticks a backslash before these three is removed before the text is read.
        let mut body = String::new();
        let mut inner = chars[at..end - 1].iter().peekable();
        while let Some(&c) = inner.next() {
            match (c, inner.peek()) {
                ('\\', Some(&&next)) if matches!(next, '$' | '`' | '\\') => {
                    body.push(next);
                    inner.next();
                }
                _ => body.push(c),
            }
        }
        self.bodies.push(body);
        end
    }

    /// Reads `$( )`, `<( )`, `>( )`; `at` is after the opening bracket.
    fn substitution(&mut self, chars: &[char], at: usize) -> usize {
        self.text.push(HOLE);
        let end = after_paren(chars, at);
        let body = &chars[at..end.map_or(chars.len(), |end| end - 1)];
        let sum = match body {
            ['(', inner @ .., ')'] => Some(inner),
            _ => None,
        };
        match sum {
            // Numbers alone run nothing; a name in a sum is evaluated, and may hold a command.
            Some(sum) if end.is_some() && sum.iter().all(|c| is_sum(*c)) => {}
            Some(_) => {
                self.mark("a sum with names in it");
                self.bodies.push(body.iter().collect());
            }
            None => {
                self.runs = true;
                self.bodies.push(body.iter().collect());
            }
        }
        end.unwrap_or_else(|| {
            self.mark("a bracket that is not closed");
            chars.len()
        })
    }

    /// Reads what follows a `$`; returns the index after it.
    fn dollar(&mut self, chars: &[char], at: usize, depth: usize) -> usize {
        match chars.get(at) {
            Some('(') => self.substitution(chars, at + 1),
            Some('{') => {
                self.text.push(HOLE);
                let Some(end) = after_brace(chars, at + 1) else {
                    self.mark("a brace that is not closed");
                    return chars.len();
                };
                self.expansion(&chars[at + 1..end - 1], depth);
                end
            }
            Some('[') => {
                self.text.push(HOLE);
                self.mark("a sum in the old form");
                self.bodies.push(chars[at + 1..].iter().collect());
                at + 1
            }
            Some(c) if c.is_ascii_alphabetic() || *c == '_' => {
                self.text.push(HOLE);
                let name = chars[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
                at + name
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(*c) => {
                self.text.push(HOLE);
                at + 1
            }
            _ => {
                self.text.push('$');
                at
            }
        }
    }

    /// Reads the inside of `${ }`. Only the forms that cannot run or assign anything are on the list.
    fn expansion(&mut self, inner: &[char], depth: usize) {
        let name_from = usize::from(inner.first() == Some(&'#') && inner.len() > 1);
        let name = inner[name_from..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
        let after = &inner[name_from + name..];
        let plain = |rest: &[char]| {
            rest.iter().all(|c| {
                c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '*' | '?' | ',' | '-' | ' ' | '%' | '#')
            })
        };
        let understood = name > 0
            && match after {
                [] => true,
                [':', '-' | '+' | '?', rest @ ..] | ['-' | '+' | '%' | '#' | '/' | '?', rest @ ..] => {
                    plain(rest)
                }
                // A part by numbers: a name there would be evaluated.
                [':', rest @ ..] => rest.iter().all(|c| c.is_ascii_digit() || matches!(c, ':' | ' ' | '-')),
                _ => false,
            };
        if understood {
            return;
        }
        self.mark("an expansion that is not understood");
        if depth < MAX_DEPTH {
            // What runs in it must be found even though the whole is not allowed.
            let mut nested = Self::default();
            nested.double(inner, false, depth + 1);
            self.runs |= nested.runs;
            self.bodies.append(&mut nested.bodies);
        } else {
            self.bodies.push(inner.iter().collect());
        }
    }
}

fn is_sum(c: char) -> bool {
    c.is_ascii_digit() || " \t+-*/%()<>=!&|^~?:".contains(c)
}

/// Returns whether the word has an unquoted brace that bash expands to several words.
fn has_braces(chars: &[char]) -> bool {
    let Some(open) = chars.iter().position(|&c| c == '{') else { return false };
    // `${` is no brace expansion, and `@{u}` has neither comma nor dots: only these make several words.
    let inside = &chars[open..];
    inside.contains(&'}') && (inside.contains(&',') || inside.windows(2).any(|pair| pair == ['.', '.'])) && {
        let mut at = 0;
        let mut found = false;
        while let Some(&c) = chars.get(at) {
            at = match c {
                '\\' => at + 2,
                '\'' => after_single(chars, at + 1).unwrap_or(chars.len()),
                '"' => after_double(chars, at + 1).unwrap_or(chars.len()),
                '$' if chars.get(at + 1) == Some(&'{') => after_brace(chars, at + 2).unwrap_or(chars.len()),
                '$' if chars.get(at + 1) == Some(&'(') => after_paren(chars, at + 2).unwrap_or(chars.len()),
                '`' => after_back(chars, at + 1).unwrap_or(chars.len()),
                '{' => {
                    found = true;
                    at + 1
                }
                _ => at + 1,
            };
        }
        found
    }
}

#[cfg(test)]
#[path = "word_tests.rs"]
mod tests;
