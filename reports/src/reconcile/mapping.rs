//! Which output of the device drives which stream: by protocol, then by size of the frame, then by order. What does
//! not come out even is not mapped, and its losses stay where they are.

use super::record::Life;
use wireproof_protocols::Protocol;
use wireproof_protocols::verify::{Account, StreamAccount};

/// The stream that one place of an output's frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Index into the account's streams.
    pub(super) stream: usize,
    /// Row of the output in the ring's table.
    pub(super) device: u16,
    /// Place in the frame; `None` when all of it is this stream's.
    pub(super) place: Option<u16>,
}

/// Every datagram of a frame is a stream of its own.
fn is_by_stream(protocol: Protocol) -> bool {
    match protocol.layout() {
        Some(table) => !table.layout.has_chunks(),
        None => matches!(protocol, Protocol::Sacn | Protocol::ArtNet),
    }
}

/// What outputs of the account may speak: the protocols of the table, and the declared ones that were seen, in the order of
/// their outputs.
fn spoken(account: &Account) -> Vec<Protocol> {
    let mut all = vec![Protocol::BigPacket, Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet];
    for declared in account.outputs.iter().map(|o| o.protocol).filter(|p| p.layout().is_some()) {
        if !all.contains(&declared) {
            all.push(declared);
        }
    }
    all
}

/// The name in a ring's table is the protocol's; that of a layout stands there with `layout:` in front, or without.
fn is_called(protocol: Protocol, name: &str) -> bool {
    name == protocol.name() || protocol.layout().is_some_and(|table| name == table.layout.name)
}

/// Streams of the account that this writer's outputs drive, among those seen in `stamps`.
pub(super) fn slots(account: &Account, life: &Life, stamps: (i64, i64)) -> Vec<Slot> {
    let mut slots = Vec::new();
    for protocol in spoken(account) {
        let devices = devices(life, protocol);
        if devices.is_empty() {
            continue;
        }
        let groups = groups(account, protocol, stamps);
        if is_by_stream(protocol) {
            slots.extend(by_place(&devices, &groups));
        } else {
            slots.extend(whole(&devices, &groups, account));
        }
    }
    slots
}

/// Rows of the ring's table that speak a protocol, each with the datagrams of its frame, in order.
fn devices(life: &Life, protocol: Protocol) -> Vec<(u16, u64)> {
    let id = life.tables.protocols.iter().find(|p| is_called(protocol, &p.name)).map(|p| p.id);
    let rows = life.tables.devices.iter().filter(|d| Some(d.protocol) == id);
    let mut rows: Vec<(u16, u64)> =
        rows.filter_map(|d| Some((d.id, *life.made.get(&d.id)?))).filter(|(_, n)| *n > 0).collect();
    rows.sort_unstable();
    rows
}

/// Streams of each output of a protocol, in order of the outputs' first appearance; within one by number.
fn groups(account: &Account, protocol: Protocol, (from, to): (i64, i64)) -> Vec<Vec<usize>> {
    let seen = |s: &StreamAccount| s.first_ns <= to && s.last_ns >= from;
    let outputs = account.outputs.iter().filter(|o| o.protocol == protocol);
    let streams = outputs.map(|output| {
        let own = output.streams.iter().copied();
        let mut own: Vec<usize> = own.filter(|s| account.streams.get(*s).is_some_and(seen)).collect();
        own.sort_by_key(|s| account.streams.get(*s).map(|s| (s.stream_id, s.part)));
        own.dedup();
        own
    });
    streams.filter(|own| !own.is_empty()).collect()
}

/// Places of the frames in order are the streams in order, if there are as many.
fn by_place(devices: &[(u16, u64)], groups: &[Vec<usize>]) -> Vec<Slot> {
    let places = || devices.iter().flat_map(|(device, n)| (0..*n).map(|place| (*device, place as u16)));
    let streams: Vec<usize> = groups.concat();
    let matched = match (devices, groups) {
        // One more than streams: the last datagram of a frame is the one that synchronises it.
        ([(_, n)], [one]) => *n == one.len() as u64 || *n == one.len() as u64 + 1,
        _ => places().count() == streams.len(),
    };
    let zipped = || places().zip(streams.iter().copied());
    let slot = |((device, place), stream)| Slot { stream, device, place: Some(place) };
    if matched { zipped().map(slot).collect() } else { Vec::new() }
}

/// Outputs in order are the streams in order, if there are as many; one output may also have driven one after the
/// other, as after a restart from another port.
fn whole(devices: &[(u16, u64)], groups: &[Vec<usize>], account: &Account) -> Vec<Slot> {
    let slot = |device: u16, stream: usize| Slot { stream, device, place: None };
    let single: Vec<usize> = groups.iter().filter_map(|own| own.first().copied()).collect();
    if devices.len() == single.len() {
        return devices.iter().zip(single).map(|((device, _), stream)| slot(*device, stream)).collect();
    }
    let streams: Vec<&StreamAccount> = single.iter().filter_map(|s| account.streams.get(*s)).collect();
    let in_turn = streams.windows(2).all(|pair| matches!(pair, [a, b] if a.last_ns < b.first_ns));
    match devices {
        [(device, _)] if in_turn => single.into_iter().map(|stream| slot(*device, stream)).collect(),
        _ => Vec::new(),
    }
}
