//! The parser of ring images, which nobody vouches for: bounded time and memory, no panic, a reason for each refusal.
//! Decides which records of an image count; `frames` puts them together.

use crate::crc;
use crate::frames::{self, Counts, Policy, Ring, Window};
use crate::header;
use crate::layout::{
    BYTE_ORDER, CAPACITY, CLAIMED, ENDIAN, FILE_SIZE, GENERATION, HEADER_BYTES, MAGIC, MAJOR, MAX_CAPACITY,
    ORDINAL_LIMIT, PAYLOAD_WORDS, RECORD_BYTES, RECORD_SIZE, Record, STAMP, STAMP_BODY_CRC, STAMP_CRC,
    STAMP_MAGIC, STATIC_CRC, STATIC_RANGES, Uncommitted, VERSION, VISIBLE, commit, file_bytes, slot, u16_at,
    u32_at, u64_at, uncommitted,
};

/// Why an image is refused; the name is the code of `ring verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Shorter than a header.
    #[error("Short")]
    Short,
    /// Not a ring of this layout.
    #[error("Magic")]
    Magic,
    /// A major version other than 2.
    #[error("Version")]
    Version,
    /// Sizes, capacity or byte order that are not layout 2's.
    #[error("Geometry")]
    Geometry,
    /// The file has another size than its header says.
    #[error("Size")]
    Size,
    /// Caught while its writer (re)initialised it, or never initialised.
    #[error("Initialising")]
    Initialising,
    /// The fixed part of the header is damaged.
    #[error("StaticCrc")]
    StaticCrc,
    /// The stamp of a copy is damaged.
    #[error("StampCrc")]
    StampCrc,
    /// The records of a stamped copy are damaged.
    #[error("BodyCrc")]
    BodyCrc,
    /// The writer restarted while the copy was made.
    #[error("GenerationChanged")]
    GenerationChanged,
    /// The positions contradict each other.
    #[error("Position")]
    Position,
    /// The writer overtook the copier: no record of the copy is certain.
    #[error("Lapped")]
    Lapped,
}

impl Refusal {
    /// What happened and what to do, in words.
    pub fn advice(self) -> &'static str {
        match self {
            Refusal::Short => "shorter than a ring's header: fetch it again",
            Refusal::Magic => {
                "not a ring of this layout: check the file, or name a field map for a legacy ring"
            }
            Refusal::Version => "a later layout: use a later wireproof",
            Refusal::Geometry => {
                "record size, capacity or byte order are not layout 2's: check where it was written"
            }
            Refusal::Size => "another size than its header says, cut short or grown: fetch it again",
            Refusal::Initialising => "caught while its writer initialised it: fetch it again",
            Refusal::StaticCrc => "the header is damaged: fetch it again",
            Refusal::StampCrc => "the stamp of the copy is damaged: fetch it again",
            Refusal::BodyCrc => "the records were damaged after they were copied: fetch it again",
            Refusal::GenerationChanged => "the writer restarted during the copy: fetch it again",
            Refusal::Position => "its positions contradict each other: it is damaged, fetch it again",
            Refusal::Lapped => "the writer overtook the copy: copy faster, or make the ring larger",
        }
    }
}

/// What an image claims, once its header is found to be in order.
struct Claims {
    capacity: u64,
    generation: u64,
    visible: u64,
    claimed: u64,
    stamped: bool,
}

/// Parses an image of layout 2.
///
/// # Errors
/// The reason why nothing of it can be believed.
pub fn parse(image: &[u8], policy: Policy) -> Result<Ring, Refusal> {
    let claims = claims(image)?;
    let lo = claims.claimed.saturating_sub(claims.capacity);
    if claims.visible > 0 && lo >= claims.visible {
        return Err(Refusal::Lapped);
    }
    let window = Window { lo, hi: claims.visible };
    let mut counts = Counts::default();
    let mut good = Vec::new();
    for ordinal in lo..claims.visible {
        match at(image, &claims, ordinal) {
            Ok(record) if record.kind().is_some() => good.push(record),
            Ok(_) => counts.bad_kind += 1,
            Err(why) => counts.count(why),
        }
    }
    let tail = (claims.visible.max(lo)..claims.claimed).filter(|o| at(image, &claims, *o).is_ok()).count();
    Ok(frames::assemble(&frames::Parts {
        version: 2,
        capacity: claims.capacity,
        generation: claims.generation,
        stamped: claims.stamped,
        window,
        drops: counts,
        records: &good,
        policy,
        sealed: true,
        unpublished_tail: tail as u64,
        tables: header::tables(image),
    }))
}

