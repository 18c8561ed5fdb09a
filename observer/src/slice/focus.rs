//! Which datagrams a finding is about, and which keep it company: same sender, same universe, same host.

use crate::rig_file;
use std::net::{IpAddr, SocketAddr};
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::{Account, Finding, StreamAccount};
use wireproof_protocols::{Cid, Datagram, Faults, Pdu, Protocol};

/// How near a datagram is to the finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    /// Nothing to do with it.
    Bystander,
    /// Same host, same universe or same CID: rivals, sync packets, discovery, the other streams of the output.
    Company,
    /// The stream itself.
    Own,
}

/// What a finding is about.
#[derive(Debug)]
pub(super) struct Focus {
    stream: Option<Stream>,
    layouts: Layouts,
}

/// What tells a stream from others.
#[derive(Debug)]
pub(super) struct Stream {
    protocol: Protocol,
    kind: &'static str,
    source: SocketAddr,
    stream_id: u32,
    part: u8,
    sender: Option<Cid>,
}

impl Focus {
    /// The focus of a finding; without a stream every record is its own.
    pub(super) fn of(found: &Finding, account: &Account, layouts: Layouts) -> Focus {
        let stream = found.stream.and_then(|index| account.streams.get(index)).map(Stream::of);
        Focus { stream, layouts }
    }

    /// How near a record without a datagram is; a fragment may be anybody's.
    pub(super) fn of_packet(&self, fragment: bool) -> Nearness {
        match self.stream {
            None => Nearness::Own,
            Some(_) if fragment => Nearness::Company,
            Some(_) => Nearness::Bystander,
        }
    }

    /// How near a datagram is. `faults` is room to decode in.
    pub(super) fn of_datagram(&self, d: &Datagram<'_>, faults: &mut Faults) -> Nearness {
        let Some(stream) = &self.stream else { return Nearness::Own };
        let Some(decoder) = self.layouts.claim(d) else { return stream.host(d.source.ip()) };
        faults.clear();
        match decoder.decode(d, faults) {
            Ok(pdu) if stream.is_own(d, &pdu) => Nearness::Own,
            Ok(pdu) if stream.is_company(&pdu) => Nearness::Company,
            _ => stream.host(d.source.ip()),
        }
    }
}

impl Stream {
    /// That of an account.
    pub(super) fn of(s: &StreamAccount) -> Stream {
        Stream {
            protocol: s.protocol,
            kind: s.kind,
            source: s.source,
            stream_id: s.stream_id,
            part: s.part,
            sender: s.sender.as_deref().and_then(rig_file::parse_cid),
        }
    }

    /// Sender and number, to look it up by.
    pub(super) fn key(&self) -> (IpAddr, u32) {
        (self.source.ip(), self.stream_id)
    }

    fn host(&self, address: IpAddr) -> Nearness {
        if self.source.ip() == address { Nearness::Company } else { Nearness::Bystander }
    }

    /// The datagram is one of the stream.
    pub(super) fn is_own(&self, d: &Datagram<'_>, pdu: &Pdu<'_>) -> bool {
        let port = self.protocol != Protocol::Ddp || self.source.port() == d.source.port();
        port && pdu.kind.protocol == self.protocol
            && pdu.kind.short() == self.kind
            && d.source.ip() == self.source.ip()
            && pdu.stream.unwrap_or_default() == self.stream_id
            && pdu.part == self.part
            && pdu.sender == self.sender
    }

    fn is_company(&self, pdu: &Pdu<'_>) -> bool {
        let universe = pdu.kind.protocol == self.protocol && pdu.stream == Some(self.stream_id);
        universe || self.sender.is_some() && pdu.sender == self.sender
    }
}
