//! From the text of a layout to its table, with every default filled in. What cannot be meant is told, all of it.

use super::table::*;
use super::text::{LayoutFault, Table, Text};
use super::{FIELDS_MAX, HEADER_MAX, NAME_MAX, PORTS_MAX, TEXT_MAX, check};
use crate::Severity;
use toml::de::DeTable;

/// Keys of the text outside its tables.
pub(super) const ROOT: [&str; 14] = [
    "name",
    "title",
    "source",
    "byte_order",
    "header_len",
    "footer_len",
    "footer_hex",
    "payload_len",
    "payload_unit",
    "trailing",
    "match",
    "field",
    "sequence",
    "frame",
];
/// Keys of `[[field]]`.
pub(super) const FIELD: [&str; 19] = [
    "name",
    "at",
    "at_footer",
    "size",
    "bits",
    "byte_order",
    "role",
    "const",
    "const_hex",
    "add",
    "scale",
    "base",
    "min",
    "max",
    "multiple_of",
    "send",
    "severity",
    "sum",
    "covers",
];
/// Keys of `[match]`.
pub(super) const MATCH: [&str; 3] = ["udp_dst", "any_port", "priority"];
/// Keys of `[sequence]`.
pub(super) const SEQUENCE: [&str; 7] = ["field", "step", "first", "last", "unused", "scope", "window"];
/// Keys of `[frame]`.
pub(super) const FRAME: [&str; 4] = ["ends_by", "expect_packets", "expect_bytes", "even_chunks"];

const ORDERS: [(&str, ByteOrder); 2] = [("big", ByteOrder::Big), ("little", ByteOrder::Little)];
const SEVERITIES: [(&str, Severity); 3] =
    [("violation", Severity::Violation), ("warning", Severity::Warning), ("info", Severity::Info)];
const SUMS: [(&str, Sum); 9] = [
    ("sum8", Sum::Sum8),
    ("sum16", Sum::Sum16),
    ("xor8", Sum::Xor8),
    ("inet16", Sum::Inet16),
    ("crc8", Sum::Crc8),
    ("crc16-ccitt", Sum::Crc16Ccitt),
    ("crc16-modbus", Sum::Crc16Modbus),
    ("crc32", Sum::Crc32),
    ("crc32c", Sum::Crc32c),
];
const COVERS: [(&str, Covers); 3] =
    [("all", Covers::All), ("header", Covers::Header), ("payload", Covers::Payload)];
const ENDINGS: [(&str, Ending); 4] = [
    ("last_packet", Ending::LastPacket),
    ("packet_count", Ending::PacketCount),
    ("byte_count", Ending::ByteCount),
    ("seq_change", Ending::SeqChange),
];
/// Furthest `add` from zero.
const ADD_MAX: i64 = 1 << 32;
/// How far behind the newest number a datagram counts as late where the layout does not say.
const WINDOW: u32 = 100;

impl Layout {
    /// Reads and checks the text of a layout.
    ///
    /// # Errors
    /// Everything that is wrong, at least one fault, each with line, field and reason, in the order of the lines.
    pub fn read(document: &str) -> Result<Layout, Vec<LayoutFault>> {
        let mut text = Text::new(document);
        if document.len() > TEXT_MAX {
            text.fault(
                1,
                "layout",
                format!("is longer than {} KiB: no layout is that long", TEXT_MAX / 1024),
            );
            return Err(text.into_faults());
        }
        let (root, errors) = DeTable::parse_recoverable(document);
        for error in &errors {
            let span = error.span().unwrap_or_default();
            let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            let word = document.get(span.clone()).filter(|_| reason == "duplicate key");
            let which = word.map_or(String::new(), |word| format!(" {}", super::text::shown(word)));
            text.fault(text.line(span.start), "layout", format!("is no TOML: {reason}{which}"));
        }
        if !errors.is_empty() {
            return Err(text.into_faults());
        }
        let layout = layout(&mut text, &Table::root(&root));
        if text.is_sound() { Ok(layout) } else { Err(text.into_faults()) }
    }
}

