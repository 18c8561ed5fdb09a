//! A rig at work: the same headers in the same order, frame by frame, and now and then one thing that is otherwise.

use super::dice::Dice;
use super::time::{MS, SECOND};
use super::{Capture, Event};
use crate::wire::{self, SacnData};
use std::net::SocketAddr;
use wireproof_protocols::{Arrival, Checksum, Link, Protocol, Timestamp};

/// Pauses between two frames, ns; the clock is set back in one.
const PAUSES: [i64; 7] = [5 * MS, 40 * MS, 300 * MS, SECOND, 3 * SECOND, 3_600 * SECOND, -20 * MS];

/// One stream, or one display.
struct Line {
    protocol: Protocol,
    source: SocketAddr,
    destination: SocketAddr,
    stream: u16,
    number: u32,
    /// Datagrams of a frame.
    chunks: u32,
    octets: usize,
    priority: u8,
    sync: u16,
    options: u8,
    /// Number of the line's host, for its IP id.
    host: usize,
}

/// How hosts number their IP datagrams.
#[derive(Clone, Copy)]
enum Ids {
    Counting,
    Zero,
    Same,
    None,
}

/// Frames of a few lines, in which one datagram of 20, 200 or 2,000 is otherwise.
pub(crate) fn steady(seed: u64) -> Vec<Event> {
    let dice = &mut Dice::new(seed);
    let mut lines: Vec<Line> = (0..1 + dice.below(6)).map(|i| Line::new(i, dice)).collect();
    let often = [20, 200, 2_000][dice.below(3)];
    let period = [25 * MS, 16_666_667, 100 * MS][dice.below(3)];
    let jitter = [1, 1_000, 200_000][dice.below(3)];
    let ids = [Ids::Counting, Ids::Counting, Ids::Zero, Ids::Same, Ids::None][dice.below(5)];
    let mut sent = [0u16; 3];
    let (mut start, mut packet, mut picture) = (1_700_000_000 * SECOND, 0, 0u8);
    let (mut events, wanted) = (Vec::new(), 300 + dice.below(1_500));
    while events.len() < wanted {
        start += period + if dice.one_in(often) { PAUSES[dice.below(PAUSES.len())] } else { 0 };
        picture = picture.wrapping_add(u8::from(!dice.one_in(often / 4)));
        let mut at = start;
        for line in &mut lines {
            for chunk in 0..line.chunks {
                at += 5_000 + dice.below(jitter) as i64;
                packet += 1;
                sent[line.host] = sent[line.host].wrapping_add(1);
                let link = link(ids, sent[line.host]);
                let payload = line.payload(chunk, picture);
                let arrival = Arrival { at: Timestamp(at), packet };
                let (source, destination) = (line.source, line.destination);
                let length = payload.len() as u32;
                let mut capture = Capture { arrival, source, destination, payload, length, link };
                if dice.one_in(often) {
                    line.otherwise(dice, &mut capture, &mut events);
                } else {
                    events.push(Event::Datagram(Box::new(capture)));
                }
            }
        }
    }
    events
}

fn link(ids: Ids, sent: u16) -> Link {
    let ip_id = match ids {
        Ids::Counting => Some(sent),
        Ids::Zero => Some(0),
        Ids::Same => Some(7),
        Ids::None => None,
    };
    let checksum_field = sent.wrapping_mul(0x9e37) | 1;
    Link { ip_id, checksum: Checksum::Good, checksum_field, ttl: Some(64), ..Link::default() }
}

impl Line {
    fn new(at: usize, dice: &mut Dice) -> Line {
        let protocol = [Protocol::Sacn, Protocol::Sacn, Protocol::ArtNet, Protocol::Ddp][dice.below(4)];
        let port = match protocol {
            Protocol::Sacn => 5568,
            Protocol::ArtNet => 6454,
            _ => 4048,
        };
        let host = dice.below(3);
        let source = SocketAddr::from(([10, 0, 0, host as u8 + 1], port));
        // Now and then two senders of one universe, or of one display.
        let stream = if dice.one_in(12) { 1 } else { at as u16 + 1 };
        let group = [[10, 0, 1, stream as u8], [239, 255, 0, stream as u8]]
            [usize::from(protocol == Protocol::Sacn && dice.one_in(2))];
        let octets = [3 * 80, 510, 512, 3 * 480, 6][dice.below(5)];
        let universe = protocol != Protocol::Ddp;
        Line {
            protocol,
            source,
            destination: SocketAddr::from((group, port)),
            stream,
            number: dice.below(200) as u32,
            chunks: if universe { 1 } else { [1, 2, 4, 6][dice.below(4)] },
            octets: if universe { octets.min(512) } else { octets / 6 * 6 },
            priority: 100,
            sync: if dice.one_in(10) { 9 } else { 0 },
            options: 0,
            host,
        }
    }

    fn payload(&mut self, chunk: u32, picture: u8) -> Vec<u8> {
        self.number += 1;
        let data: Vec<u8> = (0..self.octets).map(|i| (i as u8).wrapping_mul(7) ^ picture).collect();
        match self.protocol {
            Protocol::Sacn => SacnData {
                cid: [0x20 | self.host as u8; 16],
                name: b"steady",
                priority: self.priority,
                sync: self.sync,
                number: self.number as u8,
                options: self.options,
                universe: self.stream,
                start_code: 0,
            }
            .octets(&data),
            Protocol::ArtNet => wire::art_dmx((self.number % 255) as u8 + 1, 0, self.stream, &data),
            _ => {
                let push = u8::from(chunk + 1 == self.chunks);
                let head = [0x40 | push, (self.number % 15) as u8 + 1, 1];
                wire::ddp(head, chunk * self.octets as u32, self.octets as u16, &data)
            }
        }
    }

    /// One thing that is otherwise, about the datagram, the line from here on, or the capture.
    fn otherwise(&mut self, dice: &mut Dice, c: &mut Capture, events: &mut Vec<Event>) {
        let n = c.payload.len();
        match dice.below(18) {
            0 | 1 => return,
            2 => self.number += dice.below(300) as u32,
            3 => c.payload[dice.below(n.min(130))] = dice.u8(),
            4 => c.payload.truncate(dice.below(n)),
            5 => c.link.checksum = [Checksum::Bad, Checksum::Absent, Checksum::Unknown][dice.below(3)],
            6 => c.link.fragments = 3,
            7 => c.link.broadcast = true,
            8 => c.link.ip_id = [None, Some(dice.u8().into())][dice.below(2)],
            9 => c.source.set_port(c.source.port() + dice.below(2) as u16 + 1),
            10 => self.source.set_port(self.source.port() ^ 1),
            11 => c.destination = SocketAddr::from(([10, 0, 9, 9], c.destination.port())),
            12 => self.priority = [90, 100, 120][dice.below(3)],
            13 => self.options ^= [0x40, 0x20][dice.below(2)],
            14 => c.length += 9,
            15 => events.push(Event::Datagram(Box::new(c.clone()))),
            16 => {
                let at = c.arrival.at.0;
                events.push(Event::Blind(at - MS, at, 1));
            }
            _ => self.number = self.number.saturating_sub(dice.below(4) as u32),
        }
        events.push(Event::Datagram(Box::new(c.clone())));
        let n = events.len();
        if n > 3 && dice.one_in(4) {
            events.swap(n - 1, n - 2 - dice.below(2));
        }
    }
}
