//! Values of names that are given to secrets: `PASSWORD=…`, `"api_key": "…"`, `--token …`, `Authorization: Bearer …`.

use std::ops::Range;

use super::{MASK, has_digit, has_letter};

/// Characters that are looked at behind a name.
const FAR: usize = 1024;

/// What a name says of its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Chosen by a person: any word may be one.
    Password,
    /// Made by a machine: letters with digits.
    Key,
    /// Names a way to sign in; what follows is the secret.
    Scheme,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In quotes, or right behind a `=`.
    Bound,
    /// Behind a blank, as words of a sentence and types in code are too.
    Loose,
}

/// Returns the value behind the word at `word`, when that is a name of a secret and the value may be one.
pub(super) fn after(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let name = &text[word.clone()];
    let kind = kind(name)?;
    let rest = &text[word.end..];
    if kind == Kind::Scheme {
        return scheme(text, &word);
    }
    let behind_name = rest.trim_start_matches(['\\', '"', '\'', '`', ']']);
    let (value, form) = match behind_name.trim_start_matches([' ', '\t']) {
        sign if sign.starts_with("==") || sign.starts_with("::") => return None,
        sign if sign.starts_with(['=', ':']) => {
            let value = sign.trim_start_matches(['=', ':', '>']);
            let tight = sign.starts_with('=') && sign.len() == behind_name.len() && !value.starts_with(' ');
            (value.trim_start_matches([' ', '\t']), if tight { Form::Bound } else { Form::Loose })
        }
        value if name.starts_with("--") && value.len() < rest.len() => (value, Form::Loose),
        _ => return None,
    };
    let at = text.len() - value.len();
    read(text, at, kind, form).or_else(|| {
        // `const KEY: &str = "…"`
        let sign = value.char_indices().take(40).take_while(|(_, c)| *c != '\n').find(|(_, c)| *c == '=')?.0;
        let behind = value[sign + 1..].trim_start_matches([' ', '\t']);
        let at = text.len() - behind.len();
        behind.starts_with(['"', '\'']).then(|| read(text, at, kind, Form::Bound)).flatten()
    })
}

/// Returns what a name is about.
fn kind(name: &str) -> Option<Kind> {
    let parts = parts(name);
    let last = parts.last()?.as_str();
    let has = |words: &[&str]| parts.iter().any(|part| words.contains(&part.as_str()));
    if parts.len() == 1 && matches!(last, "bearer" | "basic") {
        return Some(Kind::Scheme);
    }
    const ABOUT: &[&str] = &[
        "name", "path", "file", "url", "uri", "type", "kind", "count", "len", "length", "size", "field",
        "policy", "prompt", "ttl", "id", "min", "max", "limit", "expires", "expiry", "label", "hint", "arn",
        "ref",
    ];
    if ABOUT.contains(&last) {
        return None;
    }
    if has(&["password", "passwd", "passphrase", "pwd", "passwort", "secret"])
        || (parts.len() > 1 && last == "pass")
    {
        return Some(Kind::Password);
    }
    const OF_KEYS: &[&str] = &[
        "api",
        "access",
        "private",
        "auth",
        "signing",
        "encryption",
        "account",
        "storage",
        "master",
        "client",
        "service",
        "session",
        "subscription",
        "license",
    ];
    let before = parts.iter().rev().nth(1).map_or("", String::as_str);
    let is_variable = parts.len() > 1 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_key = match last {
        "token" | "apikey" | "authtoken" | "accesstoken" | "accesskey" | "secretkey" | "privatekey"
        | "credential" | "credentials" => true,
        "key" => is_variable || OF_KEYS.contains(&before),
        _ => false,
    };
    is_key.then_some(Kind::Key)
}

/// Returns the parts of a name, in lower case: `apiKey`, `API_KEY` and `--api-key` have the same two.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = b'_';
    for byte in name.bytes() {
        let begins =
            matches!(byte, b'_' | b'-') || (byte.is_ascii_uppercase() && before.is_ascii_lowercase());
        if begins && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| byte.is_ascii_alphanumeric()) {
            part.push(char::from(byte.to_ascii_lowercase()));
        }
        before = byte;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns what follows `Bearer` or `Basic`.
fn scheme(text: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let value = text[word.end..].trim_start_matches(' ');
    let start = text.len() - value.len();
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "._~+/=-".contains(c);
    let len = value.find(|c| !is_of_token(c)).unwrap_or(value.len());
    let is_header = text[..word.start].trim_end_matches([' ', '"', '\'', '\\']).ends_with(':');
    let is_token = if is_header { len >= 6 } else { len >= 16 && has_digit(&value[..len]) };
    (start > word.end && is_token).then_some(start..start + len)
}

/// Returns the value that begins at `at`, in quotes or not, when it may be a secret.
fn read(text: &str, at: usize, kind: Kind, form: Form) -> Option<Range<usize>> {
    let unescaped = text[at..].trim_start_matches('\\');
    let quote = unescaped.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let start = text.len() - unescaped.len() + usize::from(quote.is_some());
    let value = &text[start..];
    let ends = |c: char| match quote {
        Some(quote) => c == quote || c == '\\' || c == '\n',
        None => {
            c.is_whitespace()
                || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | '|' | '\\')
                || "()<>[]{}".contains(c)
        }
    };
    let near = value.char_indices().take(FAR).find(|(_, c)| ends(*c)).map(|(len, _)| len);
    let len = near.unwrap_or_else(|| value.char_indices().nth(FAR).map_or(value.len(), |(len, _)| len));
    let (found, next) = (&value[..len], value[len..].chars().next());
    let is_code = quote.is_none() && (next.is_some_and(|c| "(<[{".contains(c)) || found.contains("::"));
    let form = if quote.is_some() { Form::Bound } else { form };
    if is_code || !may_be(found, kind, form) {
        return None;
    }
    // All of a long one, once it is known to be one.
    let end = near.unwrap_or_else(|| value.find(ends).unwrap_or(value.len()));
    Some(start..start + end)
}

/// Tells whether a value may be a secret of this kind.
fn may_be(value: &str, kind: Kind, form: Form) -> bool {
    const PLAIN: &[&str] = &[
        "true",
        "false",
        "null",
        "none",
        "undefined",
        "string",
        "text",
        "number",
        "integer",
        "boolean",
        "required",
        "optional",
        "password",
        "secret",
        "token",
        "default",
        "empty",
        "changeme",
    ];
    let value = value.trim_end_matches(['.', ':', '!', '?']);
    let first = value.chars().next().unwrap_or_default();
    let is_filler = value.chars().all(|c| c == first) || "$<{[*(%&".contains(first) || value == MASK;
    let is_plain = PLAIN.iter().any(|plain| plain.eq_ignore_ascii_case(value));
    if value.len() < 4
        || is_filler
        || is_plain
        || value.contains("://")
        || value.contains(char::is_whitespace)
    {
        return false;
    }
    let mixed = has_digit(value) && has_letter(value);
    match (kind, form) {
        (Kind::Password, Form::Bound) => !is_path_of_code(value),
        (Kind::Password, Form::Loose) => {
            value.len() >= 6 && (mixed || value.contains(['!', '@', '#', '$', '%', '^', '*', '+']))
        }
        (Kind::Key, Form::Bound) => value.len() >= 8 && mixed,
        (Kind::Key, Form::Loose) => value.len() >= 16 && mixed,
        (Kind::Scheme, _) => false,
    }
}

/// Tells whether a value is rather what a program calls a secret: `password=args.password`.
fn is_path_of_code(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.'))
        && (value.contains('.') || ["pass", "pwd", "secret"].iter().any(|word| lower.contains(word)))
}
