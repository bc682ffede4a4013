//! Model servers on this machine: asked once, on loopback only, with a short time-out (SPEC section 3).

use std::time::Duration;

use futures_util::future::join_all;
use maia_llm::{Client, ClientConfig, Secret};

use crate::error::Failure;
use crate::settings::{EndpointChoice, Env};

/// The usual places: LiteLLM, Ollama, llama.cpp.
const SERVERS: &[(&str, &str)] = &[
    ("LiteLLM", "http://127.0.0.1:4000"),
    ("Ollama", "http://127.0.0.1:11434"),
    ("llama.cpp", "http://127.0.0.1:8080"),
];

/// How long a server on this machine may take to list its models.
pub const LOOPBACK_LIMIT: Duration = Duration::from_millis(300);

/// How long the endpoint of the settings may take.
const ENDPOINT_LIMIT: Duration = Duration::from_secs(3);

/// Returns where servers are looked for: the usual places, or the addresses of `MAIA_LOCAL_SERVERS`, separated by commas; an
/// empty one looks nowhere.
pub fn servers(env: Env<'_>) -> Vec<(String, String)> {
    let Some(own) = env("MAIA_LOCAL_SERVERS") else {
        return SERVERS.iter().map(|(name, url)| ((*name).to_owned(), (*url).to_owned())).collect();
    };
    let urls = own.split(',').map(str::trim).filter(|url| !url.is_empty());
    urls.map(|url| ("a server".to_owned(), url.trim_end_matches('/').to_owned())).collect()
}

/// A server that answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// What usually listens there.
    pub server: String,
    /// Its address.
    pub url: String,
    /// Its models.
    pub models: Vec<String>,
}

/// Asks each of `servers`, names with addresses, for its models, all at once; returns those that answered within `limit`. Blocks.
///
/// # Errors
/// When no runtime can be started.
pub fn find(servers: &[(String, String)], limit: Duration) -> Result<Vec<Found>, Failure> {
    let ask = servers.iter().map(async |(server, url)| {
        let config = ClientConfig::new(format!("{url}/v1/chat/completions"), format!("{url}/v1/models"));
        let models = list(config, limit).await;
        (!models.is_empty()).then(|| Found { server: server.clone(), url: url.clone(), models })
    });
    Ok(runtime()?.block_on(join_all(ask)).into_iter().flatten().collect())
}

/// Returns the models of the endpoint that is set; none where it gives no list in time. Blocks.
///
/// # Errors
/// When no runtime can be started.
pub fn models(endpoint: EndpointChoice) -> Result<Vec<String>, Failure> {
    let mut config = ClientConfig::new(endpoint.chat_url, endpoint.models_url);
    config.key = endpoint.key.map(|key| Secret::new(key.expose()));
    Ok(runtime()?.block_on(list(config, ENDPOINT_LIMIT)))
}

async fn list(mut config: ClientConfig, limit: Duration) -> Vec<String> {
    config.connect_timeout = limit;
    // One that does not answer, or not in this form, is none.
    let client = Client::new(config);
    let asked = tokio::time::timeout(limit, client.models()).await;
    asked.ok().and_then(Result::ok).unwrap_or_default()
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the runtime cannot be started: {error}")))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn where_servers_are_looked_for_can_be_said() {
        assert_eq!(servers(&|_| None).len(), SERVERS.len());
        assert_eq!(servers(&|_| Some(String::new())), []);
        let own = servers(&|_| Some("http://127.0.0.1:1/, http://127.0.0.1:2".to_owned()));
        let urls: Vec<_> = own.iter().map(|(_, url)| url.as_str()).collect();
        assert_eq!(urls, ["http://127.0.0.1:1", "http://127.0.0.1:2"]);
    }

    #[test]
    fn a_server_that_is_there_is_found_and_one_that_is_not_costs_nothing() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let there = format!("http://{}", listener.local_addr().expect("bound"));
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let gone = format!("http://{}", nobody.local_addr().expect("bound"));
        drop(nobody);
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("somebody asks");
            let mut buffer = [0; 4096];
            let count = socket.read(&mut buffer).expect("a request");
            let body = r#"{"data": [{"id": "small"}, {"id": "large"}]}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            write!(socket, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).expect("sent");
            String::from_utf8_lossy(buffer.get(..count).unwrap_or_default()).into_owned()
        });
        let servers = [("gone", gone), ("there", there.clone())].map(|(name, url)| (name.to_owned(), url));
        let found = find(&servers, Duration::from_secs(60)).expect("a runtime");
        let models = vec!["large".to_owned(), "small".to_owned()];
        assert_eq!(found, [Found { server: "there".to_owned(), url: there, models }]);
        assert!(server.join().expect("no panic").starts_with("GET /v1/models "));
    }
}
