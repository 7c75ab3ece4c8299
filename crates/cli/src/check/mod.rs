//! `iolite check`: arguments -> options -> plan -> run -> outputs.

mod database;
mod options;
mod runner;

use std::sync::Arc;

use iolite_engine::Control;
use iolite_model::{Ending, Event};
use iolite_report::{KneeResult, Report};
use iolite_suites::Conclusion;

use crate::args::CheckArgs;
use crate::events::Events;
use crate::exit::Exit;
use crate::{output, signals};
use options::Options;
use runner::{Measured, Runner};

/// Checks a directory's storage.
///
/// # Errors
/// The arguments make no sense, or the check cannot be begun. A failure later is part of what is printed.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    iolite_sys::file::raise_open_files();
    let options = Options::from_args(args)?;
    let mut events = Events::start(&options.run, &options.results, options.live(), options.time, &control);
    let measured = match Runner::new(&options, &control, &mut events) {
        Ok(runner) => runner.run(),
        Err(error) => {
            events.emit(&Event::RunEnded(Ending::Failed(output::told(&error))));
            events.finish(&control);
            return Err(error);
        }
    };
    if let Some(conclusion) = &measured.conclusion {
        events.emit(&Event::Verdict(conclusion.verdict.clone()));
    }
    let ending = match (&measured.failure, &measured.conclusion) {
        (Some(failure), _) => Ending::Failed(failure.clone()),
        (None, Some(_)) => Ending::Completed,
        (None, None) => Ending::Interrupted,
    };
    events.emit(&Event::RunEnded(ending.clone()));
    let warnings = events.finish(&control);
    let exit = exit_of(&ending, measured.conclusion.as_ref());
    print(&options, &report(&options, measured, warnings, ending.clone()))?;
    output::failure(&ending, options.quiet);
    Ok(exit)
}

fn exit_of(ending: &Ending, conclusion: Option<&Conclusion>) -> Exit {
    match ending {
        Ending::Failed(_) => Exit::Failure,
        _ => conclusion.map_or(Exit::Interrupted, |conclusion| conclusion.verdict.fitness.into()),
    }
}

fn report(
    options: &Options,
    measured: Measured,
    warnings: Vec<iolite_model::Warning>,
    ending: Ending,
) -> Report {
    let (verdict, knees) = match measured.conclusion {
        Some(conclusion) => (Some(conclusion.verdict), conclusion.knees),
        None => (None, Vec::new()),
    };
    let knees = knees.into_iter().map(|found| KneeResult {
        name: found.name,
        phases: found.phases,
        knee: found.knee,
    });
    Report {
        run: options.run.clone(),
        calibration: measured.calibration,
        phases: measured.history,
        knees: knees.collect(),
        warnings,
        verdict,
        ending,
    }
}

fn print(options: &Options, report: &Report) -> anyhow::Result<()> {
    let style = output::style();
    let text = if options.json {
        format!("{:#}\n", iolite_report::json(report))
    } else if options.quiet {
        iolite_report::judgement(report, style)
    } else {
        iolite_report::text(report, style)
    };
    Ok(output::print(&text)?)
}

/// The database under test, shared by its sessions.
type SharedDatabase = Arc<dyn iolite_oltp::ran::Adapter>;
