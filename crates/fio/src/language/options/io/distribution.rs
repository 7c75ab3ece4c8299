//! How random offsets are spread (`random_distribution`).

use iolite_model::{Access, Bytes, Zone, ZoneSize};

use crate::language::error::{OptionError, Result};
use crate::language::value::OptionValue;

/// How random offsets are spread.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Distribution {
    /// Evenly.
    #[default]
    Uniform,
    /// By a law with hot blocks, the hottest of them at this part of the span, if it is given.
    Law(Hot, Option<f64>),
    /// By zones.
    Zones(Vec<Zone>),
}

/// A law with hot blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hot {
    /// Zipf's, with this skew.
    Zipf(f64),
    /// Self-similar: this share of the blocks gets the rest of the operations.
    Pareto(f64),
    /// Normal, with this deviation in percent of the span.
    Normal(f64),
}

impl Distribution {
    /// The order of offsets that it stands for; `None` where it is even.
    pub fn access(&self) -> Option<Access> {
        match self {
            Distribution::Uniform => None,
            Distribution::Law(Hot::Zipf(theta), centre) => {
                Some(Access::Zipf { theta: *theta, centre: *centre })
            }
            Distribution::Law(Hot::Pareto(h), centre) => Some(Access::Pareto { h: *h, centre: *centre }),
            Distribution::Law(Hot::Normal(deviation), centre) => {
                Some(Access::Normal { deviation_percent: *deviation, centre: *centre })
            }
            Distribution::Zones(zones) => Some(Access::Zoned(zones.clone())),
        }
    }
}

/// The most zones.
const MAX_ZONES: usize = 256;

/// Percentages may be typed as decimals: their sum may miss 100 by so much.
const ROUNDING: f64 = 1e-6;

/// Sets the distribution of reads, writes and trims.
pub(super) fn set(distribution: &mut [Distribution; 3], given: &OptionValue<'_>) -> Result {
    let text = given.text()?;
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let all = |one: Distribution| [one.clone(), one.clone(), one];
    *distribution = match name {
        "random" => all(Distribution::Uniform),
        "zipf" => all(law(Hot::Zipf, parameter(rest, Some(1.1), zipf)?)),
        "pareto" => all(law(Hot::Pareto, parameter(rest, Some(0.2), pareto)?)),
        "normal" => all(law(Hot::Normal, parameter(rest, None, normal)?)),
        "zoned" | "zoned_abs" => {
            let lists: Vec<&str> = rest.unwrap_or_default().split(',').collect();
            let zones = |list: &str| zones(given, list, name == "zoned_abs").map(Distribution::Zones);
            match lists[..] {
                [one] => all(zones(one)?),
                [reads, writes] => [zones(reads)?, zones(writes)?, zones(writes)?],
                [reads, writes, trims] => [zones(reads)?, zones(writes)?, zones(trims)?],
                _ => {
                    return Err(OptionError::refused(
                        "it has more than three lists of zones",
                        "reads, writes, trims",
                    ));
                }
            }
        }
        other => {
            return Err(OptionError::unknown_word(
                other,
                ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"],
            ));
        }
    };
    Ok(())
}

fn law(hot: fn(f64) -> Hot, (value, centre): (f64, Option<f64>)) -> Distribution {
    Distribution::Law(hot(value), centre)
}

/// A law's parameter and its centre, if that is given.
fn parameter(
    text: Option<&str>,
    default: Option<f64>,
    check: fn(f64) -> Result,
) -> Result<(f64, Option<f64>)> {
    let Some(text) = text else {
        return default.map(|value| (value, None)).ok_or_else(|| {
            OptionError::refused(
                "normal needs its deviation in percent of the span",
                "specify it, as in normal:10",
            )
        });
    };
    let (value, centre) = text.split_once(':').map_or((text, None), |(value, centre)| (value, Some(centre)));
    let number = |text: &str| text.trim().parse().map_err(|_| OptionError::malformed(text.trim(), "number"));
    let (value, centre): (f64, Option<f64>) = (number(value)?, centre.map(number).transpose()?);
    if centre.is_some_and(|centre| !(0.0..=1.0).contains(&centre)) {
        return Err(OptionError::refused(
            format!("its centre is {}", centre.unwrap_or_default()),
            "it is a part of the span between 0 and 1: divide percentages by 100",
        ));
    }
    check(value).map(|()| (value, centre))
}

