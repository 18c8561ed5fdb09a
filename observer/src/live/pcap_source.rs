//! Frames of an interface through libpcap, for filters in its language. It is read without blocking, behind a wait
//! on its descriptor: libpcap's own timeout does not end a read on a quiet network.
//!
//! libpcap tells how many frames were dropped and not where. Drops are handed over behind the frames that lay in the
//! buffer when they were learnt of, or as soon as the buffer is empty.

use super::interfaces;
use super::pcap_host::{self, PRECISION, UNIT_NS};
use super::source::{Layer, Seen, Source, SourceCounters, SourceInfo};
use super::tap::{self, Aside, Offload, Taken, TapError, TapFilter, TapOptions, Teller};
use crate::capture::{LinkType, RECORD_MAX};
use pcap::{Active, Capture, Direction, Error, Packet};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use wireproof_protocols::Timestamp;

/// Milliseconds after which frames are handed over though the buffer's block is not full.
const RETIRE_MS: i32 = 5;
/// Frames handed over in one round at most.
const ROUND: usize = 65_536;
/// Places of drops kept apart; further ones go to the last place.
const PLACES: usize = 64;

/// Frames of one interface, read by libpcap.
pub struct PcapSource {
    capture: Capture<Active>,
    reader: Reader,
    drops: Drops,
    granted: u64,
    info: SourceInfo,
}

impl PcapSource {
    /// Listens on an interface; transmits nothing. An interface that is down is accepted where libpcap accepts it.
    ///
    /// # Errors
    /// [`TapError`], one line with what to do.
    pub fn open(options: &TapOptions) -> Result<Self, TapError> {
        let interface = interfaces::find(&options.interface)?;
        let name = interface.name.as_str();
        pcap_host::may_open(name)?;
        let mut capture = activate(name, options).map_err(|error| failed(name, "opening libpcap", error))?;
        let number = capture.get_datalink().0;
        let link_type = LinkType(u16::try_from(number).unwrap_or(u16::MAX));
        let Some(link_name) = tap::link_name(link_type) else {
            return Err(TapError::LinkType { interface: name.to_owned(), kind: format!("DLT {number}") });
        };
        filter(&mut capture, name, link_type, &options.filter)?;
        let mut drops = Drops::default();
        drops.begin(&mut capture).map_err(|error| failed(name, "reading the counters", error))?;
        let info = SourceInfo {
            kind: "pcap",
            name: name.to_owned(),
            timestamps: "kernel",
            link_type: Some(link_name),
            buffer_bytes: (options.buffer_bytes, buffer(options.buffer_bytes).unsigned_abs().into()),
            notes: notes(options),
        };
        let reader = Reader { teller: Teller::new(link_type), received: 0, cut: 0 };
        Ok(PcapSource { capture, reader, drops, granted: info.buffer_bytes.1, info })
    }
}

impl Source for PcapSource {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        let readable = pcap_host::wait(&self.capture, &self.info.name, wait)?;
        self.drops.learn(&mut self.capture, self.reader.received).map_err(said)?;
        if !readable {
            self.drops.announce(u64::MAX, each);
            return Ok(0);
        }
        let (reader, drops) = (&mut self.reader, &mut self.drops);
        let read = self.capture.dispatch(Some(ROUND), |packet| {
            drops.announce(reader.received, each);
            reader.read(&packet, each);
        });
        read.map_err(said)
    }

    fn counters(&mut self) -> io::Result<SourceCounters> {
        self.drops.learn(&mut self.capture, self.reader.received).map_err(said)?;
        Ok(SourceCounters {
            received: self.reader.received,
            dropped: self.drops.total,
            cut: self.reader.cut,
            // libpcap does not tell how full its buffer is.
            queued_bytes: 0,
            granted_bytes: self.granted,
        })
    }

    fn take_unannounced(&mut self) -> io::Result<u64> {
        self.drops.learn(&mut self.capture, self.reader.received).map_err(said)?;
        Ok(self.drops.places.drain(..).map(|(_, drops)| drops).sum())
    }

    fn show_frames(&mut self) {
        self.reader.teller.show_frames();
    }

    fn fragments(&self) -> Option<(u64, u64, u64)> {
        Some(self.reader.teller.fragments())
    }

    fn layer(&self) -> Layer {
        Layer::Ring
    }

    fn info(&self) -> &SourceInfo {
        &self.info
    }
}

