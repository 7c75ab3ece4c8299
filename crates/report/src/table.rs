//! The table of results: one row per phase and kind of operation, grouped by layer and by search.

use std::collections::BTreeSet;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use iolite_model::{Access, Bytes, CacheStamp, Ending, Iops, Layer, Nanos, OpKind, PerKind, Quantile, Task};
use iolite_results::Run;
use iolite_stats::{Direction, Estimate, KneeFound, PhaseChanges, PhaseResult, Preconditioned, Summary};

use crate::styler::{self, Emphasis, Styler};
use crate::words;
use unicode_width::UnicodeWidthStr;

/// The quantiles that have a column.
const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// The columns after name and mark.
const COLUMNS: usize = 10;

/// Below so many columns of the terminal, those that can be spared are.
const FULL: usize = 100;

/// Bytes per second, which follow from the rate, and the median.
const SPARED: [usize; 2] = [2, 5];

/// Printed where there is no value, or too few operations for it.
pub(crate) const NONE: &str = "-";

/// Mark of a rate that is the mean of several levels.
pub(crate) const SHIFTED: &str = "*";

/// Narrowest column of names; a longer name gets a line of its own.
const NARROWEST: usize = 16;

/// A line of the table.
#[derive(Debug, Default)]
struct Row {
    layer: Option<Layer>,
    name: String,
    is_knee: bool,
    cells: [String; COLUMNS],
    /// Said at the end of the line: errors, an early end.
    notes: Vec<String>,
    /// A percentile was left out.
    is_unresolved: bool,
    /// The rate had several levels within the phase.
    is_shifted: bool,
}

impl Row {
    /// Marks the rate, where there is one, as the mean of several.
    fn mark_shifted(&mut self) {
        if !self.cells[1].is_empty() && self.cells[1] != NONE {
            self.cells[1].push_str(SHIFTED);
            self.is_shifted = true;
        }
    }
}

/// The table with its legend; empty without phases. The null back end has no row: its cost stands in the header.
pub(crate) fn table(run: &Run, styler: Styler) -> String {
    let Joined { phases, shifted, windows } = Joined::of(&run.phases);
    let knees: Vec<KneeFound> = run.concluded().collect();
    let rows: Vec<Row> = [Layer::File, Layer::Metadata, Layer::Database]
        .into_iter()
        .flat_map(|layer| searches(&phases, layer))
        .flat_map(|search| search_rows(&knees, &search, &shifted, styler))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let unresolved = rows.iter().any(|row| row.is_unresolved);
    let knee = styler.glyph("▸", ">");
    let mut legend = styler.clean(format_args!(
        "load: outstanding operations, or jobs of the database; ±: 95 % interval of the rate, within this \
         run; times: response"
    ));
    if rows.iter().any(|row| row.is_knee) {
        legend += &format!("; {knee} knee");
    }
    if unresolved {
        legend += "; -: too few operations";
    }
    if rows.iter().any(|row| row.is_shifted) {
        legend += &format!(
            "; {SHIFTED} the rate changed meanwhile, and its mean is no level of it: see the warnings"
        );
    }
    if windows > 1 {
        legend += &format!("; judged loads: up to {windows} windows each, combined");
    }
    if let Some(span) = random_span(&phases) {
        legend += &format!("; random I/O over {span}");
    }
    if let Some(found) = run.concluded::<Preconditioned>().last() {
        let steady = if found.steady { "steady" } else { "not steady" };
        legend += &styler.clean(format_args!("; {steady} after {} rounds of random writes", found.rounds));
    }
    if phases.iter().any(|phase| phase.info.task.layer() == Layer::Database && writes(phase)) {
        legend += &format!("; {}", words::SETS);
    }
    draw(rows, styler) + &styler.item("", 0, legend)
}

/// Windows of the same load as one phase each.
struct Joined {
    phases: Vec<PhaseResult>,
    /// The numbers of those in which the rate of a window had several levels.
    shifted: BTreeSet<u32>,
    /// Windows that a load has at most.
    windows: usize,
}

