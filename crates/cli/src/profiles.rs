//! `iolite profiles`: the built-in profiles.

use std::io::Read;
use std::path::Path;

use iolite_model::{ErrorCause, ErrorOrigin, Profile};
use iolite_suites::{BUILT_IN, built_in, parse};
use iolite_sys::input;

use crate::exit::{Exit, UsageError};
use crate::output;

/// A profile is read up to this size: what is larger is none.
const LARGEST: u64 = 1 << 20;

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
    let mut text = String::new();
    let read = input::open(Path::new(name)).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    read.map_err(|error| {
        let advice = ErrorCause::advice(&error, ErrorOrigin::Path(Path::new(name)));
        UsageError::new(format!("cannot read the profile {name}: {error}{advice}"))
    })?;
    if text.len() as u64 > LARGEST {
        return Err(
            UsageError::new(format!("the profile {name} is larger than 1 MiB: it is no profile")).into()
        );
    }
    parse(&text).map_err(|error| UsageError::new(format!("the profile {name} is invalid: {error}")).into())
}

fn unknown(name: &str) -> String {
    let names: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    format!("there is no profile `{name}`, neither built in ({}) nor as a file", names.join(", "))
}
