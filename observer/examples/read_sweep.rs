//! What reading a capture costs beside a plain `read()` of the same file, in CPU time of this thread. A second
//! limit adds up every octet that was read, which no checksum can do without.
//!
//! `cargo run --release -p wireproof --example read_sweep [FILE]`; without FILE it makes a pcap file of 500,000
//! sACN datagrams (638 octets each) in a temporary folder. The arms alternate; medians are compared.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use wireproof::capture::{Item, read_path, read_records_path};
use wireproof_protocols::Checksum;

const DATAGRAMS: u32 = 500_000;
const ROUNDS: usize = 11;
const READ: usize = 1 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("wireproof-read-sweep-{}", std::process::id()));
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let path = given.clone().unwrap_or_else(|| folder.join("sacn.pcap"));
    if given.is_none() {
        std::fs::create_dir_all(&folder)?;
        generate(&path)?;
    }
    let result = measure(&path);
    if given.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    result
}

fn measure(path: &Path) -> Outcome<()> {
    let (mut sweeps, mut sums, mut records, mut dissections) = (vec![], vec![], vec![], vec![]);
    let (mut datagrams, mut good) = (0u64, 0u64);
    for _ in 0..ROUNDS {
        sweeps.push(timed(|| sweep(path, |octets| octets.len() as u64))?);
        sums.push(timed(|| sweep(path, add_up))?);
        records.push(timed(|| Ok(read_records_path(path, &mut |_| {})?.packets))?);
        (datagrams, good) = (0, 0);
        dissections.push(timed(|| {
            let report = read_path(path, &mut |item| {
                if let Item::Datagram(_, datagram) = item {
                    datagrams += 1;
                    good += u64::from(datagram.link.checksum == Checksum::Good);
                }
            })?;
            Ok(report.packets)
        })?);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{datagrams} datagrams, {good} with a good checksum, {ROUNDS} rounds, median CPU time")?;
    let limit = median(&mut sweeps);
    let arms = [
        ("read() sweep", &mut sweeps),
        ("sweep + sum", &mut sums),
        ("records", &mut records),
        ("dissect + checksum", &mut dissections),
    ];
    for (name, times) in arms {
        let time = median(times);
        let each = time as f64 / datagrams.max(1) as f64;
        let ratio = time as f64 / limit.max(1) as f64;
        writeln!(out, "{name:>20}: {each:7.1} ns/datagram, {ratio:.2} x the sweep")?;
    }
    Ok(())
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

/// Writes the frames of 64 universes round robin, 60 frames a second.
fn generate(path: &Path) -> Outcome<()> {
    let mut out = BufWriter::with_capacity(READ, File::create(path)?);
    let length = 14 + 20 + 8 + 638u32;
    for word in [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 65_535, 1] {
        out.write_all(&u32::to_le_bytes(word))?;
    }
    for number in 0..DATAGRAMS {
        let ns = u64::from(number) * (1_000_000_000 / 60 / 64);
        let (seconds, fraction) = ((ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32);
        for word in [1_700_000_000 + seconds, fraction, length, length] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(&frame(number))?;
    }
    out.flush()?;
    Ok(())
}

/// One Ethernet frame with an sACN-sized UDP datagram and a right checksum.
fn frame(number: u32) -> Vec<u8> {
    let universe = (number % 64) as u8 + 1;
    let mut frame = vec![0; 14 + 20 + 8 + 638];
    frame[..6].copy_from_slice(&[1, 0, 0x5e, 0x7f, 0, universe]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let length = (20 + 8 + 638u16).to_be_bytes();
    frame[14..18].copy_from_slice(&[0x45, 0, length[0], length[1]]);
    frame[18..20].copy_from_slice(&(number as u16).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 239, 255, 0, universe]);
    frame[34..40].copy_from_slice(&[0x15, 0xc0, 0x15, 0xc0, 0x02, 0x86]);
    let payload = number.to_le_bytes();
    for (i, octet) in frame[42..].iter_mut().enumerate() {
        *octet = payload[i % 4].wrapping_add(i as u8);
    }
    // Addresses and datagram as they lie, then protocol and length of the pseudo-header.
    let sum = fold(words(&frame[26..]) + 17 + 0x286);
    let field = if sum == 0xffff { 0xffff } else { !sum as u16 };
    frame[40..42].copy_from_slice(&field.to_be_bytes());
    frame
}

fn words(octets: &[u8]) -> u32 {
    octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

fn fold(sum: u32) -> u32 {
    if sum > 0xffff { fold((sum & 0xffff) + (sum >> 16)) } else { sum }
}
