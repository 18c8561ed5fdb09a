//! What analysing a capture costs beside a plain `read()` of the same file, in CPU time of this thread. A second
//! limit adds up every octet that was read, which no checksum can do without.
//!
//! `cargo bench -p wireproof --bench analyze [-- DATAGRAMS|FILE]`; without FILE it makes a pcap file (in a process
//! of its own, so that its memory does not count) of 64 sACN universes (638 octets), 5 DDP displays of 6 datagrams
//! (1,450 octets) and 32 Art-Net port-addresses (530 octets) at 60 frames a second, every 20,011th datagram lost.
//! The arms alternate; medians are compared.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use wireproof::capture::{Item, read_path, read_records_path};
use wireproof_encoders::{ArtNet, ArtNetConfig, Ddp, DdpConfig, Encoder, Sacn, SacnConfig};
use wireproof_fixture::{Planted, PlantedDatagram, write_pcap};
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Checksum, Link, Timestamp};

const DATAGRAMS: usize = 500_000;
const ROUNDS: usize = 9;
const READ: usize = 1 << 20;
const CID: [u8; 16] = *b"\x3f\x91\xa5\x0c\x7d\x1e\x4b\x62\x9c\x8e\x55\x01\x22\x6f\xd0\x17";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [word, count, path] = arguments.as_slice()
        && word == "generate"
    {
        return generate(count.parse()?, Path::new(path));
    }
    let given = arguments.first();
    let count = given.and_then(|a| a.parse().ok());
    if let (Some(path), None) = (given, count) {
        return measure(Path::new(path));
    }
    let path = std::env::temp_dir().join(format!("wireproof-analyze-{}.pcap", std::process::id()));
    let count = count.unwrap_or(DATAGRAMS).to_string();
    let made = Command::new(std::env::current_exe()?).arg("generate").arg(count).arg(&path).status()?;
    let result = if made.success() { measure(&path) } else { Err("the capture could not be made".into()) };
    std::fs::remove_file(&path)?;
    result
}

fn measure(path: &Path) -> Outcome<()> {
    let names = ["read() sweep", "sweep + sum", "records", "dissect + checksum", "full analysis"];
    let mut times = [const { Vec::new() }; 5];
    let mut account = Account::default();
    for _ in 0..ROUNDS {
        times[0].push(timed(|| sweep(path, |octets| octets.len() as u64))?);
        times[1].push(timed(|| sweep(path, add_up))?);
        times[2].push(timed(|| Ok(read_records_path(path, &mut |_| {})?.packets))?);
        times[3].push(timed(|| dissect(path))?);
        times[4].push(timed(|| {
            account = analyze(path)?;
            Ok(account.datagrams.lighting)
        })?);
    }
    report(&names, &mut times, &account)
}

fn report(names: &[&str], times: &mut [Vec<u64>], account: &Account) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    let datagrams = account.datagrams.lighting.max(1);
    let lost: u64 = account.streams.iter().map(|s| s.sequence.lost).sum();
    writeln!(
        out,
        "{datagrams} datagrams, {} streams, {lost} lost, {ROUNDS} rounds, median CPU time",
        account.streams.len()
    )?;
    let limit = median(&mut times[0]);
    for (name, times) in names.iter().zip(times) {
        let time = median(times);
        let each = time as f64 / datagrams as f64;
        let ratio = time as f64 / limit.max(1) as f64;
        writeln!(
            out,
            "{name:>20}: {each:7.1} ns/datagram, {:5.2} M/s, {ratio:.2} x the sweep",
            1000.0 / each
        )?;
    }
    writeln!(out, "peak memory of this process: {}", peak()?)?;
    Ok(())
}

fn dissect(path: &Path) -> Outcome<u64> {
    let mut good = 0u64;
    read_path(path, &mut |item| {
        if let Item::Datagram(_, datagram) = item {
            good += u64::from(datagram.link.checksum == Checksum::Good);
        }
    })?;
    Ok(good)
}