/// The record of an ordinal, if its commit word names it.
fn at(image: &[u8], claims: &Claims, ordinal: u64) -> Result<Record, Uncommitted> {
    let octet = slot(ordinal, claims.capacity) * 8;
    let octets = image.get(octet..octet + RECORD_BYTES).unwrap_or_default();
    let word = u64_at(octets, 8 * PAYLOAD_WORDS);
    if word != commit(claims.generation, ordinal) {
        return Err(uncommitted(word, claims.generation));
    }
    Ok(Record { ordinal, words: std::array::from_fn(|index| u64_at(octets, 8 * index)) })
}

fn claims(image: &[u8]) -> Result<Claims, Refusal> {
    if image.len() < HEADER_BYTES {
        return Err(Refusal::Short);
    }
    let capacity = geometry(image)?;
    let generation = u64_at(image, GENERATION);
    if generation & 1 == 1 || generation == 0 {
        return Err(Refusal::Initialising);
    }
    if static_crc(image) != u32_at(image, STATIC_CRC) {
        return Err(Refusal::StaticCrc);
    }
    let mut claims = Claims {
        capacity,
        generation,
        visible: u64_at(image, VISIBLE),
        claimed: u64_at(image, CLAIMED),
        stamped: image.get(STAMP..STAMP + 8) == Some(&STAMP_MAGIC),
    };
    if claims.stamped {
        stamp(image, &mut claims)?;
    }
    positions(&claims)?;
    Ok(claims)
}

/// Checks magic, version, geometry and size; the capacity.
fn geometry(image: &[u8]) -> Result<u64, Refusal> {
    if !image.starts_with(&MAGIC) {
        return Err(Refusal::Magic);
    }
    if u16_at(image, VERSION) != MAJOR {
        return Err(Refusal::Version);
    }
    let sizes = (u32_at(image, VERSION + 4) as usize, u32_at(image, RECORD_SIZE) as usize);
    let capacity = u64_at(image, CAPACITY);
    let fits = capacity.is_power_of_two() && capacity <= MAX_CAPACITY;
    if sizes != (HEADER_BYTES, RECORD_BYTES) || !fits || u64_at(image, ENDIAN) != BYTE_ORDER {
        return Err(Refusal::Geometry);
    }
    let expected = file_bytes(capacity);
    if image.len() as u64 != expected || u64_at(image, FILE_SIZE) != expected {
        return Err(Refusal::Size);
    }
    Ok(capacity)
}

/// Checksum of the header's fixed ranges.
pub(crate) fn static_crc(image: &[u8]) -> u32 {
    let range = |(from, to): &(usize, usize)| image.get(*from..*to).unwrap_or_default();
    STATIC_RANGES.iter().map(range).fold(0, crc::append)
}

/// Checks the stamp and takes the positions of the copy from it.
fn stamp(image: &[u8], claims: &mut Claims) -> Result<(), Refusal> {
    let part = |from: usize, to: usize| image.get(from..to).unwrap_or_default();
    if crc::append(0, part(STAMP, STAMP_CRC)) != u32_at(image, STAMP_CRC) {
        return Err(Refusal::StampCrc);
    }
    if crc::append(0, part(HEADER_BYTES, image.len())) != u32_at(image, STAMP_BODY_CRC) {
        return Err(Refusal::BodyCrc);
    }
    let [before, after] = [u64_at(image, STAMP + 8), u64_at(image, STAMP + 16)];
    if before != after || before != claims.generation {
        return Err(Refusal::GenerationChanged);
    }
    claims.visible = u64_at(image, STAMP + 24);
    claims.claimed = u64_at(image, STAMP + 40);
    Ok(())
}

/// Positions are checked before anything loops over them.
fn positions(claims: &Claims) -> Result<(), Refusal> {
    let ordered = claims.visible <= claims.claimed && claims.claimed < ORDINAL_LIMIT;
    if !ordered || (!claims.stamped && claims.claimed - claims.visible > claims.capacity) {
        return Err(Refusal::Position);
    }
    Ok(())
}
