//! ACN packets that are neither data nor synchronization nor discovery: named, and read no further than the CID.

use super::layout::View;
use super::{OTHER, ROOT_LEN, S06, S12, S13, shape};
use crate::{Faults, Pdu, Severity, Value};

/// Root vector of Pathway Secure.
const PATHWAY: u32 = 0x5043_0001;
/// Root vectors of RDMnet (ANSI E1.33): RPT, broker, LLRP, EPT.
const RDMNET: [u32; 4] = [0x5, 0x9, 0xA, 0xB];
const LAYERS: [shape::Layer; 1] = [(16, S06)];

/// Names a packet by its root vector.
#[cold]
pub(super) fn decode<'a>(view: View<'a>, faults: &mut Faults) -> Pdu<'a> {
    if !shape::short(view, ROOT_LEN, "the root layer has 38 octets", faults) {
        let vector = view.u32(18);
        shape::preamble(view, vector == Some(PATHWAY), faults);
        match known(view) {
            Some(hint) => explained(vector, hint, faults),
            None => unknown(view, vector, faults),
        }
    }
    Pdu { sender: view.cid(), ..Pdu::empty(OTHER) }
}

/// Root vector 8 with a framing vector that is not there or belongs to no packet.
#[cold]
pub(super) fn extended<'a>(view: View<'a>, vector: Option<u32>, faults: &mut Faults) -> Pdu<'a> {
    shape::preamble(view, false, faults);
    shape::short(view, 49, "too short to tell synchronization from discovery", faults);
    let layers = [(16, S06), (38, super::S08)];
    shape::flags(view, &layers, faults);
    shape::lengths(view, &layers, view.sent(), None, faults);
    shape::cid(view, faults);
    if let Some(vector) = vector {
        let hint = "under root vector 8: 1 is synchronization, 2 is discovery";
        faults.add_with(S13, Severity::Violation, 40, Value::Range(1, 2), Value::Hex(vector.into(), 8), hint);
    }
    Pdu { sender: view.cid(), ..Pdu::empty(OTHER) }
}

/// What the packet is, when it belongs to another protocol of the family.
fn known(view: View<'_>) -> Option<&'static str> {
    match view.u32(18)? {
        0x3 => Some("explained: draft E1.31 revision 0.2, with a source name of 32 octets"),
        PATHWAY => Some("explained: Pathway Secure, with a signature after the packet"),
        0x1 => Some("explained: SDT (ANSI E1.17)"),
        _ if is_rdmnet(view) => Some("explained: RDMnet (ANSI E1.33), with lengths of three octets"),
        _ => None,
    }
}

/// RDMnet writes flags 0xF and a length of three octets, so that its vector stands one octet later.
fn is_rdmnet(view: View<'_>) -> bool {
    view.u8(16).is_some_and(|o| o >> 4 == 0xF) && view.u32(19).is_some_and(|v| RDMNET.contains(&v))
}

fn explained(vector: Option<u32>, hint: &'static str, faults: &mut Faults) {
    let got = vector.map_or(Value::None, |v| Value::Hex(v.into(), 8));
    faults.add_with(S12, Severity::Info, 18, Value::Word("4 or 8"), got, hint);
}

fn unknown(view: View<'_>, vector: Option<u32>, faults: &mut Faults) {
    shape::flags(view, &LAYERS, faults);
    shape::lengths(view, &LAYERS, view.sent(), None, faults);
    if let Some(vector) = vector {
        let hint = match vector {
            v if RDMNET.contains(&v) => {
                "a vector of RDMnet, which writes flags 0xF and lengths of three octets"
            }
            v if matches!(v.swap_bytes(), 4 | 8) => "the octets of the vector are swapped",
            _ => "",
        };
        let got = Value::Hex(vector.into(), 8);
        faults.add_with(S12, Severity::Violation, 18, Value::Word("4 or 8"), got, hint);
    }
}
