//! What reading, counting and analysing a capture cost beside the limit, a plain `read()` of the same file, in CPU time
//! of this thread; every arm, ratio and goal in one run. Interleaved blocks in a seeded random order; a block that the
//! host disturbed (limits in `offline/block.rs`) is told and made again.
//!
//! `cargo bench -p wireproof --features libpcap --bench analyze [-- DATAGRAMS|FILE] [--universes N] [--in DIR]
//! [--blocks N]`: without FILE a pcap file of 64 sACN universes (638 octets), 5 DDP displays of 6 datagrams (1,450
//! octets) and 32 Art-Net port-addresses (530 octets) at 60 frames a second, every 20,011th datagram lost, is made in DIR
//! (`/dev/shm`, where there is one) and removed afterwards; with `--universes` it holds so many of sACN and nothing else.
//! Best tied to one processor and before everything else: `taskset -c 1 chrt -f 30`.
//!
//! `-- --instructions [--bless]` counts instructions under callgrind instead, which no other load disturbs, and fails
//! when a pass takes more than its budget in `offline/budget.txt`.

mod load;
mod offline;

use offline::{Outcome, arms, block, captured, instructions, options::Options, report};
use std::path::Path;

fn main() -> Outcome<()> {
    let options = Options::of(std::env::args().skip(1))?;
    if let Some((pass, path, rounds)) = &options.alone {
        return alone(pass, path, *rounds);
    }
    if options.instructions {
        return instructions::run(options.bless);
    }
    let captured = captured::Captured::make(&options)?;
    let (small, large) = (captured.peak_of_small()?, captured.peak()?);
    let measured = block::run(captured.path(), &options)?;
    report::print(&captured, &measured, [small, large])
}

/// One pass in a process of its own: for its memory, and for callgrind.
fn alone(pass: &str, path: &Path, rounds: usize) -> Outcome<()> {
    let arm = arms::ALL.iter().find(|arm| arm.name == pass).ok_or("no such pass")?;
    for _ in 0..rounds {
        (arm.work)(path)?;
    }
    report::line(&format!("{}", load::host::memory("VmHWM")))
}
