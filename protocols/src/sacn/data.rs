//! The E1.31 data packet: a fast test for packets with nothing to say about, and the checks for all others.

use super::layout::{View, be16};
use super::wire::{DATA_HEAD as HEAD_LEN, DMP, FRAMING_DATA, NAME_LEN, PREFIX, ROOT_DATA, SLOTS_MAX};
use super::wire::{OPTION_FORCE_SYNC, OPTION_PREVIEW, OPTION_TERMINATED};
use super::{DATA, DISCOVERY_UNIVERSE, PRIORITY_MAX, UNIVERSE_MAX};
use super::{S06, S08, S09, S13, S14, S15, S16, S17, S18, S19, S20, S21, S27, S28, S32, S33, S47};
use super::{address, shape};
use crate::{Datagram, Faults, Marks, Pdu, Severity, Value};

/// Start code and 512 slots.
const COUNT_MAX: u16 = 1 + SLOTS_MAX;
/// Start code of per-address priority.
const PER_ADDRESS_PRIORITY: u8 = 0xDD;
const LAYERS: [shape::Layer; 3] = [(16, S06), (38, S08), (115, S09)];

#[inline]
pub(super) fn decode<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    let Some((head, rest)) = d.payload.split_first_chunk::<HEAD_LEN>() else {
        return partial(d, faults);
    };
    let (name_end, name_is_plain) = shape::scan_name(name_field(head));
    if !(name_is_plain && is_plain(head, d)) {
        explain(d, faults);
    }
    let count = be16(head, 123);
    let slots = match count {
        1..=COUNT_MAX => &rest[..rest.len().min(usize::from(count) - 1)],
        _ => rest,
    };
    let mut pdu = fields(head);
    pdu.name = &name_field(head)[..name_end];
    pdu.data = slots;
    pdu
}

/// A data packet about which there is nothing to say; `None` for every other.
#[inline(always)]
pub(super) fn plain<'a>(d: &Datagram<'a>) -> Option<Pdu<'a>> {
    let (head, rest) = d.payload.split_first_chunk::<HEAD_LEN>()?;
    if head[18..22] != ROOT_DATA.to_be_bytes() || !is_plain(head, d) {
        return None;
    }
    let (name_end, name_is_plain) = shape::scan_name(name_field(head));
    name_is_plain.then(|| Pdu {
        name: &name_field(head)[..name_end],
        data: rest.get(..usize::from(be16(head, 123)) - 1).unwrap_or(rest),
        ..fields(head)
    })
}

/// Reads what there is of a packet that ends, or was cut by the capture, inside its header.
#[cold]
fn partial<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    explain(d, faults);
    let captured = d.payload.len().min(HEAD_LEN);
    let mut head = [0; HEAD_LEN];
    head[..captured].copy_from_slice(&d.payload[..captured]);
    let view = View::new(d);
    let whole = fields(&head);
    Pdu {
        stream: view.u16(113).map(u32::from),
        sender: view.cid(),
        name: view.name(),
        sequence: view.u8(111).map(u32::from),
        priority: view.u8(108).unwrap_or(100),
        ..whole
    }
}

/// Every field but the borrowed ones.
#[inline(always)]
fn fields(head: &[u8; HEAD_LEN]) -> Pdu<'static> {
    let options = head[112];
    let mark = |bit: u8, mark: Marks| if options & bit != 0 { mark } else { Marks(0) };
    let mut cid = [0; 16];
    cid.copy_from_slice(&head[22..38]);
    Pdu {
        stream: Some(be16(head, 113).into()),
        sender: Some(cid),
        sequence: Some(head[111].into()),
        data_length: u32::from(be16(head, 123)).saturating_sub(1),
        start_code: head[125],
        priority: head[108],
        sync: be16(head, 109),
        marks: Marks::DATA
            .and(mark(OPTION_PREVIEW, Marks::PREVIEW))
            .and(mark(OPTION_TERMINATED, Marks::TERMINATED))
            .and(mark(OPTION_FORCE_SYNC, Marks::FORCE_SYNC)),
        ..Pdu::empty(DATA)
    }
}