fn layout<'a>(text: &mut Text<'a>, root: &Table<'a>) -> Layout {
    text.only(root, &ROOT);
    let order = text.choice(root, "byte_order", &ORDERS).unwrap_or_default();
    let mut fields = text
        .tables(root, "field", FIELDS_MAX)
        .into_iter()
        .enumerate()
        .map(|(number, table)| field(text, table, number, order))
        .collect::<Vec<_>>();
    let footer_len = footer(text, root, &mut fields, order);
    let payload_len = payload_len(text, root, &mut fields);
    let sequence = sequence(text, root, &fields);
    // Of a sequence that is refused it cannot be told.
    let numbered = (sequence.is_some() || !root.has("sequence")).then_some(sequence.is_some());
    let layout = Layout {
        name: needed_name(text, root),
        title: line(text, root, "title"),
        source: line(text, root, "source"),
        header_len: needed_number(text, root, "header_len", 1, HEADER_MAX),
        footer_len,
        payload_len,
        payload_unit: number(text, root, "payload_unit", 1, 1024).unwrap_or(1),
        trailing: text.choice(root, "trailing", &SEVERITIES).unwrap_or(Severity::Violation),
        matching: matching(text, root),
        frame: frame(text, root, &fields, numbered),
        sequence,
        fields,
    };
    check::layout(text, root, &layout);
    layout
}

/// A number that fits the type because `most` does.
fn number<'a, T: TryFrom<u64>>(
    text: &mut Text<'a>,
    table: &Table<'a>,
    key: &str,
    least: u64,
    most: u64,
) -> Option<T> {
    text.number(table, key, least, most).and_then(|number| T::try_from(number).ok())
}

fn needed_number<'a>(text: &mut Text<'a>, table: &Table<'a>, key: &str, least: u64, most: u64) -> u16 {
    if !table.has(key) {
        text.refuse(table, key, format!("is missing: write a whole number, {least} to {most}"));
    }
    number(text, table, key, least, most).unwrap_or(u16::MAX)
}

fn line<'a>(text: &mut Text<'a>, table: &Table<'a>, key: &str) -> String {
    let said = text.text(table, key).unwrap_or_default();
    if said.chars().count() > 200 || said.chars().any(char::is_control) {
        text.refuse(table, key, "has to be one line of at most 200 characters");
    }
    said.to_owned()
}

fn needed_name<'a>(text: &mut Text<'a>, table: &Table<'a>) -> String {
    let known = table.has("name");
    let name = text.text(table, "name");
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = |name: &&str| (1..=NAME_MAX).contains(&name.len()) && name.chars().all(legal);
    if !known {
        text.refuse(table, "name", "is missing: write a name such as \"my-protocol\"");
    } else if name.is_some_and(|name| !fits(&name)) {
        let reason = format!("has to be 1 to {NAME_MAX} lower-case letters, digits and dashes");
        text.refuse(table, "name", reason);
    }
    name.unwrap_or_default().to_owned()
}

fn field<'a>(text: &mut Text<'a>, table: Table<'a>, index: usize, order: ByteOrder) -> Field {
    let name = field_name(text, &table, index);
    let table = table.named(format!("field {}", super::text::shown(&name)));
    text.only(&table, &FIELD);
    let constant = constant(text, &table);
    let (region, at) = place(text, &table);
    let role = text.choice(&table, "role", &Role::ALL).unwrap_or(Role::Opaque);
    let size = size(text, &table, constant.as_ref());
    Field {
        line: text.line_of(&table),
        region,
        at,
        size,
        bits: bits(text, &table),
        order: text.choice(&table, "byte_order", &ORDERS).unwrap_or(order),
        role,
        constant,
        add: text.signed(&table, "add", ADD_MAX).unwrap_or(0),
        scale: number(text, &table, "scale", 1, 1 << 20).unwrap_or(1),
        base: number(text, &table, "base", 0, u64::from(u16::MAX)).unwrap_or(0),
        min: text.number(&table, "min", 0, u64::MAX),
        max: text.number(&table, "max", 0, u64::MAX),
        multiple_of: text.number(&table, "multiple_of", 2, 1 << 32),
        send: text.number(&table, "send", 0, u64::MAX),
        severity: text.choice(&table, "severity", &SEVERITIES),
        checksum: checksum(text, &table, role),
        name,
    }
}

