//! A bench sender of many sACN universes of 512 slots: 638 octets each, a burst of all of them every frame.

use super::pace::{Paced, paced};
use super::sys::{BATCH, segment, send_all};
use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use wireproof_encoders::{Encoder, Sacn, SacnConfig, SacnDestination};

/// Frames a second.
pub(crate) const RATE: u32 = 60;
const SLOTS: u16 = 512;
/// Offset of the sequence number in a data packet (ANSI E1.31-2018, table 4-1).
const SEQUENCE: usize = 111;
/// Offset of the first slot.
const FIRST_SLOT: usize = 126;
const CID: [u8; 16] = *b"\x6b\x0a\xee\x41\x52\x37\x4c\x90\xa1\x1d\x07\x3c\x98\xd5\x24\xb6";

/// Sends `frames` frames of so many universes; returns the datagrams and what came of the deadlines. With `gso` the
/// kernel cuts datagrams out of larger messages, which costs the sender less.
pub(crate) fn send(
    to: SocketAddr,
    universes: u16,
    frames: u32,
    gso: bool,
) -> Result<(u64, Paced), Box<dyn Error>> {
    let mut payloads = payloads(to, universes)?;
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    if gso {
        segment(&socket, u16::try_from(payloads.first().map_or(0, Vec::len))?)?;
    }
    let together = if gso { BATCH } else { 1 };
    let paced = paced(frames, RATE, |frame| {
        let [.., high, low] = frame.to_be_bytes();
        for payload in &mut payloads {
            payload[SEQUENCE] = low;
            payload[FIRST_SLOT] = high;
            payload[FIRST_SLOT + 1] = low;
        }
        send_all(&socket, &payloads, together)
    })?;
    Ok((u64::from(frames) * u64::from(universes), paced))
}

/// The first frame, as the encoder makes it.
fn payloads(to: SocketAddr, universes: u16) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let config = SacnConfig {
        slots: SLOTS,
        destination: SacnDestination::Unicast(to),
        ..SacnConfig::new(CID, "bench")
    };
    let frame = vec![0x40; usize::from(universes) * usize::from(SLOTS)];
    Ok(Sacn::new(config)?.encode(&frame)?.iter().map(|datagram| datagram.to_vec()).collect())
}
