//! The settings of a task that make a load what it is.

use std::collections::BTreeMap;

use iolite_model::Task;
use serde_json::Value;

/// Settings that say nothing of the load: what it is called, its random numbers, how long it is measured and in what steps.
const IMMATERIAL: [&str; 5] = ["name", "group", "seed", "interval", "ramp"];

/// The settings of a task by their dotted names, without those that don't matter here.
pub(super) fn settings(task: &Task) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    // A task is text and numbers, which always serialise.
    let value = serde_json::to_value(task).unwrap_or_default();
    if let Value::Object(layers) = value {
        for fields in layers.into_values() {
            flatten("", fields, &mut found);
        }
    }
    found.retain(|name, _| {
        let first = name.split('.').next().unwrap_or(name);
        !IMMATERIAL.contains(&first) && first != "stop"
    });
    found
}

fn flatten(prefix: &str, value: Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
                flatten(&name, value, found);
            }
        }
        value => {
            found.insert(prefix.to_owned(), value);
        }
    }
}
