//! Who writes a ring, and the names of its stages, devices and protocols: fixed for a generation. Asks nobody; the
//! caller says who it is.

use crate::image::static_crc;
use crate::layout::{
    ANCHOR, BOOT_ID, BYTE_ORDER, CAPACITY, CLOCKS, COUNTERS, Counter, DEVICES, ENABLED, ENDIAN, FILE_SIZE,
    HEADER_BYTES, MAGIC, MAJOR, PERIOD, PROCESS, PROCESS_START, PROTOCOLS, RECORD_BYTES, RECORD_SIZE, STAGES,
    STAMP, STAMP_MAGIC, STAMP_SNAPSHOT, STATE, STATIC_CRC, TABLE_COUNTS, VERSION, file_bytes, state, u16_at,
    u32_at, u64_at,
};

/// CLOCK_MONOTONIC in the header.
const CLOCK_MONOTONIC: u32 = 1;
/// The same clock in Perfetto's numbering.
const PERFETTO_MONOTONIC: u32 = 3;

/// Stage names are cut to this many octets.
pub const STAGE_NAME: usize = 28;
/// Device names are cut to this many octets.
pub const DEVICE_NAME: usize = 40;
/// Protocol names are cut to this many octets.
pub const PROTOCOL_NAME: usize = 14;

/// A stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Key in records.
    pub id: u16,
    /// 0 stage, 1 place of a cause, 2 counter.
    pub category: u8,
    /// Name.
    pub name: String,
}

/// A logical device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Key in records.
    pub id: u16,
    /// Key of its protocol.
    pub protocol: u8,
    /// Pixels it shows.
    pub pixels: u32,
    /// Name.
    pub name: String,
}

/// A protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protocol {
    /// Key in records.
    pub id: u8,
    /// Name.
    pub name: String,
}

/// The names a ring carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// At most 64.
    pub stages: Vec<Stage>,
    /// At most 16.
    pub devices: Vec<Device>,
    /// At most 8.
    pub protocols: Vec<Protocol>,
}

impl Tables {
    /// Name of a stage.
    pub fn stage(&self, id: u16) -> Option<&str> {
        self.stages.iter().find(|stage| stage.id == id).map(|stage| stage.name.as_str())
    }

    /// Name of a device.
    pub fn device(&self, id: u16) -> Option<&str> {
        self.devices.iter().find(|device| device.id == id).map(|device| device.name.as_str())
    }
}

/// Who writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Boot id of the host.
    pub boot_id: [u8; 16],
    /// Process id.
    pub pid: u32,
    /// User id.
    pub uid: u32,
    /// Start of the process, clock ticks since boot.
    pub process_start: u64,
    /// Frame period, ns.
    pub period_ns: u64,
    /// Monotonic ns, wall ns, spread ns of the reading, BOOTTIME - MONOTONIC ns.
    pub anchor: [u64; 4],
    /// Names.
    pub tables: Tables,
}

/// The header of a ring whose generation has just begun; generation and positions are zero.
pub fn encode(identity: &Identity, capacity: u64, claim_window: u64) -> Vec<u8> {
    let mut octets = vec![0; HEADER_BYTES];
    let mut put = Put(&mut octets);
    put.octets(0, &MAGIC);
    put.octets(VERSION, &MAJOR.to_le_bytes());
    put.u32(VERSION + 4, HEADER_BYTES as u32);
    put.u32(RECORD_SIZE, RECORD_BYTES as u32);
    put.u32(RECORD_SIZE + 4, claim_window as u32);
    put.u64(CAPACITY, capacity);
    put.u64(FILE_SIZE, file_bytes(capacity));
    put.u64(ENDIAN, BYTE_ORDER);
    put.octets(BOOT_ID, &identity.boot_id);
    put.u32(PROCESS, identity.pid);
    put.u32(PROCESS + 4, identity.uid);
    put.u64(PROCESS_START, identity.process_start);
    put.u64(PERIOD, identity.period_ns);
    put.u32(CLOCKS, CLOCK_MONOTONIC);
    put.u32(CLOCKS + 4, PERFETTO_MONOTONIC);
    for (index, value) in identity.anchor.iter().enumerate() {
        put.u64(ANCHOR + 8 * index, *value);
    }
    put.u64(STATE, state::LIVE);
    put.u64(ENABLED, 1);
    put.tables(&identity.tables);
    let sum = static_crc(&octets);
    Put(&mut octets).u32(STATIC_CRC, sum);
    octets
}

/// Rows of the stages, devices and protocols a ring holds.
pub const ROWS: [usize; 3] = [64, 16, 8];
/// Octets of a row.
const ROW_BYTES: [usize; 3] = [32, 48, 16];

struct Put<'a>(&'a mut [u8]);

