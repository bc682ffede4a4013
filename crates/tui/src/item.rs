//! One item of a transcript and how it is laid out.
//!
//! Made by the fold from events; asked for its lines by [`crate::feed`]. Every text in it has passed
//! [`crate::visible`], except a streamed one, which passes when it is laid out, since its pieces can cut a character
//! sequence in two.

use std::sync::Arc;

use maia_protocol::{ActorPath, Event, Outcome, Totals};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::graph::Task;
use crate::markdown;
use crate::picture::{Form, list, picture};
use crate::theme::Theme;
use crate::units;
use crate::visible::{cut, visible, visible_line};
use crate::words::Words;
use crate::wrap::{Margin, Piece, columns, fit, fit_end, wrap, wrap_text};

/// Characters of a result that are shown (mission M15.1-preview).
pub const PREVIEW: usize = 600;
/// Lines of a result that are shown; 600 characters can be 600 lines.
const PREVIEW_LINES: usize = 8;
/// Tasks of a graph that are listed in a transcript; the inspector has all.
const TASKS: usize = 12;
/// Characters of one text that are kept for the screen; the journal has all.
const KEPT: usize = 200_000;

/// How important a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Not as it should be.
    Warn,
    /// It failed.
    Fail,
    /// A question was answered.
    Ask,
}

/// One item.
#[derive(Debug)]
pub enum Item {
    /// What a person asked.
    User(String),
    /// What somebody told the agent.
    Told {
        /// Who.
        from: String,
        /// The text.
        text: String,
    },
    /// A text that is being streamed, exact.
    Streaming {
        /// As far as it came.
        text: String,
    },
    /// A complete answer.
    Text(String),
    /// Reasoning, at most [`PREVIEW`] characters.
    Reasoning(String),
    /// A call.
    Call(Call),
    /// A child in the transcript of its parent.
    Child(Child),
    /// Something to be told.
    Notice {
        /// How important.
        level: Level,
        /// What.
        text: String,
        /// What to do.
        mend: Option<String>,
    },
    /// A raw event, laid out as JSON.
    Raw(Arc<Event>),
}

/// A call in a transcript.
#[derive(Debug)]
pub struct Call {
    /// Name of the tool.
    pub name: String,
    /// The call in one line.
    pub summary: String,
    /// `None` while it runs; else whether it failed, and how long it ran in milliseconds.
    pub ended: Option<(bool, u64)>,
    /// The start of its result, or the end of its output while it runs.
    pub preview: String,
    /// Characters of the whole result, when the preview is shorter.
    pub characters: Option<usize>,
    /// The task graph, when it is a delegation.
    pub tasks: Arc<Vec<Task>>,
}

/// A child in the transcript of its parent.
#[derive(Debug)]
pub struct Child {
    /// Its path.
    pub path: ActorPath,
    /// Its task in one line.
    pub task: String,
    /// How it ended.
    pub ended: Option<(Outcome, Totals)>,
    /// Its summary, unless a call's result shows it.
    pub summary: String,
}

/// What lines depend on beside the item.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// Columns.
    pub width: usize,
    /// Colours.
    pub theme: &'a Theme,
    /// Words.
    pub words: &'static Words,
    /// Whether Markdown is formatted.
    pub markdown: bool,
}

/// Lines of an item for one width.
#[derive(Debug)]
pub struct Laid {
    width: usize,
    lines: Vec<Line<'static>>,
    /// Of a streamed text: bytes whose lines are final, and how many lines those are.
    settled: (usize, usize),
}

impl Laid {
    /// Returns the lines.
    pub fn lines(&self) -> &[Line<'static>] {
        &self.lines
    }
}

impl Item {
    /// Returns a complete answer.
    pub fn text(text: &str) -> Self {
        Self::Text(kept(text))
    }

    /// Returns what a person asked.
    pub fn user(text: &str) -> Self {
        Self::User(kept(text))
    }

    /// Returns a notice without a mend.
    pub fn notice(level: Level, text: impl Into<String>) -> Self {
        Self::Notice { level, text: text.into(), mend: None }
    }

    /// Tells whether no blank line stands between `before` and this item.
    pub fn joins(&self, before: &Self) -> bool {
        use Item::{Call, Child, Raw};
        matches!((self, before), (Call(_) | Child(_), Call(_) | Child(_)) | (Raw(_), Raw(_)))
    }
}

/// Returns `text` made visible and cut to what is kept for the screen.
pub fn kept(text: &str) -> String {
    let (start, is_cut) = cut(text, KEPT);
    let mut shown = visible(start).into_owned();
    if is_cut {
        shown.push_str(" …");
    }
    shown
}

