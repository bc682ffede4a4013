//! Addresses: which host a WebFetch goes to, and which patterns cover it (mission M9.3-web).
//!
//! - Asked by the rules of WebFetch; the same parser reads the address when it is fetched.
//! - A host that is no public one is covered only by a rule that names it (case S126).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::odd;
use super::pattern::Wild;

/// An address as far as rules look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Host: lower case, without a trailing dot, an IPv6 address in brackets.
    pub host: String,
    /// Whether the host is this machine, its network or a name of such.
    pub is_private: bool,
    /// Why the address may be read in two ways.
    pub doubt: Option<String>,
}

/// Reads `text`.
///
/// # Errors
/// Says why it is no address that can be fetched.
pub(super) fn read(text: &str) -> Result<Address, String> {
    let url = Url::parse(text).map_err(|error| format!("the address cannot be read ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https are fetched, not {}", url.scheme()));
    }
    let host = url.host().ok_or_else(|| "the address has no host".to_owned())?;
    let (name, is_private) = match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let is_private = is_private_name(&name);
            (name, is_private)
        }
        Host::Ipv4(ip) => (ip.to_string(), !is_public_v4(ip)),
        Host::Ipv6(ip) => (format!("[{ip}]"), !is_public_v6(ip)),
    };
    Ok(Address { host: name, is_private, doubt: doubt(text) })
}

/// Returns why another program might find another host in `text`.
fn doubt(text: &str) -> Option<String> {
    if let Some(what) = odd::first(text) {
        return Some(format!("the address holds {what}"));
    }
    if text.contains([' ', '\t', '\n', '\\']) {
        return Some("the address holds a blank or a backslash".to_owned());
    }
    let after = text.split_once("://").map(|(_, after)| after);
    let Some(authority) =
        after.and_then(|after| after.split(['/', '?', '#']).next()).filter(|part| !part.is_empty())
    else {
        return Some("the address has no // before its host".to_owned());
    };
    if !authority.is_ascii() || authority.contains('%') {
        return Some("the host is written with encoded or foreign characters".to_owned());
    }
    None
}

fn is_private_name(name: &str) -> bool {
    const PRIVATE_ENDS: &[&str] = &[
        "localhost",
        "local",
        "localdomain",
        "internal",
        "intranet",
        "lan",
        "home",
        "corp",
        "home.arpa",
        "test",
        "onion",
    ];
    // A name without a dot is looked up in the network that this machine is in.
    !name.contains('.')
        || PRIVATE_ENDS.iter().any(|end| {
            name.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        })
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_broadcast()
        || ip.is_documentation()
        || ip.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    // Public addresses are 2000::/3; below it, forms that carry an IPv4 address or reach a tunnel are left out.
    let first = ip.segments()[0];
    let second = ip.segments()[1];
    (first & 0xe000) == 0x2000
        && first != 0x2002
        && !(first == 0x2001 && (second == 0 || second == 0xdb8 || (0x10..0x40).contains(&second)))
        && first != 0x3fff
}

/// Returns whether `ip` is an address of the public network; the connection is checked with this at every hop.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// A compiled `domain:` pattern.
#[derive(Clone, Debug)]
pub(super) struct HostPattern {
    wild: Wild,
}

impl HostPattern {
    /// Reads the pattern of a WebFetch rule; `None` when it does not begin with `domain:`.
    pub fn new(pattern: &str) -> Option<Self> {
        let host = pattern.strip_prefix("domain:")?.trim().trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() || host.contains(['/', '@', ' ']) {
            return None;
        }
        // An IPv6 address may be written without its brackets.
        let host = match host.parse::<Ipv6Addr>() {
            Ok(ip) => format!("[{ip}]"),
            Err(_) => host,
        };
        Some(Self { wild: Wild::new(&host) })
    }

    /// Returns whether the pattern covers the address; a host that is not public must be named in full.
    pub fn covers(&self, address: &Address) -> bool {
        self.catches(address) && (!address.is_private || self.wild.is_exact())
    }

    /// Returns whether the pattern matches the host, public or not.
    pub fn catches(&self, address: &Address) -> bool {
        self.wild.matches(&address.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_the_one_that_is_connected() {
        for (text, host) in [
            ("https://DOCS.RS/x", "docs.rs"),
            ("https://docs.rs./x", "docs.rs"),
            ("https://docs.rs@evil.example/", "evil.example"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]"),
        ] {
            assert_eq!(read(text).map(|address| address.host), Ok(host.to_owned()), "{text}");
        }
        for text in
            ["file:///etc/passwd", "https://evil.example%00.docs.rs/", "ftp://x/", "", "docs.rs", "http://"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        for text in [
            "https:/docs.rs/",
            "https:docs.rs",
            "https://docs.rs\\@evil.example",
            "https://doc\ns.rs/",
            "https://d%6fcs.rs/",
            "https://docs。rs/",
        ] {
            assert!(read(text).is_err() || read(text).is_ok_and(|address| address.doubt.is_some()), "{text}");
        }
    }

    #[test]
    fn hosts_that_are_not_public_are_known() {
        for host in [
            "localhost",
            "a.localhost",
            "router",
            "x.internal",
            "10.0.0.1",
            "127.1.2.3",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.168.1.1",
            "[::1]",
            "[::]",
            "[fe80::1]",
            "[fc00::1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[::ffff:10.0.0.1]",
            "224.0.0.1",
        ] {
            assert!(read(&format!("http://{host}/")).is_ok_and(|address| address.is_private), "{host}");
        }
        for host in ["docs.rs", "1.1.1.1", "[2606:4700:4700::1111]", "local.example.com"] {
            assert!(read(&format!("http://{host}/")).is_ok_and(|address| !address.is_private), "{host}");
        }
    }
}
