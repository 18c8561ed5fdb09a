//! Whether a layout can be meant: places, sizes, constants and roles that fit together. It changes nothing.

use super::table::*;
use super::text::{Table, Text};
use super::{ANY_PORT_MAGIC, HEADER_MAX};
use std::collections::BTreeMap;

/// Notes everything that cannot be meant.
pub(super) fn layout<'a>(text: &mut Text<'a>, root: &Table<'a>, layout: &Layout) {
    for (index, field) in layout.fields.iter().enumerate() {
        let mut one = One { text, field };
        one.place(layout);
        one.number();
        one.constant();
        one.limits();
        one.meaning();
        one.repeated(&layout.fields[..index]);
    }
    overlaps(text, layout);
    matching(text, root, layout);
    companions(text, layout);
}

/// One field and where to tell what is wrong with it.
struct One<'t, 'a, 'f> {
    text: &'t mut Text<'a>,
    field: &'f Field,
}

impl One<'_, '_, '_> {
    fn fault(&mut self, key: &str, reason: impl Into<String>) {
        let gap = if key.is_empty() { "" } else { ", " };
        self.text.fault(self.field.line, format!("field {}{gap}{key}", self.field.name), reason);
    }

    fn place(&mut self, layout: &Layout) {
        let end = u32::from(self.field.at) + u32::from(self.field.size);
        match self.field.region {
            Region::Header if end > u32::from(layout.header_len) => {
                let reason = format!("the field ends at octet {end}, the header at {}", layout.header_len);
                self.fault("at", reason);
            }
            Region::Footer if end > u32::from(layout.footer_len) => {
                let reason =
                    format!("the field ends at octet {end} of the footer, which has {}", layout.footer_len);
                self.fault("at_footer", reason);
            }
            _ => {}
        }
        let footer = [Role::Const, Role::ReservedZero, Role::Opaque, Role::Checksum];
        if self.field.region == Region::Footer && !footer.contains(&self.field.role) {
            let reason = "only \"const\", \"reserved_zero\", \"opaque\" and \"checksum\" stand in the footer";
            self.fault("role", reason);
        }
    }

    fn number(&mut self) {
        let f = self.field;
        if let Some((high, _)) = f.bits {
            if f.size > 8 || !f.is_number() {
                self.fault("bits", "only a number of 1 to 8 octets has bits");
            } else if u16::from(high) >= f.size * 8 {
                self.fault("bits", format!("bit {high} is past the {} octets of the field", f.size));
            }
        }
        let plain = matches!(f.role, Role::Opaque | Role::ReservedZero | Role::Magic | Role::Const);
        let wide = !plain && !f.role.is_octets() || matches!(f.constant, Some(Constant::Number(_)));
        if wide && f.size > 8 {
            self.fault("size", "a number has at most 8 octets");
        }
        let most = match f.role {
            Role::StreamId | Role::PacketIndex | Role::PacketCount => 32,
            Role::Part => 8,
            _ => 64,
        };
        if f.is_number() && f.width() > most {
            self.fault("size", format!("a field with the role {:?} has at most {most} bits", f.role.name()));
        }
        let octets = match f.role {
            Role::SenderId => 16,
            Role::SenderName => 64,
            _ => HEADER_MAX,
        };
        if u64::from(f.size) > octets {
            self.fault(
                "size",
                format!("a field with the role {:?} has at most {octets} octets", f.role.name()),
            );
        }
    }

    fn constant(&mut self) {
        let f = self.field;
        let takes = matches!(f.role, Role::Magic | Role::Const | Role::Version);
        match &f.constant {
            None if matches!(f.role, Role::Magic | Role::Const) => {
                self.fault(
                    "const_hex",
                    format!("is missing: the role {:?} needs it, or const", f.role.name()),
                );
            }
            None if f.role == Role::Version && f.min.or(f.max).is_none() => {
                self.fault("const", "is missing: the role \"version\" needs it, or min or max");
            }
            Some(_) if !takes => {
                self.fault("const", format!("does not go with the role {:?}", f.role.name()));
            }
            Some(Constant::Octets(octets)) if octets.len() != usize::from(f.size) => {
                self.fault("const_hex", format!("has {} octets, the field {}", octets.len(), f.size));
            }
            Some(Constant::Octets(_)) if f.bits.is_some() => {
                self.fault("const_hex", "does not go with bits: write const, a number");
            }
            Some(Constant::Number(number)) if f.size <= 8 && *number > f.most() => {
                self.fault("const", format!("is above {}, the most the field holds", f.most()));
            }
            _ => {}
        }
    }

    fn limits(&mut self) {
        let f = self.field;
        let numeric = f.is_number() && !matches!(f.role, Role::Magic | Role::Const | Role::ReservedZero);
        let told =
            [("min", f.min.is_some()), ("max", f.max.is_some()), ("multiple_of", f.multiple_of.is_some())];
        for (key, _) in told.into_iter().filter(|(_, told)| *told && !numeric) {
            self.fault(key, "does not go with this field: only numbers that vary have it");
        }
        let sent = matches!(f.role, Role::Opaque | Role::Part | Role::Version) && f.constant.is_none();
        if f.send.is_some_and(|send| !sent || !f.is_number() || send > f.most()) {
            self.fault("send", format!("goes with a field that says nothing of its own, up to {}", f.most()));
        }
        if numeric && (f.min.is_some_and(|min| min > f.most()) || f.max.is_some_and(|max| max > f.most())) {
            self.fault("max", format!("min and max are at most {}, what the field holds", f.most()));
        }
        if f.min.zip(f.max).is_some_and(|(min, max)| min > max) {
            self.fault("min", "is above max");
        }
    }

    fn meaning(&mut self) {
        let f = self.field;
        let lengths = [
            Role::ByteOffset,
            Role::FrameLen,
            Role::PayloadLen,
            Role::HeaderLen,
            Role::TimestampUs,
            Role::PacketCount,
        ];
        if !lengths.contains(&f.role) && f.scale != 1 {
            self.fault("scale", format!("does not go with the role {:?}", f.role.name()));
        }
        if !lengths.contains(&f.role) && f.add != 0 {
            self.fault("add", format!("does not go with the role {:?}", f.role.name()));
        }
        if !matches!(f.role, Role::PacketIndex | Role::LengthOfRest) && f.base != 0 {
            self.fault("base", format!("does not go with the role {:?}", f.role.name()));
        }
        if let Some(checksum) = f.checksum {
            let size = checksum.sum.size();
            if f.bits.is_some() || f.size != size {
                self.fault("size", format!("this sum has {size} octets and no bits"));
            }
        }
    }

    fn repeated(&mut self, before: &[Field]) {
        let f = self.field;
        if before.iter().any(|other| other.name == f.name) {
            self.fault("name", "another field has the same name");
        }
        if !f.role.may_repeat() && before.iter().any(|other| other.role == f.role) {
            self.fault("role", format!("another field has the role {:?}, too", f.role.name()));
        }
    }
}