#[inline]
fn name_field(head: &[u8; HEAD_LEN]) -> &[u8; NAME_LEN] {
    let (_, from_name) = head.split_first_chunk::<44>().unwrap_or((&[0; 44], &[]));
    from_name.first_chunk().unwrap_or(&[0; NAME_LEN])
}

/// True when no rule but those of the source name has anything to say about the packet; [`explain`] finds
/// something whenever this is false.
#[inline(always)]
fn is_plain(head: &[u8; HEAD_LEN], d: &Datagram<'_>) -> bool {
    layout_is_plain(head, d.len()) && values_are_plain(head) && address::fits(d, be16(head, 113))
}

#[inline]
fn layout_is_plain(head: &[u8; HEAD_LEN], sent: usize) -> bool {
    let length = |at: usize| usize::from(be16(head, at)) == 0x7000 + sent - at;
    let count = be16(head, 123);
    head[..16] == PREFIX
        && length(16)
        && length(38)
        && length(115)
        && head[40..44] == FRAMING_DATA.to_be_bytes()
        && head[117..123] == DMP
        && usize::from(count) + 125 == sent
        && (1..=COUNT_MAX).contains(&count)
}

#[inline]
fn values_are_plain(head: &[u8; HEAD_LEN]) -> bool {
    let cid: Option<&[u8; 16]> = head[22..].first_chunk();
    let (universe, sync) = (be16(head, 113), be16(head, 109));
    head[108] <= PRIORITY_MAX
        && sync <= UNIVERSE_MAX
        && sync != universe
        && head[112] & !(OPTION_TERMINATED | OPTION_FORCE_SYNC) == 0
        && (1..=UNIVERSE_MAX).contains(&universe)
        && head[125] == 0
        && cid.is_some_and(shape::cid_is_plain)
}

/// Adds every fault of a data packet.
#[cold]
pub(super) fn explain(d: &Datagram<'_>, faults: &mut Faults) {
    let view = View::new(d);
    shape::preamble(view, false, faults);
    let hint = "a data packet needs at least the start code";
    let short = shape::short(view, HEAD_LEN, hint, faults);
    shape::flags(view, &LAYERS, faults);
    let counted = view.u16(123).map(|c| 125 + usize::from(c));
    let extent = shape::lengths(view, &LAYERS, HEAD_LEN, counted, faults);
    framing(view, faults);
    dmp(view, faults);
    if !short {
        count(view, extent, faults);
    }
    shape::cid(view, faults);
    shape::name(view, faults);
    start_code(view, extent.end, faults);
    address::check(d, view.u16(113), 113, faults);
}

fn framing(view: View<'_>, faults: &mut Faults) {
    if let Some(vector) = view.u32(40).filter(|v| *v != FRAMING_DATA) {
        let hint = "1 (synchronization) belongs under root vector 8";
        let hint = if vector == 1 { hint } else { "" };
        faults.add_with(S13, Severity::Violation, 40, Value::Dec(2), Value::Hex(vector.into(), 8), hint);
    }
    if let Some(priority) = view.u8(108).filter(|p| *p > PRIORITY_MAX) {
        faults.add(S20, 108, Value::AtMost(PRIORITY_MAX.into()), Value::Dec(priority.into()));
    }
    sync_address(view, faults);
    options(view, faults);
    if let Some(universe) = view.u16(113).filter(|u| !(1..=UNIVERSE_MAX).contains(u)) {
        let (expected, got) = (Value::Range(1, UNIVERSE_MAX.into()), Value::Dec(universe.into()));
        faults.add_with(S21, Severity::Violation, 113, expected, got, universe_hint(universe));
    }
}

fn universe_hint(universe: u16) -> &'static str {
    match universe {
        0 => "universes count from 1; a universe cut to 8 bits also ends here (256 becomes 0)",
        DISCOVERY_UNIVERSE => "64214 names the group of universe discovery",
        _ => "",
    }
}

fn sync_address(view: View<'_>, faults: &mut Faults) {
    let Some(sync) = view.u16(109) else { return };
    if sync > UNIVERSE_MAX {
        faults.add(S28, 109, Value::AtMost(UNIVERSE_MAX.into()), Value::Dec(sync.into()));
    } else if sync != 0 && view.u16(113) == Some(sync) {
        let hint = "the address equals the universe of the data, which is legal";
        faults.add_with(S28, Severity::Info, 109, Value::None, Value::Dec(sync.into()), hint);
    }
}

