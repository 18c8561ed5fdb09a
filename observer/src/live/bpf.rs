//! The kernel's prefilter as data: classic BPF that passes UDP from or to given ports, IPv4 or IPv6, behind up to two
//! VLAN tags, together with every fragment that may belong to it.
//!
//! A fragment other than the first names no port, so all of them pass and reassembly decides. The kernel takes the
//! outermost VLAN tag out of a frame before the filter sees it; a tag that is still there is skipped here.

use std::ops::RangeInclusive;

/// Octets of a frame that passes: all of them, at most libpcap's largest snap length.
pub(super) const SNAP: u32 = 262_144;
/// Port ranges a program holds at most; the kernel takes 4,096 instructions.
pub(super) const RANGES_MAX: usize = 512;

const LOAD_HALF_AT: u16 = 0x28;
const LOAD_OCTET_AT: u16 = 0x30;
const LOAD_HALF_X: u16 = 0x48;
const LOAD_OCTET_X: u16 = 0x50;
const SET: u16 = 0x00;
const SET_X: u16 = 0x01;
const ADD: u16 = 0x04;
const AND: u16 = 0x54;
const SHIFT_LEFT: u16 = 0x64;
const SHIFT_RIGHT: u16 = 0x74;
const ADD_X: u16 = 0x0c;
const TO_X: u16 = 0x07;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_ABOVE: u16 = 0x25;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const HOP_BY_HOP: u32 = 0;
const UDP: u32 = 17;
const ROUTING: u32 = 43;
const FRAGMENT: u32 = 44;
const AUTHENTICATION: u32 = 51;
const DESTINATION: u32 = 60;

/// Where the IP header is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Behind an Ethernet header.
    Ethernet,
    /// At the first octet.
    Ip,
}

/// One instruction of classic BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    /// Instructions to skip when the condition holds.
    pub(super) yes: u8,
    /// Instructions to skip when it does not.
    pub(super) no: u8,
    pub(super) k: u32,
}

/// A place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    /// The instruction that follows.
    Next,
    Tagged,
    TaggedTwice,
    Types,
    Version4,
    Version6,
    Extended,
    Stretched,
    Fragmented,
    Ports,
    Accept,
    Reject,
}
use Label::{
    Accept, Extended, Fragmented, Next, Ports, Reject, Stretched, Tagged, TaggedTwice, Types, Version4,
    Version6,
};

/// A line of the program before places are distances.
#[derive(Clone, Copy, Debug)]
enum Step {
    Do(u16, u32),
    If(u16, u32, Label, Label),
    /// A condition with the instructions to skip when it holds and when not.
    Skip(u16, u32, u8, u8),
    Go(Label),
    At(Label),
}
use Step::{At, Do, Go, If, Skip};

/// The program for frames that begin at `start`; `None` when there are no ports, or too many for a program.
pub(super) fn program(start: Start, ports: &[u16]) -> Option<Vec<Instruction>> {
    let ranges = ranges(ports);
    if ranges.is_empty() || ranges.len() > RANGES_MAX {
        return None;
    }
    let link = match start {
        Start::Ethernet => ETHERNET,
        Start::Ip => IP,
    };
    let mut steps = [link, NETWORK].concat();
    for field in [DESTINATION_PORT, SOURCE_PORT] {
        steps.push(Do(LOAD_HALF_X, field));
        ranges.iter().for_each(|range| passing(range, &mut steps));
    }
    steps.push(Do(RETURN, 0));
    Some(assemble(&steps))
}

const SOURCE_PORT: u32 = 0;
const DESTINATION_PORT: u32 = 2;

/// Sets X to the offset of the IP header.
const ETHERNET: &[Step] = &[
    Do(LOAD_HALF_AT, 12),
    If(IF_EQUAL, 0x8100, Tagged, Next),
    If(IF_EQUAL, 0x88a8, Tagged, Next),
    If(IF_EQUAL, 0x9100, Tagged, Next),
    Do(SET_X, 14),
    Go(Types),
    At(Tagged),
    Do(LOAD_HALF_AT, 16),
    If(IF_EQUAL, 0x8100, TaggedTwice, Next),
    If(IF_EQUAL, 0x88a8, TaggedTwice, Next),
    If(IF_EQUAL, 0x9100, TaggedTwice, Next),
    Do(SET_X, 18),
    Go(Types),
    At(TaggedTwice),
    Do(LOAD_HALF_AT, 20),
    Do(SET_X, 22),
    At(Types),
    If(IF_EQUAL, 0x0800, Version4, Next),
    If(IF_EQUAL, 0x86dd, Version6, Next),
    If(IF_ABOVE, 0x05ff, Reject, Next),
    // IEEE 802.3 with an LLC header, rare: the dissector decides when it may be IP, by SNAP or by the SAP of IP.
    Do(LOAD_HALF_X, 0),
    If(IF_EQUAL, 0x0606, Accept, Next),
    If(IF_EQUAL, 0xaaaa, Next, Reject),
    Do(LOAD_HALF_X, 6),
    If(IF_EQUAL, 0x0800, Accept, Next),
    If(IF_EQUAL, 0x86dd, Accept, Reject),
];

