//! The hosts of a URL: each is a connection of its own, with its own password of the password file.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use postgres::Config;
use postgres::config::{Host, LoadBalanceHosts, SslMode};

use super::defaults::ClientEnvironment;

/// The way to one of the hosts.
#[derive(Clone)]
pub(super) struct HostConfig {
    pub(super) config: Config,
    /// What messages call the database there.
    pub(super) place: String,
}

impl HostConfig {
    pub(super) fn new(config: Config) -> HostConfig {
        HostConfig { place: place(&config), config }
    }
}

/// The hosts in the order that they are tried in. As with libpq, the password file has one for each: none is sent to another host.
/// Lists that do not belong together stay one configuration without it, which the driver refuses before it connects.
pub(super) fn each(config: &Config, password_file: Option<&Path>) -> Vec<HostConfig> {
    let count = config.get_hosts().len();
    let (addresses, ports) = (config.get_hostaddrs().len(), config.get_ports().len());
    if (addresses != 0 && addresses != count) || (ports > 1 && ports != count) {
        return vec![HostConfig::new(config.clone())];
    }
    let with_password = |(at, host): (usize, &Host)| {
        let mut only = single(config, at, host);
        let password = password_file.and_then(|file| ClientEnvironment::password(file, &only));
        if let Some(password) = password {
            only.password(password);
        }
        HostConfig::new(only)
    };
    let mut hosts: Vec<HostConfig> = config.get_hosts().iter().enumerate().map(with_password).collect();
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        hosts.sort_by_cached_key(|host| RandomState::new().hash_one(&host.place));
    }
    hosts
}

/// The same for the host at this place of the list. The driver's configuration has no way to remove the others.
fn single(config: &Config, at: usize, host: &Host) -> Config {
    let mut only = Config::new();
    match host {
        Host::Tcp(name) => only.host(name),
        Host::Unix(path) => only.host_path(path),
    };
    let address = config.get_hostaddrs().get(at);
    if let Some(address) = address {
        only.hostaddr(*address);
    }
    if let Some(port) = config.get_ports().get(at).or(config.get_ports().first()) {
        only.port(*port);
    }
    // As with libpq, nothing is encrypted on a socket of this host.
    let socket = matches!(host, Host::Unix(_)) && address.is_none();
    only.ssl_mode(if socket { SslMode::Disable } else { config.get_ssl_mode() });
    copy_settings(config, &mut only);
    only
}

/// What holds for every host.
fn copy_settings(config: &Config, only: &mut Config) {
    only.ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .target_session_attrs(config.get_target_session_attrs())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle());
    if let Some(interval) = config.get_keepalives_interval() {
        only.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        only.keepalives_retries(retries);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        only.connect_timeout(*timeout);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        only.tcp_user_timeout(*timeout);
    }
    if let Some(user) = config.get_user() {
        only.user(user);
    }
    if let Some(password) = config.get_password() {
        only.password(password);
    }
    if let Some(database) = config.get_dbname() {
        only.dbname(database);
    }
    if let Some(options) = config.get_options() {
        only.options(options);
    }
    if let Some(name) = config.get_application_name() {
        only.application_name(name);
    }
}

/// What messages call the database.
pub(super) fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]:{}", port(at)),
            Host::Tcp(name) => format!("{name}:{}", port(at)),
            Host::Unix(path) => path.join(format!(".s.PGSQL.{}", port(at))).display().to_string(),
        })
        .collect();
    let user = config.get_user().unwrap_or("(no user)");
    let database = config.get_dbname().unwrap_or(user);
    format!("database {database} of PostgreSQL at {} (as {user})", hosts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passwords(url: &str, file: &Path) -> Vec<(String, Option<String>)> {
        let password = |host: HostConfig| {
            let password = host.config.get_password().map(|text| String::from_utf8_lossy(text).into_owned());
            (host.place.split(" at ").nth(1).unwrap().to_owned(), password)
        };
        each(&url.parse().unwrap(), Some(file)).into_iter().map(password).collect()
    }

    #[test]
    fn the_password_of_one_host_is_for_that_host_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("passwords");
        std::fs::write(&file, "two:7:*:*:second\n10.0.0.9:5432:*:*:address\n").unwrap();
        let of = |url| passwords(url, &file);
        let second = Some("second".to_owned());
        assert_eq!(
            of("postgres://me@one,two:7,two/shop"),
            [
                ("one:5432 (as me)".to_owned(), None),
                ("two:7 (as me)".to_owned(), second),
                ("two:5432 (as me)".to_owned(), None)
            ]
        );
        assert_eq!(of("postgres://me@10.0.0.9/shop")[0].1.as_deref(), Some("address"));
        // Lists that do not belong together are refused by the driver; no password is looked up for them.
        assert_eq!(of("postgres://me@/shop?host=one,two&port=7,7,7")[0].1, None);
    }

    #[test]
    fn a_single_host_has_all_settings_of_the_list() {
        let all = "user=me password=x dbname=shop options='-c geqo=off' application_name=a sslmode=require host=h \
                   hostaddr=10.0.0.9 port=7 connect_timeout=3 tcp_user_timeout=5 keepalives=0 keepalives_idle=8 \
                   keepalives_interval=9 keepalives_retries=4 target_session_attrs=read-write channel_binding=require";
        let config: Config = all.parse().unwrap();
        let [host] = &each(&config, None)[..] else { panic!("one host is one") };
        assert_eq!(format!("{:?}", host.config), format!("{config:?}"));
        let socket: Config = "host=/tmp,db.example sslmode=require".parse().unwrap();
        let modes: Vec<SslMode> = each(&socket, None).iter().map(|host| host.config.get_ssl_mode()).collect();
        assert_eq!(modes, [SslMode::Disable, SslMode::Require]);
    }
}
