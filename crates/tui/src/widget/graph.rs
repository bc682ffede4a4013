//! The task graphs of one agent: a picture where one fits, and a list of all tasks.

use ratatui::text::Line;

use crate::graph::Graph;
use crate::item::Look;
use crate::node::Node;
use crate::picture::{Form, counts, line, picture};
use crate::screen::Screen;
use crate::wrap::{Margin, fit, wrap_text};

/// Graphs that are shown of one agent, the newest first.
const SHOWN: usize = 8;

/// The page while it is filled: only the lines in sight are made, however many tasks there are.
struct Page {
    lines: Vec<Line<'static>>,
    /// Lines before and after these are counted only.
    first: usize,
    last: usize,
    all: usize,
}

impl Page {
    fn push(&mut self, line: impl FnOnce() -> Line<'static>) {
        if (self.first..self.last).contains(&self.all) {
            self.lines.push(line());
        }
        self.all += 1;
    }
}

/// Returns the lines of the page from line `scroll` on that fit into `room` rows, and where the page then stands.
pub(crate) fn lines(
    node: &Node,
    screen: &Screen,
    look: &Look<'_>,
    room: usize,
    scroll: usize,
) -> (Vec<Line<'static>>, usize) {
    let filled = |first: usize| {
        let mut page = Page { lines: Vec::new(), first, last: first.saturating_add(room), all: 0 };
        for graph in node.graphs.iter().rev().filter(|graph| graph.is_graph).take(SHOWN) {
            if page.all > 0 {
                page.push(Line::default);
            }
            one(graph, screen, look, room, &mut page);
        }
        page
    };
    let page = filled(scroll);
    if page.all == 0 {
        return (wrap_text(look.words.no_graph, look.theme.dim, look.width, &Margin::default()), 0);
    }
    let end = page.all.saturating_sub(room);
    if scroll <= end { (page.lines, scroll) } else { (filled(end).lines, end) }
}

fn one(graph: &Graph, screen: &Screen, look: &Look<'_>, room: usize, page: &mut Page) {
    let now = Some(screen.clock.time);
    page.push(|| Line::styled(fit(&counts(&graph.tasks, look.words), look.width), look.theme.title));
    let boxes = picture(&graph.tasks, Form::Boxed, look, now).filter(|boxes| boxes.len() < room);
    if let Some(drawn) = boxes.or_else(|| picture(&graph.tasks, Form::Line, look, now)) {
        drawn.into_iter().for_each(|line| page.push(|| line));
        page.push(Line::default);
    }
    for task in &graph.tasks {
        page.push(|| line(task, &graph.tasks, look, now));
    }
}
