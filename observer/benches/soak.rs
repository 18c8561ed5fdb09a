//! A long run in simulated time: memory has to stay flat after the first minute although the network is never quite
//! clean. `cargo bench -p wireproof --bench soak [-- HOURS [SEED]]`, 24 hours by default.
//!
//! 12 sACN universes, a DDP display of 6 datagrams and 4 Art-Net port-addresses at 60 frames a second; one datagram in
//! 20,000 is lost, one in 50,000 comes twice, one in 100,000 late; senders restart from another port every four hours,
//! the capture clock steps twice a day, and a stranger appears every hour. The truth is counted and compared.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use wireproof_encoders::{ArtNet, ArtNetConfig, Ddp, DdpConfig, Encoder, Sacn, SacnConfig};
use wireproof_protocols::verify::{DropLayer, HostDrops, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram, Timestamp};

const FRAME: i64 = 16_666_667;
const MINUTE: u64 = 3_600;
/// Most growth after the first minute, kB.
const GROWTH: u64 = 10_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Encoder, octets of a frame, where the sequence number is, and its cycle and first value.
type Output = (Box<dyn Encoder>, usize, usize, (u8, u8));

/// One datagram of a frame: where it goes, its octets, and where its sequence number is.
struct Slot {
    from: SocketAddr,
    to: SocketAddr,
    octets: Vec<u8>,
    number_at: usize,
    /// Numbers of a cycle and the first of them.
    cycle: (u8, u8),
    number: u8,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let hours: u64 = arguments.first().map_or(Ok(24), |a| a.parse())?;
    let seed: u64 = arguments.get(1).map_or(Ok(1), |a| a.parse())?;
    let mut slots = slots()?;
    let frames = hours.max(1) * 60 * MINUTE;
    let mut verifier = Verifier::new(Options::default());
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let (mut now, mut packet, mut lost) = (1_700_000_000_000_000_000i64, 0u64, 0u64);
    let mut early = 0;
    let mut held: Option<(usize, Vec<u8>)> = None;
    let mut shared = [0u8; 1];
    for frame in 0..frames {
        if frame == MINUTE {
            early = memory("VmRSS")?;
        }
        disturb(frame, &mut slots, &mut now);
        for index in 0..slots.len() {
            packet += 1;
            let slot = &mut slots[index];
            // All datagrams of the DDP display share one counter.
            let number = if slot.cycle.0 == 15 { &mut shared[0] } else { &mut slot.number };
            *number = next(*number, slot.cycle);
            slot.octets[slot.number_at] = *number;
            let end = slot.octets.len() - 1;
            slot.octets[end] = frame as u8;
            let at = Timestamp(now + index as i64 * 20_000);
            let chance = dice.next_u32();
            if chance < u32::MAX / 20_000 && frame > 600 {
                lost += 1;
                continue;
            }
            if chance > u32::MAX - u32::MAX / 100_000 && held.is_none() && frame > 600 {
                held = Some((index, slot.octets.clone()));
                continue;
            }
            give(&mut verifier, at, packet, slot, &slot.octets);
            if chance % 50_000 == 7 {
                give(&mut verifier, at, packet, slot, &slot.octets);
            }
            if let Some((late, octets)) = held.take_if(|(late, _)| *late != index) {
                give(&mut verifier, at, packet, &slots[late], &octets);
            }
        }
        if frame % (10 * MINUTE) == 5_000 {
            // The host's counters tell of other traffic now and then.
            let (from, to) = (Timestamp(now), Timestamp(now + 100_000_000));
            verifier.on_drops(HostDrops { layer: DropLayer::Nic, port: None, from, to, count: 3 });
        }
        now += FRAME;
    }
    let (late, peak) = (memory("VmRSS")?, memory("VmHWM")?);
    let account = verifier.finish();
    let found: u64 = account.streams.iter().map(|s| s.sequence.lost).sum();
    let grown = late.saturating_sub(early);
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{hours} h of simulated time, seed {seed}: {packet} datagrams, {} streams",
        account.streams.len()
    )?;
    writeln!(out, "lost {lost}, found {found}, findings kept {}", account.findings.len())?;
    if found.abs_diff(lost) * 50 > lost {
        return Err("more than 2 % of the losses were not counted, or too many".into());
    }
    writeln!(
        out,
        "memory: {early} kB after a minute, {late} kB at the end ({grown} kB more), peak {peak} kB"
    )?;
    if grown >= GROWTH {
        return Err(format!("memory grew by {grown} kB, {GROWTH} kB are allowed").into());
    }
    Ok(())
}

fn next(number: u8, (cycle, first): (u8, u8)) -> u8 {
    let last = first.wrapping_add(cycle).wrapping_sub(1);
    if number == last { first } else { number.wrapping_add(1) }
}

fn give(verifier: &mut Verifier, at: Timestamp, packet: u64, slot: &Slot, octets: &[u8]) {
    verifier.on_datagram(Arrival { at, packet }, &Datagram::new(slot.from, slot.to, octets));
}

/// Restarts, clock steps and strangers.
fn disturb(frame: u64, slots: &mut Vec<Slot>, now: &mut i64) {
    if frame > 0 && frame.is_multiple_of(4 * 60 * MINUTE) {
        for slot in slots.iter_mut().filter(|s| s.cycle.0 != 15) {
            slot.from.set_port(slot.from.port() + 1);
            slot.number = slot.cycle.1;
        }
    }
    if frame > 0 && frame.is_multiple_of(12 * 60 * MINUTE) {
        *now -= 500_000_000;
    }
    if frame % (60 * MINUTE) == 1_234 && frame > MINUTE {
        let turn = (frame / (60 * MINUTE)) as u8;
        let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, 0, turn)), 5568);
        if let Some(base) = slots.first() {
            let stranger = Slot { from, octets: base.octets.clone(), number: 0, ..*base };
            slots.truncate(12 + 6 + 4);
            slots.push(stranger);
        }
    }
}

/// A frame of every output, encoded once; only numbers and one octet change afterwards.
fn slots() -> Outcome<Vec<Slot>> {
    let from = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), port);
    let to = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), port);
    let mut sacn =
        SacnConfig::new(*b"\x3f\x91\xa5\x0c\x7d\x1e\x4b\x62\x9c\x8e\x55\x01\x22\x6f\xd0\x17", "soak");
    sacn.slots = 512;
    let mut all = Vec::new();
    let ddp = Ddp::new(DdpConfig::new(to(4048)))?;
    let mut node = ArtNetConfig::new(to(6454));
    node.slots = 512;
    let outputs: [Output; 3] = [
        (Box::new(Sacn::new(sacn)?), 12 * 512, 111, (0, 0)),
        (Box::new(ddp), 8_640, 1, (15, 1)),
        (Box::new(ArtNet::new(node)?), 4 * 512, 12, (255, 1)),
    ];
    for (mut encoder, octets, number_at, cycle) in outputs {
        let frame: Vec<u8> = (0..octets).map(|i| i as u8).collect();
        for datagram in encoder.encode(&frame)?.iter() {
            let (to, octets) = (datagram.destination, datagram.to_vec());
            all.push(Slot { from: from(to.port()), to, octets, number_at, cycle, number: 0 });
        }
    }
    Ok(all)
}

/// A line of this process's status, kB.
fn memory(key: &str) -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|l| l.starts_with(key)).ok_or("no such line")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
