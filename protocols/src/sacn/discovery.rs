//! The E1.31 universe discovery packet: one page of the list of universes a source sends.

use super::layout::View;
use super::wire::{DISCOVERY_HEAD as HEAD_LEN, LIST_VECTOR, PAGE_UNIVERSES as PAGE_MAX};
use super::{
    DISCOVERY, DISCOVERY_UNIVERSE, S06, S08, S10, S11, S13, S39, S40, S41, S42, S43, address, shape,
};
use crate::{Datagram, Faults, Pdu, Severity, Value};

const LAYERS: [shape::Layer; 3] = [(16, S06), (38, S08), (112, S10)];

pub(super) fn decode<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    let view = View::new(d);
    shape::preamble(view, false, faults);
    shape::short(view, HEAD_LEN, "a discovery packet has 120 octets and two for each universe", faults);
    shape::flags(view, &LAYERS, faults);
    let end = shape::lengths(view, &LAYERS, HEAD_LEN, None, faults).end;
    shape::cid(view, faults);
    shape::name(view, faults);
    header(view, faults);
    let list = view.range(HEAD_LEN, end);
    list_size(end.saturating_sub(HEAD_LEN), faults);
    order(list, faults);
    if !address::fits(d, DISCOVERY_UNIVERSE) {
        address::check(d, Some(DISCOVERY_UNIVERSE), 0, faults);
    }
    Pdu {
        sender: view.cid(),
        name: view.name(),
        index: view.u8(118).map_or(0, u16::from),
        count: view.u8(119).map_or(0, |last| u16::from(last) + 1),
        data: list,
        data_length: view.u16(112).map_or(0, |field| u32::from(field & 0x0FFF).saturating_sub(8)),
        ..Pdu::empty(DISCOVERY)
    }
}

fn header(view: View<'_>, faults: &mut Faults) {
    if let Some(reserved) = view.u32(108).filter(|r| *r != 0) {
        faults.add(S39, 108, Value::Dec(0), Value::Hex(reserved.into(), 8));
    }
    if let Some(vector) = view.u32(114).filter(|v| *v != LIST_VECTOR) {
        let hint = "the vector of the universe list";
        let expected = Value::Dec(LIST_VECTOR.into());
        faults.add_with(S13, Severity::Violation, 114, expected, Value::Hex(vector.into(), 8), hint);
    }
    if let (Some(page), Some(last)) = (view.u8(118), view.u8(119))
        && page > last
    {
        faults.add(S41, 118, Value::AtMost(last.into()), Value::Dec(page.into()));
    }
}

/// Judges the size of the list as sent, in octets.
fn list_size(octets: usize, faults: &mut Faults) {
    if !octets.is_multiple_of(2) {
        let hint = "the list does not hold a whole number of universes";
        let expected = Value::Dec(octets as u64 - 1);
        faults.add_with(S11, Severity::Violation, HEAD_LEN, expected, Value::Dec(octets as u64), hint);
    }
    if octets / 2 > PAGE_MAX {
        faults.add(S43, HEAD_LEN, Value::AtMost(PAGE_MAX as u64), Value::Dec(octets as u64 / 2));
    }
}

/// Reports the first place where the list descends and the first where it repeats a number.
fn order(list: &[u8], faults: &mut Faults) {
    let number = |pair: &[u8]| u16::from_be_bytes([pair[0], pair[1]]);
    let numbers = || list.chunks_exact(2).map(number);
    let steps = || numbers().zip(numbers().skip(1)).enumerate();
    let at = |i: usize| HEAD_LEN + 2 * (i + 1);
    if let Some((i, (before, after))) = steps().find(|(_, (a, b))| b < a) {
        faults.add(S40, at(i), Value::AtLeast(before.into()), Value::Dec(after.into()));
    }
    if let Some((i, (before, _))) = steps().find(|(_, (a, b))| a == b) {
        faults.add(S42, at(i), Value::AtLeast(u64::from(before) + 1), Value::Dec(before.into()));
    }
}