fn analyze(path: &Path) -> Outcome<Account> {
    let mut verifier = Verifier::new(Options::default());
    read_path(path, &mut |item| match item {
        Item::Datagram(arrival, datagram) => verifier.on_datagram(arrival, &datagram),
        Item::Packet(arrival) => verifier.on_packet(arrival),
        Item::Blind { from, to, dropped } => verifier.on_blind(from, to, dropped),
        Item::Drops(drops) => verifier.on_drops(drops),
    })?;
    Ok(verifier.finish())
}

fn peak() -> Outcome<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    Ok(line.unwrap_or("unknown").trim().to_owned())
}

/// CPU nanoseconds of this thread (Linux), so that a busy machine does not count.
fn cpu_ns() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no schedstat")?.parse()?)
}

fn timed(work: impl FnOnce() -> Outcome<u64>) -> Outcome<u64> {
    let start = cpu_ns()?;
    std::hint::black_box(work()?);
    Ok(cpu_ns()? - start)
}

fn median(times: &mut [u64]) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The limit: a 1 MiB page-aligned read loop.
fn sweep(path: &Path, look: impl Fn(&[u8]) -> u64) -> Outcome<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; READ + 4096];
    let skew = buffer.as_ptr().align_offset(4096).min(4096);
    let mut seen = 0u64;
    loop {
        match file.read(&mut buffer[skew..skew + READ])? {
            0 => return Ok(seen),
            octets => seen = seen.wrapping_add(look(&buffer[skew..skew + octets])),
        }
    }
}

fn add_up(octets: &[u8]) -> u64 {
    let (words, _) = octets.as_chunks::<8>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
}

/// Frames of all outputs at 60 a second until there are enough datagrams.
fn generate(count: usize, path: &Path) -> Outcome<()> {
    let mut outputs: Vec<(usize, Box<dyn Encoder>)> = Vec::new();
    let mut sacn = SacnConfig::new(CID, "bench");
    sacn.slots = 512;
    outputs.push((64 * 512, Box::new(Sacn::new(sacn)?)));
    for display in 0..5 {
        let address = SocketAddr::from((Ipv4Addr::new(10, 0, 1, display + 1), 4048));
        outputs.push((8640, Box::new(Ddp::new(DdpConfig::new(address))?)));
    }
    let node = SocketAddr::from((Ipv4Addr::new(10, 0, 2, 1), 6454));
    let mut config = ArtNetConfig::new(node);
    config.slots = 512;
    outputs.push((32 * 512, Box::new(ArtNet::new(config)?)));
    let mut planted = Planted { arrivals: Vec::with_capacity(count), truth: Default::default(), rig: None };
    let mut sent = 0u32;
    let mut frame = 0i64;
    while planted.arrivals.len() < count {
        let mut at = 1_700_000_000_000_000_000 + frame * 16_666_667;
        for (number, (octets, encoder)) in outputs.iter_mut().enumerate() {
            let data: Vec<u8> = (0..*octets).map(|i| (i as i64 * 7 + frame) as u8).collect();
            let host = Ipv4Addr::new(10, 0, 0, number as u8 + 1);
            let link = Link { checksum: Checksum::Good, ..Link::default() };
            for datagram in encoder.encode(&data)?.iter() {
                let destination = datagram.destination;
                let source = SocketAddr::from((host, destination.port()));
                sent += 1;
                let link = Link { ip_id: Some(sent as u16 | 1), ttl: Some(64), ..link };
                at += 5_000;
                let at = Timestamp(at);
                if !sent.is_multiple_of(20_011) {
                    planted.arrivals.push(PlantedDatagram {
                        at,
                        source,
                        destination,
                        payload: datagram.to_vec(),
                        link,
                    });
                }
            }
        }
        frame += 1;
    }
    planted.arrivals.sort_by_key(|a| a.at);
    let mut out = BufWriter::with_capacity(READ, File::create(path)?);
    write_pcap(&planted, &mut out)?;
    out.flush()?;
    Ok(())
}
