//! Builders of frames and capture files, octet by octet and independent of the product's own writer, and a
//! collector of what the reader yields.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use wireproof::capture::{CaptureError, Item, SourceReport, read_stream};
use wireproof_protocols::{Arrival, Link, Timestamp};

/// What a capture yielded, owned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Got {
    Datagram(Arrival, Seen),
    Packet(Arrival),
    Blind(i64, i64, u64),
}

/// A datagram, owned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) payload: Vec<u8>,
    pub(crate) length: u32,
    pub(crate) link: Link,
}

impl Got {
    pub(crate) fn own(item: Item<'_>) -> Got {
        match item {
            Item::Datagram(arrival, datagram) => Got::Datagram(
                arrival,
                Seen {
                    source: datagram.source,
                    destination: datagram.destination,
                    payload: datagram.payload.to_vec(),
                    length: datagram.length,
                    link: datagram.link,
                },
            ),
            Item::Packet(arrival) => Got::Packet(arrival),
            Item::Blind { from, to, dropped } => Got::Blind(from.0, to.0, dropped),
            Item::Drops(d) => Got::Blind(d.from.0, d.to.0, d.count),
            Item::ClockStep(_) | Item::Taped(_) => panic!("a capture is no tape"),
        }
    }

    pub(crate) fn datagram(&self) -> &Seen {
        match self {
            Got::Datagram(_, seen) => seen,
            other => panic!("no datagram: {other:?}"),
        }
    }
}

/// Reads octets as a capture called `test`.
pub(crate) fn read(octets: &[u8]) -> Result<(Vec<Got>, SourceReport), CaptureError> {
    let mut items = Vec::new();
    let report = read_stream("test", octets, &mut |item| items.push(Got::own(item)))?;
    Ok((items, report))
}

/// The one datagram of a capture with one record.
pub(crate) fn only(octets: &[u8]) -> Seen {
    let (items, report) = read(octets).unwrap();
    assert_eq!(report.damaged, None);
    assert_eq!(items.len(), 1, "{items:?}");
    items[0].datagram().clone()
}

pub(crate) fn datagrams(items: &[Got]) -> Vec<(u64, Seen)> {
    let datagram = |item: &Got| match item {
        Got::Datagram(arrival, seen) => Some((arrival.packet, seen.clone())),
        _ => None,
    };
    items.iter().filter_map(datagram).collect()
}

/// The shared captures, or `None` with a visible line.
pub(crate) fn shared(test: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    if path.is_dir() {
        return Some(path);
    }
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("SKIPPED {test}: ../shared is absent\n"),
    );
    None
}

/// Byte order of what is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn p16(self, value: u16) -> [u8; 2] {
        if self == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn p32(self, value: u32) -> [u8; 4] {
        if self == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn p64(self, value: u64) -> [u8; 8] {
        if self == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

pub(crate) const MICRO: u32 = 0xa1b2_c3d4;
pub(crate) const NANO: u32 = 0xa1b2_3c4d;
pub(crate) const KUZNETZOV: u32 = 0xa1b2_cd34;

/// One record to build: seconds, fraction, octets, original length.
pub(crate) type Raw<'a> = (u32, u32, &'a [u8], u32);

/// A classic pcap file.
pub(crate) fn pcap(order: Order, magic: u32, link: u32, records: &[Raw<'_>]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(order.p32(magic));
    file.extend([order.p16(2), order.p16(4)].concat());
    file.extend([order.p32(0), order.p32(0), order.p32(65_535), order.p32(link)].concat());
    for (seconds, fraction, data, original) in records {
        let captured = order.p32(data.len() as u32);
        file.extend([order.p32(*seconds), order.p32(*fraction), captured, order.p32(*original)].concat());
        if magic == KUZNETZOV {
            file.extend([0xee; 8]);
        }
        file.extend(*data);
    }
    file
}

/// A microsecond little-endian pcap file with one whole record.
pub(crate) fn one(link: u32, data: &[u8]) -> Vec<u8> {
    pcap(Order::Little, MICRO, link, &[(1, 2, data, data.len() as u32)])
}

/// A pcapng block around a body.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.p32(padded as u32 + 12);
    let padding = vec![0; padded - body.len()];
    [&order.p32(kind)[..], &length, body, &padding, &length].concat()
}

pub(crate) fn section(order: Order) -> Vec<u8> {
    let body = [&order.p32(0x1a2b_3c4d)[..], &order.p16(1), &order.p16(0), &order.p64(u64::MAX)].concat();
    block(order, 0x0a0d_0d0a, &body)
}

pub(crate) fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
    [&order.p16(code)[..], &order.p16(value.len() as u16), value, &padding].concat()
}

pub(crate) fn interface(order: Order, link: u16, snap: u32, options: &[u8]) -> Vec<u8> {
    block(order, 1, &[&order.p16(link)[..], &[0, 0], &order.p32(snap), options].concat())
}

