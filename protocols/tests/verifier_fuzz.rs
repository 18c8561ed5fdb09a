//! Laws the verifier keeps on any input: no panic, an account that adds up, the same account for the same input.
//!
//! A run is a script of a few hundred arrivals made from one seed. `WIREPROOF_FUZZ_N` sets the number of datagrams
//! over all runs, `WIREPROOF_FUZZ_SEED` the seed of the first run; a failing run is cut down and printed with its
//! own seed, so that `WIREPROOF_FUZZ_SEED=<that seed> WIREPROOF_FUZZ_N=1` repeats it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests count as tests"
)]
#![allow(clippy::disallowed_methods, reason = "tests read the environment")]

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use wireproof_protocols::verify::rig::{Rig, RigOutput};
use wireproof_protocols::verify::{
    Account, FrameAccount, Options, OutputAccount, STREAMS_MAX, StreamAccount, Verifier,
};
use wireproof_protocols::{Arrival, Checksum, Datagram, Link, Protocol, Severity, Timestamp};

const DATAGRAMS: u64 = 100_000;
const SEED: u64 = 0x5eed_7e57;
const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;
const YEAR: i64 = 365 * 86_400 * SECOND;

/// One call of the verifier.
#[derive(Clone, Debug)]
enum Event {
    Datagram(Box<Capture>),
    Packet(Arrival),
    Blind(i64, i64, u64),
}

#[derive(Clone, Debug)]
struct Capture {
    arrival: Arrival,
    source: SocketAddr,
    destination: SocketAddr,
    payload: Vec<u8>,
    length: u32,
    link: Link,
}

/// Seeded choices.
struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn u8(&mut self) -> u8 {
        self.0.next_u32() as u8
    }

    fn u16(&mut self) -> u16 {
        match self.below(6) {
            0 => [0, 1, 2, 0x7fff, 0xffff][self.below(5)],
            1 => self.0.next_u32() as u16,
            _ => self.below(40) as u16,
        }
    }

    fn u32(&mut self) -> u32 {
        match self.below(6) {
            0 => [0, 1, 1440, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX][self.below(7)],
            1 => self.0.next_u32(),
            2 => 1 << self.below(32),
            _ => self.below(10_000) as u32,
        }
    }

    fn octets(&mut self, n: usize) -> Vec<u8> {
        let mut octets = vec![0; n];
        self.0.fill_bytes(&mut octets);
        octets
    }
}

// ---- time

/// How capture stamps go on.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Steady,
    Leaps,
    Equal,
    Wild,
    FromTheEnds,
}

struct Time {
    pace: Pace,
    now: i64,
    step: i64,
    packet: u64,
}

impl Time {
    fn new(dice: &mut Dice) -> Time {
        let pace = [Pace::Steady, Pace::Steady, Pace::Leaps, Pace::Equal, Pace::Wild, Pace::FromTheEnds]
            [dice.below(6)];
        let now = match pace {
            Pace::FromTheEnds => [i64::MIN, i64::MAX - SECOND, i64::MIN / 2, i64::MAX / 2][dice.below(4)],
            _ => 1_700_000_000 * SECOND,
        };
        let step = [1, 1000, MS / 10, MS, 3 * MS, 20 * MS, 900 * MS][dice.below(7)];
        Time { pace, now, step, packet: 0 }
    }

    fn next(&mut self, dice: &mut Dice) -> Arrival {
        self.now = match self.pace {
            Pace::Equal => self.now,
            Pace::Wild => dice.wild(self.now),
            Pace::Leaps | Pace::FromTheEnds if dice.one_in(60) => dice.leap(self.now),
            _ => {
                let jitter = self.step / 8;
                let jitter = dice.below(usize::try_from(jitter).unwrap_or(0) + 1) as i64;
                self.now.saturating_add(self.step + jitter)
            }
        };
        let strange = dice.one_in(200);
        self.packet = if strange { dice.0.next_u64() } else { self.packet.wrapping_add(1) };
        Arrival { at: Timestamp(self.now), packet: self.packet }
    }
}

impl Dice {
    fn wild(&mut self, now: i64) -> i64 {
        match self.below(8) {
            0 => [i64::MIN, i64::MAX, 0, -1, 1][self.below(5)],
            1 => self.0.next_u64() as i64,
            _ => now.wrapping_add(self.below(2_000_000_000) as i64 - 1_000_000_000),
        }
    }

