//! The picture itself: texts at their places, and lines between them joined by box characters.

use ratatui::text::{Line, Span};

use super::layers::{Layers, Net};
use super::{Card, Form};
use crate::item::Look;
use crate::wrap::columns;

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const UP: u8 = 4;
const DOWN: u8 = 8;

/// One cell of a line: where it leads, and which edges pass.
#[derive(Clone, Copy, Default)]
struct Cell {
    ways: u8,
    /// Edges that pass sideways and upright, a bit each.
    sideways: u64,
    upright: u64,
}

impl Cell {
    /// Returns the box character; an edge that only crosses another passes behind it.
    fn symbol(self) -> char {
        let crosses = self.ways == LEFT | RIGHT | UP | DOWN && self.sideways & self.upright == 0;
        match self.ways {
            0 => ' ',
            _ if crosses => '│',
            w if w == LEFT | RIGHT || w == LEFT || w == RIGHT => '─',
            w if w == UP | DOWN || w == UP || w == DOWN => '│',
            w if w == RIGHT | DOWN => '╭',
            w if w == LEFT | DOWN => '╮',
            w if w == RIGHT | UP => '╰',
            w if w == LEFT | UP => '╯',
            w if w == LEFT | RIGHT | DOWN => '┬',
            w if w == LEFT | RIGHT | UP => '┴',
            w if w == RIGHT | UP | DOWN => '├',
            w if w == LEFT | UP | DOWN => '┤',
            _ => '┼',
        }
    }
}

struct Canvas {
    cells: Vec<Vec<Cell>>,
    texts: Vec<Vec<(usize, Vec<Span<'static>>)>>,
}

impl Canvas {
    fn way(&mut self, row: usize, x: usize, ways: u8, net: usize) {
        if let Some(cell) = self.cells.get_mut(row).and_then(|row| row.get_mut(x)) {
            cell.ways |= ways;
            let bit = 1_u64.checked_shl(u32::try_from(net).unwrap_or(63)).unwrap_or(0);
            if ways & (LEFT | RIGHT) != 0 {
                cell.sideways |= bit;
            }
            if ways & (UP | DOWN) != 0 {
                cell.upright |= bit;
            }
        }
    }

    /// Draws from the middle of `from` to the middle of `to`, which lies right of it.
    fn sideways(&mut self, row: usize, from: usize, to: usize, net: usize) {
        self.way(row, from, RIGHT, net);
        (from + 1..to).for_each(|x| self.way(row, x, LEFT | RIGHT, net));
        self.way(row, to, LEFT, net);
    }

    fn upright(&mut self, x: usize, from: usize, to: usize, net: usize) {
        if from < to {
            self.way(from, x, DOWN, net);
            (from + 1..to).for_each(|row| self.way(row, x, UP | DOWN, net));
            self.way(to, x, UP, net);
        }
    }
}

/// Returns the lines, when they fit into the width of `look`.
pub(super) fn draw(
    layers: &Layers,
    cards: &[Card],
    form: Form,
    look: &Look<'_>,
) -> Option<Vec<Line<'static>>> {
    let frame = if form == Form::Boxed { 4 } else { 0 };
    let (height, port) = if form == Form::Boxed { (4, 1) } else { (1, 0) };
    let widths: Vec<usize> = layers
        .columns
        .iter()
        .map(|column| {
            let widths =
                column.iter().filter_map(|place| cards.get(place.task?)).map(|card| card.width + frame);
            widths.max().unwrap_or(0)
        })
        .collect();
    let lanes = |nets: &[Net]| nets.iter().filter_map(|net| net.lane).max().map_or(0, |lane| lane + 1);
    // A space where a line meets text; a box is met by the line itself.
    let air = usize::from(form != Form::Boxed);
    let gap = |nets: &[Net]| 2 * air + 2 + lanes(nets).max(1);
    let total = widths.iter().sum::<usize>() + layers.gaps.iter().map(|nets| gap(nets)).sum::<usize>();
    if total > look.width {
        return None;
    }
    let rows = layers.rows * height;
    let mut canvas =
        Canvas { cells: vec![vec![Cell::default(); total]; rows], texts: vec![Vec::new(); rows] };
    let mut x = 0;
    for (at, column) in layers.columns.iter().enumerate() {
        let width = widths.get(at).copied().unwrap_or(0);
        let nets = layers.gaps.get(at).map(Vec::as_slice).unwrap_or_default();
        for place in column {
            let row = place.row * height + port;
            // The line begins where the text of this task ends, so that a short one does not hang in the air.
            let end = match place.task.and_then(|task| cards.get(task)) {
                Some(card) if form != Form::Boxed => {
                    canvas.texts[row].push((x, card.lines.first().cloned().unwrap_or_default()));
                    x + card.width + air
                }
                Some(card) => {
                    boxed(&mut canvas, card, (x, place.row * height), width, at > 0, !place.next.is_empty());
                    x + width
                }
                None => {
                    (x..x + width).for_each(|x| canvas.way(row, x, LEFT | RIGHT, 63));
                    x + width
                }
            };
            if !place.next.is_empty() {
                (end..x + width + air).for_each(|x| canvas.way(row, x, LEFT | RIGHT, 63));
            }
            if place.task.is_none() && air > 0 && x > 0 {
                canvas.way(row, x - 1, LEFT | RIGHT, 63);
            }
        }
        x += width;
        wires(&mut canvas, nets, (x + air, x + gap(nets) - air), (height, port));
        x += gap(nets);
    }
    Some(canvas.lines(look))
}

