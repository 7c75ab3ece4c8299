//! One pass of random writes after which a drive is in its steady state (`sprandom`).

use iolite_model::{Access, Bytes, Mix, Precondition};

use super::{has_one_size, run};
use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::sizes::used;

/// How a drive is preconditioned (`spr_op`, `spr_num_regions`, `spr_cs`).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Preconditioning {
    /// Memory of the drive beyond its capacity, divided by its capacity.
    pub over_provisioning: f64,
    /// Parts of the pass.
    pub regions: u32,
    /// The drive's cache; 0 for none.
    pub cache: Bytes,
}

/// The order of `sprandom`.
///
/// # Errors
/// The job is no such pass.
pub(super) fn access(spec: &Spec, mix: Mix) -> Result<Access> {
    let refused =
        |what: &'static str, remedy: &'static str| Err(OptionError::refused(what, remedy).at("sprandom"));
    if !spec.io.random || mix != Mix::Write {
        return refused("it is a pass of random writes", "specify rw=randwrite");
    }
    let plain = spec.io.random_percent == [100; 3] && run(spec)? == 1 && !spec.io.repeats();
    if !plain || !has_one_size(spec, &used(mix)) {
        return refused(
            "it has its own order of blocks of one size",
            "remove norandommap, random_distribution, percentage_random, the number after rw, and other block sizes",
        );
    }
    let Preconditioning { over_provisioning, regions, cache } = spec.io.preconditioning;
    Ok(Access::Precondition(Precondition { over_provisioning, regions, delayed: cache.0 > 0 }))
}

/// Whether a region is as large as the drive's cache.
///
/// # Errors
/// It is not.
pub(crate) fn holds_cache(spec: &Spec, access: &Access, size: Bytes) -> Result {
    let Access::Precondition(what) = access else { return Ok(()) };
    let cache = spec.io.preconditioning.cache;
    let memory = what.writes(size.0);
    // Of what only the device knows the size of, nothing can be said.
    if cache.0 == 0 || size.0 == 0 || memory / u64::from(what.regions.max(1)) >= cache.0 {
        return Ok(());
    }
    let remedy = match memory / cache.0 {
        0 => "specify a smaller one".to_owned(),
        max => format!("specify spr_num_regions={max} or less"),
    };
    Err(OptionError::refused(format!("a region is smaller than the cache of {cache}"), remedy).at("spr_cs"))
}
