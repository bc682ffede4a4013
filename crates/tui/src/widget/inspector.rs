//! One agent from near: its task and figures, its transcript, its raw events (SPEC section 4).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{below, put, tree};
use crate::item::Look;
use crate::screen::{Focus, Page, Screen};
use crate::tree::{Node, Used};
use crate::units;
use crate::visible::visible_line;
use crate::wrap::{Margin, Piece, columns, fit_end, wrap, wrap_text};

/// Draws the selected agent.
pub(crate) fn draw(screen: &mut Screen, area: Rect, buffer: &mut Buffer) {
    let (theme, words, markdown) = (screen.theme, screen.words(), screen.markdown);
    let width = usize::from(area.width);
    title(screen, area, buffer);
    let keys_row = u16::from(area.height >= 8);
    let mut place = below(area, 1);
    place.height -= keys_row.min(place.height);
    if keys_row > 0 {
        let keys =
            Line::styled(super::keys(&[words.inspector_keys, words.inspector_keys_short], width), theme.dim);
        put(buffer, area, usize::from(area.height - 1), &keys);
    }
    screen.view.page_rows = usize::from(place.height);
    let at = screen.tree.selected();
    let look = Look { width, theme: &theme, words, markdown };
    match screen.view.page {
        Page::Task => {
            let Some(node) = screen.tree.node(at) else { return };
            let lines = task(node, screen, &look);
            let room = usize::from(place.height);
            let scroll = screen.view.task_scroll.min(lines.len().saturating_sub(room));
            for (row, line) in lines.iter().skip(scroll).take(room).enumerate() {
                put(buffer, place, row, line);
            }
            screen.view.task_scroll = scroll;
        }
        Page::Graph => {
            let Some(node) = screen.tree.node(at) else { return };
            let room = usize::from(place.height);
            let (lines, scroll) = super::graph::lines(node, screen, &look, room, screen.view.task_scroll);
            for (row, line) in lines.iter().enumerate() {
                put(buffer, place, row, line);
            }
            screen.view.task_scroll = scroll;
        }
        Page::Transcript => {
            if let Some(node) = screen.tree.node_mut(at) {
                super::transcript::feed(&mut node.feed, place, buffer, &look);
            }
        }
        Page::Events => {
            if let Some(node) = screen.tree.node_mut(at) {
                super::transcript::feed(&mut node.raw, place, buffer, &look);
            }
        }
    }
}

fn title(screen: &Screen, area: Rect, buffer: &mut Buffer) {
    let (theme, words) = (&screen.theme, screen.words());
    let Some(node) = screen.tree.node(screen.tree.selected()) else { return };
    let pages = [
        (Page::Task, words.tab_task),
        (Page::Transcript, words.tab_transcript),
        (Page::Events, words.tab_events),
        (Page::Graph, words.tab_graph),
    ];
    // The page that is open is told by brackets, not by colour alone.
    let tabs: Vec<(String, bool)> = pages
        .iter()
        .enumerate()
        .map(|(at, (page, word))| {
            let is_open = *page == screen.view.page;
            (if is_open { format!("[{word}]") } else { format!(" {}{word} ", at + 1) }, is_open)
        })
        .collect();
    let tab_columns: usize = tabs.iter().map(|(text, _)| columns(text)).sum();
    let width = usize::from(area.width);
    let focus =
        if screen.view.focus == Focus::Inspector { theme.title.patch(theme.active) } else { theme.title };
    let mut spans = Vec::new();
    if width >= tab_columns + 12 {
        let path = fit_end(&visible_line(node.path.as_str()), width - tab_columns - 1);
        let pad = width - tab_columns - columns(&path);
        spans.push(Span::styled(path, focus));
        spans.push(Span::raw(" ".repeat(pad)));
        spans.extend(
            tabs.into_iter().map(|(text, open)| Span::styled(text, if open { focus } else { theme.dim })),
        );
    } else {
        let open = tabs.into_iter().find(|(_, open)| *open).map(|(text, _)| text).unwrap_or_default();
        let path = fit_end(&node.label, width.saturating_sub(columns(&open) + 1));
        spans.push(Span::styled(format!("{path} {open}"), focus));
    }
    put(buffer, area, 0, &Line::from(spans));
}

fn task(node: &Node, screen: &Screen, look: &Look<'_>) -> Vec<Line<'static>> {
    let (theme, words) = (look.theme, look.words);
    let mut lines = Vec::new();
    let text = if node.task.is_empty() { words.none } else { node.task.as_str() };
    lines.extend(wrap_text(text, theme.text, look.width, &Margin::hanging("› ", theme.user)));
    lines.push(Line::default());
    let list = |names: &[String]| if names.is_empty() { words.none.to_owned() } else { names.join(", ") };
    let state = tree::state(node, words);
    let mut fields = vec![(words.state, state)];
    if let Some(cause) = &node.cause {
        fields.push((words.cause, cause.clone()));
    }
    if !node.running.is_empty() {
        let names: Vec<String> = node.running.iter().map(|(_, name)| name.clone()).collect();
        fields.push((words.running, names.join(", ")));
    }
    fields.push((words.definition, node.definition.clone()));
    if !node.model.is_empty() {
        fields.push((words.model, node.model.clone()));
    }
    let budget = if node.budget > 0 { format!(" / {}", node.budget) } else { String::new() };
    fields.push((words.budget, format!("{}{budget} {}", node.iterations, words.steps)));
    fields.push((words.calls, node.tool_calls.to_string()));
    fields.push((words.tokens, used(node.own)));
    if node.subtree != node.own {
        fields.push((words.subtree, used(node.subtree)));
    }
    let time = node.time(screen.clock.time);
    if !time.is_empty() {
        fields.push((words.col_time, time));
    }
    if node.questions > 0 {
        fields.push((words.questions, node.questions.to_string()));
    }
    if node.restarts > 0 {
        fields.push((words.restarts, node.restarts.to_string()));
    }
    fields.push((words.tools, list(&node.tools)));
    if !node.skills.is_empty() {
        fields.push((words.skills, list(&node.skills)));
    }
    for (kind, rules) in [("allow", &node.rules.allow), ("ask", &node.rules.ask), ("deny", &node.rules.deny)]
    {
        if !rules.is_empty() {
            fields.push((words.rules, format!("{kind}: {}", rules.join(", "))));
        }
    }
    let label_columns = fields.iter().map(|(label, _)| columns(label)).max().unwrap_or(0) + 2;
    for (label, value) in fields {
        let pad = " ".repeat(label_columns - columns(label));
        let margin = Margin::hanging(&format!("{label}{pad}"), theme.dim);
        lines.extend(wrap(&[Piece::new(visible_line(&value), theme.text)], look.width, &margin));
    }
    if !node.summary.is_empty() {
        lines.push(Line::default());
        lines.push(Line::styled(words.summary, theme.title));
        lines.extend(crate::markdown::lines(&node.summary, look.width, theme));
    }
    lines
}

fn used(used: Used) -> String {
    let mut text = format!("↑{} ↓{}", units::count(used.input_tokens), units::count(used.output_tokens));
    if used.cost_micros > 0 {
        text.push_str(&format!(" · {}", units::money(used.cost_micros)));
    }
    text
}
