//! The live tree of agents: one row each, with what a person watches for (SPEC section 4, mission T9).
//!
//! Columns come in order of use and go one by one as the pane narrows. Only visible rows are made. How much waits in an
//! agent's mailbox is not shown: no event tells it.

use maia_protocol::event::WaitingFor;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{activity, below, put};
use crate::item::outcome_look;
use crate::screen::{Focus, Screen};
use crate::theme::Theme;
use crate::tree::{Life, Node};
use crate::units;
use crate::words::Words;
use crate::wrap::{columns, fit};

/// The columns at the right of the name, each with its width; 0 when it is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Columns {
    doing: usize,
    steps: usize,
    tokens: usize,
    time: usize,
    cost: usize,
    task: usize,
}

impl Columns {
    /// Returns what fits into `width` beside a name of `name` columns.
    fn of(width: usize, name: usize, has_cost: bool) -> Self {
        let mut left = width.saturating_sub(name.clamp(10, 28) + 1);
        let mut take = |columns: usize| {
            if left > columns {
                left -= columns + 1;
                columns
            } else {
                0
            }
        };
        let doing = take(12);
        let steps = take(6);
        let time = take(6);
        let tokens = take(11);
        let cost = if has_cost { take(6) } else { 0 };
        // What is left tells the task, when that is enough to tell something.
        let task = if left >= TASK && cost + tokens > 0 { left - 2 } else { 0 };
        Self { doing, steps, tokens, time, cost, task }
    }
}

/// Columns of a task at least.
const TASK: usize = 14;

/// Draws a title and the rows around the selected one.
pub(crate) fn draw(screen: &mut Screen, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let has_keys = screen.view.focus == Focus::Tree;
    let selected = screen.tree.selected();
    let keys_rows = u16::from(has_keys && area.height >= 4);
    let rows = usize::from(area.height.saturating_sub(1 + keys_rows));
    let top = screen.view.tree_top;
    let order = screen.tree.order();
    let at = order.iter().position(|at| *at == selected).unwrap_or(0);
    let mut top = top.min(order.len().saturating_sub(rows)).min(at);
    if rows > 0 && at >= top + rows {
        top = at + 1 - rows;
    }
    let shown: Vec<usize> = order.iter().skip(top).take(rows).copied().collect();
    let hidden = order.len().saturating_sub(top + shown.len());
    screen.view.tree_top = top;

    let has_cost = screen.tree.node(0).is_some_and(|main| main.subtree.cost_micros > 0);
    let names = shown.iter().filter_map(|at| screen.tree.node(*at));
    let names = names.map(|node| name_columns(node, screen.words())).max();
    // The figures matter more than a long title.
    let (width, names) = (usize::from(area.width), names.unwrap_or(0));
    let of = |title: &String| Columns::of(width, names.max(columns(title) + 1), has_cost);
    let is_whole = |columns: &Columns| columns.tokens > 0 && (columns.cost > 0 || !has_cost);
    let widths = titles(screen, hidden).iter().map(of).find(is_whole);
    let columns = widths.unwrap_or_else(|| Columns::of(width, names, has_cost));
    title(screen, area, buffer, &columns, hidden);
    let place = below(area, 1);
    if keys_rows > 0 {
        let keys = Line::styled(
            super::keys(&[screen.words().tree_keys, screen.words().tree_keys_short], usize::from(area.width)),
            screen.theme.dim,
        );
        put(buffer, area, usize::from(area.height - 1), &keys);
    }
    for (row, at) in shown.iter().enumerate() {
        let Some(node) = screen.tree.node(*at) else { continue };
        let chosen = *at == selected && (has_keys || screen.view.inspecting);
        let line = row_line(node, screen, &columns, usize::from(area.width));
        put(buffer, place, row, &line);
        if chosen {
            let y = place.y + u16::try_from(row).unwrap_or(0);
            buffer.set_style(Rect { y, height: 1, ..place }, screen.theme.selected);
            // Without colours the sign alone tells the selected row.
            put(buffer, Rect { y, height: 1, ..place }, 0, &Line::styled("▌", screen.theme.selected));
        }
    }
}

/// Returns what the title tells, the longest first.
fn titles(screen: &Screen, hidden: usize) -> [String; 3] {
    let words = screen.words();
    let agents = screen.tree.nodes().len().saturating_sub(1);
    let working = screen.tree.working();
    let below = if hidden > 0 { format!(" ↓{hidden}") } else { String::new() };
    [
        format!("{} {agents}{below} · {working} {}", words.agents, words.working),
        format!("{agents}{below} · {working} {}", words.working),
        format!("{agents}{below}"),
    ]
}

