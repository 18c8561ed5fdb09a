//! File formats: byte orders, resolutions, sections, drop counts, wrappers, damage at every octet.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

#[allow(dead_code, reason = "each test file uses a part of the builders")]
mod capture_support;

use capture_support::*;
use std::io::{self, Read};
use wireproof::capture::{CaptureError, RECORD_MAX, read_path, read_records, read_stream};

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn times(octets: &[u8]) -> Vec<i64> {
    let mut times = Vec::new();
    read_records(octets, &mut |record| times.push(record.at.0)).unwrap();
    times
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_all_three_variants() {
    let packet = udp4(b"hello");
    for order in ORDERS {
        for (magic, ns, resolution) in
            [(MICRO, 2_000, "file-us"), (NANO, 2, "file-ns"), (KUZNETZOV, 2_000, "file-us")]
        {
            let data = &packet[..];
            let length = data.len() as u32;
            let file = pcap(order, magic, 101, &[(1, 2, data, length), (4_000_000_000, 2, data, length)]);
            let (items, report) = read(&file).unwrap();
            assert_eq!(report.damaged, None, "{order:?} {magic:x}");
            assert_eq!((report.timestamps, report.packets), (resolution, 2));
            assert_eq!(datagrams(&items).len(), 2);
            assert_eq!(times(&file), [1_000_000_000 + ns, 4_000_000_000_000_000_000 + ns]);
        }
    }
}

#[test]
fn the_upper_half_of_the_link_type_field_is_ignored() {
    let file = one(0x5400_0065, &udp4(b"x"));
    assert_eq!(read(&file).unwrap().1.link_types["RAW"], 1);
}

#[test]
fn old_pcap_versions_swap_captured_and_original_length() {
    let packet = udp4(b"hello");
    for minor in [2u8, 3] {
        let mut file = pcap(Order::Little, MICRO, 101, &[(0, 0, &packet, 99)]);
        file[6] = minor;
        let (captured, original) = ([packet.len() as u8, 0, 0, 0], [99, 0, 0, 0]);
        file[32..36].copy_from_slice(&original);
        file[36..40].copy_from_slice(&captured);
        let mut lengths = Vec::new();
        read_records(&file[..], &mut |record| lengths.push((record.data.len(), record.original_length)))
            .unwrap();
        assert_eq!(lengths, [(packet.len(), 99)], "version 2.{minor}");
    }
}

#[test]
fn pcapng_reads_all_three_packet_blocks_and_skips_the_others() {
    let packet = udp4(b"hello");
    for order in ORDERS {
        let old = [
            &order.p16(0)[..],
            &order.p16(3),
            &stamp(order, 5),
            &order.p32(packet.len() as u32),
            &order.p32(packet.len() as u32),
            &packet,
        ]
        .concat();
        let file = [
            section(order),
            interface(order, 101, 0, &[]),
            block(order, 4, &[0; 40]),
            enhanced(order, 0, 3, &packet, &[]),
            block(order, 0x0bad, &[9; 700_000]),
            simple(order, &packet, packet.len() as u32),
            block(order, 0x8000_0001, &[]),
            block(order, 2, &old),
        ]
        .concat();
        let (items, report) = read(&file).unwrap();
        assert_eq!((report.packets, report.damaged, report.capture_dropped), (3, None, 3), "{order:?}");
        assert_eq!(times(&file), [3_000, 3_000, 5_000]);
        assert_eq!(items[2], Got::Blind(3_000, 5_000, 3));
        let numbers: Vec<u64> = datagrams(&items).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 3]);
    }
}

#[test]
fn a_simple_packet_is_as_long_as_the_snap_length_lets_it() {
    let packet = udp4(&pattern(200));
    let order = Order::Little;
    let file = [section(order), interface(order, 101, 90, &[]), simple(order, &packet[..90], 228)].concat();
    let seen = only(&file);
    assert_eq!((seen.payload.len(), seen.length), (62, 200));
}

