//! Zones: strides over any device (`zonemode=strided`), and zoned block devices (`zonemode=zbd`).

use iolite_model::{Access, Bytes, Mix, ZoneCycle, ZoneResets, Zoned};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{MAX, choice, flag, integer, put, size, special};
use crate::language::options::option::{Form, Opt};
use crate::language::value::OptionValue;

/// Zones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Zones {
    /// What zones are.
    pub mode: ZoneMode,
    /// Bytes of operations in a zone (strided), or its size (zbd).
    pub size: Bytes,
    /// Length of a zone (strided); 0 for `size`.
    pub range: Bytes,
    /// Bytes left out between two zones.
    pub skip: Bytes,
    /// The same as a number of zones, where it is given so.
    pub skip_zones: Option<u64>,
    /// What only zoned devices have.
    pub zbd: Zbd,
}

/// What zones are (`zonemode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZoneMode {
    /// There are none.
    #[default]
    None,
    /// Work goes on from zone to zone.
    Strided,
    /// Those of a zoned block device.
    Zbd,
}

/// Options that mean something with `zonemode=zbd` only.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Zbd {
    /// Writable bytes of a zone; 0 for all.
    pub capacity: Bytes,
    /// Reads go beyond write pointers.
    pub read_beyond: bool,
    /// Zones open at once over all jobs; 0 for the device's limit.
    pub max_open: u32,
    /// Zones open at once by one job; 0 for no limit.
    pub job_max_open: u32,
    /// More zones may be open than the device says.
    pub ignore_limits: bool,
    /// Share of the capacity from which zones are reset.
    pub threshold: f64,
    /// Resets for each write.
    pub frequency: f64,
    /// What is left of a zone is written by a shorter write.
    pub write_remainder: bool,
    /// Write pointers are read again after a failed write.
    pub recover: bool,
}

/// The order of offsets that zones prescribe, if they do.
///
/// # Errors
/// A setting that means nothing in this mode.
pub(crate) fn cycle(spec: &Spec) -> Result<Option<Access>> {
    let zones = spec.zones;
    if zones.mode != ZoneMode::Zbd && zones.zbd != Zbd::default() {
        return Err(OptionError::refused(
            "zonecapacity, read_beyond_wp, max_open_zones, zone_reset_threshold and their like mean something with zonemode=zbd only",
            "add it, or remove them",
        )
        .at("zonemode"));
    }
    match zones.mode {
        ZoneMode::Zbd => Ok(None),
        ZoneMode::Strided if zones.size.0 == 0 => Err(OptionError::refused(
            "zonemode=strided needs to know how much is done in a zone",
            "specify it",
        )
        .at("zonesize")),
        ZoneMode::Strided => {
            let range = if zones.range.0 > 0 { zones.range } else { zones.size };
            let (amount, skip, random) = (zones.size, zones.skip, spec.io.random);
            Ok(Some(Access::ZoneCycle(ZoneCycle { range, amount, skip, random })))
        }
        ZoneMode::None if zones.size.0 > 0 || zones.range.0 > 0 || zones.skip.0 > 0 => {
            Err(OptionError::refused(
                "they mean something with zonemode=strided or zbd only",
                "add it, or remove them",
            )
            .at("zonesize, zonerange and zoneskip"))
        }
        ZoneMode::None => Ok(None),
    }
}

/// The use of a zoned block device.
///
/// # Errors
/// Settings that do not go together.
pub(crate) fn zoned(spec: &Spec, mix: Mix) -> Result<Option<Zoned>> {
    let Zones { mode, size, skip, zbd, .. } = spec.zones;
    if mode != ZoneMode::Zbd {
        return Ok(None);
    }
    if matches!(mix, Mix::TrimThenWrite) {
        return Err(OptionError::not_built(
            "trims with their writes on zoned block devices are",
            "use rw=trim or rw=write, whose full zones are reset",
        )
        .at("rw"));
    }
    let resets =
        (zbd.frequency > 0.0).then_some(ZoneResets { threshold: zbd.threshold, frequency: zbd.frequency });
    if resets.is_none() && zbd.threshold > 0.0 {
        return Err(OptionError::refused("it has no effect without zone_reset_frequency", "specify both")
            .at("zone_reset_threshold"));
    }
    Ok(Some(Zoned {
        size,
        capacity: zbd.capacity,
        skip: if spec.io.random { Bytes(0) } else { skip },
        max_open: zbd.max_open,
        max_open_per_worker: zbd.job_max_open,
        ignore_limits: zbd.ignore_limits,
        read_beyond: zbd.read_beyond,
        resets,
        write_remainder: zbd.write_remainder,
        recover: zbd.recover,
    }))
}

