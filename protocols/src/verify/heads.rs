//! Headers that came before: what a datagram says, known without decoding it, when it differs from one that came before
//! in nothing but its number and its data.
//!
//! Owns which header followed which: lighting traffic is cyclic. Never decides what a header means; that was read once,
//! by a decoder, and is what the header stands for.

use super::soon;
use crate::sacn::wire;
use crate::{Datagram, Protocol, artnet, ddp};
use std::collections::HashMap;
use std::net::SocketAddr;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Headers kept, in 4 MiB with their table; datagrams with further ones are decoded.
const HEADS_MAX: usize = 16_384;
/// Headers from which on what belongs to the next ones is fetched ahead: fewer fit the second cache.
const MANY: usize = 512;
/// How far ahead a header, what it points to, and what that points to are fetched.
const DISTANCES: [usize; 3] = [8, 5, 2];
/// Octets of a header and where its number stands, by protocol.
const SACN: (usize, usize) = (wire::DATA_HEAD, wire::DATA_SEQUENCE_AT);
const ART_NET: (usize, usize) = (artnet::LEVELS_HEADER, artnet::SEQUENCE_AT);
const DDP: (usize, usize) = (ddp::HEADER, ddp::SEQUENCE_AT);
/// Octets of the longest header.
const LONGEST: usize = SACN.0;

/// Headers, and what each stands for.
#[derive(Debug)]
pub(crate) struct Heads<T> {
    list: Vec<Head<T>>,
    /// Of each header the one that followed it the last time.
    next: Vec<u32>,
    by_print: HashMap<u64, usize>,
    last: usize,
    /// The header of the newest datagram was found where it was expected.
    met: bool,
    /// Headers that come soon: the last of them is fetched, the others are by then.
    scouts: [Scout; 3],
}

/// A header some places after the newest one.
#[derive(Clone, Copy, Debug, Default)]
struct Scout {
    at: usize,
    ahead: usize,
}

impl Scout {
    /// The newest header is the next one: so is this, and one further until it is far enough ahead.
    #[inline(always)]
    fn go_on(&mut self, next: &[u32], distance: usize) {
        let after = |at: usize| next.get(at).map_or(0, |next| *next as usize);
        self.at = after(self.at);
        if self.ahead < distance {
            self.at = after(self.at);
            self.ahead += 1;
        }
    }
}

/// A header without its number, and everything around it that its decoder looks at.
///
/// Three lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Head<T> {
    from_to: FromTo,
    length: u32,
    protocol: Known,
    broadcast: bool,
    octets: [u8; LONGEST],
    stands_for: T,
}

/// Source and destination.
#[derive(Debug, PartialEq, Eq)]
enum FromTo {
    /// Address and port of each as one number.
    V4(u64, u64),
    Other(Box<(SocketAddr, SocketAddr)>),
}

/// Protocols whose headers are kept.
#[derive(Clone, Copy, Debug)]
enum Known {
    Sacn,
    ArtNet,
    Ddp,
}

impl FromTo {
    fn of(d: &Datagram<'_>) -> FromTo {
        match (number(d.source), number(d.destination)) {
            (Some(source), Some(destination)) => FromTo::V4(source, destination),
            _ => FromTo::Other(Box::new((d.source, d.destination))),
        }
    }

    #[inline(always)]
    fn is_of(&self, d: &Datagram<'_>) -> bool {
        match self {
            FromTo::V4(from, to) => Some(*to) == number(d.destination) && Some(*from) == number(d.source),
            FromTo::Other(both) => **both == (d.source, d.destination),
        }
    }
}

/// Address and port of IPv4 as one number.
#[inline(always)]
fn number(address: SocketAddr) -> Option<u64> {
    let SocketAddr::V4(v4) = address else { return None };
    Some(u64::from(v4.ip().to_bits()) << 16 | u64::from(v4.port()))
}

impl<T> Default for Heads<T> {
    fn default() -> Self {
        Heads {
            list: Vec::new(),
            next: Vec::new(),
            by_print: HashMap::new(),
            last: 0,
            met: false,
            scouts: [Scout::default(); 3],
        }
    }
}

