//! Who may see the pages: programs of this host, and elsewhere those who know the token.

use std::io::Read;
use std::net::SocketAddr;

use anyhow::bail;

use super::query::{Query, split};

/// Name of the cookie that holds the token.
const COOKIE: &str = "iolite_token";

/// Random bytes of a token.
const BYTES: usize = 16;

/// What a request needs.
pub(super) struct Access {
    address: SocketAddr,
    token: Option<String>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is answered.
    Granted,
    /// The token was in the URL: it becomes a cookie, and the browser goes on to this address without it.
    Enter(String),
    /// It is not answered, with the reason.
    Refused(&'static str),
}

/// A token as typed.
pub(super) fn token(text: &str) -> anyhow::Result<String> {
    if text.len() < 8 || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        bail!("specify at least 8 letters and digits");
    }
    Ok(text.to_owned())
}

impl Access {
    /// What an address needs: away from the loopback interface a token, a random one unless it is given.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn new(address: SocketAddr, token: Option<String>) -> std::io::Result<Access> {
        let token = match token {
            None if !address.ip().is_loopback() => Some(random()?),
            token => token,
        };
        Ok(Access { address, token })
    }

    /// The address that users open.
    pub(super) fn url(&self) -> String {
        let token = self.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
        format!("http://{}/{token}", self.address)
    }

    /// The header that makes a browser keep the token.
    pub(super) fn cookie(&self) -> String {
        let token = self.token.as_deref().unwrap_or_default();
        format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict")
    }

    /// Whether a request for this address is answered.
    pub(super) fn admits(&self, url: &str, host: Option<&str>, cookies: Option<&str>) -> Admission {
        let Some(token) = &self.token else {
            // A page of another site could have its name resolved to this host (DNS rebinding).
            return if host.is_some_and(is_local) {
                Admission::Granted
            } else {
                Admission::Refused("open this page by the address that `iolite serve` printed")
            };
        };
        let (path, query) = split(url);
        if let Some(given) = Query::of(query).first("token") {
            // Two slashes would be another host.
            let path = format!("/{}", path.trim_start_matches('/'));
            return if is_same(given, token) { Admission::Enter(path) } else { WRONG };
        }
        let mut cookies =
            cookies.unwrap_or_default().split(';').filter_map(|cookie| cookie.trim().split_once('='));
        let is_known = cookies.any(|(name, value)| name == COOKIE && is_same(value, token));
        if is_known { Admission::Granted } else { WRONG }
    }
}

const WRONG: Admission =
    Admission::Refused("this page needs the token: open the URL that `iolite serve` printed");

/// Whether a Host header names the loopback interface.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Compares in a time that says nothing about where two texts differ.
fn is_same(given: &str, token: &str) -> bool {
    let differing =
        given.bytes().zip(token.bytes()).fold(0, |differing, (one, other)| differing | (one ^ other));
    given.len() == token.len() && differing == 0
}

fn random() -> std::io::Result<String> {
    let mut bytes = [0; BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str, token: Option<&str>) -> Access {
        Access::new(address.parse().unwrap(), token.map(str::to_owned)).unwrap()
    }

    #[test]
    fn this_host_needs_no_token_but_the_right_name() {
        let access = at("127.0.0.1:8017", None);
        assert_eq!(access.url(), "http://127.0.0.1:8017/");
        for host in ["127.0.0.1:8017", "localhost:8017", "[::1]:8017", "localhost"] {
            assert_eq!(access.admits("/", Some(host), None), Admission::Granted, "{host}");
        }
        for host in [Some("evil.example:8017"), Some("127.0.0.1.evil.example"), None] {
            assert!(matches!(access.admits("/", host, None), Admission::Refused(_)), "{host:?}");
        }
    }

    #[test]
    fn elsewhere_only_the_token_opens() {
        let access = at("192.0.2.1:8017", None);
        let own = access.token.clone().unwrap();
        assert!(own.len() == 2 * BYTES && access.url().ends_with(&format!("?token={own}")));
        assert_ne!(Some(own.clone()), at("192.0.2.1:8017", None).token);
        let admits = |url: &str, cookies| access.admits(url, Some("db1:8017"), cookies);
        assert_eq!(admits(&format!("//evil/x?token={own}"), None), Admission::Enter("/evil/x".into()));
        let known = format!("a=b; {COOKIE}={own}");
        assert_eq!(admits("/", Some(&*known)), Admission::Granted);
        for (url, cookies) in
            [("/", None), ("/?token=", None), ("/?token=x", None), ("/", Some("iolite_token=x"))]
        {
            assert_eq!(admits(url, cookies), WRONG, "{url} {cookies:?}");
        }
        assert!(matches!(
            at("127.0.0.1:1", Some("secret123")).admits("/", Some("localhost"), None),
            Admission::Refused(_)
        ));
    }

    #[test]
    fn a_weak_token_is_refused() {
        assert!(token("short").is_err() && token("with spaces here").is_err() && token("abcdefgh1").is_ok());
    }
}
