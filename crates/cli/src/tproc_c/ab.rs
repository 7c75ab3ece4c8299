//! `ab`: the same load in two ways, in turns.

use clap::ValueEnum;
use iolite_engine::Control;
use iolite_model::{Bytes, Concluded, Nanos, Task, TprocCTask};
use iolite_results::RunRequest;
use iolite_results::ab::AbTerms;
use iolite_results::comparison::Figure;
use iolite_suites::Ab;

use super::args::{AbArgs, LoadArgs, Vary};
use super::begin::{Extent, begin, open, plan, task};
use crate::conduct::conduct;
use crate::exit::{self, Exit, refuse};
use crate::signals;

impl Vary {
    /// Names of the sides.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Vary::SpreadWarehouse => ("warehouse rows share pages", "one warehouse row per page"),
            Vary::ClientSide => ("stored procedures", "statements sent by the client"),
            Vary::AllWarehouses => ("home warehouses", "a random warehouse for each transaction"),
        }
    }

    /// The option that is on in B only.
    fn option(self, load: &mut LoadArgs) -> &mut bool {
        match self {
            Vary::SpreadWarehouse => &mut load.spread_warehouse,
            Vary::ClientSide => &mut load.client_side,
            Vary::AllWarehouses => &mut load.all_warehouses,
        }
    }

    /// The two sides, of a load without the option.
    fn sides(self, load: &LoadArgs, task: impl Fn(&LoadArgs) -> TprocCTask) -> [Task; 2] {
        [false, true].map(|on| {
            let mut load = load.clone();
            *self.option(&mut load) = on;
            Task::TprocC(task(&load))
        })
    }
}

/// Measures both sides in turns.
///
/// # Errors
/// The arguments are invalid, or the database is not there. A failure later is part of what is printed.
pub(super) fn ab(args: AbArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    if args.duration == Nanos(0) {
        refuse!("--duration must be above 0: specify, for example, 60s");
    }
    let mut load = args.load.clone();
    let option = args.vary.option(&mut load);
    if *option {
        let name =
            args.vary.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        refuse!("--{name} is what differs (--vary): omit it");
    }
    // What the database has to be able to do.
    *option = true;
    let mut site = open(&args.database, &load, args.users, &control)?;
    if args.vary == Vary::ClientSide && !site.has_procedures() {
        refuse!("--vary client-side needs stored procedures, which SQLite does not have");
    }
    let longest = args.duration.0.saturating_add(args.whole_cycles.unwrap_or_default().0);
    let each = longest.saturating_add(args.ramp.0);
    let whole = Nanos(each.saturating_mul(2).saturating_mul(args.repeat.into()));
    let mut session = begin(&site, &args.output, whole, &control)?;
    plan(&mut session, &site, &load, (whole, (Bytes(0), Bytes(0))), args.output.view.quiet)?;
    session.conclude(Concluded::of(&RunRequest::new("ab", "")));
    let extent = Extent {
        users: args.users,
        duration: args.duration,
        ramp: args.ramp,
        rate: None,
        whole_cycles: args.whole_cycles,
    };
    // Both sides have the same random numbers.
    let seed = *load.seed.get_or_insert(session.run().info.started_unix.0);
    let [a, b] = args.vary.sides(&load, |load| task(&site, load, extent));
    let names = args.vary.names();
    let terms = AbTerms {
        jobs: (names.0.to_owned(), names.1.to_owned()),
        repeat: args.repeat,
        figure: Figure::Rate,
        detect: args.detect / 100.0,
        seed,
    };
    let run = conduct(session, &mut Ab::in_database(a, b, terms), &mut site, &args.output)?;
    Ok(exit::of_run(&run))
}
