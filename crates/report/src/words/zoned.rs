//! The use of a zoned block device in words.

use iolite_model::{ZoneResets, Zoned};

/// How zones are used.
pub(super) fn zoned(zoned: &Zoned) -> String {
    let Zoned {
        size,
        capacity,
        skip,
        max_open,
        max_open_per_worker,
        ignore_limits,
        read_beyond,
        resets,
        write_remainder,
        recover,
    } = zoned;
    let mut words = vec![match size.0 {
        0 => "at the write pointers of the device's zones".to_owned(),
        _ => format!("at the write pointers of zones of {size}"),
    }];
    words.extend((capacity.0 > 0).then(|| format!("{capacity} of each")));
    words.extend((skip.0 > 0).then(|| format!("{skip} apart")));
    words.extend((*max_open > 0).then(|| format!("at most {max_open} open")));
    words.extend(
        (*max_open_per_worker > 0).then(|| format!("at most {max_open_per_worker} open by each worker")),
    );
    words.extend(ignore_limits.then(|| "whatever the device's limit".to_owned()));
    words.extend(read_beyond.then(|| "reads beyond write pointers".to_owned()));
    words.extend(resets.map(|ZoneResets { threshold, frequency }| {
        format!("{} % of the writes after a reset once {} % hold data", frequency * 100.0, threshold * 100.0)
    }));
    words.extend(write_remainder.then(|| "remainders written".to_owned()));
    words.extend(recover.then(|| "write pointers read again after errors".to_owned()));
    format!("{} ({})", words[0], words[1..].join(", ")).replace(" ()", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Bytes;

    #[test]
    fn all_that_is_asked_of_zones_is_said() {
        assert_eq!(zoned(&Zoned::default()), "at the write pointers of the device's zones");
        let all = Zoned {
            size: Bytes::MIB,
            capacity: Bytes(4096),
            skip: Bytes::MIB,
            max_open: 8,
            max_open_per_worker: 2,
            ignore_limits: true,
            read_beyond: true,
            resets: Some(ZoneResets { threshold: 0.5, frequency: 0.1 }),
            write_remainder: true,
            recover: true,
        };
        assert_eq!(
            zoned(&all),
            "at the write pointers of zones of 1 MiB (4 KiB of each, 1 MiB apart, at most 8 open, at most 2 open by each worker, \
             whatever the device's limit, reads beyond write pointers, 10 % of the writes after a reset once 50 % hold data, \
             remainders written, write pointers read again after errors)"
        );
    }
}
