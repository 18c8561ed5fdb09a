//! A layout compiled for reading: octets to compare word by word, and numbers to read one after the other.

use super::table::{ByteOrder, Constant, Ending, Field, Layout, PayloadLength, Region, Role, Scope, Step};
use super::{HEADER_MAX, Sequence};
use crate::Marks;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Octets of the header compared at once.
pub(super) const WORD: usize = 8;

/// First octet of a field, and the one behind its last.
pub(super) type Span = (usize, usize);

/// A layout, compiled.
#[derive(Debug)]
pub struct Table {
    /// What was read.
    pub layout: Layout,
    /// `layout:NAME`.
    pub(crate) name: &'static str,
    /// Ports as a decoder hands them out.
    pub(super) ports: &'static [u16],
    /// Constant and reserved bits of the header, a word each that has any.
    pub(super) fixed: Vec<Fixed>,
    /// The same of the magic alone.
    pub(super) magic: Vec<Fixed>,
    /// Numbers of the header that mean something.
    pub(super) reads: Vec<Read>,
    /// Indices of fields with limits of their own.
    pub(super) limited: Vec<usize>,
    /// Indices of fields that are lengths of the rest.
    pub(super) rests: Vec<usize>,
    /// The checksum.
    pub(super) checksum: Option<usize>,
    /// Constant and reserved fields of the footer.
    pub(super) footer: Vec<usize>,
    /// Where the sender's identifier stands.
    pub(super) sender_id: Option<Span>,
    /// Where the sender's name stands.
    pub(super) sender_name: Option<Span>,
    /// A name for each field in findings.
    pub(super) hints: Vec<Hint>,
    pub(super) facts: Facts,
}

/// What explains a finding about a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hint {
    /// The field.
    pub plain: &'static str,
    /// The field, and that its octets are right in the other order.
    pub swapped: &'static str,
    /// The field, and that the datagram is another protocol's.
    pub other: &'static str,
}

impl Hint {
    fn of(field: &Field) -> Hint {
        let keep = |more: &str| -> &'static str {
            Box::leak(format!("field {}{more}", field.name).into_boxed_str())
        };
        Hint {
            plain: keep(""),
            swapped: keep(": right with its octets in the other order"),
            other: keep(": another protocol on the port"),
        }
    }
}

/// What the roles of a layout come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    pub has_length: bool,
    pub has_header: bool,
    pub has_index: bool,
    pub has_count: bool,
    pub has_offset: bool,
    pub has_frame: bool,
    pub has_last: bool,
    pub has_first: bool,
    /// The count is a field, not only declared.
    pub reads_count: bool,
    /// The mark of the last datagram ends a frame.
    pub last_ends: bool,
    pub ends_by_octets: bool,
    /// Something is declared of every frame that a field says, too.
    pub expects: bool,
    pub even_chunks: bool,
    pub timed: bool,
    pub unused: Option<u32>,
    pub chunked: bool,
}

/// Bits of a word that are known beforehand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    /// First octet; the word may reach past the header, where no bit of it is known.
    pub at: usize,
    pub mask: u64,
    pub value: u64,
}

/// A number to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub at: u16,
    pub size: u8,
    pub little: bool,
    pub shift: u8,
    pub mask: u64,
    pub to: To,
    /// Index of the field.
    pub field: u8,
}

/// What a number is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Stream,
    Part,
    Sequence,
    Index(u32),
    Count,
    Offset,
    Length,
    Frame,
    Header,
    Time,
    Mark(Marks),
}

