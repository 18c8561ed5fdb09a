//! The writing thread: blocks in, pcapng files out, one after another when they are to be rotated.

use super::{RecordFeed, entry};
use crate::capture::{LinkType, PcapngWriter, Record};
use crate::live::handover::{BLOCK, Blocks, handover};
use crate::outfile;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wireproof_protocols::Timestamp;

/// When the next file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// After this many octets.
    Bytes(u64),
    /// After this long.
    Time(Duration),
}

/// What to write.
#[derive(Clone, Debug, Default)]
pub struct RecordPlan {
    /// The file; rotated ones get a number before the extension, the first one too.
    pub path: PathBuf,
    /// `None`: one file.
    pub rotation: Option<Rotation>,
    /// Rotated files kept; the oldest one goes when there are more. 0 keeps all.
    pub keep: usize,
    /// Octets kept of each record from the start of its link header, its length on the wire beside them; 0 keeps all.
    pub snap: u32,
    /// Octets that stay free on the disk: the writing ends before it takes them. 0 for a disk that may fill up.
    pub min_free: u64,
}

/// What was written.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Files that are there.
    pub files: Vec<PathBuf>,
    /// Records written.
    pub records: u64,
    /// Records that came after the disk failed.
    pub unwritten: u64,
    /// What the operating system said.
    pub failed: Option<io::Error>,
    /// Who read the pipe left, which is how a capture into a pipe ends: nothing after that is missing anywhere.
    pub left: bool,
}

/// The writing thread.
pub struct Writing {
    thread: JoinHandle<Recorded>,
}

impl Writing {
    /// Opens the first file and starts the thread.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn start(plan: RecordPlan) -> io::Result<(Writing, RecordFeed)> {
        let (handover, blocks) = handover();
        let snap = plan.snap;
        is_free(&plan)?;
        let mut files = Files::new(plan);
        files.open()?;
        let thread =
            std::thread::Builder::new().name("record".to_owned()).spawn(move || write_all(files, &blocks))?;
        Ok((Writing { thread }, RecordFeed::new(handover, snap)))
    }

    /// Waits until everything is written. The feed has to be finished before.
    pub fn join(self) -> Recorded {
        self.thread.join().unwrap_or_else(|_| Recorded {
            failed: Some(io::Error::other("the writing thread ended too early")),
            ..Recorded::default()
        })
    }
}

fn write_all(mut files: Files, blocks: &Blocks) -> Recorded {
    blocks.each(|block| files.block(block));
    files.close()
}

/// Counts octets, so that a file can be cut back to its last whole block.
struct Counted {
    file: File,
    buffer: Vec<u8>,
    written: u64,
    /// Writes that went well.
    writes: u64,
}

/// Octets gathered before they are written.
const GATHERED: usize = 256 << 10;

impl Write for Counted {
    /// Called once for each pcapng block: the buffer always ends with a whole one.
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + octets.len() > GATHERED {
            self.flush()?;
        }
        self.buffer.extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.file.write_all(&self.buffer);
        if outcome.is_ok() {
            self.written += self.buffer.len() as u64;
            self.writes += 1;
            self.buffer.clear();
            return Ok(());
        }
        // Half a block at the end would be damage: back to the last whole write.
        let _ = self.file.set_len(self.written).and_then(|()| self.file.seek(io::SeekFrom::End(0)));
        self.buffer.clear();
        outcome
    }
}

struct Files {
    plan: RecordPlan,
    writer: Option<PcapngWriter<Counted>>,
    number: u32,
    began: Instant,
    octets: u64,
    done: Recorded,
    /// Writes of the file so far, and records that came after the last one.
    gathered: (u64, u64),
    /// Octets, link type, stamp and length of a record whose comments may follow.
    held: Option<(u32, i64, u32, Vec<u8>)>,
    notes: Vec<String>,
    /// Link type of the records; drop evidence belongs to an interface of that type, as libpcap reads no file with two.
    link_type: Option<LinkType>,
    /// Drop evidence from before the first record, whose link type is not known yet.
    early: Vec<(Timestamp, String)>,
    /// When capturing into this file began and ended, as far as it is known.
    span: (Option<Timestamp>, Option<Timestamp>),
    /// Records of this file.
    delivered: u64,
}

/// Drop evidence kept for the first record; with more of it the file begins without one.
const EARLY: usize = 256;

impl Files {
    fn new(plan: RecordPlan) -> Self {
        Files {
            plan,
            writer: None,
            number: 0,
            began: Instant::now(),
            octets: 0,
            done: Recorded::default(),
            gathered: (0, 0),
            held: None,
            notes: Vec::new(),
            link_type: None,
            early: Vec::new(),
            span: (None, None),
            delivered: 0,
        }
    }

