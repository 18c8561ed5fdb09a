//! Layout v2 octet by octet: where each field of header, stamp and record lies. Holds no state and does no I/O.

/// Octets of the header.
pub const HEADER_BYTES: usize = 4096;
/// Octets of a record.
pub const RECORD_BYTES: usize = 48;
/// Octets of a record in front of its commit word; what checksums cover.
pub const PAYLOAD_BYTES: usize = 40;
/// Words of a record in front of its commit word.
pub const PAYLOAD_WORDS: usize = 5;
/// Words of the header.
pub const HEADER_WORDS: usize = HEADER_BYTES / 8;
/// Words of a record.
pub const RECORD_WORDS: usize = RECORD_BYTES / 8;
/// Records of the field's ring: 36.8 s at 3,558 records a second.
pub const DEFAULT_CAPACITY: u64 = 131_072;
/// Largest capacity that is read or written.
pub const MAX_CAPACITY: u64 = 1 << 24;
/// Records that are claimed at once.
pub const CLAIM_WINDOW: u64 = 64;

/// First eight octets of a ring.
pub const MAGIC: [u8; 8] = *b"FRMRING2";
/// First eight octets of the stamp of a copy.
pub const STAMP_MAGIC: [u8; 8] = *b"FRSTAMP2";
/// Version that is read and written.
pub const MAJOR: u16 = 2;
/// Reads as this number in the byte order of the ring.
pub const BYTE_ORDER: u64 = 0x0102_0304_0506_0708;
/// Octet ranges of the header that never change within a generation, covered by [`STATIC_CRC`].
pub const STATIC_RANGES: [(usize, usize); 4] =
    [(0x000, 0x038), (0x048, 0x070), (0x080, 0x0A8), (0x400, 0x1000)];

/// `u16` major, `u16` minor, `u32` header size.
pub const VERSION: usize = 0x008;
/// `u32` record size, `u32` claim window.
pub const RECORD_SIZE: usize = 0x010;
/// `u64` capacity in records.
pub const CAPACITY: usize = 0x018;
/// `u64` file size in octets.
pub const FILE_SIZE: usize = 0x020;
/// `u64` [`BYTE_ORDER`].
pub const ENDIAN: usize = 0x028;
/// Three `u16`: stages, devices, protocols.
pub const TABLE_COUNTS: usize = 0x030;
/// `u32` CRC-32C of [`STATIC_RANGES`].
pub const STATIC_CRC: usize = 0x038;
/// `u64` generation: odd while (re)initialised, even when live.
pub const GENERATION: usize = 0x040;
/// 16 octets boot id.
pub const BOOT_ID: usize = 0x048;
/// `u32` process id, `u32` user id.
pub const PROCESS: usize = 0x058;
/// `u64` start of the process, clock ticks since boot.
pub const PROCESS_START: usize = 0x060;
/// `u64` frame period, ns.
pub const PERIOD: usize = 0x068;
/// `u32` clock id, `u32` clock id of Perfetto.
pub const CLOCKS: usize = 0x080;
/// Four `u64`: anchor monotonic ns, anchor wall ns, spread ns, BOOTTIME - MONOTONIC ns.
pub const ANCHOR: usize = 0x088;
/// `u64`: ordinals below this may be in writing. On a cache line of its own.
pub const CLAIMED: usize = 0x100;
/// `u64` sequence lock of the published block: odd while it is written.
pub const PUB_SEQ: usize = 0x140;
/// `u64`: ordinals below this are published.
pub const VISIBLE: usize = 0x148;
/// `u64` id of the last published frame.
pub const LAST_FRAME: usize = 0x150;
/// `u64` frames published.
pub const FRAMES_PUBLISHED: usize = 0x158;
/// `u64` end of the last published frame, ns.
pub const LAST_FRAME_END: usize = 0x160;
/// Eight `u64` counters, in the order of [`Counter`].
pub const COUNTERS: usize = 0x180;
/// `u64` state: 1 live, 2 closed, 3 superseded.
pub const STATE: usize = 0x1C0;
/// `u64`: 0 while recording is switched off.
pub const ENABLED: usize = 0x1C8;
/// The stamp of a copy.
pub const STAMP: usize = 0x200;
/// `u64` when the copy was begun, CLOCK_MONOTONIC, ns, in the stamp.
pub const STAMP_START: usize = 0x230;
/// `u64` number of the copy, in the stamp.
pub const STAMP_SNAPSHOT: usize = 0x248;
/// `u32` CRC-32C of everything behind the header, in the stamp.
pub const STAMP_BODY_CRC: usize = 0x258;
/// `u32` CRC-32C of the stamp up to here.
pub const STAMP_CRC: usize = 0x25C;
/// Stages: 64 rows of 32 octets.
pub const STAGES: usize = 0x400;
/// Devices: 16 rows of 48 octets.
pub const DEVICES: usize = 0xC00;
/// Protocols: 8 rows of 16 octets.
pub const PROTOCOLS: usize = 0xF00;

