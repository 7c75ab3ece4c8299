//! Numbers without units: one rule for every option of every command.

use std::process::Command;

const IOLITE: &str = env!("CARGO_BIN_EXE_iolite");

/// Values that are amounts of something with a unit.
const WITH_UNIT: [&str; 2] = ["SIZE", "TIME"];

/// Values that are instants: `TIME` is a date there.
const INSTANTS: [&str; 2] = ["--since", "--until"];

/// Parts of the names of values that have no unit: counts, rates per second, shares, and what is no number.
const WITHOUT_UNIT: &[&str] = &[
    "N",
    "LIST",
    "MAX",
    "PERCENT",
    "PERCENT%",
    "SHARE",
    "NAME",
    "FILE",
    "DIR",
    "DEV",
    "DEVICE",
    "PATH",
    "URL",
    "ADDRESS",
    "ADDRESS:PORT",
    "TOKEN",
    "METHOD",
    "HOW",
    "WHAT",
    "off",
    "tcp://HOST:PORT",
    "COMMAND",
    "TEXT",
    "TAG",
    "RUN",
    "RESULT",
    "CONDITION",
    "FORMAT",
    "FIGURE",
    "KIND",
    "TEST",
    "CLASS",
    "STATE",
    "...",
];

/// What `--help` says of a command: its commands, and its options with the names of their values.
struct Help {
    commands: Vec<String>,
    options: Vec<(String, String)>,
}

fn help(command: &[String]) -> Help {
    let output = Command::new(IOLITE).args(command).arg("--help").env("NO_COLOR", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = || text.lines().take_while(|line| *line != "Examples:");
    let listed = lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    Help { commands: commands.map(str::to_owned).collect(), options: lines().filter_map(option).collect() }
}

/// An option that takes a value, of a line such as `  -o, --output <FILE>  Output file`.
fn option(line: &str) -> Option<(String, String)> {
    let line = line.trim_start();
    let long = if line.starts_with("--") { line } else { line.strip_prefix('-')?.split_once(", ")?.1 };
    let (name, rest) = long.strip_prefix("--")?.split_once(" <")?;
    let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_name.then(|| (format!("--{name}"), rest.split_once('>').unwrap().0.to_owned()))
}

/// All commands that have options, fio's excepted, whose numbers are fio's.
fn commands(command: &[String], found: &mut Vec<Vec<String>>) {
    for name in help(command).commands.iter().filter(|name| *name != "fio") {
        let below = [command, std::slice::from_ref(name)].concat();
        commands(&below, found);
        found.push(below);
    }
}

#[test]
fn a_number_without_a_unit_is_refused_by_every_option_that_has_one() {
    let mut all = Vec::new();
    commands(&[], &mut all);
    assert!(all.len() > 50, "{all:?}");
    let (mut tried, mut wrong) = (0, Vec::new());
    for command in &all {
        for (option, value) in help(command).options {
            let mut parts = value.split(['|', ',']);
            if !parts.clone().any(|part| WITH_UNIT.contains(&part)) {
                assert!(
                    parts.all(|part| WITHOUT_UNIT.contains(&part.trim_end_matches('.'))
                        || WITHOUT_UNIT.contains(&part)),
                    "{command:?} {option} <{value}>: an amount is a SIZE or TIME, which is refused without a unit; anything else \
                     belongs into the list of this test"
                );
                continue;
            }
            let output = Command::new(IOLITE).args(command).args([&option, "100"]).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            let says = INSTANTS.contains(&&*option) || text.contains("has no unit");
            if output.status.code() != Some(2) || !text.contains(&option) || !says {
                wrong.push(format!("{command:?} {option} 100: {text}"));
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 100, "{tried} options were tried");
}