    fn open(&mut self) -> io::Result<()> {
        self.number += 1;
        let path = match self.plan.rotation {
            Some(_) => numbered(&self.plan.path, self.number),
            None => self.plan.path.clone(),
        };
        let file = outfile::create(&path)?;
        let is_pipe = file.metadata()?.file_type().is_fifo();
        self.done.files.push(path);
        let counted = Counted { file, buffer: Vec::with_capacity(GATHERED), written: 0, writes: 0 };
        let mut writer = PcapngWriter::new(counted)?;
        // Who reads along from a pipe learns at once that this is a capture. A disk that is full ends the writing later.
        if is_pipe {
            writer.flush()?;
        }
        (self.began, self.octets) = (Instant::now(), 0);
        self.gathered = (writer.get_ref().writes, 0);
        self.writer = Some(writer);
        self.discard_oldest();
        Ok(())
    }

    fn discard_oldest(&mut self) {
        while self.plan.keep > 0 && self.done.files.len() > self.plan.keep {
            let oldest = self.done.files.remove(0);
            // A file that cannot be removed only takes room.
            let _ = std::fs::remove_file(oldest);
        }
    }

    fn block(&mut self, block: &[u8]) {
        if !self.is_over()
            && let Err(error) = self.room()
        {
            // What was gathered had room when it came.
            let gathered = self.settle().and_then(|()| self.flush());
            self.failed(gathered.err().unwrap_or(error));
        }
        let mut rest = block;
        while let Some((kind, body, after)) = next(rest) {
            rest = after;
            if let Err(error) = self.entry(kind, body) {
                self.failed(error);
            }
        }
        if self.held.is_none() {
            return;
        }
        if let Err(error) = self.settle().and_then(|()| self.flush()) {
            self.failed(error);
        }
    }

    /// Asks for room before each block of memory, which is a megabyte at most.
    fn room(&self) -> io::Result<()> {
        let (Some(folder), 1..) = (self.plan.path.parent(), self.plan.min_free) else { return Ok(()) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let about = rustix::fs::statvfs(folder)?;
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        if free.saturating_sub(BLOCK as u64) >= self.plan.min_free {
            return Ok(());
        }
        let text = format!("{free} octets are free, {} have to stay so", self.plan.min_free);
        Err(io::Error::new(io::ErrorKind::StorageFull, text))
    }

    fn failed(&mut self, error: io::Error) {
        // What was only gathered is not in the file.
        let lost = std::mem::take(&mut self.gathered.1);
        self.done.records -= lost;
        self.writer = None;
        if error.kind() == io::ErrorKind::BrokenPipe {
            self.done.left = true;
            return;
        }
        self.done.unwritten += lost;
        self.done.failed.get_or_insert(error);
    }

    /// Nothing can be written any more.
    fn is_over(&self) -> bool {
        self.done.left || self.done.failed.is_some()
    }

    fn entry(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        if self.is_over() {
            self.done.unwritten += u64::from(kind == entry::OCTETS && !self.done.left);
            return Ok(());
        }
        match kind {
            entry::OCTETS => {
                self.settle()?;
                self.rotate(body.get(4..).and_then(stamp))?;
                self.hold(body);
            }
            entry::DROPS => {
                self.settle()?;
                let text = body.get(8..).and_then(|text| std::str::from_utf8(text).ok());
                if let (Some(at), Some(text)) = (stamp(body), text) {
                    self.evidence(at, text)?;
                }
            }
            entry::BEGAN => self.span.0 = stamp(body),
            entry::ENDED => self.span.1 = stamp(body),
            _ => self.notes.extend(std::str::from_utf8(body).map(str::to_owned)),
        }
        Ok(())
    }

    fn evidence(&mut self, at: Timestamp, text: &str) -> io::Result<()> {
        if self.link_type.is_none() && self.early.len() < EARLY {
            self.early.push((at, text.to_owned()));
            return Ok(());
        }
        let link_type = *self.link_type.get_or_insert(LinkType::RAW);
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let interface = writer.interface(link_type, self.plan.snap)?;
        writer.remark(interface, at, text)
    }

    /// The link type is known, or never will be: writes the evidence that waited for it.
    fn linked(&mut self, link_type: LinkType) -> io::Result<()> {
        self.link_type = Some(link_type);
        std::mem::take(&mut self.early).iter().try_for_each(|(at, text)| self.evidence(*at, text))
    }

    fn hold(&mut self, body: &[u8]) {
        let word =
            |at: usize| body.get(at..at + 4).and_then(|w| w.first_chunk()).map(|w| u32::from_le_bytes(*w));
        let stamp = body.get(4..).and_then(stamp);
        if let (Some(link), Some(at), Some(length), Some(octets)) = (word(0), stamp, word(12), body.get(16..))
        {
            self.held = Some((link, at.0, length, octets.to_vec()));
        }
    }

    /// Writes the record that was held back, with the findings that came with it.
    fn settle(&mut self) -> io::Result<()> {
        let Some((link, at, length, octets)) = self.held.take() else { return Ok(()) };
        let link_type = LinkType(u16::try_from(link).unwrap_or(0));
        if self.link_type.is_none() {
            self.linked(link_type)?;
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let comment = (!self.notes.is_empty()).then(|| self.notes.join("\n"));
        self.notes.clear();
        let record = Record {
            number: 0,
            at: Timestamp(at),
            link_type,
            interface: 0,
            snap_length: self.plan.snap,
            data: &octets,
            original_length: length,
            comment: None,
        };
        let outcome = writer.record(&record, comment.as_deref());
        let writes = writer.get_ref().writes;
        if writes != self.gathered.0 {
            self.gathered = (writes, 0);
        }
        self.gathered.1 += 1;
        self.octets += octets.len() as u64 + 36;
        self.done.records += 1;
        self.delivered += 1;
        outcome
    }

    /// Begins the next file before a record stamped `next` when it is time: until then this one was written.
    fn rotate(&mut self, next: Option<Timestamp>) -> io::Result<()> {
        let due = match self.plan.rotation {
            None => false,
            Some(Rotation::Bytes(most)) => self.octets >= most,
            Some(Rotation::Time(most)) => self.began.elapsed() >= most,
        };
        if due {
            self.span.1 = next;
            self.end()?;
            self.span = (next, None);
            if let Some(writer) = self.writer.take() {
                writer.finish()?;
            }
            self.open()?;
        }
        Ok(())
    }

    /// Writes when capturing into this file ended: what its last record does not show.
    fn end(&mut self) -> io::Result<()> {
        let (link_type, delivered) =
            (self.link_type.unwrap_or(LinkType::RAW), std::mem::take(&mut self.delivered));
        let (Some(writer), (began, Some(ended))) = (&mut self.writer, self.span) else { return Ok(()) };
        let interface = writer.interface(link_type, self.plan.snap)?;
        writer.ended(interface, (began, ended), delivered)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), PcapngWriter::flush)
    }

