//! sACN (ANSI E1.31-2018): data, synchronization, universe discovery and termination.

mod packets;

use crate::arena::Heads;
use crate::counters::{Counters, Cycle};
use crate::packer::{Aside, Backend, Layout, Packer, Place};
use packets::{Data, Identity, name_field};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wireproof_protocols::sacn::wire::{
    DATA_HEAD, DATA_SEQUENCE_AT, OPTION_FORCE_SYNC, OPTION_PREVIEW, OPTION_TERMINATED, PAGE_UNIVERSES,
    SLOTS_MAX, SYNC_SEQUENCE_AT,
};
use wireproof_protocols::sacn::{DISCOVERY_UNIVERSE, PORT, PRIORITY_MAX, UNIVERSE_MAX};
use wireproof_protocols::{Batch, Cid, EncodeError, Protocol};

/// Packets with Stream_Terminated on each universe (6.2.6).
const GOODBYES: usize = 3;

/// Where data and synchronization packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacnDestination {
    /// To the IPv4 multicast group of the universe (9.3.1).
    Multicast,
    /// To the IPv6 multicast group of the universe (9.3.2).
    Multicast6,
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

impl SacnNumbering {
    fn cycle(self) -> Cycle {
        let first = u8::from(self == SacnNumbering::PerUniverseSkippingZero);
        Cycle { first, last: 255 }
    }
}

/// What a sACN source is set to.
#[derive(Clone, Debug)]
pub struct SacnConfig {
    /// Component identifier, a UUID.
    pub cid: Cid,
    /// Source name, at most 63 octets.
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

impl SacnDestination {
    /// Where the packets of a universe go.
    pub fn of(self, universe: u16) -> SocketAddr {
        match self {
            SacnDestination::Multicast => SocketAddr::new(IpAddr::V4(multicast_group(universe)), PORT),
            SacnDestination::Multicast6 => SocketAddr::new(IpAddr::V6(multicast_group6(universe)), PORT),
            SacnDestination::Unicast(receiver) => receiver,
        }
    }
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
        EncodeError::unless_within("priority", self.priority.into(), 0, PRIORITY_MAX.into())?;
        check_universe("universe", self.first_universe)?;
        EncodeError::unless_within("slots", self.slots.into(), 1, SLOTS_MAX.into())?;
        let most = UNIVERSE_MAX.into();
        EncodeError::unless_within("sync address", self.sync_address.into(), 0, most)?;
        EncodeError::unless_within("sync packet universe", self.sync_packets.into(), 0, most)
    }

    fn options(&self) -> u8 {
        let preview = if self.preview { OPTION_PREVIEW } else { 0 };
        let force = if self.force_sync { OPTION_FORCE_SYNC } else { 0 };
        preview | force
    }
}

/// The IPv4 multicast group of a universe, 239.255.hi.lo (9.3.1).
pub fn multicast_group(universe: u16) -> Ipv4Addr {
    let [high, low] = universe.to_be_bytes();
    Ipv4Addr::new(239, 255, high, low)
}

/// The IPv6 multicast group of a universe, ff18::8300:hhll (9.3.2).
pub fn multicast_group6(universe: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xff18, 0, 0, 0, 0, 0, 0x8300, universe)
}

/// A sACN source.
pub type Sacn = Packer<Source>;

/// The headers and the counters of a sACN source.
#[derive(Clone, Debug)]
pub struct Source {
    config: SacnConfig,
    identity: Identity,
    /// By universe of the frame, counted from the first; start codes share them (6.2.5).
    counters: Counters,
    /// Universes of the frame that data was sent on.
    sent: usize,
    /// Next number on universes outside the frame that data was sent on.
    others: BTreeMap<u16, u8>,
    next_sync: u8,
    next_shared: u8,
}

impl Packer<Source> {
    /// A source that has sent nothing, every datagram in one piece.
    ///
    /// # Errors
    /// As [`Self::with_backend`].
    pub fn new(config: SacnConfig) -> Result<Self, EncodeError> {
        Packer::<Source>::with_backend(config, Backend::Contiguous)
    }

    /// A source that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for a priority, universe, slot count or synchronization address out of range, and for a
    /// name that does not fit its field.
    pub fn with_backend(config: SacnConfig, backend: Backend) -> Result<Self, EncodeError> {
        config.check()?;
        let source = Source {
            identity: Identity { cid: config.cid, name: name_field(&config.name)? },
            counters: Counters::new(config.numbering.cycle(), config.first_sequence),
            sent: 0,
            others: BTreeMap::new(),
            next_sync: config.first_sequence,
            next_shared: config.first_sequence,
            config,
        };
        Ok(Packer::with(source, backend))
    }

    /// One data packet: `slots` (0..512 octets) with this start code on this universe. Its number is the next one
    /// of the universe, whatever the start code.
    ///
    /// # Errors
    /// [`EncodeError`] for a universe or slot count out of range.
    pub fn universe(
        &mut self,
        universe: u16,
        start_code: u8,
        slots: &[u8],
    ) -> Result<Batch<'_>, EncodeError> {
        check_universe("universe", universe)?;
        EncodeError::unless_within("slots", slots.len() as u64, 0, SLOTS_MAX.into())?;
        Ok(self.aside(|source, out| source.data(universe, start_code, slots, 0, out)))
    }

    /// A synchronization packet on the configured synchronization universe; nothing when there is none.
    pub fn sync(&mut self) -> Batch<'_> {
        self.aside(|source, out| {
            let address = source.config.sync_packets;
            if address != 0 {
                let sequence = source.next_sync;
                source.next_sync = sequence.wrapping_add(1);
                let destination = source.config.destination.of(address);
                out.push(destination, |packet| source.identity.sync(sequence, address, packet));
            }
        })
    }

    /// Universe discovery pages for this list.
    ///
    /// # Errors
    /// [`EncodeError`] for a universe out of range or a list that is not ascending.
    pub fn discovery_of(&mut self, universes: &[u16]) -> Result<Batch<'_>, EncodeError> {
        let mut least = 1;
        for universe in universes {
            EncodeError::unless_within(
                "discovered universe",
                u64::from(*universe),
                least,
                UNIVERSE_MAX.into(),
            )?;
            least = u64::from(*universe) + 1;
        }
        Ok(self.aside(|source, out| source.pages(universes, out)))
    }
}

