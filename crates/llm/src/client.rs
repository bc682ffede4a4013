//! Asks an OpenAI-compatible endpoint (mission M7.1, M7.4).
//!
//! - Asked by the gateway through [`crate::Provider`]; waits and retries are not decided here.
//! - Owns the HTTP client, made at the first request. Dropping a request's future closes its socket.
//! - The key is sent to the endpoint and to nobody else: it is masked where the endpoint echoes it.

use std::error::Error as _;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use maia_protocol::model::{ChatRequest, FailureKind, ModelFailure};
use maia_protocol::{Block, Role};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{RequestBuilder, Response};
use tokio::io::AsyncWriteExt;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::assembly::Assembler;
use crate::models::KnownModel;
use crate::{Answered, OnDelta, body, connect, elapsed_ms, failure, models, retry_after};

/// The silence after which an answer is given up (W-think-stall).
const SILENCE_LIMIT: Duration = Duration::from_secs(120);

/// How long a connection may take; a host that drops packets is told from a model that thinks.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The most that is read of the body of an error, in bytes: far more than what is quoted of it.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The most that a list of models may hold, in bytes.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

/// How long an answer that is whole is read on, so that its connection can be used again.
const DRAIN: Duration = Duration::from_secs(1);

/// A text that no log, message or debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns a secret of `text`, without the white space around it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Returns `text` with the secret in it masked.
    fn masked_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Where and how to ask.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Address that takes chat requests.
    pub chat_url: String,
    /// Address of the list of models.
    pub models_url: String,
    /// Key; without one no `Authorization` is sent.
    pub key: Option<Secret>,
    /// Silence after which a request is given up: from sending to the headers, then between any two pieces.
    pub silence_limit: Duration,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// File to which the raw bodies of answers are added (mission M7.2-debug).
    pub raw_log: Option<PathBuf>,
}

impl ClientConfig {
    /// Returns the configuration of an endpoint without a key, with the limits of W-think-stall.
    pub fn new(chat_url: impl Into<String>, models_url: impl Into<String>) -> Self {
        Self {
            chat_url: chat_url.into(),
            models_url: models_url.into(),
            key: None,
            silence_limit: SILENCE_LIMIT,
            connect_timeout: CONNECT_TIMEOUT,
            raw_log: None,
        }
    }
}

/// A client of one endpoint.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    http: OnceCell<reqwest::Client>,
}

impl Client {
    /// Returns a client; nothing is built or connected before the first request.
    pub fn new(config: ClientConfig) -> Self {
        Self { config, http: OnceCell::new() }
    }

    /// Asks for the answer to `request`. Dropping the future breaks the request off.
    ///
    /// # Errors
    /// A [`ModelFailure`] that says whether the same request may succeed later, with the text so far.
    pub async fn chat(&self, request: &ChatRequest, on_delta: OnDelta<'_>) -> Result<Answered, ModelFailure> {
        let answered = self.ask(request, on_delta).await;
        answered.map_err(|failure| self.masked(failure))
    }

    /// Returns the names of the models of the endpoint (mission M7.4-list), sorted.
    ///
    /// # Errors
    /// As [`Client::known_models`].
    pub async fn models(&self) -> Result<Vec<String>, ModelFailure> {
        let models = self.known_models().await?;
        Ok(models.into_iter().map(|model| model.name).collect())
    }

    /// Returns the models of the endpoint with what it says of them, sorted by name.
    ///
    /// # Errors
    /// A [`ModelFailure`] when the endpoint cannot be reached or gives no list.
    pub async fn known_models(&self) -> Result<Vec<KnownModel>, ModelFailure> {
        self.list().await.map_err(|failure| self.masked(failure))
    }

