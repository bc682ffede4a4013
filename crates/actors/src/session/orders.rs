//! Orders from outside: each becomes a record, goes to an agent by path, or is answered by an error that says why not.
//!
//! Asked by the session; owns nothing.

use maia_core::turn::Input;
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::permission::AnsweredBy;
use maia_protocol::record::AskedAgain;
use maia_protocol::{ActorPath, Body, CallId, NewRecord, Op, Snapshot};

use super::{SessionState, append};
use crate::address::supervisor_of;
use crate::agent_supervisor::AgentSupervisorMsg;
use crate::journal::JournalMsg;
use crate::permission_broker::PermissionBrokerMsg;

/// Stops an agent and what is below it; returns whether anybody is there.
pub(super) fn stop(state: &SessionState, actor: &ActorPath) -> bool {
    let by = "the person".to_owned();
    let message = AgentSupervisorMsg::ToAgent(Input::Cancel { by });
    state.env.book.supervisor(&supervisor_of(actor), message)
}

pub(super) fn order(state: &mut SessionState, op: Op) {
    match op {
        Op::Ask { text } if state.fold.in_turn || state.asked => {
            if !tell(state, &ActorPath::main(), text) {
                nobody(state, &ActorPath::main(), "told");
            }
        }
        Op::Ask { text } if !state.closing => {
            append(state, vec![Body::UserMessage { turn: state.fold.turn + 1, text }]);
            state.asked = true;
            // One that failed for good is tried again: its next turn may do better.
            wake_main(state);
        }
        Op::Ask { .. } => nobody(state, &ActorPath::main(), "asked: the session is being closed"),
        Op::Spawn { agent, task } => spawn(state, agent, task),
        Op::AskAgain { actor, text } if actor == ActorPath::main() => order(state, Op::Ask { text }),
        Op::AskAgain { actor, text } => ask_again(state, actor, text),
        Op::Clear => clear(state, None),
        Op::Model { model } => choose_model(state, model.trim()),
        Op::Tell { actor, text } => {
            if !tell(state, &actor, text) {
                nobody(state, &actor, "told");
            }
        }
        // Told to an idle agent it would wait for its next turn.
        Op::Stop { actor } if actor == ActorPath::main() && !state.fold.in_turn && !state.asked => {
            nobody(state, &actor, "stopped: no turn is under way");
        }
        Op::Stop { actor } => {
            let mut stopped = stop(state, &actor);
            // The subtree as the person sees it: who was asked again below it is under the session now.
            if actor != ActorPath::main() {
                let beside = state.beside.paths();
                for agent in beside.iter().filter(|agent| **agent != actor && agent.is_within(&actor)) {
                    stopped |= stop(state, agent);
                }
            }
            if !stopped {
                nobody(state, &actor, "stopped");
            }
        }
        Op::Answer { id, decision } => {
            let answer = PermissionBrokerMsg::Answer { call: id, decision, by: AnsweredBy::Person };
            state.env.book.broker(answer);
        }
    }
}

/// Has the main agent's worker started where it failed for good; nothing happens where it is at work.
pub(super) fn wake_main(state: &SessionState) {
    let main = supervisor_of(&ActorPath::main());
    state.env.book.supervisor(&main, AgentSupervisorMsg::Begin);
}

fn tell(state: &SessionState, actor: &ActorPath, text: String) -> bool {
    if *actor == ActorPath::main() && !state.fold.in_turn {
        wake_main(state);
    }
    let message = AgentSupervisorMsg::ToAgent(Input::Told { from: "the person".to_owned(), text });
    state.env.book.supervisor(&supervisor_of(actor), message)
}

