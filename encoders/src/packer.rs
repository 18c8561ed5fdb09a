//! What all encoders share: the plan of a frame, laid out once for each frame length, and the two backends.
//!
//! A protocol says how a header looks and which fields count ([`Layout`]); everything else happens here. While
//! the frame length stays, a frame costs the counters and, with [`Backend::Contiguous`], one copy of the pixels.

use crate::arena::{Arena, Heads, LINE, Loose, Shape};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use wireproof_protocols::{Batch, EncodeError, Encoder, Protocol, Timestamp, Value};

/// Octets of an Ethernet frame that IP may fill.
const MTU: u64 = 1500;
/// Most octets of UDP payload that IPv4 can carry.
const UDP_MAX: u64 = 65_507;

/// A length no frame has.
const NO_PLAN: usize = usize::MAX;

/// How the datagrams of a frame are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// Every datagram in one piece, pixels copied behind its header.
    #[default]
    Contiguous,
    /// Every datagram as header and borrowed pixels, for sendmsg and sendmmsg; nothing is copied.
    Gather,
}

impl Backend {
    /// Both.
    pub const ALL: [Backend; 2] = [Backend::Contiguous, Backend::Gather];

    /// Name in every output and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Contiguous => "contiguous",
            Backend::Gather => "gather",
        }
    }
}

/// Where a datagram stands in its frame.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Datagram of the frame, 0-based.
    pub(crate) index: usize,
    /// Datagrams that carry data.
    pub(crate) count: usize,
    /// Octet of the frame it starts with.
    pub(crate) offset: usize,
    /// Octets of the frame it carries.
    pub(crate) octets: usize,
    /// Octets of the frame.
    pub(crate) frame: usize,
}

impl Place {
    pub(crate) fn is_last(&self) -> bool {
        self.index + 1 == self.count
    }
}

/// What a protocol adds to the plan: headers, and the fields that change from frame to frame.
pub trait Layout {
    /// The protocol.
    const PROTOCOL: Protocol;
    /// Octets of the usual data header.
    const HEAD: usize;

    /// Frame octets in each datagram but the last.
    fn chunk(&self) -> usize;

    /// Most octets in a frame.
    fn room(&self) -> u64;

    /// Appends the header of a data datagram, counters zero, and says where it goes.
    fn head(&self, place: &Place, out: &mut Vec<u8>) -> SocketAddr;

    /// Appends the datagram that follows the data, counters zero; `None` when there is none.
    fn tail(&self, _out: &mut Vec<u8>) -> Option<SocketAddr> {
        None
    }

    /// Zero octets behind the data of a last datagram with this many.
    fn pad(&self, _octets: usize) -> usize {
        0
    }

    /// Makes room for the counters of this many data datagrams.
    fn prepare(&mut self, _data: usize) {}

    /// Writes the changing fields into the headers and moves the counters on.
    fn number(&mut self, heads: &mut Heads<'_>);

    /// See [`Encoder::set_time`]; true when the headers have to be laid out anew.
    fn set_time(&mut self, _at: Timestamp) -> bool {
        false
    }

    /// See [`Encoder::terminate`].
    fn terminate(&mut self, _out: &mut Aside) {}

    /// See [`Encoder::discovery`].
    fn discovery(&mut self, _out: &mut Aside) {}
}

/// Datagrams outside the frames.
pub struct Aside {
    loose: Loose,
    destinations: Vec<SocketAddr>,
}

impl Aside {
    /// Appends one datagram.
    pub(crate) fn push(&mut self, destination: SocketAddr, write: impl FnOnce(&mut Vec<u8>)) {
        self.loose.push(write);
        self.destinations.push(destination);
    }

    fn clear(&mut self) {
        self.loose.clear();
        self.destinations.clear();
    }

    fn batch(&mut self) -> Batch<'_> {
        Batch::new(self.loose.pieces(), 1, &self.destinations)
    }
}

/// An encoder of one protocol: its layout, and the plan of the latest frame length.
pub struct Packer<L> {
    pub(crate) layout: L,
    backend: Backend,
    arena: Arena,
    destinations: Vec<SocketAddr>,
    aside: Aside,
    /// Frame octets the plan is for; [`NO_PLAN`] when it has to be made anew.
    planned: usize,
    scratch: Vec<u8>,
}

impl<L: fmt::Debug> fmt::Debug for Packer<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").field("layout", &self.layout).field("backend", &self.backend).finish()
    }
}

impl<L: Layout> Packer<L> {
    pub(crate) fn with(layout: L, backend: Backend) -> Self {
        Packer {
            layout,
            backend,
            arena: Arena::new(),
            destinations: Vec::new(),
            aside: Aside { loose: Loose::new(), destinations: Vec::new() },
            planned: NO_PLAN,
            scratch: Vec::new(),
        }
    }

    /// How the datagrams are held.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Has the headers laid out anew before the next frame, because something in them changed.
    pub(crate) fn replan(&mut self) {
        self.planned = NO_PLAN;
    }

