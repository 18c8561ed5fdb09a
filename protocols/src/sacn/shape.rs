//! Checks that packets of every kind share: preamble, flags, lengths, CID and source name. Runs only after a
//! reader found something odd, so it is written to explain, not to be fast.

use super::layout::{View, name_end, octets};
use super::wire::NAME_LEN;
use super::{S01, S02, S03, S05, S07, S11, S23, S24, S25, S26, S29, S30};
use crate::{Cid, Faults, Rule, Severity, Value};

/// The CID every xLights installation sends.
pub(super) const XLIGHTS_CID: Cid = 0xc0de_0080_c69b_11e0_9572_0800_200c_9a66_u128.to_be_bytes();
/// Post-amble size of Pathway Secure.
const PATHWAY_POSTAMBLE: u16 = 28;

/// Reports preamble and post-amble; `pathway` also accepts the post-amble of Pathway Secure.
pub(super) fn preamble(view: View<'_>, pathway: bool, faults: &mut Faults) {
    if let Some(size) = view.u16(0).filter(|s| *s != 0x10) {
        faults.add(S02, 0, Value::Hex(0x10, 4), Value::Hex(size.into(), 4));
    }
    let legal = |size: u16| size == 0 || (pathway && size == PATHWAY_POSTAMBLE);
    if let Some(size) = view.u16(2).filter(|s| !legal(*s)) {
        faults.add(S03, 2, Value::Hex(0, 4), Value::Hex(size.into(), 4));
    }
}

/// Reports a datagram of fewer than `least` octets; true when it is.
pub(super) fn short(view: View<'_>, least: usize, hint: &'static str, faults: &mut Faults) -> bool {
    let short = view.sent() < least;
    if short {
        let (expected, got) = (Value::AtLeast(least as u64), Value::Dec(view.sent() as u64));
        faults.add_with(S01, Severity::Violation, view.sent(), expected, got, hint);
    }
    short
}

/// One PDU of the packet: the offset of its flags and length, and the rule its length is judged by.
pub(super) type Layer = (usize, &'static Rule);

/// What the length fields say about the end of the packet.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Offset of the octet after the packet.
    pub(super) end: usize,
    /// False when a length or a count that should depend on it is already reported as contradicting.
    pub(super) agreed: bool,
}

/// Reports flags other than 0x7, once for the packet.
pub(super) fn flags(view: View<'_>, layers: &[Layer], faults: &mut Faults) {
    let mut bad = layers.iter().filter_map(|(at, _)| {
        let top = view.u16(*at)? >> 12;
        (top != 7).then_some((*at, top))
    });
    let Some((at, top)) = bad.next() else { return };
    let hint = match (at, bad.next()) {
        (_, Some(_)) => "more than one layer has wrong flags",
        (16, None) => "flags of the root layer",
        (38, None) => "flags of the framing layer",
        _ => "flags of the innermost layer",
    };
    faults.add_with(S05, Severity::Violation, at, Value::Hex(7, 1), Value::Hex(top.into(), 1), hint);
}

/// Reports lengths that do not fit the datagram and returns where the packet ends.
///
/// Lengths that agree with each other and end early mean octets after the packet (S07), unless `counted`, the end
/// by the property count, says that they all are too small. `least` is the smallest legal packet.
pub(super) fn lengths(
    view: View<'_>,
    layers: &[Layer],
    least: usize,
    counted: Option<usize>,
    faults: &mut Faults,
) -> Extent {
    let sent = view.sent();
    let declared = |at: usize| view.u16(at).map(|field| usize::from(field & 0x0FFF));
    let first = layers.first().and_then(|(at, _)| Some(at + declared(*at)?));
    let common =
        first.filter(|end| layers.iter().all(|(at, _)| declared(*at).is_some_and(|n| at + n == *end)));
    match common {
        Some(end) if end < sent && end >= least && counted != Some(sent) => {
            trailing(view, end, counted, faults)
        }
        _ => {
            let constants = sent < 638 && common == Some(638);
            for (at, rule) in layers {
                if let Some(n) = declared(*at).filter(|n| at + n != sent) {
                    let hint = length_hint(n, *at, sent, constants);
                    let expected = Value::Dec(sent.saturating_sub(*at) as u64);
                    faults.add_with(rule, Severity::Violation, *at, expected, Value::Dec(n as u64), hint);
                }
            }
            Extent { end: sent, agreed: true }
        }
    }
}

fn trailing(view: View<'_>, end: usize, counted: Option<usize>, faults: &mut Faults) -> Extent {
    let (expected, got) = (Value::Dec(end as u64), Value::Dec(view.sent() as u64));
    faults.add_with(S07, Severity::Warning, end, expected, got, "octets after the packet");
    let agreed = counted.is_none_or(|c| c == end);
    if let Some(c) = counted.filter(|c| *c != end) {
        let hint = "the lengths agree with each other, the property count with none of them";
        faults.add_with(S11, Severity::Violation, 123, Value::Dec(end as u64), Value::Dec(c as u64), hint);
    }
    Extent { end, agreed }
}

