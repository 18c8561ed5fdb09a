//! Runs of the block that nearly all blocks of a pcapng file are: an enhanced packet without options. Read at fixed
//! offsets, in one loop; whatever differs in anything is left to [`super::pcapng`].

use super::clock::Clock;
use super::octets::Endian;
use super::pcapng::ENHANCED;
use super::record::{LinkType, RECORD_MAX, Record, Walker};
use super::wide;
use wireproof_protocols::Timestamp;

/// Octets of a block before its data: type, length, interface, two halves of a stamp, two lengths.
const HEAD: usize = 28;
/// Octets behind the data and its padding: the length again.
const TRAILER: usize = 4;

/// What the blocks of a run have in common.
pub(super) struct Run {
    /// Byte order of the section.
    pub(super) endian: Endian,
    /// Number of the interface within its section.
    pub(super) interface: u32,
    /// How stamps of the interface count.
    pub(super) clock: Clock,
    /// Link type of the interface.
    pub(super) link_type: LinkType,
    /// Snap length of the interface in octets.
    pub(super) snap_length: u32,
}

/// What a run was.
pub(super) struct Ran {
    /// Octets of its blocks.
    pub(super) octets: usize,
    /// Records.
    pub(super) records: u64,
    /// Stamps of the first and the last one; `None` without any.
    pub(super) stamps: Option<(Timestamp, Timestamp)>,
}

/// One block.
struct Block<'a> {
    interface: u32,
    stamp: (u32, u32),
    original: u32,
    data: &'a [u8],
    behind: &'a [u8],
}

impl Run {
    /// Hands over the records at the start of the view that are of this run; `before` are the records of the file until then.
    #[inline(always)]
    pub(super) fn records(&self, view: &[u8], before: u64, on: &mut impl Walker) -> Ran {
        let (mut number, mut left, mut stamps) = (before, view, None);
        while let Some(block) = Block::read(self.endian, left)
            && block.interface == self.interface
        {
            let at = self.clock.instant(block.stamp.0, block.stamp.1);
            // The block after the next one, should the next one be as long as this.
            let ahead = left.len() - block.behind.len();
            (0..3).for_each(|line| wide::expect(block.behind, ahead + line * 64));
            (number, left) = (number + 1, block.behind);
            stamps = Some((stamps.map_or(at, |(first, _)| first), at));
            on.record(&Record {
                number,
                at,
                link_type: self.link_type,
                interface: self.interface,
                snap_length: self.snap_length,
                data: block.data,
                original_length: block.original,
                comment: None,
            });
        }
        Ran { octets: view.len() - left.len(), records: number - before, stamps }
    }
}

impl<'a> Block<'a> {
    /// The enhanced packet without options that lies whole at the start of the view.
    #[inline(always)]
    fn read(endian: Endian, view: &'a [u8]) -> Option<Block<'a>> {
        let (head, _) = view.first_chunk::<HEAD>()?.as_chunks::<4>();
        let word = |octets: [u8; 4]| match endian {
            Endian::Little => u32::from_le_bytes(octets),
            Endian::Big => u32::from_be_bytes(octets),
        };
        let (length, captured) = (word(head[1]) as usize, word(head[5]) as usize);
        if word(head[0]) != ENHANCED
            || captured > RECORD_MAX
            || length != HEAD + captured.next_multiple_of(4) + TRAILER
        {
            return None;
        }
        let (block, behind) = view.split_at_checked(length)?;
        let (data, trailer) = (block.get(HEAD..HEAD + captured)?, block.last_chunk::<TRAILER>()?);
        (*trailer == head[1]).then(|| Block {
            interface: word(head[2]),
            stamp: (word(head[3]), word(head[4])),
            original: word(head[6]),
            data,
            behind,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::capture::read_records;
    use std::io::Read;

    /// One octet at a time, so that no view ever holds two blocks.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let most = out.len().min(1);
            self.0.read(&mut out[..most])
        }
    }

    struct Section {
        big: bool,
        octets: Vec<u8>,
    }

    impl Section {
        fn u32(&mut self, value: u32) {
            self.octets.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        }

        fn block(&mut self, kind: u32, words: &[u32], behind: &[u8]) {
            let length = 12 + 4 * words.len() as u32 + behind.len() as u32;
            [kind, length].iter().chain(words).for_each(|word| self.u32(*word));
            self.octets.extend(behind);
            self.u32(length);
        }

        /// Two interfaces with stamps of different units, and enhanced packets of every kind of length.
        fn new(big: bool) -> Section {
            let mut s = Section { big, octets: Vec::new() };
            s.block(0x0a0d_0d0a, &[0x1a2b_3c4d, if big { 0x0001_0000 } else { 1 }, !0, !0], &[]);
            let resolution = if big { [0, 9, 0, 1, 9, 0, 0, 0] } else { [9, 0, 1, 0, 9, 0, 0, 0] };
            let link = |kind: u32| if big { kind << 16 } else { kind };
            s.block(1, &[link(1), 0], &[]);
            s.block(1, &[link(113), 262_144], &resolution);
            s
        }

        fn packet(&mut self, number: u32, captured: usize, options: &[u8]) {
            let words =
                [u32::from(number % 7 > 4), 389, number * 999_983, captured as u32, captured as u32 + 3];
            let mut behind: Vec<u8> = (0..captured).map(|i| (i as u32 ^ number) as u8).collect();
            behind.resize(captured.next_multiple_of(4), 0);
            behind.extend(options);
            self.block(6, &words, &behind);
        }
    }

    fn read(input: impl Read) -> (Vec<String>, String) {
        let mut records = Vec::new();
        let report = read_records(input, &mut |record| records.push(format!("{record:?}"))).unwrap();
        (records, format!("{report:?}"))
    }

    fn sections() -> Vec<u8> {
        let comment = |big: bool| if big { *b"\0\x01\0\x02hi\0\0" } else { *b"\x01\0\x02\0hi\0\0" };
        let sections = [false, true, false].map(|big| {
            let mut s = Section::new(big);
            for number in 0..400 {
                let options = if number % 13 == 5 { comment(big).to_vec() } else { Vec::new() };
                s.packet(number, number as usize * 7 % 61, &options);
                if number % 50 == 49 {
                    s.block(3, &[8], &[number as u8; 8]);
                    s.block(0x0bad, &[number], &[]);
                }
            }
            s.octets
        });
        sections.concat()
    }

    #[test]
    fn blocks_in_runs_say_what_blocks_one_by_one_say() {
        let octets = sections();
        let (together, one_by_one) = (read(&octets[..]), read(Dribble(&octets)));
        assert_eq!(together.0.len(), 3 * (400 + 8));
        assert_eq!(together, one_by_one);
    }

    /// Whatever octet of three blocks is another, and wherever the file ends among them.
    #[test]
    fn damage_in_runs_is_told_as_it_is_one_by_one() {
        let mut s = Section::new(false);
        let start = s.octets.len();
        (0..3).for_each(|number| s.packet(number, 5 + number as usize, &[]));
        let mut damaged = 0;
        for at in start..s.octets.len() {
            for flip in [1, 4, 0x80, 0xff] {
                let mut octets = s.octets.clone();
                octets[at] ^= flip;
                let together = read(&octets[..]);
                damaged += u32::from(together.1.contains("damaged: Some"));
                assert_eq!(together, read(Dribble(&octets)), "octet {at} flipped by {flip:#x}");
            }
            assert_eq!(read(&s.octets[..at]), read(Dribble(&s.octets[..at])), "cut at {at}");
        }
        assert!(damaged > 100, "{damaged}");
    }
}