#[test]
fn resolutions_decimal_and_binary_and_offsets_come_out_in_nanoseconds() {
    let order = Order::Little;
    let resolution = |octet: u8| option(order, 9, &[octet]);
    let offset = |seconds: i64| option(order, 14, &order.p64(seconds.cast_unsigned()));
    let cases = [
        (vec![], 1_500_000, 1_500_000_000, "file-us"),
        (resolution(3), 1_500, 1_500_000_000, "file-us"),
        (resolution(9), 1_500_000_001, 1_500_000_001, "file-ns"),
        (resolution(12), 1_500_000_001_999, 1_500_000_001, "file-ns"),
        (resolution(0x80 | 10), 1_536, 1_500_000_000, "file-us"),
        (resolution(0x80 | 32), 3 << 31, 1_500_000_000, "file-ns"),
        ([resolution(9), offset(100)].concat(), 7, 100_000_000_007, "file-ns"),
        (offset(-2), 500_000, -1_500_000_000, "file-us"),
        (offset(i64::MAX), 1, i64::MAX, "file-us"),
        (offset(i64::MIN), 1, i64::MIN, "file-us"),
    ];
    for (options, units, ns, named) in cases {
        let file = [section(order), interface(order, 101, 0, &options), enhanced(order, 0, units, &[], &[])]
            .concat();
        assert_eq!(times(&file), [ns], "{options:?}");
        assert_eq!(read(&file).unwrap().1.timestamps, named, "{options:?}");
    }
}

#[test]
fn sections_change_byte_order_and_number_their_interfaces_anew() {
    let packet = udp4(b"hello");
    let frame = ethernet(0x0800, &packet);
    let (little, big) = (Order::Little, Order::Big);
    let file = [
        section(little),
        interface(little, 1, 0, &[]),
        interface(little, 101, 0, &option(little, 9, &[9])),
        enhanced(little, 1, 5, &packet, &[]),
        enhanced(little, 0, 6, &frame, &[]),
        section(big),
        interface(big, 101, 0, &[]),
        enhanced(big, 0, 7, &packet, &[]),
        section(little),
        interface(little, 1, 0, &[]),
        enhanced(little, 0, 8, &frame, &[]),
    ]
    .concat();
    let (items, report) = read(&file).unwrap();
    assert_eq!((datagrams(&items).len(), report.damaged), (4, None));
    assert_eq!((report.link_types["EN10MB"], report.link_types["RAW"]), (2, 2));
    assert_eq!(times(&file), [5, 6_000, 7_000, 8_000]);
}

#[test]
fn an_interface_of_an_earlier_section_is_not_known_in_the_next() {
    let order = Order::Little;
    let file = [
        section(order),
        interface(order, 101, 0, &[]),
        enhanced(order, 0, 1, &udp4(b"x"), &[]),
        section(order),
        enhanced(order, 0, 2, &udp4(b"x"), &[]),
    ]
    .concat();
    let (items, report) = read(&file).unwrap();
    assert_eq!(items.len(), 1);
    assert!(report.damaged.unwrap().contains("does not describe"));
}

#[test]
fn statistics_tell_each_drop_once_and_bound_it_in_time() {
    let order = Order::Big;
    let packet = udp4(b"x");
    let file = [
        section(order),
        interface(order, 101, 0, &[]),
        enhanced(order, 0, 10, &packet, &[]),
        statistics(order, 20, 0, None),
        statistics(order, 30, 4, None),
        enhanced(order, 0, 40, &packet, &option(order, 4, &order.p64(6))),
        statistics(order, 50, 10, Some((1, 45))),
        statistics(order, 60, 11, Some((1, 60))),
    ]
    .concat();
    let (items, report) = read(&file).unwrap();
    let blind: Vec<&Got> = items.iter().filter(|item| matches!(item, Got::Blind(..))).collect();
    let want = [Got::Blind(20_000, 30_000, 4), Got::Blind(10_000, 40_000, 6), Got::Blind(45_000, 60_000, 1)];
    assert_eq!(blind, want.iter().collect::<Vec<_>>());
    assert_eq!((report.capture_dropped, report.packets), (11, 2));
}

#[test]
fn first_statistics_reach_back_to_their_start_time_and_unknown_counts_are_no_drops() {
    let order = Order::Little;
    let head = [section(order), interface(order, 101, 0, &[])].concat();
    let dropped = [head.clone(), statistics(order, 20, 3, Some((5, 19)))].concat();
    assert_eq!(read(&dropped).unwrap().0, [Got::Blind(5_000, 19_000, 3)]);
    let unknown = [head, statistics(order, 20, u64::MAX, None)].concat();
    let (items, report) = read(&unknown).unwrap();
    assert_eq!((items.len(), report.capture_dropped), (0, 0));
}

