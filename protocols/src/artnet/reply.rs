//! ArtPollReply: what a node says of itself. It has no protocol version; the address stands in its place.

use super::*;
use crate::Kind;

/// Octets of the short name.
const SHORT_NAME: std::ops::Range<usize> = 26..44;
/// Octets of the long name.
const LONG_NAME: std::ops::Range<usize> = 44..108;
/// Octet of NumPorts, two octets big-endian.
const NUM_PORTS: usize = 172;

/// Decodes ArtPollReply; the length was checked before.
pub(super) fn decode<'a>(d: &Datagram<'a>, kind: Kind, faults: &mut Faults) -> Pdu<'a> {
    if let Some(port) = be16(d.payload, 14).map(u16::swap_bytes).filter(|p| *p != PORT) {
        wrong_port(port, faults);
    }
    let short = name(d, SHORT_NAME, "short name", faults);
    let long = name(d, LONG_NAME, "long name", faults);
    if let Some(ports) = be16(d.payload, NUM_PORTS).filter(|n| *n > 4) {
        faults.add(A16, NUM_PORTS, Value::AtMost(4), Value::Dec(u64::from(ports)));
    }
    Pdu { name: if long.is_empty() { short } else { long }, ..Pdu::empty(kind) }
}

/// The name up to its NUL; a fault when the last octet of the field was captured and is not zero.
fn name<'a>(
    d: &Datagram<'a>,
    field: std::ops::Range<usize>,
    which: &'static str,
    faults: &mut Faults,
) -> &'a [u8] {
    let start = d.payload.get(field.start..).unwrap_or(&[]);
    let octets = start.get(..field.len()).unwrap_or(start);
    let end = octets.iter().position(|o| *o == 0);
    if d.payload.get(field.end - 1).is_some_and(|o| *o != 0) {
        unterminated(field.end - 1, which, end.is_some(), faults);
    }
    octets.get(..end.unwrap_or(octets.len())).unwrap_or(octets)
}

#[cold]
fn unterminated(at: usize, which: &'static str, has_nul: bool, faults: &mut Faults) {
    let hint = if has_nul { "other octets fill the field behind the NUL up to its end" } else { "" };
    faults.add_with(A15, Severity::Warning, at, Value::Word("NUL"), Value::Word(which), hint);
}

#[cold]
fn wrong_port(port: u16, faults: &mut Faults) {
    let hint = if port == PORT.swap_bytes() { "written high octet first" } else { "" };
    let (expected, got) = (Value::Hex(u64::from(PORT), 4), Value::Hex(u64::from(port), 4));
    faults.add_with(A17, Severity::Warning, 14, expected, got, hint);
}
