//! Keeps the questions of the whole tree and sees that each is answered once (SAFETY 3).
//!
//! - Agents ask by appending `permission_asked`; a person's answer comes as a message.
//! - Tells nobody directly: an answer is a record, which the journal hands to the asker.
//! - Owns the queue of open questions, a fold. After a restart it is folded from the journal: nothing is lost, nothing is assumed.
//! - Where nobody can answer, it refuses at once and says which rule would have allowed the call (SAFETY 1).

use std::collections::HashSet;
use std::sync::Arc;

use maia_core::permission::lacking_rules;
use maia_core::question::{Question, Queue};
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::permission::AnsweredBy;
use maia_protocol::record::PermissionAsked;
use maia_protocol::{ActorPath, Body, CallId, Decision, NewRecord, Record};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::env::SessionEnv;
use crate::journal::JournalMsg;

/// What the broker can be told.
pub enum PermissionBrokerMsg {
    /// All its records so far; later ones follow as `Committed`.
    History {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
    /// Records of it are durable: apply them.
    Committed {
        /// In the journal's order.
        records: Vec<Arc<Record>>,
    },
    /// Somebody answers a question.
    Answer {
        /// Id of the question, the call's.
        call: CallId,
        /// The answer.
        decision: Decision,
        /// Who.
        by: AnsweredBy,
    },
    /// From now on nobody can answer: what is open is refused.
    NobodyAnswers,
}

impl PermissionBrokerMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::History { .. } => "History",
            Self::Committed { .. } => "Committed",
            Self::Answer { .. } => "Answer",
            Self::NobodyAnswers => "NobodyAnswers",
        }
    }
}

/// What the broker is started with.
pub struct PermissionBrokerArgs {
    /// The session.
    pub env: Arc<SessionEnv>,
}

/// State of [`PermissionBroker`].
pub struct PermissionBrokerState {
    env: Arc<SessionEnv>,
    questions: Queue,
    /// Questions whose answer is appended and not committed yet: once answered is answered.
    answered: HashSet<CallId>,
    folded: bool,
    /// Answers that came before the history. Unbounded: a person gave each of them.
    early: Vec<(CallId, Decision, AnsweredBy)>,
}

/// The actor.
pub struct PermissionBroker;

impl Actor for PermissionBroker {
    type Msg = PermissionBrokerMsg;
    type State = PermissionBrokerState;
    type Arguments = PermissionBrokerArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(PermissionBrokerState {
            env: args.env,
            questions: Queue::default(),
            answered: HashSet::new(),
            folded: false,
            early: Vec::new(),
        })
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.env.failpoints.message("@broker", message.kind());
        match message {
            PermissionBrokerMsg::History { records } => {
                state.questions = Queue::default();
                for record in &records {
                    state.questions.step(record);
                }
                state.folded = true;
                for (call, decision, by) in std::mem::take(&mut state.early) {
                    answer(state, call, decision, by);
                }
                refuse_unanswerable(state);
            }
            PermissionBrokerMsg::Committed { records } => {
                for record in &records {
                    state.questions.step(record);
                    if let Body::PermissionAnswered { call, .. } = &record.body {
                        state.answered.remove(call);
                    }
                }
                refuse_unanswerable(state);
            }
            PermissionBrokerMsg::Answer { call, decision, by } if state.folded => {
                answer(state, call, decision, by);
            }
            PermissionBrokerMsg::Answer { call, decision, by } => state.early.push((call, decision, by)),
            PermissionBrokerMsg::NobodyAnswers => refuse_unanswerable(state),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Self::Msg>,
        _: SupervisionEvent,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // It supervises nobody.
        Ok(())
    }
}

fn answer(state: &mut PermissionBrokerState, call: CallId, decision: Decision, by: AnsweredBy) {
    let asker = state.questions.get(&call).map(|question| question.asker.clone());
    match asker.filter(|_| !state.answered.contains(&call)) {
        Some(asker) => append(state, asker, call, decision, by),
        None => {
            let message = format!("no question {call} is open: it was answered before, or never asked");
            let body = NoticeEvent::Warning { message, mend: None };
            state.env.live(&ActorPath::main(), EventBody::Notice(body));
        }
    }
}

fn append(
    state: &mut PermissionBrokerState,
    asker: ActorPath,
    call: CallId,
    decision: Decision,
    by: AnsweredBy,
) {
    let body = Body::PermissionAnswered { call: call.clone(), decision, by };
    // Without a journal the session is ending; the question stays open in its file.
    if state.env.book.journal(JournalMsg::Append { records: vec![NewRecord::new(asker, body)] }) {
        state.answered.insert(call);
    }
}

/// Refuses every open question of a session in which nobody can answer (SAFETY 1).
fn refuse_unanswerable(state: &mut PermissionBrokerState) {
    if !state.env.headless.load(std::sync::atomic::Ordering::Relaxed) || !state.folded {
        return;
    }
    let open =
        state.questions.open().iter().filter(|question| !state.answered.contains(&question.asked.call));
    let open: Vec<Question> = open.cloned().collect();
    for Question { asker, asked } in open {
        let reason = Some(refusal(state, &asked));
        append(state, asker, asked.call, Decision::RejectOnce { reason }, AnsweredBy::Headless);
    }
}

/// Returns what the model is told of a refusal, with the rules that would allow the call where there are any.
fn refusal(state: &PermissionBrokerState, asked: &PermissionAsked) -> String {
    let why = asked.why.trim_end_matches('.');
    let rules = lacking_rules(&asked.tool, &asked.input, asked.target.as_ref(), &state.env.place);
    if rules.is_empty() {
        return format!("{why}; nobody can answer here, and no rule may allow it");
    }
    // Quoted so that the line can be pasted into a shell as it stands.
    let flags = rules.iter().map(|rule| format!(" --allow '{}'", rule.replace('\'', r"'\''")));
    format!("{why}; nobody can answer here. To allow it:{}", flags.collect::<String>())
}
