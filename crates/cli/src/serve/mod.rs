//! `iolite serve`: the stored runs as web pages.

mod access;
mod pages;
mod query;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use tiny_http::{Header, Method, Request, Response, Server};

use crate::exit::{Exit, UsageError};
use crate::shared_args::listen_address;
use crate::{output, setup, signals};
use access::{Access, Admission};
use pages::Page;

/// How often it is checked whether the program is to end.
const PATIENCE: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  Browse the stored runs on this host, at http://127.0.0.1:8017/:
      iolite serve
  On all addresses of the host; the printed URL contains the token that browsers need:
      iolite serve --listen 0.0.0.0:8017
  From another host through ssh, without listening on other addresses:
      ssh -L 8017:127.0.0.1:8017 db1 iolite serve

Ctrl-C ends the server. docs/serve.md describes the pages.";

/// `iolite serve` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Address to listen on: a port on the loopback interface (0: any free port), or HOST:PORT. On other
    /// addresses, browsers need a token
    #[arg(long, value_name = "ADDRESS", default_value = "8017", value_parser = listen_address)]
    listen: SocketAddr,

    /// Token that browsers need [default: none on the loopback interface, else a random one]
    #[arg(long, value_name = "TOKEN", env = "IOLITE_TOKEN", hide_env_values = true, value_parser = access::token)]
    token: Option<String>,

    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

/// Serves the stored runs until a signal ends it, one request after the other: it is for the browsers of a few users.
///
/// # Errors
/// There are no results, or nothing can listen at the address.
pub(crate) fn run(args: ServeArgs) -> anyhow::Result<Exit> {
    let results = setup::stored_results(args.results)?;
    // Whether it is a results database is known before anybody asks.
    setup::open_to_read(&results)?;
    let ended = signals::interrupt_flag()?;
    let server = Server::http(args.listen).map_err(|error| {
        let advice = "specify another port, or an address of this host";
        UsageError::new(format!("--listen {}: {error}; {advice}", args.listen))
    })?;
    let address = server.server_addr().to_ip().unwrap_or(args.listen);
    let access = Access::new(address, args.token).context("cannot create a token")?;
    output::print(&format!("serving {} at {}\n", results.display(), access.url()))?;
    let service = Service { server, access, results };
    while !ended.load(Ordering::Relaxed) {
        // An error of a connection concerns that one only.
        if let Ok(Some(request)) = service.server.recv_timeout(PATIENCE) {
            service.answer(request);
        }
    }
    Ok(Exit::Fit)
}

/// What answers requests.
struct Service {
    server: Server,
    access: Access,
    results: PathBuf,
}

impl Service {
    fn answer(&self, request: Request) {
        let page = if matches!(request.method(), Method::Get | Method::Head) {
            let header = |name: &'static str| {
                let found = request.headers().iter().find(|header| header.field.equiv(name));
                found.map(|header| header.value.as_str().to_owned())
            };
            match self.access.admits(request.url(), header("Host").as_deref(), header("Cookie").as_deref()) {
                Admission::Granted => pages::of(request.url(), &self.results),
                Admission::Enter(location) => Page::entered(location, self.access.cookie()),
                Admission::Refused(reason) => Page::refused(reason),
            }
        } else {
            Page::not_allowed()
        };
        let mut response = Response::from_data(page.body).with_status_code(page.status);
        for (name, value) in page.headers {
            // Those names and values are ASCII.
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        // A browser that has gone away wants no answer.
        let _ = request.respond(response);
    }
}
