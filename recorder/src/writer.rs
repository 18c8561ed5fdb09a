//! The one writer: events go straight into the ring, stay private until their frame is complete, and are published
//! as one. Never allocates after start, never blocks, never reads a clock.

use crate::crc;
use crate::header::{self, Identity};
use crate::layout::{
    CLAIM_WINDOW, Counter, ENABLED, FLAG_TRUNCATED, GENERATION, Kind, MAX_CAPACITY, NO_DEVICE, NO_FRAME,
    NO_PARENT, PAYLOAD_WORDS, Record, STATE, file_bytes, state, word,
};
use crate::memory::SharedMut;
use crate::protocol::{self, Protocol, Published, Sound};
use std::marker::PhantomData;

/// Counters that the writer keeps.
const COUNTERS: usize = 8;
/// Smallest capacity.
pub const MIN_CAPACITY: u64 = 2;

/// What is recorded; the writer adds frame and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it tells.
    pub kind: Kind,
    /// Stage, a key of the header's table.
    pub stage: u16,
    /// Device, or [`NO_DEVICE`].
    pub device: u16,
    /// Protocol, 0 for none.
    pub protocol: u8,
    /// Bits by kind.
    pub flags: u16,
    /// Place of the span around it, or [`NO_PARENT`].
    pub parent: u16,
    /// CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC, ns; the start for instants.
    pub end_ns: u64,
    /// A value by kind.
    pub aux: u64,
}

impl Event {
    /// A span without device and parent.
    pub const fn span(stage: u16, start_ns: u64, end_ns: u64) -> Event {
        Event {
            kind: Kind::Span,
            stage,
            device: NO_DEVICE,
            protocol: 0,
            flags: 0,
            parent: NO_PARENT,
            start_ns,
            end_ns,
            aux: 0,
        }
    }

    /// The same for a device that speaks a protocol.
    pub const fn device(self, device: u16, protocol: u8) -> Event {
        Event { device, protocol, ..self }
    }

    /// The same within another span of the frame.
    pub const fn within(self, parent: u16) -> Event {
        Event { parent, ..self }
    }

    #[inline]
    const fn words(&self, frame: u32, seq: u16) -> [u64; PAYLOAD_WORDS] {
        [
            self.start_ns,
            self.end_ns,
            frame as u64 | (self.stage as u64) << 32 | (self.device as u64) << 48,
            self.protocol as u64
                | (self.kind as u64) << 8
                | (self.flags as u64) << 16
                | (seq as u64) << 32
                | (self.parent as u64) << 48,
            self.aux,
        ]
    }
}

/// Why there is no writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriterError {
    /// The capacity cannot be used.
    #[error("a ring holds a power of two of records, {MIN_CAPACITY} to {MAX_CAPACITY}, not {0}")]
    Capacity(u64),
    /// The memory has another size.
    #[error("a ring of {capacity} records needs {} octets, not {octets}", file_bytes(*.capacity))]
    Memory {
        /// Capacity that was asked for.
        capacity: u64,
        /// Octets that are there.
        octets: u64,
    },
    /// The generation is odd or zero.
    #[error("a generation is even and not zero, not {0}")]
    Generation(u64),
}

/// Finds out whether a ring can hold so many records.
///
/// # Errors
/// [`WriterError::Capacity`].
pub fn check(capacity: u64) -> Result<(), WriterError> {
    let fits = capacity.is_power_of_two() && (MIN_CAPACITY..=MAX_CAPACITY).contains(&capacity);
    if fits { Ok(()) } else { Err(WriterError::Capacity(capacity)) }
}

/// The writer of a ring.
#[derive(Debug)]
pub struct Writer<M: SharedMut, P: Protocol = Sound> {
    shared: M,
    capacity: u64,
    window: u64,
    generation: u64,
    next: u64,
    claimed: u64,
    published: Published,
    sequence: u64,
    /// Records that may wait for publication.
    batch_limit: u64,
    enabled: bool,
    counters: [u64; COUNTERS],
    protocol: PhantomData<P>,
}

impl<M: SharedMut> Writer<M> {
    /// Starts a ring in memory of the right size.
    ///
    /// # Errors
    /// Memory, capacity and generation do not go together.
    pub fn start(
        shared: M,
        identity: &Identity,
        capacity: u64,
        generation: u64,
    ) -> Result<Self, WriterError> {
        Writer::start_as(shared, identity, capacity, generation)
    }
}