impl Table {
    /// Compiles a checked layout. It stays for the life of the program: a run loads a few and ends.
    pub(super) fn compile(layout: Layout) -> &'static Table {
        let name: &'static str = Box::leak(format!("layout:{}", layout.name).into_boxed_str());
        let all = |test: &dyn Fn(&Field) -> bool| -> Vec<usize> {
            layout.fields.iter().enumerate().filter(|(_, f)| test(f)).map(|(i, _)| i).collect()
        };
        let span = |role| layout.field(role).map(|f| (usize::from(f.at), usize::from(f.at + f.size)));
        let fixed_role = |f: &Field| matches!(f.role, Role::Const | Role::ReservedZero);
        Box::leak(Box::new(Table {
            name,
            ports: Box::leak(layout.matching.udp_dst.clone().into_boxed_slice()),
            fixed: fixed(&layout, |_| true),
            magic: fixed(&layout, |role| role == Role::Magic),
            reads: layout.fields.iter().enumerate().filter_map(|(i, f)| read(&layout, i, f)).collect(),
            limited: all(&|f| f.min.or(f.max).or(f.multiple_of).is_some()),
            rests: all(&|f| f.role == Role::LengthOfRest),
            checksum: layout.fields.iter().position(|f| f.checksum.is_some()),
            footer: all(&|f| f.region == Region::Footer && fixed_role(f)),
            sender_id: span(Role::SenderId),
            sender_name: span(Role::SenderName),
            hints: layout.fields.iter().map(Hint::of).collect(),
            facts: facts(&layout),
            layout,
        }))
    }

    /// Frames are made of chunks that say where they belong.
    pub(crate) fn has_chunks(&self) -> bool {
        self.facts.chunked
    }

    /// Chunks say at which octet of the frame they belong.
    pub(crate) fn has_offsets(&self) -> bool {
        self.facts.has_offset
    }

    /// Octets of a datagram beside its data, at least.
    pub(crate) fn around(&self) -> u32 {
        u32::from(self.layout.header_len) + u32::from(self.layout.footer_len)
    }

    /// The numbering with what one number counts.
    pub(crate) fn sequence(&self) -> Option<&Sequence> {
        self.layout.sequence.as_ref()
    }

    /// All datagrams of a frame have the same number.
    pub(crate) fn numbers_frames(&self) -> bool {
        self.sequence().is_some_and(|s| s.step == Step::Frame)
    }

    /// All streams of a source share one counter.
    pub(crate) fn counts_by_source(&self) -> bool {
        self.sequence().is_some_and(|s| s.scope == Scope::Source)
    }
}

fn facts(layout: &Layout) -> Facts {
    let has = |role| layout.field(role).is_some();
    let frame = &layout.frame;
    Facts {
        has_length: layout.payload_len != PayloadLength::Rest,
        has_header: has(Role::HeaderLen),
        has_index: has(Role::PacketIndex),
        has_count: has(Role::PacketIndex) && (has(Role::PacketCount) || frame.expect_packets.is_some()),
        reads_count: has(Role::PacketCount),
        last_ends: frame.ends_by.contains(&Ending::LastPacket),
        expects: frame.expect_packets.is_some() && has(Role::PacketCount)
            || frame.expect_bytes.is_some() && has(Role::FrameLen),
        has_offset: has(Role::ByteOffset),
        has_frame: has(Role::FrameLen) || frame.expect_bytes.is_some(),
        has_last: has(Role::LastPacket),
        has_first: has(Role::FirstPacket),
        ends_by_octets: frame.ends_by.contains(&Ending::ByteCount),
        even_chunks: frame.even_chunks,
        timed: has(Role::TimestampUs) && !has(Role::TimeValid),
        unused: layout.sequence.and_then(|s| s.unused),
        chunked: layout.has_chunks(),
    }
}

/// Known bits of the header of fields with such a role, as words.
fn fixed(layout: &Layout, wanted: impl Fn(Role) -> bool) -> Vec<Fixed> {
    let length = HEADER_MAX as usize + WORD;
    let (mut masks, mut values) = (vec![0u8; length], vec![0u8; length]);
    for field in layout.fields.iter().filter(|f| f.region == Region::Header && wanted(f.role)) {
        let Some(octets) = field.fixed_octets() else { continue };
        for ((at, mask), value) in field.octets().zip(octets) {
            masks[usize::from(at)] |= mask;
            values[usize::from(at)] |= value & mask;
        }
    }
    let word = |octets: &[u8], at: usize| octets[at..].first_chunk().map_or(0, |o| u64::from_le_bytes(*o));
    (0..usize::from(layout.header_len))
        .step_by(WORD)
        .map(|at| Fixed { at, mask: word(&masks, at), value: word(&values, at) })
        .filter(|fixed| fixed.mask != 0)
        .collect()
}

