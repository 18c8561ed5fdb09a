//! The fields of a stream that an expression may ask for, in one table: name, kind of value, meaning.

use std::borrow::Cow;

/// A field of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `sacn`, `ddp`, …
    Protocol,
    /// Packet kind.
    Kind,
    /// Source address.
    Source,
    /// Destination addresses.
    Destination,
    /// CID.
    Sender,
    /// Source name.
    Name,
    /// Name of the output.
    Output,
    /// Name of the declarative layout.
    Layout,
    /// Destination ports.
    Port,
    /// Source port.
    SourcePort,
    /// Universe, Port-Address, DDP ID or device id.
    StreamId,
    /// The same, of protocols with universes.
    Universe,
    /// sACN priorities.
    Priority,
}

/// What is known of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known<'a> {
    /// Nothing: it may be anything.
    Nothing,
    /// These texts; none when the stream has no such field.
    Texts(Vec<Cow<'a, str>>),
    /// This address, with a port that is not known.
    Host(String),
    /// These numbers; none when the stream has no such field.
    Numbers(Vec<u64>),
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in an expression.
    pub name: &'static str,
    /// The field.
    pub field: Field,
    /// Its values are numbers.
    pub numbers: bool,
    /// What it is, for the documentation.
    pub meaning: &'static str,
}

const fn text(name: &'static str, field: Field, meaning: &'static str) -> Entry {
    Entry { name, field, numbers: false, meaning }
}

const fn number(name: &'static str, field: Field, meaning: &'static str) -> Entry {
    Entry { name, field, numbers: true, meaning }
}

/// All fields, in the order in which errors and the documentation list them.
pub const FIELDS: [Entry; 13] = [
    text("protocol", Field::Protocol, "sacn, ddp, artnet, bigpacket, kinet, layout:NAME"),
    text("kind", Field::Kind, "packet kind, with or without its protocol: data, ArtDmx, sacn/sync"),
    text("source", Field::Source, "source address, with or without its port"),
    text("destination", Field::Destination, "any destination address, with or without its port"),
    text("sender", Field::Sender, "sACN CID in UUID notation"),
    text("name", Field::Name, "source name"),
    text("output", Field::Output, "name of the output: the rig's, or the one in reports"),
    text("layout", Field::Layout, "name of the declarative layout"),
    number("port", Field::Port, "any UDP destination port"),
    number("source_port", Field::SourcePort, "UDP source port of the first datagram"),
    number("stream_id", Field::StreamId, "universe, Port-Address, DDP ID or device id"),
    number(
        "universe",
        Field::Universe,
        "sACN universe, Art-Net Port-Address or stream of a layout without chunks",
    ),
    number("priority", Field::Priority, "any sACN priority that was sent"),
];

/// The table's line of a name.
pub(super) fn named(name: &str) -> Option<&'static Entry> {
    FIELDS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// The names of all fields for an error.
pub(super) fn names() -> String {
    FIELDS.map(|entry| entry.name).join(", ")
}