impl Sum {
    /// Octets of the sum.
    pub fn size(self) -> u16 {
        match self {
            Sum::Sum8 | Sum::Xor8 | Sum::Crc8 => 1,
            Sum::Sum16 | Sum::Inet16 | Sum::Crc16Ccitt | Sum::Crc16Modbus => 2,
            Sum::Crc32 | Sum::Crc32c => 4,
        }
    }
}

impl Field {
    /// The octets of the field, from the start of its region, with the bits of each that are its own.
    pub fn octets(&self) -> impl Iterator<Item = (u16, u8)> + '_ {
        let (high, low) = match self.bits {
            Some((high, low)) if self.size <= 8 => (u16::from(high), u16::from(low)),
            _ => (u16::MAX, 0),
        };
        (0..self.size).filter_map(move |octet| {
            let worth = match self.order {
                ByteOrder::Big => self.size - 1 - octet,
                ByteOrder::Little => octet,
            };
            let (first, last) = (worth.saturating_mul(8), worth.saturating_mul(8).saturating_add(7));
            let all = self.bits.is_none();
            let from = low.max(first).saturating_sub(first).min(8);
            let to = high.min(last);
            if !all && (to < first || low > last) {
                return None;
            }
            let mask = if all { 0xff } else { (0xff_u16 << from) & (0xff_u16 >> (last - to)) & 0xff };
            Some((self.at.saturating_add(octet), u8::try_from(mask).unwrap_or(u8::MAX)))
        })
    }
}