fn zipf(theta: f64) -> Result {
    if theta.is_finite() && theta > 0.0 && theta != 1.0 {
        Ok(())
    } else {
        Err(OptionError::refused(
            format!("the skew of zipf is {theta}"),
            "it has to be above 0, and not 1; 1.1 is common",
        ))
    }
}

fn pareto(h: f64) -> Result {
    if h > 0.0 && h < 1.0 {
        Ok(())
    } else {
        Err(OptionError::refused(
            format!("the share of pareto is {h}"),
            "it has to be above 0 and below 1; 0.2 is 80 % of the operations on 20 % of the blocks",
        ))
    }
}

fn normal(deviation: f64) -> Result {
    if deviation > 0.0 && deviation <= 100.0 {
        Ok(())
    } else {
        Err(OptionError::refused(
            format!("the deviation of normal is {deviation} %"),
            "it has to be above 0 and at most 100",
        ))
    }
}

/// Stands for a size that is left out until the others are known.
const REST: f64 = -1.0;

/// Zones whose sizes are left out have equal parts of what the others leave.
fn share_rest(zones: &mut [Zone]) {
    let percent = |zone: &Zone| if let ZoneSize::Percent(size) = zone.size { size } else { 0.0 };
    let given: f64 = zones.iter().map(percent).filter(|size| *size >= 0.0).sum();
    let open = zones.iter().filter(|zone| percent(zone) < 0.0).count();
    let part = (100.0 - given).max(0.0) / open.max(1) as f64;
    for zone in zones.iter_mut().filter(|zone| percent(zone) < 0.0) {
        zone.size = ZoneSize::Percent(part);
    }
}

/// Zones from `IO/SIZE:IO/SIZE`.
fn zones(given: &OptionValue<'_>, list: &str, absolute: bool) -> Result<Vec<Zone>> {
    let mut zones = Vec::new();
    for entry in list.split(':').map(str::trim) {
        let (io, size) = entry.split_once('/').ok_or_else(|| {
            OptionError::refused(
                format!("`{entry}` is not a zone"),
                "write the share of the operations, a slash and the size, as in 60/10",
            )
        })?;
        let io_percent = share(io)?;
        let given = OptionValue { text: Some(size), kb_base: given.kb_base };
        let size = if absolute {
            ZoneSize::Bytes(given.size()?)
        } else if size.trim().is_empty() {
            ZoneSize::Percent(REST)
        } else {
            ZoneSize::Percent(given.number(0.0, 100.0)?)
        };
        zones.push(Zone { io_percent, size });
    }
    if zones.len() > MAX_ZONES {
        return Err(OptionError::TooMany { count: zones.len(), items: "zones", max: MAX_ZONES });
    }
    share_rest(&mut zones);
    let total: f64 = zones.iter().map(|zone| zone.io_percent).sum();
    if (total - 100.0).abs() > ROUNDING {
        return Err(OptionError::refused(
            format!("its zones get {total} % of the operations"),
            "it has to be 100 in all",
        ));
    }
    let percent = zones.iter().map(|zone| if let ZoneSize::Percent(size) = zone.size { size } else { 0.0 });
    let size: f64 = percent.sum();
    if size > 100.0 + ROUNDING {
        return Err(OptionError::refused(format!("its zones have {size} % of the span"), "100 is the most"));
    }
    if zones.iter().any(|zone| matches!(zone.size, ZoneSize::Bytes(Bytes(0)))) {
        return Err(OptionError::refused("a zone has no bytes", "give it some"));
    }
    Ok(zones)
}

fn share(text: &str) -> Result<f64> {
    let text = text.trim();
    let share = text.parse().ok().filter(|share: &f64| (0.0..=100.0).contains(share));
    share.ok_or_else(|| OptionError::malformed(text, "percentage"))
}