fn spawn(state: &mut SessionState, agent: String, task: String) {
    let main = ActorPath::main();
    if state.closing {
        return nobody(state, &main, "asked to start an agent: the session is being closed");
    }
    let latest = state.env.latest_snapshot();
    let known = latest.agent(&agent);
    if known.is_none() || task.trim().is_empty() {
        let names: Vec<_> = latest.agents.iter().map(|agent| agent.definition.name.as_str()).collect();
        let message = if known.is_none() {
            format!("there is no agent \"{agent}\"")
        } else {
            format!("\"{agent}\" was given no task")
        };
        return refuse(state, message, &format!("&agent task; known agents: {}", names.join(", ")));
    }
    if !state.fold.in_turn {
        // Its record is made by the main agent, which may have failed for good since its last turn.
        wake_main(state);
    }
    let message = AgentSupervisorMsg::ToAgent(Input::Spawn { agent, task });
    if state.env.book.supervisor(&supervisor_of(&main), message) {
        state.spawning += 1;
    } else {
        nobody(state, &main, "asked to start an agent");
    }
}

/// A sub-agent that has ended goes on from its conversation; one that is at work is told the text at its next step.
fn ask_again(state: &mut SessionState, actor: ActorPath, text: String) {
    let Some(known) = state.fold.agents.get(&actor).copied() else {
        let message = format!("no agent of this session has the path \"{actor}\"; nobody was asked");
        return refuse(state, message, "the paths are those of agent_spawned");
    };
    if text.trim().is_empty() {
        return refuse(state, format!("{actor} was asked nothing"), "say what it is to do");
    }
    if state.closing {
        return nobody(state, &actor, "asked: the session is being closed");
    }
    if state.asking.contains(&actor) {
        let message = format!("{actor} was asked a moment ago and has not begun yet");
        return refuse(state, message, "tell it when it is at work");
    }
    if known.ended {
        let call = CallId::new(&actor, 0, known.asked + 1);
        let asked = AskedAgain { call, text, iterations: known.iterations };
        let records = vec![NewRecord::new(actor.clone(), Body::AskedAgain(asked))];
        state.env.book.journal(JournalMsg::Append { records });
        state.asking.insert(actor);
    } else if !tell(state, &actor, text) {
        let message = format!("{actor} went with an agent above it, before its own end");
        refuse(state, message, "ask the one above it again, or start a new agent");
    }
}

/// Begins the main agent's conversation anew (mission M5.6-clear); what was read afresh is in force when that is durable.
pub(super) fn clear(state: &SessionState, fresh: Option<Snapshot>) {
    if state.fold.in_turn || state.asked {
        let message = "the conversation cannot be cleared while a turn is under way".to_owned();
        return refuse(state, message, "stop the turn first, then clear");
    }
    if state.closing {
        return nobody(state, &ActorPath::main(), "told to forget: the session is being closed");
    }
    let mut bodies = vec![Body::ConversationCleared {}];
    if let Some(snapshot) = fresh {
        bodies.push(Body::SnapshotTaken(Box::new(snapshot)));
    }
    append(state, bodies);
}

/// Has another model of the same endpoint answer the main agent from its next request on (mission M5.6-model).
fn choose_model(state: &SessionState, model: &str) {
    let elsewhere = |name: &str| name == "demo" || name.starts_with("script:") || name.starts_with("replay:");
    let model = model.strip_prefix("litellm:").unwrap_or(model);
    if model.is_empty() {
        return refuse(state, "no model was named".to_owned(), "name a model of the endpoint");
    }
    if elsewhere(model) || elsewhere(&state.fold.model) {
        let now = &state.fold.model;
        let message = format!("\"{model}\" comes from elsewhere than \"{now}\"; the model stays");
        return refuse(state, message, "start again with --model; --resume keeps the conversation");
    }
    append(state, vec![Body::ModelChosen { model: model.to_owned() }]);
}

pub(super) fn refuse(state: &SessionState, message: String, mend: &str) {
    let notice = NoticeEvent::Error { message, mend: Some(mend.to_owned()) };
    state.env.live(&ActorPath::main(), EventBody::Notice(notice));
}

/// An unknown address is an error, never silence (mission T11).
fn nobody(state: &SessionState, actor: &ActorPath, what: &str) {
    let message = format!("no agent at work has the path \"{actor}\"; nobody was {what}");
    refuse(state, message, "agents at work are those with agent_spawned and without agent_finished");
}
