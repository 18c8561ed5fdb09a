//! The rules of a layout against one datagram: what the fields say against each other and against what was sent.

use super::decode::{Values, octets, word};
use super::plan::{Hint, Table};
use super::rules::*;
use super::sums::{self, Parts};
use super::table::{Constant, Field, PayloadLength, Region, Role};
use crate::{Datagram, Faults, Marks, Rule, Severity, Value};

/// One datagram with its parts.
pub(super) struct Judge<'a> {
    table: &'static Table,
    payload: &'a [u8],
    /// Octets sent; never fewer than captured.
    sent: usize,
    /// First octet of the data.
    pub start: usize,
    /// Octets sent between header and footer.
    pub present: usize,
    /// Octets of data that the header announces.
    pub length: u64,
}

impl<'a> Judge<'a> {
    #[inline]
    pub(super) fn new(table: &'static Table, d: &Datagram<'a>, v: &Values) -> Self {
        let sent = d.len().max(d.payload.len());
        let header_len = usize::from(table.layout.header_len);
        let start = match table.facts.has_header {
            true => usize::try_from(v.header).unwrap_or(usize::MAX).max(header_len),
            false => header_len,
        };
        let present = sent.saturating_sub(start).saturating_sub(table.layout.footer_len.into());
        let length = if table.facts.has_length { v.length } else { present as u64 };
        Judge { table, payload: d.payload, sent, start, present, length }
    }

    /// The marks of the PDU.
    #[inline]
    pub(super) fn marks(&self, v: &Values) -> Marks {
        let facts = &self.table.facts;
        let mut marks = v.marks;
        if !facts.last_ends {
            marks = Marks(marks.0 & !Marks::PUSH.0);
        }
        if facts.chunked || self.length > 0 {
            marks = marks.and(Marks::DATA);
        }
        if facts.timed {
            marks = marks.and(Marks::TIMED);
        }
        if facts.ends_by_octets && v.offset.saturating_add(self.length) == self.frame(v) {
            marks = marks.and(Marks::PUSH);
        }
        marks
    }

    fn frame(&self, v: &Values) -> u64 {
        let expected = self.table.layout.frame.expect_bytes.map_or(0, u64::from);
        if v.frame == 0 { expected } else { v.frame }
    }

    fn count(&self, v: &Values) -> u64 {
        let expected = self.table.layout.frame.expect_packets.map_or(0, u64::from);
        if self.table.facts.reads_count { v.count } else { expected }
    }

    /// Adds every fault, in the order of the catalogue.
    #[inline]
    pub(super) fn check(&self, v: &Values, faults: &mut Faults) {
        let table = self.table;
        let differs = |f: &super::plan::Fixed| word(self.payload, f.at) & f.mask != f.value;
        if table.fixed.iter().any(differs) {
            self.explain_fixed(faults);
        }
        if table.facts.has_header && v.header != u64::from(table.layout.header_len) {
            self.explain_header(v, faults);
        }
        if table.layout.footer_len > 0 {
            self.check_footer(faults);
        }
        if self.length != self.present as u64 {
            self.explain_length(faults);
        }
        for index in &table.limited {
            self.check_limits(*index, faults);
        }
        if table.facts.chunked {
            self.check_place(v, faults);
        }
        let unit = u64::from(table.layout.payload_unit);
        if unit > 1 && !self.length.is_multiple_of(unit) {
            self.explain_unit(unit, faults);
        }
        for index in &table.rests {
            self.check_rest(*index, faults);
        }
        if let Some(index) = table.checksum {
            self.check_sum(index, faults);
        }
        if table.facts.expects {
            self.check_expected(v, faults);
        }
    }

    fn field(&self, index: usize) -> (&'static Field, Hint) {
        (&self.table.layout.fields[index], self.table.hints[index])
    }

    /// First octet of a footer.
    fn footer(&self) -> usize {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        self.start.saturating_add(length.min(self.present))
    }

    /// First octet of a field in the datagram.
    fn at(&self, field: &Field) -> usize {
        let from = if field.region == Region::Footer { self.footer() } else { 0 };
        from.saturating_add(field.at.into())
    }

