//! Prometheus' protobuf format, the only one with native histograms: `io.prometheus.client.MetricFamily` messages, each behind its
//! length (<https://github.com/prometheus/client_model>, metrics.proto). A few fields of a few messages need no generated code.

use std::collections::BTreeMap;

/// The content type that is asked for and responded with.
pub(super) const CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Resolution of native histograms: each doubling has 2^SCHEMA buckets, whose bounds are 9 % apart.
const SCHEMA: i32 = 3;

/// The buckets of a native histogram that are not empty, by their index: bucket `i` reaches up to 2^(i / 2^SCHEMA) seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NativeBuckets {
    zeros: u64,
    counts: BTreeMap<i32, u64>,
}

impl NativeBuckets {
    /// Counts operations that took so long, in nanoseconds.
    pub(super) fn add(&mut self, nanos: u64, count: u64) {
        let bucket = if nanos == 0 { &mut self.zeros } else { self.counts.entry(index(nanos)).or_default() };
        *bucket = bucket.saturating_add(count);
    }
}

fn index(nanos: u64) -> i32 {
    ((nanos as f64 / 1e9).log2() * f64::from(1 << SCHEMA)).ceil() as i32
}

/// A family of metrics.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

/// A histogram: counts up to each bound, and the native buckets.
pub(super) struct Buckets<'a> {
    pub(super) count: u64,
    pub(super) sum: f64,
    /// Bound in seconds, and the count of all that took no longer.
    pub(super) classic: Vec<(f64, u64)>,
    pub(super) native: &'a NativeBuckets,
}

/// Labels of a metric: names and values.
pub(super) type Labels<'a> = Vec<(&'a str, String)>;

