//! One request under way: a task asks the model, shows its text as it comes, and tells the gateway how it ended.
//!
//! - Started by the gateway for a request that may go; dropping a [`Flight`] breaks the request off and closes its socket.
//! - Owns the text so far, for a stop in the middle of it.
//! - Resolves the files that the calls of an answer name, off the runtime's threads: what is judged is what was found then (SAFETY 3).

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use maia_llm::{Answered, Delta, Provider};
use maia_protocol::event::{EventBody, TalkEvent};
use maia_protocol::model::{ChatRequest, FailureKind, ModelFailure};
use maia_protocol::tool::Target;
use maia_protocol::{Answer, AnsweredCall};
use maia_tools::Workspace;
use ractor::ActorRef;
use tokio::task::AbortHandle;
use tokio::time::Sleep;

use super::{ModelGatewayMsg, RequestKey};
use crate::env::SessionEnv;

/// Deltas are joined for so long, the first one excepted: a screen shows no more.
const JOIN: Duration = Duration::from_millis(30);

/// Deltas are joined up to so many bytes.
const JOIN_BYTES: usize = 256;

/// Tools whose calls name no file, so that nothing has to be looked up for them. One that is missing here costs a look.
const WITHOUT_FILE: &[&str] =
    &["Bash", "Agent", "Delegate", "AgentOutput", "Skill", "TodoWrite", "CurrentModel", "WebFetch"];