/// Takes frames from libpcap.
struct Reader {
    teller: Teller,
    received: u64,
    cut: u64,
}

impl Reader {
    #[allow(clippy::useless_conversion, reason = "the type of `tv_usec` differs between systems")]
    fn read(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(Seen<'_>)) {
        // With nanosecond precision asked for, the field named after microseconds holds nanoseconds.
        let stamp = packet.header.ts;
        let fraction_ns = i64::from(stamp.tv_usec) * UNIT_NS;
        let at = Timestamp(stamp.tv_sec.saturating_mul(1_000_000_000).saturating_add(fraction_ns));
        let (data, length) = (packet.data, packet.header.len);
        self.received += 1;
        self.cut += u64::from(length as usize > data.len());
        let aside = Aside { vlan: None, offload: Offload::Guess };
        self.teller.tell(&Taken { number: self.received, at, data, length, aside }, each);
    }
}

/// The account of drops.
#[derive(Debug, Default)]
struct Drops {
    /// Frames dropped since the source was opened.
    total: u64,
    /// Frames put into the buffer since then.
    put: u64,
    /// libpcap's counters when last read; they wrap around.
    last: (u32, u32),
    /// Frames to be handed over before an announcement, counted from the start, and the drops to announce.
    places: VecDeque<(u64, u64)>,
}

impl Drops {
    /// Starts counting.
    fn begin(&mut self, capture: &mut Capture<Active>) -> Result<(), Error> {
        let counters = capture.stats()?;
        self.last = (counters.received, counters.dropped);
        self.places.reserve(PLACES);
        Ok(())
    }

    /// Reads libpcap's counters; `received` frames have been handed over.
    fn learn(&mut self, capture: &mut Capture<Active>, received: u64) -> Result<(), Error> {
        let counters = capture.stats()?;
        self.note(counters.received, counters.dropped, received);
        Ok(())
    }

    /// Takes counters in which the frames received include those dropped.
    fn note(&mut self, all: u32, dropped: u32, received: u64) {
        let (new, drops) = (all.wrapping_sub(self.last.0), dropped.wrapping_sub(self.last.1));
        self.last = (all, dropped);
        self.put += u64::from(new.saturating_sub(drops));
        if drops == 0 {
            return;
        }
        self.total += u64::from(drops);
        let place = (self.put.max(received), u64::from(drops));
        let full = self.places.len() >= PLACES;
        match self.places.back_mut().filter(|_| full) {
            Some(last) => last.1 += place.1,
            None => self.places.push_back(place),
        }
    }