fn field_name<'a>(text: &mut Text<'a>, table: &Table<'a>, index: usize) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = text.text(table, "name").unwrap_or_default();
    if !table.has("name") {
        text.refuse(table, "name", "is missing: name the field, findings say the name");
    } else if !(1..=NAME_MAX).contains(&name.len()) || !name.chars().all(legal) {
        let reason = format!("has to be 1 to {NAME_MAX} letters, digits, dashes and underscores");
        text.refuse(table, "name", reason);
    }
    if name.is_empty() { format!("number {}", index + 1) } else { name.to_owned() }
}

fn constant<'a>(text: &mut Text<'a>, table: &Table<'a>) -> Option<Constant> {
    if table.has("const") && table.has("const_hex") {
        text.refuse(table, "const_hex", "stands beside const: write one of them");
    }
    let octets = text.octets(table, "const_hex", 64).map(Constant::Octets);
    octets.or_else(|| text.number(table, "const", 0, u64::MAX).map(Constant::Number))
}

fn place<'a>(text: &mut Text<'a>, table: &Table<'a>) -> (Region, u16) {
    let key = match (table.has("at"), table.has("at_footer")) {
        (true, false) => "at",
        (false, true) => "at_footer",
        (true, true) => {
            text.refuse(table, "at_footer", "stands beside at: write one of them");
            "at"
        }
        (false, false) => {
            text.refuse(table, "at", "is missing: write the field's first octet, 0 for the datagram's first");
            "at"
        }
    };
    let region = if key == "at" { Region::Header } else { Region::Footer };
    (region, number(text, table, key, 0, HEADER_MAX - 1).unwrap_or(0))
}

fn size<'a>(text: &mut Text<'a>, table: &Table<'a>, constant: Option<&Constant>) -> u16 {
    let told = number(text, table, "size", 1, HEADER_MAX);
    let known = match constant {
        Some(Constant::Octets(octets)) => u16::try_from(octets.len()).ok(),
        _ => None,
    };
    if told.or(known).is_none() && !table.has("size") && !table.has("const_hex") {
        text.refuse(table, "size", "is missing: write the octets of the field");
    }
    told.or(known).unwrap_or(1)
}

fn bits<'a>(text: &mut Text<'a>, table: &Table<'a>) -> Option<(u8, u8)> {
    let bits = text.numbers(table, "bits", 2, (0, 63))?;
    match *bits {
        [high, low] if high >= low => Some((u8::try_from(high).ok()?, u8::try_from(low).ok()?)),
        _ => {
            text.refuse(table, "bits", "has to be [highest, lowest], bit 0 being worth one");
            None
        }
    }
}

fn checksum<'a>(text: &mut Text<'a>, table: &Table<'a>, role: Role) -> Option<Checksum> {
    let sum = text.choice(table, "sum", &SUMS);
    let covers = text.choice(table, "covers", &COVERS).unwrap_or(Covers::All);
    let is_checksum = role == Role::Checksum;
    for key in ["sum", "covers"].into_iter().filter(|key| table.has(key) && !is_checksum) {
        text.refuse(table, key, "belongs to the role \"checksum\"");
    }
    if is_checksum && !table.has("sum") {
        let all = SUMS.map(|(word, _)| word).join(", ");
        text.refuse(table, "sum", format!("is missing: write one of {all}"));
    }
    sum.filter(|_| is_checksum).map(|sum| Checksum { sum, covers })
}

/// Octets of the footer; one that is given as octets becomes a field.
fn footer<'a>(text: &mut Text<'a>, root: &Table<'a>, fields: &mut Vec<Field>, order: ByteOrder) -> u16 {
    let octets = text.octets(root, "footer_hex", 64);
    let told = number(text, root, "footer_len", 1, HEADER_MAX);
    if root.has("footer_hex") && root.has("footer_len") {
        text.refuse(root, "footer_hex", "stands beside footer_len: write one of them");
    }
    let Some(octets) = octets else { return told.unwrap_or(0) };
    let size = u16::try_from(octets.len()).unwrap_or(u16::MAX);
    fields.push(Field {
        name: "footer".to_owned(),
        line: text.line_of(root),
        region: Region::Footer,
        at: 0,
        size,
        bits: None,
        order,
        role: Role::Const,
        constant: Some(Constant::Octets(octets)),
        add: 0,
        scale: 1,
        base: 0,
        min: None,
        max: None,
        multiple_of: None,
        send: None,
        severity: None,
        checksum: None,
    });
    size
}

