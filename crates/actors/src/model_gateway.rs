//! Sends the requests of all agents to one endpoint, so many at once, and hands back how they ended (ENGINE 6, Gateway).
//!
//! - Asked by agents; results go to them by path. A result that finds nobody, or a worker that fails with it in its
//!   mailbox, is handed over when the rebuilt worker asks again: no answer is paid for twice.
//! - 429 and 503 are waits of the line, not failures of an agent: the request goes back to its place, and that is shown.
//! - Owns the line and the tasks of requests; it decides nothing about retries.
//! - After a restart it starts empty: its tasks ended with it, and agents are told to ask again.

mod flight;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maia_core::gateway::Line;
use maia_core::turn::Input;
use maia_llm::{Answered, Provider};
use maia_protocol::ActorPath;
use maia_protocol::event::{EventBody, NoticeEvent};
use maia_protocol::model::{ChatRequest, FailureKind, ModelFailure};
use maia_protocol::tool::Target;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant;

use self::flight::{Abort, Flight};
use crate::agent::AgentMsg;
use crate::env::SessionEnv;
use crate::failpoint::Failpoints;

/// Results that are kept after they were handed over, in case the worker fails before it has recorded them.
const KEPT: usize = 32;

/// Names a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// The session's id.
    pub session: String,
    /// Who asks. An agent has one request at a time.
    pub agent: ActorPath,
    /// Number of the request in the agent's life.
    pub step: u32,
    /// Which attempt.
    pub attempt: u32,
}

/// What the gateway can be told.
pub enum ModelGatewayMsg {
    /// Send `request` when its turn comes; the agent is told [`AgentMsg::Input`]. Asking again changes nothing.
    Ask {
        /// Names it.
        key: RequestKey,
        /// The request.
        request: Box<ChatRequest>,
        /// The agent's session.
        env: Arc<SessionEnv>,
    },
    /// End a request: the agent is told what came so far, as a failure of kind `cancelled`. Told also where there is no
    /// such request, because it was lost with an earlier gateway or process: the agent waits for an end.
    Cancel {
        /// Names it.
        key: RequestKey,
        /// The agent's session.
        env: Arc<SessionEnv>,
    },
    /// A session has ended: its requests are ended too, and nobody is told.
    EndSession {
        /// The session's id.
        session: String,
    },
    /// A request is over. (From its task.)
    Finished {
        /// Names it.
        key: RequestKey,
        /// Tells it from an earlier one with the same key.
        number: u64,
        /// For each call of the answer the file that it names; empty when none does.
        targets: Vec<Option<Target>>,
        /// How it ended.
        result: Box<Result<Answered, ModelFailure>>,
    },
    /// A wait of the line is over.
    Wake,
}

impl ModelGatewayMsg {
    fn kind(&self) -> &'static str {
        match self {
            Self::Ask { .. } => "Ask",
            Self::Cancel { .. } => "Cancel",
            Self::EndSession { .. } => "EndSession",
            Self::Finished { .. } => "Finished",
            Self::Wake => "Wake",
        }
    }
}

/// What the gateway is started with.
pub struct ModelGatewayArgs {
    /// Who answers.
    pub provider: Arc<Provider>,
    /// Requests in flight at once.
    pub max_in_flight: usize,
    /// Faults to inject.
    pub failpoints: Failpoints,
}

/// Whose request: session and agent.
type Asker = (String, ActorPath);

struct Asked {
    key: RequestKey,
    request: Arc<ChatRequest>,
    env: Arc<SessionEnv>,
    stage: Stage,
}

enum Stage {
    /// It stands in line; `shown` tells whether its agent is shown as waiting.
    Line { shown: bool },
    /// It was sent.
    Flight(Flight),
    /// It is over; `told` tells whether somebody took the result.
    Over { result: Input, told: bool },
}

/// State of [`ModelGateway`].
pub struct ModelGatewayState {
    provider: Arc<Provider>,
    failpoints: Failpoints,
    line: Line<RequestKey>,
    asked: HashMap<Asker, Asked>,
    /// Whose results were handed over, oldest first; at most [`KEPT`].
    told: VecDeque<RequestKey>,
    flights: u64,
    /// The end of the line's wait, and the timer that tells of it.
    wake: Option<(Timestamp, Abort)>,
    clock: Clock,
}

/// The line's clock goes on evenly, whatever happens to the machine's.
struct Clock {
    start: Instant,
    at: Timestamp,
}

impl Clock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        self.at.saturating_add(passed).unwrap_or(self.at)
    }
}

/// The actor.
pub struct ModelGateway;