/// An end of capturing as `dumpcap` writes it, in microseconds, with the counts of `libpcap`.
#[test]
fn an_end_is_known_where_the_file_is_whole_and_its_last_section_says_so() {
    let order = Order::Little;
    let micro = |at: u64| stamp(order, at);
    let ended = |start: u64, end: u64, received: u64, dropped: u64| {
        let options = [
            option(order, 2, &micro(start)),
            option(order, 3, &micro(end)),
            option(order, 4, &order.p64(received)),
            option(order, 5, &order.p64(dropped)),
            vec![0; 4],
        ];
        block(order, 5, &[&order.p32(0)[..], &micro(end), &options.concat()].concat())
    };
    let second = 1_000_000;
    let records: Vec<u8> = (1..=3).flat_map(|at| enhanced(order, 0, at * second, b"x", &[])).collect();
    let head = [section(order), interface(order, 1, 0, &[]), records].concat();
    let end_of = |file: &[&[u8]]| read(&file.concat()).unwrap().1.ended.map(|at| at.0 / 1_000_000_000);
    assert_eq!(end_of(&[&head]), None);
    assert_eq!(end_of(&[&head, &ended(0, 9 * second, 5, 2)]), Some(9));
    assert_eq!(end_of(&[&head, &ended(0, 7 * second, 2, 0), &ended(0, 9 * second, 5, 2)]), Some(9));
    // Records were cut out of the file afterwards; the times are of another clock.
    assert_eq!(end_of(&[&head, &ended(0, 9 * second, 6, 2)]), None);
    assert_eq!(end_of(&[&head, &ended(3 * second, 9 * second, 3, 0)]), None);
    // The last section does not say; the file is cut.
    assert_eq!(end_of(&[&head, &ended(0, 9 * second, 3, 0), &head]), None);
    assert_eq!(end_of(&[&head, &ended(0, 9 * second, 3, 0), &[5, 0, 0, 0]]), None);
    let one = [section(order), interface(order, 1, 0, &[]), enhanced(order, 0, second, b"x", &[])].concat();
    assert_eq!(end_of(&[&head, &one, &ended(0, 9 * second, 1, 0)]), Some(9));
    assert_eq!(end_of(&[&head, &one, &ended(0, 9 * second, 2, 0)]), None);
}

/// As dumpcap 4.0 writes them: its interface has nanoseconds, its statistics have microseconds.
#[test]
fn drops_and_end_of_dumpcap_are_placed_in_microseconds_where_the_interface_has_nanoseconds() {
    let order = Order::Little;
    let resolution = [option(order, 9, &[9]), vec![0; 4]].concat();
    let (first, last) = (1_796_079_520_181_247_496, 1_796_079_522_234_785_785);
    let records: Vec<u8> = [first, last].iter().flat_map(|at| enhanced(order, 0, *at, b"x", &[])).collect();
    let head = [section(order), interface(order, 1, 0, &resolution), records].concat();
    let span = Some((1_796_079_517_903_251, 1_796_079_525_149_568));
    let (items, report) = read(&[head, statistics(order, 1_796_079_525_149_568, 3, span)].concat()).unwrap();
    assert_eq!(items[2], Got::Blind(1_796_079_517_903_251_000, 1_796_079_525_149_568_000, 3));
    assert_eq!(report.ended.unwrap().0, 1_796_079_525_149_568_000);
}

#[test]
fn comments_on_records_are_readable_up_to_the_first_octet_that_is_not_text() {
    let order = Order::Little;
    let comments = [
        option(order, 2, &[1, 2, 3, 4]),
        option(order, 1, b"first \xe2\x82\xac\xff no"),
        option(order, 1, b"second"),
    ]
    .concat();
    let file =
        [section(order), interface(order, 101, 0, &[]), enhanced(order, 0, 1, b"abc", &comments)].concat();
    let mut seen = Vec::new();
    read_records(&file[..], &mut |record| seen.push(record.comment.map(str::to_owned))).unwrap();
    assert_eq!(seen, [Some("first €".to_owned())]);
}