fn options(view: View<'_>, faults: &mut Faults) {
    let Some(options) = view.u8(112) else { return };
    if options & 0x1F != 0 {
        faults.add(S27, 112, Value::Hex((options & 0xE0).into(), 2), Value::Hex(options.into(), 2));
    }
    if options & OPTION_PREVIEW != 0 {
        faults.add(S47, 112, Value::None, Value::Word("preview"));
    }
}

fn dmp(view: View<'_>, faults: &mut Faults) {
    if let Some(vector) = view.u8(117).filter(|v| *v != 2) {
        faults.add(S14, 117, Value::Hex(2, 2), Value::Hex(vector.into(), 2));
    }
    if let Some(kind) = view.u8(118).filter(|t| *t != 0xA1) {
        faults.add(S15, 118, Value::Hex(0xA1, 2), Value::Hex(kind.into(), 2));
    }
    if let Some(first) = view.u16(119).filter(|a| *a != 0) {
        let hint = "the property address of slot 0 is 0, whatever the universe";
        faults.add_with(S16, Severity::Violation, 119, Value::Dec(0), Value::Dec(first.into()), hint);
    }
    if let Some(step) = view.u16(121).filter(|i| *i != 1) {
        let hint = "receivers drop it, analysers show it: docsteer/sacnview#301";
        faults.add_with(S17, Severity::Violation, 121, Value::Dec(1), Value::Dec(step.into()), hint);
    }
}

fn count(view: View<'_>, extent: shape::Extent, faults: &mut Faults) {
    let Some(count) = view.u16(123) else { return };
    if !(1..=COUNT_MAX).contains(&count) {
        let hint = "1 for the start code and at most 512 slots";
        let expected = Value::Range(1, COUNT_MAX.into());
        faults.add_with(S18, Severity::Violation, 123, expected, Value::Dec(count.into()), hint);
    }
    let present = extent.end.saturating_sub(125);
    let count = usize::from(count);
    if extent.agreed && count != present {
        let hint = match count {
            c if c + 1 == present => "the start code is not counted",
            c if c > present => "octets are missing",
            _ => "there are more octets than the count says",
        };
        let (expected, got) = (Value::Dec(present as u64), Value::Dec(count as u64));
        faults.add_with(S19, Severity::Violation, 123, expected, got, hint);
    }
}

fn start_code(view: View<'_>, end: usize, faults: &mut Faults) {
    let Some(code) = view.u8(125).filter(|c| *c != 0) else { return };
    let hint = match code {
        PER_ADDRESS_PRIORITY => "per-address priority",
        0x17 => "text packet",
        0x55 => "test packet",
        0xCC => "RDM, which E1.31 does not carry",
        0xCF => "system information packet",
        _ => "an alternate start code: the octets are not levels",
    };
    faults.add_with(S32, Severity::Info, 125, Value::Hex(0, 2), Value::Hex(code.into(), 2), hint);
    if code == PER_ADDRESS_PRIORITY {
        priorities(view.range(HEAD_LEN, end), faults);
    }
}

/// Reports the first reserved value of per-address priorities.
fn priorities(slots: &[u8], faults: &mut Faults) {
    // A maximum over all slots takes a fraction of the time of a search.
    if slots.iter().fold(0, |top, p| top.max(*p)) <= PRIORITY_MAX {
        return;
    }
    if let Some(slot) = slots.iter().position(|p| *p > PRIORITY_MAX) {
        let (expected, got) = (Value::AtMost(PRIORITY_MAX.into()), Value::Dec(slots[slot].into()));
        faults.add_with(S33, Severity::Warning, HEAD_LEN + slot, expected, got, "first reserved value");
    }
}

#[cfg(test)]
pub(super) fn is_plain_for(d: &Datagram<'_>) -> Option<bool> {
    let head: &[u8; HEAD_LEN] = d.payload.first_chunk()?;
    Some(shape::scan_name(name_field(head)).1 && is_plain(head, d))
}
