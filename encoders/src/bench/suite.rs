//! The hand-written encoders as candidates of a bench: each backend, the frame in its place or moving, and what
//! their golden datagrams are set to.

use super::gate::{Refusal, Subject, check};
use super::golden::{self, Identity, Numbers};
use crate::{Backend, Setup, build, usual_chunk};
use std::hint::black_box;
use std::net::SocketAddr;
use wireproof_protocols::{EncodeError, Encoder, Protocol};

/// Most octets a gate lets a candidate encode, and the golden reference beside it.
const GATE_OCTETS: usize = 64 << 20;
/// Frames of a gate at most: every 8-bit counter wraps.
const GATE_FRAMES: usize = 260;
/// Frames of a gate at least.
const LEAST_GATE_FRAMES: usize = 3;

/// Who sends in a bench: every field that has a place in a header is different from zero.
pub fn identity() -> Identity {
    Identity {
        cid: *b"\x5c\x1e\x4c\x70\x8d\x0b\x4a\x6e\x9b\x52\x77\x69\x72\x65\x70\x66",
        name: "wireproof bench".to_owned(),
        priority: 101,
        universe: 1,
        port_address: 0,
        physical: 0,
        ddp_id: 1,
        ddp_type: 0x0B,
        device: 1,
        mark_first: true,
    }
}

/// Frame octets in a datagram where nothing else is asked for.
pub fn usual_packing(protocol: Protocol) -> u16 {
    match protocol {
        Protocol::Layout(layout) => usual_chunk(&layout.table().layout),
        Protocol::Sacn | Protocol::ArtNet => 510,
        _ => 1440,
    }
}

/// Something to be timed: what it is called, who does it, and what has to come out.
pub struct Candidate {
    /// Name of the row.
    pub name: String,
    /// Protocol on the wire.
    pub protocol: Protocol,
    /// How the datagrams are held.
    pub backend: Backend,
    /// Whether the frame lies in another buffer each time.
    pub moves: bool,
    /// Whether it is somebody else's.
    pub peer: bool,
    /// In which documented fields the golden datagrams follow a habit of a peer.
    pub habit: Option<&'static str>,
    /// Who does it.
    pub subject: Box<dyn Subject>,
    /// Frame octets in each datagram.
    pub packing: u16,
    /// Who sends, for the golden datagrams.
    pub identity: Identity,
    /// The last number of DDP's cycle.
    pub ddp_last: u8,
}

impl Candidate {
    /// The golden datagrams of a frame when so many went before.
    ///
    /// # Errors
    /// Why the reference has none.
    pub fn golden(&self, frame: &[u8], frames: u64) -> Result<Vec<Vec<u8>>, String> {
        reference(self.protocol, &self.identity, self.packing, self.ddp_last, frame, frames)
    }

    /// The gate: compares some hundred frames with their golden datagrams, the given buffers in turn; one frame
    /// when `once`.
    ///
    /// # Errors
    /// [`Refusal`] at the first octet that differs.
    pub fn check(&mut self, frames: &[&[u8]], once: bool) -> Result<(), Refusal> {
        let octets = frames.iter().map(|frame| frame.len()).max().unwrap_or_default().max(1);
        let count = if once { 1 } else { (GATE_OCTETS / octets).clamp(LEAST_GATE_FRAMES, GATE_FRAMES) };
        let Candidate { protocol, identity, packing, ddp_last, subject, .. } = self;
        let golden =
            |frame: &[u8], sent: u64| reference(*protocol, identity, *packing, *ddp_last, frame, sent);
        check(subject.as_mut(), &golden, frames, count)
    }
}

fn reference(
    protocol: Protocol,
    identity: &Identity,
    packing: u16,
    ddp_last: u8,
    frame: &[u8],
    frames: u64,
) -> Result<Vec<Vec<u8>>, String> {
    let first = match protocol {
        Protocol::Sacn | Protocol::BigPacket => 0,
        _ => 1,
    };
    golden::datagrams(protocol, identity, packing.into(), Numbers { frames, first, ddp_last }, frame)
}

