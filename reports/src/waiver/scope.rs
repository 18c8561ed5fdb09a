//! Which findings a waiver is for: streams, named as a rig names them or by an expression, or the capture as a whole.

use crate::filter::subject::Seen;
use crate::filter::{DeclaredStream, Field, Filter, Node, Pattern};
use wireproof_protocols::Protocol;
use wireproof_protocols::verify::rig::RigOutput;
use wireproof_protocols::verify::{Account, Finding};

/// Which findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those that belong to no stream.
    Capture,
    /// Those of streams that fit.
    Streams(Filter),
}

/// The keys by which a rig names streams.
#[derive(Clone, Debug, Default)]
pub struct ScopeKeys {
    /// Name of an output.
    pub output: Option<String>,
    /// Protocol.
    pub protocol: Option<Protocol>,
    /// Source address.
    pub source: Option<std::net::IpAddr>,
    /// Destination address.
    pub destination: Option<std::net::IpAddr>,
    /// CID in UUID notation.
    pub sender: Option<String>,
    /// Numbers as ranges, both ends included, and the way they were written.
    pub streams: Option<(Vec<(u64, u64)>, String)>,
}

impl ScopeKeys {
    /// The streams that all keys fit; `None` without a key.
    pub fn filter(self) -> Option<Filter> {
        let mut words = Vec::new();
        let mut parts = Vec::new();
        let mut text = |field: Field, name: &str, value: Option<String>| {
            let Some(value) = value else { return };
            parts.push(Node::Text(field, vec![Pattern::exactly(&value)]));
            words.push(format!("{name} == \"{value}\""));
        };
        text(Field::Output, "output", self.output);
        text(Field::Protocol, "protocol", self.protocol.map(|p| p.name().to_owned()));
        text(Field::Source, "source", self.source.map(|a| a.to_string()));
        text(Field::Destination, "destination", self.destination.map(|a| a.to_string()));
        text(Field::Sender, "sender", self.sender);
        if let Some((ranges, written)) = self.streams {
            parts.push(Node::Number(Field::StreamId, ranges));
            words.push(format!("stream_id in [{written}]"));
        }
        (!parts.is_empty()).then(|| Filter::of_parts(words.join(" && "), parts))
    }
}

impl Scope {
    /// What it is for, in words.
    pub(super) fn text(&self) -> &str {
        match self {
            Scope::Capture => "the capture",
            Scope::Streams(filter) => filter.text(),
        }
    }

    /// Whether the finding is one of them; what is not known for certain is not.
    pub(super) fn holds(&self, f: &Finding, account: &Account, declared: &[RigOutput]) -> bool {
        match (self, f.stream, &f.missing) {
            (Scope::Capture, None, None) => true,
            (Scope::Streams(filter), Some(at), _) => account
                .streams
                .get(at)
                .map(|stream| Seen { stream, outputs: &account.outputs })
                .is_some_and(|seen| filter.fits(&seen) == Some(true)),
            (Scope::Streams(filter), None, Some(missing)) => {
                declared.get(missing.output).is_some_and(|output| {
                    let fits = |id: &u32| filter.fits(&DeclaredStream { output, id: *id }) == Some(true);
                    missing.streams.iter().all(fits)
                })
            }
            _ => false,
        }
    }
}