impl Put<'_> {
    fn octets(&mut self, at: usize, octets: &[u8]) {
        if let Some(place) = self.0.get_mut(at..at + octets.len()) {
            place.copy_from_slice(octets);
        }
    }

    fn u32(&mut self, at: usize, value: u32) {
        self.octets(at, &value.to_le_bytes());
    }

    fn u64(&mut self, at: usize, value: u64) {
        self.octets(at, &value.to_le_bytes());
    }

    /// Rows past the end of a table are left out.
    fn tables(&mut self, tables: &Tables) {
        let lengths = [tables.stages.len(), tables.devices.len(), tables.protocols.len()];
        for (index, (length, rows)) in lengths.into_iter().zip(ROWS).enumerate() {
            self.octets(TABLE_COUNTS + 2 * index, &(length.min(rows) as u16).to_le_bytes());
        }
        for (row, stage) in tables.stages.iter().take(ROWS[0]).enumerate() {
            let (at, name) = (STAGES + ROW_BYTES[0] * row, cut(&stage.name, STAGE_NAME));
            self.octets(at, &stage.id.to_le_bytes());
            self.octets(at + 2, &[stage.category, name.len() as u8]);
            self.octets(at + 4, name);
        }
        for (row, device) in tables.devices.iter().take(ROWS[1]).enumerate() {
            let (at, name) = (DEVICES + ROW_BYTES[1] * row, cut(&device.name, DEVICE_NAME));
            self.octets(at, &device.id.to_le_bytes());
            self.octets(at + 2, &[device.protocol, name.len() as u8]);
            self.u32(at + 4, device.pixels);
            self.octets(at + 8, name);
        }
        for (row, protocol) in tables.protocols.iter().take(ROWS[2]).enumerate() {
            let (at, name) = (PROTOCOLS + ROW_BYTES[2] * row, cut(&protocol.name, PROTOCOL_NAME));
            self.octets(at, &[protocol.id, name.len() as u8]);
            self.octets(at + 2, name);
        }
    }
}

/// The longest beginning of whole characters that fits.
fn cut(name: &str, octets: usize) -> &[u8] {
    let mut end = name.len().min(octets);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name.as_bytes()[..end]
}

/// Reads the names; what is no UTF-8 is replaced, what does not fit is cut.
pub fn tables(image: &[u8]) -> Tables {
    let count = |table: usize| usize::from(u16_at(image, TABLE_COUNTS + 2 * table)).min(ROWS[table]);
    let octet = |at: usize| image.get(at).copied().unwrap_or_default();
    let name = |at: usize, length: u8, limit: usize| {
        let octets = image.get(at..at + usize::from(length).min(limit)).unwrap_or_default();
        String::from_utf8_lossy(octets).into_owned()
    };
    let stage = |at: usize| Stage {
        id: u16_at(image, at),
        category: octet(at + 2),
        name: name(at + 4, octet(at + 3), STAGE_NAME),
    };
    let device = |at: usize| Device {
        id: u16_at(image, at),
        protocol: octet(at + 2),
        pixels: u32_at(image, at + 4),
        name: name(at + 8, octet(at + 3), DEVICE_NAME),
    };
    let protocol = |at: usize| Protocol { id: octet(at), name: name(at + 2, octet(at + 1), PROTOCOL_NAME) };
    Tables {
        stages: (0..count(0)).map(|row| stage(STAGES + ROW_BYTES[0] * row)).collect(),
        devices: (0..count(1)).map(|row| device(DEVICES + ROW_BYTES[1] * row)).collect(),
        protocols: (0..count(2)).map(|row| protocol(PROTOCOLS + ROW_BYTES[2] * row)).collect(),
    }
}

/// What a header says beside the names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Boot of the host, all zeros when unknown.
    pub boot_id: [u8; 16],
    /// Start of the writer's process, clock ticks.
    pub process_start: u64,
    /// Both clocks as the generation began: monotonic ns, wall ns, spread of the reading ns, BOOTTIME - MONOTONIC ns.
    pub anchor: [u64; 4],
    /// Frame period, ns.
    pub period_ns: u64,
    /// Counters, in the order of [`crate::layout::Counter`].
    pub counters: [u64; 8],
    /// Number of the copy, if it is stamped.
    pub snapshot: Option<u64>,
}

impl Facts {
    /// One of the counters.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }
}

/// Reads what a header of layout 2 says about its writer.
pub fn facts(image: &[u8]) -> Facts {
    let stamped = image.get(STAMP..STAMP + STAMP_MAGIC.len()) == Some(&STAMP_MAGIC);
    Facts {
        boot_id: std::array::from_fn(|at| image.get(BOOT_ID + at).copied().unwrap_or_default()),
        process_start: u64_at(image, PROCESS_START),
        anchor: std::array::from_fn(|index| u64_at(image, ANCHOR + 8 * index)),
        period_ns: u64_at(image, PERIOD),
        counters: std::array::from_fn(|index| u64_at(image, COUNTERS + 8 * index)),
        snapshot: stamped.then(|| u64_at(image, STAMP_SNAPSHOT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_header_are_read_back() {
        let tables = Tables {
            stages: vec![Stage { id: 7, category: 2, name: "wire_send".into() }],
            devices: vec![Device { id: 3, protocol: 2, pixels: 2040, name: "pole-b".into() }],
            protocols: vec![Protocol { id: 2, name: "sacn".into() }],
        };
        let identity = Identity { tables: tables.clone(), ..Identity::default() };
        let octets = encode(&identity, 256, 64);
        assert_eq!(super::tables(&octets), tables);
        assert_eq!(
            (tables.stage(7), tables.device(3), tables.stage(8)),
            (Some("wire_send"), Some("pole-b"), None)
        );
    }

    #[test]
    fn long_names_are_cut_between_characters_and_long_tables_behind_their_last_row() {
        let stage = Stage { id: 1, category: 0, name: "ü".repeat(20) };
        let identity = Identity {
            tables: Tables { stages: vec![stage; 70], ..Tables::default() },
            ..Identity::default()
        };
        let read = super::tables(&encode(&identity, 256, 64));
        assert_eq!(read.stages.len(), 64);
        assert_eq!(read.stages[63].name, "ü".repeat(14));
        assert!(read.devices.is_empty());
    }
}
