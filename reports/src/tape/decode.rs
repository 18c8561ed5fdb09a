//! Records back to datagrams. Whatever the octets are: bounded memory, no panic, and everything before a damaged place.

use super::encode::{DATA_PARTS, NAME_PARTS, TEXT_PARTS};
use super::seal::crc;
use super::slot::{
    BLOCK_SLOTS, BYTE_ORDER, DIGESTS, HEAD, HEADER_MAX, MAGIC, SLOT, Slot, TEXT, TEXT_AT, VERSION, blind,
    datagram, digests, drops, fault, faults, flag, kind, others, seal, step, stream, text, what,
};
use super::table::{Set, Stream, unword};
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::{DropLayer, HostDrops, Noted, Remark};
use wireproof_protocols::{
    Arrival, Checksum, Datagram, Kind, Link, Marks, Pdu, Rule, Severity, Timestamp, registry,
};

/// What a tape holds, in its order.
pub enum Event<'a> {
    /// A lighting datagram; `payload` is empty.
    Datagram(Arrival, &'a Datagram<'a>, &'a Noted<'a>, &'a [Remark<'a>]),
    /// The newest of some packets that are no lighting datagrams, and how many UDP datagrams there were among them.
    Others(Arrival, u64),
    /// Digests of the data of the next datagrams that had none so far, in order.
    Digests(&'a [u64]),
    /// Drop evidence.
    Drops(HostDrops),
    /// The clock of the stamps was set by so many nanoseconds.
    ClockStep(i64),
    /// The capture lost packets, or the tape left records out, between two instants.
    Blind {
        /// Not before this.
        from: Timestamp,
        /// Not after this.
        to: Timestamp,
        /// How many.
        count: u64,
    },
}

/// What is known of a tape after the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapeReport {
    /// When it was begun, ns since 1970.
    pub start_ns: i64,
    /// Datagrams read.
    pub datagrams: u64,
    /// Number of the last packet of the capture.
    pub packets: u64,
    /// Datagrams that it says it left out.
    pub left_out: u64,
    /// Packets that the capture says it lost.
    pub capture_dropped: u64,
    /// Records that could not be used: unknown tags, kinds or rules, numbers that refer to nothing.
    pub unknown: u64,
    /// The stamps are no finer than microseconds.
    pub microseconds: bool,
    /// When the run ended, where the tape ends as it should and says it.
    pub ended: Option<Timestamp>,
    /// The first kind of a layout that the reader was not given.
    pub layout: Option<String>,
    /// What is damaged and where, one sentence; everything before it was read.
    pub damaged: Option<String>,
}

/// A stream with the name that came with it.
#[derive(Clone, Debug)]
struct Known {
    stream: Stream,
    name: Vec<u8>,
}

/// The first case of a fault.
#[derive(Clone, Debug, Default)]
struct Case {
    rule: Option<&'static Rule>,
    severity: u8,
    offset: u16,
    hint: Vec<u8>,
    expected: Vec<u8>,
    got: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Header,
    Blocks,
    Over,
}

/// Reads a tape as it comes.
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
    /// A header or block that is not complete yet.
    open: Vec<u8>,
    /// Octets before it.
    passed: u64,
    records: u64,
    kinds: Vec<Option<Kind>>,
    streams: Vec<Option<Known>>,
    cases: Vec<Option<Case>>,
    sets: Vec<Option<Set>>,
    /// Octets that belong to the next datagram.
    data: Vec<u8>,
    report: TapeReport,
    layouts: Layouts,
}

