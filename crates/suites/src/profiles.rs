//! The built-in profiles, and reading others.

use iolite_model::{Measure, Profile};

/// Name and text of each built-in profile; the texts also document the format.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("oltp-flash", include_str!("../profiles/oltp-flash.toml")),
    ("etcd", include_str!("../profiles/etcd.toml")),
    ("hdd", include_str!("../profiles/hdd.toml")),
];

/// Why a text is not a profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// It is not TOML, or has other keys than a profile.
    #[error("{0}")]
    Format(#[from] toml::de::Error),
    /// It says something that cannot be.
    #[error("criterion {number} ({measure}): {reason}")]
    Criterion {
        /// Which, from 1.
        number: usize,
        /// What it judges.
        measure: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A floor says something that cannot be.
    #[error("floor {number} ({measure}): {reason}")]
    Floor {
        /// Which, from 1.
        number: usize,
        /// What it judges.
        measure: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It asks for nothing.
    #[error("it has no [[criterion]]; see `iolite profiles oltp-flash` for an example")]
    Empty,
}

/// The built-in profile of this name.
pub fn built_in(name: &str) -> Option<Profile> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    parse(text).ok()
}

/// Reads a profile from TOML.
///
/// # Errors
/// It is not TOML (with the line), has unknown or missing keys, or values that cannot be.
pub fn parse(text: &str) -> Result<Profile, ProfileError> {
    let profile: Profile = toml::from_str(text)?;
    if profile.criteria.is_empty() {
        return Err(ProfileError::Empty);
    }
    for (index, criterion) in profile.criteria.iter().enumerate() {
        let refuse = |reason| {
            Err(ProfileError::Criterion { number: index + 1, measure: criterion.measure.to_string(), reason })
        };
        if criterion.quantile.is_some_and(|quantile| !(quantile > 0.0 && quantile < 1.0)) {
            return refuse(
                "the quantile must lie between 0 and 1: 0.99 is the 99th percentile; 1 cannot be measured",
            );
        }
        if criterion.at_most.0 == 0 {
            return refuse("at_most must be longer than zero");
        }
        if !(1.0..=1000.0).contains(&criterion.marginal_factor) {
            return refuse("marginal_factor must be between 1 and 1000");
        }
    }
    for (index, floor) in profile.floors.iter().enumerate() {
        let refuse = |reason| {
            Err(ProfileError::Floor { number: index + 1, measure: floor.measure.to_string(), reason })
        };
        if !(1.0..=1000.0).contains(&floor.marginal_factor) {
            return refuse("marginal_factor must be between 1 and 1000");
        }
        if !matches!(
            floor.measure,
            Measure::RandomRead8k
                | Measure::RandomRead64k
                | Measure::RandomWrite8k
                | Measure::SequentialRead
                | Measure::SequentialWrite
        ) {
            return refuse("only reads and writes of the file layer have a floor");
        }
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_parse_and_carry_their_own_names() {
        for (name, text) in BUILT_IN {
            let profile = parse(text).unwrap();
            assert_eq!(profile.name, name);
            // Every bound says where it comes from.
            let sources = text.lines().filter(|line| line.starts_with("source = ")).count();
            assert_eq!(sources, 1 + profile.criteria.len() + profile.floors.len(), "{name}");
        }
        assert_eq!(built_in("oltp-flash").unwrap().criteria.len(), 9);
        assert!(built_in("nonsense").is_none());
    }

    #[test]
    fn a_bad_profile_says_where_and_why() {
        let spoiled = |from: &str, to: &str| parse(&BUILT_IN[1].1.replace(from, to)).unwrap_err().to_string();
        assert!(spoiled("at_most", "at_least").contains("at_least"));
        assert!(spoiled("\"10ms\"", "\"10 parsecs\"").contains("5ms or 90s"));
        assert!(
            spoiled("0.99", "99").contains("criterion 1 (fdatasync after a buffered append): the quantile")
        );
        assert!(spoiled("\"10ms\"", "\"0s\"").contains("longer than zero"));
        let flash = |from: &str, to: &str| parse(&BUILT_IN[0].1.replace(from, to)).unwrap_err().to_string();
        assert!(flash("\"3000 IOPS\"", "\"many IOPS\"").contains("`3000 IOPS` or `125 MiB/s`"));
        assert!(flash("\"sequential-read\"", "\"db-commit\"").contains("floor 2 (database commit)"));
        assert!(spoiled("[[criterion]]", "[[criteria]]").contains("criteria"));
        assert!(
            parse("name='x'\ndescription=''\nsource=''\ncriterion=[]")
                .unwrap_err()
                .to_string()
                .contains("no [[crit")
        );
    }
}
