//! The packet ring: frames of an interface through a TPACKET_V3 ring, stamped by the kernel, filtered in the kernel,
//! with every dropped frame accounted for and placed.
//!
//! A frame is dropped when the block the kernel would open next was not given back yet. With n blocks of which the
//! oldest that is not given back has number s, that next block has number s + n: the same place in the ring. So
//! the drop counter is read whenever a block is given back, and what it says is handed over before the first frame
//! of the next filling of that very block.
//!
//! Waiting: while many frames keep coming the thread looks every 10 ms, as long as that takes no more than a sixteenth of
//! the ring. The kernel has stamped the frames already; one wake-up serves many blocks.

use super::bpf::{self, Start};
use super::interfaces;
use super::source::{Layer, Seen, Source, SourceCounters, SourceInfo};
use super::sys_packet::{self, Frame, Ring, Shape};
use super::tap::{self, Aside, Offload, Taken, TapError, TapFilter, TapOptions, Teller};
use crate::capture::LinkType;
use socket2::{SockFilter, Socket};
use std::io;
use std::mem;
use std::thread;
use std::time::Duration;
use wireproof_protocols::Timestamp;

/// Octets of a block. Larger ones cost less by a quarter, but every 5 ms with a frame in them use one up, so that
/// few large blocks hold little time on a quiet network: 256 of them hold 1.3 s.
const BLOCK: u32 = 256 << 10;
/// Octets of a block of a ring too small for four of the usual ones; holds one frame of the largest size.
const SMALL_BLOCK: u32 = 128 << 10;
/// The largest ring, octets: the kernel never swaps it out.
const RING_MAX: u64 = 1 << 30;
/// Fewest blocks of a ring: one to fill while the other is read.
const BLOCKS_MIN: u32 = 2;
/// Milliseconds after which a block with a frame in it is handed over.
const RETIRE_MS: u32 = 5;
/// Frames of a round after which more may gather: fewer may be all there is for now, and looking again is a wake-up.
const MANY: usize = 300;
/// How long blocks may gather while frames keep coming: being woken costs as much as some hundred frames.
const GATHER: Duration = Duration::from_millis(10);
/// Share of the ring that what gathers may take.
const GATHER_SHARE: usize = 16;
/// Hardware type of a link without a header (tun), `ARPHRD_NONE`.
const HEADERLESS: u16 = 0xfffe;

/// Frames of one interface.
pub struct RingSource {
    socket: Socket,
    ring: Ring,
    teller: Teller,
    /// Room for a frame with its VLAN tag put back, where frames are handed over.
    whole: Vec<u8>,
    /// The block to be read next.
    next: usize,
    /// For each block, the frames dropped before its next filling.
    owed: Box<[u64]>,
    /// Frames dropped, as read since a block was given back last.
    recent: u64,
    counters: SourceCounters,
    /// More may gather before the next round.
    gathers: bool,
    info: SourceInfo,
}

impl RingSource {
    /// Listens on an interface; transmits nothing. An interface that is down is accepted, and the first poll says so.
    ///
    /// # Errors
    /// [`TapError`], one line with what to do.
    pub fn open(options: &TapOptions) -> Result<Self, TapError> {
        let interface = interfaces::find(&options.interface)?;
        let name = interface.name.as_str();
        let refused = |what| move |error| TapError::refused(name, what, error);
        let socket = sys_packet::open().map_err(refused("opening a packet socket"))?;
        // Bound without a protocol, the socket hears nothing until filter and ring are in place.
        sys_packet::bind(&socket, interface.index, false).map_err(refused("binding to the interface"))?;
        let bound = sys_packet::bound(&socket).map_err(refused("asking for the link type"))?;
        let (link_type, start) = link(name, bound.hardware)?;
        let mut info = SourceInfo {
            kind: "packet",
            name: name.to_owned(),
            timestamps: "kernel",
            link_type: tap::link_name(link_type),
            ..SourceInfo::default()
        };
        attach(&socket, name, start, &options.filter, &mut info)?;
        prepare(&socket, interface.index, options).map_err(refused("setting up the packet socket"))?;
        let (ring, shape) = ring(&socket, name, options.buffer_bytes)?;
        info.buffer_bytes = (options.buffer_bytes, shape.bytes());
        if shape.bytes() < options.buffer_bytes {
            info.notes.push(format!(
                "the packet ring has {} of {} octets",
                shape.bytes(),
                options.buffer_bytes
            ));
        }
        sys_packet::bind(&socket, interface.index, true).map_err(refused("listening on the interface"))?;
        let owed = vec![0; ring.blocks()].into_boxed_slice();
        let counters = SourceCounters { granted_bytes: shape.bytes(), ..SourceCounters::default() };
        let teller = Teller::new(link_type);
        Ok(RingSource {
            socket,
            ring,
            teller,
            whole: Vec::new(),
            next: 0,
            owed,
            recent: 0,
            counters,
            gathers: false,
            info,
        })
    }

