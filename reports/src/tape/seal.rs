//! Header and seals: blocks of records with a CRC each, and the record that says that a tape ended as it should.

use super::slot::{BLOCK_SLOTS, BYTE_ORDER, HEAD, MAGIC, SLOT, Slot, VERSION, map, seal};
use super::table::tagged;
use wireproof_protocols::Timestamp;

/// What the last record of a tape says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Datagrams on the tape.
    pub datagrams: u64,
    /// Datagrams left out for want of room or of a working disk.
    pub left_out: u64,
    /// The stamps are no finer than microseconds.
    pub microseconds: bool,
    /// When the run ended, where it is known: streams may have fallen silent with nothing after them to show it.
    pub ended: Option<Timestamp>,
}

/// Puts records into sealed blocks.
#[derive(Debug, Default)]
pub struct Sealer {
    records: u64,
}

impl Sealer {
    /// The header of a tape that begins at `start_ns`.
    pub fn header(start_ns: i64) -> Vec<u8> {
        let text = map();
        let length = (HEAD + text.len()).next_multiple_of(SLOT);
        let number = |n: usize| u32::try_from(n).unwrap_or(0).to_le_bytes();
        let mut header = Vec::with_capacity(length);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(SLOT as u16).to_le_bytes());
        header.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        header.extend_from_slice(&number(length));
        header.extend_from_slice(&number(BLOCK_SLOTS));
        header.extend_from_slice(&start_ns.to_le_bytes());
        header.extend_from_slice(&number(text.len()));
        header.resize(HEAD, 0);
        header.extend_from_slice(text.as_bytes());
        header.resize(length, b'\n');
        let crc = crc32fast::hash(&header).to_le_bytes();
        header[HEAD - 4..HEAD].copy_from_slice(&crc);
        header
    }

    /// Appends whole records as sealed blocks.
    pub fn seal(&mut self, slots: &[u8], out: &mut Vec<u8>) {
        for block in slots.as_chunks::<SLOT>().0.chunks(BLOCK_SLOTS - 1) {
            self.records += block.len() as u64;
            let octets = block.as_flattened();
            out.extend_from_slice(octets);
            out.extend_from_slice(&self.sealed(octets, None));
        }
    }

    /// Appends the end.
    pub fn end(&mut self, totals: &Totals, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sealed(&[], Some(totals)));
    }

    fn sealed(&self, octets: &[u8], totals: Option<&Totals>) -> Slot {
        let mut slot = tagged([0; _], seal::TAG);
        seal::records.put(&mut slot, u32::try_from(octets.len() / SLOT).unwrap_or(0));
        seal::all_records.put(&mut slot, self.records);
        if let Some(totals) = totals {
            seal::end.put(&mut slot, 1);
            seal::microseconds.put(&mut slot, u8::from(totals.microseconds));
            seal::datagrams.put(&mut slot, totals.datagrams);
            seal::left_out.put(&mut slot, totals.left_out);
            seal::ended_ns.put(&mut slot, totals.ended.map_or(0, |at| at.0));
        }
        let crc = crc(octets, &slot);
        seal::crc.put(&mut slot, crc);
        slot
    }
}

/// CRC over a block and its seal, whose own CRC counts as 0.
pub(super) fn crc(octets: &[u8], slot: &Slot) -> u32 {
    let mut slot = *slot;
    seal::crc.put(&mut slot, 0);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(octets);
    hasher.update(&slot);
    hasher.finalize()
}
