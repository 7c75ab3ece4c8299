//! How the C library's heap keeps large blocks.

/// Blocks of at least this size are mapped one by one. Unless it is set, glibc raises it to the largest block that was ever freed.
const MAPPED_FROM: i32 = 128 << 10;

/// Blocks that are mapped at most: a process has some 65,000 mappings by the usual limit, of which each thread needs two.
const MAX_MAPPED: i32 = 16_384;

/// Keeps large blocks out of the heap, so that of zeroed memory only the pages that are used are there. A table of counts has 130 to 200 KiB,
/// of which some 12 KiB are used, and a thousand jobs have some thousands of them. It has no effect with other C libraries than glibc.
pub fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) takes two numbers, and is called before there are other threads.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
        libc::mallopt(libc::M_MMAP_MAX, MAX_MAPPED);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = (MAPPED_FROM, MAX_MAPPED);
}

#[cfg(test)]
#[cfg(target_env = "gnu")]
mod tests {
    use super::*;

    /// Resident memory of the process in KiB.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn unused_pages_of_zeroed_blocks_are_not_resident() {
        map_large_blocks();
        // Freed memory of other sizes, which the heap would clear and use again.
        drop(vec![1u8; 30 << 20]);
        let before = resident();
        let blocks: Vec<Vec<u8>> = (0..200).map(|_| vec![0; 136 << 10]).collect();
        let grown = resident().saturating_sub(before);
        assert!(grown < 13_600, "{grown} KiB of {} blocks", blocks.len());
    }
}
