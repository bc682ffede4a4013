//! Writers and planners: puts what others have found into a text, or a goal into a graph of tasks.
//!
//! - Nothing is written to a file: a model that understands nothing has nothing to say there.

use super::prose::{plain, section, words};
use super::talk::Turn;
use super::{Next, explore, lead};

/// Lines of a result's places that a summary takes over.
const PLACES: usize = 3;

/// The writer's part: a summary of the results that came with the task, else of the folder.
pub(super) fn text(turn: &Turn<'_>) -> Next {
    if turn.data.is_empty() {
        return match explore::layout(turn) {
            Next::End(report) => Next::End(written(&summary(&[("folder", &report)]))),
            act => act,
        };
    }
    let parts: Vec<(&str, &str)> = turn.data.iter().map(|handed| (handed.task, handed.text)).collect();
    Next::End(written(&summary(&parts)))
}

fn written(text: &str) -> String {
    format!(
        "# Files\nnone\n\n# Open\nnobody has judged this: the demo model counts and quotes\n\n# Text\n{text}"
    )
}

/// Returns a summary of the reports of these tasks, in Markdown without titles of the first level.
pub(super) fn summary(reports: &[(&str, &str)]) -> String {
    let parts = reports.iter().map(|(task, report)| {
        let title = match *task {
            lead::ids::LAYOUT | "folder" => "What is here".to_owned(),
            lead::ids::CODE => "The code".to_owned(),
            lead::ids::SEARCH => "What you asked for".to_owned(),
            lead::ids::CHECKS => "Checks".to_owned(),
            lead::ids::REVIEW => "Read again".to_owned(),
            other => plain(other, 40),
        };
        format!("**{title}.** {}", short(task, report))
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Says what a report says, in a paragraph and a few places.
pub(super) fn short(task: &str, report: &str) -> String {
    if let Some(text) = section(report, "Text") {
        return plain(text, 300);
    }
    if let Some(answer) = section(report, "Answer") {
        let shows = matches!(task, lead::ids::SEARCH | lead::ids::CODE);
        let places =
            section(report, "Places").filter(|places| shows && *places != "none").unwrap_or_default();
        let places = places.lines().take(PLACES).map(|line| {
            let (at, what) = line.split_once(": ").unwrap_or((line, ""));
            format!("\n- `{at}` {what}")
        });
        return format!("{answer}{}", places.collect::<String>());
    }
    let mut sentences = Vec::new();
    let mut findings = Vec::new();
    for line in report.lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        match fields.as_slice() {
            ["note", note] => sentences.push(sentence(note)),
            ["checked", "no place was named"] => {
                sentences.push("No place was named that can be read again.".to_owned())
            }
            ["checked", "nothing that holds"] => {}
            ["checked", places] => {
                let places = places.split(", ").count();
                let plural = if places == 1 { "place was" } else { "places were" };
                sentences.push(format!("{places} {plural} read again and found as told."));
            }
            ["verdict", verdict] => sentences.push(format!("The verdict: {verdict}.")),
            ["high" | "medium" | "low", at, what, ..] => findings.push(format!("\n- `{at}` {what}")),
            _ => {}
        }
    }
    if sentences.is_empty() && findings.is_empty() {
        return plain(report, 400);
    }
    findings.truncate(PLACES);
    format!("{}{}", sentences.join(" "), findings.concat())
}

/// Makes a note a sentence.
fn sentence(note: &str) -> String {
    let mut chars = note.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// The planner's part: the graph that the demo model knows, with the words of the goal.
pub(super) fn plan(turn: &Turn<'_>) -> Next {
    match explore::layout(turn) {
        Next::End(_) => {}
        act => return act,
    }
    let tasks = lead::tasks(&words(turn.request), &[]);
    let mut yaml = format!("# by the demo model, for: {}\ntasks:\n", plain(turn.request, 120));
    for task in &tasks {
        yaml.push_str(&format!(
            "  - id: {}\n    agent: {}\n    task: |\n      {}\n",
            task.id, task.agent, task.text
        ));
        if !task.after.is_empty() {
            yaml.push_str(&format!("    after: [{}]\n", task.after.join(", ")));
        }
    }
    yaml.push_str("on_failure: continue");
    Next::End(yaml)
}
