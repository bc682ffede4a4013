//! What is true of every session, whatever happened in it and in whatever order.

use std::collections::HashMap;

use maia_core::event::events;
use maia_core::owners::owners;
use maia_core::turn::{self, Phase, State};
use maia_protocol::event::{AgentEvent, EventBody, ToolEvent};
use maia_protocol::model::ChatRequest;
use maia_protocol::permission::RulingAction;
use maia_protocol::record::{AfterAnswer, ReconcileAction};
use maia_protocol::{ActorPath, Block, Body, CallId, Decision, Message, Record, Role, Seq};

use crate::driver::Tree;

/// Folds an agent's records from scratch.
pub fn fold(path: &ActorPath, journal: &[Record]) -> State {
    let mut state = State::new(path.clone());
    for record in journal.iter().filter(|record| owners(record).include(path)) {
        turn::step(&mut state, record);
    }
    state
}

/// Everything that must hold when nothing more can happen.
pub fn ended(tree: &Tree) {
    for state in tree.states() {
        conversation(state);
        let at_rest = matches!(state.phase, Phase::Idle | Phase::Ended);
        assert!(at_rest, "{} is stuck: {:?} {:#?}", state.path, state.phase, state.calls);
        assert_eq!(fold(&state.path, &tree.journal), *state, "the fold is a function of the journal");
    }
    assert!(!tree.session.in_turn, "the turn never ended");
    assert_eq!(tree.session.open_agents, [], "children never ended");
    one_end_each(&tree.journal);
    nothing_twice(&tree.journal);
    for (call, intent) in &tree.runs {
        let again = tree.runs.iter().filter(|(other, at)| other == call && at == intent).count();
        assert_eq!(again, 1, "{call} ran twice by one intent");
    }
}

/// Roles alternate, and each call has one result, in call order, right after it.
pub fn conversation(state: &State) {
    let messages: Vec<&Message> = state.messages.iter().map(|message| &**message).collect();
    alternates(&messages);
    // The calls that are being worked on have no results yet.
    let open = usize::from(!state.calls.is_empty());
    results_follow(&messages[..messages.len() - open]);
}

/// What is sent begins and ends with the user, and leaves no call without its result.
pub fn request(request: &ChatRequest) {
    let messages: Vec<&Message> = request.messages.iter().map(|message| &**message).collect();
    alternates(&messages);
    results_follow(&messages);
    assert_eq!(messages.last().map(|message| message.role), Some(Role::User), "there is nothing to answer");
}

fn alternates(messages: &[&Message]) {
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { Role::User } else { Role::Assistant };
        assert_eq!(message.role, expected, "message {index} of {messages:#?}");
        assert!(!message.content.is_empty(), "message {index} is empty");
    }
}

fn results_follow(messages: &[&Message]) {
    let mut asked: Vec<&str> = Vec::new();
    for message in messages {
        let mut given = Vec::new();
        let mut begun_text = false;
        for block in &message.content {
            match block {
                Block::ToolResult { tool_use_id, .. } => {
                    assert!(!begun_text, "results come before texts");
                    given.push(tool_use_id.as_str());
                }
                Block::Text { .. } => begun_text = true,
                Block::ToolUse { .. } => {}
            }
        }
        assert_eq!(given, asked, "{messages:#?}");
        let uses = message.content.iter().filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id.as_str()),
            _ => None,
        });
        asked = uses.collect();
    }
    assert_eq!(asked, Vec::<&str>::new(), "calls without results");
}

/// Returns the number of the intent by which `call` runs; fails where it has no permission.
pub fn permitted(call: &CallId, journal: &[Record]) -> Seq {
    let (mut permit, mut intent) = (None, None);
    for record in journal {
        match &record.body {
            // What was allowed by rule and not begun is judged again (ENGINE 7).
            Body::SessionOpened(_) if permit == Some("rule") => permit = None,
            Body::CallsJudged { rulings } => {
                if let Some((_, ruling)) = rulings.iter().find(|(id, _)| id == call) {
                    permit = (ruling.action == RulingAction::Run).then_some("rule");
                }
            }
            Body::PermissionAnswered { call: id, decision, .. } if id == call => {
                permit = (*decision == Decision::AllowOnce).then_some("person");
            }
            // A stop takes back what had not begun (mission M6.2-stop).
            Body::PermissionAnswered { call: id, decision: Decision::Stop, .. } if same_answer(id, call) => {
                permit = permit.filter(|_| intent.is_some());
            }
            Body::ToolIntent { call: id, .. } if id == call => {
                assert!(permit.is_some(), "{call} begins without permission");
                intent = Some(record.seq);
            }
            Body::ToolDone { call: id, .. } if id == call => panic!("{call} runs after its result"),
            Body::Reconciled { call: id, .. } if id == call => (permit, intent) = (None, None),
            _ => {}
        }
    }
    intent.expect("a recorded intent")
}

