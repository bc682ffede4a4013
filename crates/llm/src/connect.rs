//! Builds the HTTP client when it is needed first, and no more of it than the endpoint's address asks for.
//!
//! - Asked by the client before its first request.
//! - Owns the choice of TLS: rustls with ring, the system's certificates. Loading those costs more than a whole turn
//!   over plain HTTP, so an address without TLS never does.

use std::sync::Once;
use std::time::Duration;

use reqwest::Certificate;
use reqwest::redirect::Policy;
use url::{Host, Url};

/// Builds a client for `url`. Blocks while it reads the system's certificates when `url` is an HTTPS one.
///
/// # Errors
/// When there are no usable certificates.
pub(crate) fn build(url: &Url, connect_timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error says that the process has a provider already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("maia/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .tcp_nodelay(true)
        // A compressed stream is often held back until a block is full.
        .no_gzip()
        // A redirected POST becomes a GET without its body, and the key could go elsewhere.
        .redirect(Policy::none());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" && !has_tls_proxy(|name| std::env::var(name).ok()) {
        builder = builder.tls_certs_only(std::iter::empty::<Certificate>());
    }
    builder.build()
}

/// Tells whether `url` is an address of this machine: no proxy stands between.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
        }
        None => false,
    }
}

/// Returns `url` without what may be secret in it: user, password, query.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // These fail for addresses that cannot have a user, which then have none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Tells whether a proxy for plain HTTP is itself reached by TLS.
fn has_tls_proxy(variable: impl Fn(&str) -> Option<String>) -> bool {
    ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].iter().any(|name| {
        variable(name).is_some_and(|proxy| proxy.trim().to_ascii_lowercase().starts_with("https:"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_recognised_in_every_spelling() {
        let loopback = |url: &str| is_loopback(&Url::parse(url).expect("a url"));
        for url in [
            "http://127.0.0.1:4000",
            "http://127.9.9.9",
            "http://[::1]:1",
            "http://LOCALHOST/v1",
            "http://a.localhost.",
        ] {
            assert!(loopback(url), "{url}");
        }
        for url in
            ["http://10.0.0.1", "http://localhost.example.com", "https://127.0.0.1.nip.io", "http://[::2]"]
        {
            assert!(!loopback(url), "{url}");
        }
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        let url = Url::parse("https://me:pass@host:1/v1/chat?key=secret#x").expect("a url");
        assert_eq!(shown(&url), "https://host:1/v1/chat");
    }

    #[test]
    fn a_tls_proxy_needs_certificates() {
        assert!(has_tls_proxy(|name| (name == "ALL_PROXY").then(|| "https://proxy:1".to_owned())));
        assert!(!has_tls_proxy(|name| (name == "http_proxy").then(|| "http://proxy:1".to_owned())));
    }
}