impl Actor for ModelGateway {
    type Msg = ModelGatewayMsg;
    type State = ModelGatewayState;
    type Arguments = ModelGatewayArgs;

    async fn pre_start(
        &self,
        _: ActorRef<Self::Msg>,
        args: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(ModelGatewayState {
            provider: args.provider,
            failpoints: args.failpoints,
            line: Line::new(args.max_in_flight),
            asked: HashMap::new(),
            told: VecDeque::new(),
            flights: 0,
            wake: None,
            clock: Clock { start: Instant::now(), at: Timestamp::now() },
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.failpoints.message("@gateway", message.kind());
        match message {
            ModelGatewayMsg::Ask { key, request, env } => ask(&myself, state, key, *request, env),
            ModelGatewayMsg::Cancel { key, env } => cancel(&myself, state, key, &env),
            ModelGatewayMsg::EndSession { session } => end_session(&myself, state, &session),
            ModelGatewayMsg::Finished { key, number, targets, result } => {
                finished(&myself, state, key, number, targets, *result);
            }
            ModelGatewayMsg::Wake => {
                state.wake = None;
                send(&myself, state);
            }
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

fn ask(
    myself: &ActorRef<ModelGatewayMsg>,
    state: &mut ModelGatewayState,
    key: RequestKey,
    request: ChatRequest,
    env: Arc<SessionEnv>,
) {
    let asker = asker(&key);
    match state.asked.get_mut(&asker) {
        Some(asked) if asked.key == key => {
            if let Stage::Over { result, told } = &mut asked.stage {
                let now = asked.env.book.agent(&key.agent, AgentMsg::Input(result.clone()));
                if now && !std::mem::replace(told, true) {
                    keep(state, key);
                }
            }
            return;
        }
        // An agent has one request at a time: an older one is of no use to it any more.
        Some(_) => forget(state, &asker),
        None => {}
    }
    state.line.join(&key.agent, key.clone());
    let stage = Stage::Line { shown: false };
    state.asked.insert(asker.clone(), Asked { key, request: Arc::new(request), env, stage });
    send(myself, state);
    show_wait(state, &asker);
}

fn cancel(
    myself: &ActorRef<ModelGatewayMsg>,
    state: &mut ModelGatewayState,
    key: RequestKey,
    env: &SessionEnv,
) {
    let asker = asker(&key);
    let asked = state.asked.get(&asker).filter(|asked| asked.key == key);
    // A result that was handed over may be lost with a worker; one that was not hears the same twice, and drops it.
    let text = asked.map_or_else(String::new, |asked| match &asked.stage {
        Stage::Flight(flight) => flight.text(),
        Stage::Over { result: Input::Answered { answer, .. }, .. } => answer.text.clone(),
        Stage::Over { result: Input::Failed { failure, .. }, .. } => failure.text.clone(),
        Stage::Line { .. } | Stage::Over { .. } => String::new(),
    });
    forget(state, &asker);
    let failure = ModelFailure {
        kind: FailureKind::Cancelled,
        status: None,
        message: "stopped".to_owned(),
        transient: false,
        retry_after_ms: None,
        text,
    };
    let input = Input::Failed { step: key.step, attempt: key.attempt, failure };
    // A worker that is being rebuilt finds the stop in its records.
    let _ = env.book.agent(&key.agent, AgentMsg::Input(input));
    send(myself, state);
}

fn end_session(myself: &ActorRef<ModelGatewayMsg>, state: &mut ModelGatewayState, session: &str) {
    let of_it: Vec<Asker> = state.asked.keys().filter(|(of, _)| of == session).cloned().collect();
    for asker in of_it {
        forget(state, &asker);
    }
    state.told.retain(|key| key.session != session);
    send(myself, state);
}

fn finished(
    myself: &ActorRef<ModelGatewayMsg>,
    state: &mut ModelGatewayState,
    key: RequestKey,
    number: u64,
    targets: Vec<Option<Target>>,
    result: Result<Answered, ModelFailure>,
) {
    let asker = asker(&key);
    let Some(asked) = state.asked.get_mut(&asker) else { return };
    let its_own = matches!(&asked.stage, Stage::Flight(flight) if flight.number == number);
    if !its_own {
        // It was ended, and the next one may be under way.
        return;
    }
    let result = match result {
        Err(failure) if failure.kind == FailureKind::Busy => {
            sent_away(state, &asker, &key, &failure);
            send(myself, state);
            show_wait(state, &asker);
            return;
        }
        Ok(Answered { answer, first_token_ms, duration_ms }) => {
            let (step, cost_micros) = (key.step, None);
            Input::Answered { step, answer, targets, cost_micros, first_token_ms, duration_ms }
        }
        Err(failure) => Input::Failed { step: key.step, attempt: key.attempt, failure },
    };
    let told = asked.env.book.agent(&key.agent, AgentMsg::Input(result.clone()));
    state.line.finished(&key, matches!(result, Input::Answered { .. }));
    asked.stage = Stage::Over { result, told };
    if told {
        keep(state, key);
    }
    send(myself, state);
}

/// Puts back a request that the server sent away; the session hears of each wait once.
fn sent_away(state: &mut ModelGatewayState, asker: &Asker, key: &RequestKey, failure: &ModelFailure) {
    let now = state.clock.now();
    let began = state.line.busy(&key.agent, key, failure.retry_after_ms, now, jitter());
    let Some(asked) = state.asked.get_mut(asker) else { return };
    asked.stage = Stage::Line { shown: false };
    if began {
        let wait = match (failure.retry_after_ms, state.line.not_before()) {
            (Some(wish), _) => format!("it asks to wait {:.1} s", wish as f64 / 1_000.0),
            (None, Some(at)) => format!("the next try is in {:.1} s", at.duration_since(now).as_secs_f64()),
            (None, None) => "the next try follows".to_owned(),
        };
        let message = format!("{}; {wait}", failure.message);
        asked.env.live(&key.agent, EventBody::Notice(NoticeEvent::Warning { message, mend: None }));
    }
}

/// Remembers that a result was handed over, and lets go of the oldest such result.
fn keep(state: &mut ModelGatewayState, key: RequestKey) {
    state.told.push_back(key);
    if state.told.len() <= KEPT {
        return;
    }
    let Some(oldest) = state.told.pop_front() else { return };
    let asker = asker(&oldest);
    let over = |asked: &Asked| asked.key == oldest && matches!(asked.stage, Stage::Over { told: true, .. });
    if state.asked.get(&asker).is_some_and(over) {
        state.asked.remove(&asker);
    }
}

/// Ends the request of `asker`, wherever it stands.
fn forget(state: &mut ModelGatewayState, asker: &Asker) {
    let Some(asked) = state.asked.remove(asker) else { return };
    match asked.stage {
        Stage::Line { .. } => {
            state.line.leave(&asked.key);
        }
        // Dropping the flight breaks the request off.
        Stage::Flight(_) => state.line.finished(&asked.key, false),
        Stage::Over { .. } => {}
    }
}

/// Sends whoever may go now, and sees that the end of a wait is noticed.
fn send(myself: &ActorRef<ModelGatewayMsg>, state: &mut ModelGatewayState) {
    let now = state.clock.now();
    for key in state.line.admit(now) {
        let Some(asked) = state.asked.get_mut(&asker(&key)) else {
            state.line.finished(&key, false);
            continue;
        };
        state.flights += 1;
        if let Stage::Line { shown: true } = asked.stage {
            show(&asked.env, &key.agent, false);
        }
        let (provider, request, env) = (state.provider.clone(), asked.request.clone(), asked.env.clone());
        asked.stage =
            Stage::Flight(Flight::start(myself.clone(), provider, state.flights, key, request, env));
    }
    match state.line.not_before() {
        Some(at) if state.wake.as_ref().is_none_or(|(armed, _)| *armed != at) => {
            let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default();
            let timer = myself.send_after(wait, || ModelGatewayMsg::Wake);
            state.wake = Some((at, Abort(timer.abort_handle())));
        }
        Some(_) => {}
        None => state.wake = None,
    }
}

/// Shows that the agent of a request that stands in line waits.
fn show_wait(state: &mut ModelGatewayState, asker: &Asker) {
    if let Some(asked) = state.asked.get_mut(asker)
        && let Stage::Line { shown: shown @ false } = &mut asked.stage
    {
        *shown = true;
        show(&asked.env, &asked.key.agent, true);
    }
}

/// Tells an agent whether its request stands in line: it gives its place back meanwhile (ENGINE 6) and shows it.
fn show(env: &SessionEnv, agent: &ActorPath, waits: bool) {
    env.book.agent(agent, AgentMsg::GatewayWaits(waits));
}

fn asker(key: &RequestKey) -> Asker {
    (key.session.clone(), key.agent.clone())
}

/// Returns a number of 0 to 1 that differs from process to process.
fn jitter() -> f64 {
    let random = uuid::Uuid::now_v7().as_u128() & 0xffff;
    random as f64 / f64::from(0xffff)
}
