//! Capture files: records in, UDP datagrams out. One streaming pass, memory independent of the file size.
//!
//! Reads pcap (microsecond, nanosecond, Kuznetzov's modification) and pcapng in both byte orders, plain or packed
//! with gzip or zstd. Damage ends the pass and is reported; everything before it is yielded.

mod checksum;
mod clock;
mod dissect;
mod ending;
mod error;
mod evidence;
mod ip;
mod link;
mod octets;
mod open;
mod options;
mod pcap;
mod pcapng;
mod reassembly;
mod record;
mod run;
mod tally;
mod tape;
mod udp;
mod usual;
mod wide;
mod window;
mod writer;

pub use dissect::Dissector;
pub use error::CaptureError;
pub use evidence::comment as drops_comment;
pub use evidence::step_comment;
pub use open::{read_headers_into, read_into, read_path, read_records, read_records_path, read_stream};
pub use record::{LinkType, RECORD_MAX, Record};
pub use writer::PcapngWriter;

use std::collections::BTreeMap;
use wireproof_protocols::verify::HostDrops;
use wireproof_protocols::{Arrival, Datagram, Timestamp};
use wireproof_reports::tape::Event;

/// What a capture yields, in file order.
pub enum Item<'a> {
    /// A whole UDP datagram.
    Datagram(Arrival, Datagram<'a>),
    /// A record without a (complete) UDP datagram: other protocols, fragments still open, undissected link types.
    Packet(Arrival),
    /// The capture says it lost packets between these instants (interface statistics).
    Blind {
        /// Not before this.
        from: Timestamp,
        /// Not after this.
        to: Timestamp,
        /// Packets lost.
        dropped: u64,
    },
    /// Drop evidence that a live observer wrote into its capture.
    Drops(HostDrops),
    /// A live observer noticed that the clock of the stamps was set by so many nanoseconds.
    ClockStep(i64),
    /// A datagram, or a stretch of other traffic, from a tape.
    Taped(Event<'a>),
}

/// What takes the items of a capture, in file order. Any closure over [`Item`] does; a type of its own gets most datagrams
/// borrowed and inlined, without an item that is put together and taken apart again.
pub trait Taker {
    /// Takes a datagram.
    fn datagram(&mut self, arrival: Arrival, datagram: &Datagram<'_>);

    /// Takes any item, a datagram too.
    fn item(&mut self, item: Item<'_>);
}

impl<F: FnMut(Item<'_>) + ?Sized> Taker for F {
    #[inline]
    fn datagram(&mut self, arrival: Arrival, datagram: &Datagram<'_>) {
        self(Item::Datagram(arrival, *datagram));
    }

    #[inline]
    fn item(&mut self, item: Item<'_>) {
        self(item);
    }
}

/// What is known of a capture file after the pass.
#[derive(Clone, Debug, Default)]
pub struct SourceReport {
    /// File name as given, `-` for standard input.
    pub name: String,
    /// Resolution of the stamps: `file-us` or `file-ns` (the finest interface decides).
    pub timestamps: &'static str,
    /// Records read.
    pub packets: u64,
    /// Records by link type, by the names of [`LinkType`] (`EN10MB`, `SLL`, `NULL`, `RAW`, …; `LT<number>` when
    /// unnamed).
    pub link_types: BTreeMap<String, u64>,
    /// Of them: those whose link type is not dissected, so that nothing in them was looked at.
    pub undecoded: BTreeMap<String, u64>,
    /// What is damaged and where, one sentence; everything before it was read.
    pub damaged: Option<String>,
    /// Packets the capture says it dropped.
    pub capture_dropped: u64,
    /// IP fragments seen, datagrams put together from fragments, datagrams that stayed incomplete.
    pub fragments: (u64, u64, u64),
    /// Fragmented datagrams of which two fragments disagreed about octets; the first to arrive was believed.
    pub overlapping: u64,
    /// When capturing ended, at the last record or after it; `None` where the file does not say, or is cut.
    pub ended: Option<Timestamp>,
}
