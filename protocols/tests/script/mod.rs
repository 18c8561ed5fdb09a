//! Scripts: a few hundred arrivals made from one seed.

mod dice;
mod sender;
mod steady;
mod time;

use dice::Dice;
use sender::Sender;
use std::net::SocketAddr;
pub(crate) use steady::steady;
use time::Time;
use wireproof_protocols::{Arrival, Link, Timestamp};

/// One call of the verifier.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Datagram(Box<Capture>),
    Packet(Arrival),
    Blind(i64, i64, u64),
}

impl Event {
    /// The capture time; what is told of blind times has none.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        match self {
            Event::Datagram(c) => Some(c.arrival.at),
            Event::Packet(arrival) => Some(arrival.at),
            Event::Blind(..) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) arrival: Arrival,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) payload: Vec<u8>,
    pub(crate) length: u32,
    pub(crate) link: Link,
}

/// Senders that mostly do right, on a link that mostly delivers.
pub(crate) fn plausible(seed: u64) -> Vec<Event> {
    let dice = &mut Dice::new(seed);
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
            let source = sender.source;
            *sender = Sender::new(dice);
            sender.source = source;
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
    (5568, include_str!("../../vectors/sacn/golden.json")),
    (4048, include_str!("../../vectors/ddp/golden.json")),
    (6454, include_str!("../../vectors/artnet/golden.json")),
    (21_600, include_str!("../../vectors/bigpacket/golden.json")),
];

/// Golden vectors, unchanged and mutated, and random octets.
pub(crate) fn scrambled(vectors: &[(u16, Vec<u8>)]) -> impl Fn(u64) -> Vec<Event> {
    move |seed| {
        let dice = &mut Dice::new(seed);
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

pub(crate) fn vectors() -> Vec<(u16, Vec<u8>)> {
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
