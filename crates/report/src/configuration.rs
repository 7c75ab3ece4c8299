//! How the host is configured for databases: what is worth changing, why, and how.

use iolite_model::{Configuration, ConfigurationNote, HostSettings, Layer};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::json::described;
use crate::styler::{Emphasis, Style, Styler};

/// Procedures without a database whose answer is about databases.
const FOR_DATABASES: [&str; 3] = ["check", "observe", "waits"];

/// Whether a run is about databases.
fn concerns(run: &Run) -> bool {
    let inside = run.phases.iter().any(|phase| phase.info.task.layer() == Layer::Database);
    inside || !run.databases.is_empty() || FOR_DATABASES.contains(&run.procedure().as_str())
}

/// What the document of a run about databases has as `configuration`; `None` for any other run.
pub(crate) fn member(run: &Run) -> Option<Value> {
    concerns(run).then(|| of(run).as_ref().map(json).unwrap_or_default())
}

/// The notes, where a run is about databases and there are any.
pub(crate) fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    if !concerns(run) {
        return String::new();
    }
    let notes = of(run).map(|configuration| configuration.notes).unwrap_or_default();
    if notes.is_empty() {
        return String::new();
    }
    let mut out = styler.paint(Emphasis::Strong, "configuration of this host for databases") + "\n";
    for (number, note) in notes.iter().enumerate() {
        let label = format!("{:>3}. ", number + 1);
        out += &styler.item(&label, label.len(), format_args!("{note} [{}]", note.source()));
    }
    out
}

/// What was recorded of a run's host.
pub(crate) fn of(run: &Run) -> Option<Configuration> {
    run.concluded().last()
}

/// `settings` (null where unknown; sizes in bytes) and `notes` (list: `kind`, `text`, `source`, `data`: the note's own fields).
pub(crate) fn json(configuration: &Configuration) -> Value {
    json!({
        "settings": configuration.settings,
        "notes": configuration.notes.iter().map(note).collect::<Vec<_>>(),
    })
}

fn note(note: &ConfigurationNote) -> Value {
    let mut value = described(note, "note");
    value["source"] = note.source().into();
    value
}

/// The settings that are known, in the words of the kernel.
pub(crate) fn settings(settings: &HostSettings) -> String {
    let HostSettings {
        transparent_huge_pages,
        huge_pages,
        unused_huge_pages: _,
        huge_page_size,
        swap,
        swappiness,
        dirty_background_bytes,
        dirty_background_ratio,
        dirty_bytes,
        dirty_ratio,
        overcommit_memory,
        numa_nodes,
        numa_balancing,
        zone_reclaim_mode,
    } = settings;
    let number = |name: &str, value: &Option<u64>| value.map(|value| format!("{name} {value}"));
    // Of a size and a ratio, the one that is not 0 applies.
    let limit = |name: &str, bytes: &Option<iolite_model::Bytes>, ratio: &Option<u64>| match bytes {
        Some(bytes) if bytes.0 > 0 => Some(format!("vm.dirty_{name}bytes {bytes}")),
        _ => ratio.map(|ratio| format!("vm.dirty_{name}ratio {ratio} %")),
    };
    let reserved =
        huge_pages.zip(*huge_page_size).map(|(pages, size)| format!("huge pages {pages} of {size}"));
    let facts = [
        transparent_huge_pages.as_ref().map(|mode| format!("transparent huge pages {mode}")),
        reserved,
        swap.map(|swap| format!("swap space {swap}")),
        number("vm.swappiness", swappiness),
        limit("background_", dirty_background_bytes, dirty_background_ratio),
        limit("", dirty_bytes, dirty_ratio),
        number("vm.overcommit_memory", overcommit_memory),
        number("NUMA nodes", numa_nodes),
        number("kernel.numa_balancing", numa_balancing),
        number("vm.zone_reclaim_mode", zone_reclaim_mode),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use iolite_model::{Bytes, Concluded, Event, Sink};
    use iolite_results::RunRequest;

    use super::*;

    fn run(procedure: &str) -> Run {
        let mut run = Run::new(crate::synthetic::run());
        let settings = HostSettings {
            swappiness: Some(60),
            swap: Some(Bytes::GIB),
            dirty_ratio: Some(20),
            dirty_background_bytes: Some(Bytes(64 << 20)),
            ..HostSettings::default()
        };
        let notes = vec![ConfigurationNote::Swappiness { swappiness: 60, swap: Bytes::GIB }];
        run.event(&Event::Concluded(Box::new(Concluded::of(&RunRequest::new(procedure, "")))));
        run.event(&Event::Concluded(Box::new(Concluded::of(&Configuration { settings, notes }))));
        run
    }

    #[test]
    fn notes_are_shown_where_a_run_is_about_databases() {
        let style = Style { color: false, unicode: true, width: 100 };
        let shown = text(&run("observe"), style);
        assert!(shown.contains("  1. vm.swappiness is 60 and there is 1 GiB of swap space"), "{shown}");
        assert!(shown.contains("[https://mariadb.com/kb/en/configuring-swappiness/]"), "{shown}");
        assert_eq!((text(&run("fio"), style), member(&run("fio"))), (String::new(), None));
        let style = Style { width: 200, ..style };
        let mut inside = run("tproc-c");
        assert_eq!(text(&inside, style), "");
        let operation = iolite_model::DbOperation::RanRead;
        inside.phases.push(crate::synthetic::phase(0, crate::synthetic::database("a", operation, 1), &[]));
        assert_eq!(text(&inside, style), text(&run("observe"), style));
        assert_eq!(member(&inside).unwrap()["notes"][0]["kind"], "swappiness");
    }

    #[test]
    fn the_document_has_reason_and_source() {
        let configuration = of(&run("check")).unwrap();
        let document = json(&configuration);
        assert_eq!(document["settings"]["swappiness"], 60);
        assert_eq!(document["notes"][0]["kind"], "swappiness");
        assert_eq!(document["notes"][0]["data"]["swap"], Bytes::GIB.0);
        let shown = settings(&configuration.settings);
        assert_eq!(
            shown,
            "swap space 1 GiB, vm.swappiness 60, vm.dirty_background_bytes 64 MiB, vm.dirty_ratio 20 %"
        );
    }
}