    /// Hands over the next block when it is filled, and gives it back; `None` when it is not.
    fn block(&mut self, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<Option<usize>> {
        let Some(block) = self.ring.take(self.next) else { return Ok(None) };
        let owed = self.owed.get_mut(self.next).map_or(0, mem::take);
        if owed > 0 {
            each(Seen::Dropped(owed));
        }
        let mut count: u64 = 0;
        for frame in block.frames() {
            count += 1;
            let mut taken = taken(&frame, self.counters.received + count);
            if self.teller.shows_frames() && frame.put_back(&mut self.whole) {
                (taken.data, taken.length, taken.aside.vlan) =
                    (&self.whole, taken.length.saturating_add(4), None);
            }
            self.teller.tell(&taken, each);
            self.counters.cut += u64::from(frame.length as usize > frame.data.len());
            if frame.hardware_stamp() {
                self.info.timestamps = "hardware";
            }
        }
        block.release();
        self.counters.received += count;
        let place = self.next;
        self.next = (self.next + 1) % self.ring.blocks();
        self.read_drops()?;
        if let Some(owed) = self.owed.get_mut(place) {
            *owed = mem::take(&mut self.recent);
        }
        Ok(Some(count as usize))
    }

    /// The only reader of the kernel's counters, which start from zero at each reading.
    fn read_drops(&mut self) -> io::Result<()> {
        let (_, drops) = sys_packet::statistics(&self.socket)?;
        self.recent += u64::from(drops);
        self.counters.dropped += u64::from(drops);
        Ok(())
    }

    /// Waits for a block, or for bad news of the interface.
    fn wait(&mut self, wait: Duration) -> io::Result<()> {
        let woken = sys_packet::wait(&self.socket, wait)?;
        let error = if woken.failed { sys_packet::take_error(&self.socket)? } else { None };
        // The kernel reports an interface that goes down before it is removed, and the removal by no more than this.
        if !woken.readable && sys_packet::bound(&self.socket)?.index.is_none() {
            return Err(tap::was_removed(&self.info.name));
        }
        match error {
            None => Ok(()),
            Some(error) if error.kind() == io::ErrorKind::NetworkDown => Err(tap::went_down(&self.info.name)),
            Some(error) => Err(error),
        }
    }
}

impl Source for RingSource {
    fn poll(&mut self, wait: Duration, each: &mut dyn FnMut(Seen<'_>)) -> io::Result<usize> {
        if self.gathers && wait >= GATHER && !self.ring.ready(self.next) {
            thread::sleep(GATHER);
        }
        if !self.ring.ready(self.next) {
            self.wait(wait)?;
        }
        let (mut count, mut blocks) = (0, 0);
        while blocks < self.ring.blocks() {
            let Some(frames) = self.block(each)? else { break };
            count += frames;
            blocks += 1;
        }
        self.gathers = may_gather(count, blocks, self.ring.blocks());
        Ok(count)
    }

    fn counters(&mut self) -> io::Result<SourceCounters> {
        self.read_drops()?;
        self.counters.queued_bytes = self.ring.queued(self.next);
        Ok(self.counters)
    }

    fn take_unannounced(&mut self) -> io::Result<u64> {
        self.read_drops()?;
        let owed: u64 = self.owed.iter_mut().map(mem::take).sum();
        Ok(owed + mem::take(&mut self.recent))
    }

    fn show_frames(&mut self) {
        self.whole.reserve(BLOCK as usize);
        self.teller.show_frames();
    }

    fn fragments(&self) -> Option<(u64, u64, u64)> {
        Some(self.teller.fragments())
    }

    fn layer(&self) -> Layer {
        Layer::Ring
    }

    fn info(&self) -> &SourceInfo {
        &self.info
    }
}

/// A frame of the ring as the teller takes it.
#[inline]
fn taken<'a>(frame: &Frame<'a>, number: u64) -> Taken<'a> {
    let at = Timestamp(i64::from(frame.seconds) * 1_000_000_000 + i64::from(frame.nanoseconds));
    let offload = if frame.checksum_pending() { Offload::Pending } else { Offload::Done };
    let aside = Aside { vlan: frame.vlan(), offload };
    Taken { number, at, data: frame.data, length: frame.length, aside }
}

/// True when a round of so many frames and blocks shows that frames keep coming, and leaves the ring room enough.
fn may_gather(frames: usize, taken: usize, blocks: usize) -> bool {
    frames >= MANY && taken <= blocks / GATHER_SHARE
}

/// The link type of a hardware type, and where its frames begin.
fn link(interface: &str, hardware: u16) -> Result<(LinkType, Start), TapError> {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Ok((LinkType::ETHERNET, Start::Ethernet)),
        HEADERLESS => Ok((LinkType::RAW, Start::Ip)),
        other => {
            let kind = match other {
                libc::ARPHRD_INFINIBAND => "InfiniBand".to_owned(),
                libc::ARPHRD_PPP => "PPP".to_owned(),
                libc::ARPHRD_IEEE80211 | libc::ARPHRD_IEEE80211_PRISM | libc::ARPHRD_IEEE80211_RADIOTAP => {
                    "802.11 (monitor mode)".to_owned()
                }
                _ => format!("ARPHRD {other}"),
            };
            Err(TapError::LinkType { interface: interface.to_owned(), kind })
        }
    }
}

