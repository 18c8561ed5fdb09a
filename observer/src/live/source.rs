//! What every live source of datagrams looks like to the receive loop.

use crate::capture::Record;
use std::io;
use std::time::Duration;
use wireproof_protocols::verify::DropLayer;
use wireproof_protocols::{Datagram, Timestamp};

/// What a source hands over, in order of arrival.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// A UDP datagram with the time it was stamped at.
    Datagram(Timestamp, Datagram<'a>),
    /// A frame that holds no whole UDP datagram.
    Packet(Timestamp),
    /// The frame that the next item comes from, on sources that have frames, once [`Source::show_frames`] asked for it.
    Frame(Record<'a>),
    /// The kernel says that it threw away so many datagrams, or frames, of this source: after what was handed over
    /// before, and before what is handed over next.
    Dropped(u64),
}

/// Where a source loses what it cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Receive buffer of a UDP socket.
    Socket,
    /// Packet ring or libpcap buffer.
    Ring,
}

impl From<Layer> for DropLayer {
    fn from(layer: Layer) -> Self {
        match layer {
            Layer::Socket => DropLayer::Socket,
            Layer::Ring => DropLayer::Ring,
        }
    }
}

/// Counters of a source, all counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCounters {
    /// Datagrams or frames handed over.
    pub received: u64,
    /// Thrown away by the kernel for want of room, as far as the kernel said; checksum errors of a UDP socket included.
    pub dropped: u64,
    /// Datagrams longer than the buffer they were read into.
    pub cut: u64,
    /// Octets of buffer in use when last looked at, and granted.
    pub queued_bytes: u64,
    /// See `queued_bytes`.
    pub granted_bytes: u64,
}

/// What a source is, for the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceInfo {
    /// `udp`, `packet` or `pcap`.
    pub kind: &'static str,
    /// Address or interface.
    pub name: String,
    /// Who stamps: `kernel`, `hardware` or `user`.
    pub timestamps: &'static str,
    /// Link type by its pcap name, e.g. `EN10MB`; `None` for sockets.
    pub link_type: Option<&'static str>,
    /// Receive buffer asked for and granted (as the kernel charges it), octets.
    pub buffer_bytes: (u64, u64),
    /// One sentence for each thing a user should know, e.g. a buffer smaller than asked for.
    pub notes: Vec<String>,
}

/// A live source. Made on any thread, then owned by one receive thread.
pub trait Source: Send {
    /// Waits for at most `wait` until something arrives, then hands over everything that is there, at most one
    /// round of it; returns how many datagrams and frames that was. Allocates nothing, logs nothing.
    ///
    /// # Errors
    /// What the operating system says; an interface that went down is an error of kind `NetworkDown`, after which
    /// polling may go on.
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize>;

    /// Reads the kernel's counters (not for the inner loop). Drops that no datagram has announced so far are in it.
    ///
    /// # Errors
    /// What the operating system says.
    fn counters(&mut self) -> io::Result<SourceCounters>;

    /// Drops that no [`Seen::Dropped`] has told, for the end of a run; each is handed over once.
    ///
    /// # Errors
    /// What the operating system says.
    fn take_unannounced(&mut self) -> io::Result<u64> {
        Ok(0)
    }

    /// Hand over the frames themselves too; sources without frames have nothing to show.
    fn show_frames(&mut self) {}

    /// IP fragments seen, datagrams put together from fragments, datagrams that stayed incomplete; `None` where the
    /// kernel puts them together before anybody sees them (sockets).
    fn fragments(&self) -> Option<(u64, u64, u64)> {
        None
    }

    /// Which layer [`Seen::Dropped`] and [`SourceCounters::dropped`] speak of.
    fn layer(&self) -> Layer;

    /// True when the kernel counts what it throws away, so that a flat counter clears the observer.
    fn counts_drops(&self) -> bool {
        true
    }

    /// What the source is.
    fn info(&self) -> &SourceInfo;
}
