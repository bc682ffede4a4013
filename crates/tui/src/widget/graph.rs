//! The task graphs of one agent: a picture where one fits, and a list of all tasks.

use ratatui::text::Line;

use crate::graph::Graph;
use crate::item::Look;
use crate::node::Node;
use crate::picture::{Form, counts, list, picture};
use crate::screen::Screen;
use crate::wrap::fit;

/// Graphs that are shown of one agent, the newest first.
const SHOWN: usize = 8;

/// Returns the page for `room` rows.
pub(crate) fn lines(node: &Node, screen: &Screen, look: &Look<'_>, room: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let graphs = node.graphs.iter().rev().filter(|graph| graph.is_graph);
    for graph in graphs.take(SHOWN) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(one(graph, screen, look, room));
    }
    if lines.is_empty() {
        lines.extend(crate::wrap::wrap_text(
            look.words.no_graph,
            look.theme.dim,
            look.width,
            &Default::default(),
        ));
    }
    lines
}

fn one(graph: &Graph, screen: &Screen, look: &Look<'_>, room: usize) -> Vec<Line<'static>> {
    let now = Some(screen.clock.time);
    let mut lines = vec![Line::styled(fit(&counts(&graph.tasks, look.words), look.width), look.theme.title)];
    let boxes = picture(&graph.tasks, Form::Boxed, look, now).filter(|boxes| boxes.len() < room);
    if let Some(drawn) = boxes.or_else(|| picture(&graph.tasks, Form::Listed, look, now)) {
        lines.extend(drawn);
        lines.push(Line::default());
    }
    lines.extend(list(&graph.tasks, graph.tasks.len(), look, now));
    lines
}
