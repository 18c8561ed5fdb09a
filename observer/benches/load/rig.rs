//! The device of the founding case: BigPacket and DDP in six datagrams a frame each, twelve sACN universes, 60 frames
//! a second, and an HTTP endpoint that gives out its recorder ring.

use super::pace::{Paced, paced};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;
use wireproof::live::udp::{UdpError, UdpOptions, UdpSource};
use wireproof_encoders::{BigPacket, BigPacketConfig, Ddp, DdpConfig, Encoder};
use wireproof_encoders::{Sacn, SacnConfig, SacnDestination};
use wireproof_protocols::verify::Account;
use wireproof_protocols::{Protocol, Severity};

/// Frames a second.
pub(crate) const RATE: u32 = 60;
/// Octets of the recorder ring.
pub(crate) const RING: usize = 6_295_552;
/// In the order of every array of three here.
pub(crate) const PROTOCOLS: [Protocol; 3] = [Protocol::BigPacket, Protocol::Ddp, Protocol::Sacn];
/// Datagrams a frame.
pub(crate) const PER_FRAME: [u64; 3] = [6, 6, 12];
const PORTS: [u16; 3] = [21_600, 4_048, 5_568];
const CID: [u8; 16] = *b"\x91\x2e\x4c\x7a\x33\xd8\x47\x05\xb6\xf2\x5e\x80\x1d\xa9\x6c\x43";

/// Where the device sends to.
pub(crate) fn addresses() -> [SocketAddr; 3] {
    PORTS.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

/// Our sockets; a buffer of so many octets as the kernel charges them, or the default.
pub(crate) fn open(buffer_bytes: Option<u32>) -> Result<UdpSource, UdpError> {
    UdpSource::open(&UdpOptions { addresses: addresses().to_vec(), buffer_bytes, ..UdpOptions::default() })
}

/// Sends `frames` frames of all three outputs.
pub(crate) fn send(frames: u32) -> Result<Paced, Box<dyn Error>> {
    let [bigpacket, ddp, sacn] = addresses();
    let sacn =
        SacnConfig { destination: SacnDestination::Unicast(sacn), ..SacnConfig::new(CID, "founding case") };
    let mut outputs: [(Box<dyn Encoder>, usize); 3] = [
        (Box::new(BigPacket::new(BigPacketConfig::new(bigpacket, 1))?), 6 * 1_440),
        (Box::new(Ddp::new(DdpConfig::new(ddp))?), 6 * 1_440),
        (Box::new(Sacn::new(sacn)?), 12 * 510),
    ];
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (mut pixels, mut payload) = (vec![0; 6 * 1_440], Vec::new());
    paced(frames, RATE, |number| -> Result<(), Box<dyn Error>> {
        pixels.fill(number.to_le_bytes()[0]);
        let mut failed = None;
        for (encoder, octets) in &mut outputs {
            for datagram in encoder.encode(&pixels[..*octets])?.iter() {
                payload.clear();
                datagram.copy_to(&mut payload);
                failed = socket.send_to(&payload, datagram.destination).err().or(failed);
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    })
}

/// What a run of `frames` frames has of each protocol.
pub(crate) fn sent(frames: u32) -> [u64; 3] {
    PER_FRAME.map(|n| n * u64::from(frames))
}

/// The recorder ring: no two pieces alike.
pub(crate) fn ring() -> Vec<u8> {
    (0..RING as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Serves the ring from now on, one download at a time, each as long as the next of `times` in turn.
pub(crate) fn serve(times: Vec<Duration>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let body = ring();
    thread::Builder::new().name("http".to_owned()).spawn(move || {
        for (stream, time) in listener.incoming().flatten().zip(times.iter().cycle()) {
            // A client that goes away early has its own account of it.
            let _ = answer(stream, &body, *time);
        }
    })?;
    Ok(address)
}

/// One download in pieces that together take `time`.
fn answer(mut stream: TcpStream, body: &[u8], time: Duration) -> std::io::Result<()> {
    const PIECES: u32 = 64;
    let head = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    head.for_each(drop);
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    let mut pieces = body.chunks(body.len().div_ceil(PIECES as usize));
    let start = std::time::Instant::now();
    for number in 1..=PIECES {
        stream.write_all(pieces.next().unwrap_or_default())?;
        thread::sleep((time * number / PIECES).saturating_sub(start.elapsed()));
    }
    Ok(())
}

/// What an account says of the three protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Datagrams that came.
    pub(crate) received: [u64; 3],
    /// Datagrams that the numbering shows to be missing.
    pub(crate) missing: [u64; 3],
    /// Of these, the observer's own.
    pub(crate) own: [u64; 3],
    /// Violations held against the device.
    pub(crate) violations: u64,
}

impl Tally {
    /// Adds up the streams of an account.
    pub(crate) fn of(account: &Account) -> Self {
        let mut tally = Tally::default();
        for stream in &account.streams {
            let Some(at) = PROTOCOLS.iter().position(|p| *p == stream.protocol) else { continue };
            tally.received[at] += stream.datagrams;
            tally.missing[at] += stream.sequence.lost;
            tally.own[at] += stream.owners.observer;
        }
        let against = account.findings.iter().filter(|f| f.severity == Severity::Violation && !f.tainted);
        tally.violations = against.filter(|f| !f.code.starts_with("OBS-")).count() as u64;
        tally
    }
}