    fn leap(&mut self, now: i64) -> i64 {
        let by = [1, 5 * MS, 11 * MS, SECOND, 2600 * MS, 3600 * SECOND, YEAR, 90 * YEAR];
        let by = by[self.below(by.len())];
        if self.one_in(3) { now.saturating_sub(by) } else { now.saturating_add(by) }
    }
}

// ---- octets

fn put(octets: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|p| octets.extend_from_slice(p));
}

fn pdu_length(n: usize) -> [u8; 2] {
    (0x7000 | (n as u16 & 0x0fff)).to_be_bytes()
}

fn sacn_root(octets: usize, vector: u32, cid: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(octets);
    put(&mut out, &[&[0, 0x10, 0, 0], b"ASC-E1.17\0\0\0", &pdu_length(octets - 16)]);
    put(&mut out, &[&vector.to_be_bytes(), cid, &pdu_length(octets - 38)]);
    out
}

fn sacn_data(s: &Sender, universe: u16, start_code: u8, slots: &[u8]) -> Vec<u8> {
    let n = 126 + slots.len();
    let mut out = sacn_root(n, 4, &s.cid);
    let mut name = [0; 64];
    name[..4].copy_from_slice(b"fuzz");
    put(&mut out, &[&2u32.to_be_bytes(), &name, &[s.priority], &s.sync.to_be_bytes()]);
    put(&mut out, &[&[s.sequence as u8, s.options], &universe.to_be_bytes(), &pdu_length(n - 115)]);
    put(&mut out, &[&[2, 0xa1, 0, 0, 0, 1], &(slots.len() as u16 + 1).to_be_bytes(), &[start_code], slots]);
    out
}

fn sacn_sync(s: &Sender, address: u16) -> Vec<u8> {
    let mut out = sacn_root(49, 8, &s.cid);
    put(&mut out, &[&1u32.to_be_bytes(), &[s.sequence as u8], &address.to_be_bytes(), &[0, 0]]);
    out
}

fn sacn_discovery(s: &Sender, page: u8, last: u8, list: &[u16]) -> Vec<u8> {
    let n = 120 + 2 * list.len();
    let mut out = sacn_root(n, 8, &s.cid);
    put(&mut out, &[&2u32.to_be_bytes(), &[b'x'; 63], &[0; 5], &pdu_length(n - 112)]);
    put(&mut out, &[&1u32.to_be_bytes(), &[page, last]]);
    list.iter().for_each(|u| out.extend_from_slice(&u.to_be_bytes()));
    out
}

fn art_dmx(s: &Sender, port_address: u16, slots: &[u8]) -> Vec<u8> {
    let mut out = b"Art-Net\0\x00\x50\x00\x0e".to_vec();
    put(&mut out, &[&[s.sequence as u8, s.physical], &port_address.to_le_bytes()]);
    put(&mut out, &[&(slots.len() as u16).to_be_bytes(), slots]);
    out
}

fn ddp(s: &Sender, flags: u8, offset: u32, length: u16, data: &[u8]) -> Vec<u8> {
    let mut out = vec![flags, s.sequence as u8, 0x0b, s.id as u8];
    put(&mut out, &[&offset.to_be_bytes(), &length.to_be_bytes()]);
    if flags & 0x10 != 0 {
        out.extend_from_slice(&[1, 2, 3, 4]);
    }
    out.extend_from_slice(data);
    out
}

/// `head` holds flags, index and count, `place` offset and frame length.
fn bigpacket(s: &Sender, head: [u16; 3], place: [u32; 2], data: &[u8]) -> Vec<u8> {
    let mut out = b"BPK1\x01\x20".to_vec();
    for field in [head[0], s.id, head[1], head[2], data.len() as u16] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    for field in [s.sequence, place[0], place[1], s.sequence.wrapping_mul(16_667)] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(data);
    out
}

// ---- senders

/// A simulated sender that counts well until a mutation strikes.
#[derive(Clone, Debug)]
struct Sender {
    protocol: Protocol,
    source: SocketAddr,
    destinations: Vec<SocketAddr>,
    cid: [u8; 16],
    id: u16,
    physical: u8,
    priority: u8,
    sync: u16,
    options: u8,
    sequence: u32,
    numbers: Vec<u32>,
    /// Step of the counter, where it wraps to, and whether it counts frames.
    counting: (u32, u32, bool),
    chunks: usize,
    chunk: usize,
    at: usize,
    content: u8,
    ip_id: Option<u16>,
}

