//! The pages: a list, runs, and comparisons.

use std::path::Path;

use iolite_model::RunId;
use iolite_report::html::{Frame, ListFilter, compared, content, framed, listed, title};
use iolite_report::run_filter::{RunFilter, TIMES, time};
use iolite_results::Run;
use iolite_results::comparison::{Comparison, DEFAULT_DETECT};
use iolite_session::unix_now;
use iolite_store::Store;

use super::query::{Query, decoded, split};
use crate::results;

/// Seconds after which a page of what goes on is fetched again.
const FOLLOW: u32 = 5;

/// Runs in the same charts at most.
const MAX_RUNS: usize = 32;

/// What is sent.
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Page {
    fn html(status: u16, text: String) -> Page {
        let headers = vec![
            ("Content-Type", "text/html; charset=utf-8".to_owned()),
            ("Cache-Control", "no-store".to_owned()),
            ("X-Content-Type-Options", "nosniff".to_owned()),
            ("X-Frame-Options", "DENY".to_owned()),
            ("Referrer-Policy", "no-referrer".to_owned()),
        ];
        Page { status, headers, body: text.into_bytes() }
    }

    /// A text of one sentence.
    fn said(status: u16, text: &str) -> Page {
        let message = maud::html! { h1 { "iolite" } p { (iolite_report::harmless(text, true)) } };
        Page::html(status, framed(&frame(&[]), "iolite", &message))
    }

    /// The token is accepted.
    pub(super) fn entered(location: String, cookie: String) -> Page {
        let headers = vec![("Location", location), ("Set-Cookie", cookie)];
        Page { status: 303, headers, body: Vec::new() }
    }

    /// Access is refused.
    pub(super) fn refused(reason: &str) -> Page {
        Page::said(403, reason)
    }

    /// Nothing is changed here.
    pub(super) fn not_allowed() -> Page {
        Page::said(405, "this server only shows stored runs")
    }
}

/// The page at an address.
pub(super) fn of(url: &str, results: &Path) -> Page {
    let (path, query) = split(url);
    let query = Query::of(query);
    let made = Store::open_to_read(results).map_err(anyhow::Error::new).and_then(|store| {
        let path = decoded(path);
        match path.as_str() {
            "/" => list(&store, &query),
            "/runs" => together(&store, &query),
            "/compare" => comparison(&store, &query),
            path => match path.strip_prefix("/run/") {
                Some(name) => of_run(&store, name),
                None => Ok(Page::said(404, "there is no such page")),
            },
        }
    });
    made.unwrap_or_else(|error| Page::said(500, &iolite_session::describe(&*error)))
}

/// The frame of a page about these runs.
fn frame(runs: &[Run]) -> Frame {
    let goes_on = runs.iter().any(|run| run.ending.is_none());
    Frame { home: Some("/".into()), follow: goes_on.then_some(FOLLOW) }
}

fn list(store: &Store, query: &Query) -> anyhow::Result<Page> {
    let field = |name| query.first(name).unwrap_or_default().to_owned();
    let instant = |name| match field(name) {
        text if text.is_empty() => Some(text),
        text => time(&text, unix_now()),
    };
    let (Some(since), Some(until)) = (instant("since"), instant("until")) else {
        return Ok(Page::said(400, &format!("since and until: {TIMES}")));
    };
    let result = field("result");
    if !result.is_empty() && !RunFilter::RESULTS.contains(&result.as_str()) {
        return Ok(Page::said(400, &format!("result: specify one of {}", RunFilter::RESULTS.join(", "))));
    }
    let filter = ListFilter {
        runs: RunFilter {
            text: field("text"),
            command: field("command"),
            target: field("target"),
            database: field("database"),
            tag: field("tag"),
            result,
            since,
            until,
        },
        page: field("page").parse::<usize>().unwrap_or(1).saturating_sub(1),
    };
    let content = listed(&results::lines(store)?, &filter);
    Ok(Page::html(
        200,
        framed(&Frame { follow: Some(FOLLOW), ..frame(&[]) }, "iolite: stored runs", &content),
    ))
}

fn of_run(store: &Store, name: &str) -> anyhow::Result<Page> {
    let Ok(id) = store.find(name) else { return Ok(unknown(name)) };
    let runs = [results::read(store, &id)?];
    Ok(Page::html(200, framed(&frame(&runs), &title(&runs), &content(&runs))))
}

/// The runs that are ticked on either side.
fn together(store: &Store, query: &Query) -> anyhow::Result<Page> {
    let names = query.all("before").chain(query.all("after"));
    let runs = match ticked(store, names)? {
        Ok(runs) => runs,
        Err(page) => return Ok(page),
    };
    if runs.is_empty() {
        return Ok(Page::said(400, "tick at least one run"));
    }
    Ok(Page::html(200, framed(&frame(&runs), &title(&runs), &content(&runs))))
}

fn comparison(store: &Store, query: &Query) -> anyhow::Result<Page> {
    let (before, after) = match (ticked(store, query.all("before"))?, ticked(store, query.all("after"))?) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(page), _) | (_, Err(page)) => return Ok(page),
    };
    let sides = [&before, &after].map(|side| side.iter().collect::<Vec<_>>());
    let comparison = match Comparison::of(&sides[0], &sides[1], DEFAULT_DETECT) {
        Ok(comparison) => comparison,
        Err(error) => return Ok(Page::said(400, &error.to_string())),
    };
    let runs = [before, after].concat();
    Ok(Page::html(200, framed(&frame(&runs), "iolite: comparison", &compared(&comparison, &runs))))
}

/// The runs of these names, each once; the page that says which there is not.
fn ticked<'a>(store: &Store, names: impl Iterator<Item = &'a str>) -> anyhow::Result<Result<Vec<Run>, Page>> {
    let mut ids: Vec<RunId> = Vec::new();
    for name in names {
        let Ok(id) = store.find(name) else { return Ok(Err(unknown(name))) };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.len() > MAX_RUNS {
        return Ok(Err(Page::said(400, &format!("tick at most {MAX_RUNS} runs"))));
    }
    Ok(Ok(ids.iter().map(|id| results::read(store, id)).collect::<anyhow::Result<_>>()?))
}

fn unknown(name: &str) -> Page {
    let name: String = name.chars().take(100).collect();
    Page::said(404, &format!("there is no run {name}"))
}
