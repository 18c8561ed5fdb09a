//! The E1.31 synchronization packet, 49 octets.

use super::layout::View;
use super::wire::SYNC_LEN as LEN;
use super::{S01, S06, S08, S37, S38, SYNC, UNIVERSE_MAX, address, shape};
use crate::{Datagram, Faults, Marks, Pdu, Severity, Value};

const LAYERS: [shape::Layer; 2] = [(16, S06), (38, S08)];

pub(super) fn decode<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    let view = View::new(d);
    shape::preamble(view, false, faults);
    shape::short(view, LEN, "a synchronization packet has exactly 49 octets", faults);
    shape::flags(view, &LAYERS, faults);
    let extent = shape::lengths(view, &LAYERS, LEN, None, faults);
    if extent.end > LEN {
        let hint = "a synchronization packet has exactly 49 octets";
        let got = Value::Dec(extent.end as u64);
        faults.add_with(S01, Severity::Violation, LEN, Value::Dec(LEN as u64), got, hint);
    }
    shape::cid(view, faults);
    let number = view.u16(45);
    if let Some(n) = number.filter(|n| !(1..=UNIVERSE_MAX).contains(n)) {
        faults.add(S38, 45, Value::Range(1, UNIVERSE_MAX.into()), Value::Dec(n.into()));
    }
    if let Some(reserved) = view.u16(47).filter(|r| *r != 0) {
        faults.add(S37, 47, Value::Dec(0), Value::Hex(reserved.into(), 4));
    }
    if !number.is_some_and(|n| address::fits(d, n)) {
        address::check(d, number, 45, faults);
    }
    Pdu {
        stream: number.map(u32::from),
        sender: view.cid(),
        sequence: view.u8(44).map(u32::from),
        marks: Marks::SYNC,
        ..Pdu::empty(SYNC)
    }
}