/// Values of the state word.
pub mod state {
    /// A writer is at work.
    pub const LIVE: u64 = 1;
    /// The writer has ended.
    pub const CLOSED: u64 = 2;
    /// Another file has taken this one's name.
    pub const SUPERSEDED: u64 = 3;
}

/// Counters of the header, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Events dropped because their batch was full.
    EventsDropped = 0,
    /// Frames given up before they were complete.
    FramesAbandoned,
    /// Events that came while recording was switched off.
    EventsDisabled,
    /// Deadlines missed.
    DeadlineMisses,
    /// Frames of 20 ms and more.
    SlowFrames,
    /// Lines of the slow-frame log that were held back.
    SlowLogsSuppressed,
    /// Steps of the wall clock.
    ClockSteps,
    /// Monotonic time of the writer's last sign of life, ns.
    Heartbeat,
}

impl Counter {
    /// Octet of the counter in the header.
    pub const fn offset(self) -> usize {
        COUNTERS + 8 * self as usize
    }
}

/// `frame_id` of records that belong to no frame.
pub const NO_FRAME: u32 = u32::MAX;
/// `device_id` of records that belong to no device.
pub const NO_DEVICE: u16 = u16::MAX;
/// `parent` of records without one.
pub const NO_PARENT: u16 = u16::MAX;
/// Flag of `frame_complete`: the batch lost events to its limit.
pub const FLAG_TRUNCATED: u16 = 1;

/// Commit words with this bit announce a record that is not there yet.
pub const PENDING: u64 = 1 << 63;
const ORDINAL_BITS: u32 = 48;
/// Ordinals stay below this.
pub const ORDINAL_LIMIT: u64 = 1 << ORDINAL_BITS;

/// The upper 16 bits of a generation's commit words: 15 bits of salt, pending bit clear.
pub const fn salt(generation: u64) -> u64 {
    (generation >> 1) & 0x7FFF
}

/// The commit word of an ordinal in a generation.
pub const fn commit(generation: u64, ordinal: u64) -> u64 {
    salt(generation) << ORDINAL_BITS | ((ordinal + 1) & (ORDINAL_LIMIT - 1))
}

/// Why a commit word is not the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    /// Announced and not written.
    Pending,
    /// Another ordinal of this generation.
    Stale,
    /// Another generation.
    Foreign,
    /// Never written.
    Empty,
}

/// Judges a commit word that differs from [`commit`].
pub const fn uncommitted(word: u64, generation: u64) -> Uncommitted {
    if word & PENDING != 0 {
        Uncommitted::Pending
    } else if word == 0 {
        Uncommitted::Empty
    } else if word >> ORDINAL_BITS != salt(generation) {
        Uncommitted::Foreign
    } else {
        Uncommitted::Stale
    }
}

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Work with a start and an end; aux is a count (datagrams, octets).
    Span = 1,
    /// The frame is whole; aux holds its number of records and their checksum.
    FrameComplete = 2,
    /// Why the frame was made; aux is the source id, flags the class.
    Cause = 3,
    /// Start is the deadline, end the actual end, aux the overrun in ns.
    DeadlineMiss = 4,
    /// aux counts drops.
    Drops = 5,
    /// Start = end = monotonic, aux = wall time, ns.
    Anchor = 6,
    /// A sampled counter.
    Counter = 7,
    /// A mark set by hand.
    Mark = 8,
    /// Frames left out on purpose: first id << 32 | count.
    Skipped = 9,
    /// A change of state.
    State = 10,
}

impl Kind {
    /// The kind of a record's octet 25; `None` for one that layout 2.0 does not know.
    pub const fn from_u8(octet: u8) -> Option<Kind> {
        Some(match octet {
            1 => Kind::Span,
            2 => Kind::FrameComplete,
            3 => Kind::Cause,
            4 => Kind::DeadlineMiss,
            5 => Kind::Drops,
            6 => Kind::Anchor,
            7 => Kind::Counter,
            8 => Kind::Mark,
            9 => Kind::Skipped,
            10 => Kind::State,
            _ => return None,
        })
    }
}

