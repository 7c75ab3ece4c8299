//! An observation: nothing is done but to let time pass, while the probes are read.

use iolite_model::Nanos;
use iolite_suites::SingleStep;

use crate::drive::Environment;
use crate::error::Result;
use crate::session::Session;

/// The environment of an observation, whose step is its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Observation;

impl Environment<SingleStep<Nanos>> for Observation {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut SingleStep<Nanos>, time: Nanos) -> Result<()> {
        session.events().message("observing the machine");
        session.pause(time);
        Ok(())
    }
}