fn title(screen: &Screen, area: Rect, buffer: &mut Buffer, widths: &Columns, hidden: usize) {
    let (theme, words) = (&screen.theme, screen.words());
    let style = if screen.view.focus == Focus::Tree { theme.title.patch(theme.active) } else { theme.title };
    let titles = titles(screen, hidden);
    let mut right = String::new();
    for (width, word) in [
        (widths.doing, words.col_doing),
        (widths.steps, words.col_steps),
        (widths.tokens, words.col_tokens),
        (widths.cost, words.col_cost),
        (widths.time, words.col_time),
        (widths.task, words.tab_task),
    ] {
        if width > 0 {
            right.push(' ');
            let word = fit(word, width);
            let pad = " ".repeat(width - columns(&word));
            // The first column and the task are text, the others are numbers.
            if word == words.tab_task {
                right.push_str(&format!(" {word}{pad}"));
            } else if right.len() == 1 {
                right.push_str(&format!("{word}{pad}"));
            } else {
                right.push_str(&format!("{pad}{word}"));
            }
        }
    }
    let room = usize::from(area.width).saturating_sub(columns(&right));
    let fitting = titles.iter().find(|title| columns(title) < room).or(titles.last());
    let title = fit(fitting.map_or("", String::as_str), room.saturating_sub(1));
    let pad = " ".repeat(room.saturating_sub(columns(&title)));
    let spans = vec![Span::styled(title, style), Span::raw(pad), Span::styled(right, theme.dim)];
    put(buffer, area, 0, &Line::from(spans));
}

fn name_columns(node: &Node, words: &'static Words) -> usize {
    indent(node) + 4 + columns(&node.label) + columns(&flags(node, words))
}

fn indent(node: &Node) -> usize {
    node.depth.min(6) * 2
}

/// Returns open questions, restarts and children that are folded away, which have no column because they are rare.
fn flags(node: &Node, words: &'static Words) -> String {
    let mut flags = String::new();
    if node.questions > 0 {
        flags.push_str(&format!(" ?{}", node.questions));
    }
    if node.restarts > 0 {
        flags.push_str(&format!(" ↻{}", node.restarts));
    }
    if node.is_open && node.folded.all > 0 {
        flags.push_str(&format!(" +{} {}", node.folded.all, words.gone));
        if node.folded.failed > 0 {
            flags.push_str(&format!(" ✗{}", node.folded.failed));
        }
    }
    flags
}

fn row_line(node: &Node, screen: &Screen, widths: &Columns, width: usize) -> Line<'static> {
    let (theme, words, now) = (&screen.theme, screen.words(), screen.clock.time);
    let (sign, style) = sign(node, screen);
    let fold = match (node.children.is_empty(), node.is_open) {
        (true, _) => ' ',
        (false, true) => '▾',
        (false, false) => '▸',
    };
    // The first column is left to the mark of the selected row.
    let lead = format!(" {}{fold}", " ".repeat(indent(node)));
    let flags = flags(node, words);
    let task = if widths.task > 0 { widths.task + 2 } else { 0 };
    let numbers = [widths.doing, widths.steps, widths.tokens, widths.cost, widths.time];
    let right = numbers.iter().filter(|width| **width > 0).map(|width| width + 1).sum::<usize>() + task;
    let room = width.saturating_sub(right + columns(&lead) + 2 + columns(&flags));
    let name = fit(&node.label, room);
    let pad = room.saturating_sub(columns(&name));
    let mut spans = vec![
        Span::raw(lead),
        Span::styled(format!("{sign} "), style),
        Span::styled(name, if node.life.is_live() { theme.text } else { theme.dim }),
        Span::styled(flags, if node.questions + node.restarts as usize > 0 { theme.ask } else { theme.dim }),
        Span::raw(" ".repeat(pad)),
    ];
    if widths.doing > 0 {
        let (text, _) = doing(node, words);
        let text = fit(&text, widths.doing);
        let pad = " ".repeat(widths.doing - columns(&text));
        spans.push(Span::styled(format!(" {text}{pad}"), style));
    }
    let mut number = |width: usize, text: String, style: Style| {
        if width > 0 {
            let text = fit(&text, width);
            let pad = " ".repeat(width - columns(&text));
            spans.push(Span::styled(format!(" {pad}{text}"), style));
        }
    };
    number(widths.steps, steps(node), steps_style(node, theme));
    number(widths.tokens, tokens(node), theme.text);
    number(widths.cost, units::money(node.subtree.cost_micros), theme.dim);
    number(widths.time, node.time(now), theme.dim);
    if widths.task > 0 {
        let text = node.task.lines().next().unwrap_or_default();
        spans.push(Span::styled(format!("  {}", fit(text, widths.task)), theme.dim));
    }
    Line::from(spans)
}