/// Draws the edges of one gap between `from` and `to`.
fn wires(canvas: &mut Canvas, nets: &[Net], (from, to): (usize, usize), (height, port): (usize, usize)) {
    let row = |place: usize| place * height + port;
    for (at, net) in nets.iter().enumerate() {
        let Some(lane) = net.lane else {
            net.from.iter().for_each(|place| {
                (from..to).for_each(|x| canvas.way(row(*place), x, LEFT | RIGHT, at));
            });
            continue;
        };
        let x = from + 1 + lane;
        for place in &net.from {
            canvas.way(row(*place), from, LEFT, at);
            canvas.sideways(row(*place), from, x, at);
        }
        for place in &net.to {
            canvas.sideways(row(*place), x, to - 1, at);
            canvas.way(row(*place), to - 1, RIGHT, at);
        }
        let places = || net.from.iter().chain(&net.to).copied();
        let (first, last) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
        let mut stops: Vec<usize> = places().map(row).collect();
        stops.sort_unstable();
        stops.dedup();
        for pair in stops.windows(2) {
            if let [upper, lower] = pair {
                canvas.upright(x, *upper, *lower, at);
            }
        }
        debug_assert!(first <= last);
    }
}

fn boxed(
    canvas: &mut Canvas,
    card: &Card,
    (x, row): (usize, usize),
    width: usize,
    meets: bool,
    leaves: bool,
) {
    let inner = width.saturating_sub(4);
    let line = "─".repeat(width.saturating_sub(2));
    let edge = |text: String| Span::styled(text, card.style);
    canvas.texts[row].push((x, vec![edge(format!("╭{line}╮"))]));
    for (at, text) in card.lines.iter().enumerate() {
        let used: usize = text.iter().map(|span| columns(&span.content)).sum();
        let pad = " ".repeat(inner.saturating_sub(used));
        let (left, right) = if at == 0 {
            (if meets { "┤" } else { "│" }, if leaves { "├" } else { "│" })
        } else {
            ("│", "│")
        };
        let mut spans = vec![edge(format!("{left} "))];
        spans.extend(text.iter().cloned());
        spans.push(edge(format!("{pad} {right}")));
        canvas.texts[row + 1 + at].push((x, spans));
    }
    canvas.texts[row + 3].push((x, vec![edge(format!("╰{line}╯"))]));
}

impl Canvas {
    fn lines(self, look: &Look<'_>) -> Vec<Line<'static>> {
        self.cells
            .iter()
            .zip(self.texts)
            .map(|(cells, mut texts)| {
                texts.sort_by_key(|(x, _)| *x);
                let mut spans = Vec::new();
                let mut at = 0;
                let wire = |from: usize, to: usize| {
                    let line: String =
                        cells.get(from..to).unwrap_or_default().iter().map(|cell| cell.symbol()).collect();
                    Span::styled(line, look.theme.dim)
                };
                for (x, text) in texts {
                    spans.push(wire(at, x));
                    at = x + text.iter().map(|span| columns(&span.content)).sum::<usize>();
                    spans.extend(text);
                }
                spans.push(wire(at.min(cells.len()), cells.len()));
                Line::from(spans)
            })
            .collect()
    }
}
