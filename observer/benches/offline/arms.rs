//! The arms: what is done with the capture. Each returns what it counted, so that arms can be held against each other.

use super::Outcome;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use wireproof::analysis::{analyze, analyze_taping};
use wireproof::capture::{Item, Taker, read_headers_into, read_path, read_records_path};
use wireproof::taping::Taping;
use wireproof_protocols::verify::count::{Counter, Counts};
use wireproof_protocols::verify::{Account, Options};
use wireproof_protocols::{Arrival, Checksum, Datagram};

const READ: usize = 1 << 20;
const PAGE: usize = 4096;

/// One way to go over a capture.
pub(crate) struct Arm {
    /// Name in the table.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) work: fn(&Path) -> Outcome<Counted>,
}

/// What an arm counted; 0 where it does not count that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Datagrams (records, octets).
    pub(crate) datagrams: u64,
    /// Streams.
    pub(crate) streams: u64,
    /// Datagrams that are missing.
    pub(crate) lost: u64,
}

pub(crate) const SWEEP: &str = "read() sweep";
pub(crate) const CORE: &str = "core pass";
pub(crate) const FULL: &str = "full analysis";
pub(crate) const LIBPCAP: &str = "libpcap + core pass";

/// All of them; the first is the limit.
pub(crate) const ALL: &[Arm] = &[
    Arm { name: SWEEP, work: |path| sweep(path, |octets| octets.len() as u64) },
    Arm { name: "sweep + sum", work: |path| sweep(path, add_up) },
    Arm { name: "records", work: records },
    Arm { name: "dissect + checksum", work: dissect },
    Arm { name: CORE, work: core },
    Arm { name: FULL, work: full },
    Arm { name: "and a tape", work: taped },
    #[cfg(feature = "libpcap")]
    Arm { name: LIBPCAP, work: libpcap },
];

/// The limit: a 1 MiB page-aligned read loop.
fn sweep(path: &Path, look: impl Fn(&[u8]) -> u64) -> Outcome<Counted> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; READ + PAGE];
    let skew = buffer.as_ptr().align_offset(PAGE).min(PAGE);
    let mut seen = 0u64;
    loop {
        match file.read(&mut buffer[skew..skew + READ])? {
            0 => return Ok(Counted { datagrams: std::hint::black_box(seen), ..Counted::default() }),
            octets => seen = seen.wrapping_add(look(&buffer[skew..skew + octets])),
        }
    }
}

/// What no checksum can do without.
fn add_up(octets: &[u8]) -> u64 {
    let (words, _) = octets.as_chunks::<8>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
}

fn records(path: &Path) -> Outcome<Counted> {
    let report = read_records_path(path, &mut |record| {
        std::hint::black_box(record.at);
    })?;
    Ok(Counted { datagrams: report.packets, ..Counted::default() })
}

fn dissect(path: &Path) -> Outcome<Counted> {
    let mut good = 0u64;
    read_path(path, &mut |item| {
        if let Item::Datagram(_, ref datagram) = item {
            good += u64::from(datagram.link.checksum == Checksum::Good);
        }
    })?;
    Ok(Counted { datagrams: good, ..Counted::default() })
}

fn core(path: &Path) -> Outcome<Counted> {
    let mut counting = Counting(Counter::new());
    read_headers_into(path, &mut counting)?;
    Ok(of_counts(&counting.0.finish()))
}

/// Hands datagrams to the counter.
struct Counting(Counter);

impl Taker for Counting {
    #[inline(always)]
    fn datagram(&mut self, arrival: Arrival, datagram: &Datagram<'_>) {
        self.0.on_datagram(arrival, datagram);
    }

    fn item(&mut self, item: Item<'_>) {
        if let Item::Datagram(arrival, datagram) = item {
            self.0.on_datagram(arrival, &datagram);
        }
    }
}

fn of_counts(counts: &Counts) -> Counted {
    let lost = counts.streams.iter().map(|s| s.missing).sum();
    Counted { datagrams: counts.lighting, streams: counts.streams.len() as u64, lost }
}

fn full(path: &Path) -> Outcome<Counted> {
    let (_, account) = analyze(&[path], Options::default())?;
    Ok(of_account(&account))
}

/// The same with a tape that goes nowhere.
fn taped(path: &Path) -> Outcome<Counted> {
    let mut tape = Some(Taping::create(Path::new("/dev/null"))?);
    let (_, account) = analyze_taping(&[path], Options::default(), &mut tape)?;
    tape.map_or(Ok(()), |tape| tape.finish(true, None))?;
    Ok(of_account(&account))
}

fn of_account(account: &Account) -> Counted {
    let lost = account.streams.iter().map(|s| s.sequence.lost).sum();
    Counted { datagrams: account.datagrams.lighting, streams: account.streams.len() as u64, lost }
}

/// The core pass with libpcap's reader in place of ours.
#[cfg(feature = "libpcap")]
fn libpcap(path: &Path) -> Outcome<Counted> {
    use wireproof::capture::{Dissector, LinkType, Record};
    use wireproof_protocols::Timestamp;
    let mut capture = pcap::Capture::from_file_with_precision(path, pcap::Precision::Nano)?;
    let link_type = LinkType(u16::try_from(capture.get_datalink().0)?);
    let (mut dissector, mut counting, mut number) = (Dissector::of_headers(), Counting(Counter::new()), 0);
    loop {
        let packet = match capture.next_packet() {
            Ok(packet) => packet,
            Err(pcap::Error::NoMorePackets) => return Ok(of_counts(&counting.0.finish())),
            Err(error) => return Err(error.into()),
        };
        number += 1;
        let stamp = packet.header.ts;
        let record = Record {
            number,
            at: Timestamp(stamp.tv_sec.saturating_mul(1_000_000_000).saturating_add(stamp.tv_usec)),
            link_type,
            interface: 0,
            snap_length: 0,
            data: packet.data,
            original_length: packet.header.len,
            comment: None,
        };
        dissector.dissect_into(&record, &mut counting);
    }
}