    async fn ask(&self, request: &ChatRequest, on_delta: OnDelta<'_>) -> Result<Answered, ModelFailure> {
        let url = parse(&self.config.chat_url)?;
        let body = body::write(request).map_err(|error| {
            lasting(FailureKind::Refused, format!("the request cannot be written: {error}"))
        })?;
        let http = self.http(&url).await?;
        let builder = http
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        let start = Instant::now();
        tracing::debug!(url = %connect::shown(&url), model = %request.model, "asking");
        let mut response = self.send(builder, &url).await?;
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut assembler = Assembler::new(content_type).avoiding(call_ids(request));
        let mut first_token_ms = None;
        let mut raw_log = RawLog::open(self.config.raw_log.as_deref()).await;
        while !assembler.is_complete() {
            let wait = assembler.patience(self.config.silence_limit);
            let bytes = match timeout(wait, response.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => break,
                // The model had finished: what is lost is at most what was counted.
                Ok(Err(_)) | Err(_) if assembler.is_finished() => break,
                Ok(Err(error)) => {
                    let message = format!("the answer was cut: {}", cause(&error));
                    return Err(assembler.broken(FailureKind::IncompleteStream, message));
                }
                Err(_) => return Err(assembler.broken(FailureKind::StallTimeout, self.silent())),
            };
            raw_log.add(&bytes).await;
            for delta in assembler.push(&bytes) {
                on_delta(delta);
            }
            if first_token_ms.is_none() && assembler.has_begun() {
                first_token_ms = Some(elapsed_ms(start));
            }
        }
        if assembler.is_complete() {
            drain(response);
        }
        for delta in assembler.end() {
            on_delta(delta);
        }
        if assembler.has_begun() {
            first_token_ms = first_token_ms.or_else(|| Some(elapsed_ms(start)));
        }
        let answer = assembler.finish()?;
        Ok(Answered { answer, first_token_ms, duration_ms: elapsed_ms(start) })
    }

    async fn list(&self) -> Result<Vec<KnownModel>, ModelFailure> {
        let url = parse(&self.config.models_url)?;
        let http = self.http(&url).await?;
        let response = self.send(http.get(url.clone()).header(ACCEPT, "application/json"), &url).await?;
        let body = self.read(response, MAX_LIST_BYTES).await?;
        serde_json::from_slice(&body).ok().as_ref().and_then(models::read).ok_or_else(|| {
            let said = failure::quote(&String::from_utf8_lossy(&body));
            lasting(
                FailureKind::BadResponse,
                format!("{} gives no list of models: {said}", connect::shown(&url)),
            )
        })
    }

    /// Sends a request and returns its response when that is a success.
    async fn send(&self, builder: RequestBuilder, url: &Url) -> Result<Response, ModelFailure> {
        let builder = match self.config.key.as_ref().filter(|key| !key.0.is_empty()) {
            Some(key) => builder.header(AUTHORIZATION, bearer(key)?),
            None => builder,
        };
        let response = match timeout(self.config.silence_limit, builder.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&error, url)),
            Err(_) => return Err(passing(FailureKind::StallTimeout, self.silent())),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let wait = retry_after::read(header, jiff::Timestamp::now());
        let location = headers.get(LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()).into_owned());
        // A body that does not come is no reason to lose the status.
        let said = self.read(response, MAX_ERROR_BYTES).await.unwrap_or_default();
        // Masked before it is cut: half a key would not be found any more.
        let mut said = String::from_utf8_lossy(&said).into_owned();
        if let Some(key) = &self.config.key {
            said = key.masked_in(&said);
        }
        if let Some(location) = location.filter(|_| status.is_redirection()) {
            said = format!("it redirects to {location}: set that address");
        }
        Err(failure::of_status(status.as_u16(), &said, wait))
    }

    /// Reads a body up to `limit` bytes.
    async fn read(&self, mut response: Response, limit: usize) -> Result<Vec<u8>, ModelFailure> {
        let mut body = Vec::new();
        while body.len() < limit {
            match timeout(self.config.silence_limit, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    let room = limit - body.len();
                    body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    let message = format!("the response was cut: {}", cause(&error));
                    return Err(passing(FailureKind::IncompleteStream, message));
                }
                Err(_) => return Err(passing(FailureKind::StallTimeout, self.silent())),
            }
        }
        Ok(body)
    }

    /// Returns the HTTP client, made for `url` at the first call; both addresses are of one endpoint.
    async fn http(&self, url: &Url) -> Result<&reqwest::Client, ModelFailure> {
        let connect_timeout = self.config.connect_timeout;
        let make = || async move {
            if url.scheme() == "http" {
                return connect::build(url, connect_timeout).map_err(|error| cause(&error));
            }
            // Certificates are read from disk.
            let url = url.clone();
            match tokio::task::spawn_blocking(move || connect::build(&url, connect_timeout)).await {
                Ok(built) => built.map_err(|error| cause(&error)),
                Err(error) => Err(error.to_string()),
            }
        };
        self.http.get_or_try_init(make).await.map_err(|error| {
            lasting(FailureKind::Unreachable, format!("{} cannot be asked: {error}", connect::shown(url)))
        })
    }

    fn silent(&self) -> String {
        let limit = self.config.silence_limit.as_secs_f64();
        format!("the server sent nothing for {limit} s")
    }

    fn masked(&self, failure: ModelFailure) -> ModelFailure {
        match &self.config.key {
            Some(key) => ModelFailure { message: key.masked_in(&failure.message), ..failure },
            None => failure,
        }
    }
}