/// An encoded message (<https://protobuf.dev/programming-guides/encoding/>).
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, wire: u64) {
        self.varint(field << 3 | wire);
    }

    fn uint(&mut self, field: u64, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn sint(&mut self, field: u64, value: i64) {
        self.uint(field, zigzag(value));
    }

    fn double(&mut self, field: u64, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn data(&mut self, field: u64, data: &[u8]) {
        self.key(field, 2);
        self.varint(data.len() as u64);
        self.0.extend(data);
    }

    fn message(&mut self, field: u64, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.data(field, &inner.0);
    }

    /// A family behind its length.
    pub(super) fn family(&mut self, name: &str, help: &str, kind: Kind, fill: impl FnOnce(&mut Message)) {
        let mut family = Message::default();
        family.data(1, name.as_bytes());
        family.data(2, help.as_bytes());
        family.uint(3, kind as u64);
        fill(&mut family);
        self.varint(family.0.len() as u64);
        self.0.extend(family.0);
    }

    /// A metric of a counter or gauge.
    pub(super) fn number(&mut self, labels: Labels<'_>, kind: Kind, value: f64) {
        let field = if matches!(kind, Kind::Gauge) { 2 } else { 3 };
        self.metric(labels, |metric| metric.message(field, |of| of.double(1, value)));
    }

    /// A metric of a histogram.
    pub(super) fn histogram(&mut self, labels: Labels<'_>, buckets: &Buckets<'_>) {
        self.metric(labels, |metric| metric.message(7, |of| of.buckets(buckets)));
    }

    fn metric(&mut self, labels: Labels<'_>, fill: impl FnOnce(&mut Message)) {
        self.message(4, |metric| {
            for (name, value) in labels {
                metric.message(1, |label| {
                    label.data(1, name.as_bytes());
                    label.data(2, value.as_bytes());
                });
            }
            fill(metric);
        });
    }

    fn buckets(&mut self, buckets: &Buckets<'_>) {
        self.uint(1, buckets.count);
        self.double(2, buckets.sum);
        for (bound, count) in &buckets.classic {
            self.message(3, |bucket| {
                bucket.uint(1, *count);
                bucket.double(2, *bound);
            });
        }
        self.sint(5, SCHEMA.into());
        // Nothing takes less than a nanosecond but 0.
        self.double(6, 5e-10);
        self.uint(7, buckets.native.zeros);
        // Buckets that follow one another are a span; its offset is the gap before it, or the index of the first bucket.
        let mut spans: Vec<(i64, u64)> = Vec::new();
        let mut next = 0;
        for &index in buckets.native.counts.keys() {
            let index = i64::from(index);
            match spans.last_mut() {
                Some((_, length)) if index == next => *length += 1,
                _ => spans.push((index - next, 1)),
            }
            next = index + 1;
        }
        for (offset, length) in spans {
            self.message(12, |span| {
                span.sint(1, offset);
                span.uint(2, length);
            });
        }
        // Each count by its difference to the one before.
        let mut deltas = Message::default();
        let mut last = 0;
        for count in buckets.native.counts.values() {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            deltas.varint(zigzag(count - last));
            last = count;
        }
        if !buckets.native.counts.is_empty() {
            self.data(13, &deltas.0);
        }
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Whether a request asks for this format, and for no text rather.
pub(super) fn is_asked_for(accept: &str) -> bool {
    let quality = |wanted: &str| {
        let ranges = accept.split(',').filter(|range| range.trim().starts_with(wanted));
        let of = |range: &str| {
            let quality =
                range.split(';').find_map(|part| part.trim().strip_prefix("q=")?.parse::<f64>().ok());
            quality.unwrap_or(1.0)
        };
        ranges.map(of).fold(0.0, f64::max)
    };
    let (protobuf, text) = (quality("application/vnd.google.protobuf"), quality("text/plain"));
    protobuf > 0.0 && protobuf >= text && accept.contains("encoding=delimited")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_the_format_has_them() {
        let mut message = Message::default();
        message.uint(1, 300);
        message.sint(2, -2);
        message.data(3, b"ab");
        message.double(4, 1.0);
        let expected =
            [0x08, 0xac, 0x02, 0x10, 0x03, 0x1a, 2, b'a', b'b', 0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
        assert_eq!(message.bytes(), expected);
    }

    #[test]
    fn a_time_falls_below_the_bound_of_its_bucket_and_above_that_of_the_one_before() {
        for nanos in [1, 900, 1_000, 123_456, 500_000_000, 1_000_000_000, 1_000_000_001, 60_000_000_000] {
            let bound = |index: i32| f64::from(index).mul_add(0.125, 0.0).exp2();
            let (index, seconds) = (index(nanos), nanos as f64 / 1e9);
            assert!(
                seconds <= bound(index) * 1.000_000_1 && seconds > bound(index - 1) * 0.999_999_9,
                "{nanos}"
            );
        }
    }

    #[test]
    fn spans_and_deltas_are_those_of_the_specification() {
        let mut native = NativeBuckets::default();
        // Half a second to one second: buckets -7 to 0; 1 s is the bound of bucket 0.
        for (nanos, count) in
            [(0, 2), (1_000_000_000, 3), (950_000_000, 1), (1_050_000_000, 5), (4_000_000_000, 1)]
        {
            native.add(nanos, count);
        }
        assert_eq!(native.counts.keys().copied().collect::<Vec<_>>(), [0, 1, 16]);
        let mut message = Message::default();
        message.buckets(&Buckets { count: 12, sum: 1.0, classic: vec![(1.0, 6)], native: &native });
        let bytes = message.bytes();
        // Two spans: 2 buckets from index 0, and 1 after a gap of 14; counts 4, 5, 1.
        let expected = [0x62, 4, 0x08, 0, 0x10, 2, 0x62, 4, 0x08, 28, 0x10, 1, 0x6a, 3, 8, 2, 7];
        assert!(bytes.ends_with(&expected), "{bytes:x?}");
    }

    #[test]
    fn the_format_is_used_only_where_it_is_wanted() {
        let asked =
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        for (accept, expected) in [
            (asked.to_owned(), true),
            (format!("{asked};q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"), true),
            (format!("{asked};q=0.2,text/plain;version=0.0.4;q=0.3"), false),
            ("text/plain;version=0.0.4".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_asked_for(&accept), expected, "{accept}");
        }
    }
}