impl Sender {
    fn new(dice: &mut Dice) -> Sender {
        let protocol = [Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet, Protocol::BigPacket][dice.below(4)];
        let port = port(protocol);
        let host = dice.below(3) as u8;
        let source = match dice.below(5) {
            0 => IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, u16::from(host)]),
            _ => IpAddr::from([10, 0, 0, host]),
        };
        let many = [1, 1, 1, 2, 3, 18][dice.below(6)];
        let to = |i: usize| SocketAddr::from(([10, 0, 1, i as u8], port));
        let start = dice.u32();
        Sender {
            protocol,
            source: SocketAddr::new(source, 5000 + dice.below(3) as u16),
            destinations: (0..many).map(to).collect(),
            cid: [dice.below(3) as u8; 16],
            id: 1 + dice.below(3) as u16,
            physical: dice.below(2) as u8,
            priority: [0, 100, 100, 100, 200][dice.below(5)],
            sync: [0, 0, 7, 9][dice.below(4)],
            options: 0,
            sequence: start,
            numbers: vec![start; 32],
            counting: dice.counting(protocol),
            chunks: [1, 1, 2, 3, 6, 17][dice.below(6)],
            chunk: [0, 1, 3, 24, 60][dice.below(5)],
            at: 0,
            content: 0,
            ip_id: (!dice.one_in(3)).then(|| dice.u16()),
        }
    }

    /// The next number of this sender: wraps as its dialect does.
    fn count(&self, number: u32) -> u32 {
        let (step, cycle, _) = self.counting;
        match self.protocol {
            Protocol::BigPacket => number.wrapping_add(step),
            Protocol::Sacn if cycle == 256 => number.wrapping_add(step) & 0xff,
            _ if cycle == 0 => 0,
            _ => (number % cycle).wrapping_add(step).max(1),
        }
    }

    /// The next datagram as it should be.
    fn send(&mut self, dice: &mut Dice) -> Vec<u8> {
        let first = self.at == 0;
        let index = self.at;
        self.at = (self.at + 1) % self.chunks;
        if first && !dice.one_in(3) {
            self.content = self.content.wrapping_add(1);
        }
        let universes = matches!(self.protocol, Protocol::Sacn | Protocol::ArtNet) && self.counting.0 == 1;
        let slot = if universes { index } else { 0 };
        if first || !self.counting.2 || universes {
            self.numbers[slot] = self.count(self.numbers[slot]);
        }
        self.sequence = self.numbers[slot];
        self.octets(index, dice)
    }

    fn octets(&mut self, index: usize, dice: &mut Dice) -> Vec<u8> {
        let data = vec![self.content ^ index as u8; self.chunk];
        let last = index + 1 == self.chunks;
        let offset = (index * self.chunk) as u32;
        let universe = self.id + index as u16;
        match self.protocol {
            Protocol::Sacn if last && self.sync != 0 && dice.one_in(2) => sacn_sync(self, self.sync),
            Protocol::Sacn => sacn_data(self, universe, if dice.one_in(9) { 0xdd } else { 0 }, &data),
            Protocol::ArtNet if last && dice.one_in(4) => b"Art-Net\0\x00\x52\x00\x0e\x00\x00".to_vec(),
            Protocol::ArtNet => art_dmx(self, universe, &data),
            Protocol::Ddp => ddp(self, 0x40 | u8::from(last), offset, data.len() as u16, &data),
            _ => {
                let flags = u16::from(last) | u16::from(index == 0) << 1 | 8;
                let head = [flags, index as u16, self.chunks as u16];
                bigpacket(self, head, [offset, (self.chunks * self.chunk) as u32], &data)
            }
        }
    }

    /// A datagram of this sender with fields that no honest sender writes.
    fn lie(&mut self, dice: &mut Dice) -> Vec<u8> {
        let kept = self.clone();
        self.sequence = if dice.one_in(2) { dice.u32() } else { self.sequence.wrapping_add(dice.u32()) };
        self.priority = dice.u8();
        self.sync = dice.u16();
        self.options = if dice.one_in(2) { 0x40 } else { dice.u8() };
        self.physical = dice.below(3) as u8;
        let n = dice.below(70);
        let data = dice.octets(n);
        let (universe, start_code, list) = (dice.u16(), dice.u8(), [dice.u16(), dice.u16(), 5]);
        let octets = match (self.protocol, dice.below(4)) {
            (Protocol::Sacn, 0) => sacn_sync(self, universe),
            (Protocol::Sacn, 1) => sacn_discovery(self, dice.u8(), dice.u8(), &list[..dice.below(4)]),
            (Protocol::Sacn, _) => sacn_data(self, universe, start_code, &data),
            (Protocol::ArtNet, _) => art_dmx(self, universe, &data),
            (Protocol::Ddp, form) => {
                let length = if form == 0 { dice.u16() } else { data.len() as u16 };
                let flags = if form == 1 { dice.u8() } else { 0x40 | dice.u8() & 0x11 };
                ddp(self, flags, dice.u32(), length, &data)
            }
            _ => {
                let head = [dice.u16(), dice.u16(), dice.u16()];
                bigpacket(self, head, [dice.u32(), dice.u32()], &data)
            }
        };
        let keeps_number = dice.one_in(2);
        let (numbers, sequence) = (kept.numbers.clone(), self.sequence);
        *self = kept;
        self.numbers = if keeps_number { vec![sequence; 32] } else { numbers };
        octets
    }
}