/// As [`ETHERNET`], by the version in the first octet.
const IP: &[Step] = &[
    Do(SET_X, 0),
    Do(LOAD_OCTET_AT, 0),
    Do(SHIFT_RIGHT, 4),
    If(IF_EQUAL, 4, Version4, Next),
    If(IF_EQUAL, 6, Version6, Reject),
];

/// From the IP header at X to a verdict, or to the ports with X at the UDP header.
const NETWORK: &[Step] = &[
    At(Version4),
    Do(LOAD_OCTET_X, 9),
    If(IF_EQUAL, UDP, Next, Reject),
    Do(LOAD_HALF_X, 6),
    If(IF_ANY_BIT, 0x1fff, Accept, Next),
    Do(LOAD_OCTET_X, 0),
    Do(AND, 0x0f),
    Do(SHIFT_LEFT, 2),
    Go(Ports),
    At(Version6),
    Do(LOAD_OCTET_X, 6),
    If(IF_EQUAL, FRAGMENT, Fragmented, Next),
    If(IF_EQUAL, HOP_BY_HOP, Extended, Next),
    If(IF_EQUAL, ROUTING, Extended, Next),
    If(IF_EQUAL, DESTINATION, Extended, Next),
    If(IF_EQUAL, AUTHENTICATION, Accept, Next),
    If(IF_EQUAL, UDP, Next, Reject),
    Do(SET, 40),
    Go(Ports),
    At(Fragmented),
    Do(LOAD_HALF_X, 42),
    If(IF_ANY_BIT, 0xfff8, Accept, Next),
    Do(LOAD_OCTET_X, 40),
    If(IF_EQUAL, UDP, Next, Accept),
    Do(SET, 48),
    Go(Ports),
    At(Extended),
    // One extension header is followed; where it leads to more of them, the dissector decides.
    Do(LOAD_OCTET_X, 40),
    If(IF_EQUAL, UDP, Stretched, Next),
    If(IF_EQUAL, FRAGMENT, Accept, Next),
    If(IF_EQUAL, ROUTING, Accept, Next),
    If(IF_EQUAL, DESTINATION, Accept, Next),
    If(IF_EQUAL, AUTHENTICATION, Accept, Reject),
    At(Stretched),
    Do(LOAD_OCTET_X, 41),
    Do(SHIFT_LEFT, 3),
    Do(ADD, 48),
    Go(Ports),
    At(Accept),
    Do(RETURN, SNAP),
    At(Reject),
    Do(RETURN, 0),
    At(Ports),
    Do(ADD_X, 0),
    Do(TO_X, 0),
];

/// Passes the frame when the port at hand lies in `range`.
fn passing(range: &RangeInclusive<u16>, steps: &mut Vec<Step>) {
    let (first, last) = (u32::from(*range.start()), u32::from(*range.end()));
    if first == last {
        steps.push(Skip(IF_EQUAL, first, 0, 1));
    } else {
        steps.push(Skip(IF_AT_LEAST, first, 0, 2));
        steps.push(Skip(IF_ABOVE, last, 1, 0));
    }
    steps.push(Do(RETURN, SNAP));
}

/// The ports as ranges, in order.
fn ranges(ports: &[u16]) -> Vec<RangeInclusive<u16>> {
    let mut ports = ports.to_vec();
    ports.sort_unstable();
    ports.dedup();
    let runs = ports.chunk_by(|one, next| next - one == 1);
    runs.filter_map(|run| Some(*run.first()?..=*run.last()?)).collect()
}

/// Turns places into distances.
fn assemble(steps: &[Step]) -> Vec<Instruction> {
    let mut program = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let away = |label: Label| distance(&steps[index + 1..], label);
        // Conditions reach 255 instructions; the longest way here is a quarter of that, whatever the ports.
        let near = |label: Label| u8::try_from(away(label)).unwrap_or(u8::MAX);
        program.push(match *step {
            Do(code, k) => Instruction { code, yes: 0, no: 0, k },
            Skip(code, k, yes, no) => Instruction { code, yes, no, k },
            If(code, k, yes, no) => Instruction { code, yes: near(yes), no: near(no), k },
            Go(label) => Instruction { code: JUMP, yes: 0, no: 0, k: away(label) },
            At(_) => continue,
        });
    }
    program
}

/// Instructions between here and `label`, which lies in `steps`, the ones that follow.
fn distance(steps: &[Step], label: Label) -> u32 {
    if label == Next {
        return 0;
    }
    let ahead = steps.iter().take_while(|step| !matches!(step, At(at) if *at == label));
    ahead.map(|step| u32::from(!matches!(step, At(_)))).sum()
}

#[cfg(test)]
#[path = "bpf_tests.rs"]
mod tests;