impl<M: SharedMut, P: Protocol> Writer<M, P> {
    /// [`Writer::start`] by any protocol.
    ///
    /// # Errors
    /// As [`Writer::start`].
    pub fn start_as(
        shared: M,
        identity: &Identity,
        capacity: u64,
        generation: u64,
    ) -> Result<Self, WriterError> {
        check(capacity)?;
        let octets = shared.len() as u64 * 8;
        if octets != file_bytes(capacity) {
            return Err(WriterError::Memory { capacity, octets });
        }
        if generation & 1 == 1 || generation == 0 {
            return Err(WriterError::Generation(generation));
        }
        let mut writer = Writer {
            shared,
            capacity,
            window: CLAIM_WINDOW.min(capacity / 2),
            generation,
            next: 0,
            claimed: 0,
            published: Published::default(),
            sequence: 0,
            batch_limit: capacity / 2,
            enabled: true,
            counters: [0; COUNTERS],
            protocol: PhantomData,
        };
        writer.begin(identity);
        Ok(writer)
    }

    /// Starts over in place, with the next generation: what readers copy meanwhile is refused.
    pub fn restart(&mut self, identity: &Identity) {
        self.generation += 2;
        self.begin(identity);
    }

    fn begin(&mut self, identity: &Identity) {
        let header = header::encode(identity, self.capacity, self.window);
        protocol::start::<M, P>(&self.shared, self.generation, |shared| {
            let fixed = |at: usize| at != word(GENERATION);
            for (at, octets) in header.as_chunks::<8>().0.iter().enumerate().filter(|(at, _)| fixed(*at)) {
                shared.store(at, u64::from_le_bytes(*octets));
            }
        });
        (self.next, self.claimed, self.sequence) = (0, 0, 0);
        self.published = Published::default();
        self.counters = [0; COUNTERS];
        self.enabled = true;
    }

    /// Sets the number of records that may wait for publication; at most half of the capacity.
    pub fn set_batch_limit(&mut self, records: u64) {
        self.batch_limit = records.clamp(1, self.capacity / 2);
    }

    /// Switches recording on or off; events that come while it is off are counted.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
        self.shared.store(word(ENABLED), u64::from(enabled));
    }

    /// Adds to a counter of the header.
    pub fn count(&mut self, counter: Counter, more: u64) {
        let value = self.counters[counter as usize].wrapping_add(more);
        self.counters[counter as usize] = value;
        self.shared.store(word(counter.offset()), value);
    }

    /// Says that the writer lives.
    pub fn heartbeat(&mut self, monotonic_ns: u64) {
        self.counters[Counter::Heartbeat as usize] = monotonic_ns;
        self.shared.store(word(Counter::Heartbeat.offset()), monotonic_ns);
    }

    /// Says that the writer has ended.
    pub fn close(&mut self) {
        self.shared.store(word(STATE), state::CLOSED);
    }

    /// Whether events are recorded.
    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Generation of this writer.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Ordinal of the next record.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The memory of the ring.
    pub fn shared(&self) -> &M {
        &self.shared
    }

    /// Records an event that belongs to no frame, and publishes it.
    pub fn event(&mut self, event: &Event) {
        if !self.enabled {
            self.count(Counter::EventsDisabled, 1);
            return;
        }
        self.put(&event.words(NO_FRAME, 0));
        self.publish();
    }

    /// Opens the batch of a frame. [`NO_FRAME`] is no id: such a batch takes nothing.
    pub fn frame(&mut self, id: u32) -> Batch<'_, M, P> {
        let (first, open) = (self.next, id != NO_FRAME && self.enabled);
        let limit = self.batch_limit;
        Batch { state: State { limit, id, first, sum: 0, seq: 0, flags: 0, open }, writer: self }
    }

    /// Takes up a batch that was set aside. One that was set aside before a restart in place takes nothing.
    #[inline]
    pub fn resume(&mut self, paused: Paused) -> Batch<'_, M, P> {
        let open = paused.state.open && paused.generation == self.generation;
        Batch { state: State { open, ..paused.state }, writer: self }
    }

    /// Writes one record; it stays private until it is published. For measurements and stress tests.
    #[inline]
    pub fn put(&mut self, payload: &[u64; PAYLOAD_WORDS]) {
        if self.next == self.claimed {
            self.claim();
        }
        protocol::put::<P>(&self.shared, self.generation, self.next, self.capacity, payload);
        self.next += 1;
    }

    /// Publishes everything written so far.
    #[inline]
    pub fn publish(&mut self) {
        self.published.visible = self.next;
        self.sequence = protocol::publish::<P>(&self.shared, self.sequence, &self.published);
    }

    #[cold]
    #[inline(never)]
    fn claim(&mut self) {
        self.claimed =
            protocol::claim::<P>(&self.shared, self.generation, self.next, self.window, self.capacity);
    }
}

