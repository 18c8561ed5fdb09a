//! An arm that is going: its folder, its wire, its counters, and what was noted of it so far.

use super::bundle::{read_rows, write_rows};
use super::control::Fetch;
use super::counting::Counting;
use super::device::Device;
use super::measured::{Noted, Raw, Row, measured};
use super::wire::Wire;
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

    /// Where the tape goes.
    pub fn tape(&self) -> PathBuf {
        self.folder.join(TAPE)
    }

    /// A download inside the window.
    pub fn drain(&self, index: u32, kind: &DrainKind, limit: Duration, from: &From<'_>) -> Option<Fetch> {
        let drain = from.plan.drain.as_ref()?;
        let (url, expect, ring) = match kind {
            DrainKind::Raw => (from.device.url(&drain.url), Some(drain.expect_bytes), true),
            DrainKind::Path(path) => (from.device.url(path), None, false),
            DrainKind::Sham => (from.sham?.parse().ok()?, Some(drain.expect_bytes), false),
        };
        let name = drain_name(index);
        Some(Fetch { url, folder: self.folder.clone(), name, expect, ring, limit })
    }

    /// The collecting download; `None` for a plan that has no ring.
    pub fn collect(&self, limit: Duration, from: &From<'_>) -> Option<Fetch> {
        let drain = from.plan.drain.as_ref()?;
        Some(Fetch {
            url: from.device.url(&drain.url),
            folder: self.folder.clone(),
            name: RING.to_owned(),
            expect: Some(drain.expect_bytes),
            ring: true,
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
        }
        self.stop_counting();
        self.noted.clock = order.clock;
        self.noted.status = order.status.clone();
        self.noted.drains = order.drains.clone();
        write_json(&self.folder.join(NOTED), &self.noted)?;
        write_counters(&self.folder.join(COUNTERS), &self.rows)?;
        measured_from(plan, &self.folder)
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
pub fn measured_from(plan: &Plan, folder: &Path) -> io::Result<Measured> {
    let noted: Noted = serde_json::from_slice(&fs::read(folder.join(NOTED))?).map_err(io::Error::other)?;
    let tape = fs::read(folder.join(TAPE))?;
    let ring = match fs::read(folder.join(RING)) {
        Ok(image) if noted.collected.is_some_and(|collected: Collected| collected.whole) => Some(image),
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let counters = read_rows(&fs::read(folder.join(COUNTERS))?).map_err(io::Error::other)?;
    let raw = Raw { noted: &noted, tape: &tape, ring: ring.as_deref(), counters: &counters };
    measured(plan, &raw).map_err(io::Error::other)
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
