//! Blocks: every arm once, in a random order of its own, with what the host did meanwhile.

use super::arms::{ALL, Counted};
use super::options::Options;
use super::{Outcome, decoding};
use crate::load::sys::thread_cpu_ns;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Most involuntary switches of this thread in a second of a block; with more the block is disturbed.
pub(crate) const SWITCHES_LIMIT: f64 = 20.0;
/// Most time stolen from this host's processors, percent of a block's time; with more the block is disturbed.
pub(crate) const STEAL_LIMIT: f64 = 1.0;
/// Disturbed blocks that are made again, for each block asked for.
const AGAIN: usize = 2;
/// Where the order of the arms begins.
const SEED: u64 = 28;
/// Ticks of `/proc` a second.
const TICKS: f64 = 100.0;

/// Everything that was measured.
pub(crate) struct Measured {
    /// CPU time of each arm in each block, ns.
    pub(crate) times: Vec<Vec<u64>>,
    /// What each arm counted.
    pub(crate) counted: Vec<Counted>,
    /// Decoding of each kind of datagram in each block, ns a datagram.
    pub(crate) decoding: Vec<(&'static str, Vec<f64>)>,
    /// CPU time of tshark over the same capture, ns; empty where there is no tshark.
    pub(crate) tshark: Vec<u64>,
    /// Blocks that were disturbed and made again.
    pub(crate) again: usize,
    /// Blocks that count although they were disturbed, as no more were to be made.
    pub(crate) disturbed: usize,
}

/// Measures as many blocks as asked for.
pub(crate) fn run(path: &Path, options: &Options) -> Outcome<Measured> {
    let mut m = Measured {
        times: vec![Vec::new(); ALL.len()],
        counted: vec![Counted::default(); ALL.len()],
        decoding: Vec::new(),
        tshark: Vec::new(),
        again: 0,
        disturbed: 0,
    };
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    m.tshark.extend(tshark(path)?);
    let mut left = AGAIN * options.blocks;
    for number in 1..=options.blocks {
        loop {
            let host = Host::now();
            let block = Block::make(path, &mut random)?;
            let (switches, steal) = host.since();
            let disturbed = switches > SWITCHES_LIMIT || steal > STEAL_LIMIT;
            if disturbed && left > 0 {
                left -= 1;
                m.again += 1;
                continue;
            }
            m.disturbed += usize::from(disturbed);
            super::report::line(&format!(
                "block {number}: {switches:.1} involuntary switches a second, {steal:.1} % stolen{}",
                if disturbed { ": DISTURBED" } else { "" }
            ))?;
            block.into(&mut m);
            break;
        }
    }
    m.tshark.extend(tshark(path)?);
    Ok(m)
}

/// One block.
struct Block {
    arms: Vec<(u64, Counted)>,
    decoding: Vec<(&'static str, f64)>,
}

impl Block {
    fn make(path: &Path, random: &mut ChaCha8Rng) -> Outcome<Block> {
        let mut order: Vec<usize> = (0..ALL.len()).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, random.next_u32() as usize % (place + 1));
        }
        let mut arms = vec![(0, Counted::default()); ALL.len()];
        for arm in order {
            let start = thread_cpu_ns();
            let counted = (ALL[arm].work)(path)?;
            arms[arm] = (thread_cpu_ns() - start, counted);
        }
        Ok(Block { arms, decoding: decoding::measure()? })
    }

    fn into(self, m: &mut Measured) {
        for (arm, (time, counted)) in self.arms.into_iter().enumerate() {
            m.times[arm].push(time);
            m.counted[arm] = counted;
        }
        for (name, figure) in self.decoding {
            match m.decoding.iter_mut().find(|(known, _)| *known == name) {
                Some((_, figures)) => figures.push(figure),
                None => m.decoding.push((name, vec![figure])),
            }
        }
    }
}

/// What the host had done when a block began.
struct Host {
    began: Instant,
    switches: u64,
    stolen: u64,
}

impl Host {
    fn now() -> Host {
        Host { began: Instant::now(), switches: switches(), stolen: stolen() }
    }

    /// Involuntary switches a second, and percent of the time stolen, since.
    fn since(&self) -> (f64, f64) {
        let seconds = self.began.elapsed().as_secs_f64().max(0.01);
        let stolen = stolen().saturating_sub(self.stolen) as f64 / TICKS;
        (switches().saturating_sub(self.switches) as f64 / seconds, 100.0 * stolen / seconds)
    }
}

fn switches() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Ticks stolen from all processors.
fn stolen() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    first.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// CPU time of `tshark -q -z conv,udp` over the capture, ns; `None` where there is none.
fn tshark(path: &Path) -> Outcome<Option<u64>> {
    let before = children();
    let mut command = Command::new("tshark");
    command.args(["-q", "-z", "conv,udp", "-r"]).arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(Some(children() - before)),
        Ok(status) => Err(format!("tshark: {status}").into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// CPU time of the children that have ended, ns, to 10 ms.
fn children() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks =
        |at: usize| behind.split_whitespace().nth(at).and_then(|t| t.parse::<u64>().ok()).unwrap_or(0);
    (ticks(13) + ticks(14)) * 1_000_000_000 / TICKS as u64
}