#[test]
fn wrappers_of_one_and_of_many_members_are_looked_through() {
    let packet = udp4(b"hello");
    let file = raw(&[&packet, &packet, &packet]);
    let (front, back) = file.split_at(70);
    let plain = read(&file).unwrap().0;
    for packed in [
        gzip(&file),
        zst(&file),
        [gzip(front), gzip(back)].concat(),
        [gzip(front), gzip(&[]), gzip(back)].concat(),
        [zst(front), zst(back)].concat(),
    ] {
        let (items, report) = read(&packed).unwrap();
        assert_eq!((items, report.damaged), (plain.clone(), None));
    }
}

#[test]
fn a_wrapper_cut_or_spoiled_yields_what_could_be_unpacked() {
    let records: Vec<Vec<u8>> = (0..400usize).map(|i| udp4(&pattern(600 + i % 7))).collect();
    let file = raw(&records.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let whole = read(&file).unwrap().0;
    for (kind, packed) in [("gzip", gzip(&file)), ("zstd", zst(&file))] {
        for end in [5, 30, packed.len() / 2, packed.len() - 1] {
            let (items, report) = read(&packed[..end]).unwrap();
            assert!(items[..] == whole[..items.len()], "{kind} cut at {end}");
            let damaged = report.damaged.unwrap();
            assert!(damaged.contains(kind), "{kind} cut at {end}: {damaged}");
        }
        let mut spoiled = packed.clone();
        let middle = packed.len() / 2;
        spoiled[middle..middle + 40].fill(0xa5);
        assert!(read(&spoiled).unwrap().1.damaged.is_some(), "{kind} spoiled");
    }
    let members = [gzip(&file[..file.len() / 2]), gzip(&file[file.len() / 2..])].concat();
    let (items, report) = read(&members[..members.len() - 200]).unwrap();
    assert!(items.len() > 190 && report.damaged.is_some());
}

/// A small pcap and a small pcapng file with blocks of every kind.
fn samples() -> [Vec<u8>; 2] {
    let order = Order::Big;
    let packet = udp4(b"hello");
    let ng = [
        section(order),
        interface(order, 101, 0, &option(order, 9, &[9])),
        enhanced(order, 0, 3, &packet, &option(order, 1, b"note")),
        block(order, 4, &[0; 8]),
        simple(order, &packet, packet.len() as u32),
        statistics(order, 30, 4, Some((1, 2))),
        section(Order::Little),
        interface(Order::Little, 101, 0, &[]),
        enhanced(Order::Little, 0, 9, &packet, &[]),
    ];
    [raw(&[&packet, &packet, &packet]), ng.concat()]
}

#[test]
fn a_file_cut_at_any_octet_yields_a_prefix_and_says_so() {
    for file in samples() {
        let (whole, _) = read(&file).unwrap();
        for end in 1..file.len() {
            match read(&file[..end]) {
                Ok((items, report)) => {
                    assert_eq!(items, whole[..items.len()], "cut at {end}");
                    assert!(report.damaged.is_some() || items.len() < whole.len(), "cut at {end}");
                }
                Err(CaptureError::NotACapture { .. }) => assert!(end < 4, "cut at {end}"),
                Err(error) => panic!("cut at {end}: {error}"),
            }
        }
    }
}

#[test]
fn damage_names_the_record_and_its_octet() {
    let packet = udp4(b"hello");
    let record = 16 + packet.len();
    let file = raw(&[&packet, &packet]);
    let damage = |file: &[u8]| read(file).unwrap().1.damaged.unwrap();
    let at = 24 + record;
    assert_eq!(
        damage(&file[..file.len() - 1]),
        format!("record 2 at octet {at} is cut: {} of its {record} octets are in the file", record - 1)
    );
    let mut long = file.clone();
    long[at + 8..at + 12].copy_from_slice(&(RECORD_MAX as u32 + 1).to_le_bytes());
    assert_eq!(
        damage(&long),
        format!("record 2 at octet {at} claims 262145 octets, more than a record can hold")
    );
    let order = Order::Little;
    let mut ng =
        [section(order), interface(order, 101, 0, &[]), enhanced(order, 0, 3, &packet, &[])].concat();
    let last = ng.len() - 4;
    ng[last] += 4;
    assert_eq!(damage(&ng), "packet block at octet 48 states two lengths, 68 and 72");
}

#[test]
fn a_record_far_beyond_the_snap_length_is_damage_and_one_slightly_beyond_is_not() {
    let packet = udp4(&pattern(500));
    let mut file = raw(&[&packet]);
    file[16..20].copy_from_slice(&96u32.to_le_bytes());
    assert_eq!(read(&file).unwrap().1.damaged, None);
    file[32..36].copy_from_slice(&70_000u32.to_le_bytes());
    assert!(read(&file).unwrap().1.damaged.is_some());
}

#[test]
fn records_up_to_the_limit_are_read_across_refills_of_the_buffer() {
    let big = pattern(RECORD_MAX);
    let sizes = [RECORD_MAX, 1, RECORD_MAX, 65_000, RECORD_MAX, RECORD_MAX, 0, RECORD_MAX, RECORD_MAX];
    let order = Order::Little;
    let records: Vec<Raw<'_>> = sizes.iter().map(|size| (0, 0, &big[..*size], *size as u32)).collect();
    let mut classic = pcap(order, NANO, 147, &records);
    classic[16..20].copy_from_slice(&0u32.to_le_bytes());
    let mut ng = [section(order), interface(order, 147, 0, &[])].concat();
    sizes.iter().for_each(|size| ng.extend(enhanced(order, 0, 0, &big[..*size], &[])));
    for file in [classic, ng] {
        let mut seen = Vec::new();
        let report = read_records(&file[..], &mut |record| {
            assert!(record.data == &big[..record.data.len()]);
            seen.push(record.data.len());
        })
        .unwrap();
        assert_eq!((seen, report.damaged), (sizes.to_vec(), None));
        assert_eq!(report.link_types["LT147"], sizes.len() as u64);
    }
}

#[test]
fn an_empty_capture_with_a_header_is_fine() {
    let order = Order::Little;
    for file in [pcap(order, MICRO, 1, &[]), section(order), gzip(&section(order))] {
        let (items, report) = read(&file).unwrap();
        assert_eq!((items.len(), report.packets, report.damaged), (0, 0, None));
    }
}

/// Fails like a disk after its octets are through.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::Error::other("the disk is gone")),
            octets => Ok(octets),
        }
    }
}

