//! An arm that is going: its folder, its wire, its counters, and what was noted of it so far.

use super::bundle::{read_rows, write_rows};
use super::causes::CAUSES;
use super::control::Fetch;
use super::counting::Counting;
use super::device::Device;
use super::hlog::{self, HLOG};
use super::measured::{CaptureNote, Noted, Raw, Row, TapNote, Worked, without_wire, worked};
use super::ring_reader::RingReader;
use super::wire::Wire;
use crate::live::conduct::Observed;
use crate::live::tape::Taped;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wireproof_matrices::arm::Measured;
use wireproof_matrices::plan::{Keep, Plan};
use wireproof_matrices::runner::io::{ArmOrder, Around, Collected, DrainKind};

/// Name of the tape in an arm's folder.
pub const TAPE: &str = "wire.tape";
/// Name of the collected ring.
pub const RING: &str = "ring.raw";
/// Name of the side file of the ring: names of the sources of causes.
pub const PLACES: &str = "ring.raw.places";
/// Name of the tape of the tap beside the sockets.
pub const TAP: &str = "tap.tape";
/// Name of what was noted.
pub const NOTED: &str = "noted.json";
/// Name of the bench's counters.
pub const COUNTERS: &str = "counters.csv";
/// Octets kept of a download inside a window: the header of a ring.
const HEADER: u64 = 4096;

/// An arm between `StartArm` and `KeepArm` or `DropArm`.
#[derive(Debug)]
pub struct Going {
    /// Its folder.
    pub folder: PathBuf,
    /// What is noted.
    pub noted: Noted,
    /// Counters as they were read, once counting ended.
    pub rows: Vec<Row>,
    counting: Option<Counting>,
}

impl Going {
    /// Begins to count.
    ///
    /// # Errors
    /// No thread.
    pub fn begin(folder: PathBuf, order: ArmOrder, interface: Option<String>) -> io::Result<Going> {
        let noted = Noted { order: Some(order), ..Noted::default() };
        Ok(Going { folder, noted, rows: Vec::new(), counting: Some(Counting::start(interface)?) })
    }

    /// A download inside the window.
    pub fn drain(&self, index: u32, kind: &DrainKind, limit: Duration, from: &From<'_>) -> Option<Fetch> {
        let drain = from.plan.drain.as_ref()?;
        let (url, expect, ring) = match kind {
            DrainKind::Raw => {
                let reader = from.plan.has_ring().then(|| RingReader::of(from.plan))?;
                (from.device.url(&drain.url), Some(drain.expect_bytes), Some(reader))
            }
            DrainKind::Path(path) => (from.device.url(path), None, None),
            DrainKind::Sham => (from.sham?.parse().ok()?, Some(drain.expect_bytes), None),
        };
        let name = drain_name(index);
        Some(Fetch { url, folder: self.folder.clone(), name, expect, ring, limit })
    }

    /// The collecting download; `None` for a plan that has no ring.
    pub fn collect(&self, limit: Duration, from: &From<'_>) -> Option<Fetch> {
        let drain = from.plan.drain.as_ref().filter(|_| from.plan.has_ring())?;
        Some(Fetch {
            url: from.device.url(&drain.url),
            folder: self.folder.clone(),
            name: RING.to_owned(),
            expect: Some(drain.expect_bytes),
            ring: Some(RingReader::of(from.plan)),
            limit,
        })
    }

    /// Ends counting.
    pub fn stop_counting(&mut self) {
        if let Some(counting) = self.counting.take() {
            self.rows = counting.stop();
        }
    }

    /// Writes down what was noted, then works out what the arm measured from the files alone.
    ///
    /// # Errors
    /// The disk, or a tape that cannot be read back.
    pub fn measure(&mut self, plan: &Plan, order: &Around, wire: Option<Wire>) -> io::Result<Measured> {
        if let Some(wire) = wire {
            let observed = wire.stop().map_err(io::Error::other)?;
            self.noted.loop_gap_max_ns = observed.observer.loop_gap_max_ns;
            self.noted.capture = observed.recorded.as_ref().map(|recorded| CaptureNote {
                records: recorded.records,
                left_out: observed.observer.layers.queue.saturating_sub(left_out(observed.taped.as_ref())),
            });
            self.noted.tap = observed.tapped.as_ref().map(|tapped| TapNote {
                dropped: tapped.dropped,
                left_out: left_out(tapped.taped.as_ref()),
                ended: tapped.failed.clone(),
            });
            disk_failure(observed).map_or(Ok(()), Err)?;
        }
        self.stop_counting();
        self.noted.clock = order.clock;
        self.noted.status = order.status.clone();
        self.noted.drains = order.drains.clone();
        write_json(&self.folder.join(NOTED), &self.noted)?;
        write_counters(&self.folder.join(COUNTERS), &self.rows)?;
        let worked = worked_from(plan, &self.folder)?;
        for (name, octets) in beside(plan, &worked)? {
            write_whole(&self.folder.join(name), &octets)?;
        }
        Ok(worked.measured)
    }