/// Adds raw bodies to a file (mission M7.2-debug). A file that cannot be written is said once and left.
struct RawLog(Option<tokio::fs::File>);

impl RawLog {
    async fn open(path: Option<&std::path::Path>) -> Self {
        let Some(path) = path else { return Self(None) };
        // Answers may hold what the model was shown of the person's files.
        match tokio::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).await {
            Ok(file) => Self(Some(file)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the raw log cannot be opened");
                Self(None)
            }
        }
    }

    async fn add(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.0 else { return };
        let written = match file.write_all(bytes).await {
            Ok(()) => file.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "the raw log cannot be written");
            self.0 = None;
        }
    }
}

/// Reads what is left of a whole answer, so that the connection goes back to the pool.
fn drain(mut response: Response) {
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        // A server that keeps the socket open does not get it back: it is closed here.
        let _ = timeout(DRAIN, rest).await;
    });
}

fn parse(url: &str) -> Result<Url, ModelFailure> {
    let wrong = |why: &dyn fmt::Display| {
        lasting(
            FailureKind::Unreachable,
            format!("{} is no address of an endpoint: {why}", failure::quote(url)),
        )
    };
    let parsed = Url::parse(url).map_err(|error| wrong(&error))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => Err(wrong(&format_args!("{scheme} is neither http nor https"))),
    }
}

fn bearer(key: &Secret) -> Result<HeaderValue, ModelFailure> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.0)).map_err(|_| {
        let message =
            "the key holds characters that cannot be sent; check it in the settings or the environment";
        lasting(FailureKind::Unauthorized, message.to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the ids of the calls that the conversation holds.
fn call_ids(request: &ChatRequest) -> std::collections::HashSet<String> {
    let calls = request.messages.iter().filter(|message| message.role == Role::Assistant);
    calls
        .flat_map(|message| &message.content)
        .filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

/// Returns the failure of a request that got no response.
fn unreachable(error: &reqwest::Error, url: &Url) -> ModelFailure {
    let why = cause(error);
    let shown = connect::shown(url);
    if error.is_connect() {
        // A certificate does not mend itself in two seconds.
        let lasting = why.contains("certificate") || why.contains("UnknownIssuer");
        let message = format!("the endpoint {shown} cannot be reached: {why}");
        return ModelFailure { transient: !lasting, ..passing(FailureKind::Unreachable, message) };
    }
    passing(FailureKind::IncompleteStream, format!("{shown} gave no response: {why}"))
}

/// Returns the innermost cause: the outer ones repeat the address.
fn cause(error: &reqwest::Error) -> String {
    let mut source = error.source();
    let mut innermost = None;
    while let Some(inner) = source {
        innermost = Some(inner.to_string());
        source = inner.source();
    }
    innermost.unwrap_or_else(|| if error.is_timeout() { "timed out".to_owned() } else { "failed".to_owned() })
}

fn passing(kind: FailureKind, message: String) -> ModelFailure {
    ModelFailure { transient: true, ..lasting(kind, message) }
}

fn lasting(kind: FailureKind, message: String) -> ModelFailure {
    ModelFailure { kind, status: None, message, transient: false, retry_after_ms: None, text: String::new() }
}
