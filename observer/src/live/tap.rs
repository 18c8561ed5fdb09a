//! What the packet ring and libpcap have in common: options, errors, and the step from a link-layer record to what
//! is handed over.

use super::interfaces::NoSuchInterface;
use super::source::{Seen, Source};
use crate::capture::{Dissector, Item, LinkType, Record};
use std::io;
use std::net::IpAddr;
use thiserror::Error;
use wireproof_protocols::{Checksum, Datagram, Timestamp};

/// Ring or buffer asked for unless said otherwise, octets: 1.4 s of 61,000 datagrams of 638 octets a second.
pub const BUFFER_BYTES: u64 = 64 << 20;

/// Which frames the kernel hands to a tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapFilter {
    /// UDP from or to one of these ports, and every IP fragment that may belong to it.
    Ports(Vec<u16>),
    /// Every frame.
    Everything,
    /// A filter in the language of pcap-filter(7); for libpcap only.
    Expression(String),
}

/// How to listen on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapOptions {
    /// Name of the interface.
    pub interface: String,
    /// True to receive frames for other hosts too, for as long as the source is open.
    pub promiscuous: bool,
    /// Ring or buffer asked for, octets.
    pub buffer_bytes: u64,
    /// Which frames to hand over.
    pub filter: TapFilter,
    /// True to prefer the interface's own stamps, where its driver makes them; their clock need not be the host's.
    pub hardware_stamps: bool,
}

impl TapOptions {
    /// Promiscuous, 64 MiB, kernel stamps.
    pub fn new(interface: impl Into<String>, filter: TapFilter) -> Self {
        let interface = interface.into();
        TapOptions {
            interface,
            promiscuous: true,
            buffer_bytes: BUFFER_BYTES,
            filter,
            hardware_stamps: false,
        }
    }
}

/// Why an interface cannot be listened on, one line each with what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TapError {
    /// No interface of that name.
    #[error(transparent)]
    NoSuchInterface(#[from] NoSuchInterface),
    /// This process may not open a packet socket.
    #[error(
        "listening on {interface:?} takes the right CAP_NET_RAW: run `sudo setcap cap_net_raw=ep {binary}`, run as \
         root, or use --udp"
    )]
    NotPermitted {
        /// Interface as given.
        interface: String,
        /// Path of the running program.
        binary: String,
    },
    /// The link layer is one that no dissector knows.
    #[error(
        "{interface:?} has link type {kind}, which is not dissected; name an Ethernet, loopback or tun interface, \
         or use --udp"
    )]
    LinkType {
        /// Interface as given.
        interface: String,
        /// Link type as the system names or numbers it.
        kind: String,
    },
    /// The kernel has no memory for a ring, however small.
    #[error(
        "{interface:?}: no memory for a packet ring of {bytes} octets ({source}); free some or use --udp"
    )]
    Memory {
        /// Interface as given.
        interface: String,
        /// Octets last asked for.
        bytes: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// The filter is not accepted.
    #[error("{interface:?}: filter {expression:?}: {reason}")]
    Filter {
        /// Interface as given.
        interface: String,
        /// The filter.
        expression: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The operating system, or libpcap, refused something else.
    #[error("{interface:?}: {what}: {source}; use --udp where packet capture is not available")]
    System {
        /// Interface as given.
        interface: String,
        /// What was tried.
        what: &'static str,
        /// What was said.
        source: io::Error,
    },
}

/// Opens a packet ring.
///
/// # Errors
/// [`TapError`], one line with what to do.
#[cfg(target_os = "linux")]
pub fn packet_ring(options: &TapOptions) -> Result<Box<dyn Source>, TapError> {
    Ok(Box::new(super::ring::RingSource::open(options)?))
}

/// Elsewhere there is none.
///
/// # Errors
/// [`TapError::System`]
#[cfg(not(target_os = "linux"))]
pub fn packet_ring(options: &TapOptions) -> Result<Box<dyn Source>, TapError> {
    let source = io::Error::new(io::ErrorKind::Unsupported, "Linux alone has packet rings");
    Err(TapError::System { interface: options.interface.clone(), what: "opening a packet ring", source })
}

impl TapError {
    /// Sorts an error of trying `what` on `interface` into the case a user can act on.
    pub(super) fn refused(interface: &str, what: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => TapError::not_permitted(interface),
            _ => TapError::System { interface: interface.to_owned(), what, source },
        }
    }

    /// The missing right, with the command that grants it.
    pub(super) fn not_permitted(interface: &str) -> Self {
        let binary = std::env::current_exe();
        let binary = binary.map_or_else(|_| "wireproof".to_owned(), |path| path.display().to_string());
        TapError::NotPermitted { interface: interface.to_owned(), binary }
    }
}