    /// Cuts the downloads of the window down to what the plan keeps of them.
    ///
    /// # Errors
    /// The disk.
    pub fn trim_drains(&self, plan: &Plan) -> io::Result<()> {
        if plan.drain.as_ref().is_none_or(|drain| drain.keep == Keep::All) {
            return Ok(());
        }
        for index in 0..u32::try_from(self.noted.drains.len()).unwrap_or(0) {
            let path = self.folder.join(drain_name(index));
            let file = match File::options().write(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            if file.metadata()?.len() > HEADER {
                file.set_len(HEADER)?;
            }
            file.sync_all()?;
        }
        Ok(())
    }
}

fn left_out(taped: Option<&Taped>) -> u64 {
    taped.map_or(0, |taped| taped.left_out)
}

/// What the disk said when it took no more of capture or tapes: evidence is missing then.
fn disk_failure(observed: Observed) -> Option<io::Error> {
    let of_tap = observed.tapped.and_then(|tapped| tapped.taped);
    let taped = [observed.taped, of_tap].into_iter().flatten().find_map(|taped| taped.failed);
    observed.recorded.and_then(|recorded| recorded.failed).or(taped)
}

/// Where downloads come from.
#[derive(Clone, Copy, Debug)]
pub struct From<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The device.
    pub device: &'a Device,
    /// The local dummy.
    pub sham: Option<&'a str>,
}

fn drain_name(index: u32) -> String {
    format!("drain-{:02}.bin", index + 1)
}

/// What an arm measured, from its folder alone.
///
/// # Errors
/// A file that is not there or cannot be read.
pub fn worked_from(plan: &Plan, folder: &Path) -> io::Result<Worked> {
    let (noted, ring) = noted_and_ring(folder)?;
    let tape = fs::read(folder.join(TAPE))?;
    let places = may_be(&folder.join(PLACES))?;
    let places = places.as_deref().map(String::from_utf8_lossy);
    let tap = may_be(&folder.join(TAP))?;
    let counters = read_rows(&fs::read(folder.join(COUNTERS))?).map_err(io::Error::other)?;
    let raw = Raw {
        noted: &noted,
        tape: &tape,
        ring: ring.as_deref(),
        places: places.as_deref(),
        tap: tap.as_deref(),
        counters: &counters,
    };
    worked(plan, &raw).map_err(io::Error::other)
}

/// The same without its tape: everything but streams, losses and the bench's health.
///
/// # Errors
/// As [`worked_from`].
pub fn without_wire_from(plan: &Plan, folder: &Path) -> io::Result<Measured> {
    let (noted, ring) = noted_and_ring(folder)?;
    let ring = ring.as_deref();
    let raw = Raw { noted: &noted, tape: &[], ring, places: None, tap: None, counters: &[] };
    Ok(without_wire(plan, &raw))
}

/// What was noted, and the ring if it came whole.
fn noted_and_ring(folder: &Path) -> io::Result<(Noted, Option<Vec<u8>>)> {
    let noted: Noted = serde_json::from_slice(&fs::read(folder.join(NOTED))?).map_err(io::Error::other)?;
    let is_whole = noted.collected.is_some_and(|collected: Collected| collected.whole);
    let ring = may_be(&folder.join(RING))?.filter(|_| is_whole);
    Ok((noted, ring))
}

/// The files that show what is not judged: name and octets.
///
/// # Errors
/// None in memory, as far as anybody knows.
pub fn beside(plan: &Plan, worked: &Worked) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let log = hlog::write(&worked.measured, plan.timing.guard_ns, &worked.intervals)?;
    let causes = worked.causes.as_ref().map(|causes| (CAUSES, causes.octets()));
    Ok([(HLOG, log)].into_iter().chain(causes).collect())
}

/// A file that an arm need not have.
fn may_be(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(octets) => Ok(Some(octets)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    write_whole(path, &text)
}

fn write_counters(path: &Path, rows: &[Row]) -> io::Result<()> {
    let mut text = Vec::new();
    write_rows(&mut text, rows.iter().copied())?;
    write_whole(path, &text)
}

/// Writes a file beside its name, waits for the disk, and gives it its name.
fn write_whole(path: &Path, octets: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let mut file = File::create(&part)?;
    file.write_all(octets)?;
    file.sync_all()?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_back_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(COUNTERS);
        let rows = [Row { at_ns: 5, steady_ns: -1, nic_dropped: Some(7), ..Row::default() }, Row::default()];
        write_counters(&path, &rows).unwrap();
        assert_eq!(read_rows::<Row>(&fs::read(&path).unwrap()).unwrap(), rows);
        assert!(read_rows::<Row>(b"1,2,3\n").is_err());
    }
}
