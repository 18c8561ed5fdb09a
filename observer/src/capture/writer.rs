//! Writes pcapng: little-endian, one section, nanosecond stamps, comments on records, drop counts.

use super::evidence;
use super::pcapng::{ENHANCED, FRAME, INTERFACE, SECTION, STATISTICS, option};
use super::record::{LinkType, RECORD_MAX, Record};
use std::io::{self, Write};
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::HostDrops;

/// Name in the section header.
const APPLICATION: &[u8] = b"wireproof";
/// The longest option value, as a multiple of 4.
const OPTION_MAX: usize = 65_532;

/// A pcapng file being written. Each block is one `write_all`; give it a buffered writer.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    /// The interfaces described so far; the index is the interface number.
    interfaces: Vec<(LinkType, u32)>,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file with its section header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = PcapngWriter { out, interfaces: Vec::new(), block: Vec::new() };
        writer.begin(SECTION);
        writer.words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]);
        writer.option(option::APPLICATION, APPLICATION);
        writer.end()?;
        Ok(writer)
    }

    /// The number of the interface with this link type and snap length (octets, 0 is unlimited); describes it in
    /// the file when it is new.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn interface(&mut self, link_type: LinkType, snap_length: u32) -> io::Result<u32> {
        let known = self.interfaces.iter().position(|interface| *interface == (link_type, snap_length));
        let number = known.unwrap_or(self.interfaces.len());
        if known.is_none() {
            self.begin(INTERFACE);
            self.words(&[u32::from(link_type.0), snap_length]);
            self.option(option::RESOLUTION, &[9]);
            self.end()?;
            self.interfaces.push((link_type, snap_length));
        }
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Writes a record with its own stamp, lengths and link type. `comment` replaces the record's comment.
    ///
    /// # Errors
    /// Those of the writer; `InvalidInput` for a record over [`RECORD_MAX`] octets.
    pub fn record(&mut self, record: &Record<'_>, comment: Option<&str>) -> io::Result<()> {
        let interface = self.interface(record.link_type, record.snap_length)?;
        let comment = comment.or(record.comment);
        self.captured(interface, record.at, record.data, record.original_length, comment)
    }

    /// Writes octets captured on an interface. A stamp before 1970 is written as 1970.
    ///
    /// # Errors
    /// Those of the writer; `InvalidInput` for more than [`RECORD_MAX`] octets.
    pub fn captured(
        &mut self,
        interface: u32,
        at: Timestamp,
        data: &[u8],
        original_length: u32,
        comment: Option<&str>,
    ) -> io::Result<()> {
        if data.len() > RECORD_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a record holds 262,144 octets at most"));
        }
        let (high, low) = halves(at);
        self.begin(ENHANCED);
        self.words(&[interface, high, low, u32::try_from(data.len()).unwrap_or(u32::MAX), original_length]);
        self.padded(data);
        if let Some(comment) = comment {
            self.option(option::COMMENT, comment_octets(comment));
        }
        self.end()
    }

    /// Writes what an interface received and dropped from the start of the capture to `at`. Two of them around an
    /// episode bound its drops in time.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn statistics(
        &mut self,
        interface: u32,
        at: Timestamp,
        received: u64,
        dropped: u64,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let (high, low) = halves(at);
        self.begin(STATISTICS);
        self.words(&[interface, high, low]);
        if let Some(comment) = comment {
            self.option(option::COMMENT, comment_octets(comment));
        }
        self.option(option::RECEIVED, &received.to_le_bytes());
        self.option(option::INTERFACE_DROPS, &dropped.to_le_bytes());
        self.end()
    }

    /// Writes what a counter of the observing host said (see [`super::drops_comment`]).
    ///
    /// # Errors
    /// Those of the writer.
    pub fn evidence(&mut self, interface: u32, drops: &HostDrops) -> io::Result<()> {
        self.remark(interface, drops.to, &evidence::comment(drops))
    }

    /// Writes when capturing on an interface ended, when it began where that is known, and how many records it delivered
    /// (pcapng draft, section 4.6): streams may have fallen silent with no record after them to show it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn ended(
        &mut self,
        interface: u32,
        (began, ended): (Option<Timestamp>, Timestamp),
        delivered: u64,
    ) -> io::Result<()> {
        let (high, low) = halves(ended);
        self.begin(STATISTICS);
        self.words(&[interface, high, low]);
        for (code, at) in [(option::START, began), (option::END, Some(ended))] {
            let Some((high, low)) = at.map(halves) else { continue };
            self.option(code, [high.to_le_bytes(), low.to_le_bytes()].as_flattened());
        }
        self.option(option::DELIVERED, &delivered.to_le_bytes());
        self.end()
    }

    /// Writes a comment about an interface at a time.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn remark(&mut self, interface: u32, at: Timestamp, comment: &str) -> io::Result<()> {
        let (high, low) = halves(at);
        self.begin(STATISTICS);
        self.words(&[interface, high, low]);
        self.option(option::COMMENT, comment_octets(comment));
        self.end()
    }

    /// Hands everything written so far to the operating system.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Where it writes to.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Flushes and hands the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.words(&[kind, 0]);
    }

    /// Closes the options, sets both lengths and writes the block.
    fn end(&mut self) -> io::Result<()> {
        self.words(&[0]);
        let length = u32::try_from(self.block.len() + 4).unwrap_or(u32::MAX);
        self.words(&[length]);
        if let Some(field) = self.block.get_mut(4..8) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        debug_assert!(self.block.len() >= FRAME && self.block.len().is_multiple_of(4));
        self.out.write_all(&self.block)
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn padded(&mut self, octets: &[u8]) {
        self.block.extend_from_slice(octets);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.words(&[u32::from(code) | u32::from(length) << 16]);
        self.padded(value);
    }
}

/// As much of a comment as an option holds, cut between characters.
fn comment_octets(comment: &str) -> &[u8] {
    &comment.as_bytes()[..comment.floor_char_boundary(OPTION_MAX)]
}

fn halves(at: Timestamp) -> (u32, u32) {
    let ns = u64::try_from(at.0).unwrap_or(0);
    ((ns >> 32) as u32, ns as u32)
}
