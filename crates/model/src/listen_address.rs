//! Addresses at which a server listens, as users write them.

use std::net::{Ipv4Addr, SocketAddr};

/// Where to listen: a port of the loopback interface (`9464`, `:9464`), or an IP address with its port (`0.0.0.0:9464`, `[::1]:9464`).
/// `None` for anything else.
pub fn listen_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        Ok(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_of_the_loopback_interface() {
        for (text, expected) in [
            ("9464", Some("127.0.0.1:9464")),
            (":9464", Some("127.0.0.1:9464")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("::9464", None),
            ("65536", None),
            ("localhost:80", None),
            ("", None),
        ] {
            assert_eq!(
                listen_address(text).map(|address| address.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