impl Field {
    /// The octets of [`Field::octets`] of a field that has one value, bits of others zero; `None` when it varies.
    pub fn fixed_octets(&self) -> Option<Vec<u8>> {
        let number = match (&self.constant, self.role) {
            (Some(Constant::Octets(octets)), _) => return Some(octets.clone()),
            (Some(Constant::Number(number)), _) => *number,
            (None, Role::ReservedZero) => return Some(vec![0; self.size.into()]),
            (None, _) => return None,
        };
        let mut octets = vec![0; self.size.into()];
        self.put(number, &mut octets);
        let own: Vec<u16> = self.octets().map(|(at, _)| at - self.at).collect();
        Some(own.into_iter().filter_map(|at| octets.get(usize::from(at)).copied()).collect())
    }

    /// Writes the number into the field's octets, `octets` being all of them; other bits stay.
    pub fn put(&self, number: u64, octets: &mut [u8]) {
        let shift = u32::from(self.bits.map_or(0, |(_, low)| low));
        let mask = self.most() << shift;
        let value = number << shift & mask;
        let size = octets.len().min(8);
        for (index, octet) in octets.iter_mut().take(size).enumerate() {
            let worth = match self.order {
                ByteOrder::Big => size - 1 - index,
                ByteOrder::Little => index,
            };
            let (mask, value) = ((mask >> (8 * worth)) as u8, (value >> (8 * worth)) as u8);
            *octet = *octet & !mask | value;
        }
    }

    /// The number in the field's octets, `octets` being all of them.
    pub fn get(&self, octets: &[u8]) -> u64 {
        let octets = octets.iter().take(8);
        let whole = match self.order {
            ByteOrder::Big => octets.fold(0u64, |all, o| all << 8 | u64::from(*o)),
            ByteOrder::Little => octets.rev().fold(0u64, |all, o| all << 8 | u64::from(*o)),
        };
        whole >> self.bits.map_or(0, |(_, low)| low) & self.most()
    }

    /// What the number on the wire stands for: times `scale`, plus `add`.
    pub fn meant(&self, raw: u64) -> u64 {
        let scaled = raw.saturating_mul(self.scale.into());
        scaled.saturating_add_signed(self.add)
    }
}

fn read(layout: &Layout, index: usize, f: &Field) -> Option<Read> {
    let to = match f.role {
        Role::StreamId => To::Stream,
        Role::Part => To::Part,
        Role::FrameSeq | Role::PacketSeq if layout.sequence.is_some_and(|s| s.field == index) => To::Sequence,
        Role::PacketIndex => To::Index(f.base),
        Role::PacketCount => To::Count,
        Role::ByteOffset => To::Offset,
        Role::PayloadLen => To::Length,
        Role::FrameLen => To::Frame,
        Role::HeaderLen => To::Header,
        Role::TimestampUs => To::Time,
        Role::LastPacket => To::Mark(Marks::PUSH),
        Role::FirstPacket => To::Mark(Marks::FIRST),
        Role::Repeat => To::Mark(Marks::REPEAT),
        Role::Terminated => To::Mark(Marks::TERMINATED),
        Role::TimeValid => To::Mark(Marks::TIMED),
        _ => return None,
    };
    Some(Read {
        at: f.at,
        size: u8::try_from(f.size).unwrap_or(8),
        little: f.order == ByteOrder::Little,
        shift: f.bits.map_or(0, |(_, low)| low),
        mask: f.most(),
        to,
        field: u8::try_from(index).unwrap_or(u8::MAX),
    })
}

/// A loaded layout as a value that can be copied, compared and hashed: each loading is one of its own.
#[derive(Clone, Copy)]
pub struct LayoutId(pub(crate) &'static Table);

impl LayoutId {
    /// The compiled table.
    pub fn table(self) -> &'static Table {
        self.0
    }

    /// `layout:NAME`.
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

impl fmt::Debug for LayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl PartialEq for LayoutId {
    // The same table is nearly always the same place: no octet has to be looked at.
    #[inline]
    fn eq(&self, other: &LayoutId) -> bool {
        std::ptr::eq(self.0, other.0) || self.0.name == other.0.name
    }
}

impl Eq for LayoutId {}

impl PartialOrd for LayoutId {
    fn partial_cmp(&self, other: &LayoutId) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LayoutId {
    fn cmp(&self, other: &LayoutId) -> std::cmp::Ordering {
        self.0.name.cmp(other.0.name)
    }
}

impl Hash for LayoutId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}