fn steps(node: &Node) -> String {
    match (node.iterations, node.budget) {
        (0, 0) => String::new(),
        (taken, 0) => taken.to_string(),
        (taken, granted) => format!("{taken}/{granted}"),
    }
}

/// Iterations are a warning from 80 % of the budget (ENGINE 6).
fn steps_style(node: &Node, theme: &Theme) -> Style {
    let near = node.budget > 0 && u64::from(node.iterations) * 5 >= u64::from(node.budget) * 4;
    if near && node.life.is_live() { theme.warn } else { theme.dim }
}

fn tokens(node: &Node) -> String {
    let (own, all) = (node.own.tokens(), node.subtree.tokens());
    match (own, all) {
        (0, 0) => String::new(),
        (own, all) if own == all => units::count(own),
        (own, all) => format!("{}/{}", units::count(own), units::count(all)),
    }
}

fn sign(node: &Node, screen: &Screen) -> (&'static str, Style) {
    let theme = &screen.theme;
    match node.life {
        _ if node.questions > 0 && node.life.is_live() => ("?", theme.ask),
        Life::Queued(_) => ("○", theme.dim),
        Life::Working => (activity::spinner(screen), theme.active),
        Life::Waiting(Some(WaitingFor::Person)) => ("?", theme.ask),
        Life::Waiting(Some(WaitingFor::Disk)) => ("!", theme.bad),
        Life::Waiting(_) => ("◌", theme.active),
        Life::Idle => ("·", theme.dim),
        Life::Stopping => ("▽", theme.warn),
        Life::Ended(outcome) => {
            let (sign, _, style) = outcome_look(outcome, theme, screen.words());
            (sign, style)
        }
        Life::Gone => ("–", theme.dim),
    }
}

/// Returns what an agent does, in words that stand alone: what it waits for is told as waiting.
pub(crate) fn state(node: &Node, words: &'static Words) -> String {
    let (text, waits) = doing(node, words);
    if waits && text != words.waiting && node.life != Life::Waiting(Some(WaitingFor::Person)) {
        format!("{}: {text}", words.waiting)
    } else {
        text
    }
}

/// Returns in a word or two what an agent does, and whether that is waiting.
fn doing(node: &Node, words: &'static Words) -> (String, bool) {
    let text = match node.life {
        Life::Queued(0) => words.queued.to_owned(),
        Life::Queued(position) => format!("{} {position}", words.queued),
        Life::Working => match node.running.as_slice() {
            [] => words.thinking.to_owned(),
            [(_, name)] => name.clone(),
            [(_, name), ..] => format!("{name} +{}", node.running.len() - 1),
        },
        Life::Waiting(what) => {
            let word = match what {
                Some(WaitingFor::Person) => words.for_you,
                Some(WaitingFor::Children) => words.for_children,
                Some(WaitingFor::Lock) => words.for_lock,
                Some(WaitingFor::Gateway) => words.for_gateway,
                Some(WaitingFor::Retry) => words.for_retry,
                Some(WaitingFor::Disk) => words.for_disk,
                None => words.waiting,
            };
            return (word.to_owned(), true);
        }
        Life::Idle => words.idle.to_owned(),
        Life::Stopping => words.stopping.to_owned(),
        Life::Ended(outcome) => outcome_word(outcome, words).to_owned(),
        Life::Gone => words.gone.to_owned(),
    };
    (text, false)
}

fn outcome_word(outcome: maia_protocol::Outcome, words: &'static Words) -> &'static str {
    use maia_protocol::Outcome;
    match outcome {
        Outcome::Done => words.done,
        Outcome::Partial => words.partial,
        Outcome::Failed => words.failed,
        Outcome::Cancelled => words.cancelled,
        Outcome::TimedOut => words.timed_out,
    }
}
