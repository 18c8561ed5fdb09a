//! From `wire_send` to the arrival: each datagram that was seen goes to the send of the device's record that it belongs
//! to, by time and by its number. A match that is not the only one is none, and an order that the clocks do not tell is
//! left open.

use super::clock::{Clock, TimeLine};
use super::mapping::{self, Slot};
use super::outside;
use super::record::{DeviceRecord, Life};
use super::settle::TRAVEL_NS;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::IpAddr;
use wireproof_protocols::Protocol;
use wireproof_protocols::layout::{Layout, Scope, Step};
use wireproof_protocols::verify::Account;
use wireproof_recorder::analysis::quantiles::Quantiles;
use wireproof_recorder::offset::{Order, order};

/// Times from a point of the send to an arrival, ns; a negative one is before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// Median.
    pub p50: i64,
    /// 95 of 100 are no longer.
    pub p95: i64,
    /// The longest.
    pub max: i64,
    /// Frames whose order cannot be told: the two are closer than the clocks are known.
    pub order_open: u64,
    /// Frames whose arrival came first for certain.
    pub before: u64,
}

/// What became of one output's frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputDelays {
    /// Name of the output in the device's record.
    pub output: String,
    /// Its protocol.
    pub protocol: String,
    /// Frames that arrived whole: what the times rest on.
    pub frames: u64,
    /// Frames of the record of which some datagrams, or all, found no send of their own.
    pub incomplete: u64,
    /// Datagrams that more than one send may have been.
    pub ambiguous: u64,
    /// The record went on for longer than sends are kept: later frames have no part in this.
    pub cut_short: bool,
    /// From the start of `wire_send` to the first arrival of the frame.
    pub start_to_first_ns: Delay,
    /// From its start to the last.
    pub start_to_last_ns: Delay,
    /// From its end to the first.
    pub end_to_first_ns: Delay,
    /// From its end to the last.
    pub end_to_last_ns: Delay,
    /// How far a time may be off: half of the frames no further than this, ns.
    pub uncertainty_p50_ns: u64,
    /// The most that any is, ns.
    pub uncertainty_max_ns: u64,
}

/// Stamps between which an instant of the device lies.
type Between = (i64, i64);

/// A send and what was seen of it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: Between,
    end: Between,
    number: u16,
    count: u64,
    seen: u64,
    first: i64,
    last: i64,
}

/// The sends of one output in one life of the device, in order of time.
#[derive(Debug)]
struct Lane {
    name: String,
    protocol: Protocol,
    sends: Vec<Sent>,
    ambiguous: u64,
    cut_short: bool,
    /// The longest span of stamps of a send, travel included, ns.
    widest: i64,
}

/// Who sends a stream, as far as a datagram shows it.
type Key = (Protocol, IpAddr, u32);

/// Matches arrivals with sends.
#[derive(Debug, Default)]
pub struct Delays {
    lanes: Vec<Lane>,
    /// Lanes of a stream, each with the place in the frame.
    streams: HashMap<Key, Vec<(usize, Option<u16>)>>,
}

impl Delays {
    /// Sends of a record, with the streams they belong to.
    pub fn new(account: &Account, record: &DeviceRecord, clock: &Clock) -> Delays {
        let mut delays = Delays::default();
        for life in record.lives() {
            let Some(line) = clock.of(life) else { continue };
            let (Some(first), Some(last)) = (life.runs.first(), life.runs.last()) else { continue };
            let stamps = outside(&line, (first.ns.0, last.ns.1));
            delays.add(account, life, &line, &mapping::slots(account, life, stamps));
        }
        delays
    }

    fn add(&mut self, account: &Account, life: &Life, line: &TimeLine<'_>, slots: &[Slot]) {
        let mut of_device: HashMap<u16, usize> = HashMap::new();
        for slot in slots {
            let Some(stream) = account.streams.get(slot.stream) else { continue };
            let lane = *of_device.entry(slot.device).or_insert_with(|| {
                self.lanes.push(lane(life, line, slot.device, stream.protocol));
                self.lanes.len() - 1
            });
            let own =
                self.streams.entry((stream.protocol, stream.source.ip(), stream.stream_id)).or_default();
            if !own.contains(&(lane, slot.place)) {
                own.push((lane, slot.place));
            }
        }
    }

    /// Takes an arrival: its stamp, who sent it, its stream and its number.
    pub fn arrival(
        &mut self,
        at_ns: i64,
        protocol: Protocol,
        source: IpAddr,
        stream: u32,
        number: Option<u32>,
    ) {
        let (Some(lanes), Some(number)) = (self.streams.get(&(protocol, source, stream)), number) else {
            return;
        };
        let mut found = None;
        for (lane, place) in lanes {
            let Some(of) = self.lanes.get(*lane) else { continue };
            for at in of.near(at_ns) {
                let fits = of.sends.get(at).is_some_and(|sent| sent.fits(at_ns, protocol, *place, number));
                match found {
                    _ if !fits => {}
                    None => found = Some((*lane, at)),
                    Some((first, _)) => {
                        self.lanes.get_mut(first).into_iter().for_each(|lane| lane.ambiguous += 1);
                        return;
                    }
                }
            }
        }
        let sent = found.and_then(|(lane, at)| self.lanes.get_mut(lane)?.sends.get_mut(at));
        sent.into_iter().for_each(|sent| sent.see(at_ns));
    }