impl Source {
    fn data(&mut self, universe: u16, start_code: u8, slots: &[u8], options: u8, out: &mut Aside) {
        let head = Data {
            sequence: self.take_sequence(universe),
            options: self.config.options() | options,
            start_code,
            ..self.usual(universe, slots.len())
        };
        out.push(self.config.destination.of(universe), |packet| {
            self.identity.data(&head, packet);
            packet.extend_from_slice(slots);
        });
    }

    /// The fields of a packet of the frame.
    fn usual(&self, universe: u16, slots: usize) -> Data {
        Data {
            priority: self.config.priority,
            sync_address: self.config.sync_address,
            sequence: 0,
            options: self.config.options(),
            universe,
            start_code: 0,
            slots,
        }
    }

    fn pages(&self, universes: &[u16], out: &mut Aside) {
        let group = match self.config.destination {
            SacnDestination::Multicast6 => SacnDestination::Multicast6.of(DISCOVERY_UNIVERSE),
            _ => SacnDestination::Multicast.of(DISCOVERY_UNIVERSE),
        };
        let last = universes.len().saturating_sub(1) / PAGE_UNIVERSES;
        for page in 0..=last {
            let list = &universes[page * PAGE_UNIVERSES..];
            let list = &list[..list.len().min(PAGE_UNIVERSES)];
            out.push(group, |packet| self.identity.page(page as u8, last as u8, list, packet));
        }
    }

    /// Universes data was sent on, ascending.
    fn universes(&self) -> Vec<u16> {
        let first = self.config.first_universe;
        let of_frame = (0..self.sent).map(|index| first + index as u16);
        let mut all: Vec<u16> = of_frame.chain(self.others.keys().copied()).collect();
        all.sort_unstable();
        all
    }

    fn take_sequence(&mut self, universe: u16) -> u8 {
        let cycle = self.config.numbering.cycle();
        let index = usize::from(universe).checked_sub(self.config.first_universe.into());
        let own = if let Some(index) = index.filter(|index| *index < self.sent) {
            self.counters.take(index)
        } else {
            let next = self.others.entry(universe).or_insert(self.config.first_sequence);
            let own = *next;
            *next = cycle.after(own);
            own
        };
        if self.config.numbering != SacnNumbering::PerSource {
            return own;
        }
        let shared = self.next_shared;
        self.next_shared = cycle.after(shared);
        shared
    }

    /// Universes of the frame that are sent on for the first time take over the counters other start codes moved.
    #[cold]
    fn take_over(&mut self, data: usize) {
        for index in self.sent..data {
            let universe = self.config.first_universe + index as u16;
            if let Some(next) = self.others.remove(&universe) {
                self.counters.set(index, next);
            }
        }
        self.sent = data;
    }
}

impl Layout for Source {
    const PROTOCOL: Protocol = Protocol::Sacn;
    const HEAD: usize = DATA_HEAD;

    fn chunk(&self) -> usize {
        self.config.slots.into()
    }

    fn room(&self) -> u64 {
        u64::from(UNIVERSE_MAX - self.config.first_universe + 1) * u64::from(self.config.slots)
    }

    fn head(&self, place: &Place, out: &mut Vec<u8>) -> SocketAddr {
        let universe = self.config.first_universe + place.index as u16;
        self.identity.data(&self.usual(universe, place.octets), out);
        self.config.destination.of(universe)
    }

    fn tail(&self, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let address = Some(self.config.sync_packets).filter(|address| *address != 0)?;
        self.identity.sync(0, address, out);
        Some(self.config.destination.of(address))
    }

    fn prepare(&mut self, data: usize) {
        self.counters.prepare(data);
    }

    #[inline(always)]
    fn number(&mut self, heads: &mut Heads<'_>) {
        if heads.data() > self.sent {
            self.take_over(heads.data());
        }
        if self.config.numbering == SacnNumbering::PerSource {
            let cycle = self.config.numbering.cycle();
            self.next_shared = cycle.number_each(self.next_shared, DATA_SEQUENCE_AT, heads);
        } else {
            self.counters.number(DATA_SEQUENCE_AT, heads);
        }
        if let Some(octet) = heads.tail(SYNC_SEQUENCE_AT) {
            *octet = [self.next_sync];
            self.next_sync = self.next_sync.wrapping_add(1);
        }
    }

    /// Three start-code-only packets with Stream_Terminated on every universe data was sent on (6.2.6), numbers
    /// running on.
    fn terminate(&mut self, out: &mut Aside) {
        let universes = self.universes();
        for _ in 0..GOODBYES {
            for &universe in &universes {
                self.data(universe, 0, &[], OPTION_TERMINATED, out);
            }
        }
    }

    /// Universe discovery pages for every universe data was sent on (4.3), to the discovery group.
    fn discovery(&mut self, out: &mut Aside) {
        self.pages(&self.universes(), out);
    }
}

fn check_universe(field: &'static str, universe: u16) -> Result<(), EncodeError> {
    EncodeError::unless_within(field, universe.into(), 1, UNIVERSE_MAX.into())
}