/// True when a file that starts with `first` is a tape.
pub fn claims(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

impl Decoder {
    /// A reader that knows the kinds of these layouts, too: a tape holds their names only.
    pub fn knowing(layouts: Layouts) -> Decoder {
        Decoder { layouts, ..Decoder::default() }
    }

    /// Takes the next octets and hands over what became complete with them.
    pub fn feed(&mut self, mut octets: &[u8], each: &mut dyn FnMut(Event<'_>)) {
        while !octets.is_empty() && self.state != State::Over {
            let want = match self.state {
                State::Header => self.header_length().saturating_sub(self.open.len()),
                _ => SLOT - self.open.len() % SLOT,
            };
            let (now, later) = octets.split_at(want.min(octets.len()));
            self.open.extend_from_slice(now);
            octets = later;
            match self.state {
                State::Header if self.open.len() == self.header_length() => self.header(),
                State::Blocks if self.open.len().is_multiple_of(SLOT) => self.slot(each),
                _ => {}
            }
        }
        if self.state == State::Over && !octets.is_empty() && self.report.damaged.is_none() {
            self.report.damaged =
                Some(format!("octets follow the end of the tape, {} or more", octets.len()));
        }
    }

    /// The end of the file: what stands in a block that was never sealed is handed over, too.
    pub fn finish(mut self, each: &mut dyn FnMut(Event<'_>)) -> TapeReport {
        let place = self.passed + self.open.len() as u64;
        match self.state {
            State::Header => self.damage(format!("the tape ends inside its header, after {place} octets")),
            State::Blocks => {
                let whole = self.open.len() / SLOT;
                self.block(whole, each);
                let n = self.report.datagrams;
                self.damage(format!(
                    "the tape was cut after {place} octets: {n} datagrams are there, none of its end"
                ));
            }
            State::Over => {}
        }
        self.report
    }

    fn damage(&mut self, text: String) {
        self.report.damaged.get_or_insert(text);
        self.state = State::Over;
    }

    /// Octets of the whole header, as far as it is known.
    fn header_length(&self) -> usize {
        let stated =
            self.open.get(16..20).and_then(|o| o.first_chunk()).map(|o| u32::from_le_bytes(*o) as usize);
        match stated {
            Some(length) if self.open.len() >= HEAD => length.clamp(HEAD, HEADER_MAX),
            _ => HEAD,
        }
    }

    fn header(&mut self) {
        let number = |at: usize| {
            self.open.get(at..).and_then(|o| o.first_chunk()).map_or(0, |o| u32::from_le_bytes(*o))
        };
        let half = |at: usize| {
            self.open.get(at..).and_then(|o| o.first_chunk()).map_or(0, |o| u16::from_le_bytes(*o))
        };
        let (version, slot, order, length) = (half(8), half(10), number(12), number(16) as usize);
        let start = self.open.get(24..).and_then(|o| o.first_chunk()).map_or(0, |o| i64::from_le_bytes(*o));
        let stated = number(HEAD - 4);
        let reason = if order != BYTE_ORDER {
            Some("its byte order mark is wrong".to_owned())
        } else if version != VERSION || usize::from(slot) != SLOT {
            Some(format!(
                "it has version {version} with records of {slot} octets, known are {VERSION} and {SLOT}"
            ))
        } else if length != self.open.len() || !length.is_multiple_of(SLOT) {
            Some(format!("its header states {length} octets"))
        } else {
            self.open[HEAD - 4..HEAD].fill(0);
            (crc32fast::hash(&self.open) != stated).then(|| "the check sum of its header is wrong".to_owned())
        };
        if let Some(reason) = reason {
            return self.damage(format!("the tape cannot be read: {reason}"));
        }
        self.report.start_ns = start;
        self.next_block();
        self.state = State::Blocks;
    }

    fn next_block(&mut self) {
        self.passed += self.open.len() as u64;
        self.open.clear();
    }

    /// A record is complete.
    fn slot(&mut self, each: &mut dyn FnMut(Event<'_>)) {
        let slots = self.open.as_chunks::<SLOT>().0;
        let Some((last, block)) = slots.split_last() else { return };
        if last[0] != seal::TAG {
            if slots.len() >= BLOCK_SLOTS {
                let place = self.passed;
                self.damage(format!("the block at octet {place} has no seal"));
            }
            return;
        }
        let (last, count) = (*last, block.len());
        let right = crc(block.as_flattened(), &last) == seal::crc.get(&last)
            && seal::records.get(&last) as usize == count
            && seal::all_records.get(&last) == self.records + count as u64;
        if !right {
            let place = self.passed;
            return self.damage(format!("the block at octet {place} does not match its check sum"));
        }
        self.block(count, each);
        self.records += count as u64;
        self.next_block();
        if seal::end.get(&last) != 0 {
            self.end(&last);
        }
    }

    fn end(&mut self, last: &Slot) {
        self.state = State::Over;
        self.report.microseconds = seal::microseconds.get(last) != 0;
        self.report.left_out = self.report.left_out.max(seal::left_out.get(last));
        self.report.ended = Some(seal::ended_ns.get(last)).filter(|ns| *ns != 0).map(Timestamp);
        let stated = seal::datagrams.get(last);
        if stated != self.report.datagrams {
            let read = self.report.datagrams;
            self.report.damaged = Some(format!("the tape states {stated} datagrams, {read} are there"));
        }
    }

    fn block(&mut self, count: usize, each: &mut dyn FnMut(Event<'_>)) {
        let open = std::mem::take(&mut self.open);
        for slot in open.as_chunks::<SLOT>().0.iter().take(count) {
            self.record(slot, each);
        }
        self.open = open;
    }

    fn record(&mut self, slot: &Slot, each: &mut dyn FnMut(Event<'_>)) {
        let used = match slot[0] {
            datagram::TAG => self.datagram(slot, each),
            stream::TAG => self.stream(slot),
            kind::TAG => self.kind(slot),
            text::TAG => self.text(slot),
            fault::TAG => self.case(slot),
            faults::TAG => self.set(slot),
            drops::TAG => self.drops(slot, each),
            others::TAG => self.others(slot, each),
            blind::TAG => self.blind(slot, each),
            digests::TAG => digest(slot, each),
            step::TAG => {
                each(Event::ClockStep(step::by_ns.get(slot)));
                Some(())
            }
            _ => None,
        };
        self.report.unknown = self.report.unknown.saturating_add(u64::from(used.is_none()));
    }

    fn datagram(&mut self, slot: &Slot, each: &mut dyn FnMut(Event<'_>)) -> Option<()> {
        let data = std::mem::take(&mut self.data);
        let known = self.streams.get(usize::from(datagram::stream.get(slot)))?.as_ref()?;
        let link = link(slot);
        let length = datagram::length.get(slot);
        let d = Datagram {
            source: known.stream.source,
            destination: known.stream.destination,
            payload: &[],
            length,
            link,
        };
        let packets = &mut self.report.packets;
        *packets = packets.wrapping_add(u64::from(datagram::packet.get(slot).wrapping_sub(*packets as u32)));
        let arrival = Arrival { at: Timestamp(datagram::at_ns.get(slot)), packet: *packets };
        let noted = noted(slot, known, &data);
        self.report.datagrams += 1;
        let number = usize::from(datagram::faults.get(slot));
        if number == 0 {
            each(Event::Datagram(arrival, &d, &noted, &[]));
            return Some(());
        }
        let set = self.sets.get(number).and_then(Option::as_ref).map(Set::as_slice);
        let told = |class: &u16| self.cases.get(usize::from(*class))?.as_ref()?.told();
        let cases: Vec<Told<'_>> = set.unwrap_or_default().iter().filter_map(told).collect();
        let remarks: Vec<Remark<'_>> = cases.iter().map(Told::remark).collect();
        each(Event::Datagram(arrival, &d, &noted, &remarks));
        (Some(remarks.len()) == set.map(<[u16]>::len)).then_some(())
    }

    fn stream(&mut self, slot: &Slot) -> Option<()> {
        let number = stream::kind.get(slot);
        let kind = match number {
            0 => None,
            number => Some((*self.kinds.get(usize::from(number))?)?),
        };
        let known = Known { stream: Stream::from_slot(slot, kind), name: Vec::new() };
        keep(&mut self.streams, stream::stream.get(slot), known);
        Some(())
    }

    fn kind(&mut self, slot: &Slot) -> Option<()> {
        let number = kind::kind.get(slot);
        let length = usize::from(kind::length.get(slot)).min(TEXT);
        let name = std::str::from_utf8(slot.get(TEXT_AT..TEXT_AT + length)?).ok()?;
        let found = self.layouts.kind(name);
        if let Some(found) = found {
            keep(&mut self.kinds, u16::from(number), found);
        }
        if found.is_none() && name.starts_with("layout:") {
            self.report.layout.get_or_insert_with(|| name.to_owned());
        }
        found.map(|_| ())
    }

    fn text(&mut self, slot: &Slot) -> Option<()> {
        let of = usize::from(text::of.get(slot));
        let length = usize::from(text::length.get(slot)).min(TEXT);
        let part = slot.get(TEXT_AT..TEXT_AT + length)?;
        let case = self.cases.get_mut(of).and_then(Option::as_mut);
        let (to, most) = match text::what.get(slot) {
            what::NAME => (&mut self.streams.get_mut(of)?.as_mut()?.name, NAME_PARTS),
            what::HINT => (&mut case?.hint, TEXT_PARTS),
            what::EXPECTED => (&mut case?.expected, TEXT_PARTS),
            what::GOT => (&mut case?.got, TEXT_PARTS),
            what::DATA => (&mut self.data, DATA_PARTS),
            _ => return None,
        };
        if to.len() + part.len() > most * TEXT {
            return None;
        }
        to.extend_from_slice(part);
        Some(())
    }

    fn case(&mut self, slot: &Slot) -> Option<()> {
        let code = fault::code.get(slot);
        let rule = registry::rule(unword(&code));
        let case = Case {
            rule,
            severity: fault::severity.get(slot),
            offset: fault::offset.get(slot),
            ..Case::default()
        };
        keep(&mut self.cases, fault::fault.get(slot), case);
        rule.map(|_| ())
    }

    fn set(&mut self, slot: &Slot) -> Option<()> {
        let mut set = Set::default();
        let numbers = slot.get(TEXT_AT..)?.as_chunks::<2>().0;
        for number in numbers.iter().take(usize::from(faults::count.get(slot))) {
            set.push(u16::from_le_bytes(*number));
        }
        keep(&mut self.sets, faults::faults.get(slot), set);
        Some(())
    }

    fn drops(&mut self, slot: &Slot, each: &mut dyn FnMut(Event<'_>)) -> Option<()> {
        let name = drops::layer.get(slot);
        let layer = DropLayer::ALL.into_iter().find(|layer| layer.name() == unword(&name))?;
        let port = (drops::has_port.get(slot) != 0).then(|| drops::port.get(slot));
        let (from, to) = (Timestamp(drops::from_ns.get(slot)), Timestamp(drops::to_ns.get(slot)));
        each(Event::Drops(HostDrops { layer, port, from, to, count: drops::count.get(slot) }));
        Some(())
    }

    fn others(&mut self, slot: &Slot, each: &mut dyn FnMut(Event<'_>)) -> Option<()> {
        let packet = others::packet.get(slot);
        self.report.packets = self.report.packets.max(packet);
        let arrival = Arrival { at: Timestamp(others::at_ns.get(slot)), packet };
        // So many come in no half second; sums of hostile ones stay sums.
        each(Event::Others(arrival, others::datagrams.get(slot).min(u32::MAX.into())));
        Some(())
    }

    fn blind(&mut self, slot: &Slot, each: &mut dyn FnMut(Event<'_>)) -> Option<()> {
        let count = blind::count.get(slot);
        let of = if blind::own.get(slot) == 0 {
            &mut self.report.capture_dropped
        } else {
            &mut self.report.left_out
        };
        *of = of.saturating_add(count);
        let (from, to) = (Timestamp(blind::from_ns.get(slot)), Timestamp(blind::to_ns.get(slot)));
        each(Event::Blind { from, to, count });
        Some(())
    }
}

/// Hands the digests of a record over.
fn digest(slot: &Slot, each: &mut dyn FnMut(Event<'_>)) -> Option<()> {
    let mut values = [0; DIGESTS];
    let stored = slot.get(TEXT_AT..)?.as_chunks::<8>().0;
    values.iter_mut().zip(stored).for_each(|(value, octets)| *value = u64::from_le_bytes(*octets));
    each(Event::Digests(values.get(..usize::from(digests::count.get(slot)))?));
    Some(())
}

/// Puts a value at its number; a list has 65,536 places at most.
fn keep<T: Clone>(list: &mut Vec<Option<T>>, number: u16, value: T) {
    let at = usize::from(number);
    if list.len() <= at {
        list.resize(at + 1, None);
    }
    if let Some(place) = list.get_mut(at) {
        *place = Some(value);
    }
}

/// A case with its texts as text.
struct Told<'a> {
    rule: &'static Rule,
    severity: Severity,
    offset: u16,
    hint: &'a str,
    expected: &'a str,
    got: &'a str,
}

impl Case {
    fn told(&self) -> Option<Told<'_>> {
        let severity = match self.severity {
            0 => Severity::Info,
            1 => Severity::Warning,
            2 => Severity::Violation,
            _ => return None,
        };
        let text = |octets| std::str::from_utf8(octets).unwrap_or_default();
        Some(Told {
            rule: self.rule?,
            severity,
            offset: self.offset,
            hint: text(&self.hint),
            expected: text(&self.expected),
            got: text(&self.got),
        })
    }
}

impl Told<'_> {
    fn remark(&self) -> Remark<'_> {
        Remark {
            rule: self.rule,
            severity: self.severity,
            offset: self.offset,
            hint: self.hint,
            expected: &self.expected,
            got: &self.got,
        }
    }
}

fn link(slot: &Slot) -> Link {
    let flags = datagram::flags.get(slot);
    let checksum = match flags >> flag::CHECKSUM {
        1 => Checksum::Absent,
        2 => Checksum::Good,
        3 => Checksum::Bad,
        _ => Checksum::Unknown,
    };
    let ip_id = (flags & flag::IP_ID != 0).then(|| datagram::ip_id.get(slot));
    Link { ip_id, checksum, fragments: datagram::fragments.get(slot).into(), ..Link::default() }
}

fn noted<'a>(slot: &Slot, known: &'a Known, data: &'a [u8]) -> Noted<'a> {
    let flags = datagram::flags.get(slot);
    let has = |bit: u8| flags & bit != 0;
    let pdu = known.stream.kind.map(|kind| Pdu {
        stream: known.stream.stream_id,
        part: known.stream.part,
        sender: known.stream.sender,
        name: &known.name,
        sequence: has(flag::NUMBERED).then(|| datagram::sequence.get(slot)),
        index: datagram::index.get(slot),
        count: datagram::count.get(slot),
        offset: datagram::offset.get(slot),
        data,
        data_length: datagram::data_length.get(slot),
        start_code: datagram::start_code.get(slot),
        priority: datagram::priority.get(slot),
        sync: datagram::sync.get(slot),
        sender_time: datagram::sender_time.get(slot).into(),
        marks: Marks(datagram::marks.get(slot)),
        ..Pdu::empty(kind)
    });
    Noted {
        pdu,
        copy: has(flag::COPY),
        cut: has(flag::CUT),
        well_formed: has(flag::WELL_FORMED),
        sampled: u64::from(datagram::sampled.get(slot)) << 32,
        content: datagram::content.get(slot),
    }
}