fn share(given: &OptionValue<'_>) -> Result<f64> {
    given.number(0.0, 1.0)
}

const SHARE: Form = Form::Number { min: 0.0, max: 1.0 };

/// The options.
pub(super) const OPTIONS: &[Opt] = &[
    choice!(
        "zonemode",
        &[
            ("none", ZoneMode::None),
            ("0", ZoneMode::None),
            ("strided", ZoneMode::Strided),
            ("zbd", ZoneMode::Zbd),
        ],
        |s, v| s.zones.mode = v
    )
    .default("none")
    .help(
        "With strided, I/O stays in a zone for zonesize bytes and then continues in the next zone. With zbd, \
         the device is a zoned block device, or used as if it were one: writes go to the write pointers of \
         zones, reads to data that has been written, trims reset zones.",
    )
    .bounded(
        "with zbd, one write of a zone is in flight at a time, for one file or device per job, and without \
         verify; the number of resets is not printed. A write that does not fit into the rest of its zone \
         finishes the zone and goes to the next one, where fio 3.33 takes a smaller block of bsrange, or \
         else writes the same zone from its start again (rw=write)",
    ),
    size("zonesize", |s, size| s.zones.size = size).default("0").help(
        "Amount of I/O in a zone before the next zone (zonemode=strided), or size of a zone (zbd): 0 for \
         that of the zoned device.",
    ),
    size("zonerange", |s, size| s.zones.range = size)
        .default("0")
        .help("Length of a zone (zonemode=strided); 0 for zonesize. Ignored with zbd, as in fio."),
    special("zoneskip", Form::Size, |s, g| {
        s.zones.skip_zones = g.zones()?;
        if s.zones.skip_zones.is_none() { put(&mut s.zones.skip, g.size()) } else { Ok(()) }
    })
    .default("0")
    .help(
        "Bytes skipped between two zones: with zonemode=strided, and in sequential jobs with zbd, a multiple \
         of the zone size.",
    ),
    size("zonecapacity", |s, size| s.zones.zbd.capacity = size)
        .default("0")
        .help("Bytes of a zone that can be written (zonemode=zbd); 0 for all. Zoned devices have their own."),
    flag("write_zone_remainder", |s, on| s.zones.zbd.write_remainder = on).help(
        "A write that does not fit into its zone any more is shortened to what is left of the zone, instead \
         of finishing the zone.",
    ),
    flag("read_beyond_wp", |s, on| s.zones.zbd.read_beyond = on)
        .help("Reads go anywhere, also beyond write pointers, which the device answers without reading."),
    integer("max_open_zones", 0, MAX, |s, value| s.zones.zbd.max_open = value as u32).default("0").help(
        "Maximum number of zones that all jobs write to at the same time; 0 for the limit of the device. \
         Zones in the region that hold some data at the start count, too, and are written first.",
    ),
    integer("job_max_open_zones", 0, MAX, |s, value| s.zones.zbd.job_max_open = value as u32)
        .default("0")
        .help("Maximum number of zones that each clone writes to at the same time; 0 for no limit."),
    flag("ignore_zone_limits", |s, on| s.zones.zbd.ignore_limits = on)
        .help("Allows max_open_zones above the limit of the device."),
    special("zone_reset_threshold", SHARE, |s, g| put(&mut s.zones.zbd.threshold, share(g)))
        .default("0")
        .help(
            "Share of the zones' capacity that holds data from which zones are reset at the frequency of \
             zone_reset_frequency.",
        ),
    special("zone_reset_frequency", SHARE, |s, g| put(&mut s.zones.zbd.frequency, share(g)))
        .default("0")
        .help("Resets of zones for each write, from zone_reset_threshold on."),
    flag("recover_zbd_write_error", |s, on| s.zones.zbd.recover = on).help(
        "After a failed write, with continue_on_error, the job goes on at the write pointer that the device \
         reports.",
    ),
];
