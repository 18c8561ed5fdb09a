//! The pcapng writer, read back by the reader, and its octets where a reader could be as wrong as the writer.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

#[allow(dead_code, reason = "each test file uses a part of the builders")]
mod capture_support;

use capture_support::*;
use std::io;
use wireproof::capture::{LinkType, PcapngWriter, RECORD_MAX, Record, read_records};
use wireproof_protocols::Timestamp;

/// A record, owned.
#[derive(Clone, Debug, PartialEq)]
struct Owned {
    number: u64,
    at: Timestamp,
    link_type: LinkType,
    interface: u32,
    snap_length: u32,
    data: Vec<u8>,
    original_length: u32,
    comment: Option<String>,
}

fn own(record: &Record<'_>) -> Owned {
    Owned {
        number: record.number,
        at: record.at,
        link_type: record.link_type,
        interface: record.interface,
        snap_length: record.snap_length,
        data: record.data.to_vec(),
        original_length: record.original_length,
        comment: record.comment.map(str::to_owned),
    }
}

fn records(octets: &[u8]) -> Vec<Owned> {
    let mut records = Vec::new();
    let report = read_records(octets, &mut |record| records.push(own(record))).unwrap();
    assert_eq!(report.damaged, None);
    records
}

fn record<'a>(link: u16, snap: u32, at: i64, data: &'a [u8], comment: Option<&'a str>) -> Record<'a> {
    Record {
        number: 0,
        at: Timestamp(at),
        link_type: LinkType(link),
        interface: 0,
        snap_length: snap,
        data,
        original_length: data.len() as u32 + 9,
        comment,
    }
}

#[test]
fn what_is_written_reads_back_with_stamps_lengths_comments_and_interfaces() {
    let data = pattern(RECORD_MAX);
    let long = "é".repeat(40_000);
    let given = [
        record(1, 0, 0, &data[..0], None),
        record(101, 96, 1_700_000_000_123_456_789, &data[..1], Some("a finding: €")),
        record(1, 0, 1, &data[..2], Some("")),
        record(1, 96, i64::MAX, &data[..3], None),
        record(101, 96, 5, &data, Some(&long)),
    ];
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    for record in &given {
        writer.record(record, None).unwrap();
    }
    let got = records(&writer.finish().unwrap());
    let interfaces = [0, 1, 0, 2, 1];
    for (i, (got, given)) in got.iter().zip(&given).enumerate() {
        let mut want = own(given);
        want.number = i as u64 + 1;
        want.interface = interfaces[i];
        want.comment = want.comment.map(|comment| comment[..comment.len().min(65_532)].to_owned());
        assert_eq!(*got, want, "record {i}");
    }
    assert_eq!(got.len(), given.len());
}

#[test]
fn a_slice_of_a_slice_is_the_same_octets() {
    let packet = udp4(b"hello");
    let source = raw(&[&packet, &packet]);
    let slice = |octets: &[u8]| {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        read_records(octets, &mut |record| writer.record(record, None).unwrap()).unwrap();
        writer.finish().unwrap()
    };
    let once = slice(&source);
    assert_eq!(slice(&once), once);
    let (mut original, mut sliced) = (read(&source).unwrap().0, read(&once).unwrap().0);
    assert_eq!(original, sliced);
    assert_eq!(original.pop(), sliced.pop());
}

#[test]
fn the_given_comment_replaces_that_of_the_record() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    writer.record(&record(1, 0, 0, b"x", Some("old")), Some("new")).unwrap();
    assert_eq!(records(&writer.finish().unwrap())[0].comment.as_deref(), Some("new"));
}

#[test]
fn statistics_around_an_episode_bound_its_drops() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let ethernet = writer.interface(LinkType::ETHERNET, 0).unwrap();
    assert_eq!(writer.interface(LinkType::ETHERNET, 0).unwrap(), ethernet);
    writer.captured(ethernet, Timestamp(10), b"x", 1, None).unwrap();
    writer.statistics(ethernet, Timestamp(20), 1, 0, None).unwrap();
    writer.statistics(ethernet, Timestamp(30), 1, 7, Some("ring full")).unwrap();
    let (items, report) = read(&writer.finish().unwrap()).unwrap();
    assert_eq!(items[1], Got::Blind(20, 30, 7));
    assert_eq!((report.timestamps, report.capture_dropped, report.damaged), ("file-ns", 7, None));
}

#[test]
fn the_octets_are_those_of_the_pcapng_specification() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    writer.record(&record(1, 96, 0x0102_0304_0506_0708, b"abcde", Some("hi")), None).unwrap();
    writer.statistics(0, Timestamp(1), 5, 6, None).unwrap();
    let order = Order::Little;
    let head = [&order.p32(0x1a2b_3c4d)[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let end = [0; 4];
    let section = block(order, 0x0a0d_0d0a, &[head, option(order, 4, b"wireproof"), end.to_vec()].concat());
    let interface = interface(order, 1, 96, &[option(order, 9, &[9]), end.to_vec()].concat());
    let mut packet = enhanced(
        order,
        0,
        0x0102_0304_0506_0708,
        b"abcde",
        &[option(order, 1, b"hi"), end.to_vec()].concat(),
    );
    packet[24] = 14;
    let counts = [option(order, 4, &order.p64(5)), option(order, 5, &order.p64(6)), end.to_vec()].concat();
    let statistics = block(order, 5, &[&order.p32(0)[..], &stamp(order, 1), &counts].concat());
    assert_eq!(writer.finish().unwrap(), [section, interface, packet, statistics].concat());
}

/// Option codes 2, 3 and 8 of an interface statistics block (pcapng draft, section 4.6).
#[test]
fn the_end_of_capturing_is_written_as_the_specification_says_and_read_back() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    writer.record(&record(1, 0, 20, b"x", None), None).unwrap();
    let before = writer.get_ref().len();
    writer.ended(0, (Some(Timestamp(10)), Timestamp(0x0102_0304_0506_0708)), 1).unwrap();
    let octets = writer.finish().unwrap();
    let order = Order::Little;
    let at = stamp(order, 0x0102_0304_0506_0708);
    let options = [
        option(order, 2, &stamp(order, 10)),
        option(order, 3, &at),
        option(order, 8, &order.p64(1)),
        vec![0; 4],
    ];
    assert_eq!(octets[before..], block(order, 5, &[&order.p32(0)[..], &at, &options.concat()].concat()));
    let (items, report) = read(&octets).unwrap();
    assert_eq!((items.len(), report.ended), (1, Some(Timestamp(0x0102_0304_0506_0708))));
}

#[test]
fn a_record_too_long_for_a_reader_is_refused() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let error = writer.record(&record(1, 0, 0, &vec![0; RECORD_MAX + 1], None), None).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    writer.record(&record(1, 0, -5, b"x", None), None).unwrap();
    assert_eq!(records(&writer.finish().unwrap())[0].at, Timestamp(0));
}