/// Ends a task when it is dropped.
pub(super) struct Abort(pub(super) AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A request under way.
pub(super) struct Flight {
    /// Tells a request from an earlier one with the same key.
    pub(super) number: u64,
    text: Arc<Shown>,
    _task: Abort,
}

impl Flight {
    /// Sends `request`; the gateway is told [`ModelGatewayMsg::Finished`].
    pub(super) fn start(
        gateway: ActorRef<ModelGatewayMsg>,
        provider: Arc<Provider>,
        number: u64,
        key: RequestKey,
        request: Arc<ChatRequest>,
        env: Arc<SessionEnv>,
    ) -> Self {
        let text = Arc::new(Shown::default());
        let shown = text.clone();
        let task = tokio::spawn(async move {
            let result = ask(&provider, &key, &request, &env, &shown).await;
            let targets = match &result {
                Ok(answered) => targets(&answered.answer, env.workspace.clone()).await,
                Err(_) => Vec::new(),
            };
            let result = Box::new(result);
            // A gateway that is gone has aborted this task, or is about to.
            let _ = gateway.cast(ModelGatewayMsg::Finished { key, number, targets, result });
        });
        Self { number, text, _task: Abort(task.abort_handle()) }
    }

    /// Returns the text that has come so far.
    pub(super) fn text(&self) -> String {
        self.text.lock().all.clone()
    }
}

/// The text of an answer, and how much of it was told.
#[derive(Default)]
struct Shown(Mutex<Text>);

#[derive(Default)]
struct Text {
    all: String,
    told: usize,
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, Text> {
        // Whole pieces are added: a panic elsewhere leaves the text good.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how much is to be told, in bytes, and whether anything was told before.
    fn untold(&self) -> (usize, bool) {
        let text = self.lock();
        (text.all.len() - text.told, text.told > 0)
    }

    /// Returns what was not told, and counts it as told.
    fn tell(&self) -> String {
        let mut text = self.lock();
        let piece = text.all.get(text.told..).unwrap_or_default().to_owned();
        text.told = text.all.len();
        piece
    }
}

/// Asks the model and shows its text as it comes.
async fn ask(
    provider: &Provider,
    key: &RequestKey,
    request: &ChatRequest,
    env: &SessionEnv,
    shown: &Shown,
) -> Result<Answered, ModelFailure> {
    let mut on_delta = |delta| {
        if let Delta::Text(piece) = delta {
            shown.lock().all.push_str(&piece);
        }
    };
    let chat = provider.chat(&key.agent, key.step, request, &mut on_delta);
    let tell = |text| env.live(&key.agent, EventBody::Talk(TalkEvent::TextDelta { text }));
    follow(chat, shown, tell).await
}

/// Drives `chat` and tells the text that it adds to `shown`. What comes in one go is told in one piece, the first one at
/// once; later pieces are joined, see [`JOIN`]. A panic of `chat` is a failure that may pass.
async fn follow(
    chat: impl Future<Output = Result<Answered, ModelFailure>>,
    shown: &Shown,
    tell: impl Fn(String),
) -> Result<Answered, ModelFailure> {
    let mut chat = pin!(AssertUnwindSafe(chat).catch_unwind());
    let mut joining: Option<Pin<Box<Sleep>>> = None;
    let outcome = poll_fn(|context| {
        let outcome = chat.as_mut().poll(context);
        let (untold, told_before) = shown.untold();
        if untold == 0 {
            return outcome;
        }
        let now = outcome.is_ready() || !told_before || untold >= JOIN_BYTES || {
            let joining = joining.get_or_insert_with(|| Box::pin(tokio::time::sleep(JOIN)));
            joining.as_mut().poll(context) == Poll::Ready(())
        };
        if now {
            joining = None;
            tell(shown.tell());
        }
        outcome
    })
    .await;
    outcome.unwrap_or_else(|panic| Err(panicked(&*panic, shown)))
}

fn panicked(panic: &(dyn Any + Send), shown: &Shown) -> ModelFailure {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    ModelFailure {
        kind: FailureKind::ServerError,
        status: None,
        message: format!("reading the answer failed: {said}"),
        transient: true,
        retry_after_ms: None,
        text: shown.lock().all.clone(),
    }
}

/// Returns for each call the file that it names; empty when no call names any.
async fn targets(answer: &Answer, workspace: Arc<Workspace>) -> Vec<Option<Target>> {
    let may_name =
        |call: &&AnsweredCall| call.unusable.is_none() && !WITHOUT_FILE.contains(&call.name.as_str());
    if !answer.calls.iter().any(|call| may_name(&call)) {
        return Vec::new();
    }
    let calls = answer.calls.iter().map(|call| Some(call).filter(may_name).cloned());
    let calls: Vec<Option<AnsweredCall>> = calls.collect();
    let resolved = tokio::task::spawn_blocking(move || {
        // What cannot be resolved has no target; the call itself gets the error when it runs.
        let target =
            |call: AnsweredCall| maia_tools::target(&call.name, &call.input, &workspace).ok().flatten();
        calls.into_iter().map(|call| call.and_then(target)).collect()
    });
    resolved.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use maia_protocol::StopReason;
    use tokio::time::{Instant, sleep};

    fn answered(text: &str) -> Answered {
        let answer = Answer {
            text: text.to_owned(),
            reasoning: String::new(),
            calls: Vec::new(),
            stop: StopReason::EndTurn,
            usage: None,
            warnings: Vec::new(),
        };
        Answered { answer, first_token_ms: None, duration_ms: 0 }
    }

    /// Follows an answer that streams `pieces`, each after so many milliseconds; returns what was told, and when.
    async fn told(pieces: &[(u64, &str)]) -> Vec<(u128, String)> {
        let (shown, start) = (Shown::default(), Instant::now());
        let told = Mutex::new(Vec::new());
        let chat = async {
            for (wait, piece) in pieces {
                sleep(Duration::from_millis(*wait)).await;
                shown.lock().all.push_str(piece);
            }
            sleep(Duration::from_millis(500)).await;
            Ok(answered(""))
        };
        let tell = |text: String| told.lock().unwrap().push((start.elapsed().as_millis(), text));
        follow(chat, &shown, tell).await.expect("it ends well");
        told.into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_piece_is_told_at_once_and_later_ones_are_joined() {
        let pieces = [(5, "a"), (5, "b"), (10, "c"), (19, "d"), (100, "e")];
        let told = told(&pieces).await;
        let texts: Vec<_> = told.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["a", "bcd", "e"]);
        // A pause of the model keeps nothing back for longer than the join takes, and the timer's own millisecond.
        let at: Vec<_> = told.iter().map(|(at, _)| *at).collect();
        assert!(at[0] <= 6 && (39..=42).contains(&at[1]) && (169..=172).contains(&at[2]), "{at:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_piece_does_not_wait() {
        let long = "é".repeat(JOIN_BYTES);
        let told = told(&[(1, "a"), (1, "b"), (1, &long)]).await;
        let texts: Vec<_> = told.iter().map(|(_, text)| text.clone()).collect();
        assert_eq!(texts, ["a".to_owned(), format!("b{long}")]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_told_is_told_before_the_end() {
        let shown = Shown::default();
        let told = Mutex::new(Vec::new());
        let chat = async {
            for piece in ["a", "b", "c"] {
                shown.lock().all.push_str(piece);
                tokio::task::yield_now().await;
            }
            Ok(answered("abc"))
        };
        let ended = follow(chat, &shown, |text| told.lock().unwrap().push(text)).await;
        assert_eq!(ended, Ok(answered("abc")));
        assert_eq!(*told.lock().unwrap(), ["a", "bc"]);
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_that_may_pass() {
        let shown = Shown::default();
        let chat = async {
            shown.lock().all.push_str("so far");
            tokio::task::yield_now().await;
            panic!("boom {}", 1)
        };
        let failure = follow(chat, &shown, |_| {}).await.expect_err("it panicked");
        assert_eq!((failure.kind, failure.transient), (FailureKind::ServerError, true));
        assert_eq!(
            (failure.message.as_str(), failure.text.as_str()),
            ("reading the answer failed: boom 1", "so far")
        );
    }
}
