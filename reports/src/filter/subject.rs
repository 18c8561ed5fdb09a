//! What an expression is asked about: a stream that was seen, or one that a rig declares and of which less is known.

use super::fields::{Field, Known};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use wireproof_protocols::Protocol;
use wireproof_protocols::verify::rig::RigOutput;
use wireproof_protocols::verify::{OutputAccount, StreamAccount};

/// Something with fields.
pub trait Subject {
    /// What is known of a field.
    fn value(&self, field: Field) -> Known<'_>;
}

/// A stream that was seen, with the outputs it belongs to.
pub(crate) struct Seen<'a> {
    pub(crate) stream: &'a StreamAccount,
    pub(crate) outputs: &'a [OutputAccount],
}

impl Subject for Seen<'_> {
    fn value(&self, field: Field) -> Known<'_> {
        self.value_of(field)
    }
}

impl<'a> Seen<'a> {
    fn value_of(&self, field: Field) -> Known<'a> {
        let s = self.stream;
        match field {
            Field::Protocol => texts([s.protocol.name()]),
            Field::Kind => {
                let full = format!("{}/{}", s.protocol.name(), s.kind);
                // Of a declared protocol `by_kind` has the name alone: it has one kind.
                let alone = s.protocol.layout().map(|_| s.protocol.name().into());
                Known::Texts([s.kind.into(), full.into()].into_iter().chain(alone).collect())
            }
            Field::Source => addresses([s.source]),
            Field::Destination => addresses(s.destinations.iter().copied()),
            Field::Sender => texts(s.sender.as_deref()),
            Field::Name => texts(s.name.as_deref()),
            Field::Output => texts(s.output.and_then(|o| self.outputs.get(o)).map(|o| o.name.as_str())),
            Field::Layout => texts(s.protocol.name().strip_prefix("layout:")),
            Field::Port => Known::Numbers(s.destinations.iter().map(|d| u64::from(d.port())).collect()),
            Field::SourcePort => Known::Numbers(vec![u64::from(s.source.port())]),
            Field::StreamId => Known::Numbers(vec![u64::from(s.stream_id)]),
            Field::Universe => universe(s.protocol, s.stream_id),
            Field::Priority => Known::Numbers(s.priorities.iter().map(|p| u64::from(*p)).collect()),
        }
    }
}

/// A stream of a run that goes on, of which no output is known yet.
#[derive(Clone, Debug)]
pub struct StreamSoFar(pub StreamAccount);

impl Subject for StreamSoFar {
    fn value(&self, field: Field) -> Known<'_> {
        match field {
            Field::Output => Known::Nothing,
            field => Seen { stream: &self.0, outputs: &[] }.value_of(field),
        }
    }
}

/// A stream that a rig declares.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredStream<'a> {
    /// The output it belongs to.
    pub output: &'a RigOutput,
    /// Its number.
    pub id: u32,
}

impl Subject for DeclaredStream<'_> {
    fn value(&self, field: Field) -> Known<'_> {
        let o = self.output;
        let bare = |address: Option<IpAddr>| match address {
            Some(address @ IpAddr::V4(_)) => Known::Host(address.to_string()),
            // Its brackets come with the port.
            Some(IpAddr::V6(address)) => Known::Texts(vec![address.to_string().into()]),
            None => Known::Nothing,
        };
        match field {
            Field::Protocol => texts([o.protocol.name()]),
            Field::Layout => texts(o.protocol.name().strip_prefix("layout:")),
            Field::Output => texts([o.name.as_str()]),
            Field::Source => bare(o.source),
            Field::Destination => bare(o.destination),
            Field::Sender if o.protocol != Protocol::Sacn => texts(None),
            Field::Sender => match o.sender {
                Some(cid) => Known::Texts(vec![uuid(&cid).into()]),
                None => Known::Nothing,
            },
            Field::StreamId => Known::Numbers(vec![u64::from(self.id)]),
            Field::Universe => universe(o.protocol, self.id),
            Field::Priority if o.protocol != Protocol::Sacn => Known::Numbers(Vec::new()),
            _ => Known::Nothing,
        }
    }
}

fn texts<'a>(list: impl IntoIterator<Item = &'a str>) -> Known<'a> {
    Known::Texts(list.into_iter().map(Cow::Borrowed).collect())
}

/// Each address with and without its port.
fn addresses(list: impl IntoIterator<Item = SocketAddr>) -> Known<'static> {
    Known::Texts(list.into_iter().flat_map(|a| [a.ip().to_string().into(), a.to_string().into()]).collect())
}

fn universe(protocol: Protocol, id: u32) -> Known<'static> {
    let has = match protocol.layout() {
        Some(table) => !table.layout.has_chunks(),
        None => matches!(protocol, Protocol::Sacn | Protocol::ArtNet),
    };
    Known::Numbers(has.then_some(u64::from(id)).into_iter().collect())
}

/// A CID in UUID notation.
pub(crate) fn uuid(cid: &wireproof_protocols::Cid) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(*cid));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
