//! The encoders of other crates on the same frame. Their parsers and sockets are never used: the parser of `sacn`
//! 0.11.1 panics on a datagram of the right size.
//!
//! All start from the same frame as ours. What a peer wants beside it is part of its work: `sacn` takes each universe
//! with its start code in front, which means a copy. Buffers are used again wherever an interface allows it.

use artnet_protocol::{ArtCommand, Output};
use ddp_rs::protocol::{DataType, FrameBuilder, ID, MAX_DATA_LENGTH, PixelConfig, PixelFormat};
use sacn::packet::{
    AcnRootLayerProtocol, DataPacketDmpLayer, DataPacketFramingLayer, E131RootLayer, E131RootLayerData,
};
use std::borrow::Cow;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use uuid::Uuid;
use wireproof_encoders::Backend;
use wireproof_encoders::bench::gate::Subject;
use wireproof_encoders::bench::golden::Identity;
use wireproof_encoders::bench::suite::{Candidate, identity};
use wireproof_protocols::Protocol;

/// The last number of the cycle of ddp-rs.
const DDP_RS_LAST: u8 = 16;
const DDP_RS_HABIT: &str = "the sequence number (octet 1) counts 1..16, as ddp-rs does; the text has 1..15";

/// The peers of a protocol that can do this packing.
pub(super) fn of(protocol: Protocol, packing: u16) -> Vec<Candidate> {
    let slots = usize::from(packing);
    match protocol {
        Protocol::Sacn => vec![
            candidate("peer:sacn/pack", protocol, packing, Box::new(SacnCrate::new(slots, false))),
            candidate("peer:sacn/alloc", protocol, packing, Box::new(SacnCrate::new(slots, true))),
        ],
        Protocol::ArtNet => {
            vec![candidate(
                "peer:artnet_protocol",
                protocol,
                packing,
                Box::new(ArtNetCrate { slots, frames: 0 }),
            )]
        }
        // Its packing is fixed.
        Protocol::Ddp if slots == MAX_DATA_LENGTH => [("scratch", false), ("kept", true)]
            .map(|(way, keep)| Candidate {
                ddp_last: DDP_RS_LAST,
                habit: Some(DDP_RS_HABIT),
                ..candidate(&format!("peer:ddp-rs/{way}"), protocol, packing, Box::new(DdpCrate::new(keep)))
            })
            .into(),
        _ => Vec::new(),
    }
}

fn candidate(name: &str, protocol: Protocol, packing: u16, subject: Box<dyn Subject>) -> Candidate {
    Candidate {
        name: name.to_owned(),
        protocol,
        backend: Backend::Contiguous,
        moves: false,
        peer: true,
        habit: None,
        subject: Box::new(Caught(subject)),
        packing,
        identity: identity(),
        ddp_last: 15,
    }
}

/// A peer whose panic at the gate is a reason not to time it.
struct Caught(Box<dyn Subject>);

impl Subject for Caught {
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let outcome = catch_unwind(AssertUnwindSafe(|| self.0.datagrams(frame)));
        std::panic::set_hook(hook);
        outcome.unwrap_or_else(|_| Err("it panics".to_owned()))
    }

    fn work(&mut self, frames: &[&[u8]], iterations: u64) {
        self.0.work(frames, iterations);
    }

    fn frames(&self) -> u64 {
        self.0.frames()
    }
}

/// `sacn`: packets packed into buffers that are used again, or as its own source sends them, slots and packet
/// copied to memory of their own.
struct SacnCrate {
    identity: Identity,
    slots: usize,
    allocates: bool,
    /// Start code and slots of each universe.
    values: Vec<Vec<u8>>,
    packed: Vec<Vec<u8>>,
    frames: u64,
}

impl SacnCrate {
    fn new(slots: usize, allocates: bool) -> SacnCrate {
        let (values, packed) = (Vec::new(), Vec::new());
        SacnCrate { identity: identity(), slots, allocates, values, packed, frames: 0 }
    }

    /// Copies the slots of each universe behind their start code, as the crate wants them.
    fn lay_out(&mut self, frame: &[u8]) {
        let universes = frame.chunks(self.slots);
        self.values.resize(universes.len(), Vec::new());
        self.packed.resize(universes.len(), Vec::new());
        for (values, slots) in self.values.iter_mut().zip(universes) {
            values.clear();
            values.push(0);
            values.extend_from_slice(slots);
        }
    }