/// Attaches the filter; more ports than a program holds are no error, as all frames are handed over then.
fn attach(
    socket: &Socket,
    interface: &str,
    start: Start,
    filter: &TapFilter,
    info: &mut SourceInfo,
) -> Result<(), TapError> {
    let ports = match filter {
        TapFilter::Everything => return Ok(()),
        TapFilter::Ports(ports) => ports,
        TapFilter::Expression(expression) => {
            let reason =
                "the packet ring takes ports only; use a build with the feature `libpcap`".to_owned();
            let interface = interface.to_owned();
            return Err(TapError::Filter { interface, expression: expression.clone(), reason });
        }
    };
    let Some(program) = bpf::program(start, ports) else {
        info.notes.push(format!("{} ports are not filtered in the kernel; every frame is read", ports.len()));
        return Ok(());
    };
    let program: Vec<_> = program.iter().map(|i| SockFilter::new(i.code, i.yes, i.no, i.k)).collect();
    let attached = socket.attach_filter(&program);
    attached.map_err(|error| TapError::refused(interface, "attaching the port filter", error))
}

/// Socket options that need to stand before the ring.
fn prepare(socket: &Socket, index: u32, options: &TapOptions) -> io::Result<()> {
    sys_packet::ignore_outgoing(socket)?;
    if options.promiscuous {
        sys_packet::promiscuous(socket, index)?;
    }
    if options.hardware_stamps {
        sys_packet::hardware_stamps(socket)?;
    }
    Ok(())
}

/// Makes the ring, or the largest half, quarter and so on of it that the kernel has memory for.
fn ring(socket: &Socket, interface: &str, bytes: u64) -> Result<(Ring, Shape), TapError> {
    let mut shape = shape(bytes);
    loop {
        match Ring::new(socket, shape) {
            Ok(ring) => return Ok((ring, shape)),
            Err(source) if source.kind() != io::ErrorKind::OutOfMemory => {
                return Err(TapError::refused(interface, "making the packet ring", source));
            }
            Err(source) if shape.blocks <= BLOCKS_MIN => {
                let (interface, bytes) = (interface.to_owned(), shape.bytes());
                return Err(TapError::Memory { interface, bytes, source });
            }
            Err(_) => shape.blocks = (shape.blocks / 2).max(BLOCKS_MIN),
        }
    }
}

/// The ring of at least `bytes` octets, or the largest.
fn shape(bytes: u64) -> Shape {
    let block = if bytes < 4 * u64::from(BLOCK) { SMALL_BLOCK } else { BLOCK };
    let blocks = u32::try_from(bytes.min(RING_MAX).div_ceil(u64::from(block))).unwrap_or(BLOCKS_MIN);
    Shape { block, blocks: blocks.max(BLOCKS_MIN), retire_ms: RETIRE_MS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_at_least_as_large_as_asked_for() {
        for bytes in [0, 1, 262_144, 262_145, 1 << 20, (1 << 20) + 1, 64 << 20, 1 << 30] {
            let shape = shape(bytes);
            assert!(shape.bytes() >= bytes && shape.blocks >= 2, "{bytes} {shape:?}");
            assert!(shape.bytes() < bytes + u64::from(shape.block) * 2 + 1, "{bytes} {shape:?}");
        }
        assert_eq!(shape(64 << 20), Shape { block: 262_144, blocks: 256, retire_ms: 5 });
        assert_eq!(shape(u64::MAX).bytes(), RING_MAX);
    }

    #[test]
    fn frames_gather_while_they_come_and_take_little_of_the_ring() {
        assert!(!may_gather(MANY - 1, 1, 256) && may_gather(MANY, 1, 256));
        assert!(may_gather(MANY, 16, 256) && !may_gather(MANY, 17, 256));
        assert!(!may_gather(MANY, 1, 2) && !may_gather(MANY, 2, 15), "a small ring is read at once");
    }

    #[test]
    fn link_types_that_are_not_dissected_are_named() {
        assert_eq!(link("lo", libc::ARPHRD_LOOPBACK).unwrap(), (LinkType::ETHERNET, Start::Ethernet));
        assert_eq!(link("tun0", HEADERLESS).unwrap(), (LinkType::RAW, Start::Ip));
        let text = link("mon0", libc::ARPHRD_IEEE80211_RADIOTAP).unwrap_err().to_string();
        assert!(text.contains("802.11 (monitor mode)") && text.contains("--udp"), "{text}");
        assert!(link("x0", 280).unwrap_err().to_string().contains("ARPHRD 280"));
    }
}
