//! Pictures as text, and what a person reads from their lines.

use std::collections::BTreeSet;

use maia_protocol::event::GraphTask;
use maia_protocol::{ActorPath, CallId};
use proptest::prelude::*;

use super::*;
use crate::graph::Graph;
use crate::theme::ThemeName;
use crate::words::Lang;

/// Id of a task, and those of the tasks that it waits for.
type Written<'a> = (&'a str, &'a [&'a str]);

fn tasks(ids: &[String], after: &[Vec<usize>]) -> Vec<Task> {
    let task = |(id, after): (&String, &Vec<usize>)| GraphTask {
        id: id.clone(),
        agent: "x".to_owned(),
        after: after.iter().filter_map(|at| ids.get(*at).cloned()).collect(),
        state: TaskState::Done,
    };
    let told: Vec<GraphTask> = ids.iter().zip(after).map(task).collect();
    Graph::of_event(&CallId::new(&ActorPath::main(), 1, 1), &told).tasks
}

fn lines(tasks: &[Task], form: Form, width: usize) -> Option<Vec<String>> {
    let theme = Theme::of(ThemeName::Plain);
    let look = Look { width, theme: &theme, words: Lang::En.words(), markdown: true };
    let lines = picture(tasks, form, &look, None)?;
    Some(lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect())
}