impl<T> Heads<T> {
    /// What the header of this datagram stands for, the number on the wire, and the data; `None` when it is not the header
    /// that followed the last one before.
    #[inline(always)]
    pub(crate) fn expected<'a>(&mut self, d: &Datagram<'a>) -> Option<(&T, u32, &'a [u8])> {
        self.met = false;
        let next = *self.next.get(self.last)? as usize;
        let head = self.list.get(next)?;
        let (number, data) = head.read(d)?;
        (self.last, self.met) = (next, true);
        if self.list.len() >= MANY {
            for (scout, distance) in self.scouts.iter_mut().zip(DISTANCES) {
                scout.go_on(&self.next, distance);
            }
            if let Some(head) = self.list.get(self.scouts[0].at) {
                soon::fetch_all(head);
            }
        }
        Some((&head.stands_for, number, data))
    }

    /// What the header stands for that comes so many stages before the newest one: what belongs to it can be fetched.
    #[inline(always)]
    pub(crate) fn soon(&self, stage: usize) -> Option<&T> {
        if self.list.len() < MANY {
            return None;
        }
        self.list.get(self.scouts[stage].at).map(|head| &head.stands_for)
    }

    /// Keeps the header of a datagram about which its decoder has nothing to say, unless it was found where it was expected.
    #[inline]
    pub(crate) fn keep(
        &mut self,
        d: &Datagram<'_>,
        protocol: Protocol,
        stands_for: impl FnOnce() -> Option<T>,
    ) {
        if !self.met
            && let Some(stands_for) = stands_for()
        {
            self.place(d, protocol, stands_for);
        }
    }

    #[inline(never)]
    fn place(&mut self, d: &Datagram<'_>, protocol: Protocol, stands_for: T) {
        let Some(head) = Head::of(d, protocol, stands_for) else { return };
        let print = head.print();
        let index = self.by_print.get(&print).copied().unwrap_or(self.list.len());
        match self.list.get_mut(index) {
            Some(known) => *known = head,
            None if index >= HEADS_MAX => return,
            None => {
                self.by_print.insert(print, index);
                self.list.push(head);
                self.next.push(0);
            }
        }
        if let (Some(last), Ok(index)) = (self.next.get_mut(self.last), u32::try_from(index)) {
            *last = index;
        }
        self.last = index;
        self.scouts = [Scout { at: index, ahead: 0 }; 3];
    }
}

impl<T> Head<T> {
    fn of(d: &Datagram<'_>, protocol: Protocol, stands_for: T) -> Option<Self> {
        let (protocol, (length, number)) = match protocol {
            Protocol::Sacn => (Known::Sacn, SACN),
            Protocol::ArtNet => (Known::ArtNet, ART_NET),
            Protocol::Ddp => (Known::Ddp, DDP),
            _ => return None,
        };
        let mut octets = [0; LONGEST];
        octets.get_mut(..length)?.copy_from_slice(d.payload.get(..length)?);
        octets[number] = 0;
        let (from_to, length, broadcast) = (FromTo::of(d), d.length, d.link.broadcast);
        Some(Head { from_to, length, protocol, broadcast, octets, stands_for })
    }