impl Joined {
    fn of(phases: &[PhaseResult]) -> Joined {
        let mut loads: Vec<(PhaseResult, usize)> = Vec::with_capacity(phases.len());
        let mut shifted = BTreeSet::new();
        for phase in phases {
            let task = &phase.info.task;
            let same = |(first, _): &&mut (PhaseResult, usize)| {
                let other = &first.info.task;
                (task.name(), load(task)) == (other.name(), load(other))
                    && task.layer() == other.layer()
                    && first.end.cache.stamp() == phase.end.cache.stamp()
            };
            let number = match loads.iter_mut().find(same) {
                Some((first, windows)) => {
                    (*first, *windows) = (first.followed_by(phase), *windows + 1);
                    first.info.index
                }
                None => {
                    loads.push((phase.clone(), 1));
                    phase.info.index
                }
            };
            if PhaseChanges::of(phase).is_some_and(|changes| !changes.shifts().is_empty()) {
                shifted.insert(number);
            }
        }
        let windows = loads.iter().map(|(_, windows)| *windows).max().unwrap_or(0);
        Joined { phases: loads.into_iter().map(|(phase, _)| phase).collect(), shifted, windows }
    }
}

/// The span of the random reads and writes of a file.
fn random_span(phases: &[PhaseResult]) -> Option<Bytes> {
    phases.iter().find_map(|phase| match &phase.info.task {
        Task::File(task) if !matches!(task.access, Access::Sequential) => Some(task.target.size()),
        _ => None,
    })
}

fn writes(phase: &PhaseResult) -> bool {
    phase.totals.operations(OpKind::Write) > 0
}

/// The phases of a layer, those of one name together, by concurrency; names in the order they first ran.
fn searches(phases: &[PhaseResult], layer: Layer) -> Vec<Vec<&PhaseResult>> {
    let mut searches: Vec<Vec<&PhaseResult>> = Vec::new();
    for phase in phases.iter().filter(|phase| phase.info.task.layer() == layer) {
        let same = |search: &&mut Vec<&PhaseResult>| {
            search.first().is_some_and(|first| first.info.task.name() == phase.info.task.name())
        };
        match searches.iter_mut().find(same) {
            Some(search) => search.push(phase),
            None => searches.push(vec![phase]),
        }
    }
    for search in &mut searches {
        let is_open = |task: &Task| matches!(task, Task::File(task) if task.asked_rate().is_some());
        search.sort_by_key(|phase| {
            (is_open(&phase.info.task), phase.info.task.concurrency(), phase.info.index)
        });
    }
    searches
}

fn search_rows(
    knees: &[KneeFound],
    search: &[&PhaseResult],
    shifted: &BTreeSet<u32>,
    styler: Styler,
) -> Vec<Row> {
    let knee = knee_phase(knees, search);
    let mut rows = Vec::new();
    for (number, phase) in search.iter().enumerate() {
        let is_knee = knee.is_some_and(|(index, _)| index == phase.info.index);
        let is_tested = knee.is_some_and(|(_, is_tested)| is_tested);
        let name = match (number, is_knee) {
            (0, _) => styler.clean(phase.info.task.name()),
            (_, true) if is_tested => "knee".to_owned(),
            (_, true) => "nearest the knee".to_owned(),
            (_, false) => String::new(),
        };
        let mut of_phase = phase_rows(phase, styler);
        if let Some(first) = of_phase.first_mut() {
            first.is_knee = is_knee;
            first.name = if first.name.is_empty() || name.is_empty() {
                name + &first.name
            } else {
                format!("{name}, {}", first.name)
            };
        }
        if shifted.contains(&phase.info.index) {
            of_phase.iter_mut().for_each(Row::mark_shifted);
        }
        rows.append(&mut of_phase);
    }
    rows
}

/// The phase of a search that stands for its knee, and whether the knee itself was tested.
///
/// The knee comes from a model: where nobody measured at it, the nearest by ratio is shown.
fn knee_phase(knees: &[KneeFound], search: &[&PhaseResult]) -> Option<(u32, bool)> {
    let found = |phase: &&PhaseResult| knees.iter().find(|knee| knee.phases.contains(&phase.info.index));
    let target = f64::from(search.iter().find_map(found)?.knee.concurrency);
    let distance = |phase: &PhaseResult| (f64::from(phase.info.task.concurrency()).ln() - target.ln()).abs();
    let nearest = search
        .iter()
        .filter(|phase| found(phase).is_some())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    Some((nearest.info.index, distance(nearest) == 0.0))
}