impl Dice {
    fn counting(&mut self, protocol: Protocol) -> (u32, u32, bool) {
        let step = [1, 1, 1, 1, 3, 0][self.below(6)];
        match protocol {
            Protocol::Sacn => (step, [256, 256, 255][self.below(3)], self.one_in(3)),
            Protocol::Ddp => (step, [15, 15, 16, 0][self.below(4)], self.one_in(3)),
            Protocol::ArtNet => (step, [255, 255, 256, 0][self.below(4)], self.one_in(3)),
            _ => (step, 0, true),
        }
    }

    fn link(&mut self, sender: &mut Sender) -> Link {
        if let Some(id) = &mut sender.ip_id {
            *id = id.wrapping_add(if self.one_in(30) { self.u16() } else { 1 });
        }
        let checksum = match self.below(40) {
            0 => Checksum::Bad,
            1 => Checksum::Unknown,
            2 => Checksum::Absent,
            _ => Checksum::Good,
        };
        let fragments = if self.one_in(40) { self.u16() } else { 0 };
        let vlan = self.one_in(20).then(|| self.u16());
        Link { ip_id: sender.ip_id, checksum, fragments, broadcast: self.one_in(20), vlan, ttl: Some(64) }
    }
}

fn port(protocol: Protocol) -> u16 {
    match protocol {
        Protocol::Sacn => 5568,
        Protocol::Ddp => 4048,
        Protocol::ArtNet => 6454,
        _ => 21_600,
    }
}

// ---- scripts

/// Senders that mostly do right, on a link that mostly delivers.
fn plausible(seed: u64) -> Vec<Event> {
    let dice = &mut Dice(ChaCha8Rng::seed_from_u64(seed));
    let mut time = Time::new(dice);
    let count = 1 + dice.below(5);
    let mut senders: Vec<Sender> = (0..count).map(|_| Sender::new(dice)).collect();
    let lies = [4, 20, 100, 1000][dice.below(4)];
    let loss = [5, 40, 1000][dice.below(3)];
    let wanted = 100 + dice.below(700);
    let mut events: Vec<Event> = Vec::with_capacity(wanted);
    while events.len() < wanted {
        if dice.one_in(150) {
            events.push(aside(dice, &mut time));
            continue;
        }
        let at = dice.below(senders.len());
        let sender = &mut senders[at];
        let payload = if dice.one_in(lies) { sender.lie(dice) } else { sender.send(dice) };
        let link = dice.link(sender);
        if dice.one_in(loss) {
            continue;
        }
        if dice.one_in(300) {
            *sender = Sender { source: sender.source, ..Sender::new(dice) };
        }
        let to = dice.below(sender.destinations.len());
        let mut arrival = time.next(dice);
        let mut length = payload.len() as u32;
        let mut payload = payload;
        if dice.one_in(60) {
            payload.truncate(dice.below(payload.len() + 1));
        }
        if dice.one_in(200) {
            length = length.saturating_add(dice.u32());
        }
        let (source, destination) = (sender.source, sender.destinations[to]);
        let capture = Capture { arrival, source, destination, payload, length, link };
        if dice.one_in(50) {
            arrival.packet += u64::from(arrival.packet < u64::MAX);
            events.push(Event::Datagram(Box::new(Capture { arrival, ..capture.clone() })));
        }
        events.push(Event::Datagram(Box::new(capture)));
        if dice.one_in(50) && events.len() > 3 {
            let back = 2 + dice.below(3).min(events.len() - 3);
            let n = events.len();
            events.swap(n - 1, n - back);
        }
    }
    events
}

