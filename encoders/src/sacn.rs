//! sACN (ANSI E1.31-2018): data, synchronization, universe discovery and termination.

use crate::error::within;
use crate::{Emit, EncodeError, Encoder};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use wireproof_protocols::{Cid, Protocol, Value};

const PORT: u16 = 5568;
const UNIVERSE_MAX: u16 = 63_999;
const DISCOVERY_UNIVERSE: u16 = 64_214;
const SLOTS_MAX: u16 = 512;
const NAME_OCTETS: usize = 64;
const DATA_HEADER: usize = 126;
const PAGE_UNIVERSES: usize = 512;
const PREVIEW: u8 = 0x80;
const TERMINATED: u8 = 0x40;
const FORCE_SYNC: u8 = 0x20;
/// Preamble size 16, post-amble size 0, ACN packet identifier.
const PREAMBLE: [u8; 16] = *b"\x00\x10\x00\x00ASC-E1.17\x00\x00\x00";

/// Where data and synchronization packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacnDestination {
    /// To the multicast group of the universe (9.3.1).
    Multicast,
    /// All to one receiver.
    Unicast(SocketAddr),
}

/// How the sequence number advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacnNumbering {
    /// One counter a universe, shared by all start codes, 0..255 (6.2.5).
    PerUniverse,
    /// One counter a universe that wraps from 255 to 1, a known habit.
    PerUniverseSkippingZero,
    /// One counter over all universes, against 6.2.5.
    PerSource,
}

/// What a sACN source is set to.
#[derive(Clone, Debug)]
pub struct SacnConfig {
    /// Component identifier, a UUID.
    pub cid: Cid,
    /// Source name; cut to 63 octets of whole characters.
    pub name: String,
    /// Priority, 0..200.
    pub priority: u8,
    /// Universe of the first slots of the frame, 1..63999.
    pub first_universe: u16,
    /// Slots of the frame in each universe, 1..512; 510 keeps RGB pixels whole.
    pub slots: u16,
    /// Synchronization address in data packets, 0 = not synchronized.
    pub sync_address: u16,
    /// Universe of the synchronization packet sent after each frame, 0 = none is sent.
    pub sync_packets: u16,
    /// Sets Preview_Data.
    pub preview: bool,
    /// Sets Force_Synchronization.
    pub force_sync: bool,
    /// Where packets go.
    pub destination: SacnDestination,
    /// How numbers advance.
    pub numbering: SacnNumbering,
    /// First sequence number on every universe.
    pub first_sequence: u8,
}

impl SacnConfig {
    /// A multicast source at priority 100 with 510 slots a universe, from universe 1, not synchronized.
    pub fn new(cid: Cid, name: &str) -> Self {
        SacnConfig {
            cid,
            name: name.to_owned(),
            priority: 100,
            first_universe: 1,
            slots: 510,
            sync_address: 0,
            sync_packets: 0,
            preview: false,
            force_sync: false,
            destination: SacnDestination::Multicast,
            numbering: SacnNumbering::PerUniverse,
            first_sequence: 0,
        }
    }

    fn check(&self) -> Result<(), EncodeError> {
        within("priority", self.priority.into(), 0, 200)?;
        within("universe", self.first_universe.into(), 1, UNIVERSE_MAX.into())?;
        within("slots", self.slots.into(), 1, SLOTS_MAX.into())?;
        within("sync address", self.sync_address.into(), 0, UNIVERSE_MAX.into())?;
        within("sync packet universe", self.sync_packets.into(), 0, UNIVERSE_MAX.into())
    }

    fn options(&self) -> u8 {
        let preview = if self.preview { PREVIEW } else { 0 };
        let force = if self.force_sync { FORCE_SYNC } else { 0 };
        preview | force
    }
}

/// The IPv4 multicast group of a universe, 239.255.hi.lo (9.3.1).
pub fn multicast_group(universe: u16) -> Ipv4Addr {
    let [high, low] = universe.to_be_bytes();
    Ipv4Addr::new(239, 255, high, low)
}