/// The first five words of a record, in the ring's own order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Place in the ring's endless sequence; not stored, the commit word proves it.
    pub ordinal: u64,
    /// The words at octets 0, 8, 16, 24 and 32.
    pub words: [u64; PAYLOAD_WORDS],
}

impl Record {
    /// CLOCK_MONOTONIC, ns.
    pub const fn start_ns(&self) -> u64 {
        self.words[0]
    }

    /// CLOCK_MONOTONIC, ns; the start for instants.
    pub const fn end_ns(&self) -> u64 {
        self.words[1]
    }

    /// Frame, or [`NO_FRAME`].
    pub const fn frame(&self) -> u32 {
        self.words[2] as u32
    }

    /// Stage, a key of the header's table.
    pub const fn stage(&self) -> u16 {
        (self.words[2] >> 32) as u16
    }

    /// Device, or [`NO_DEVICE`].
    pub const fn device(&self) -> u16 {
        (self.words[2] >> 48) as u16
    }

    /// Protocol; 0 for none.
    pub const fn protocol(&self) -> u8 {
        self.words[3] as u8
    }

    /// The octet behind [`Kind`].
    pub const fn kind_octet(&self) -> u8 {
        (self.words[3] >> 8) as u8
    }

    /// What the record tells; `None` for a kind that layout 2.0 does not know.
    pub const fn kind(&self) -> Option<Kind> {
        Kind::from_u8(self.kind_octet())
    }

    /// Bits by kind.
    pub const fn flags(&self) -> u16 {
        (self.words[3] >> 16) as u16
    }

    /// Place in the frame, from 0.
    pub const fn seq(&self) -> u16 {
        (self.words[3] >> 32) as u16
    }

    /// `seq` of the span around it, or [`NO_PARENT`].
    pub const fn parent(&self) -> u16 {
        (self.words[3] >> 48) as u16
    }

    /// A value by kind.
    pub const fn aux(&self) -> u64 {
        self.words[4]
    }

    /// The octets that checksums cover.
    pub fn payload(&self) -> [u8; PAYLOAD_BYTES] {
        let mut octets = [0; PAYLOAD_BYTES];
        for (place, word) in octets.chunks_exact_mut(8).zip(self.words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        octets
    }
}

/// Octets of a ring file with this capacity.
pub const fn file_bytes(capacity: u64) -> u64 {
    HEADER_BYTES as u64 + RECORD_BYTES as u64 * capacity
}

/// Word index of a header field.
pub const fn word(octet: usize) -> usize {
    octet / 8
}

/// Word index of the first word of an ordinal's slot; the capacity is a power of two.
pub const fn slot(ordinal: u64, capacity: u64) -> usize {
    HEADER_WORDS + (ordinal & (capacity - 1)) as usize * RECORD_WORDS
}

/// Reads a little-endian `u64`; 0 past the end.
pub fn u64_at(octets: &[u8], at: usize) -> u64 {
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// Reads a little-endian `u32`; 0 past the end.
pub fn u32_at(octets: &[u8], at: usize) -> u32 {
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

/// Reads a little-endian `u16`; 0 past the end.
pub fn u16_at(octets: &[u8], at: usize) -> u16 {
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u16::from_le_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_s_ring_has_6_295_552_octets() {
        assert_eq!(file_bytes(DEFAULT_CAPACITY), 6_295_552);
    }

    #[test]
    fn a_commit_word_names_generation_and_ordinal() {
        assert_eq!(commit(0x66AA_0002, 0), 0x0001 << 48 | 1);
        assert_eq!(commit(0x66AA_0004, 41), 0x0002 << 48 | 42);
        assert_eq!(uncommitted(PENDING | commit(4, 7), 4), Uncommitted::Pending);
        assert_eq!(uncommitted(0, 4), Uncommitted::Empty);
        assert_eq!(uncommitted(commit(6, 7), 4), Uncommitted::Foreign);
        assert_eq!(uncommitted(commit(4, 6), 4), Uncommitted::Stale);
    }

    #[test]
    fn commit_words_of_every_slot_are_aligned() {
        for ordinal in 0..DEFAULT_CAPACITY {
            let octet = slot(ordinal, DEFAULT_CAPACITY) * 8 + PAYLOAD_BYTES;
            assert_eq!(octet % 8, 0);
            assert_eq!(octet, HEADER_BYTES + ordinal as usize * RECORD_BYTES + 40);
        }
    }

    #[test]
    fn fields_past_the_end_read_as_zero() {
        assert_eq!((u64_at(&[1; 7], 0), u32_at(&[1; 7], 5), u16_at(&[], usize::MAX)), (0, 0, 0));
    }
}