fn same_answer(one: &CallId, other: &CallId) -> bool {
    let answer = |call: &CallId| call.as_str().rsplit_once('.').map(|(answer, _)| answer.to_owned());
    answer(one) == answer(other)
}

/// A call has one result; it begins again only where the restart table said so.
fn nothing_twice(journal: &[Record]) {
    let (mut begun, mut done) = (HashMap::new(), HashMap::new());
    for record in journal {
        match &record.body {
            Body::ToolIntent { call, .. } => {
                assert!(!done.contains_key(call), "{call} begins after its result");
                assert!(begun.insert(call.clone(), record.seq).is_none(), "{call} begins twice");
            }
            Body::Delegated(delegated) => {
                let call = &delegated.call;
                assert!(begun.insert(call.clone(), record.seq).is_none(), "{call} delegates twice");
            }
            Body::Reconciled { call, action: ReconcileAction::RunAgain, .. } => {
                begun.remove(call);
            }
            Body::ToolDone { call, .. } => {
                assert!(done.insert(call.clone(), record.seq).is_none(), "{call} has two results");
            }
            Body::ChildFinished(finished) => {
                let call = &finished.call;
                assert!(done.insert(call.clone(), record.seq).is_none(), "{call} has two results");
            }
            _ => {}
        }
    }
}

/// One end for each agent, one result for each call, one end for each turn: in the records and as events.
fn one_end_each(journal: &[Record]) {
    let mut agents: HashMap<ActorPath, (u32, u32)> = HashMap::new();
    let mut resumed: HashMap<ActorPath, u32> = HashMap::new();
    let mut again: HashMap<ActorPath, u32> = HashMap::new();
    let mut calls: HashMap<CallId, (u32, u32)> = HashMap::new();
    for event in journal.iter().flat_map(|record| events(record, "s")) {
        match event.body {
            EventBody::Agent(AgentEvent::AgentSpawned { .. }) => {
                agents.entry(event.actor).or_default().0 += 1
            }
            EventBody::Agent(AgentEvent::AgentAskedAgain { .. }) => {
                *again.entry(event.actor).or_default() += 1
            }
            EventBody::Agent(AgentEvent::AgentResumed { .. }) => {
                *resumed.entry(event.actor).or_default() += 1
            }
            EventBody::Agent(AgentEvent::AgentFinished { .. }) => {
                agents.entry(event.actor).or_default().1 += 1
            }
            EventBody::Tool(ToolEvent::ToolCall { id, .. }) => calls.entry(id).or_default().0 += 1,
            EventBody::Tool(ToolEvent::ToolResult { id, .. }) => calls.entry(id).or_default().1 += 1,
            _ => {}
        }
    }
    let closings = journal.iter().filter(|record| matches!(record.body, Body::SessionClosed { .. })).count();
    for (agent, (spawned, finished)) in agents {
        assert_eq!(spawned, 1, "{agent} began {spawned} times");
        let lives = 1 + again.get(&agent).copied().unwrap_or_default();
        let ends = if agent == ActorPath::main() { closings as u32 } else { lives };
        assert_eq!(finished, ends, "{agent} ended {finished} times");
        let openings = journal.iter().filter(|record| matches!(record.body, Body::SessionOpened(_))).count();
        assert!(
            resumed.get(&agent).is_none_or(|&resumed| (resumed as usize) < openings),
            "{agent} goes on too often"
        );
    }
    for (call, count) in calls {
        assert_eq!(count, (1, 1), "{call} as tool_call and tool_result");
    }
    let turns = |wanted: fn(&Body) -> bool| journal.iter().filter(|record| wanted(&record.body)).count();
    let begun = turns(|body| matches!(body, Body::UserMessage { .. }));
    assert_eq!(begun, turns(|body| matches!(body, Body::TurnFinished { .. })), "turns and their ends");
    let answers = journal.iter().filter_map(|record| match &record.body {
        Body::ModelAnswered(answered) => Some((record.actor.clone(), answered.step)),
        _ => None,
    });
    let mut steps: Vec<_> = answers.collect();
    let all = steps.len();
    steps.sort();
    steps.dedup();
    assert_eq!(steps.len(), all, "a step was answered twice");
    let followed = |answered: &Body| match answered {
        Body::ModelAnswered(answered) => {
            answered.then == AfterAnswer::Tools && answered.answer.calls.is_empty()
        }
        _ => false,
    };
    assert!(!journal.iter().any(|record| followed(&record.body)), "tools of an answer without calls");
}
