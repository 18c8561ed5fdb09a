//! The prefilter, run by a small interpreter over built frames.

use super::*;

const PORTS: [u16; 5] = [5568, 4048, 6454, 21_600, 6455];

/// Runs a program as the kernel does: a load outside the frame rejects it.
fn run(program: &[Instruction], frame: &[u8]) -> u32 {
    let (mut a, mut x, mut at) = (0u32, 0u32, 0usize);
    let octets = |offset: u32, count: usize| {
        let bytes = frame.get(offset as usize..offset as usize + count)?;
        Some(bytes.iter().fold(0u32, |value, octet| value << 8 | u32::from(*octet)))
    };
    loop {
        let Instruction { code, yes, no, k } = program[at];
        at += 1;
        let mut branch = |holds: bool| at += usize::from(if holds { yes } else { no });
        let load = match code {
            LOAD_HALF_AT => Some(octets(k, 2)),
            LOAD_OCTET_AT => Some(octets(k, 1)),
            LOAD_HALF_X => Some(octets(x + k, 2)),
            LOAD_OCTET_X => Some(octets(x + k, 1)),
            _ => None,
        };
        match (code, load) {
            (_, Some(None)) => return 0,
            (_, Some(Some(value))) => a = value,
            (SET, _) => a = k,
            (SET_X, _) => x = k,
            (ADD, _) => a += k,
            (AND, _) => a &= k,
            (SHIFT_LEFT, _) => a <<= k,
            (SHIFT_RIGHT, _) => a >>= k,
            (ADD_X, _) => a += x,
            (TO_X, _) => x = a,
            (JUMP, _) => at += k as usize,
            (IF_EQUAL, _) => branch(a == k),
            (IF_ABOVE, _) => branch(a > k),
            (IF_AT_LEAST, _) => branch(a >= k),
            (IF_ANY_BIT, _) => branch(a & k != 0),
            (RETURN, _) => return k,
            (other, _) => panic!("instruction {other:#x}"),
        }
    }
}

fn passes(start: Start, ports: &[u16], frame: &[u8]) -> bool {
    match run(&program(start, ports).unwrap(), frame) {
        0 => false,
        SNAP => true,
        other => panic!("snap length {other}"),
    }
}

fn udp(source: u16, destination: u16) -> Vec<u8> {
    [source.to_be_bytes(), destination.to_be_bytes(), [0, 12], [0, 0], [1, 2], [3, 4]].concat()
}

/// An IPv4 packet with `options` words of options and the flags and fragment offset field `fragment`.
fn v4(protocol: u8, options: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let header = 20 + usize::from(options) * 4;
    let mut packet = vec![0x45 + options, 0];
    packet.extend(((header + payload.len()) as u16).to_be_bytes());
    packet.extend([0, 9]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.resize(header, 1);
    [packet, payload.to_vec()].concat()
}

fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0, length[0], length[1], next, 64][..], &[1; 32], payload].concat()
}

/// An IPv6 fragment header and what follows it.
fn v6_fragment(next: u8, field: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = field.to_be_bytes();
    v6(44, &[&[next, 0, high, low, 0, 0, 0, 7][..], payload].concat())
}

/// An Ethernet frame with the tags `tags`.
fn frame(tags: &[u16], ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 100]);
    }
    frame.extend(ether_type.to_be_bytes());
    [frame, packet.to_vec()].concat()
}

/// Every way to carry an IP packet to the program.
fn carried(packet: &[u8]) -> Vec<(Start, Vec<u8>)> {
    let kind = if packet[0] >> 4 == 4 { 0x0800 } else { 0x86dd };
    vec![
        (Start::Ip, packet.to_vec()),
        (Start::Ethernet, frame(&[], kind, packet)),
        (Start::Ethernet, frame(&[0x8100], kind, packet)),
        (Start::Ethernet, frame(&[0x88a8, 0x8100], kind, packet)),
        (Start::Ethernet, frame(&[0x9100, 0x9100], kind, packet)),
    ]
}

fn assert_verdict(packet: &[u8], verdict: bool) {
    for (start, frame) in carried(packet) {
        assert_eq!(passes(start, &PORTS, &frame), verdict, "{start:?} {frame:02x?}");
    }
}

#[test]
fn datagrams_from_or_to_a_port_pass_and_others_do_not() {
    for port in PORTS {
        for (source, destination) in [(40_000, port), (port, 40_000), (port, port)] {
            assert_verdict(&v4(17, 0, 0x4000, &udp(source, destination)), true);
            assert_verdict(&v6(17, &udp(source, destination)), true);
        }
    }
    for port in [0, 53, 4047, 4049, 5567, 5569, 6453, 6456, 21_599, 21_601, 65_535] {
        assert_verdict(&v4(17, 0, 0x4000, &udp(40_000, port)), false);
        assert_verdict(&v6(17, &udp(port, 40_000)), false);
    }
}

