//! Writes a configuration file.

use std::fmt::Write;

use iolite_model::{AccessSpec, Nanos};

use super::configuration::{Configuration, Cycle, Manager, Setup, TestKind, Worker};

/// Version of the format.
const VERSION: &str = "Version 1.1.0";

/// Columns of a section's heading.
const WIDTH: usize = 80;

/// The text of a configuration file, with lines as Iometer's are: headings and indented values.
pub fn print(configuration: &Configuration) -> String {
    let mut out = format!("{VERSION} \n");
    setup(&configuration.setup, &mut out);
    section("ACCESS SPECIFICATIONS", &mut out);
    configuration.specs.iter().for_each(|each| spec(each, &mut out));
    heading("End access specifications", &mut out);
    section("MANAGER LIST", &mut out);
    for (index, each) in configuration.managers.iter().enumerate() {
        manager(index + 1, each, &mut out);
    }
    heading("End manager list", &mut out);
    out + VERSION + " \n"
}

fn section(name: &str, out: &mut String) {
    let line = "=".repeat(WIDTH.saturating_sub(name.len() + 2));
    let _ = writeln!(out, "'{name} {line}");
}

fn heading(name: &str, out: &mut String) {
    let _ = writeln!(out, "'{name}");
}

fn value(text: impl std::fmt::Display, out: &mut String) {
    let _ = writeln!(out, "\t{text}");
}

fn setup(setup: &Setup, out: &mut String) {
    section("TEST SETUP", out);
    heading("Test Description", out);
    value(&setup.description, out);
    heading("Run Time", out);
    heading("\thours      minutes    seconds", out);
    let seconds = setup.run_time.0 / Nanos::SECOND.0;
    value(format!("{:<10} {:<10} {}", seconds / 3600, seconds / 60 % 60, seconds % 60), out);
    heading("Ramp Up Time (s)", out);
    value(setup.ramp.0 / Nanos::SECOND.0, out);
    for (name, cycle) in [("Worker Cycling", setup.workers), ("Disk Cycling", setup.targets)] {
        heading(name, out);
        cycling(cycle, out);
    }
    heading("Queue Depth Cycling", out);
    cycling(setup.depths, out);
    heading("Test Type", out);
    let word =
        TestKind::WORDS.iter().find(|(_, kind)| *kind == setup.kind).map_or("NORMAL", |(word, _)| word);
    value(word, out);
    heading("END test setup", out);
}

/// The values of a cycle; only one with an end has a column for it.
fn cycling(cycle: Cycle, out: &mut String) {
    let Cycle { start, end, step, .. } = cycle;
    match end {
        Some(end) => {
            heading("\tstart      end        step       step type", out);
            value(format!("{start:<10} {end:<10} {step:<10} {}", step_type(cycle)), out);
        }
        None => {
            heading("\tstart      step       step type", out);
            value(format!("{start:<10} {step:<10} {}", step_type(cycle)), out);
        }
    }
}

fn step_type(cycle: Cycle) -> &'static str {
    if cycle.exponential { "EXPONENTIAL" } else { "LINEAR" }
}

fn spec(spec: &AccessSpec, out: &mut String) {
    heading("Access specification name,default assignment", out);
    value(format!("{},NONE", spec.name), out);
    heading("size,% of size,% reads,% random,delay,burst,align,reply", out);
    for line in &spec.lines {
        let text = format!(
            "{},{},{},{},{},{},{},{}",
            line.size.0,
            line.share,
            line.reads,
            line.random,
            line.delay,
            line.burst,
            line.align.0,
            line.reply.0
        );
        value(text, out);
    }
}

fn manager(number: usize, manager: &Manager, out: &mut String) {
    heading("Manager ID, manager name", out);
    value(format!("{number},{}", manager.name), out);
    manager.workers.iter().for_each(|each| worker(each, out));
    heading("End manager", out);
}

fn worker(worker: &Worker, out: &mut String) {
    heading("Worker", out);
    value(&worker.name, out);
    heading("Worker type", out);
    value("DISK", out);
    heading("Default target settings for worker", out);
    let fields = "Number of outstanding IOs,test connection rate,transactions per connection";
    heading(fields, out);
    value(
        match worker.connection_rate {
            Some(transactions) => format!("{},ENABLED,{transactions}", worker.depth),
            None => format!("{},DISABLED,1", worker.depth),
        },
        out,
    );
    heading("Disk maximum size,starting sector", out);
    value(format!("{},{}", worker.sectors, worker.start), out);
    heading("End default target settings for worker", out);
    heading("Assigned access specs", out);
    worker.specs.iter().for_each(|name| value(name, out));
    heading("End assigned access specs", out);
    heading("Target assignments", out);
    for target in &worker.targets {
        heading("Target", out);
        value(target, out);
        heading("Target type", out);
        value("DISK", out);
        heading("End target", out);
    }
    heading("End target assignments", out);
    heading("End worker", out);
}
