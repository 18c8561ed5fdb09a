//! Which options a protocol has, and how far its numbers go: one answer for built-in protocols and declared layouts.

use super::super::failure::Failure;
use super::args::SendArgs;
use wireproof_protocols::Protocol;
use wireproof_protocols::layout::{Layout, Role};

/// The layout of a declared protocol.
pub(super) fn layout(protocol: Protocol) -> Option<&'static Layout> {
    match protocol {
        Protocol::Layout(id) => Some(&id.table().layout),
        _ => None,
    }
}

/// Every datagram of a frame is a stream of its own.
pub(super) fn is_by_universe(protocol: Protocol) -> bool {
    match layout(protocol) {
        Some(layout) => !layout.has_chunks(),
        None => matches!(protocol, Protocol::Sacn | Protocol::ArtNet),
    }
}

/// The protocol carries the sender's identifier.
pub(super) fn has_cid(protocol: Protocol) -> bool {
    protocol == Protocol::Sacn || has(protocol, Role::SenderId)
}

fn has(protocol: Protocol, role: Role) -> bool {
    layout(protocol).is_some_and(|layout| layout.field(role).is_some())
}

/// Refuses options that the protocol does not have.
pub(super) fn check(args: &SendArgs, protocol: Protocol) -> Result<(), Failure> {
    let (sacn, declared) = (protocol == Protocol::Sacn, layout(protocol).is_some());
    let by_universe = is_by_universe(protocol);
    let numbered = !declared || has(protocol, Role::StreamId);
    let given = [
        ("--multicast", args.multicast, sacn),
        ("--priority", args.priority.is_some(), sacn),
        ("--name", args.name.is_some(), sacn || has(protocol, Role::SenderName)),
        ("--cid", args.cid.is_some(), has_cid(protocol)),
        ("--sync", args.sync.is_some(), sacn),
        ("--universes", args.universes.is_some(), by_universe && numbered),
        ("--first-universe", args.first_universe.is_some(), by_universe && numbered),
        ("--slots", args.slots.is_some(), by_universe && !declared),
        ("--chunk", args.chunk.is_some(), !by_universe || declared),
        ("--id", args.id.is_some(), !by_universe && numbered),
        ("--fragment", args.fragment, !by_universe || declared),
    ];
    match given.iter().find(|(_, is_given, has)| *is_given && !has) {
        Some((name, ..)) => {
            let what = format!("{name} means nothing in {}", protocol.name());
            Err(Failure::usage(&what, "leave it out"))
        }
        None => Ok(()),
    }
}

/// Most octets of the sender's name.
pub(super) fn most_name(protocol: Protocol) -> u64 {
    let field = layout(protocol).and_then(|layout| layout.field(Role::SenderName));
    field.map_or(u64::MAX, |field| field.size.into())
}

/// Name and limits of the number of a stream: universe, Port-Address, output, or the field that a layout has for it.
pub(super) fn stream_limits(protocol: Protocol) -> (&'static str, u64, u64) {
    match protocol {
        Protocol::Sacn => ("universe", 1, 63_999),
        Protocol::ArtNet => ("port-address", 0, 32_767),
        Protocol::Ddp => ("id", 1, 255),
        _ => layout(protocol).and_then(|layout| layout.field(Role::StreamId)).map_or(
            ("id", 0, u16::MAX.into()),
            |field| {
                let most = field.max.unwrap_or(u64::MAX).min(field.most()).min(u16::MAX.into());
                (field.name.as_str(), field.min.unwrap_or(0), most)
            },
        ),
    }
}

/// The UDP port that receivers of the protocol listen on.
///
/// # Errors
/// A layout without one.
pub(super) fn port(protocol: Protocol) -> Result<u16, Failure> {
    Ok(match protocol {
        Protocol::Sacn => wireproof_protocols::sacn::PORT,
        Protocol::Ddp => wireproof_protocols::ddp::PORT,
        Protocol::ArtNet => wireproof_protocols::artnet::PORT,
        _ => match layout(protocol).map(|layout| layout.matching.udp_dst.first()) {
            None => wireproof_protocols::bigpacket::PORT,
            Some(Some(port)) => *port,
            Some(None) => {
                let what = format!("{} names no port to send to", protocol.name());
                return Err(Failure::usage(&what, "give --to ADDR:PORT"));
            }
        },
    })
}