fn drawn(written: &[Written<'_>], form: Form, width: usize) -> Option<String> {
    let ids: Vec<String> = written.iter().map(|(id, _)| (*id).to_owned()).collect();
    let index = |id: &&str| ids.iter().position(|known| known == id);
    let after: Vec<Vec<usize>> =
        written.iter().map(|(_, after)| after.iter().filter_map(index).collect()).collect();
    Some(lines(&tasks(&ids, &after), form, width)?.join("\n"))
}

#[test]
fn edges_join_what_waits() {
    let diamond: &[Written<'_>] = &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])];
    insta::assert_snapshot!("diamond", drawn(diamond, Form::Line, 70).expect("a picture"));
    insta::assert_snapshot!("diamond_boxes", drawn(diamond, Form::Boxed, 70).expect("a picture"));
    let crossing: &[Written<'_>] =
        &[("a", &[]), ("b", &[]), ("c", &[]), ("d", &["a", "c"]), ("e", &["b"]), ("f", &["a", "c", "b"])];
    assert_eq!(drawn(crossing, Form::Line, 90), None, "it could be misread");
    let shapes: [(&str, &[Written<'_>]); 4] = [
        ("chain", &[("a", &[]), ("b", &["a"]), ("c", &["b"])]),
        ("all_for_all", &[("a", &[]), ("b", &[]), ("c", &["a", "b"]), ("d", &["a", "b"])]),
        ("past_one", &[("a", &[]), ("b", &["a"]), ("c", &["a", "b", "d"]), ("d", &[])]),
        ("many_for_one", &[("a", &[]), ("b", &[]), ("c", &[]), ("d", &["a", "b", "c"])]),
    ];
    for (name, tasks) in shapes {
        insta::assert_snapshot!(name, drawn(tasks, Form::Line, 90).expect("a picture"));
    }
    assert_eq!(drawn(diamond, Form::Line, 20), None, "too narrow");
}

/// A way along a line; none goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Right,
    Up,
    Down,
}

/// Returns where a line goes on from `symbol` for who comes by `way`.
fn ways(symbol: char, way: Way) -> &'static [Way] {
    use Way::{Down, Right, Up};
    match (way, symbol) {
        (Right, '─' | '│') => &[Right],
        (Right, '┬') => &[Right, Down],
        (Right, '┴') => &[Right, Up],
        (Right, '┼') => &[Right, Up, Down],
        (Right, '╮') => &[Down],
        (Right, '╯') => &[Up],
        (Right, '┤') => &[Up, Down],
        (Down, '│' | '┤') => &[Down],
        (Down, '┼' | '├') => &[Right, Down],
        (Down, '╰' | '┴') => &[Right],
        (Up, '│' | '┤') => &[Up],
        (Up, '┼' | '├') => &[Right, Up],
        (Up, '╭' | '┬') => &[Right],
        _ => &[],
    }
}

/// Returns the tasks that the lines lead to from the task at `row` and column `x`.
fn leads_to(picture: &[Vec<char>], row: usize, x: usize) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![(row, x, Way::Right)];
    while let Some((row, x, way)) = open.pop() {
        if !seen.insert((row, x, way)) {
            continue;
        }
        let at = |x: usize| picture.get(row).and_then(|row| row.get(x)).copied().unwrap_or(' ');
        if way == Way::Right && at(x) == ' ' && at(x + 1) == '✓' {
            let id = (x + 3..).map(at).take_while(|symbol| *symbol != ' ');
            reached.insert(id.collect());
            continue;
        }
        for next in ways(at(x), way) {
            open.push(match next {
                Way::Right => (row, x + 1, Way::Right),
                Way::Up => (row.wrapping_sub(1), x, Way::Up),
                Way::Down => (row + 1, x, Way::Down),
            });
        }
    }
    reached
}

/// Returns the tasks that wait for `task` and for nothing that waits for it.
fn essential(after: &[Vec<usize>], task: usize) -> BTreeSet<String> {
    fn waits(after: &[Vec<usize>], who: usize, whom: usize) -> bool {
        after[who].iter().any(|before| *before == whom || waits(after, *before, whom))
    }
    let next = (0..after.len()).filter(|other| after[*other].contains(&task));
    let direct = next.filter(|other| !after[*other].iter().any(|before| waits(after, *before, task)));
    direct.map(|other| format!("t{other}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_lead_where_the_graph_does(waits in proptest::collection::vec(any::<u16>(), 2..9)) {
        // A task may wait for those written before it.
        let after: Vec<Vec<usize>> = waits
            .iter()
            .enumerate()
            .map(|(at, bits)| (0..at).filter(|before| bits >> (2 * before) & 3 == 0).collect())
            .collect();
        let ids: Vec<String> = (0..after.len()).map(|at| format!("t{at}")).collect();
        let Some(lines) = lines(&tasks(&ids, &after), Form::Line, 200) else { return Ok(()) };
        let picture: Vec<Vec<char>> = lines.iter().map(|line| line.chars().collect()).collect();
        for (row, line) in picture.iter().enumerate() {
            for x in (0..line.len()).filter(|x| line[*x] == '✓') {
                let text: String = line[x..].iter().collect();
                let id = text.split(' ').nth(1).unwrap_or_default();
                let end = x + format!("✓ {id} x done ").chars().count();
                let task = ids.iter().position(|known| known == id).expect("one of the tasks");
                prop_assert_eq!(
                    leads_to(&picture, row, end), essential(&after, task), "from {} in\n{}", id, lines.join("\n")
                );
            }
        }
    }

    #[test]
    fn every_graph_is_drawn_within_its_width_or_not_at_all(
        after in proptest::collection::vec(proptest::collection::vec(0..14_usize, 0..4), 1..14),
        width in 1..120_usize,
        id in "[a-z宽é]{1,12}",
    ) {
        let ids: Vec<String> = (0..after.len()).map(|at| format!("{id}{at}")).collect();
        let tasks = tasks(&ids, &after);
        for form in [Form::Line, Form::Boxed] {
            let Some(lines) = lines(&tasks, form, width) else { continue };
            let drawn = lines.join("\n");
            for id in &ids {
                prop_assert_eq!(drawn.matches(&format!(" {id} ")).count(), 1, "{} once in\n{}", id, drawn);
            }
            prop_assert!(lines.iter().all(|line| columns(line) <= width), "wider than {}:\n{}", width, drawn);
        }
        let theme = Theme::of(ThemeName::Plain);
        let look = Look { width, theme: &theme, words: Lang::En.words(), markdown: true };
        for line in list(&tasks, 8, &look, None) {
            prop_assert!(columns(&line.to_string()) <= width.max(4), "{} in {}", line, width);
        }
    }
}
