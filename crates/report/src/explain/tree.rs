//! Walks through a document by a table of what its keys mean.

use std::fmt;

use iolite_model::{Bytes, Iops, Nanos};
use serde_json::{Map, Value};

use crate::styler::{Emphasis, Styler, count};
use unicode_width::UnicodeWidthStr;

/// Columns of a key with its value; the meaning stands behind them.
const EXCERPT: usize = 42;

/// The percentiles that matter, and what they say; the first what its table says.
const EXCERPTED: [(f64, &str); 4] = [
    (50.0, ""),
    (99.0, "one in a hundred took longer"),
    (99.9, "one in a thousand took longer"),
    (99.99, "one in ten thousand took longer"),
];

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// As it stands.
    Plain,
    Count,
    Iops,
    /// With the unit behind the number.
    IopsNamed,
    Nanos,
    Micros,
    Millis,
    Seconds,
    Bytes,
    Kibibytes,
    KibibytesPerSecond,
    BytesPerSecond,
    Percent,
    /// Of 1.
    Share,
}

/// What a key holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Inside {
    /// One value.
    One(Unit),
    /// An object with keys of its own.
    Part(&'static [Meaning]),
    /// A list of objects.
    Each(&'static [Meaning]),
    /// Shares in percent by class; those that are 0 are left out.
    Shares,
    /// Times in nanoseconds by percentile.
    Percentiles,
    /// Settings or other texts by name.
    Texts,
    /// Too many to be printed: only their number is.
    Many,
}

/// What a key means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    pub(super) key: &'static str,
    /// Rendered without being asked.
    pub(super) matters: bool,
    pub(super) inside: Inside,
    pub(super) text: &'static str,
}

/// A key that is printed only when all are.
pub(super) const fn key(key: &'static str, inside: Inside, text: &'static str) -> Meaning {
    Meaning { key, matters: false, inside, text }
}

/// A key that matters.
pub(super) const fn main(key: &'static str, inside: Inside, text: &'static str) -> Meaning {
    Meaning { key, matters: true, inside, text }
}

/// How a walk goes.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    /// Every key rather than those that matter.
    pub(super) all: bool,
    pub(super) styler: Styler,
}

impl Walk {
    /// The keys of an object, what matters first.
    pub(super) fn object(
        self,
        object: &Map<String, Value>,
        meanings: &'static [Meaning],
        depth: usize,
    ) -> String {
        let mut out = String::new();
        for matters in [true, false] {
            for meaning in
                meanings.iter().filter(|meaning| meaning.matters == matters && (matters || self.all))
            {
                if let Some(value) = object.get(meaning.key).filter(|value| !value.is_null()) {
                    out += &self.entry(value, meaning, depth);
                }
            }
        }
        let unknown = object.keys().filter(|key| !meanings.iter().any(|meaning| meaning.key == **key));
        for key in unknown.filter(|_| self.all) {
            let value = object.get(key).map_or_else(String::new, |value| brief(value, Unit::Plain));
            let value = format!("{}: {value}", self.styler.clean(key));
            out += &self.line(false, &value, "not known here: of another version", depth);
        }
        out
    }

    fn entry(self, value: &Value, meaning: &Meaning, depth: usize) -> String {
        let Meaning { key, matters, text, .. } = *meaning;
        let rendered = |value: String| self.line(matters, &format!("{key}: {value}"), text, depth);
        match (meaning.inside, value) {
            (Inside::Part(part), Value::Object(object)) => {
                let inner = self.object(object, part, depth + 1);
                if inner.is_empty() { String::new() } else { self.line(false, key, text, depth) + &inner }
            }
            (Inside::Each(part), Value::Array(list)) => list
                .iter()
                .enumerate()
                .map(|(number, value)| self.member(key, number, value, part, text, depth))
                .collect(),
            (Inside::Shares, Value::Object(shares)) => rendered(self.shares(shares)),
            (Inside::Percentiles, Value::Object(percentiles)) => self.percentiles(percentiles, text, depth),
            (Inside::Texts, Value::Object(texts)) => {
                let each: Vec<_> =
                    texts.iter().map(|(name, value)| format!("{name}={}", bare(value))).collect();
                rendered(each.join(" "))
            }
            (Inside::Many, Value::Object(all)) => rendered(format!("{} entries", count(all.len() as u64))),
            (Inside::Many, Value::Array(all)) => rendered(format!("{} entries", count(all.len() as u64))),
            (Inside::One(unit), value) => rendered(brief(value, unit)),
            (_, value) => rendered(brief(value, Unit::Plain)),
        }
    }

