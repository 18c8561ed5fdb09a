//! The capture of the bench: a lighting network at 60 frames a second, as long as asked for, written frame by frame.

use super::Outcome;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use wireproof_encoders::{ArtNet, ArtNetConfig, Ddp, DdpConfig, Encoder, Sacn, SacnConfig};
use wireproof_fixture::{Planted, PlantedDatagram, write_pcap};
use wireproof_protocols::{Checksum, Link, Timestamp};

const CID: [u8; 16] = *b"\x3f\x91\xa5\x0c\x7d\x1e\x4b\x62\x9c\x8e\x55\x01\x22\x6f\xd0\x17";
/// One datagram of so many is lost.
const LOST_OF: u64 = 20_011;
const PERIOD: i64 = 16_666_667;
/// Time from one datagram of a frame to the next, ns, where they are few.
const APART: i64 = 5_000;
/// Octets of a pcap file's header.
const HEADER: usize = 24;

/// One sending host.
struct Host {
    octets: usize,
    encoder: Box<dyn Encoder>,
    address: Ipv4Addr,
    /// IPv4 identification of its next datagram; each host counts for itself.
    id: u16,
}

/// Frames of all hosts.
pub(crate) struct Traffic {
    hosts: Vec<Host>,
    sent: u64,
    frame: i64,
    /// Datagrams of a frame.
    size: usize,
    /// Datagrams that were sent and are not in the capture.
    pub(crate) lost: u64,
}

impl Traffic {
    /// 64 sACN universes, 5 DDP displays, 32 Art-Net port-addresses; or so many universes alone.
    pub(crate) fn new(universes: Option<u16>) -> Outcome<Self> {
        let mut outputs: Vec<(usize, Box<dyn Encoder>)> = Vec::new();
        let mut sacn = SacnConfig::new(CID, "bench");
        sacn.slots = 512;
        outputs.push((usize::from(universes.unwrap_or(64)) * 512, Box::new(Sacn::new(sacn)?)));
        if universes.is_none() {
            Self::others(&mut outputs)?;
        }
        let hosts = outputs.into_iter().zip(1u8..).map(|((octets, encoder), number)| {
            let address = Ipv4Addr::new(10, 0, 0, number);
            Host { octets, encoder, address, id: 0 }
        });
        let size = universes.map_or(64 + 5 * 6 + 32, usize::from);
        Ok(Traffic { hosts: hosts.collect(), sent: 0, frame: 0, size, lost: 0 })
    }

    fn others(outputs: &mut Vec<(usize, Box<dyn Encoder>)>) -> Outcome<()> {
        for display in 0..5 {
            let address = SocketAddr::from((Ipv4Addr::new(10, 0, 1, display + 1), 4048));
            outputs.push((8640, Box::new(Ddp::new(DdpConfig::new(address))?)));
        }
        let mut artnet = ArtNetConfig::new(SocketAddr::from((Ipv4Addr::new(10, 0, 2, 1), 6454)));
        artnet.slots = 512;
        outputs.push((32 * 512, Box::new(ArtNet::new(artnet)?)));
        Ok(())
    }

    /// The datagrams of the next frame that arrive. The last one has to arrive whole: a loss with nothing behind it cannot
    /// be seen.
    pub(crate) fn frame(&mut self, last: bool) -> Outcome<Vec<PlantedDatagram>> {
        let mut arrivals = Vec::new();
        let mut at = 1_700_000_000_000_000_000 + self.frame * PERIOD;
        let apart = APART.min(PERIOD / 2 / i64::try_from(self.size)?);
        for host in &mut self.hosts {
            let data: Vec<u8> = (0..host.octets).map(|i| (i as i64 * 7 + self.frame) as u8).collect();
            for datagram in host.encoder.encode(&data)?.iter() {
                at += apart;
                self.sent += 1;
                host.id = host.id.checked_add(1).unwrap_or(1);
                if self.sent.is_multiple_of(LOST_OF) && !last {
                    self.lost += 1;
                    continue;
                }
                let destination = datagram.destination;
                let source = SocketAddr::new(IpAddr::V4(host.address), destination.port());
                let link =
                    Link { checksum: Checksum::Good, ip_id: Some(host.id), ttl: Some(64), ..Link::default() };
                let (at, payload) = (Timestamp(at), datagram.to_vec());
                arrivals.push(PlantedDatagram { at, source, destination, payload, link });
            }
        }
        self.frame += 1;
        Ok(arrivals)
    }
}

/// Writes a capture of at least `datagrams`, of the usual network or of so many universes; how many they are, and how
/// many are missing.
pub(crate) fn write(datagrams: usize, universes: Option<u16>, out: &mut impl Write) -> Outcome<(u64, u64)> {
    let mut traffic = Traffic::new(universes)?;
    let mut written = 0;
    let mut octets = Vec::new();
    while written < datagrams {
        let planted = Planted {
            arrivals: traffic.frame(written + traffic.size >= datagrams)?,
            truth: Default::default(),
            rig: None,
        };
        octets.clear();
        write_pcap(&planted, &mut octets)?;
        let header = if written == 0 { 0 } else { HEADER };
        out.write_all(&octets[header..])?;
        written += planted.arrivals.len();
    }
    out.flush()?;
    Ok((written as u64, traffic.lost))
}
