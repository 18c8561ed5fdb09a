//! What stands behind a handle: first the tables, then a ring and at most one frame under way. Safe Rust, no clock.

use crate::error::Error;
use std::path::Path;
use wireproof_recorder::file::{self, Options, RingFile};
use wireproof_recorder::header::{Device, Identity, Protocol, ROWS, Stage, Tables};
use wireproof_recorder::layout::{Counter, DEFAULT_CAPACITY, NO_FRAME};
use wireproof_recorder::writer::Paused;
use wireproof_recorder::{Event, Kind};

/// Also on a file system that is not memory.
pub const ANY_FILE_SYSTEM: u32 = 1;
/// Pin the pages.
pub const LOCK_MEMORY: u32 = 2;

const NOT_OPEN: Error = Error::State("no ring yet: call wpr_open first");
const OPEN: Error = Error::State("the ring is open and its tables are fixed: set them before wpr_open");
const NO_FRAME_OPEN: Error = Error::State("no frame is under way: call wpr_begin first");

/// A handle's recorder.
#[derive(Debug)]
pub(crate) enum Recorder {
    /// No ring yet.
    Tables(Identity),
    /// A ring.
    Ring(Ring),
}

/// A ring and its frame.
#[derive(Debug)]
pub(crate) struct Ring {
    file: RingFile,
    frame: Option<Paused>,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder::Tables(Identity::default())
    }
}

impl Recorder {
    /// The tables, while they can be changed.
    pub(crate) fn identity(&mut self) -> Result<&mut Identity, Error> {
        match self {
            Recorder::Tables(identity) => Ok(identity),
            Recorder::Ring(_) => Err(OPEN),
        }
    }

    fn tables(&mut self) -> Result<&mut Tables, Error> {
        self.identity().map(|identity| &mut identity.tables)
    }

    pub(crate) fn add_stage(&mut self, stage: Stage) -> Result<(), Error> {
        let stages = &mut self.tables()?.stages;
        let taken = stages.iter().any(|other| other.id == stage.id);
        add(stages, stage, taken, ROWS[0], "64 stages are named, there is no room for more")
    }

    pub(crate) fn add_device(&mut self, device: Device) -> Result<(), Error> {
        let devices = &mut self.tables()?.devices;
        let taken = devices.iter().any(|other| other.id == device.id);
        add(devices, device, taken, ROWS[1], "16 devices are named, there is no room for more")
    }

    pub(crate) fn add_protocol(&mut self, protocol: Protocol) -> Result<(), Error> {
        let protocols = &mut self.tables()?.protocols;
        let taken = protocols.iter().any(|other| other.id == protocol.id);
        add(protocols, protocol, taken, ROWS[2], "8 protocols are named, there is no room for more")
    }

    /// Creates the ring file. The former one of that name is kept as `.prev`. After an error the tables are as before.
    pub(crate) fn open(&mut self, path: &Path, capacity: u64, wall_s: u64, flags: u32) -> Result<(), Error> {
        if flags & !(ANY_FILE_SYSTEM | LOCK_MEMORY) != 0 {
            return Err(Error::Argument("flags", "only WPR_ANY_FILE_SYSTEM and WPR_LOCK_MEMORY are known"));
        }
        let generation = wall_s.checked_mul(2).filter(|generation| *generation > 0);
        let wanted = "the time of day in seconds, not 0 and below 2^63";
        let generation = generation.ok_or(Error::Argument("wall_s", wanted))?;
        let options = Options {
            capacity: if capacity == 0 { DEFAULT_CAPACITY } else { capacity },
            generation,
            any_file_system: flags & ANY_FILE_SYSTEM != 0,
            lock_memory: flags & LOCK_MEMORY != 0,
        };
        let identity = file::this_process(self.identity()?.clone());
        let file = file::create(path, &identity, &options).map_err(Error::File)?;
        *self = Recorder::Ring(Ring { file, frame: None });
        Ok(())
    }

    /// The ring.
    #[inline]
    pub(crate) fn ring(&mut self) -> Result<&mut Ring, Error> {
        match self {
            Recorder::Ring(ring) => Ok(ring),
            Recorder::Tables(_) => Err(NOT_OPEN),
        }
    }
}

fn add<T>(rows: &mut Vec<T>, row: T, taken: bool, most: usize, full: &'static str) -> Result<(), Error> {
    if taken {
        return Err(Error::Argument("id", "is in the table already: give each its own"));
    }
    if rows.len() >= most {
        return Err(Error::Limit(full));
    }
    rows.push(row);
    Ok(())
}

impl Ring {
    pub(crate) fn begin(&mut self, id: u32) -> Result<(), Error> {
        if id == NO_FRAME {
            return Err(Error::Argument("frame_id", "0xFFFFFFFF stands for no frame: give another"));
        }
        if self.frame.is_some() {
            return Err(Error::State("a frame is under way: call wpr_complete or wpr_abandon first"));
        }
        self.frame = Some(self.file.writer.frame(id).pause());
        Ok(())
    }

    /// An event of the frame; its place.
    #[inline]
    pub(crate) fn record(&mut self, event: &Event) -> Result<u16, Error> {
        let frame = self.frame.take().ok_or(NO_FRAME_OPEN)?;
        let mut batch = self.file.writer.resume(frame);
        let place = batch.event(event);
        self.frame = Some(batch.pause());
        place.ok_or(Error::Dropped)
    }

    /// An event of no frame: published at once, or with the frame that is under way.
    pub(crate) fn unframed(&mut self, event: &Event) -> Result<(), Error> {
        let before = self.file.writer.position();
        match self.frame.take() {
            None => self.file.writer.event(event),
            Some(frame) => {
                let mut batch = self.file.writer.resume(frame);
                batch.loose(event);
                self.frame = Some(batch.pause());
            }
        }
        if self.file.writer.position() == before { Err(Error::Dropped) } else { Ok(()) }
    }

    pub(crate) fn complete(&mut self, start_ns: u64, end_ns: u64) -> Result<(), Error> {
        let frame = self.frame.take().ok_or(NO_FRAME_OPEN)?;
        self.file.writer.resume(frame).complete(start_ns, end_ns);
        Ok(())
    }

    pub(crate) fn abandon(&mut self) -> Result<(), Error> {
        let frame = self.frame.take().ok_or(NO_FRAME_OPEN)?;
        drop(self.file.writer.resume(frame));
        Ok(())
    }

    pub(crate) fn anchor(&mut self, monotonic_ns: u64, wall_ns: u64) -> Result<(), Error> {
        let at = Event::span(0, monotonic_ns, monotonic_ns);
        self.unframed(&Event { kind: Kind::Anchor, aux: wall_ns, ..at })
    }

    pub(crate) fn set_enabled(&mut self, enabled: bool) {
        self.file.writer.set_enabled(enabled);
    }

    pub(crate) fn count(&mut self, counter: Counter, more: u64) {
        self.file.writer.count(counter, more);
    }

    pub(crate) fn heartbeat(&mut self, monotonic_ns: u64) {
        self.file.writer.heartbeat(monotonic_ns);
    }
}

impl Drop for Ring {
    /// A frame under way is given up, and counted.
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            drop(self.file.writer.resume(frame));
        }
    }
}
