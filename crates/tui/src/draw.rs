//! Paints the screen: where each pane goes at this size.
//!
//! Asked by the runner for each frame. Changes nothing but caches, and what was seen: how many rows a page has, and
//! since when a question is on the screen. From 20×5 up everything that matters is there; smaller ones show what fits.

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::screen::{Focus, Overlay, Screen, TreeView};
use crate::widget;

/// Columns from which the tree stands beside the transcript: both have room for what they tell.
const WIDE: u16 = 132;

/// Where each pane goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places {
    body: Rect,
    tree: Rect,
    question: Rect,
    activity: Rect,
    offer: Rect,
    input: Rect,
    status: Rect,
}

/// Paints `screen`.
pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    let area = frame.area();
    if area.width == 0 || area.height == 0 {
        return;
    }
    let places = places(screen, area);
    let buffer = frame.buffer_mut();
    if places.tree == places.body && !places.tree.is_empty() {
        widget::tree::draw(screen, places.tree, buffer);
    } else {
        if screen.view.inspecting {
            widget::inspector::draw(screen, places.body, buffer);
        } else {
            widget::transcript::draw(screen, places.body, buffer);
        }
        if !places.tree.is_empty() {
            if places.tree.x > 0 {
                let line = Rect { x: places.tree.x - 1, width: 1, ..places.tree };
                widget::fill(buffer, line, "│", screen.theme.dim);
            }
            widget::tree::draw(screen, places.tree, buffer);
        }
    }
    if !places.question.is_empty() {
        widget::question::draw(screen, places.question, buffer);
    }
    if !places.offer.is_empty() {
        widget::offer::draw(screen, places.offer, buffer);
    }
    widget::activity::draw(screen, places.activity, buffer);
    let cursor = widget::input::draw(screen, places.input, buffer);
    widget::status::draw(screen, places.status, buffer);
    match &screen.view.overlay {
        Some(Overlay::Help { .. }) => widget::help::draw(screen, above(area, places.status), buffer),
        Some(Overlay::Models(_)) => widget::choice::draw(screen, above(area, places.status), buffer),
        Some(Overlay::Leaving) => widget::leaving::draw(screen, above(area, places.status), buffer),
        None => {
            // What is covered has not been read; only a question in sight may be answered.
            if !places.question.is_empty() {
                screen.questions.mark_drawn(screen.clock.now_ms);
            }
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        }
    }
}

fn above(area: Rect, status: Rect) -> Rect {
    Rect { height: area.height.saturating_sub(status.height), ..area }
}

fn places(screen: &mut Screen, area: Rect) -> Places {
    let mut left = area;
    let mut places = Places::default();
    let bottom = |left: &mut Rect, rows: u16| {
        let rows = rows.min(left.height);
        left.height -= rows;
        Rect { y: left.y + left.height, height: rows, ..*left }
    };
    places.status = if area.height > 1 { bottom(&mut left, 1) } else { Rect::default() };
    let frame_rows = if area.height >= 12 { 2 } else { 0 };
    let text_rows = widget::input::rows(screen, area.width, (area.height / 3).clamp(1, 10));
    places.input = bottom(&mut left, text_rows + frame_rows);
    if area.height >= 10 {
        places.activity = bottom(&mut left, 1);
    }
    let offered = widget::offer::rows(screen, area.width).min(left.height);
    places.offer = bottom(&mut left, offered);
    if !screen.questions.is_empty() {
        // A question may take all but a few rows: the whole call is to be read before it is answered.
        let spare = match left.height {
            0..=5 => 0,
            6..=15 => 2,
            rows => rows / 3,
        };
        let wanted = widget::question::rows(screen, area.width);
        let rows = wanted.min(left.height - spare);
        places.question = bottom(&mut left, rows);
    }
    places.body = left;
    split_tree(screen, &mut places);
    places
}

/// Gives the tree its place: beside on wide screens, below on high ones, the whole body when the person says so.
fn split_tree(screen: &mut Screen, places: &mut Places) {
    let body = places.body;
    match screen.view.tree {
        TreeView::Hidden => return,
        TreeView::Whole => {
            places.tree = body;
            return;
        }
        TreeView::Auto => {}
    }
    let agents = screen.tree.order().len();
    if screen.tree.nodes().len() < 2 {
        return;
    }
    if body.width >= WIDE && body.height >= 4 {
        let width = (body.width * 2 / 5).clamp(60, 80);
        places.tree = Rect { x: body.x + body.width - width, width, ..body };
        // A line keeps the two apart.
        places.body.width -= width + 2;
    } else if body.height >= 10 {
        let keys_rows = usize::from(screen.view.focus == Focus::Tree);
        let rows = u16::try_from(agents + 1 + keys_rows).unwrap_or(u16::MAX).min(body.height / 2);
        places.body.height -= rows;
        places.tree = Rect { y: body.y + places.body.height, height: rows, ..body };
    } else if screen.view.focus == Focus::Tree {
        // What has the keyboard must be in sight.
        places.tree = body;
    }
}