/// The kinds of a phase that get a row, the main one first.
///
/// In a commit phase the write alone says little: it is done when the kernel or the device's cache has it.
fn kinds(phase: &PhaseResult) -> Vec<OpKind> {
    let order: &[OpKind] = match &phase.info.task {
        task if words::commits(task) => &[OpKind::Commit, OpKind::Sync],
        Task::Metadata(_) => &OpKind::STANDARD,
        _ => &[OpKind::Read, OpKind::Write, OpKind::Trim, OpKind::Commit, OpKind::Sync],
    };
    let occurred = |kind: &OpKind| phase.totals.operations(*kind) > 0 || phase.totals.errors(*kind) > 0;
    let kinds: Vec<OpKind> = order.iter().copied().filter(occurred).collect();
    if kinds.is_empty() { vec![phase.main_kind()] } else { kinds }
}

/// The rows of a phase, the first without the phase's name.
fn phase_rows(phase: &PhaseResult, styler: Styler) -> Vec<Row> {
    let task = &phase.info.task;
    let kinds = kinds(phase);
    let is_commit = words::commits(task);
    let hidden = OpKind::all().filter(|kind| !kinds.contains(kind));
    let hidden_errors: u64 = hidden.map(|kind| phase.totals.errors(kind)).sum();
    let mut rows = Vec::with_capacity(kinds.len());
    for (number, &kind) in kinds.iter().enumerate() {
        let is_first = number == 0;
        let mut row = Row { layer: Some(task.layer()), ..Row::default() };
        if !is_first {
            row.name = format!("  {}", words::kind(task, kind));
        } else if kinds.len() > 1 && !is_commit {
            row.name = words::kind(task, kind).to_owned();
        }
        fill(&mut row, phase, kind, styler);
        let errors = phase.totals.errors(kind) + if is_first { hidden_errors } else { 0 };
        if errors > 0 {
            row.notes.push(styler::errors(errors));
        }
        if is_first {
            row.cells[0] = load(task);
            row.cells[COLUMNS - 1] = stamp(phase.end.cache.stamp());
            row.notes.extend(end_notes(phase));
        }
        rows.push(row);
    }
    rows
}

/// What happened at a phase's end that its numbers do not show.
fn end_notes(phase: &PhaseResult) -> Vec<String> {
    let lost = phase.end.outstanding.lost;
    let mut notes = Vec::new();
    if lost > 0 {
        notes.push(format!("{} never completed", styler::count(lost)));
    }
    match &phase.end.ending {
        Ending::Completed => {}
        Ending::Interrupted => notes.push("interrupted".to_owned()),
        Ending::Failed(error) => notes.push(format!("failed: {error}")),
    }
    notes
}

/// The measured columns of a row.
fn fill(row: &mut Row, phase: &PhaseResult, kind: OpKind, styler: Styler) {
    row.cells = std::array::from_fn(|_| NONE.to_owned());
    row.cells[0] = String::new();
    row.cells[COLUMNS - 1] = String::new();
    let Some(summary) = phase.summary(kind) else { return };
    let Summary { rate, bytes_per_second, mean, max, operations, .. } = summary;
    row.cells[1] = Iops(rate.value).to_string();
    row.cells[2] = mebibytes(bytes_per_second);
    row.cells[3] = percent(rate.relative_half_width());
    row.cells[4] = nanos(mean.value);
    for (column, share) in QUANTILES.into_iter().enumerate() {
        let quantile = Quantile(share);
        let is_resolved = Estimate::resolves(quantile, operations);
        if let Some(estimate) = phase.quantile(kind, quantile).filter(|_| is_resolved) {
            row.cells[5 + column] = nanos(estimate.value);
        }
        row.is_unresolved |= !is_resolved;
    }
    row.cells[8] = longest(max);
    for cell in &mut row.cells {
        *cell = styler.clean(&*cell);
    }
}

fn load(task: &Task) -> String {
    match task {
        Task::File(task) if let Some(rate) = task.asked_rate() => format!("{rate}/s"),
        _ => task.concurrency().to_string(),
    }
}

/// A time in nanoseconds; one that is not known is not a number.
pub(crate) fn nanos(value: f64) -> String {
    if value.is_finite() { Nanos(value.round() as u64).to_string() } else { NONE.to_owned() }
}

/// The longest response time, where it is known.
pub(crate) fn longest(time: Option<Nanos>) -> String {
    time.map_or_else(|| NONE.to_owned(), |time| time.to_string())
}

pub(crate) fn mebibytes(bytes_per_second: f64) -> String {
    let value = bytes_per_second / 1024.0 / 1024.0;
    if value <= 0.0 || !value.is_finite() {
        NONE.to_owned()
    } else if value < 100.0 {
        format!("{value:.1}")
    } else {
        Iops(value).to_string()
    }
}

pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if !percent.is_finite() => NONE.to_owned(),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent if percent < 1000.0 => format!("{percent:.0} %"),
        _ => ">999 %".to_owned(),
    }
}

/// How uncertain the rate of reads and writes together is: half of its 95 % interval, relative to it.
pub(crate) fn uncertainty(result: &PhaseResult) -> String {
    let both = |of: &PerKind<u64>| (of[OpKind::Read] + of[OpKind::Write]) as f64;
    let series: Vec<_> =
        result.totals.series.iter().map(|point| (point.seconds, both(&point.operations))).collect();
    if series.iter().all(|(_, operations)| *operations == 0.0) {
        return NONE.to_owned();
    }
    percent(Estimate::rate(&series, Direction::HigherIsBetter).relative_half_width())
}

pub(crate) fn stamp(stamp: CacheStamp) -> String {
    match stamp {
        // Shorter than the stamp's own text, for the column.
        CacheStamp::PartlyCached(share) => format!("{:.0} % cached", share * 100.0),
        CacheStamp::OtherIo => "other I/O".to_owned(),
        CacheStamp::ServerNotCounted => "not counted".to_owned(),
        other => other.to_string(),
    }
}

/// The rows as lines, with a heading per layer.
fn draw(rows: Vec<Row>, styler: Styler) -> String {
    let header = ["load", "IOPS", "MiB/s", "±", "mean", "p50", "p99", "p99.9", "max", "cache"]
        .map(|h| styler.clean(h));
    let width_of = |column: usize| {
        let cells = rows.iter().map(|row| &row.cells[column]).chain([&header[column]]);
        cells.map(|cell| cell.width()).max().unwrap_or(0) + 2
    };
    let shown: Vec<usize> =
        (0..COLUMNS).filter(|column| styler.width() >= FULL || !SPARED.contains(column)).collect();
    let rest = 2 + shown.iter().map(|&column| width_of(column)).sum::<usize>();
    let room = styler.width().saturating_sub(rest).max(NARROWEST);

    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let titles =
        [String::new(), String::new()].into_iter().chain(shown.iter().map(|&column| header[column].clone()));
    table.add_row(titles.map(Cell::new).collect::<Vec<_>>());
    for row in &rows {
        let name = if is_long(row, room) { "" } else { &row.name };
        let indented = if name.is_empty() { String::new() } else { format!("  {name}") };
        let name = match name {
            "knee" | "nearest the knee" => Cell::new(name).set_alignment(CellAlignment::Right),
            _ => Cell::new(indented),
        };
        let mark = Cell::new(if row.is_knee { styler.glyph("▸", ">") } else { "" });
        table.add_row(
            [name, mark]
                .into_iter()
                .chain(shown.iter().map(|&column| Cell::new(&row.cells[column])))
                .collect::<Vec<_>>(),
        );
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if index < 2 { (0, 1) } else { (0, 2) });
        if (2..shown.len() + 1).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    assemble(&rows, &lines, room, styler)
}

fn is_long(row: &Row, room: usize) -> bool {
    row.name.width() + 2 > room
}

/// The drawn lines with what stands between them: headings, long names, notes.
fn assemble(rows: &[Row], lines: &[String], room: usize, styler: Styler) -> String {
    let mut lines = lines.iter();
    let mut out = lines.next().map_or(String::new(), |header| format!("{header}\n"));
    let mut layer = None;
    for (row, line) in rows.iter().zip(lines) {
        if row.layer != layer {
            layer = row.layer;
            out += match layer {
                Some(Layer::Database) => "database\n",
                Some(Layer::Metadata) => "metadata\n",
                _ => "file\n",
            };
        }
        if is_long(row, room) {
            out += &format!("  {}\n", row.name);
        }
        out += &if row.is_knee { styler.paint(Emphasis::Strong, line) } else { line.clone() };
        let notes = styler.clean(row.notes.join(", "));
        let fits = line.width() + 2 + notes.width() <= styler.width();
        if notes.is_empty() {
            out.push('\n');
        } else if fits {
            out += &format!("  {}\n", styler.paint(Emphasis::Bad, &notes));
        } else {
            out += &("\n".to_owned()
                + &styler.item(&format!("    {} ", styler.paint(Emphasis::Bad, "!")), 6, notes));
        }
    }
    out
}