    fn member(
        self,
        key: &str,
        number: usize,
        value: &Value,
        part: &'static [Meaning],
        text: &str,
        depth: usize,
    ) -> String {
        let head =
            self.line(false, &format!("{key} {}", number + 1), if number == 0 { text } else { "" }, depth);
        match value {
            Value::Object(object) => head + &self.object(object, part, depth + 1),
            value => {
                self.line(false, &format!("{key} {}: {}", number + 1, brief(value, Unit::Plain)), "", depth)
            }
        }
    }

    fn shares(self, shares: &Map<String, Value>) -> String {
        let mut rendered: Vec<(f64, String)> = shares
            .iter()
            .filter_map(|(class, share)| Some((class, share.as_f64()?)))
            .filter(|(_, share)| *share >= 0.005)
            .map(|(class, share)| {
                let bound: f64 = class.trim_start_matches(">=").parse().unwrap_or(f64::INFINITY);
                (bound, format!("{class}: {share:.2} %"))
            })
            .collect();
        rendered.sort_by(|a, b| a.0.total_cmp(&b.0));
        if rendered.is_empty() {
            return "nothing".to_owned();
        }
        rendered.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
    }

    fn percentiles(self, percentiles: &Map<String, Value>, text: &str, depth: usize) -> String {
        let mut each: Vec<(f64, &Value)> =
            percentiles.iter().filter_map(|(percent, value)| Some((percent.parse().ok()?, value))).collect();
        each.sort_by(|a, b| a.0.total_cmp(&b.0));
        let excerpted = |percent: f64| EXCERPTED.iter().any(|(known, _)| (percent - known).abs() < 1e-6);
        each.retain(|(percent, _)| self.all || excerpted(*percent));
        let mut out = String::new();
        for (percent, value) in each {
            let known = EXCERPTED.into_iter().find(|(known, _)| (percent - known).abs() < 1e-6);
            let meaning = known.map_or("", |(_, meaning)| if meaning.is_empty() { text } else { meaning });
            let excerpt = format!("p{percent}: {}", brief(value, Unit::Nanos));
            out += &self.line(excerpted(percent), &excerpt, meaning, depth);
        }
        out
    }

    /// A key with its value, then what it means.
    pub(super) fn line(self, matters: bool, excerpt: &str, text: &str, depth: usize) -> String {
        let styler = self.styler;
        let mark = if matters { "* " } else { "  " };
        let excerpt = format!("{}{mark}{}", "  ".repeat(depth), styler.clean(excerpt));
        let width = excerpt.width();
        let painted = if matters { styler.paint(Emphasis::Strong, &excerpt) } else { excerpt };
        if text.is_empty() {
            return painted + "\n";
        }
        if width + 2 <= EXCERPT {
            return styler.item(&format!("{painted}{}", " ".repeat(EXCERPT - width)), EXCERPT, text);
        }
        let indent = 2 * depth + 6;
        painted + "\n" + &styler.item(&" ".repeat(indent), indent, text)
    }
}

/// A value as users write it.
pub(super) fn brief(value: &Value, unit: Unit) -> String {
    match value {
        Value::Array(list) => format!("{} entries", list.len()),
        Value::Object(object) => format!("{} entries", object.len()),
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| Figure(number, unit).to_string())
        }
        other => bare(other),
    }
}

fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure(pub(super) f64, pub(super) Unit);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, unit) = *self;
        let nanos = |factor: f64| Nanos((value * factor).max(0.0).round() as u64);
        let bytes = |factor: f64| Bytes((value * factor).max(0.0).round() as u64);
        match unit {
            Unit::Plain if value.fract() == 0.0 && value.abs() < 1e15 => write!(f, "{value:.0}"),
            Unit::Plain => write!(f, "{value:.3}"),
            Unit::Count => f.write_str(&count(value.max(0.0).round() as u64)),
            Unit::Iops => Iops(value).fmt(f),
            Unit::Nanos => nanos(1.0).fmt(f),
            Unit::Micros => nanos(1e3).fmt(f),
            Unit::Millis => nanos(1e6).fmt(f),
            Unit::Seconds => nanos(1e9).fmt(f),
            Unit::Bytes => bytes(1.0).fmt(f),
            Unit::Kibibytes => bytes(1024.0).fmt(f),
            Unit::KibibytesPerSecond => write!(f, "{}/s", bytes(1024.0)),
            Unit::BytesPerSecond => write!(f, "{}/s", bytes(1.0)),
            Unit::Percent => write!(f, "{value:.1} %"),
            Unit::Share => write!(f, "{:.1} %", value * 100.0),
            Unit::IopsNamed => write!(f, "{} IOPS", Iops(value)),
        }
    }
}