fn overlaps(text: &mut Text<'_>, layout: &Layout) {
    let mut taken: BTreeMap<(Region, u16), Vec<(u8, usize)>> = BTreeMap::new();
    for (index, field) in layout.fields.iter().enumerate() {
        let mut with = None;
        for (octet, mask) in field.octets() {
            let here = taken.entry((field.region, octet)).or_default();
            with =
                with.or(here.iter().find(|(other, _)| other & mask != 0).map(|(_, other)| (*other, octet)));
            here.push((mask, index));
        }
        if let Some((other, octet)) = with {
            let reason = format!("octet {octet} is the field {}'s, too", layout.fields[other].name);
            text.fault(field.line, format!("field {}, at", field.name), reason);
        }
    }
}

fn matching<'a>(text: &mut Text<'a>, root: &Table<'a>, layout: &Layout) {
    let Some(table) = text.table(root, "match") else { return };
    let matching = &layout.matching;
    if matching.udp_dst.is_empty() && !matching.any_port {
        text.refuse(&table, "udp_dst", "is missing: a layout is known by its port first");
    }
    let magic = layout.fields.iter().filter(|f| f.role == Role::Magic && f.bits.is_none());
    let octets: usize = magic.map(|f| usize::from(f.size)).sum();
    if matching.any_port && octets < ANY_PORT_MAGIC {
        let reason =
            format!("needs {ANY_PORT_MAGIC} octets of fields with the role \"magic\", {octets} there are");
        text.refuse(&table, "any_port", reason);
    }
}

/// Roles that mean nothing without another.
fn companions(text: &mut Text<'_>, layout: &Layout) {
    let pairs = [(Role::TimeValid, Role::TimestampUs), (Role::PacketCount, Role::PacketIndex)];
    for (role, other) in pairs {
        if let (Some(field), None) = (layout.field(role), layout.field(other)) {
            let reason = format!("{:?} needs a field with the role {:?}", role.name(), other.name());
            text.fault(field.line, format!("field {}, role", field.name), reason);
        }
    }
}

/// Notes what is wrong with the numbers of a cycle.
pub(super) fn numbering<'a>(
    text: &mut Text<'a>,
    table: &Table<'a>,
    field: Option<&Field>,
    sequence: &Sequence,
) {
    let Sequence { first, last, unused, window, .. } = *sequence;
    if first > last {
        text.refuse(table, "first", format!("is above last, which is {last}"));
    } else if u64::from(last) - u64::from(first) < 3 {
        text.refuse(table, "last", "a cycle of fewer than 4 numbers cannot tell a loss from a repeat");
    } else if table.has("window") && u64::from(window) * 2 > u64::from(last) - u64::from(first) {
        text.refuse(table, "window", "has to be less than half of the cycle");
    }
    // How long the cycle is has to be known.
    let unused = unused.filter(|_| field.is_some() || table.has("last"));
    if unused.is_some_and(|unused| (first..=last).contains(&unused)) {
        text.refuse(table, "unused", format!("is one of the numbers {first} to {last} of the cycle"));
    }
    if field.is_some_and(|f| f.width() > 32)
        && (table.has("first") || table.has("last") || table.has("unused"))
    {
        text.refuse(table, "field", "a number of more than 32 bits takes no first, last or unused");
    }
}
