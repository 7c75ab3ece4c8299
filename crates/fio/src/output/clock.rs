//! Dates as C's ctime writes them, in the local time zone.

use iolite_model::Nanos;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `Sat Nov 21 19:09:46 2026`.
pub(crate) fn local(unix: Nanos) -> String {
    in_zone(unix, TimeZone::system())
}

fn in_zone(unix: Nanos, zone: TimeZone) -> String {
    let timestamp = Timestamp::from_nanosecond(i128::from(unix.0)).unwrap_or_default();
    timestamp.to_zoned(zone).strftime("%a %b %e %H:%M:%S %Y").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_as_ctime_does() {
        let utc = |seconds: u64| in_zone(Nanos(seconds * 1_000_000_000), TimeZone::UTC);
        assert_eq!(utc(1_795_288_186), "Sat Nov 21 19:09:46 2026");
        assert_eq!(utc(0), "Thu Jan  1 00:00:00 1970");
    }
}