    /// Hands over the drops whose place is behind `received` frames.
    fn announce(&mut self, received: u64, each: &mut dyn FnMut(Seen<'_>)) {
        while let Some((_, drops)) = self.places.pop_front_if(|(place, _)| *place <= received) {
            each(Seen::Dropped(drops));
        }
    }
}

/// Opens libpcap on an interface, without blocking, and without what the host itself sends.
fn activate(name: &str, options: &TapOptions) -> Result<Capture<Active>, Error> {
    let capture = Capture::from_device(name)?
        .promisc(options.promiscuous)
        .snaplen(i32::try_from(RECORD_MAX).unwrap_or(i32::MAX))
        .buffer_size(buffer(options.buffer_bytes))
        .timeout(RETIRE_MS)
        .precision(PRECISION)
        .open()?
        .setnonblock()?;
    capture.direction(Direction::In)?;
    pcap_host::only_incoming(&capture)?;
    Ok(capture)
}

/// Attaches the filter.
fn filter(
    capture: &mut Capture<Active>,
    name: &str,
    link_type: LinkType,
    filter: &TapFilter,
) -> Result<(), TapError> {
    let expression = match filter {
        TapFilter::Everything => return Ok(()),
        TapFilter::Ports(ports) => expression(ports, link_type == LinkType::ETHERNET),
        TapFilter::Expression(expression) => expression.clone(),
    };
    capture.filter(&expression, true).map_err(|error| TapError::Filter {
        interface: name.to_owned(),
        reason: format!("{}; see pcap-filter(7)", text(error)),
        expression,
    })
}

/// UDP from or to one of `ports`, with every fragment that may belong to it, behind up to two VLAN tags; everything
/// when there are no ports.
fn expression(ports: &[u16], tags: bool) -> String {
    if ports.is_empty() {
        return String::new();
    }
    let ports: Vec<_> = ports.iter().map(|port| format!("port {port}")).collect();
    let frames = format!(
        "(udp and ({})) or (ip proto 17 and ip[6:2] & 0x1fff != 0) or ip6 proto 44 or (ip6 and (ip6[6] == 43 or \
         ip6[6] == 60 or (ip6[6] == 0 and ip6[40] != 58)))",
        ports.join(" or ")
    );
    if tags { format!("{frames} or (vlan and ({frames} or (vlan and ({frames}))))") } else { frames }
}

/// The buffer size as libpcap takes it.
fn buffer(bytes: u64) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

fn notes(options: &TapOptions) -> Vec<String> {
    let hardware = "stamps are the kernel's: those of the interface take the packet ring".to_owned();
    options.hardware_stamps.then_some(hardware).into_iter().collect()
}

/// What libpcap said, as an error of opening.
fn failed(interface: &str, what: &'static str, error: Error) -> TapError {
    TapError::System { interface: interface.to_owned(), what, source: said(error) }
}

/// What libpcap said, as an error of reading.
fn said(error: Error) -> io::Error {
    io::Error::other(text(error))
}

/// libpcap's own words, on one line.
fn text(error: Error) -> String {
    let text = match error {
        Error::PcapError(text) => text,
        other => other.to_string(),
    };
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(drops: &mut Drops, received: u64) -> Vec<u64> {
        let mut counts = Vec::new();
        drops.announce(received, &mut |seen| match seen {
            Seen::Dropped(count) => counts.push(count),
            other => panic!("{other:?}"),
        });
        counts
    }

    #[test]
    fn drops_are_announced_behind_the_frames_that_lay_in_the_buffer() {
        let mut drops = Drops::default();
        drops.note(120, 20, 0);
        assert_eq!(announced(&mut drops, 99), [0; 0]);
        assert_eq!(announced(&mut drops, 100), [20]);
        drops.note(150, 20, 130);
        assert_eq!(announced(&mut drops, u64::MAX), [0; 0]);
        assert_eq!(drops.total, 20);
    }

    #[test]
    fn counters_that_wrap_around_count_on() {
        let mut drops = Drops { last: (u32::MAX - 4, u32::MAX), ..Drops::default() };
        drops.note(5, 2, 0);
        assert_eq!((drops.put, drops.total), (7, 3));
        assert_eq!(announced(&mut drops, 7), [3]);
    }

    #[test]
    fn more_places_than_are_kept_lose_no_drop() {
        let mut drops = Drops::default();
        for round in 1..=200 {
            drops.note(round * 2, round, 0);
        }
        assert_eq!(announced(&mut drops, u64::MAX).iter().sum::<u64>(), 200);
    }

    #[test]
    fn the_port_filter_compiles_for_link_types_with_and_without_tags() {
        let many: Vec<u16> = (1..=60).map(|n| n * 3).collect();
        for (link, tags) in [(1, true), (12, false), (113, false)] {
            let dead = Capture::dead(pcap::Linktype(link)).unwrap();
            for ports in [&[5568][..], &[4048, 5568, 6454, 6455, 21_600], &many] {
                dead.compile(&expression(ports, tags), true).unwrap();
            }
        }
        assert_eq!(expression(&[], true), "");
    }
}