    /// Datagrams outside the frames, made by `write`.
    pub(crate) fn aside(&mut self, write: impl FnOnce(&mut L, &mut Aside)) -> Batch<'_> {
        self.aside.clear();
        write(&mut self.layout, &mut self.aside);
        self.aside.batch()
    }

    #[inline]
    fn plan(&mut self, octets: usize) -> Result<(), EncodeError> {
        if self.planned == octets { Ok(()) } else { self.plan_anew(octets) }
    }

    #[cold]
    fn plan_anew(&mut self, octets: usize) -> Result<(), EncodeError> {
        self.check(octets)?;
        let shape = self.shape(octets);
        self.layout.prepare(shape.data);
        self.destinations.clear();
        let (layout, scratch, destinations) = (&self.layout, &mut self.scratch, &mut self.destinations);
        self.arena.lay_out(shape, |index, room| {
            scratch.clear();
            let destination = if index < shape.data {
                Some(layout.head(&place(index, octets, &shape), scratch))
            } else {
                layout.tail(scratch)
            };
            room.copy_from_slice(scratch);
            destinations.extend(destination);
        });
        self.planned = octets;
        Ok(())
    }

    fn check(&self, octets: usize) -> Result<(), EncodeError> {
        let room = self.layout.room();
        if octets as u64 <= room {
            return Ok(());
        }
        Err(EncodeError { field: "frame octets", value: octets as u64, limit: Value::AtMost(room) })
    }

    /// Counts and measures the datagrams of a frame.
    fn shape(&mut self, octets: usize) -> Shape {
        let chunk = self.layout.chunk();
        let data = octets.div_ceil(chunk);
        let mut shape = Shape { octets, data, chunk, head: L::HEAD, last_head: L::HEAD, ..Shape::default() };
        if data > 0 {
            shape.last = octets - (data - 1) * chunk;
            shape.pad = self.layout.pad(shape.last);
            self.scratch.clear();
            self.layout.head(&place(data - 1, octets, &shape), &mut self.scratch);
            shape.last_head = self.scratch.len();
            self.scratch.clear();
            let tail = self.layout.tail(&mut self.scratch);
            shape.tail = self.scratch.len();
            shape.count = data + usize::from(tail.is_some());
        }
        shape.contiguous = self.backend == Backend::Contiguous;
        shape.width = if shape.contiguous { 1 } else { 2 + shape.pad };
        let head = L::HEAD.max(shape.last_head).max(shape.tail);
        if shape.contiguous {
            shape.lead = L::HEAD.next_multiple_of(LINE) - L::HEAD;
            shape.stride = (shape.lead + head + chunk + shape.pad).next_multiple_of(LINE);
        } else {
            shape.stride = head.next_multiple_of(16);
        }
        shape
    }
}

fn place(index: usize, frame: usize, shape: &Shape) -> Place {
    let octets = if index + 1 == shape.data { shape.last } else { shape.chunk };
    Place { index, count: shape.data, offset: index * shape.chunk, octets, frame }
}

impl<L: Layout> Encoder for Packer<L> {
    fn protocol(&self) -> Protocol {
        L::PROTOCOL
    }

    #[inline]
    fn encode<'a>(&'a mut self, frame: &'a [u8]) -> Result<Batch<'a>, EncodeError> {
        self.plan(frame.len())?;
        let width = self.arena.shape().width;
        if !frame.is_empty() {
            self.layout.number(&mut self.arena.heads());
        }
        Ok(Batch::new(self.arena.fill(frame), width, &self.destinations))
    }

    fn frame_mut(&mut self, octets: usize) -> Result<&mut [u8], EncodeError> {
        self.check(octets)?;
        Ok(self.arena.frame_mut(octets))
    }

    #[inline]
    fn encode_own(&mut self) -> Result<Batch<'_>, EncodeError> {
        let octets = self.arena.frame_octets();
        self.plan(octets)?;
        let width = self.arena.shape().width;
        if octets > 0 {
            self.layout.number(&mut self.arena.heads());
        }
        Ok(Batch::new(self.arena.fill_own(), width, &self.destinations))
    }

    fn set_time(&mut self, at: Timestamp) {
        if self.layout.set_time(at) {
            self.replan();
        }
    }

    fn terminate(&mut self) -> Batch<'_> {
        self.aside(Layout::terminate)
    }

    fn discovery(&mut self) -> Batch<'_> {
        self.aside(Layout::discovery)
    }
}

/// Checks that a datagram of `octets` UDP payload reaches `destination` in one piece; in pieces when `fragment`.
pub(crate) fn check_size(octets: u64, destination: IpAddr, fragment: bool) -> Result<(), EncodeError> {
    let headers = if destination.is_ipv4() { 28 } else { 48 };
    let (field, limit) = if fragment {
        ("datagram octets", UDP_MAX)
    } else {
        ("datagram octets, IP and UDP headers included,", MTU)
    };
    let value = if fragment { octets } else { octets + headers };
    if value <= limit {
        return Ok(());
    }
    Err(EncodeError { field, value, limit: Value::AtMost(limit) })
}
