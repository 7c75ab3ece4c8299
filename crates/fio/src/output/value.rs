//! A JSON value that keeps its order, printed as fio prints it.

use std::fmt::{self, Write};

/// A JSON value; the members of an object in their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Int(i128),
    /// With six digits behind the point; what is not a number becomes 0.
    Float(f64),
    /// With as many digits as it takes.
    Exact(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A whole number of something.
    pub(crate) fn int(value: impl Into<i128>) -> Json {
        Json::Int(value.into())
    }

    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    fn write(&self, out: &mut String, depth: usize) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Int(value) => write!(out, "{value}"),
            Json::Float(value) => write!(out, "{:.6}", finite(*value)),
            Json::Exact(value) => write!(out, "{}", finite(*value)),
            Json::Text(text) => quoted(out, text),
            Json::List(values) => {
                let parts = values.iter().map(|value| (None, value));
                block(out, depth, ('[', ']'), parts)
            }
            Json::Object(members) => {
                let parts = members.iter().map(|(key, value)| (Some(key.as_str()), value));
                block(out, depth, ('{', '}'), parts)
            }
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out, 0)?;
        f.write_str(&out)
    }
}

/// Members or values, each on a line of its own.
fn block<'a>(
    out: &mut String,
    depth: usize,
    (open, close): (char, char),
    parts: impl Iterator<Item = (Option<&'a str>, &'a Json)>,
) -> fmt::Result {
    out.write_char(open)?;
    for (index, (key, value)) in parts.enumerate() {
        out.write_str(if index == 0 { "\n" } else { ",\n" })?;
        write!(out, "{:1$}", "", 2 * depth + 2)?;
        if let Some(key) = key {
            quoted(out, key)?;
            out.write_str(" : ")?;
        }
        value.write(out, depth + 1)?;
    }
    write!(out, "\n{:1$}{close}", "", 2 * depth)
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// A text in quotes. Serialising one cannot fail.
fn quoted(out: &mut String, text: &str) -> fmt::Result {
    out.write_str(&serde_json::to_string(text).unwrap_or_default())
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        use serde_json::Value;
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(value),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => Json::Int(whole.into()),
                (_, Some(whole)) => Json::Int(whole.into()),
                _ => Json::Exact(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => Json::Text(text),
            Value::Array(values) => Json::List(values.into_iter().map(Json::from).collect()),
            Value::Object(members) => {
                Json::Object(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

/// An object's members, in the order in which they are added.
#[derive(Debug, Default)]
pub(crate) struct Members(Vec<(String, Json)>);

impl Members {
    pub(crate) fn with(mut self, key: impl Into<String>, value: Json) -> Members {
        self.0.push((key.into(), value));
        self
    }

    pub(crate) fn with_int(self, key: &str, value: impl Into<i128>) -> Members {
        self.with(key, Json::Int(value.into()))
    }

    pub(crate) fn with_float(self, key: &str, value: f64) -> Members {
        self.with(key, Json::Float(value))
    }

    pub(crate) fn with_text(self, key: &str, value: impl Into<String>) -> Members {
        self.with(key, Json::Text(value.into()))
    }

    pub(crate) fn object(self) -> Json {
        Json::Object(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_printed_as_fio_prints_it() {
        let value = Members::default()
            .with_text("jobname", "a \"b\"\n")
            .with_float("iops", 2.5)
            .with("list", Json::List(vec![Json::int(1), Json::int(2)]))
            .with("read", Members::default().with_int("N", 0).object())
            .with("none", Json::Null)
            .object();
        let text = "{\n  \"jobname\" : \"a \\\"b\\\"\\n\",\n  \"iops\" : 2.500000,\n  \"list\" : [\n    1,\n    2\n  ],\n  \
                    \"read\" : {\n    \"N\" : 0\n  },\n  \"none\" : null\n}";
        assert_eq!(value.to_string(), text);
        let read: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(read["jobname"], "a \"b\"\n");
    }

    #[test]
    fn whatever_the_value_it_is_json() {
        for value in [f64::NAN, f64::INFINITY, -0.0, 1e300, 1e-300] {
            for json in [Json::Float(value), Json::Exact(value), Json::List(vec![]), Json::Object(vec![])] {
                assert!(serde_json::from_str::<serde_json::Value>(&json.to_string()).is_ok(), "{json}");
            }
        }
    }

    #[test]
    fn other_json_is_taken_over() {
        let other = serde_json::json!({"a": [1, -2, 0.125, null, true, "x"], "big": u64::MAX});
        let text = Json::from(other.clone()).to_string();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), other);
    }
}
