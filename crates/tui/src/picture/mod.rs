//! A task graph as a picture: tasks in columns by depth, edges between them, or a list where that does not fit.
//!
//! - Asked by the transcript (one line a task) and by the inspector (boxes where there is room).
//! - Pure. State is told by sign, word and colour; edges show what waits for what.

mod canvas;
mod layers;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use maia_protocol::event::TaskState;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::graph::Task;
use crate::item::Look;
use crate::theme::Theme;
use crate::units;
use crate::words::Words;
use crate::wrap::{columns, fit};

/// How tasks are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line each.
    Line,
    /// A box of four rows each.
    Boxed,
}

/// How much of a task is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Agent,
    Time,
    State,
}

/// Returns the picture of `tasks` in `look.width` columns; `None` when it does not fit or would tell less than a list.
pub fn picture(
    tasks: &[Task],
    form: Form,
    look: &Look<'_>,
    now: Option<Timestamp>,
) -> Option<Vec<Line<'static>>> {
    let after: Vec<&[usize]> = tasks.iter().map(|task| task.after.as_slice()).collect();
    let layers = layers::layers(&after)?;
    [Detail::Agent, Detail::Time, Detail::State].into_iter().find_map(|detail| {
        let cards: Vec<Card> = tasks.iter().map(|task| card(task, form, detail, look, now)).collect();
        canvas::draw(&layers, &cards, form, look)
    })
}

/// What is drawn of one task: one line, or the two lines of a box.
struct Card {
    lines: Vec<Vec<Span<'static>>>,
    width: usize,
    style: Style,
}

fn card(task: &Task, form: Form, detail: Detail, look: &Look<'_>, now: Option<Timestamp>) -> Card {
    let theme = look.theme;
    let (sign, word, style) = state_look(task.state, theme, look.words);
    let time = if detail == Detail::State { String::new() } else { time(task, now) };
    let state = if time.is_empty() { word.to_owned() } else { format!("{word} {time}") };
    let head = vec![Span::styled(format!("{sign} "), style), Span::styled(fit(&task.id, 20), theme.title)];
    let agent = Span::styled(format!(" {}", fit(&task.agent, 16)), theme.text);
    let lines = match form {
        Form::Line => {
            let mut line = head;
            if detail == Detail::Agent {
                line.push(agent);
            }
            line.push(Span::styled(format!(" {state}"), style));
            vec![line]
        }
        Form::Boxed => {
            let agent = Span::styled(format!("  {} · ", fit(&task.agent, 16)), theme.text);
            vec![head, vec![agent, Span::styled(state, style)]]
        }
    };
    let width = |line: &Vec<Span<'_>>| line.iter().map(|span| columns(&span.content)).sum::<usize>();
    let width = lines.iter().map(width).max().unwrap_or(0);
    Card { lines, width, style }
}

/// Returns sign, word and style of a task's state.
pub fn state_look(
    state: TaskState,
    theme: &Theme,
    words: &'static Words,
) -> (&'static str, &'static str, Style) {
    match state {
        TaskState::Blocked => ("◌", words.task_blocked, theme.dim),
        TaskState::Ready => ("○", words.task_ready, theme.text),
        TaskState::Running => ("▸", words.task_running, theme.active),
        TaskState::Done => ("✓", words.done, theme.good),
        TaskState::Failed => ("✗", words.failed, theme.bad),
        TaskState::Skipped => ("–", words.task_skipped, theme.dim),
    }
}

/// Returns how long the task's agent took, or has taken until `now`; nothing when that is not known.
fn time(task: &Task, now: Option<Timestamp>) -> String {
    if let Some(ms) = task.duration_ms {
        return units::duration(ms);
    }
    let began = task.began.filter(|_| task.state == TaskState::Running);
    let (Some(began), Some(now)) = (began, now) else { return String::new() };
    let seconds = now.as_second().saturating_sub(began.as_second());
    units::elapsed(u64::try_from(seconds).unwrap_or(0))
}

/// Returns one line a task with what it waits for; at most `max`, what matters most first, and a line that counts the rest.
pub fn list(tasks: &[Task], max: usize, look: &Look<'_>, now: Option<Timestamp>) -> Vec<Line<'static>> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    let is_cut = tasks.len() > max;
    if is_cut {
        // Some of what failed and some of what is at work, then what comes next.
        let part = max.saturating_sub(1) / 2;
        let (mut failed, mut running) = (0, 0);
        let mut rank = |at: &usize| {
            let among_first = |count: &mut usize, rank: u8| {
                *count += 1;
                if *count <= part { rank } else { 6 }
            };
            match tasks.get(*at).map(|task| task.state) {
                Some(TaskState::Failed) => among_first(&mut failed, 0),
                Some(TaskState::Running) => among_first(&mut running, 1),
                Some(TaskState::Ready) => 2,
                Some(TaskState::Blocked) => 3,
                Some(TaskState::Skipped) => 4,
                Some(TaskState::Done) | None => 5,
            }
        };
        // Each is looked at once, in the order written.
        order.sort_by_cached_key(&mut rank);
        order.truncate(max.saturating_sub(1));
        order.sort_unstable();
    }
    let mut lines: Vec<Line<'static>> =
        order.iter().filter_map(|at| tasks.get(*at)).map(|task| line(task, tasks, look, now)).collect();
    if is_cut {
        let text = format!("… {}", counts(tasks, look.words));
        lines.push(Line::styled(fit(&text, look.width), look.theme.dim));
    }
    lines
}

/// Returns the line of one task in a list of `tasks`.
pub fn line(task: &Task, tasks: &[Task], look: &Look<'_>, now: Option<Timestamp>) -> Line<'static> {
    let theme = look.theme;
    let (sign, word, style) = state_look(task.state, theme, look.words);
    let time = time(task, now);
    let state = if time.is_empty() { format!(" {word}") } else { format!(" {word} {time}") };
    let before: Vec<&str> =
        task.after.iter().take(8).filter_map(|at| tasks.get(*at)).map(|task| task.id.as_str()).collect();
    let mut after = if before.is_empty() { String::new() } else { format!("  ← {}", before.join(", ")) };
    if task.after.len() > before.len() {
        after.push_str(&format!(" +{}", task.after.len() - before.len()));
    }
    // State and name are kept longest; where they have no room together, the sign tells the state.
    let state = if columns(&state) + 7 <= look.width { state } else { String::new() };
    let room = look.width.saturating_sub(2 + columns(&state));
    let id = fit(&task.id, room);
    let room = room - columns(&id);
    let agent = fit(&format!(" {}", task.agent), room);
    let room = room - columns(&agent);
    let after = if room >= 6 { fit(&after, room) } else { String::new() };
    Line::from(vec![
        Span::styled(format!("{sign} "), style),
        Span::styled(id, theme.title),
        Span::styled(agent, theme.text),
        Span::styled(state, style),
        Span::styled(after, theme.dim),
    ])
}

/// Returns how many tasks are in which state: `500 tasks: 2 at work, 1 failed`.
pub fn counts(tasks: &[Task], words: &'static Words) -> String {
    let theme = Theme::of(crate::theme::ThemeName::Plain);
    let states = [
        TaskState::Running,
        TaskState::Failed,
        TaskState::Done,
        TaskState::Ready,
        TaskState::Blocked,
        TaskState::Skipped,
    ];
    let parts = states.into_iter().filter_map(|state| {
        let count = tasks.iter().filter(|task| task.state == state).count();
        (count > 0).then(|| format!("{count} {}", state_look(state, &theme, words).1))
    });
    format!("{} {}: {}", tasks.len(), words.tasks, parts.collect::<Vec<_>>().join(", "))
}
