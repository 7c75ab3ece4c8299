//! Order of the offsets.

use iolite_model::{Access, Bytes, Mix, ZoneCycle};

use super::sizes::used;
use crate::language::options::Spec;

/// The order of the offsets.
///
/// # Errors
/// A setting that has no such order here.
pub(super) fn access(spec: &Spec, mix: Mix) -> Result<Access, String> {
    let zones = spec.io.zones;
    if zones.strided {
        if zones.size.0 == 0 {
            return Err("zonesize: zonemode=strided needs to know how much is done in a zone: give it".into());
        }
        let range = if zones.range.0 > 0 { zones.range } else { zones.size };
        let (amount, skip, random) = (zones.size, zones.skip, spec.io.random);
        return Ok(Access::ZoneCycle(ZoneCycle { range, amount, skip, random }));
    }
    if zones.size.0 > 0 || zones.range.0 > 0 || zones.skip.0 > 0 {
        return Err("zonesize, zonerange and zoneskip: they mean something with zonemode=strided only: \
         add it, or leave them out"
            .into());
    }
    if spec.io.random { random(spec, mix) } else { sequential(spec, mix) }
}

fn sequential(spec: &Spec, mix: Mix) -> Result<Access, String> {
    let modifier = spec.io.modifier.unwrap_or(0);
    if let Ok(hole) = u64::try_from(modifier) {
        return Ok(if hole == 0 { Access::Sequential } else { Access::SequentialSkip { hole: Bytes(hole) } });
    }
    let law = |direction: usize| spec.sizes.law(spec.sizes.place(direction, false));
    let most = used(mix).into_iter().map(|direction| law(direction).most()).max().unwrap_or_default();
    let step = Bytes(modifier.unsigned_abs());
    if step >= most {
        return Ok(Access::SequentialBack { step });
    }
    Err(format!(
        "rw: going back by {step} from the end of each operation is not built where operations have up to {most}: go \
         back by at least that"
    ))
}

fn random(spec: &Spec, mix: Mix) -> Result<Access, String> {
    let directions = used(mix);
    let first = directions.first().copied().unwrap_or(0);
    let distribution = &spec.io.distribution[first];
    if directions.iter().any(|direction| spec.io.distribution[*direction] != *distribution) {
        return Err("random_distribution: one for reads and another for writes is not built: give one, or \
         two jobs"
            .into());
    }
    let percent = spec.io.random_percent[first];
    if directions.iter().any(|direction| spec.io.random_percent[*direction] != percent) {
        return Err("percentage_random: one for reads and another for writes is not built: give one, or \
         two jobs"
            .into());
    }
    if percent == 0 {
        return Ok(Access::Sequential);
    }
    let run = run(spec, percent)?;
    match distribution.access() {
        None if run > 1 => Ok(Access::Runs { blocks: run }),
        None if spec.io.no_map || is_aligned(spec, &directions) || spec.sizes.unaligned => Ok(Access::Random),
        None => Ok(Access::Covering),
        Some(access) if run == 1 => Ok(access),
        Some(_) => Err("random_distribution: it goes with neither a number after rw nor percentage_random \
         here: leave one out"
            .into()),
    }
}

/// How many operations follow each other before the next jump.
fn run(spec: &Spec, percent: u8) -> Result<u64, String> {
    let after_each = match spec.io.modifier {
        None | Some(0 | 1) => 1,
        Some(_) if spec.io.identical => {
            return Err(
                "rw_sequencer: identical is not built: use sequential, or leave the number after rw out"
                    .into(),
            );
        }
        Some(number) => u64::try_from(number)
            .map_err(|_| format!("rw: {number} operations in a row are none: give 1 or more"))?,
    };
    match 100 % percent {
        0 if percent == 100 || after_each == 1 => Ok(after_each.max(u64::from(100 / percent))),
        0 => Err("percentage_random: it does not go with a number after rw: leave one out".into()),
        _ => Err(format!(
            "percentage_random={percent}: jumps come at equal distances here: give what divides \
         100, such as 20, 25 or 50"
        )),
    }
}

fn is_aligned(spec: &Spec, directions: &[usize]) -> bool {
    directions.iter().any(|direction| spec.sizes.align[*direction].is_some())
}
