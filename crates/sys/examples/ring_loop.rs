//! What the ring of this crate costs over the bare one: the loop of `bare_loop uring` through [`Ring`].
//!
//! ```text
//! ring_loop FILE BLOCK SECONDS DEPTH [submit]
//! ```
//! `submit` has a thread of the kernel's submit.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use iolite_sys::ring::{Ring, RingOp, RingSetup};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, block, seconds, depth, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: ring_loop FILE BLOCK SECONDS DEPTH [submit]");
        std::process::exit(2);
    };
    let file = Arc::new(File::open(file).unwrap());
    let (block, depth): (u32, usize) = (block.parse().unwrap(), depth.parse().unwrap());
    let seconds = Duration::from_secs_f64(seconds.parse().unwrap());
    let blocks = file.metadata().unwrap().len() / u64::from(block);
    let setup = RingSetup { submit_polling: !rest.is_empty(), ..RingSetup::default() };
    let mut ring = Ring::new(file, depth, block as usize, setup).unwrap();
    let mut state: u64 = 88_172_645_463_325_252;
    let mut free: Vec<usize> = (0..depth).collect();
    let (start, mut count, mut looked) = (Instant::now(), 0_u64, 0);
    loop {
        while let Some(slot) = free.pop() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let offset = ((u128::from(state) * u128::from(blocks)) >> 64) as u64 * u64::from(block);
            ring.push(RingOp::Read, slot, offset, block).unwrap();
        }
        ring.submit_and_wait(1, Duration::from_secs(1)).unwrap();
        ring.completions(|slot, _, result| {
            assert_eq!(result, Ok(block));
            free.push(slot);
            count += 1;
        });
        if count - looked >= 4096 {
            looked = count;
            if start.elapsed() >= seconds {
                break;
            }
        }
    }
    println!("{:.0}", count as f64 / start.elapsed().as_secs_f64());
}