    fn close(mut self) -> Recorded {
        let settled = self.settle();
        let last = settled.and_then(|()| self.linked(self.link_type.unwrap_or(LinkType::RAW)));
        let closed = last.and_then(|()| self.end()).and_then(|()| match self.writer.take() {
            Some(writer) => writer.finish().and_then(|counted| synced(&counted.file)),
            None => Ok(()),
        });
        if let Err(error) = closed {
            self.failed(error);
        }
        self.done
    }
}

/// Waits until the disk has it; pipes and devices have no disk behind them.
fn synced(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        outcome => outcome,
    }
}

/// The stamp that octets begin with.
fn stamp(octets: &[u8]) -> Option<Timestamp> {
    octets.first_chunk().map(|stamp| Timestamp(i64::from_le_bytes(*stamp)))
}

/// The next entry of a block: kind, body, and what comes after.
fn next(block: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (kind, rest) = block.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    Some((*kind, rest.get(..length)?, rest.get(length..)?))
}

/// Refuses a series of rotated files while another process writes any of it: that one may be far ahead.
fn is_free(plan: &RecordPlan) -> io::Result<()> {
    if plan.rotation.is_none() {
        return Ok(());
    }
    let folder = plan.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let of_series = |path: &PathBuf| {
        let stem = path.file_stem().map(Path::new).and_then(Path::extension);
        let number = stem.and_then(|number| number.to_str()?.parse::<u32>().ok());
        number.is_some_and(|n| numbered(&plan.path, n).file_name() == path.file_name())
    };
    let busy =
        entries.flatten().map(|entry| entry.path()).filter(of_series).find(|path| outfile::is_busy(path));
    busy.map_or(Ok(()), |path| {
        let what = format!("another process is writing {}, give another name", path.display());
        Err(io::Error::new(io::ErrorKind::WouldBlock, what))
    })
}

/// `show.pcapng` as `show.0003.pcapng`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let extension = path.extension().map_or_else(|| "pcapng".into(), |e| e.to_string_lossy().into_owned());
    path.with_extension(format!("{number:04}.{extension}"))
}
