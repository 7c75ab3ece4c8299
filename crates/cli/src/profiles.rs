//! `iolite profiles`: the built-in profiles.

use std::path::Path;

use iolite_model::Profile;
use iolite_suites::{BUILT_IN, built_in, parse};

use crate::exit::{Exit, UsageError};
use crate::output;

/// Lists the built-in profiles, or prints one.
///
/// # Errors
/// There is none of that name.
pub(crate) fn run(name: Option<&str>) -> anyhow::Result<Exit> {
    let text = match name {
        None => {
            let line = |profile: Profile| format!("{:12} {}\n", profile.name, profile.description);
            BUILT_IN.iter().filter_map(|(name, _)| built_in(name)).map(line).collect()
        }
        Some(name) => {
            let found = BUILT_IN.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| UsageError::new(unknown(name)))?
        }
    };
    output::print_data(&text)?;
    Ok(Exit::Fit)
}

/// The profile of this name, or in this file.
///
/// # Errors
/// There is neither, or the file is no profile.
pub(crate) fn load(name: &str) -> anyhow::Result<Profile> {
    if let Some(profile) = built_in(name) {
        return Ok(profile);
    }
    if !Path::new(name).exists() {
        return Err(UsageError::new(unknown(name)).into());
    }
    let text = std::fs::read_to_string(name)
        .map_err(|error| UsageError::new(format!("cannot read the profile {name}: {error}")))?;
    parse(&text).map_err(|error| UsageError::new(format!("the profile {name} is invalid: {error}")).into())
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    format!("there is no profile `{name}`, neither built in ({}) nor as a file", names.join(", "))
}