/// Returns the start of a result, and its whole length when that is more.
pub fn preview(output: &str) -> (String, Option<usize>) {
    let output = output.trim_matches('\n');
    let (start, mut is_cut) = cut(output, PREVIEW);
    let mut start = start;
    if let Some((at, _)) = start.match_indices('\n').nth(PREVIEW_LINES - 1) {
        start = start.get(..at).unwrap_or(start);
        is_cut = true;
    }
    (visible(start).into_owned(), is_cut.then(|| output.chars().count()))
}

/// Returns the lines of `item`, from `before` where they still hold.
pub fn laid(before: Option<Laid>, item: &Item, gap: bool, look: &Look<'_>) -> Laid {
    let before = before.filter(|laid| laid.width == look.width);
    if let Item::Streaming { text } = item {
        return stream(before, text, gap, look);
    }
    before.unwrap_or_else(|| {
        let mut lines = if gap { vec![Line::default()] } else { Vec::new() };
        lines.extend(lines_of(item, look));
        Laid { width: look.width, lines, settled: (0, 0) }
    })
}

/// Wraps a streamed text; lines up to its last line feed are wrapped once.
fn stream(before: Option<Laid>, text: &str, gap: bool, look: &Look<'_>) -> Laid {
    let mut laid = before.unwrap_or_else(|| {
        let lines = if gap { vec![Line::default()] } else { Vec::new() };
        Laid { width: look.width, settled: (0, lines.len()), lines }
    });
    let (bytes, lines) = laid.settled;
    laid.lines.truncate(lines);
    let open = text.get(bytes..).unwrap_or_default();
    let wrapped = |part: &str| wrap_text(&visible(part), look.theme.text, look.width, &Margin::default());
    let rest = match open.rsplit_once('\n') {
        Some((whole, rest)) => {
            laid.lines.extend(wrapped(whole));
            laid.settled = (bytes + whole.len() + 1, laid.lines.len());
            rest
        }
        None => open,
    };
    laid.lines.extend(wrapped(rest));
    laid
}

