//! `iolite plot`: stored runs, and fio's files, as a chart.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iolite_fio::import::{Figures, Log, chart as chart_of_logs, figures, from_start};
use iolite_model::Nanos;
use iolite_report::aligned;
use iolite_report::plot::{Chart, PlotKind, TerminalPicture, chart, kitty, sixel, svg, terminal};
use iolite_results::Run;

use crate::args::{PlotArgs, Show};
use crate::exit::{Exit, UsageError, refuse};
use crate::results::{of_fio, read_log, runs};
use crate::{output, setup};

/// Draws the runs and writes the picture.
///
/// # Errors
/// There are no such runs, they have measured nothing, or the file can't be written.
pub(crate) fn run(args: &PlotArgs) -> anyhow::Result<Exit> {
    let files: Vec<PathBuf> = args.runs.iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
    let logs_only = files.len() == args.runs.len() && files.iter().all(|file| Log::is_named(file));
    if logs_only && args.kind == PlotKind::Timeline {
        let mut logs = files.iter().map(|file| read_log(file)).collect::<anyhow::Result<Vec<_>>>()?;
        from_start(&mut logs);
        let drawn = chart_of_logs(&logs, args.smooth.map(Nanos::as_secs_f64), args.trend);
        write(&drawn.map_err(UsageError::new)?, args)?;
        if args.output.as_deref() != Some(Path::new("-")) {
            output::print_data(&table(&figures(&logs)))?;
        }
        return Ok(Exit::Fit);
    }
    if args.smooth.is_some() || args.trend {
        refuse!(
            "--smooth and --trend apply to timelines of fio's logs only: specify files that end in .log, and no other \
         --kind"
        );
    }
    let mut runs = stored(&args.runs, args.results.clone())?;
    for imported in of_fio(&files)? {
        runs.extend(Run::of(&imported.events));
    }
    let chart = chart(&runs, args.kind).map_err(UsageError::new)?;
    write(&chart, args)?;
    Ok(Exit::Fit)
}

/// The stored runs among what is named.
pub(crate) fn stored(names: &[String], results: Option<PathBuf>) -> anyhow::Result<Vec<Run>> {
    let names: Vec<&String> = names.iter().filter(|name| !Path::new(name).is_file()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let store = setup::open_to_read(&setup::stored_results(results)?)?;
    runs(&store, names)
}

/// Writes the picture, and shows it where that is asked for.
fn write(chart: &Chart, args: &PlotArgs) -> anyhow::Result<()> {
    let to_standard_output = args.output.as_deref() == Some(Path::new("-"));
    if args.show.is_some() && to_standard_output {
        refuse!(
            "--show and --output - both write to standard output: specify a file, or leave one of them out"
        );
    }
    if let Some(how) = args.show {
        output::print_rendered(&shown(chart, how)?)?;
    }
    let Some(file) = &args.output else { return Ok(()) };
    let picture = svg(chart);
    if to_standard_output {
        return Ok(output::print_data(&picture)?);
    }
    if file.extension().is_some_and(|end| end.eq_ignore_ascii_case("png")) {
        let png = png(&picture, 2).map_err(|reason| {
            UsageError::new(format!("cannot write {}: {reason}, or write an .svg file", file.display()))
        })?;
        return Ok(output::write_file(file, &png)?);
    }
    Ok(output::write_file(file, picture.as_bytes())?)
}

/// The chart for the terminal.
///
/// # Errors
/// A picture is asked for, and can't be made.
fn shown(chart: &Chart, how: Show) -> Result<String, UsageError> {
    let style = output::style();
    let braille = || terminal(chart, style.width, style.color);
    let chosen = match how {
        Show::Braille => TerminalPicture::Braille,
        Show::Kitty => TerminalPicture::Kitty,
        Show::Sixel => TerminalPicture::Sixel,
        Show::Auto if std::io::stdout().is_terminal() => {
            TerminalPicture::announced(|name| std::env::var(name).ok())
        }
        Show::Auto => TerminalPicture::Braille,
    };
    match (picture_of(chart, chosen), how) {
        (None, _) => Ok(braille()),
        (Some(Ok(picture)), _) => Ok(picture),
        // Without the program that draws it there are still characters.
        (Some(Err(_)), Show::Auto) => Ok(braille()),
        (Some(Err(reason)), _) => Err(UsageError::new(format!("--show: {reason}"))),
    }
}

/// The chart as the terminal's picture; `None` in characters.
fn picture_of(chart: &Chart, form: TerminalPicture) -> Option<Result<String, UsageError>> {
    match form {
        TerminalPicture::Braille => None,
        TerminalPicture::Kitty => Some(png(&svg(chart), 2).map(|png| kitty(&png))),
        // Sixels are the pixels of the screen.
        TerminalPicture::Sixel => {
            Some(png(&svg(chart), 1).and_then(|png| sixel(&png).map_err(UsageError::new)))
        }
    }
}

/// A picture as PNG, so many times as wide as the SVG (twice is sharp on fine screens), by librsvg's program: libraries that draw text
/// take as long to build as all the rest. An error is the reason with its remedy.
fn png(picture: &str, zoom: u32) -> Result<Vec<u8>, UsageError> {
    let failed = |reason: &dyn std::fmt::Display| {
        UsageError::new(format!(
            "rsvg-convert cannot draw the picture ({reason}); install it (Debian: librsvg2-bin)"
        ))
    };
    let mut program = Command::new("rsvg-convert");
    program.arg(format!("--zoom={zoom}")).arg("--format=png").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.stderr(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    // It reads all of the picture before it writes. Where it ends early, its own message says more than a broken pipe.
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(picture.as_bytes()));
    let ended = child.wait_with_output().map_err(|error| failed(&error))?;
    match (ended.status.success(), written) {
        (true, Some(Ok(()))) => Ok(ended.stdout),
        (_, Some(Err(error))) if ended.stderr.is_empty() => Err(failed(&error)),
        _ => Err(failed(&clean(String::from_utf8_lossy(&ended.stderr).trim()))),
    }
}

/// The figures of logs, one line each.
fn table(figures: &[Figures]) -> String {
    let number = |value: f64| if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") };
    let heading = ["series", "unit", "min", "mean", "max", "standard deviation"].map(str::to_owned);
    let rows = figures.iter().map(|figures| {
        let [min, mean, max, deviation] =
            [figures.min, figures.mean, figures.max, figures.deviation].map(number);
        [clean(&figures.name), figures.unit.to_owned(), min, mean, max, deviation]
    });
    let lines = aligned(std::iter::once(heading).chain(rows), 0, |column| column > 1);
    lines.into_iter().map(|line| line + "\n").collect()
}

/// No escape sequence of a file's name reaches a terminal.
fn clean(text: &str) -> String {
    let plain = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(plain).collect()
}