/// The candidates of one protocol in these backends.
///
/// # Errors
/// [`EncodeError`] for a packing, or a frame of that many octets, that the protocol has no room for.
pub fn candidates(
    protocol: Protocol,
    backends: &[Backend],
    packing: u16,
    octets: usize,
) -> Result<Vec<Candidate>, EncodeError> {
    encoder(protocol, Backend::Gather, packing)?.frame_mut(octets)?;
    if let Protocol::Layout(_) = protocol {
        // It holds its datagrams in one piece, whatever the backend.
        let asked = backends.contains(&Backend::Contiguous).then_some(Backend::Contiguous);
        return asked.map(|backend| candidate(protocol, backend, Way::Given, packing)).into_iter().collect();
    }
    let ways =
        [(Backend::Contiguous, Way::Given), (Backend::Gather, Way::Own), (Backend::Gather, Way::Moving)];
    let asked = ways.into_iter().filter(|(backend, _)| backends.contains(backend));
    asked.map(|(backend, way)| candidate(protocol, backend, way, packing)).collect()
}

fn encoder(
    protocol: Protocol,
    backend: Backend,
    packing: u16,
) -> Result<Box<dyn Encoder + Send>, EncodeError> {
    let identity = identity();
    // An address for documentation (RFC 5737); nothing is sent.
    let mut setup = Setup::new(Some(SocketAddr::from(([192, 0, 2, 1], 5568))), identity.cid);
    (setup.name, setup.priority) = (identity.name, identity.priority);
    (setup.id, setup.chunk, setup.fragment) = (identity.device, Some(packing), true);
    build(protocol, backend, &setup)
}

fn candidate(protocol: Protocol, backend: Backend, way: Way, packing: u16) -> Result<Candidate, EncodeError> {
    let encoder = encoder(protocol, backend, packing)?;
    let moves = way == Way::Moving;
    Ok(Candidate {
        name: format!("{}{}", protocol.name(), if moves { "/moved" } else { "" }),
        protocol,
        backend,
        moves,
        peer: false,
        habit: None,
        subject: Box::new(Encoding { encoder, way, frames: 0 }),
        packing,
        identity: identity(),
        ddp_last: 15,
    })
}

/// How an encoder gets its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A buffer of the caller that stays in its place.
    Given,
    /// The encoder's own buffer, filled beforehand.
    Own,
    /// Two buffers of the caller in turn.
    Moving,
}

/// An encoder of the product as a subject.
struct Encoding {
    encoder: Box<dyn Encoder + Send>,
    way: Way,
    frames: u64,
}

impl Encoding {
    fn fill(&mut self, frame: &[u8]) -> Result<(), EncodeError> {
        self.encoder.frame_mut(frame.len()).map(|own| own.copy_from_slice(frame))
    }
}

