//! The ceiling: a loop that only issues I/O and measures nothing, to hold the measured loop against.
//!
//! ```text
//! bare_loop pread FILE BLOCK SECONDS
//! bare_loop uring FILE BLOCK SECONDS DEPTH [direct]
//! ```
//! Random aligned reads over the file or device, through the page cache or, with `direct`, past it; prints operations per
//! second. `uring` registers ring, file and buffers, and submits and reaps a whole queue in one system call.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, types};
use iolite_sys::buffer::AlignedBuffer;

/// Operations between two looks at the clock.
const STRIDE: u64 = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, file, block, seconds, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: bare_loop pread|uring FILE BLOCK SECONDS [DEPTH [direct]]");
        std::process::exit(2);
    };
    let direct = rest.get(1).is_some_and(|way| way == "direct");
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let mut file = File::options().read(true).custom_flags(flags).open(file).unwrap();
    let block: usize = block.parse().unwrap();
    let seconds = Duration::from_secs_f64(seconds.parse().unwrap());
    // A device has no length, but an end.
    let blocks = file.seek(SeekFrom::End(0)).unwrap() / block as u64;
    let rate = match mode.as_str() {
        "pread" => pread(&file, block, blocks, seconds),
        _ => uring(&file, block, blocks, seconds, rest[0].parse().unwrap()),
    };
    println!("{rate:.0}");
}

/// Random numbers for next to nothing (Marsaglia 2003, Xorshift RNGs).
fn next(state: &mut u64, bound: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    ((u128::from(*state) * u128::from(bound)) >> 64) as u64
}

fn pread(file: &File, block: usize, blocks: u64, seconds: Duration) -> f64 {
    let mut buffer = vec![0; block];
    let mut state = 88_172_645_463_325_252;
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < seconds {
        for _ in 0..STRIDE {
            file.read_exact_at(&mut buffer, next(&mut state, blocks) * block as u64).unwrap();
        }
        count += STRIDE;
    }
    count as f64 / start.elapsed().as_secs_f64()
}

fn uring(file: &File, block: usize, blocks: u64, seconds: Duration, depth: usize) -> f64 {
    let mut ring: IoUring =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth as u32).unwrap();
    // One after the other, each aligned as direct I/O wants it.
    let each = block.next_multiple_of(4096);
    let mut memory = AlignedBuffer::new(each * depth).unwrap();
    let vectors: Vec<libc::iovec> = memory
        .as_mut_slice()
        .chunks_exact_mut(each)
        .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: block })
        .collect();
    let (mut submitter, mut queue, mut completions) = ring.split();
    submitter.register_files(&[file.as_raw_fd()]).unwrap();
    // SAFETY: the buffers live to the end of this function, at which nothing is in flight.
    unsafe { submitter.register_buffers(&vectors) }.unwrap();
    submitter.register_ring_fd().unwrap();
    let mut state = 88_172_645_463_325_252;
    let mut free: Vec<usize> = (0..depth).collect();
    let (start, mut count, mut looked) = (Instant::now(), 0, 0);
    loop {
        while let Some(slot) = free.pop() {
            let offset = next(&mut state, blocks) * block as u64;
            let buffer = vectors[slot].iov_base.cast();
            let read =
                opcode::ReadFixed::new(types::Fixed(0), buffer, block as u32, slot as u16).offset(offset);
            // SAFETY: the slot is free, so that nothing else uses its buffer, which outlives the operation.
            unsafe { queue.push(&read.build().user_data(slot as u64)) }.unwrap();
        }
        queue.sync();
        // All of them: a batch of as many as the queue is deep costs one system call.
        submitter.submit_and_wait(depth).unwrap();
        completions.sync();
        for entry in &mut completions {
            assert_eq!(entry.result(), block as i32);
            free.push(entry.user_data() as usize);
            count += 1;
        }
        queue.sync();
        if count - looked >= STRIDE {
            looked = count;
            if start.elapsed() >= seconds {
                break;
            }
        }
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    while free.len() < depth {
        submitter.submit_and_wait(1).unwrap();
        completions.sync();
        free.extend((&mut completions).map(|entry| entry.user_data() as usize));
    }
    rate
}