    /// What each output's frames took; outputs of which nothing was seen are left out.
    pub fn finish(self) -> Vec<OutputDelays> {
        let met = |lane: &&Lane| lane.ambiguous > 0 || lane.sends.iter().any(|sent| sent.seen > 0);
        self.lanes.iter().filter(met).map(Lane::told).collect()
    }
}

fn lane(life: &Life, line: &TimeLine<'_>, device: u16, protocol: Protocol) -> Lane {
    let sends: Vec<Sent> = life
        .sends
        .range((device, 0)..=(device, u64::MAX))
        .map(|((_, start_ns), send)| Sent {
            start: line.stamps(*start_ns),
            end: line.stamps(send.end_ns),
            number: send.number,
            count: send.count,
            seen: 0,
            first: i64::MAX,
            last: i64::MIN,
        })
        .collect();
    let name = life.tables.devices.iter().find(|d| d.id == device).map(|d| d.name.clone());
    let widest = sends.iter().map(|sent| sent.to().saturating_sub(sent.from())).max().unwrap_or_default();
    let name = name.unwrap_or_else(|| format!("device {device}"));
    Lane { name, protocol, sends, ambiguous: 0, cut_short: life.sends_full, widest }
}

impl Lane {
    /// Places of the sends that a stamp may belong to.
    fn near(&self, at_ns: i64) -> std::ops::Range<usize> {
        let least = at_ns.saturating_sub(self.widest);
        let from = self.sends.partition_point(|sent| sent.from() < least);
        from..self.sends.partition_point(|sent| sent.from() <= at_ns).max(from)
    }

    fn told(&self) -> OutputDelays {
        let whole: Vec<&Sent> = self.sends.iter().filter(|s| s.count > 0 && s.seen == s.count).collect();
        let of = |point: fn(&Sent) -> Between, arrival: fn(&Sent) -> i64| {
            delay(whole.iter().map(|sent| (point(sent), arrival(sent))))
        };
        let off = Quantiles::of(whole.iter().map(|sent| half(sent.start).max(half(sent.end))));
        OutputDelays {
            output: self.name.clone(),
            protocol: self.protocol.name().to_owned(),
            frames: whole.len() as u64,
            incomplete: (self.sends.len() - whole.len()) as u64,
            ambiguous: self.ambiguous,
            cut_short: self.cut_short,
            start_to_first_ns: of(|s| s.start, |s| s.first),
            start_to_last_ns: of(|s| s.start, |s| s.last),
            end_to_first_ns: of(|s| s.end, |s| s.first),
            end_to_last_ns: of(|s| s.end, |s| s.last),
            uncertainty_p50_ns: off.p50,
            uncertainty_max_ns: off.max,
        }
    }
}

impl Sent {
    /// First stamp that may be one of it: a clock that is wrong by a little has to show as an arrival too early.
    fn from(&self) -> i64 {
        self.start.0.saturating_sub(TRAVEL_NS)
    }

    fn to(&self) -> i64 {
        self.end.1.saturating_add(TRAVEL_NS)
    }

    fn fits(&self, at_ns: i64, protocol: Protocol, place: Option<u16>, number: u32) -> bool {
        let in_time = (self.from()..=self.to()).contains(&at_ns);
        in_time && self.seen < self.count && has_number(protocol, place, self.number, self.count, number)
    }

    fn see(&mut self, at_ns: i64) {
        self.seen += 1;
        self.first = self.first.min(at_ns);
        self.last = self.last.max(at_ns);
    }
}

/// Whether a frame whose first datagram has the number `first` holds a datagram with this number.
fn has_number(protocol: Protocol, place: Option<u16>, first: u16, count: u64, number: u32) -> bool {
    let first = u32::from(first);
    match protocol {
        Protocol::BigPacket => number & 0xffff == first,
        Protocol::Ddp => {
            // 1 to 15, and once around.
            let behind = (number + 15).wrapping_sub(first) % 15;
            (1..=15).contains(&number) && u64::from(behind) < count
        }
        // Each universe counts for itself, and all of a frame alike.
        Protocol::Sacn | Protocol::ArtNet => {
            place.is_none_or(|place| u64::from(place) < count) && number & 0xff == first & 0xff
        }
        Protocol::Layout(id) => is_declared_number(&id.table().layout, place, first, count, number),
        Protocol::Kinet => false,
    }
}