#[test]
fn each_refusal_is_one_line_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pcap");
    std::fs::write(&empty, []).unwrap();
    let path = |path: &std::path::Path| read_path(path, &mut |_| {}).unwrap_err();
    let stream = |octets: &[u8]| read(octets).unwrap_err();
    let errors = [
        (path(&folder.path().join("absent\n.pcap")), "check the path"),
        (path(folder.path()), "name a capture file"),
        (path(&empty), "0 octets"),
        (stream(b""), "0 octets"),
        (stream(&gzip(b"")), "0 octets"),
        (stream(b"GET / HTTP/1.1"), "47 45 54 20 2f 20 48 54"),
        (stream(b"ab"), "61 62"),
        (stream(&gzip(b"text, not a capture")), "give a pcap or pcapng file"),
        (stream(b"BZh91AY&SY"), "unpack it first"),
        (stream(b"snoop\0\0\0\0\0"), "editcap"),
    ];
    for (error, advice) in errors {
        let line = error.to_string();
        assert!(line.contains(advice) && !line.contains('\n'), "{line}");
    }
    assert!(matches!(path(&empty), CaptureError::Empty { .. }));
    assert!(matches!(path(folder.path()), CaptureError::Directory { .. }));
}

#[test]
fn a_failing_disk_is_an_error_also_below_a_wrapper() {
    let packet = udp4(b"hello");
    let file = raw(&[&packet, &packet]);
    for (octets, yielded) in [(file.clone(), 2), (gzip(&file), 2), (zst(&file), 2), (vec![], 0)] {
        let mut items = 0;
        let result = read_stream("disk", Failing(&octets), &mut |_| items += 1);
        assert!(matches!(result, Err(CaptureError::Io { .. })), "{result:?}");
        assert_eq!(items, yielded);
    }
}

#[test]
fn a_stream_that_dribbles_reads_like_a_file() {
    struct Dribble<'a>(&'a [u8]);
    impl Read for Dribble<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let most = out.len().min(3);
            self.0.read(&mut out[..most])
        }
    }
    for file in samples() {
        let mut items = Vec::new();
        read_stream("test", Dribble(&file), &mut |item| items.push(Got::own(item))).unwrap();
        assert_eq!(items, read(&file).unwrap().0);
    }
}
