//! Words for what was counted and found, and texts of others made plain.
//!
//! - Asked by every part of the demo model; pure.
//! - Whatever comes from a file goes through [`plain`]: no control character, no line break, no tag, so many characters.

/// Words that say nothing about what is looked for, in English and French.
const EMPTY: &str = "\
    about after all also and any are ask between bonjour called can change changed check could dans \
    define defined definition des describe does done each est every exactly explain file files find \
    folder for found from get gets give good got happen happens has have hello help here how ici \
    implemented into its just les let like located look made maia make many more most much must need not \
    now one only our out over please project que quel quels qui quoi read repo repository review run say \
    see should show some such summarize summary sur tell thank thanks that the their them then there \
    these they thing things think this those tidy under une use used uses using want was were what when \
    where which who whole why will with work works would write you your";

/// Words of a request that are looked for, at most.
const WORDS: usize = 3;

/// Returns the words of `request` to look for: what stands in quotes, else what is no everyday word.
pub(super) fn words(request: &str) -> Vec<String> {
    let mut words = quoted(request);
    if words.is_empty() {
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let all = request.split(|c: char| !inside(c)).map(|word| word.trim_matches(['-', '.', '/']));
        let telling = |word: &&str| {
            (3..=40).contains(&word.chars().count())
                && !EMPTY.split_whitespace().any(|empty| empty == word.to_lowercase())
        };
        words = all.filter(telling).map(str::to_owned).collect();
    }
    let mut seen = Vec::new();
    words.retain(|word| {
        let new = !seen.contains(&word.to_lowercase());
        seen.push(word.to_lowercase());
        new
    });
    words.truncate(WORDS);
    words
}

/// Returns what stands in quotes of any kind.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [('“', '”'), ('"', '"'), ('`', '`')] {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, after)) = after.split_once(close) else { break };
            let inside = plain(inside, 40);
            if inside.chars().count() >= 2 {
                found.push(inside);
            }
            rest = after;
        }
    }
    found
}

/// Returns a regular expression for any of `words`, each meant as it is written.
pub(super) fn any_of(words: &[String]) -> String {
    let plain = |word: &String| {
        word.chars().fold(String::new(), |mut text, c| {
            if c.is_ascii_punctuation() && c != '_' {
                text.push('\\');
            }
            text.push(c);
            text
        })
    };
    words.iter().map(plain).collect::<Vec<_>>().join("|")
}

/// Returns `text` as one line of at most `max` characters, without control characters and backticks; nothing in it reads as
/// the end of a block of data.
pub(super) fn plain(text: &str, max: usize) -> String {
    let text = text.replace("<data", "‹data").replace("</data", "‹/data");
    let mut line = String::new();
    let mut count = 0;
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        if count > 0 {
            line.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count == max {
                line.push('…');
                return line;
            }
            line.push(if c == '`' { '\'' } else { c });
            count += 1;
        }
        if count >= max && words.next().is_some() {
            line.push('…');
            return line;
        }
    }
    line
}

/// Returns why a call gave nothing, without what a refusal tells a model to do.
pub(super) fn why(output: &str) -> String {
    let told = ["; do not retry", " Do not send it again", ". Do not send it again"];
    let end = told.iter().filter_map(|told| output.find(told)).min().unwrap_or(output.len());
    let why = output.get(..end).unwrap_or(output);
    plain(why.trim_start_matches("refused: ").trim_end_matches(['.', ' ']), 160)
}

/// Returns a path or a line of code, marked as such.
pub(super) fn code(text: &str, max: usize) -> String {
    format!("`{}`", plain(text, max))
}

/// Returns `number` with a comma between thousands.
pub(super) fn figure(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns how many there are of something, in words that fit the number.
pub(super) fn count(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", figure(number as u64))
}

/// Joins `items` as a sentence does: `a, b and c`.
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns a report in the form of explorers: an answer, places, gaps.
pub(super) fn found(answer: &[String], places: &[String], gaps: &[String]) -> String {
    let lines = |lines: &[String]| if lines.is_empty() { "none".to_owned() } else { lines.join("\n") };
    format!("# Answer\n{}\n\n# Places\n{}\n\n# Gaps\n{}", answer.join(" "), lines(places), lines(gaps))
}

/// Returns what stands below the title `# name` of a report.
pub(super) fn section<'a>(report: &'a str, name: &str) -> Option<&'a str> {
    let title = format!("# {name}\n");
    let start = if report.starts_with(&title) { 0 } else { report.find(&format!("\n{title}"))? + 1 };
    let body = report.get(start + title.len()..)?;
    Some(body.split("\n# ").next().unwrap_or_default().trim())
}

/// Takes a line `path:line:text` of a Grep apart.
pub(super) fn place(line: &str) -> Option<(&str, u64, &str)> {
    // A path may hold colons itself: the first number between two of them counts.
    for (at, _) in line.match_indices(':') {
        let Some((number, text)) = line.get(at + 1..).and_then(|rest| rest.split_once(':')) else { break };
        if let Ok(number) = number.parse()
            && at > 0
        {
            return Some((line.get(..at)?, number, text));
        }
    }
    None
}

/// Returns the lines of a search's result, without its notes.
pub(super) fn lines(output: &str) -> impl Iterator<Item = &str> {
    let note = |line: &&str| line.starts_with('[') && line.ends_with(']') && line.contains(' ');
    let nothing = |line: &&str| line.starts_with("no file matches ") || line.starts_with("no line matches ");
    output.lines().filter(move |line| !note(line) && !nothing(line) && !line.is_empty() && *line != "--")
}

/// Returns the lines of a Read without their numbers.
pub(super) fn text_lines(output: &str) -> impl Iterator<Item = (u64, &str)> {
    output.lines().filter_map(|line| {
        let (number, text) = line.split_once('\t')?;
        Some((number.trim().parse().ok()?, text))
    })
}
