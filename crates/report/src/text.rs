//! The complete text of `iolite check`, in reading order: what was measured, how, what came of it, the answer.

use crate::document::Report;
use crate::styler::{Emphasis, Style, Styler};
use crate::{answer, knees, machine, table};

/// The complete terminal output of a check.
pub fn text(report: &Report, style: Style) -> String {
    let styler = Styler(style);
    let version = styler.clean(&report.run.version);
    let directory = styler.clean(report.run.storage.directory.display());
    let title = format!("iolite {version}: the storage of {directory}");
    let sections = [
        styler.paint(Emphasis::Strong, &title)
            + "\n"
            + &machine::describe(&report.run, report.calibration.as_ref(), styler),
        table::table(report, styler),
        knees::knees(report, styler),
        answer::warnings(&report.warnings, styler),
        answer::verdict(report, styler),
    ];
    filled(sections)
}

/// Only the answer with its reasons, and the warnings.
pub fn judgement(report: &Report, style: Style) -> String {
    let styler = Styler(style);
    let sections = [answer::warnings(&report.warnings, styler), answer::verdict(report, styler)];
    filled(sections)
}

/// The sections that say anything, an empty line between them.
pub(crate) fn filled(sections: impl IntoIterator<Item = String>) -> String {
    let filled: Vec<_> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    filled.join("\n")
}

#[cfg(test)]
mod tests;