    /// The field's octets, when they were captured.
    fn octets(&self, field: &Field) -> Option<&'a [u8]> {
        self.payload.get(self.at(field)..)?.get(..field.size.into())
    }

    #[cold]
    fn explain_fixed(&self, faults: &mut Faults) {
        for index in 0..self.table.layout.fields.len() {
            let (field, _) = self.field(index);
            if field.region == Region::Header {
                self.compare(index, faults);
            }
        }
    }

    /// A field of one value against the octets sent.
    fn compare(&self, index: usize, faults: &mut Faults) {
        let (field, hint) = self.field(index);
        let (Some(want), Some(got)) = (field.fixed_octets(), self.octets(field)) else { return };
        let differs = |((at, mask), value): ((u16, u8), u8)| {
            got.get(usize::from(at - field.at)).is_some_and(|octet| octet & mask != value & mask)
        };
        if !field.octets().zip(want).any(differs) {
            return;
        }
        let rule = if field.role == Role::ReservedZero { RESERVED } else { CONST };
        let (expected, value) = match &field.constant {
            Some(Constant::Octets(want)) => (octets(want), octets(got)),
            constant => {
                let number = if let Some(Constant::Number(number)) = constant { *number } else { 0 };
                (shown(field, number), shown(field, field.get(got)))
            }
        };
        let swapped = matches!(field.constant, Some(Constant::Number(n)) if swapped(field, got) == Some(n));
        self.tell(
            rule,
            index,
            self.at(field),
            expected,
            value,
            if swapped { hint.swapped } else { hint.plain },
            faults,
        );
    }

    #[allow(clippy::too_many_arguments, reason = "a finding has that many parts")]
    fn tell(
        &self,
        rule: &'static Rule,
        index: usize,
        at: usize,
        expected: Value,
        got: Value,
        hint: &'static str,
        faults: &mut Faults,
    ) {
        let severity = self.table.layout.fields[index].severity.unwrap_or(rule.severity);
        faults.add_with(rule, severity, at.min(self.sent), expected, got, hint);
    }

    /// Of a role that stands once.
    fn role(&self, role: Role) -> Option<usize> {
        self.table.layout.fields.iter().position(|f| f.role == role)
    }

    #[cold]
    fn explain_header(&self, v: &Values, faults: &mut Faults) {
        let Some(index) = self.role(Role::HeaderLen) else { return };
        let (field, hint) = self.field(index);
        let (declared, got) = (u64::from(self.table.layout.header_len), Value::Dec(v.header));
        let at = usize::from(field.at);
        if v.header < declared {
            self.tell(HEADER, index, at, Value::AtLeast(declared), got, hint.plain, faults);
        } else if v.header > self.sent as u64 {
            self.tell(HEADER, index, at, Value::AtMost(self.sent as u64), got, hint.plain, faults);
        } else {
            let hint = "a longer header of a later version: its extra octets are skipped";
            faults.add_with(HEADER, Severity::Info, at, Value::Dec(declared), got, hint);
        }
    }

    fn check_footer(&self, faults: &mut Faults) {
        let least = self.start.saturating_add(self.table.layout.footer_len.into());
        if self.sent < least {
            let (expected, got) = (Value::AtLeast(least as u64), Value::Dec(self.sent as u64));
            faults.add_with(SHORT, SHORT.severity, self.sent, expected, got, "the footer is not all there");
        } else if self.length <= self.present as u64 {
            self.table.footer.iter().for_each(|index| self.compare(*index, faults));
        }
    }

    #[cold]
    fn explain_length(&self, faults: &mut Faults) {
        let PayloadLength::Field(index) = self.table.layout.payload_len else { return };
        let (field, hint) = self.field(index);
        let (present, got) = (self.present as u64, Value::Dec(self.length));
        if self.length > present {
            self.tell(MISSING, index, self.at(field), Value::Dec(present), got, hint.plain, faults);
        } else {
            let at = self.footer().saturating_add(self.table.layout.footer_len.into());
            let severity = self.table.layout.trailing;
            faults.add_with(TRAILING, severity, at.min(self.sent), got, Value::Dec(present), hint.plain);
        }
    }

    #[inline]
    fn check_limits(&self, index: usize, faults: &mut Faults) {
        let (field, hint) = self.field(index);
        let Some(octets) = self.octets(field) else { return };
        let raw = field.get(octets);
        let within =
            |raw: u64| field.min.is_none_or(|min| raw >= min) && field.max.is_none_or(|max| raw <= max);
        let at = self.at(field);
        if !within(raw) {
            let explains = swapped(field, octets).is_some_and(within);
            let hint = if explains { hint.swapped } else { hint.plain };
            let expected = match (field.min, field.max) {
                (Some(min), Some(max)) => Value::Range(min, max),
                (Some(min), None) => Value::AtLeast(min),
                (None, max) => Value::AtMost(max.unwrap_or(u64::MAX)),
            };
            self.tell(LIMITS, index, at, expected, Value::Dec(raw), hint, faults);
        }
        if field.multiple_of.is_some_and(|of| !raw.is_multiple_of(of)) {
            let below = raw - raw % field.multiple_of.unwrap_or(1);
            faults.add_with(MULTIPLE, MULTIPLE.severity, at, Value::Dec(below), Value::Dec(raw), hint.plain);
        }
    }

    /// The place of the chunk: its index against the count, its marks, its end against the frame, and its start
    /// against its index where the length is believable.
    #[inline]
    fn check_place(&self, v: &Values, faults: &mut Faults) {
        let facts = &self.table.facts;
        let count = self.count(v);
        let inside = !facts.has_count || v.index < count;
        if !inside {
            self.explain_index(v, count, faults);
        } else if facts.has_count && (facts.has_last || facts.has_first) {
            self.check_marks(v, count, faults);
        }
        let end = v.offset.saturating_add(self.length);
        let frame = self.frame(v);
        if facts.has_offset && facts.has_frame && end > frame {
            self.explain_end(end, frame, faults);
        } else if facts.even_chunks && inside && self.length == self.present as u64 {
            self.check_even(v, count, end, frame, faults);
        }
    }

    #[cold]
    fn explain_index(&self, v: &Values, count: u64, faults: &mut Faults) {
        let Some(index) = self.role(Role::PacketIndex) else { return };
        let (field, hint) = self.field(index);
        let raw = v.index.wrapping_add(field.base.into());
        let most = count.saturating_add(field.base.into()).saturating_sub(1);
        self.tell(INDEX, index, self.at(field), Value::AtMost(most), Value::Dec(raw), hint.plain, faults);
    }

    #[inline]
    fn check_marks(&self, v: &Values, count: u64, faults: &mut Faults) {
        let facts = &self.table.facts;
        let (last, first) = (v.marks.has(Marks::PUSH), v.marks.has(Marks::FIRST));
        let is_last = v.index.checked_add(1) == Some(count);
        if facts.has_last && last != is_last {
            let hint = if last { "marked as last, but others follow" } else { "the last is not marked" };
            self.mark(Role::LastPacket, if last { "no mark" } else { "the mark" }, last, hint, faults);
        }
        if first && v.index != 0 {
            let hint = "marked as first, but it is not";
            self.mark(Role::FirstPacket, "no mark", true, hint, faults);
        }
    }

    #[cold]
    fn mark(&self, role: Role, want: &'static str, set: bool, hint: &'static str, faults: &mut Faults) {
        let Some(index) = self.role(role) else { return };
        let at = self.at(self.field(index).0);
        let got = Value::Word(if set { "the mark" } else { "no mark" });
        self.tell(MARK, index, at, Value::Word(want), got, hint, faults);
    }

    #[cold]
    fn explain_end(&self, end: u64, frame: u64, faults: &mut Faults) {
        let Some(index) = self.role(Role::ByteOffset) else { return };
        let at = self.at(self.field(index).0);
        let hint = "the data ends past the frame";
        self.tell(INSIDE, index, at, Value::AtMost(frame), Value::Dec(end), hint, faults);
    }

    /// The last chunk may be shorter than the others, so that only its end says where it belongs.
    #[inline]
    fn check_even(&self, v: &Values, count: u64, end: u64, frame: u64, faults: &mut Faults) {
        let has = &self.table.facts;
        let is_last = has.has_count && v.index.checked_add(1) == Some(count);
        let place = v.index.saturating_mul(self.length);
        let (right, expected) = if !is_last {
            (v.offset == place, place)
        } else if has.has_frame {
            let right = end == frame && (v.index != 0 || v.offset == 0);
            (right, frame - self.length.min(frame))
        } else {
            (true, 0)
        };
        if !right {
            self.explain_place(v.offset, expected, faults);
        }
    }

    #[cold]
    fn explain_place(&self, offset: u64, expected: u64, faults: &mut Faults) {
        let Some(index) = self.role(Role::ByteOffset) else { return };
        let hint = "the offset is not index times chunk size";
        let at = self.at(self.field(index).0);
        faults.add_with(PLACE, PLACE.severity, at, Value::Dec(expected), Value::Dec(offset), hint);
    }

    #[cold]
    fn explain_unit(&self, unit: u64, faults: &mut Faults) {
        let expected = Value::Dec(self.length - self.length % unit);
        let hint = "the last unit is not whole";
        faults.add_with(
            UNIT,
            UNIT.severity,
            self.start.min(self.sent),
            expected,
            Value::Dec(self.length),
            hint,
        );
    }

    fn check_rest(&self, index: usize, faults: &mut Faults) {
        let (field, hint) = self.field(index);
        let Some(octets) = self.octets(field) else { return };
        let (rest, got) = (self.sent.saturating_sub(field.base as usize) as u64, field.get(octets));
        if rest != got {
            let hint = if swapped(field, octets) == Some(rest) { hint.swapped } else { hint.plain };
            self.tell(REST, index, self.at(field), Value::Dec(rest), Value::Dec(got), hint, faults);
        }
    }

    /// Judged only where every octet was captured and the length is believable.
    fn check_sum(&self, index: usize, faults: &mut Faults) {
        let (field, hint) = self.field(index);
        let (Some(checksum), Some(own)) = (field.checksum, self.octets(field)) else { return };
        if self.payload.len() < self.sent || self.length > self.present as u64 {
            return;
        }
        let data = self.footer();
        let footer = data.saturating_add(self.table.layout.footer_len.into());
        let parts = Parts { header: self.start, data, footer };
        let right = sums::sum(checksum, self.payload, parts, self.at(field));
        let got = field.get(own);
        if right != got {
            let digits = u8::try_from(field.size * 2).unwrap_or(8);
            let hint = if swapped(field, own) == Some(right) { hint.swapped } else { hint.plain };
            let (expected, got) = (Value::Hex(right, digits), Value::Hex(got, digits));
            self.tell(SUM, index, self.at(field), expected, got, hint, faults);
        }
    }

    fn check_expected(&self, v: &Values, faults: &mut Faults) {
        let frame = &self.table.layout.frame;
        let told = [
            (Role::PacketCount, frame.expect_packets.map(u64::from), v.count),
            (Role::FrameLen, frame.expect_bytes.map(u64::from), v.frame),
        ];
        for (role, want, got) in told {
            let (Some(want), Some(index)) = (want.filter(|want| *want != got), self.role(role)) else {
                continue;
            };
            let (field, hint) = self.field(index);
            self.tell(EXPECTED, index, self.at(field), Value::Dec(want), Value::Dec(got), hint.plain, faults);
        }
    }
}

/// A number as its field is usually written.
fn shown(field: &Field, number: u64) -> Value {
    match field.role {
        Role::ReservedZero => Value::Hex(number, u8::try_from(field.width().div_ceil(4)).unwrap_or(16)),
        _ => Value::Dec(number),
    }
}

/// The number with its octets in the other order; `None` where there is no other order.
fn swapped(field: &Field, octets: &[u8]) -> Option<u64> {
    let mut turned: [u8; 8] = [0; 8];
    let whole = field.bits.is_none() && (2..=8).contains(&octets.len());
    let turned = whole.then(|| turned.get_mut(..octets.len()))??;
    turned.iter_mut().zip(octets.iter().rev()).for_each(|(to, from)| *to = *from);
    Some(field.get(turned))
}