/// The error a source gives when its interface went down, once each time.
pub(super) fn went_down(interface: &str) -> io::Error {
    let text = format!("{interface:?} is down; frames are seen again once it is up");
    io::Error::new(io::ErrorKind::NetworkDown, text)
}

/// The error a source gives when its interface was removed, at every poll.
pub(super) fn was_removed(interface: &str) -> io::Error {
    let text = format!("{interface:?} was removed from the system; no more frames can come, so start anew");
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// The pcap name of a link type that is dissected.
pub(super) fn link_name(link_type: LinkType) -> Option<&'static str> {
    Some(match link_type.0 {
        0 => "NULL",
        1 => "EN10MB",
        12 | 14 | 101 => "RAW",
        108 => "LOOP",
        113 => "SLL",
        228 => "IPV4",
        229 => "IPV6",
        276 => "SLL2",
        _ => return None,
    })
}

/// How far to believe a checksum that does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offload {
    /// The checksum was on the wire.
    Done,
    /// The kernel says that the sending interface was to fill it in.
    Pending,
    /// Not known: it is pending when it is the sum over the pseudo-header alone, which is what Linux leaves for
    /// the sending interface to add to.
    #[cfg_attr(not(any(feature = "libpcap", test)), allow(dead_code))]
    Guess,
}

/// What a tap knows of a frame besides its octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aside {
    /// VLAN id of a tag that the kernel took out of the frame.
    pub(super) vlan: Option<u16>,
    /// State of the UDP checksum.
    pub(super) offload: Offload,
}

/// A frame as a tap got it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken<'a> {
    /// Number of the frame, from 1.
    pub(super) number: u64,
    pub(super) at: Timestamp,
    /// From the start of the link layer, as far as it was captured.
    pub(super) data: &'a [u8],
    /// Octets on the wire.
    pub(super) length: u32,
    pub(super) aside: Aside,
}

/// From frames to what is handed over.
pub(super) struct Teller {
    dissector: Dissector,
    /// For frames whose checksum says nothing.
    unsummed: Dissector,
    link_type: LinkType,
    /// True when frames are handed over too.
    frames: bool,
}

impl Teller {
    pub(super) fn new(link_type: LinkType) -> Self {
        Teller { dissector: Dissector::new(), unsummed: Dissector::of_headers(), link_type, frames: false }
    }

    /// Hands over frames from now on.
    pub(super) fn show_frames(&mut self) {
        self.frames = true;
    }

    /// See [`super::source::Source::fragments`].
    pub(super) fn fragments(&self) -> (u64, u64, u64) {
        self.dissector.fragments()
    }

    /// True when frames are handed over.
    #[inline]
    pub(super) fn shows_frames(&self) -> bool {
        self.frames
    }

    /// Hands over a frame, when asked to, and what is in it.
    #[inline]
    pub(super) fn tell(&mut self, taken: &Taken<'_>, each: &mut dyn FnMut(Seen<'_>)) {
        let record = Record {
            number: taken.number,
            at: taken.at,
            link_type: self.link_type,
            interface: 0,
            snap_length: 0,
            data: taken.data,
            original_length: taken.length,
            comment: None,
        };
        if self.frames {
            each(Seen::Frame(record));
        }
        // Fragments are put together in one place.
        let unsummed = taken.aside.offload == Offload::Pending && is_plain(&record);
        let dissector = if unsummed { &mut self.unsummed } else { &mut self.dissector };
        match dissector.dissect(&record) {
            Item::Datagram(arrival, mut datagram) => {
                amend(&mut datagram, taken.aside);
                each(Seen::Datagram(arrival.at, datagram));
            }
            Item::Packet(arrival) => each(Seen::Packet(arrival.at)),
            // Only files say this; a tap has its counters.
            Item::Blind { .. } | Item::Drops(_) | Item::ClockStep(_) | Item::Taped(_) => {}
        }
    }
}

/// True for a whole IPv4 datagram, no fragment, behind an Ethernet header without tags.
#[inline]
fn is_plain(record: &Record<'_>) -> bool {
    let Some(head) = record.data.first_chunk::<22>() else { return false };
    let whole = u16::from_be_bytes([head[20], head[21]]) & 0x3fff == 0;
    let version_4 = head[12..14] == [0x08, 0x00] && head[14] >> 4 == 4;
    record.link_type == LinkType::ETHERNET && version_4 && whole
}

/// Adds to a datagram what its octets did not say. A checksum that was never on the wire says nothing.
#[inline]
fn amend(datagram: &mut Datagram<'_>, aside: Aside) {
    datagram.link.vlan = aside.vlan.or(datagram.link.vlan);
    let pending = match aside.offload {
        Offload::Done => false,
        Offload::Pending => true,
        Offload::Guess => datagram.link.checksum == Checksum::Bad && left_to_interface(datagram),
    };
    if pending {
        datagram.link.checksum = Checksum::Unknown;
        datagram.link.checksum_field = 0;
    }
}