fn aside(dice: &mut Dice, time: &mut Time) -> Event {
    if dice.one_in(2) {
        return Event::Packet(time.next(dice));
    }
    let from = dice.wild(time.now);
    let dropped = [0, 1, 1 << 31, u64::MAX / 8192][dice.below(4)];
    Event::Blind(from, dice.wild(from), dropped)
}

const GOLDEN: [(u16, &str); 4] = [
    (5568, include_str!("../vectors/sacn/golden.json")),
    (4048, include_str!("../vectors/ddp/golden.json")),
    (6454, include_str!("../vectors/artnet/golden.json")),
    (21_600, include_str!("../vectors/bigpacket/golden.json")),
];

/// Golden vectors, unchanged and mutated, and random octets.
fn scrambled(vectors: &[(u16, Vec<u8>)]) -> impl Fn(u64) -> Vec<Event> {
    move |seed| {
        let dice = &mut Dice(ChaCha8Rng::seed_from_u64(seed));
        let mut time = Time::new(dice);
        let mut sender = Sender::new(dice);
        let of = 1 + dice.below(vectors.len());
        let n = 50 + dice.below(300);
        (0..n)
            .map(|_| {
                let (port, vector) = &vectors[dice.below(of)];
                let payload = dice.scramble(vector);
                let source = SocketAddr::from(([10, 0, 0, dice.below(3) as u8], 5000));
                let ip = [[10, 0, 1, 1], [239, 255, 0, 1], [255, 255, 255, 255]][dice.below(3)];
                let length = payload.len() as u32 + u32::from(dice.one_in(30)) * dice.u32().min(1 << 30);
                let (arrival, link) = (time.next(dice), dice.link(&mut sender));
                let destination = SocketAddr::from((ip, *port));
                Event::Datagram(Box::new(Capture { arrival, source, destination, payload, length, link }))
            })
            .collect()
    }
}

impl Dice {
    fn scramble(&mut self, vector: &[u8]) -> Vec<u8> {
        if self.one_in(10) {
            let n = self.below(200);
            return self.octets(n);
        }
        let mut payload = vector.to_vec();
        for _ in 0..self.below(4) {
            let at = if self.one_in(2) { self.below(payload.len()) } else { self.below(130) };
            if let Some(octet) = payload.get_mut(at) {
                *octet = self.u8();
            }
        }
        if self.one_in(8) {
            payload.truncate(self.below(payload.len() + 1));
        }
        payload
    }
}

fn vectors() -> Vec<(u16, Vec<u8>)> {
    let octet = |hex: &str, i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
    let mut all = Vec::new();
    for (port, text) in GOLDEN {
        let list: serde_json::Value = serde_json::from_str(text).unwrap();
        for vector in list.as_array().unwrap() {
            let hex = vector["hex"].as_str().unwrap();
            all.push((port, (0..hex.len() / 2).map(|i| octet(hex, 2 * i)).collect()));
        }
    }
    all
}

// ---- laws

fn options(seed: u64) -> Options {
    let output = |protocol, stream| RigOutput {
        name: "rig".to_owned(),
        protocol,
        source: None,
        sender: None,
        streams: vec![stream, stream + 1],
        datagrams_per_frame: Some(3),
        octets_per_frame: Some(72),
        rate_mhz: Some((40_000, 20)),
        sync: Some(7),
        on_change: false,
    };
    let outputs = vec![output(Protocol::Sacn, 1), output(Protocol::ArtNet, 1), output(Protocol::Ddp, 1)];
    let rig = seed.is_multiple_of(3).then_some(Rig { outputs, severities: Vec::new() });
    Options { rig, strict: seed.is_multiple_of(2) }
}

fn run(options: &Options, events: &[Event]) -> Account {
    let mut verifier = Verifier::new(options.clone());
    for event in events {
        match event {
            Event::Datagram(c) => {
                let d = Datagram {
                    length: c.length,
                    link: c.link,
                    ..Datagram::new(c.source, c.destination, &c.payload)
                };
                verifier.on_datagram(c.arrival, &d);
            }
            Event::Packet(arrival) => verifier.on_packet(*arrival),
            Event::Blind(from, to, dropped) => {
                verifier.on_blind(Timestamp(*from), Timestamp(*to), *dropped);
            }
        }
    }
    verifier.finish()
}