impl Subject for Encoding {
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        if self.way == Way::Own {
            self.fill(frame).map_err(|e| e.to_string())?;
        }
        let batch = match self.way {
            Way::Own => self.encoder.encode_own(),
            _ => self.encoder.encode(frame),
        };
        let batch = batch.map_err(|e| e.to_string())?;
        self.frames += 1;
        Ok(batch.iter().map(|datagram| datagram.to_vec()).collect())
    }

    fn work(&mut self, frames: &[&[u8]], iterations: u64) {
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return };
        // An error leaves its frame uncounted, and the look after the timing finds the numbers wrong.
        if self.way == Way::Own && self.fill(first).is_err() {
            return;
        }
        let (mut this, mut next, mut done) = (*first, *last, 0);
        for _ in 0..iterations {
            let encoder = black_box(&mut self.encoder);
            let batch = match self.way {
                Way::Own => encoder.encode_own(),
                Way::Given => encoder.encode(black_box(this)),
                Way::Moving => {
                    std::mem::swap(&mut this, &mut next);
                    encoder.encode(black_box(this))
                }
            };
            if let Ok(batch) = batch {
                // The pieces escape, and with them everything they point to.
                black_box(batch.parts().as_ptr());
                done += 1;
            }
        }
        self.frames += done;
    }

    fn frames(&self) -> u64 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Aligned;
    use super::*;

    const ALL: [Protocol; 4] = [Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet, Protocol::BigPacket];

    fn frames(octets: usize) -> [Aligned; 2] {
        [Aligned::seeded(octets, 1, 0), Aligned::seeded(octets, 1, 1)]
    }

    #[test]
    fn every_encoder_passes_its_gate_with_every_packing() {
        for octets in [1, 3, 511, 1441] {
            let frames = frames(octets);
            let frames = [frames[0].octets(), frames[1].octets()];
            for (protocol, packing) in
                ALL.into_iter().flat_map(|p| [480, 510, 512, 1440, 1441].map(|n| (p, n)))
            {
                let Ok(candidates) = candidates(protocol, &Backend::ALL, packing, octets) else {
                    assert!(packing > 512, "{protocol:?} {packing}");
                    continue;
                };
                for mut candidate in candidates {
                    let name = format!("{} {} {packing} {octets}", candidate.name, candidate.backend.name());
                    assert_eq!(candidate.check(&frames, false), Ok(()), "{name}");
                }
            }
        }
    }

    #[test]
    fn frames_worked_on_show_in_the_numbers_afterwards() {
        let frames = frames(8640);
        let frames = [frames[0].octets(), frames[1].octets()];
        for mut candidate in
            ALL.into_iter().flat_map(|p| candidates(p, &Backend::ALL, usual_packing(p), 8640).unwrap())
        {
            candidate.check(&frames, false).unwrap();
            let buffers = if candidate.moves { &frames[..] } else { &frames[..1] };
            candidate.subject.work(buffers, 1001);
            assert_eq!(candidate.subject.frames(), GATE_FRAMES as u64 + 1001, "{}", candidate.name);
            assert_eq!(candidate.check(&frames, true), Ok(()), "{}", candidate.name);
        }
    }

    #[test]
    fn rows_are_called_as_the_contract_says() {
        let rows = |backends: &[Backend]| {
            let rows = candidates(Protocol::Sacn, backends, 510, 1).unwrap().into_iter();
            rows.map(|row| format!("{} {}", row.name, row.backend.name())).collect::<Vec<_>>()
        };
        assert_eq!(rows(&Backend::ALL), ["sacn contiguous", "sacn gather", "sacn/moved gather"]);
        assert_eq!(rows(&[Backend::Contiguous]), ["sacn contiguous"]);
    }

    /// An encoder with one wrong octet, at a place and from a frame on of our choice.
    struct Wrong {
        right: Box<dyn Subject>,
        datagram: usize,
        offset: usize,
        from: u64,
    }

    impl Subject for Wrong {
        fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
            let wrong = self.frames() >= self.from;
            let mut datagrams = self.right.datagrams(frame)?;
            datagrams[self.datagram][self.offset] ^= u8::from(wrong);
            Ok(datagrams)
        }

        fn work(&mut self, frames: &[&[u8]], iterations: u64) {
            self.right.work(frames, iterations);
        }

        fn frames(&self) -> u64 {
            self.right.frames()
        }
    }

    #[test]
    fn one_wrong_octet_anywhere_is_found() {
        let frames = frames(1000);
        let frames = [frames[0].octets(), frames[1].octets()];
        for protocol in ALL {
            let golden = candidates(protocol, &[Backend::Contiguous], 400, 1000).unwrap().remove(0);
            let datagrams = golden.golden(frames[0], 0).unwrap();
            for (datagram, octets) in datagrams.iter().enumerate() {
                for offset in 0..octets.len() {
                    let mut candidate =
                        candidates(protocol, &[Backend::Contiguous], 400, 1000).unwrap().remove(0);
                    candidate.subject =
                        Box::new(Wrong { right: candidate.subject, datagram, offset, from: 0 });
                    let Err(Refusal::Differs(found)) = candidate.check(&frames, false) else {
                        panic!("{protocol:?} {datagram} {offset}");
                    };
                    assert_eq!((found.frame, found.datagram, found.offset), (0, datagram, offset));
                }
            }
        }
    }

    #[test]
    fn an_octet_that_goes_wrong_late_is_found_in_its_frame() {
        let frames = frames(1000);
        let frames = [frames[0].octets(), frames[1].octets()];
        let mut candidate = candidates(Protocol::Sacn, &[Backend::Gather], 510, 1000).unwrap().remove(0);
        candidate.subject = Box::new(Wrong { right: candidate.subject, datagram: 1, offset: 111, from: 256 });
        let text = candidate.check(&frames, false).unwrap_err().to_string();
        assert_eq!(text, "frame 256, datagram 1, octet 111: expected 0x00, got 0x01");
    }

    #[test]
    fn a_frame_beyond_the_last_universe_is_refused_with_the_limit() {
        let most = |protocol, packing, octets| {
            candidates(protocol, &[], packing, octets).err().map(|e| e.to_string())
        };
        assert_eq!(most(Protocol::Sacn, 1, 63_999), None);
        assert_eq!(
            most(Protocol::Sacn, 1, 64_000),
            Some("frame octets 64000 is not at most 63999".to_owned())
        );
        assert!(most(Protocol::ArtNet, 2, 65_537).is_some() && most(Protocol::ArtNet, 2, 65_536).is_none());
        assert!(most(Protocol::BigPacket, 1, 65_536).is_some());
    }
}
