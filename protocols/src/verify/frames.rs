//! Universes make frames: which frame of its output a universe's datagram belongs to, by number and by time.

use super::findings::{Findings, Place};
use super::flow::Flow;
use super::model::Unit;
use super::observation::Observation;
use super::output::Output;
use super::settle::frozen;
use crate::{Pdu, Protocol};

/// Puts a universe's datagram, `ahead` numbers after its last one, into the frame it belongs to, whose number it returns.
#[inline(always)]
pub(super) fn into_frame(
    flow: &mut Flow,
    o: &Observation,
    ahead: Option<i64>,
    out: &mut Output,
    findings: &mut Findings,
) -> i64 {
    let (number, begin) = out.choose(o.at, flow.group_frame.filter(|_| !o.new_session), ahead);
    if begin {
        begin_frame(flow.index, o, number, out, findings);
    }
    if let Some(c) = &mut out.current {
        c.datagrams += 1;
        c.octets += u64::from(o.length);
        c.changed |= !o.same;
        c.last = o.at;
        c.restart |= o.new_session;
    }
    flow.group_first.get_or_insert(number);
    flow.group_frame = Some(number);
    number
}

#[inline(never)]
fn begin_frame(flow: usize, o: &Observation, number: i64, out: &mut Output, findings: &mut Findings) {
    lacking(out, flow, o);
    let stream = out.flows.first().copied();
    let place = out.current.map(|c| Place { stream, packet: c.packet, stamp: c.start_stamp });
    let froze = out.begin(number, o.at, o.stamp, o.packet).froze;
    if let Some(place) = place.filter(|_| froze) {
        frozen(place, findings);
    }
}

/// Numbers from one on the wire forward to another, of universes: by eight bits, with zero left out in Art-Net.
#[inline]
pub(super) fn eight_bit_step(protocol: Protocol, last: u32, raw: u32) -> i64 {
    let wrapped = protocol == Protocol::ArtNet && raw < last && last - raw > 127 && raw > 0;
    i64::from((raw.wrapping_sub(last) & 0xff) as u8 as i8) - i64::from(wrapped)
}

/// Numbers between the stream's last frame datagram and this one; `None` when there are none to trust.
pub(super) fn ahead(flow: &mut Flow, o: &Observation, pdu: &Pdu<'_>) -> Option<i64> {
    let raw = flow.number(pdu)?;
    let last = flow.group_raw.filter(|_| !o.new_session && !o.new_port)?;
    let model = flow.model;
    if model.is_some_and(|m| m.unit == Unit::Nothing) {
        return None;
    }
    let step = match flow.declared_step(last, raw) {
        Some(step) => step?,
        None if flow.counts_zero() => i64::from(raw.wrapping_sub(last) as u8 as i8),
        None => eight_bit_step(flow.protocol(), last, raw),
    };
    flow.group_still = if step == 0 { flow.group_still + 1 } else { 0 };
    if flow.group_still >= 4 {
        return None;
    }
    match model.map_or(1, |m| i64::from(m.step)) {
        k if k > 1 && step % k != 0 => None,
        k => Some(step / k),
    }
}

/// Without numbers the shape, declared or kept to so far, is the only witness of a hole.
fn lacking(out: &mut Output, flow: usize, o: &Observation) {
    let Some(c) = out.current.filter(|_| out.unnumbered) else { return };
    if let Some(size) = out.strict_size() {
        for _ in c.datagrams..size {
            out.tear(c.number, flow, false, (o.packet, o.stamp));
        }
    }
}