/// True when the checksum field is the sum over the pseudo-header alone.
fn left_to_interface(datagram: &Datagram<'_>) -> bool {
    let length = u64::from(datagram.length) + 8;
    let mut sum = words(datagram.source.ip()) + words(datagram.destination.ip()) + 17 + length;
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == u64::from(datagram.link.checksum_field)
}

/// The sum of an address's 16-bit words.
fn words(address: IpAddr) -> u64 {
    let sum = |octets: &[u8]| {
        octets.chunks_exact(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair[1])).sum::<u64>()
    };
    match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four octets from 192.0.2.1 to 192.0.2.2 with a given checksum.
    fn datagram(field: u16, checksum: Checksum) -> Datagram<'static> {
        let source = "192.0.2.1:1000".parse().unwrap();
        let destination = "192.0.2.2:5568".parse().unwrap();
        let mut datagram = Datagram::new(source, destination, &[1, 2, 3, 4]);
        datagram.link.checksum = checksum;
        datagram.link.checksum_field = field;
        datagram
    }

    fn amended(field: u16, checksum: Checksum, offload: Offload) -> (Checksum, u16) {
        let mut datagram = datagram(field, checksum);
        amend(&mut datagram, Aside { vlan: None, offload });
        (datagram.link.checksum, datagram.link.checksum_field)
    }

    // c000 + 0201 + c000 + 0202 + 0011 + 000c = 18420, folded 8421.
    const PSEUDO: u16 = 0x8421;

    #[test]
    fn a_checksum_left_to_the_interface_is_unknown_and_never_bad() {
        assert_eq!(amended(PSEUDO, Checksum::Bad, Offload::Guess), (Checksum::Unknown, 0));
        assert_eq!(amended(PSEUDO, Checksum::Bad, Offload::Pending), (Checksum::Unknown, 0));
        assert_eq!(amended(7, Checksum::Good, Offload::Pending), (Checksum::Unknown, 0));
    }

    #[test]
    fn a_wrong_checksum_from_the_wire_stays_bad() {
        assert_eq!(amended(PSEUDO, Checksum::Bad, Offload::Done), (Checksum::Bad, PSEUDO));
        assert_eq!(amended(PSEUDO + 1, Checksum::Bad, Offload::Guess), (Checksum::Bad, PSEUDO + 1));
        assert_eq!(amended(9, Checksum::Good, Offload::Guess), (Checksum::Good, 9));
    }

    #[test]
    fn a_frame_whose_checksum_says_nothing_is_told_as_before_and_fragments_are_put_together_in_one_place() {
        let mut frame = vec![0x02; 12];
        frame.extend([0x08, 0, 0x45, 0, 0, 32, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x15, 0xc0, 0x15, 0xc0, 0, 12, 0x99, 0x88, 1, 2, 3, 4]);
        for (at, value) in (0..42).flat_map(|at| (0..=255u8).map(move |value| (at, value))) {
            let mut data = frame.clone();
            data[at] = value;
            let aside = Aside { vlan: None, offload: Offload::Pending };
            let taken = Taken { number: 1, at: Timestamp(5), data: &data, length: 46, aside };
            let mut usual = Teller::new(LinkType::ETHERNET);
            // Both look at every checksum here.
            let mut summing = Teller { unsummed: Dissector::new(), ..Teller::new(LinkType::ETHERNET) };
            let told = [&mut usual, &mut summing].map(|teller| {
                let mut told = Vec::new();
                teller.tell(&taken, &mut |seen| told.push(format!("{seen:?}")));
                told
            });
            assert_eq!(told[0], told[1], "octet {at} is {value}");
            assert_eq!(usual.fragments(), summing.fragments());
            assert_eq!(usual.unsummed.fragments(), (0, 0, 0));
        }
    }

    #[test]
    fn a_tag_that_the_kernel_took_out_is_the_outermost() {
        let mut datagram = datagram(0, Checksum::Absent);
        datagram.link.vlan = Some(7);
        amend(&mut datagram, Aside { vlan: None, offload: Offload::Done });
        assert_eq!(datagram.link.vlan, Some(7));
        amend(&mut datagram, Aside { vlan: Some(100), offload: Offload::Done });
        assert_eq!(datagram.link.vlan, Some(100));
    }

    #[test]
    fn a_missing_right_names_the_command_that_grants_it() {
        let error = TapError::refused("eth0", "open", io::Error::from(io::ErrorKind::PermissionDenied));
        let text = error.to_string();
        assert!(text.contains("sudo setcap cap_net_raw=ep /"), "{text}");
        assert!(text.contains("--udp") && !text.contains('\n'), "{text}");
    }
}