fn length_hint(declared: usize, at: usize, sent: usize, constants: bool) -> &'static str {
    if constants {
        "length fields left at 512-slot values: FalconChristmas/fpp#94"
    } else if declared == sent {
        "this is the size of the datagram; the field counts from its own first octet"
    } else if declared + at + 2 == sent {
        "the field leaves out its own two octets"
    } else if declared == 0 {
        "the length was never filled in"
    } else if (at == 16 && declared < 22) || (at == 38 && declared < 77) {
        "shorter than its own header; parsers that trust it fail: RustLight/sacn#56"
    } else {
        ""
    }
}

/// True when the CID is a UUID that can be the sender's own.
#[inline]
pub(super) fn cid_is_plain(cid: &Cid) -> bool {
    matches!(cid[6] >> 4, 1..=8) && cid[8] >> 6 == 0b10 && *cid != XLIGHTS_CID
}

/// Reports a CID that identifies nobody.
pub(super) fn cid(view: View<'_>, faults: &mut Faults) {
    let Some(cid) = view.cid().filter(|c| !cid_is_plain(c)) else { return };
    if cid == [0; 16] {
        faults.add(S29, 22, Value::Word("a UUID"), octets(&cid));
    } else {
        faults.add_with(S30, Severity::Info, 22, Value::Word("a UUID"), octets(&cid), cid_hint(&cid));
    }
}

fn cid_hint(cid: &Cid) -> &'static str {
    let text = &cid[..name_end(cid)];
    let zero_after = cid[text.len()..].iter().all(|o| *o == 0);
    let uuid_letter = |o: &u8| o.is_ascii_hexdigit() || matches!(o, b'-' | b'{' | b'}');
    if *cid == XLIGHTS_CID {
        "every xLights installation sends this CID"
    } else if text.starts_with(b"FALCON FPP") {
        "every FPP sends this text as its CID"
    } else if text.len() == cid.len() && text.iter().all(uuid_letter) {
        "the text of a UUID cut at 16 octets: docsteer/sacnview#263"
    } else if zero_after && text.iter().all(|o| (b' '..=b'~').contains(o)) {
        "printable text, not a UUID"
    } else {
        "no UUID: version or variant bits are wrong"
    }
}

/// Finds the first NUL of a source name (or 64), and whether the name is as it should be: not empty, ASCII, zero
/// padded. Eight octets at a time, because it runs for every data packet.
#[inline(always)]
pub(super) fn scan_name(field: &[u8; NAME_LEN]) -> (usize, bool) {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;
    let (words, _) = field.as_chunks::<8>();
    let word = |i: usize| words.get(i).map_or(0, |octets| u64::from_le_bytes(*octets));
    // The lowest bit set marks the first zero octet.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let (mut i, mut high) = (0, word(0));
    // Names of up to 7 and up to 15 octets: what has to be zero behind them is known when this is compiled.
    let mut rest = (2..8).fold(0, |rest, i| rest | word(i));
    if zeros(word(0)) != 0 {
        rest |= word(1);
    } else if zeros(word(1)) != 0 {
        (i, high) = (1, high | word(1));
    } else {
        high |= word(1);
        i = (2..8).find(|i| zeros(word(*i)) != 0).unwrap_or(8);
        high = (2..=i).fold(high, |high, i| high | word(i));
        rest = (i + 1..8).fold(0, |rest, i| rest | word(i));
    }
    if i == 8 {
        return (NAME_LEN, false);
    }
    let at = zeros(word(i)).trailing_zeros() / 8;
    let (end, tail) = (8 * i + at as usize, word(i) >> (8 * at) | rest);
    (end, end != 0 && high & HIGH == 0 && tail == 0)
}

/// Reports an unterminated, garbled, dirty or empty source name.
pub(super) fn name(view: View<'_>, faults: &mut Faults) {
    let field = view.name_field();
    let end = name_end(field);
    let whole = field.len() == NAME_LEN;
    if end == NAME_LEN {
        faults.add(S23, 107, Value::Word("NUL"), octets(&field[NAME_LEN - 1..]));
    }
    if let Err(error) = std::str::from_utf8(&field[..end])
        && (end < field.len() || whole)
    {
        let bad = error.valid_up_to();
        faults.add(S24, 44 + bad, Value::Word("UTF-8"), octets(&field[bad..end]));
    }
    if let Some(dirt) = field[end..].iter().position(|o| *o != 0) {
        faults.add(S25, 44 + end + dirt, Value::Dec(0), octets(&field[end + dirt..]));
    }
    if end == 0 && !field.is_empty() {
        faults.add(S26, 44, Value::Word("a name"), Value::Word("empty"));
    }
}