/// The same of a declared protocol, whose number the ring keeps the low 16 bits of.
fn is_declared_number(layout: &Layout, place: Option<u16>, first: u32, count: u64, number: u32) -> bool {
    let Some(sequence) = &layout.sequence else { return false };
    let by_stream = !layout.has_chunks();
    if by_stream && place.is_some_and(|place| u64::from(place) >= count) {
        return false;
    }
    if sequence.step == Step::Frame || (by_stream && sequence.scope == Scope::Stream) {
        return number & 0xffff == first;
    }
    let cycle = (i64::from(sequence.last) - i64::from(sequence.first) + 1).min(0x1_0000);
    let behind = (i64::from(number & 0xffff) - i64::from(first)).rem_euclid(cycle);
    u64::try_from(behind).is_ok_and(|behind| behind < count)
}

/// Half of the width: how far the middle may be off, ns.
fn half((from, to): Between) -> u64 {
    to.abs_diff(from).div_ceil(2)
}

fn delay(pairs: impl Iterator<Item = (Between, i64)> + Clone) -> Delay {
    let middle = |(from, to): Between| from.saturating_add((to.abs_diff(from) / 2) as i64);
    let found = Quantiles::of(pairs.clone().map(|(point, at)| at.saturating_sub(middle(point))));
    let count = |which: Order| pairs.clone().filter(|(point, at)| order(*point, *at) == which).count() as u64;
    Delay {
        p50: found.p50,
        p95: found.p95,
        max: found.max,
        order_open: count(Order::Open),
        before: count(Order::BenchFirst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_layout_belongs_to_the_frame_as_the_layout_counts() {
        use wireproof_protocols::layout::Layouts;
        let chunked = |step: &str, more: &str| {
            format!(
                "name = \"x\"\nheader_len = 8\n[match]\nudp_dst = [7]\n\
                 [[field]]\nname = \"n\"\nat = 0\nsize = 4\nrole = \"{step}\"\n\
                 [[field]]\nname = \"i\"\nat = 4\nsize = 1\nrole = \"packet_index\"\n{more}"
            )
        };
        let universes = "name = \"u\"\nheader_len = 8\n[match]\nudp_dst = [7]\n\
             [[field]]\nname = \"n\"\nat = 0\nsize = 4\nrole = \"packet_seq\"\n\
             [[field]]\nname = \"s\"\nat = 4\nsize = 2\nrole = \"stream_id\"\n";
        let (frames, packets) = (chunked("frame_seq", ""), chunked("packet_seq", ""));
        let short = chunked("packet_seq", "[sequence]\nfirst = 1\nlast = 10\n");
        for (text, place, first, count, number, fits) in [
            (frames.as_str(), 3, 7, 6, 0x1_0007, true),
            (&frames, 3, 7, 6, 8, false),
            (&packets, 3, 65_534, 6, 3, true),
            (&packets, 3, 65_534, 6, 4, false),
            (&packets, 3, 7, 6, 0x5_000c, true),
            (&short, 3, 9, 4, 2, true),
            (&short, 3, 9, 4, 3, false),
            (universes, 3, 7, 4, 7, true),
            (universes, 4, 7, 4, 7, false),
            (universes, 3, 7, 4, 8, false),
        ] {
            let layouts = Layouts::new(vec![Layout::read(text).unwrap()]).unwrap();
            let protocol = wireproof_protocols::Decoder::protocol(&layouts.decoders()[0]);
            let has = has_number(protocol, Some(place), first, count, number);
            assert_eq!(has, fits, "{text} {place} {first} {number}");
        }
    }

    #[test]
    fn a_number_belongs_to_the_frame_that_counts_over_it() {
        for (protocol, first, count, number, fits) in [
            (Protocol::BigPacket, 7, 6, 0x1_0007, true),
            (Protocol::BigPacket, 7, 6, 8, false),
            (Protocol::Ddp, 13, 6, 3, true),
            (Protocol::Ddp, 13, 6, 4, false),
            (Protocol::Ddp, 13, 6, 12, false),
            (Protocol::Ddp, 1, 15, 15, true),
            (Protocol::Ddp, 1, 6, 0, false),
            (Protocol::Sacn, 0x1ff, 12, 255, true),
            (Protocol::Sacn, 5, 12, 6, false),
        ] {
            assert_eq!(
                has_number(protocol, Some(3), first, count, number),
                fits,
                "{protocol:?} {first} {number}"
            );
        }
        assert!(!has_number(Protocol::Sacn, Some(12), 5, 12, 5), "a place that was not sent");
    }

    #[test]
    fn an_order_within_the_uncertainty_is_left_open() {
        let pairs = [((90, 110), 111), ((90, 110), 110), ((90, 110), 90), ((90, 110), 89)];
        let found = delay(pairs.into_iter());
        assert_eq!((found.order_open, found.before), (2, 1));
        assert_eq!((found.p50, found.p95, found.max), (-10, 11, 11));
    }
}
