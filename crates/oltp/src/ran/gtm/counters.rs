//! What GT.M counts of its operations on files, in the headers of the database files: `$VIEW("GVSTAT")`.

use iolite_model::Physical;

/// Reads what the routine reports of both regions: `SET:1,KIL:0,...|SET:...`, the blocks to read first;
/// `blocks` are the sizes of a block in each region.
///
/// As seen with strace: DRD are reads of a block, DWT writes of a block (those of the asynchronous writer too), DFS
/// synchronisations of a database file, JFW writes of the journal and JFB their bytes, JFS its synchronisations.
pub(super) fn physical(text: &str, blocks: [u64; 2]) -> Option<Physical> {
    let (read, write) = text.split_once('|')?;
    let both = |name| Some([value(read, name)?, value(write, name)?]);
    let sum = |name| Some(both(name)?.iter().sum());
    let bytes = |name| Some(both(name)?.iter().zip(blocks).map(|(count, block)| count * block).sum());
    Some(Physical {
        data_reads: Some(sum("DRD")?),
        data_read_bytes: Some(bytes("DRD")?),
        data_writes: Some(sum("DWT")?),
        data_write_bytes: Some(bytes("DWT")?),
        data_syncs: sum("DFS"),
        log_writes: value(write, "JFW"),
        log_write_bytes: value(write, "JFB"),
        log_syncs: value(write, "JFS"),
    })
}

fn value(counters: &str, name: &str) -> Option<u64> {
    let mut pairs = counters.split(',').filter_map(|pair| pair.split_once(':'));
    pairs.find(|(found, _)| *found == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_both_regions_are_added() {
        let read = "SET:9,DRD:5,DWT:1,DFS:0,JFS:0,JFB:0,JFW:0";
        let write = "SET:9,DRD:7,DWT:10,DFS:2,JFS:3,JFB:4096,JFW:4";
        let counted = physical(&format!("{read}|{write}"), [32_768, 8192]).unwrap();
        let expected = Physical {
            data_reads: Some(12),
            data_read_bytes: Some(5 * 32_768 + 7 * 8192),
            data_writes: Some(11),
            data_write_bytes: Some(32_768 + 10 * 8192),
            data_syncs: Some(2),
            log_writes: Some(4),
            log_write_bytes: Some(4096),
            log_syncs: Some(3),
        };
        assert_eq!(counted, expected);
        assert_eq!(physical("SET:1", [8192; 2]), None);
    }
}