fn payload_len<'a>(text: &mut Text<'a>, root: &Table<'a>, fields: &mut [Field]) -> PayloadLength {
    let own = fields.iter().position(|field| field.role == Role::PayloadLen);
    let usual = own.map_or(PayloadLength::Rest, PayloadLength::Field);
    if !root.has("payload_len") {
        return usual;
    }
    if !root.holds_table("payload_len") {
        if text.choice(root, "payload_len", &[("rest", ())]).is_some() && own.is_some() {
            text.refuse(root, "payload_len", "is \"rest\", but a field has the role \"payload_len\"");
        }
        return PayloadLength::Rest;
    }
    let Some(table) = text.table(root, "payload_len") else { return usual };
    text.only(&table, &["field", "add"]);
    let add = text.signed(&table, "add", ADD_MAX);
    let name = text.text(&table, "field").unwrap_or_default();
    let Some(index) = fields.iter().position(|f| f.name == name && f.role == Role::PayloadLen) else {
        let reason = "has to name a field with the role \"payload_len\"";
        text.refuse(&table, "field", reason);
        return usual;
    };
    if let Some(add) = add {
        if fields[index].add != 0 {
            text.refuse(&table, "add", "is written at the field, too: write it once");
        }
        fields[index].add = add;
    }
    PayloadLength::Field(index)
}

fn matching<'a>(text: &mut Text<'a>, root: &Table<'a>) -> Matching {
    let Some(table) = text.table(root, "match") else {
        if !root.has("match") {
            text.refuse(root, "match", "is missing: write [match] with udp_dst = [PORT]");
        }
        return Matching::default();
    };
    text.only(&table, &MATCH);
    let ports = text.numbers(&table, "udp_dst", PORTS_MAX, (1, 65_535)).unwrap_or_default();
    Matching {
        udp_dst: ports.into_iter().filter_map(|port| u16::try_from(port).ok()).collect(),
        any_port: text.truth(&table, "any_port").unwrap_or(false),
        priority: number(text, &table, "priority", 0, 255).unwrap_or(0),
    }
}

fn sequence<'a>(text: &mut Text<'a>, root: &Table<'a>, fields: &[Field]) -> Option<Sequence> {
    let counts = |f: &Field| matches!(f.role, Role::FrameSeq | Role::PacketSeq);
    let table = text.table(root, "sequence");
    if let Some(table) = &table {
        text.only(table, &SEQUENCE);
    }
    let mut counting = fields.iter().enumerate().filter(|(_, f)| counts(f));
    let named = table.as_ref().and_then(|table| Some((table, text.text(table, "field")?)));
    let found = match named {
        Some((table, name)) => {
            let found = counting.find(|(_, f)| f.name == name);
            if found.is_none() {
                let reason = "has to name a field with the role \"frame_seq\" or \"packet_seq\"";
                text.refuse(table, "field", reason);
            }
            found
        }
        None => counting.next(),
    };
    if let Some((index, field)) = found {
        return Some(numbering(text, table.as_ref(), (index, Some(field))));
    }
    if let Some(table) = table {
        if !table.has("field") {
            text.refuse(&table, "field", "no field has the role \"frame_seq\" or \"packet_seq\"");
        }
        // The rest is read by the only field that can be meant, or by none, so that all of its faults are told at once.
        let mut all = fields.iter().filter(|f| counts(f));
        let meant = all.next().filter(|_| all.next().is_none());
        numbering(text, Some(&table), (0, meant));
    }
    None
}

