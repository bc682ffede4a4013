//! An endpoint for tests: HTTP/1.1 on a loopback port, each request answered by a function of the test.
//!
//! - Asked by tests of the client and by whole runs of maia against a model's server.
//! - Owns its socket and tasks; they end when it is dropped. Keeps every request, counts those in flight and those
//!   whose client went away before the reply had ended.
//! - A reply can be held by a [`Gate`] in its middle: tests wait for counts, never for a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A request as received.
#[derive(Clone, Debug)]
pub struct Request {
    /// 1 for the first request of the endpoint.
    pub number: usize,
    /// `GET`, `POST`.
    pub method: String,
    /// Path with its query.
    pub path: String,
    /// Names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// Returns the value of the header called `name`, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON, null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Something that a reply does.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<u8>),
    Hold(Gate),
    Forever,
    Abort,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// Chunked: a cut is visible, the connection is kept.
    Chunked,
    /// By the close of the socket.
    Close,
}

/// A reply, sent step by step.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
    framing: Framing,
}

impl Reply {
    /// Returns an empty reply of `status`.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), steps: Vec::new(), framing: Framing::Chunked }
    }

    /// Returns an event stream of `body`, sent at once.
    pub fn sse(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200).header("content-type", "text/event-stream").write(body)
    }

    /// Returns `body` as JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header("content-type", "application/json").write(body.to_string())
    }

    /// Returns `body` as plain text.
    pub fn text(status: u16, body: &str) -> Self {
        Self::status(status).header("content-type", "text/plain").write(body)
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends bytes in a write of their own.
    pub fn write(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Write(bytes.into()));
        self
    }

    /// Waits until `gate` is opened.
    pub fn hold(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Hold(gate.clone()));
        self
    }

    /// Sends nothing more and leaves the socket open until the client closes it.
    pub fn keep_open(mut self) -> Self {
        self.steps.push(Step::Forever);
        self
    }

    /// Closes the socket in the middle of the body.
    pub fn abort(mut self) -> Self {
        self.steps.push(Step::Abort);
        self
    }

    /// Tells the end of the body by closing the socket.
    pub fn until_close(mut self) -> Self {
        self.framing = Framing::Close;
        self
    }
}

/// Something that a test opens when what it waits for may go on.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// Returns a closed gate.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Opens it for everybody who waits or will wait.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn wait(&self) {
        // The sender lives as long as `self`: the only end is the opening.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// What the endpoint has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests received.
    pub received: usize,
    /// Requests whose reply has not ended.
    pub in_flight: usize,
    /// The most of them at one time.
    pub max_in_flight: usize,
    /// Clients that went away before the reply had ended.
    pub gone: usize,
}

struct Shared {
    responder: Box<dyn Fn(&Request) -> Reply + Send + Sync>,
    requests: Mutex<Vec<Request>>,
    counts: watch::Sender<Counts>,
}

/// The endpoint.
pub struct FakeEndpoint {
    url: String,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

impl FakeEndpoint {
    /// Starts an endpoint that answers each request with what `responder` gives for it.
    pub async fn start(responder: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free loopback port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            responder: Box::new(responder),
            requests: Mutex::new(Vec::new()),
            counts: watch::Sender::new(Counts::default()),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { url: format!("http://{address}"), shared, listener: task }
    }

    /// Starts an endpoint that gives `replies` in turn, the last one again and again.
    pub async fn in_turn(replies: Vec<Reply>) -> Self {
        Self::start(move |request| {
            let index = (request.number - 1).min(replies.len().saturating_sub(1));
            replies.get(index).cloned().unwrap_or_else(|| Reply::status(500))
        })
        .await
    }

    /// Returns the address, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the address of the chat.
    pub fn chat_url(&self) -> String {
        format!("{}/v1/chat/completions", self.url)
    }

    /// Returns the address of the list of models.
    pub fn models_url(&self) -> String {
        format!("{}/v1/models", self.url)
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests().clone()
    }

    /// Returns what was counted so far.
    pub fn counts(&self) -> Counts {
        *self.shared.counts.borrow()
    }

    /// Waits until `enough` holds for the counts.
    pub async fn wait_for(&self, enough: impl Fn(&Counts) -> bool) -> Counts {
        let mut counts = self.shared.counts.subscribe();
        let seen = counts.wait_for(|counts| enough(counts)).await.expect("the endpoint keeps its sender");
        *seen
    }
}

impl Drop for FakeEndpoint {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Shared {
    fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        // A panic of a test's responder must not hide what was received.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, mut request: Request) -> Request {
        let mut requests = self.requests();
        request.number = requests.len() + 1;
        requests.push(request.clone());
        drop(requests);
        self.counts.send_modify(|counts| {
            counts.received += 1;
            counts.in_flight += 1;
            counts.max_in_flight = counts.max_in_flight.max(counts.in_flight);
        });
        request
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // The set ends its tasks when this one is aborted.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(serve(socket, Arc::clone(&shared)));
    }
}

/// Answers the requests of one connection.
async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let _ = socket.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(request) = receive(&mut socket, &mut buffer).await {
        let request = shared.receive(request);
        let reply = (shared.responder)(&request);
        let end = send(&mut socket, &reply).await;
        shared.counts.send_modify(|counts| {
            counts.in_flight -= 1;
            counts.gone += usize::from(end == End::Gone);
        });
        if end != End::Kept {
            return;
        }
    }
}

/// Reads one request; `None` when the client has closed the connection.
async fn receive(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(buffer.get(..head_end)?).into_owned();
    buffer.drain(..head_end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let length: usize = length.unwrap_or(0);
    while buffer.len() < length {
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer.drain(..length).collect();
    Some(Request { number: 0, method, path, headers, body })
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The connection can take the next request.
    Kept,
    /// We closed it.
    Closed,
    /// The client closed it.
    Gone,
}

async fn send(socket: &mut TcpStream, reply: &Reply) -> End {
    let chunked = reply.framing == Framing::Chunked;
    let mut head = format!("HTTP/1.1 {} Reply\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(if chunked { "transfer-encoding: chunked\r\n\r\n" } else { "connection: close\r\n\r\n" });
    if socket.write_all(head.as_bytes()).await.is_err() {
        return End::Gone;
    }
    for step in &reply.steps {
        let written = match step {
            Step::Write(bytes) if bytes.is_empty() => Ok(()),
            Step::Write(bytes) if chunked => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                socket.write_all(&chunk).await
            }
            Step::Write(bytes) => socket.write_all(bytes).await,
            Step::Hold(gate) => tokio::select! {
                () = gate.wait() => Ok(()),
                () = closed(socket) => return End::Gone,
            },
            Step::Forever => {
                closed(socket).await;
                return End::Gone;
            }
            Step::Abort => return End::Closed,
        };
        if written.is_err() {
            return End::Gone;
        }
        // Each write reaches the client by itself.
        let _ = socket.flush().await;
        tokio::task::yield_now().await;
    }
    if chunked {
        return if socket.write_all(b"0\r\n\r\n").await.is_ok() { End::Kept } else { End::Gone };
    }
    let _ = socket.shutdown().await;
    End::Closed
}

/// Waits until the client has closed its side. Nothing else comes from it before the reply has ended.
async fn closed(socket: &TcpStream) {
    let mut byte = [0];
    loop {
        match socket.peek(&mut byte).await {
            Ok(0) | Err(_) => return,
            // Bytes that are there are a pipelined request: not ours to read, and they hide the close.
            Ok(_) => std::future::pending().await,
        }
    }
}
