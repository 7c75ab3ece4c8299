//! `iolite check`: arguments -> options -> plan -> run -> outputs.

mod database;
mod events;
mod options;
mod runner;

use std::sync::Arc;

use iolite_engine::Control;
use iolite_model::{Ending, Event};
use iolite_report::{KneeResult, Report};
use iolite_suites::Conclusion;

use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::{output, signals};
use events::Events;
use options::Options;
use runner::{Measured, Runner};

/// Checks a directory's storage.
///
/// # Errors
/// The arguments make no sense, or the check cannot be made. What was measured by then is stored.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    iolite_sys::file::raise_open_files();
    let options = Options::from_args(args)?;
    let mut events = Events::start(&options);
    let measured = Runner::new(&options, &control, &mut events).and_then(Runner::run);
    let ending = match &measured {
        Ok(Measured { conclusion: Some(_), .. }) => Ending::Completed,
        Ok(Measured { conclusion: None, .. }) => Ending::Interrupted,
        Err(error) => Ending::Failed(format!("{error:#}")),
    };
    if let Ok(Measured { conclusion: Some(conclusion), .. }) = &measured {
        events.emit(&Event::Verdict(conclusion.verdict.clone()));
    }
    events.emit(&Event::RunEnded(ending.clone()));
    let warnings = events.finish();
    let measured = measured?;
    let exit = exit_of(measured.conclusion.as_ref());
    print(&options, &report(&options, measured, warnings, ending))?;
    Ok(exit)
}

fn exit_of(conclusion: Option<&Conclusion>) -> Exit {
    conclusion.map_or(Exit::Interrupted, |conclusion| conclusion.verdict.fitness.into())
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
        calibration: Some(measured.calibration),
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
type SharedDatabase = Arc<dyn iolite_db::Database>;