pub(crate) fn stamp(order: Order, units: u64) -> [u8; 8] {
    let mut halves = [0; 8];
    halves[..4].copy_from_slice(&order.p32((units >> 32) as u32));
    halves[4..].copy_from_slice(&order.p32(units as u32));
    halves
}

/// An enhanced packet block with the original length `data` has.
pub(crate) fn enhanced(order: Order, interface: u32, units: u64, data: &[u8], options: &[u8]) -> Vec<u8> {
    let length = order.p32(data.len() as u32);
    let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
    let head = [&order.p32(interface)[..], &stamp(order, units), &length, &length].concat();
    block(order, 6, &[&head[..], data, &padding, options].concat())
}

pub(crate) fn simple(order: Order, data: &[u8], original: u32) -> Vec<u8> {
    block(order, 3, &[&order.p32(original)[..], data].concat())
}

/// Interface statistics with drop counts of the interface and, when given, start and end.
pub(crate) fn statistics(order: Order, at: u64, dropped: u64, span: Option<(u64, u64)>) -> Vec<u8> {
    let mut body = [&order.p32(0)[..], &stamp(order, at)].concat();
    if let Some((start, end)) = span {
        body.extend(option(order, 2, &stamp(order, start)));
        body.extend(option(order, 3, &stamp(order, end)));
    }
    body.extend(option(order, 5, &order.p64(dropped)));
    body.extend([0; 4]);
    block(order, 5, &body)
}

pub(crate) fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(octets).unwrap();
    packer.finish().unwrap()
}

pub(crate) fn zst(octets: &[u8]) -> Vec<u8> {
    let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    packer.include_checksum(true).unwrap();
    packer.write_all(octets).unwrap();
    packer.finish().unwrap()
}

/// The Internet checksum by its definition.
fn internet_checksum(parts: &[&[u8]]) -> u16 {
    let octets = parts.concat();
    let mut sum = 0u32;
    for pair in octets.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

pub(crate) const SOURCE: [u8; 4] = [10, 0, 0, 1];
pub(crate) const DESTINATION: [u8; 4] = [10, 0, 0, 2];
pub(crate) const SOURCE6: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub(crate) const DESTINATION6: [u8; 16] = [0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// A UDP datagram from port 1000 to 5568 with a right checksum over the addresses given.
pub(crate) fn udp(source: &[u8], destination: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let ports = [1000u16.to_be_bytes(), 5568u16.to_be_bytes()].concat();
    let pseudo = [source, destination, &[0, 17], &length].concat();
    let sum = match internet_checksum(&[&pseudo, &ports, &length, &[0, 0], payload]) {
        0 => 0xffff,
        sum => sum,
    };
    [&ports[..], &length, &sum.to_be_bytes(), payload].concat()
}

/// An IPv4 header before `payload`; `place` is the field with flags and fragment offset.
pub(crate) fn ipv4(protocol: u8, id: u16, place: u16, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let total = ((header + payload.len()) as u16).to_be_bytes();
    let first = [0x40 | (header / 4) as u8, 0];
    let middle = [&id.to_be_bytes()[..], &place.to_be_bytes(), &[64, protocol, 0, 0]].concat();
    [&first[..], &total, &middle, &SOURCE, &DESTINATION, options, payload].concat()
}

/// A whole UDP datagram over IPv4.
pub(crate) fn udp4(payload: &[u8]) -> Vec<u8> {
    ipv4(17, 7, 0, &[], &udp(&SOURCE, &DESTINATION, payload))
}

/// An IPv6 header before `payload`.
pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0][..], &length, &[next, 63], &SOURCE6, &DESTINATION6, payload].concat()
}

pub(crate) fn udp6(payload: &[u8]) -> Vec<u8> {
    ipv6(17, &udp(&SOURCE6, &DESTINATION6, payload))
}

/// An Ethernet frame to a unicast address.
pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &ether_type.to_be_bytes(), payload].concat()
}

/// `length` octets that differ from each other.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(31) >> 3) as u8 ^ i as u8).collect()
}

/// The fragments of an IPv4 datagram, each with at most `unit` octets of payload.
pub(crate) fn fragments4(id: u16, payload: &[u8], unit: usize) -> Vec<Vec<u8>> {
    let whole = udp(&SOURCE, &DESTINATION, payload);
    let count = whole.len().div_ceil(unit);
    let piece = |(i, octets): (usize, &[u8])| {
        let more = if i + 1 < count { 0x2000 } else { 0 };
        ipv4(17, id, more | (i * unit / 8) as u16, &[], octets)
    };
    whole.chunks(unit).enumerate().map(piece).collect()
}

/// A raw-IP pcap file with one record per packet, a millisecond apart.
pub(crate) fn raw(packets: &[&[u8]]) -> Vec<u8> {
    let records: Vec<Raw<'_>> =
        packets.iter().enumerate().map(|(i, data)| (1, i as u32 * 1000, *data, data.len() as u32)).collect();
    pcap(Order::Little, MICRO, 101, &records)
}

/// Microseconds after 1970 as a stamp.
pub(crate) fn micros(us: i64) -> Timestamp {
    Timestamp(us * 1000)
}