fn numbering<'a>(
    text: &mut Text<'a>,
    table: Option<&Table<'a>>,
    (index, field): (usize, Option<&Field>),
) -> Sequence {
    let step = if field.is_some_and(|f| f.role == Role::FrameSeq) { Step::Frame } else { Step::Packet };
    let most = field.map_or(u64::MAX, Field::most).min(u64::from(u32::MAX));
    let whole = u32::try_from(most).unwrap_or(u32::MAX);
    let usual = Sequence {
        field: index,
        step,
        first: 0,
        last: whole,
        unused: None,
        scope: Scope::Stream,
        window: WINDOW,
    };
    let Some(table) = table else { return usual.narrowed() };
    let told = text.choice(table, "step", &[("packet", Step::Packet), ("frame", Step::Frame)]);
    if let Some(field) = field.filter(|_| told.is_some_and(|told| told != step)) {
        let reason = format!("contradicts the role {:?} of the field {}", field.role.name(), field.name);
        text.refuse(table, "step", reason);
    }
    let scope = text.choice(table, "scope", &[("stream", Scope::Stream), ("source", Scope::Source)]);
    let window = number(text, table, "window", 1, 126);
    let sequence = Sequence {
        first: number(text, table, "first", 0, most).unwrap_or(usual.first),
        last: number(text, table, "last", 0, most).unwrap_or(usual.last),
        unused: number(text, table, "unused", 0, most),
        scope: scope.unwrap_or(usual.scope),
        window: window.unwrap_or(usual.window),
        ..usual
    };
    check::numbering(text, table, field, &sequence);
    if window.is_some() { sequence } else { sequence.narrowed() }
}

impl Sequence {
    /// With a window of less than half a cycle.
    fn narrowed(self) -> Self {
        let half = self.last.saturating_sub(self.first) / 2;
        Sequence { window: self.window.min(half.max(1)), ..self }
    }
}

/// What ends a frame; `numbered` says whether there is a number, if that can be told.
fn frame<'a>(text: &mut Text<'a>, root: &Table<'a>, fields: &[Field], numbered: Option<bool>) -> FrameRule {
    let has = |role: Role| fields.iter().any(|field| field.role == role);
    let table = text.table(root, "frame");
    let mut rule = FrameRule::default();
    if let Some(table) = &table {
        text.only(table, &FRAME);
        rule.expect_packets = number(text, table, "expect_packets", 1, u64::from(u16::MAX));
        rule.expect_bytes = number(text, table, "expect_bytes", 1, u64::from(u32::MAX));
        rule.even_chunks = text.truth(table, "even_chunks").unwrap_or(false);
        if rule.even_chunks && !(has(Role::PacketIndex) && has(Role::ByteOffset)) {
            let reason = "needs fields with the roles \"packet_index\" and \"byte_offset\"";
            text.refuse(table, "even_chunks", reason);
        }
    }
    let possible = |ending: Ending| match ending {
        Ending::LastPacket => has(Role::LastPacket),
        Ending::PacketCount => {
            has(Role::PacketIndex) && (has(Role::PacketCount) || rule.expect_packets.is_some())
        }
        Ending::ByteCount => has(Role::ByteOffset) && (has(Role::FrameLen) || rule.expect_bytes.is_some()),
        Ending::SeqChange => numbered != Some(false) && has(Role::FrameSeq),
    };
    let told = table.as_ref().and_then(|table| text.choices(table, "ends_by", &ENDINGS));
    if let (Some(table), Some(told)) = (&table, &told) {
        for (word, _) in ENDINGS.iter().filter(|(_, ending)| told.contains(ending) && !possible(*ending)) {
            text.refuse(table, "ends_by", format!("no field makes {word:?} possible"));
        }
    }
    let all: Vec<Ending> = ENDINGS.iter().map(|(_, ending)| *ending).filter(|e| possible(*e)).collect();
    let always = |ending: &Ending| match ending {
        Ending::SeqChange => numbered.is_some(),
        other => *other == Ending::PacketCount,
    };
    for ending in all.iter().filter(|e| always(e)) {
        if let (Some(table), Some(false)) = (&table, told.as_ref().map(|told| told.contains(ending))) {
            let word = ENDINGS.iter().find(|(_, other)| other == ending).map_or("", |(word, _)| word);
            text.refuse(table, "ends_by", format!("lacks {word:?}, which fields of the layout make certain"));
        }
    }
    rule.ends_by = told.unwrap_or(all);
    rule
}