#[test]
fn ports_are_found_behind_ipv4_options() {
    for options in 0..=10 {
        assert_verdict(&v4(17, options, 0, &udp(1, 5568)), true);
        assert_verdict(&v4(17, options, 0, &udp(1, 5569)), false);
    }
}

#[test]
fn other_protocols_do_not_pass() {
    for protocol in [1, 2, 6, 50, 58, 132] {
        assert_verdict(&v4(protocol, 0, 0, &udp(5568, 5568)), false);
        assert_verdict(&v6(protocol, &udp(5568, 5568)), false);
    }
    for kind in [0x0806, 0x8863, 0x88cc, 0x88f7, 0x0600] {
        assert!(!passes(Start::Ethernet, &PORTS, &frame(&[], kind, &[0; 60])));
    }
}

#[test]
fn first_fragments_pass_by_port_and_all_others_pass() {
    assert_verdict(&v4(17, 0, 0x2000, &udp(1, 5568)), true);
    assert_verdict(&v4(17, 0, 0x2000, &udp(1, 53)), false);
    assert_verdict(&v4(17, 0, 0x20b9, &[0; 8]), true);
    assert_verdict(&v4(17, 0, 0x00b9, &[]), true);
    assert_verdict(&v4(6, 0, 0x00b9, &[0; 8]), false);
    assert_verdict(&v6_fragment(17, 1, &udp(1, 5568)), true);
    assert_verdict(&v6_fragment(17, 1, &udp(1, 53)), false);
    assert_verdict(&v6_fragment(17, 0x05a8, &[0; 8]), true);
    assert_verdict(&v6_fragment(17, 0x05a9, &[]), true);
}

#[test]
fn ports_are_found_behind_one_ipv6_extension_header_and_more_of_them_pass() {
    let header = |next: u8, units: u8| [&[next, units][..], &vec![0; usize::from(units) * 8 + 6]].concat();
    for kind in [0, 43, 60] {
        for units in [0, 1, 31] {
            assert_verdict(&v6(kind, &[header(17, units), udp(1, 5568)].concat()), true);
            assert_verdict(&v6(kind, &[header(17, units), udp(1, 53)].concat()), false);
            assert_verdict(&v6(kind, &[header(44, units), vec![0; 8]].concat()), true);
        }
    }
    assert_verdict(&v6(0, &[header(58, 0), vec![143; 20]].concat()), false);
}

#[test]
fn ip_behind_llc_passes_and_other_llc_does_not() {
    let llc = |llc: &[u8]| frame(&[], 0x0100, &[llc, &v4(17, 0, 0, &udp(1, 53))[..]].concat());
    let passes = |frame: &[u8]| passes(Start::Ethernet, &PORTS, frame);
    assert!(passes(&llc(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0])));
    assert!(passes(&llc(&[6, 6, 3])));
    assert!(!passes(&llc(&[0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0])));
    assert!(!passes(&llc(&[0x42, 0x42, 3, 0, 0, 0, 0, 0])));
}

#[test]
fn frames_that_end_early_are_rejected() {
    for (start, frame) in carried(&v4(17, 0, 0, &udp(1, 5568))) {
        // Up to the destination port.
        for length in 0..frame.len() - 8 {
            assert!(!passes(start, &PORTS, &frame[..length]), "{start:?} {length}");
        }
        assert!(passes(start, &PORTS, &frame[..frame.len() - 8]));
    }
}

#[test]
fn ports_in_a_row_become_one_range() {
    assert_eq!(ranges(&[7, 5, 6, 9, 7, 65_535, 65_534]), vec![5..=7, 9..=9, 65_534..=65_535]);
    let all: Vec<u16> = (0..=u16::MAX).collect();
    assert_eq!(ranges(&all), vec![0..=u16::MAX]);
}

#[test]
fn the_largest_program_is_within_the_kernels_limits() {
    let pairs = |count: u16| (0..count).flat_map(|n| [n * 4, n * 4 + 1]).collect::<Vec<u16>>();
    let ports = pairs(RANGES_MAX as u16);
    for start in [Start::Ethernet, Start::Ip] {
        let program = program(start, &ports).unwrap();
        assert!(program.len() <= 4_096, "{}", program.len());
        for (at, instruction) in program.iter().enumerate() {
            let reach = match instruction.code {
                RETURN => continue,
                JUMP => instruction.k as usize,
                _ => usize::from(instruction.yes.max(instruction.no)),
            };
            assert!(at + 1 + reach < program.len(), "instruction {at} jumps out");
            assert!(instruction.yes < 64 && instruction.no < 64, "instruction {at} jumps far");
        }
    }
    assert!(passes(Start::Ip, &ports, &v4(17, 0, 0, &udp(65_000, 2_045))));
    assert!(!passes(Start::Ip, &ports, &v4(17, 0, 0, &udp(65_000, 2_046))));
    assert_eq!(program(Start::Ip, &pairs(RANGES_MAX as u16 + 1)), None);
    assert_eq!(program(Start::Ip, &[]), None);
}