fn datagrams(events: &[Event]) -> u64 {
    events.iter().filter(|e| matches!(e, Event::Datagram(_))).count() as u64
}

/// Panics with a sentence when the account breaks a law.
fn check(options: &Options, events: &[Event]) {
    let account = run(options, events);
    counts_add_up(&account, datagrams(events));
    account.streams.iter().enumerate().for_each(|(i, s)| stream_adds_up(i, s, &account));
    account.outputs.iter().enumerate().for_each(|(i, o)| output_adds_up(i, o, &account));
    findings_are_in_order(&account, options);
    let again = run(options, events);
    assert!(format!("{account:?}") == format!("{again:?}"), "the second account differs");
}

fn counts_add_up(a: &Account, fed: u64) {
    let c = &a.datagrams;
    let kinds: u64 = c.by_kind.values().sum();
    assert_eq!(c.lighting + c.other, fed, "lighting + other");
    assert_eq!(c.lighting, c.capture_duplicates + c.undecodable + kinds, "lighting");
    let damaged = a.findings.iter().filter(|f| f.code == "CAP-CHECKSUM").map(|f| f.count).sum::<u64>();
    assert_eq!(c.well_formed + c.malformed + damaged, kinds, "well-formed, malformed and damaged");
    assert!(damaged <= c.bad_checksum, "more damaged than bad checksums");
    assert!(c.cut.max(c.fragmented) <= c.lighting - c.capture_duplicates, "cut or fragmented");
    let own: u64 = a.streams.iter().map(|s| s.datagrams).sum();
    assert!(own <= kinds, "streams hold {own} datagrams of {kinds}");
    assert_eq!(a.first_ns.is_some(), a.last_ns.is_some(), "one end of time only");
    assert!(a.first_ns <= a.last_ns, "time ends before it begins");
}

fn adds_up(f: &FrameAccount) -> bool {
    f.complete.checked_add(f.torn).and_then(|n| n.checked_add(f.unterminated)) == Some(f.seen)
}

fn stream_adds_up(index: usize, s: &StreamAccount, a: &Account) {
    let (q, o) = (&s.sequence, &s.owners);
    assert!(q.lost_min <= q.lost, "stream {index}: lost_min {} of lost {}", q.lost_min, q.lost);
    let owned = o.sender + o.wire + o.observer + o.unknown;
    assert_eq!(owned, q.lost, "stream {index}: owners {o:?}");
    assert!(q.lost == q.lost_min || q.ambiguous, "stream {index}: estimated loss is not ambiguous {q:?}");
    assert!(adds_up(&s.frames), "stream {index}: {:?}", s.frames);
    assert!(s.datagrams > 0 && s.sessions > 0, "stream {index}: empty");
    assert!(q.late + q.old + q.duplicates <= s.datagrams, "stream {index}: {q:?}");
    assert!(q.restarts < s.sessions.max(1), "stream {index}: {} sessions, {q:?}", s.sessions);
    assert!(s.data_octets.0 <= s.data_octets.1, "stream {index}: octets {:?}", s.data_octets);
    assert!((1..=16).contains(&s.destinations.len()), "stream {index}: destinations");
    let kept = s.priorities.len().max(s.sync_addresses.len()).max(s.start_codes.len());
    assert!(kept <= 8, "stream {index}: {kept} kept");
    assert!(s.output.is_none_or(|o| o < a.outputs.len()), "stream {index}: output {:?}", s.output);
    let n = &s.interval_ns;
    assert!([n.min, n.p50, n.p95, n.p99, n.p999, n.max].is_sorted(), "stream {index}: {n:?}");
}

fn output_adds_up(index: usize, o: &OutputAccount, a: &Account) {
    assert!(adds_up(&o.frames), "output {index}: {:?}", o.frames);
    assert!(!o.streams.is_empty(), "output {index}: no stream");
    let unique: BTreeSet<usize> = o.streams.iter().copied().collect();
    assert_eq!(unique.len(), o.streams.len(), "output {index}: a stream twice");
    assert!(o.streams.iter().all(|s| *s < a.streams.len()), "output {index}: {:?}", o.streams);
    assert!(
        o.streams.iter().all(|s| a.streams[*s].output.is_some()),
        "output {index}: not named by its stream"
    );
}