    /// The number and the data of a datagram with this header, captured whole, whose number is one that the decoder has
    /// nothing to say about.
    #[inline(always)]
    fn read<'a>(&self, d: &Datagram<'a>) -> Option<(u32, &'a [u8])> {
        let around = self.from_to.is_of(d) && self.length == d.length && self.broadcast == d.link.broadcast;
        if !around || d.payload.len() != d.len() {
            return None;
        }
        match self.protocol {
            Known::Sacn => self.compare::<{ SACN.0 }, { SACN.1 }>(d.payload, 0..=255),
            Known::ArtNet => self.compare::<{ ART_NET.0 }, { ART_NET.1 }>(d.payload, 1..=255),
            Known::Ddp => self.compare::<{ DDP.0 }, { DDP.1 }>(d.payload, 1..=15),
        }
    }

    #[inline(always)]
    fn compare<'a, const LENGTH: usize, const NUMBER: usize>(
        &self,
        payload: &'a [u8],
        numbers: std::ops::RangeInclusive<u8>,
    ) -> Option<(u32, &'a [u8])> {
        let (head, data) = payload.split_first_chunk::<LENGTH>()?;
        let own: &[u8; LENGTH] = self.octets.first_chunk()?;
        let same = own[..NUMBER] == head[..NUMBER] && own[NUMBER + 1..] == head[NUMBER + 1..];
        (same && numbers.contains(&head[NUMBER])).then(|| (u32::from(head[NUMBER]), data))
    }

    /// A number for the table.
    fn print(&self) -> u64 {
        let address = |a: SocketAddr| match a {
            SocketAddr::V4(v4) => u64::from(u32::from(*v4.ip())) << 16 | u64::from(v4.port()),
            SocketAddr::V6(v6) => xxh3_64_with_seed(&v6.ip().octets(), v6.port().into()),
        };
        let (from, to) = match &self.from_to {
            FromTo::V4(from, to) => (*from, *to),
            FromTo::Other(both) => (address(both.0), address(both.1)),
        };
        let around = from.rotate_left(17) ^ to;
        xxh3_64_with_seed(&self.octets, around ^ u64::from(self.length) << 48)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::plain;
    use crate::registry::tests::{artnet, ddp, sacn};

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    /// Whatever octet has whatever value: a header that is known says what a decoder says that has no fault to tell.
    #[test]
    fn a_header_that_is_known_says_what_the_decoder_says() {
        let mut known = 0;
        for (whole, port) in [(sacn(), 5568), (ddp(), 4048), (artnet(), 6454)] {
            let first = Datagram::new(at(port), at(port), &whole);
            let said = plain(&first).unwrap();
            let head = Head::of(&first, said.kind.protocol, ()).unwrap();
            for (place, value) in (0..whole.len()).flat_map(|place| (0..=255u8).map(move |v| (place, v))) {
                let mut payload = whole.clone();
                payload[place] = value;
                let d = Datagram::new(at(port), at(port), &payload);
                let Some((number, data)) = head.read(&d) else { continue };
                known += 1;
                let says = plain(&d).map(|pdu| format!("{pdu:?}"));
                let expected = crate::Pdu { sequence: Some(number), data, ..said };
                assert_eq!(says, Some(format!("{expected:?}")), "{port}: octet {place} is {value}");
            }
        }
        assert!(known > 100_000, "{known}");
    }

    #[test]
    fn what_is_around_the_header_belongs_to_it() {
        let (payload, longer) = (artnet(), [artnet(), vec![1]].concat());
        let d = Datagram::new(at(6454), at(6454), &payload);
        let head = Head::of(&d, Protocol::ArtNet, ()).unwrap();
        assert!(head.read(&d).is_some());
        let mut others = [d; 6];
        others[0].source = at(6455);
        others[1].destination = SocketAddr::from(([10, 0, 0, 2], 6454));
        others[2].link.broadcast = true;
        others[3].length += 1;
        others[4].payload = &payload[..payload.len() - 1];
        others[5] = Datagram { payload: &longer, ..d };
        assert!(others.iter().all(|d| head.read(d).is_none()));
    }

    #[test]
    fn headers_are_expected_in_the_order_in_which_they_came_before() {
        let payloads: Vec<Vec<u8>> =
            (0..4).map(|id| [&ddp()[..3], &[id + 1], &ddp()[4..]].concat()).collect();
        let row: Vec<Datagram<'_>> = payloads.iter().map(|p| Datagram::new(at(9), at(4048), p)).collect();
        let mut heads = Heads::default();
        let mut met = |order: &[usize]| {
            let meet = |i: &usize| {
                let met = heads.expected(&row[*i]).map(|(stands_for, ..)| *stands_for);
                heads.keep(&row[*i], Protocol::Ddp, || Some(*i));
                met
            };
            order.iter().map(meet).collect::<Vec<_>>()
        };
        assert_eq!(met(&[0, 1, 2]), [None; 3]);
        // The newest header is followed by the first one until another is seen to follow.
        assert_eq!(met(&[0, 1, 2, 0, 1]), [Some(0), Some(1), Some(2), Some(0), Some(1)]);
        assert_eq!(met(&[3, 1, 3, 2, 0]), [None, None, Some(3), None, Some(0)]);
    }

    #[test]
    fn scouts_stand_at_the_headers_to_come_as_soon_as_there_are_many() {
        let (payload, many) = (ddp(), 600);
        let row: Vec<Datagram<'_>> = (0..many)
            .map(|i| Datagram::new(SocketAddr::from((std::net::Ipv4Addr::from(i), 9)), at(4048), &payload))
            .collect();
        let mut heads = Heads::default();
        let mut meet = |i: u32| {
            let met = heads.expected(&row[i as usize]).is_some();
            heads.keep(&row[i as usize], Protocol::Ddp, || Some(i));
            (met, [0, 1, 2].map(|stage| heads.soon(stage).copied()))
        };
        let first: Vec<_> = (0..many).map(&mut meet).collect();
        assert!(first[..MANY - 1].iter().all(|(met, soon)| !met && *soon == [None; 3]));
        // The way around the end is known once it was gone.
        let second: Vec<_> = (0..many).map(&mut meet).collect();
        let expected = |i: u32| DISTANCES.map(|distance| Some((i + distance as u32) % many));
        for i in 10..many {
            assert_eq!(second[i as usize], (true, expected(i)), "{i}");
        }
        // After a datagram out of order they go ahead again, a place at a time.
        assert!(!meet(300).0);
        assert_eq!(meet(301), (true, [Some(302); 3]));
        (302..310).for_each(|i| assert!(meet(i).0));
        assert_eq!(meet(310), (true, expected(310)));
    }

    #[test]
    fn the_number_of_headers_is_bounded() {
        let (payload, mut heads) = (ddp(), Heads::default());
        for i in 0..HEADS_MAX as u32 + 50 {
            let source = SocketAddr::from((std::net::Ipv4Addr::from(i), 9));
            heads.keep(&Datagram::new(source, at(4048), &payload), Protocol::Ddp, || Some(i));
        }
        assert_eq!((heads.list.len(), heads.by_print.len()), (HEADS_MAX, HEADS_MAX));
    }
}