/// A sACN source.
#[derive(Clone, Debug)]
pub struct Sacn {
    config: SacnConfig,
    name: [u8; NAME_OCTETS],
    next: BTreeMap<u16, u8>,
    next_sync: u8,
    next_shared: u8,
    buffer: Vec<u8>,
}

impl Sacn {
    /// A source that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for a priority, universe, slot count or synchronization address out of range.
    pub fn new(config: SacnConfig) -> Result<Self, EncodeError> {
        config.check()?;
        Ok(Sacn {
            name: padded_name(&config.name),
            next: BTreeMap::new(),
            next_sync: config.first_sequence,
            next_shared: config.first_sequence,
            buffer: Vec::with_capacity(1144),
            config,
        })
    }

    /// Emits one data packet: `slots` (0..512 octets) with this start code on this universe.
    ///
    /// # Errors
    /// [`EncodeError`] for a universe or slot count out of range.
    pub fn universe(
        &mut self,
        universe: u16,
        start_code: u8,
        slots: &[u8],
        emit: Emit<'_>,
    ) -> Result<(), EncodeError> {
        within("universe", universe.into(), 1, UNIVERSE_MAX.into())?;
        within("slots", slots.len() as u64, 0, SLOTS_MAX.into())?;
        self.data(universe, start_code, slots, self.config.options(), emit);
        Ok(())
    }

    /// Emits a synchronization packet on the configured synchronization universe; nothing when there is none.
    pub fn sync(&mut self, emit: Emit<'_>) {
        let address = self.config.sync_packets;
        if address == 0 {
            return;
        }
        let sequence = self.next_sync;
        self.next_sync = sequence.wrapping_add(1);
        self.root(49, 8);
        self.length(49, 38);
        self.buffer.extend_from_slice(&1u32.to_be_bytes());
        self.buffer.push(sequence);
        self.buffer.extend_from_slice(&address.to_be_bytes());
        self.buffer.extend_from_slice(&[0, 0]);
        emit(self.destination(address), &self.buffer);
    }

    /// Emits the universe discovery pages for every universe data was sent on.
    pub fn discovery(&mut self, emit: Emit<'_>) {
        let universes: Vec<u16> = self.next.keys().copied().collect();
        self.pages(&universes, emit);
    }

    /// Emits the universe discovery pages for this list; an empty list makes one empty page.
    ///
    /// # Errors
    /// [`EncodeError`] when the list is not strictly ascending or holds a number that is no universe.
    pub fn discovery_of(&mut self, universes: &[u16], emit: Emit<'_>) -> Result<(), EncodeError> {
        let mut least = 1;
        for &universe in universes {
            within("discovered universe", universe.into(), least, UNIVERSE_MAX.into())?;
            least = u64::from(universe) + 1;
        }
        self.pages(universes, emit);
        Ok(())
    }

    /// Says goodbye on every universe data was sent on: three start-code-only packets with Stream_Terminated
    /// (6.2.6), to the destinations of the data, numbers running on.
    pub fn terminate(&mut self, emit: Emit<'_>) {
        let universes: Vec<u16> = self.next.keys().copied().collect();
        let options = self.config.options() | TERMINATED;
        for _ in 0..3 {
            for &universe in &universes {
                self.data(universe, 0, &[], options, emit);
            }
        }
    }

    fn data(&mut self, universe: u16, start_code: u8, slots: &[u8], options: u8, emit: Emit<'_>) {
        let sequence = self.take_sequence(universe);
        let total = DATA_HEADER + slots.len();
        self.root(total, 4);
        self.length(total, 38);
        self.buffer.extend_from_slice(&2u32.to_be_bytes());
        self.buffer.extend_from_slice(&self.name);
        self.buffer.push(self.config.priority);
        self.buffer.extend_from_slice(&self.config.sync_address.to_be_bytes());
        self.buffer.extend_from_slice(&[sequence, options]);
        self.buffer.extend_from_slice(&universe.to_be_bytes());
        self.length(total, 115);
        // DMP vector, address and data type, first property address 0, address increment 1.
        self.buffer.extend_from_slice(&[0x02, 0xA1, 0, 0, 0, 1]);
        self.buffer.extend_from_slice(&low16(slots.len() + 1));
        self.buffer.push(start_code);
        self.buffer.extend_from_slice(slots);
        emit(self.destination(universe), &self.buffer);
    }