/// How far a batch has come.
#[derive(Clone, Copy, Debug)]
struct State {
    id: u32,
    first: u64,
    limit: u64,
    sum: u32,
    seq: u16,
    flags: u16,
    open: bool,
}

/// A batch set aside by [`Batch::pause`], for callers that cannot hold a borrow of the writer from one event to the
/// next. Dropped, it is neither complete nor counted as abandoned: [`Writer::resume`] it.
#[derive(Debug)]
#[must_use = "a paused batch goes on, or is given up, through Writer::resume"]
pub struct Paused {
    state: State,
    generation: u64,
}

/// The events of one frame: private until [`Batch::complete`]; dropped without it, the frame is abandoned.
#[derive(Debug)]
pub struct Batch<'a, M: SharedMut, P: Protocol = Sound> {
    writer: &'a mut Writer<M, P>,
    state: State,
}

impl<M: SharedMut, P: Protocol> Batch<'_, M, P> {
    /// Records an event of the frame; its place, for children to name as parent. `None` when the batch is full or
    /// recording is off: the event is dropped and counted.
    #[inline]
    pub fn event(&mut self, event: &Event) -> Option<u16> {
        if !self.takes() {
            self.refuse();
            return None;
        }
        let seq = self.state.seq;
        let words = event.words(self.state.id, seq);
        self.state.sum = crc::record(self.state.sum, &Record { ordinal: 0, words });
        self.writer.put(&words);
        self.state.seq = seq + 1;
        Some(seq)
    }

    /// Records an event that belongs to no frame while one is under way: it is published with the frame.
    pub fn loose(&mut self, event: &Event) {
        if self.takes() {
            self.writer.put(&event.words(NO_FRAME, 0));
        } else {
            self.refuse();
        }
    }

    /// Sets the batch aside, so that the writer is free until [`Writer::resume`]. What is written meanwhile lies between
    /// its events, and publishing shows them early: nothing should be.
    #[inline]
    pub fn pause(mut self) -> Paused {
        let paused = Paused { state: self.state, generation: self.writer.generation };
        // Dropping the batch would give its frame up.
        self.state.open = false;
        paused
    }

    /// Room is kept for `frame_complete`, whose place has to fit, too.
    #[inline]
    fn takes(&self) -> bool {
        let waiting = self.writer.next - self.state.first;
        self.state.open && waiting + 1 < self.state.limit && self.state.seq < u16::MAX - 1
    }

    #[cold]
    fn refuse(&mut self) {
        let counter = if self.writer.enabled { Counter::EventsDropped } else { Counter::EventsDisabled };
        self.writer.count(counter, 1);
        self.state.flags |= FLAG_TRUNCATED;
    }

    /// Completes the frame: its last record, then everything becomes visible at once.
    pub fn complete(mut self, start_ns: u64, end_ns: u64) {
        if !self.state.open {
            return;
        }
        self.state.open = false;
        let complete =
            Event { kind: Kind::FrameComplete, flags: self.state.flags, ..Event::span(0, start_ns, end_ns) };
        let mut words = complete.words(self.state.id, self.state.seq);
        words[4] = (u64::from(self.state.seq) + 1) << 32;
        words[4] |= u64::from(crc::completion(self.state.sum, &Record { ordinal: 0, words }));
        let writer = &mut *self.writer;
        writer.put(&words);
        writer.published.last_frame = u64::from(self.state.id);
        writer.published.frames += 1;
        writer.published.last_end_ns = end_ns;
        writer.publish();
    }
}

impl<M: SharedMut, P: Protocol> Drop for Batch<'_, M, P> {
    /// Gives the frame up: its records are published as they are, and no reader returns them as a frame.
    fn drop(&mut self) {
        if self.state.open {
            self.writer.count(Counter::FramesAbandoned, 1);
            self.writer.publish();
        }
    }
}