    fn pack(&mut self) -> Result<(), String> {
        let sequence = self.frames as u8;
        for (index, (values, packed)) in self.values.iter().zip(&mut self.packed).enumerate() {
            let universe = self.identity.universe + index as u16;
            if self.allocates {
                let mut copied = Vec::with_capacity(values.len());
                copied.extend(values);
                *packed = packet(&self.identity, universe, sequence, copied.into())
                    .pack_alloc()
                    .map_err(|e| e.to_string())?;
            } else {
                let packet = packet(&self.identity, universe, sequence, Cow::Borrowed(values));
                packed.resize(packet.len(), 0);
                packet.pack(packed).map_err(|e| e.to_string())?;
            }
        }
        self.frames += 1;
        Ok(())
    }
}

fn packet<'a>(
    identity: &'a Identity,
    universe: u16,
    sequence_number: u8,
    property_values: Cow<'a, [u8]>,
) -> AcnRootLayerProtocol<'a> {
    let framing = DataPacketFramingLayer {
        source_name: identity.name.as_str().into(),
        priority: identity.priority,
        synchronization_address: 0,
        sequence_number,
        preview_data: false,
        stream_terminated: false,
        force_synchronization: false,
        universe,
        data: DataPacketDmpLayer { property_values },
    };
    let cid = Uuid::from_bytes(identity.cid);
    AcnRootLayerProtocol { pdu: E131RootLayer { cid, data: E131RootLayerData::DataPacket(framing) } }
}

impl Subject for SacnCrate {
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.lay_out(frame);
        self.pack()?;
        Ok(self.packed.clone())
    }

    fn work(&mut self, frames: &[&[u8]], iterations: u64) {
        for _ in 0..iterations {
            let peer = black_box(&mut *self);
            peer.lay_out(black_box(frames[0]));
            // A failure leaves its frame uncounted, which shows afterwards.
            let _ = peer.pack();
            black_box(self.packed.as_ptr());
        }
    }

    fn frames(&self) -> u64 {
        self.frames
    }
}

/// `ddp-rs`: each datagram in the one scratch buffer it asks for, or kept in memory of its own.
struct DdpCrate {
    builder: FrameBuilder,
    scratch: Vec<u8>,
    keeps: bool,
    kept: Vec<Vec<u8>>,
    frames: u64,
}

impl DdpCrate {
    fn new(keeps: bool) -> DdpCrate {
        let rgb = PixelConfig {
            data_type: DataType::RGB,
            data_size: PixelFormat::Pixel8Bits,
            customer_defined: false,
        };
        let builder = FrameBuilder::new(rgb, ID::Default);
        DdpCrate { builder, scratch: vec![0; 1500], keeps, kept: Vec::new(), frames: 0 }
    }

    fn encode(&mut self, frame: &[u8], keeps: bool) {
        self.kept.clear();
        let kept = &mut self.kept;
        let each = |datagram: &[u8]| {
            if keeps {
                kept.push(datagram.to_vec());
            } else {
                black_box(datagram.as_ptr());
            }
            Ok::<(), ()>(())
        };
        if self.builder.for_each_frame(frame, 0, &mut self.scratch, each).is_ok() {
            self.frames += 1;
        }
    }
}

impl Subject for DdpCrate {
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.encode(frame, true);
        Ok(self.kept.clone())
    }

    fn work(&mut self, frames: &[&[u8]], iterations: u64) {
        for _ in 0..iterations {
            let keeps = self.keeps;
            black_box(&mut *self).encode(black_box(frames[0]), keeps);
            black_box(self.kept.as_ptr());
        }
    }

    fn frames(&self) -> u64 {
        self.frames
    }
}

/// `artnet_protocol`: its only way, levels and datagram in memory of their own.
struct ArtNetCrate {
    slots: usize,
    frames: u64,
}

impl ArtNetCrate {
    fn each(&mut self, frame: &[u8], mut emit: impl FnMut(Vec<u8>)) -> Result<(), String> {
        let sequence = (self.frames % 255 + 1) as u8;
        for (address, levels) in frame.chunks(self.slots).enumerate() {
            let port_address =
                (address as u16).try_into().map_err(|e: artnet_protocol::Error| e.to_string())?;
            let output = Output { sequence, port_address, data: levels.to_vec().into(), ..Output::default() };
            emit(ArtCommand::Output(output).write_to_buffer().map_err(|e| e.to_string())?);
        }
        self.frames += 1;
        Ok(())
    }
}

impl Subject for ArtNetCrate {
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut datagrams = Vec::new();
        self.each(frame, |datagram| datagrams.push(datagram))?;
        Ok(datagrams)
    }

    fn work(&mut self, frames: &[&[u8]], iterations: u64) {
        for _ in 0..iterations {
            // A failure leaves its frame uncounted, which shows afterwards.
            let _ = black_box(&mut *self).each(black_box(frames[0]), |datagram| {
                black_box(datagram.as_ptr());
            });
        }
    }

    fn frames(&self) -> u64 {
        self.frames
    }
}
