//! The run that `--resume` names, and whether it is of the same device with the same arguments.

use iolite_model::{Ending, Event, PtsTerms};
use iolite_results::Run;
use iolite_store::Store;

use super::args::PtsArgs;
use crate::exit::{UsageError, refuse};
use crate::setup;

/// The run that is to be resumed, and its events.
///
/// # Errors
/// There is no such run, it is still measuring, it is complete, or it measured another device or with other arguments.
pub(super) fn earlier(args: &PtsArgs, name: &str, terms: &PtsTerms) -> anyhow::Result<(Run, Vec<Event>)> {
    let path = setup::stored_results(args.output.results.clone())?;
    let store = Store::open(&path)?;
    let id = store.find(name).map_err(UsageError::new)?;
    store.mark_interrupted()?;
    let events = store.events(&id)?;
    let run = Run::of(&events).ok_or_else(|| UsageError::new(format!("run {id} has no start record")))?;
    if run.ending.is_none() {
        refuse!(
            "run {id} is still measuring: let it end, or interrupt it, then resume it; if it was killed on another host, \
             say so by `iolite results end {id}`"
        );
    }
    let Some(theirs) = run.concluded::<PtsTerms>().next() else {
        refuse!("run {id} is not a run of `iolite pts`: specify another run (see `iolite results list`)");
    };
    if let Some(reason) = other_device(&theirs, terms) {
        refuse!("run {id} measured {reason}");
    }
    if (PtsTerms { target: terms.target.clone(), ..theirs.clone() }) != *terms {
        refuse!(
            "run {id} has other arguments: {}; repeat its arguments to resume it: {}",
            differences(&theirs, terms).join("; "),
            run.info.command.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join(" ")
        );
    }
    if run.ending == Some(Ending::Completed) {
        refuse!("run {id} has completed its tests: there is nothing to resume; omit --resume to repeat them");
    }
    Ok((run, events))
}

/// What differs between an earlier run and this one, by the arguments that decide it.
fn differences(theirs: &PtsTerms, ours: &PtsTerms) -> Vec<String> {
    let list = |of: &dyn Fn(&PtsTerms) -> String, argument: &str| {
        let (their, our) = (of(theirs), of(ours));
        (their != our).then(|| format!("{argument} was {their} and is {our}"))
    };
    let named = |terms: &PtsTerms| terms.tests.iter().map(|test| test.name()).collect::<Vec<_>>().join(",");
    let demand = |terms: &PtsTerms| terms.demand.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let cache = |terms: &PtsTerms| match terms.write_cache {
        Some(true) => "on",
        Some(false) => "off",
        None => "unchanged",
    };
    [
        list(&|terms| terms.class.map_or("none", |class| class.name()).to_owned(), "--class"),
        list(&named, "--tests"),
        list(&|terms| terms.scale.to_string(), "--scale"),
        list(&|terms| terms.span.to_string(), "the active range"),
        list(&|terms| terms.threads.to_string(), "--threads"),
        list(&|terms| terms.depth.to_string(), "--depth"),
        list(&demand, "--demand"),
        list(&|terms| terms.zones.to_string(), "--zones"),
        list(&|terms| terms.max_rounds.to_string(), "--max-rounds"),
        list(&|terms| terms.purge.map_or("none", |purge| purge.name()).to_owned(), "the purge"),
        list(&|terms| cache(terms).to_owned(), "the write cache"),
        list(&|terms| terms.logical_block.to_string(), "the logical block of the device"),
        list(&|terms| terms.physical_block.to_string(), "the physical block of the device"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What an earlier run has measured instead, and what to do; `None` where it is the same device. By its serial number, where it has one:
/// after a reboot, the kernel may name it differently.
fn other_device(theirs: &PtsTerms, ours: &PtsTerms) -> Option<String> {
    let (their, our) = (theirs.target.display(), ours.target.display());
    if theirs.device != ours.device {
        let size = |terms: &PtsTerms| terms.device.size;
        // Sizes that differ by little are shown alike.
        let bytes = if size(theirs) == size(ours) {
            String::new()
        } else {
            format!(" ({} and {} bytes)", size(theirs).0, size(ours).0)
        };
        return Some(format!(
            "another device at {their} ({}), this one is {}{bytes}: specify the same device to resume it",
            theirs.device, ours.device
        ));
    }
    let is_named = ours.device.serial.is_none() && theirs.target != ours.target;
    is_named.then(|| {
        format!(
            "{their} and not {our}, which has no serial number that it could be recognised by under another name: specify the same \
             path to resume it"
        )
    })
}

#[cfg(test)]
mod tests {
    use iolite_model::Bytes;
    use iolite_suites::Pts;

    use super::*;

    fn terms(target: &str, serial: Option<&str>) -> PtsTerms {
        let found = iolite_suites::PtsTarget {
            path: target.into(),
            size: Bytes::GIB,
            logical_block: Bytes(512),
            physical_block: None,
            partition_start: None,
            discards: false,
            serial: serial.map(str::to_owned),
        };
        let args = <PtsArgs as clap::Parser>::try_parse_from(["pts", target]).unwrap();
        Pts::terms(args.request(), &found).unwrap()
    }

    #[test]
    fn a_device_is_recognised_by_its_serial_number_under_another_name() {
        let other = |theirs: (&str, Option<&str>), ours: (&str, Option<&str>)| {
            other_device(&terms(theirs.0, theirs.1), &terms(ours.0, ours.1))
        };
        assert_eq!(other(("/dev/sdb", Some("S1")), ("/dev/sdc", Some("S1"))), None);
        let replaced = other(("/dev/sdb", Some("S1")), ("/dev/sdb", Some("S2"))).unwrap();
        assert!(replaced.contains("serial number S1, 1 GiB), this one is serial number S2"), "{replaced}");
        let part = other(("/dev/sdb1", Some("S1, partition 1")), ("/dev/sdb2", Some("S1, partition 2")));
        assert!(part.is_some());
        assert_eq!(other(("/dev/loop1", None), ("/dev/loop1", None)), None);
        let unknown = other(("/dev/loop1", None), ("/dev/loop2", None)).unwrap();
        assert!(
            unknown.starts_with("/dev/loop1 and not /dev/loop2, which has no serial number"),
            "{unknown}"
        );
    }
}