fn findings_are_in_order(a: &Account, options: &Options) {
    assert!(a.findings.len() <= 4096 && a.streams.len() <= STREAMS_MAX, "too many");
    for (n, f) in a.findings.iter().enumerate() {
        assert_eq!(f.id, format!("f{:04}", n + 1), "ids");
        assert!(f.stream.is_none_or(|s| s < a.streams.len()), "{}: stream {:?}", f.id, f.stream);
        assert!(f.frames.len() <= 32, "{}: {} frames", f.id, f.frames.len());
        assert!(f.count > 0 && !f.text.is_empty(), "{} {}: empty", f.id, f.code);
        assert!(f.frames.is_sorted(), "{} {}: frames {:?}", f.id, f.code, f.frames);
        assert!(!options.strict || f.severity != Severity::Warning, "{}: a warning in strict", f.code);
    }
}

// ---- the run of runs

thread_local! {
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
    static QUIET: RefCell<bool> = const { RefCell::new(false) };
}

/// The panic message with its place, or nothing. Keeps the panic off the screen.
fn failure(options: &Options, events: &[Event]) -> Option<String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.with(|q| *q.borrow()) {
                MESSAGE.with(|m| *m.borrow_mut() = Some(info.to_string()));
            } else {
                usual(info);
            }
        }));
    });
    QUIET.with(|q| *q.borrow_mut() = true);
    let failed = catch_unwind(AssertUnwindSafe(|| check(options, events))).is_err();
    QUIET.with(|q| *q.borrow_mut() = false);
    failed.then(|| MESSAGE.with(|m| m.borrow_mut().take()).unwrap_or_default())
}

/// The place of a panic without the numbers of its message.
fn place(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// Leaves events out as long as the same place goes on failing.
fn shrink(options: &Options, mut events: Vec<Event>, message: &str) -> Vec<Event> {
    let fails = |e: &[Event]| failure(options, e).is_some_and(|m| place(&m) == place(message));
    let mut size = events.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < events.len() {
            let mut fewer = events.clone();
            fewer.drain(at..(at + size).min(events.len()));
            if fails(&fewer) { events = fewer } else { at += size }
        }
        size /= 2;
    }
    events
}

fn show(event: &Event) -> String {
    let Event::Datagram(c) = event else { return format!("{event:?}") };
    let hex: String = c.payload.iter().map(|o| format!("{o:02x}")).collect();
    let (at, n) = (c.arrival.at.0, c.arrival.packet);
    let hex = hex.replace(&"0".repeat(80), "[0 x40]");
    format!("#{n} {at} {} > {} length {} {:?} {hex}", c.source, c.destination, c.length, c.link)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| v.parse().expect("a whole number"))
}

/// Runs scripts of consecutive seeds until enough datagrams were fed; every distinct failure is told.
fn hammer(test: &str, share: u64, make: impl Fn(u64) -> Vec<Event>) {
    let first = setting("WIREPROOF_FUZZ_SEED", SEED);
    let wanted = setting("WIREPROOF_FUZZ_N", DATAGRAMS).div_ceil(share);
    let (mut fed, mut seed, mut failing) = (0, first, 0_u64);
    let (mut places, mut told) = (BTreeSet::new(), Vec::new());
    while fed < wanted {
        let (options, events) = (options(seed), make(seed));
        fed += datagrams(&events);
        if let Some(message) = failure(&options, &events) {
            failing += 1;
            if places.insert(place(&message).to_owned()) && places.len() <= 8 {
                let events = shrink(&options, events, &message);
                let message = failure(&options, &events).unwrap_or(message);
                let lines: Vec<String> = events.iter().take(40).map(show).collect();
                let n = events.len();
                told.push(format!("seed {seed}: {message}\n{n} events:\n{}", lines.join("\n")));
            }
        }
        seed = seed.wrapping_add(1);
    }
    println!("{test}: {fed} datagrams from seed {first} on, each twice");
    assert!(told.is_empty(), "{failing} runs of {} fail:\n{}", seed - first, told.join("\n\n"));
}

#[test]
fn plausible_streams_with_mutated_fields_keep_every_law() {
    hammer("plausible", 2, plausible);
}

#[test]
fn golden_vectors_mutated_or_not_and_random_octets_keep_every_law() {
    let vectors = vectors();
    hammer("scrambled", 2, scrambled(&vectors));
}