fn lines_of(item: &Item, look: &Look<'_>) -> Vec<Line<'static>> {
    let theme = look.theme;
    match item {
        Item::User(text) => wrap_text(text, theme.user, look.width, &Margin::hanging("› ", theme.user)),
        Item::Told { from, text } => {
            let margin = Margin::hanging(&format!("{} » ", fit(from, 24)), theme.title);
            wrap_text(text, theme.text, look.width, &margin)
        }
        Item::Streaming { .. } => Vec::new(),
        Item::Text(text) if look.markdown => {
            let lines = markdown::lines(text, look.width, theme);
            // What Markdown leaves nothing of (a comment, a definition) is shown as written.
            if lines.is_empty() { raw(text, look) } else { lines }
        }
        Item::Text(text) => raw(text, look),
        Item::Reasoning(text) => {
            let style = theme.dim.add_modifier(Modifier::ITALIC);
            wrap_text(text, style, look.width, &Margin::hanging("∴ ", theme.dim))
        }
        Item::Call(call) => call_lines(call, look),
        Item::Child(child) => child_lines(child, look),
        Item::Notice { level, text, mend } => notice_lines(*level, text, mend.as_deref(), look),
        Item::Raw(event) => {
            let (head, fields) = raw_event(event);
            let (start, is_cut) = cut(&fields, 4 * PREVIEW);
            let mut text = visible_line(start).into_owned();
            if is_cut {
                text.push('…');
            }
            let pieces = [Piece::new(head, theme.title), Piece::new(format!(" {text}"), theme.text)];
            wrap(&pieces, look.width, &Margin::hanging("· ", theme.dim))
        }
    }
}

/// Returns number, time and type of an event, and its other fields as JSON; the session and the agent are known.
fn raw_event(event: &Event) -> (String, String) {
    let mut json = serde_json::to_value(event).unwrap_or_default();
    let Some(fields) = json.as_object_mut() else { return Default::default() };
    let kind = fields.remove("type");
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    for known in ["seq", "time", "session", "actor"] {
        fields.remove(known);
    }
    let time = event.time.strftime("%H:%M:%S");
    (format!("{} {time} {kind}", event.seq), serde_json::Value::to_string(&json))
}

fn raw(text: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    wrap_text(text, look.theme.text, look.width, &Margin::default())
}

fn call_lines(call: &Call, look: &Look<'_>) -> Vec<Line<'static>> {
    let theme = look.theme;
    let (sign, style, time) = match call.ended {
        None => ("▸ ", theme.active, String::new()),
        Some((false, ms)) => ("✓ ", theme.good, format!(" {}", units::duration(ms))),
        Some((true, ms)) => ("✗ ", theme.bad, format!(" {}", units::duration(ms))),
    };
    let name = fit(&call.name, look.width.saturating_sub(4).min(32));
    let room = look.width.saturating_sub(columns(sign) + columns(&name) + 1 + columns(&time));
    let mut spans = vec![Span::styled(sign, style), Span::styled(name, theme.title)];
    if room >= 4 {
        spans.push(Span::styled(format!(" {}", fit(&call.summary, room)), theme.text));
    }
    spans.push(Span::styled(time, theme.dim));
    let mut lines = vec![Line::from(spans)];
    lines.extend(task_lines(&call.tasks, look));
    if !call.preview.is_empty() {
        let margin = Margin::bar("  │ ", theme.dim);
        lines.extend(wrap_text(&call.preview, theme.dim, look.width, &margin));
    }
    if let Some(characters) = call.characters {
        let count = format!("  └ {} {}", units::count(characters as u64), look.words.characters);
        lines.push(Line::styled(fit(&count, look.width), theme.dim));
    }
    lines
}

/// The graph of a delegation: a picture where one fits, else a list.
fn task_lines(tasks: &[Task], look: &Look<'_>) -> Vec<Line<'static>> {
    let inner = Look { width: look.width.saturating_sub(4), ..*look };
    let lines = picture(tasks, Form::Line, &inner, None).unwrap_or_else(|| list(tasks, TASKS, &inner, None));
    barred(lines, look.theme)
}

fn child_lines(child: &Child, look: &Look<'_>) -> Vec<Line<'static>> {
    let (theme, words) = (look.theme, look.words);
    let path = fit_end(&visible_line(child.path.as_str()), look.width.saturating_sub(2));
    let Some((outcome, totals)) = child.ended else {
        let pieces = [
            Piece::new("▸ ", theme.active),
            Piece::new(path, theme.title),
            Piece::new(format!(" {}", child.task), theme.text),
        ];
        let mut lines = wrap(&pieces, look.width, &Margin { first: Vec::new(), rest: indent() });
        lines.truncate(2);
        return lines;
    };
    let (sign, word, style) = outcome_look(outcome, theme, words);
    let used = format!(
        " {word} · {} {} · {} {} · {}",
        totals.iterations,
        if totals.iterations == 1 { words.step } else { words.steps },
        units::count(totals.input_tokens.saturating_add(totals.output_tokens)),
        words.tokens,
        units::duration(totals.duration_ms),
    );
    let room = look.width.saturating_sub(2 + columns(&path) + columns(&used));
    let mut pieces =
        vec![Piece::new(format!("{sign} "), style), Piece::new(path, theme.title), Piece::new(used, style)];
    if room >= 12 && !child.task.is_empty() {
        pieces.push(Piece::new(fit(&format!(" · {}", child.task), room), theme.dim));
    }
    let mut lines = wrap(&pieces, look.width, &Margin { first: Vec::new(), rest: indent() });
    if !child.summary.is_empty() {
        lines.extend(summary_lines(&child.summary, look));
    }
    lines
}

/// What a child handed back, as an answer looks, beside a bar.
fn summary_lines(summary: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    let theme = look.theme;
    if !look.markdown || look.width < 12 {
        return wrap_text(summary, theme.text, look.width, &Margin::bar("  │ ", theme.dim));
    }
    barred(markdown::lines(summary, look.width - 4, theme), theme)
}

fn barred(lines: Vec<Line<'static>>, theme: &Theme) -> Vec<Line<'static>> {
    let bar = Span::styled("  │ ", theme.dim);
    let lines = lines.into_iter().map(|mut line| {
        line.spans.insert(0, bar.clone());
        line
    });
    lines.collect()
}

fn indent() -> Vec<Piece> {
    vec![Piece::new("  ", ratatui::style::Style::new())]
}

/// Returns sign, word and style of an outcome.
pub fn outcome_look(
    outcome: Outcome,
    theme: &Theme,
    words: &'static Words,
) -> (&'static str, &'static str, ratatui::style::Style) {
    match outcome {
        Outcome::Done => ("✓", words.done, theme.good),
        Outcome::Partial => ("½", words.partial, theme.warn),
        Outcome::Failed => ("✗", words.failed, theme.bad),
        Outcome::Cancelled => ("■", words.cancelled, theme.warn),
        Outcome::TimedOut => ("◷", words.timed_out, theme.bad),
    }
}

fn notice_lines(level: Level, text: &str, mend: Option<&str>, look: &Look<'_>) -> Vec<Line<'static>> {
    let (badge, style) = match level {
        Level::Info => ("INFO ", look.theme.code),
        Level::Warn => ("WARN ", look.theme.warn),
        Level::Fail => ("FAIL ", look.theme.bad),
        Level::Ask => ("◆ ", look.theme.ask),
    };
    let margin = Margin::hanging(badge, style);
    let mut lines = wrap_text(text, look.theme.text, look.width, &margin);
    if let Some(mend) = mend {
        let margin = Margin { first: margin.rest.clone(), rest: margin.rest };
        lines.extend(wrap_text(&format!("→ {mend}"), look.theme.dim, look.width, &margin));
    }
    lines
}