    fn pages(&mut self, universes: &[u16], emit: Emit<'_>) {
        let last = universes.len().saturating_sub(1) / PAGE_UNIVERSES;
        for page in 0..=last {
            let from = page * PAGE_UNIVERSES;
            let to = universes.len().min(from + PAGE_UNIVERSES);
            self.page(page as u8, last as u8, &universes[from..to]);
            let group = SocketAddr::new(IpAddr::V4(multicast_group(DISCOVERY_UNIVERSE)), PORT);
            emit(group, &self.buffer);
        }
    }

    fn page(&mut self, page: u8, last: u8, universes: &[u16]) {
        let total = 120 + 2 * universes.len();
        self.root(total, 8);
        self.length(total, 38);
        self.buffer.extend_from_slice(&2u32.to_be_bytes());
        self.buffer.extend_from_slice(&self.name);
        self.buffer.extend_from_slice(&[0; 4]);
        self.length(total, 112);
        self.buffer.extend_from_slice(&1u32.to_be_bytes());
        self.buffer.extend_from_slice(&[page, last]);
        for universe in universes {
            self.buffer.extend_from_slice(&universe.to_be_bytes());
        }
    }

    /// Starts a datagram of `total` octets with preamble, root PDU and CID.
    fn root(&mut self, total: usize, vector: u32) {
        self.buffer.clear();
        self.buffer.extend_from_slice(&PREAMBLE);
        self.length(total, 16);
        self.buffer.extend_from_slice(&vector.to_be_bytes());
        self.buffer.extend_from_slice(&self.config.cid);
    }

    /// Flags and length of a PDU that starts at `at` and reaches to the end of the datagram.
    fn length(&mut self, total: usize, at: usize) {
        let [high, low] = low16(total - at);
        self.buffer.extend_from_slice(&[0x70 | high, low]);
    }

    fn take_sequence(&mut self, universe: u16) -> u8 {
        let first = self.config.first_sequence;
        let own = self.next.entry(universe).or_insert(first);
        let next = match self.config.numbering {
            SacnNumbering::PerSource => &mut self.next_shared,
            _ => own,
        };
        let sequence = *next;
        let skip = self.config.numbering == SacnNumbering::PerUniverseSkippingZero && sequence == 255;
        *next = if skip { 1 } else { sequence.wrapping_add(1) };
        sequence
    }

    fn destination(&self, universe: u16) -> SocketAddr {
        match self.config.destination {
            SacnDestination::Multicast => SocketAddr::new(IpAddr::V4(multicast_group(universe)), PORT),
            SacnDestination::Unicast(receiver) => receiver,
        }
    }
}

impl Encoder for Sacn {
    fn protocol(&self) -> Protocol {
        Protocol::Sacn
    }

    fn encode(&mut self, frame: &[u8], emit: Emit<'_>) -> Result<(), EncodeError> {
        let slots = usize::from(self.config.slots);
        let room = u64::from(UNIVERSE_MAX - self.config.first_universe + 1);
        if frame.is_empty() || frame.len().div_ceil(slots) as u64 > room {
            let limit = Value::Range(1, room * slots as u64);
            return Err(EncodeError { field: "frame octets", value: frame.len() as u64, limit });
        }
        let options = self.config.options();
        for (universe, levels) in (self.config.first_universe..).zip(frame.chunks(slots)) {
            self.data(universe, 0, levels, options, emit);
        }
        self.sync(emit);
        Ok(())
    }
}

/// The low 16 bits, big-endian; datagram lengths always fit.
fn low16(value: usize) -> [u8; 2] {
    (value as u16).to_be_bytes()
}

/// Source name field: at most 63 octets, cut between characters, then zeros.
fn padded_name(name: &str) -> [u8; NAME_OCTETS] {
    let mut end = name.len().min(NAME_OCTETS - 1);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let mut field = [0; NAME_OCTETS];
    field[..end].copy_from_slice(&name.as_bytes()[..end]);
    field
}
