//! System calls of packet sockets, and the memory they share with the kernel. No library offers a TPACKET_V3 ring,
//! so this is the one file of the packet tap with unsafe code: socket options, `bind`, `getsockname`, `ppoll`, and
//! the mapped ring.
//!
//! The ring is a row of blocks. The kernel fills a block, then sets the user bit of its status word; until this
//! process clears the word, the kernel leaves the block alone. A [`Block`] exists only while the bit is set, and
//! every slice of the ring borrows from one.

#![allow(unsafe_code)]

use libc::{
    c_int, c_void, sockaddr_ll, socklen_t, tpacket_bd_header_u, tpacket_block_desc, tpacket_hdr_v1,
    tpacket_req3, tpacket_stats_v3, tpacket3_hdr,
};
use socket2::{Domain, Socket, Type};
use std::io;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Offset of the version-1 header within a block.
const HEADER: usize = offset_of!(tpacket_block_desc, hdr) + offset_of!(tpacket_bd_header_u, bh1);
const STATUS: usize = HEADER + offset_of!(tpacket_hdr_v1, block_status);
const COUNT: usize = HEADER + offset_of!(tpacket_hdr_v1, num_pkts);
const FIRST: usize = HEADER + offset_of!(tpacket_hdr_v1, offset_to_first_pkt);
const LENGTH: usize = HEADER + offset_of!(tpacket_hdr_v1, blk_len);
/// The unit in which the kernel wants frame sizes; frames of a version-3 ring have any length.
const FRAME_SIZE: u32 = 2_048;

/// Opens a packet socket that receives nothing until it is bound with a protocol.
pub(super) fn open() -> io::Result<Socket> {
    Socket::new(Domain::PACKET, Type::RAW, None)
}

/// What a packet socket is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// Interface index; none once the interface was removed.
    pub(super) index: Option<u32>,
    /// Hardware type (`ARPHRD_…`).
    pub(super) hardware: u16,
}

/// Binds a packet socket to an interface, for every protocol or so far for none.
pub(super) fn bind(socket: &Socket, index: u32, listening: bool) -> io::Result<()> {
    let protocol = if listening { (libc::ETH_P_ALL as u16).to_be() } else { 0 };
    let mut address = no_address();
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = index.cast_signed();
    let length = size_of::<sockaddr_ll>() as socklen_t;
    // SAFETY: `address` lives through the call and is `length` octets long; the kernel only reads it.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })
}

/// What a packet socket is bound to now.
pub(super) fn bound(socket: &impl AsRawFd) -> io::Result<Bound> {
    let mut address = no_address();
    let mut length = size_of::<sockaddr_ll>() as socklen_t;
    // SAFETY: both pointers are to live values; the kernel writes at most `length` octets, the size of `address`,
    // and any octets are a valid `sockaddr_ll`.
    checked(unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) })?;
    let index = u32::try_from(address.sll_ifindex).ok().filter(|index| *index != 0);
    Ok(Bound { index, hardware: address.sll_hatype })
}

fn no_address() -> sockaddr_ll {
    sockaddr_ll {
        sll_family: 0,
        sll_protocol: 0,
        sll_ifindex: 0,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

/// Keeps what this host sends out of a packet socket.
pub(super) fn ignore_outgoing(socket: &impl AsRawFd) -> io::Result<()> {
    set(socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)
}

/// Makes the interface receive frames for other hosts, for as long as the socket is open.
pub(super) fn promiscuous(socket: &impl AsRawFd, index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// Asks for the interface's own stamps; frames without one have the kernel's.
pub(super) fn hardware_stamps(socket: &impl AsRawFd) -> io::Result<()> {
    set(socket, libc::PACKET_TIMESTAMP, &libc::SOF_TIMESTAMPING_RAW_HARDWARE)
}

/// Frames the filter let through, those dropped included, and frames dropped: since the last call, as the kernel
/// starts from zero at each.
pub(super) fn statistics(socket: &impl AsRawFd) -> io::Result<(u32, u32)> {
    let mut statistics = tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
    get(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics)?;
    Ok((statistics.tp_packets, statistics.tp_drops))
}

/// Takes the error that waits on a socket.
pub(super) fn take_error(socket: &impl AsRawFd) -> io::Result<Option<io::Error>> {
    let mut error: c_int = 0;
    get(socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut error)?;
    Ok((error != 0).then(|| io::Error::from_raw_os_error(error)))
}

/// What woke a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Woken {
    /// There is something to read.
    pub(super) readable: bool,
    /// An error waits to be taken.
    pub(super) failed: bool,
}

/// Waits until a socket is readable or has an error, for at most `wait`; a signal ends the wait early.
pub(super) fn wait(socket: &impl AsRawFd, wait: Duration) -> io::Result<Woken> {
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let limit = libc::timespec {
        tv_sec: i32::try_from(wait.as_secs()).unwrap_or(i32::MAX).into(),
        tv_nsec: wait.subsec_nanos().into(),
    };
    // SAFETY: one live entry is announced and one is there; `limit` lives through the call; no signal mask is given.
    let result = checked(unsafe { libc::ppoll(&raw mut entry, 1, &raw const limit, ptr::null()) });
    match result {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Woken::default()),
        Err(error) => Err(error),
        Ok(()) => Ok(Woken {
            readable: entry.revents & libc::POLLIN != 0,
            failed: entry.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0,
        }),
    }
}

/// Sets an option of the packet level.
fn set<T: Copy>(socket: &impl AsRawFd, name: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as socklen_t;
    // SAFETY: `value` is live and `length` octets long; the kernel only reads it.
    checked(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, name, ptr::from_ref(value).cast(), length)
    })
}

/// Reads an option; `T` is a C structure of integers, for which any octets are a value.
fn get<T: Copy>(socket: &impl AsRawFd, level: c_int, name: c_int, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: both pointers are to live values; the kernel writes at most `length` octets, the size of `value`, and
    // the callers in this file give integers and structures of integers only.
    checked(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, ptr::from_mut(value).cast(), &raw mut length)
    })
}

fn checked(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Size of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Octets of a block: a multiple of the page size and of 2,048.
    pub(super) block: u32,
    /// Blocks.
    pub(super) blocks: u32,
    /// After how many milliseconds a block that holds a frame is handed over though it is not full.
    pub(super) retire_ms: u32,
}

impl Shape {
    /// Octets of the ring.
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.block) * u64::from(self.blocks)
    }
}

/// A receive ring, mapped. Unmapped when dropped; the kernel keeps the memory until the socket is closed too.
#[derive(Debug)]
pub(super) struct Ring {
    base: NonNull<u8>,
    block: usize,
    blocks: usize,
}

// SAFETY: the mapping is memory of the process and bound to no thread; the pointer is used by the owner only.
unsafe impl Send for Ring {}

impl Ring {
    /// Makes a TPACKET_V3 ring on a socket that is not listening yet, and maps it.
    pub(super) fn new(socket: &Socket, shape: Shape) -> io::Result<Self> {
        set(socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as c_int))?;
        let request = tpacket_req3 {
            tp_block_size: shape.block,
            tp_block_nr: shape.blocks,
            tp_frame_size: FRAME_SIZE,
            tp_frame_nr: (shape.block / FRAME_SIZE).saturating_mul(shape.blocks),
            tp_retire_blk_tov: shape.retire_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(socket, libc::PACKET_RX_RING, &request)?;
        let (block, blocks) = (shape.block as usize, shape.blocks as usize);
        let length = block.checked_mul(blocks).ok_or(io::ErrorKind::InvalidInput)?;
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: no address is asked for, so the kernel picks one where nothing of this process lies.
        let base = unsafe { libc::mmap(ptr::null_mut(), length, rights, flags, socket.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            // A ring of no blocks takes this one away, so that a smaller one can be asked for.
            set(socket, libc::PACKET_RX_RING, &tpacket_req3 { tp_block_nr: 0, tp_frame_nr: 0, ..request })?;
            return Err(error);
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { base, block, blocks })
    }

    /// Blocks in the ring.
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// True when block number `index` is filled and not given back.
    #[inline]
    pub(super) fn ready(&self, index: usize) -> bool {
        self.status(index).is_some_and(|status| status.load(Ordering::Acquire) & libc::TP_STATUS_USER != 0)
    }

    /// Block number `index`, when it is filled and not given back.
    #[inline]
    pub(super) fn take(&mut self, index: usize) -> Option<Block<'_>> {
        if !self.ready(index) {
            return None;
        }
        // SAFETY: `ready` says that `index` is below `blocks`, so the block lies within the mapping.
        let base = unsafe { self.base.add(index * self.block) };
        Some(Block { base, size: self.block, ring: PhantomData })
    }

    /// Octets in filled blocks that were not given back, of which block number `next` is the first. The kernel fills
    /// them in order, so that the others need not be looked at.
    pub(super) fn queued(&mut self, next: usize) -> u64 {
        let mut places = (next..self.blocks).chain(0..next.min(self.blocks));
        std::iter::from_fn(|| self.take(places.next()?)?.word(LENGTH)).map(u64::from).sum()
    }

    #[inline]
    fn status(&self, index: usize) -> Option<&AtomicU32> {
        if index >= self.blocks {
            return None;
        }
        // SAFETY: the block lies within the mapping, which lives as long as `self`; blocks are page-aligned and the
        // word is at a multiple of four in them. The kernel writes the word as a whole, and this process reads and
        // writes it as an atomic only.
        Some(unsafe { AtomicU32::from_ptr(self.base.add(index * self.block + STATUS).cast().as_ptr()) })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length, and nothing borrows from it any more. Unmapping
        // fails for other arguments only.
        unsafe { libc::munmap(self.base.as_ptr().cast::<c_void>(), self.block * self.blocks) };
    }
}

/// A filled block that the kernel leaves alone until it is given back.
pub(super) struct Block<'a> {
    base: NonNull<u8>,
    size: usize,
    ring: PhantomData<&'a mut Ring>,
}

impl Block<'_> {
    /// The frames of the block, in order of arrival.
    #[inline]
    pub(super) fn frames(&self) -> Frames<'_> {
        let at = self.word(FIRST).unwrap_or(0) as usize;
        Frames { block: self, at, left: self.word(COUNT).unwrap_or(0) }
    }

    /// Gives the block back to the kernel; no slice of it is left, as each borrows from it.
    #[inline]
    pub(super) fn release(self) {
        // SAFETY: as in `Ring::status`; the block lies within the mapping, which outlives it.
        let status = unsafe { AtomicU32::from_ptr(self.base.add(STATUS).cast().as_ptr()) };
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.read(at)
    }

    /// Reads a C structure of integers out of the block.
    #[inline]
    fn read<T: Copy>(&self, at: usize) -> Option<T> {
        let octets = self.octets(at, size_of::<T>())?;
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: `octets` is as long as `T`, the two do not overlap, and any octets are a value of the integers and
        // structures of integers that the callers in this file ask for.
        unsafe {
            ptr::copy_nonoverlapping(octets.as_ptr(), value.as_mut_ptr().cast(), octets.len());
            Some(value.assume_init())
        }
    }

    #[inline]
    fn octets(&self, at: usize, length: usize) -> Option<&[u8]> {
        if at.checked_add(length)? > self.size {
            return None;
        }
        // SAFETY: the range lies within the block, which lies within the mapping, which is initialised memory. The
        // acquiring load in `Ring::ready` saw the user bit, so the kernel's writes are visible and it writes no
        // more until `release`, which takes the block by value and so ends this borrow.
        Some(unsafe { std::slice::from_raw_parts(self.base.add(at).as_ptr(), length) })
    }
}

/// A frame as it lies in the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// From the start of the link layer, as far as it was captured.
    pub(super) data: &'a [u8],
    /// Octets on the wire.
    pub(super) length: u32,
    /// Seconds of the stamp.
    pub(super) seconds: u32,
    /// Nanoseconds of the stamp.
    pub(super) nanoseconds: u32,
    /// `TP_STATUS_…` bits.
    pub(super) status: u32,
    /// Tag control field of the VLAN tag that the kernel took out, when the status says that there was one.
    pub(super) tag: u32,
    /// Type of that tag, when the status says that it is known.
    pub(super) tag_type: u16,
}

impl Frame<'_> {
    /// VLAN id of the tag that the kernel took out.
    #[inline]
    pub(super) fn vlan(&self) -> Option<u16> {
        (self.status & libc::TP_STATUS_VLAN_VALID != 0).then_some((self.tag & 0x0fff) as u16)
    }

    /// Writes the frame as it was on the wire, the VLAN tag behind the addresses, into `whole`; false when no tag was
    /// taken out.
    pub(super) fn put_back(&self, whole: &mut Vec<u8>) -> bool {
        let known = self.status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let tag_type = if known { self.tag_type } else { 0x8100 };
        let (Some(_), Some((addresses, rest))) = (self.vlan(), self.data.split_at_checked(12)) else {
            return false;
        };
        whole.clear();
        whole.extend_from_slice(addresses);
        whole.extend_from_slice(&tag_type.to_be_bytes());
        whole.extend_from_slice(&(self.tag as u16).to_be_bytes());
        whole.extend_from_slice(rest);
        true
    }

    /// True when the sending interface was to fill in the checksum.
    #[inline]
    pub(super) fn checksum_pending(&self) -> bool {
        self.status & libc::TP_STATUS_CSUMNOTREADY != 0
    }

    /// True when the interface made the stamp.
    #[inline]
    pub(super) fn hardware_stamp(&self) -> bool {
        self.status & libc::TP_STATUS_TS_RAW_HARDWARE != 0
    }
}

/// Walks the frames of a block; ends early where a header points outside it.
pub(super) struct Frames<'a> {
    block: &'a Block<'a>,
    at: usize,
    left: u32,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        self.left = self.left.checked_sub(1)?;
        let header: tpacket3_hdr = self.block.read(self.at)?;
        let data = self.block.octets(self.at + usize::from(header.tp_mac), header.tp_snaplen as usize)?;
        self.at = self.at.checked_add(header.tp_next_offset as usize)?;
        Some(Frame {
            data,
            length: header.tp_len,
            seconds: header.tp_sec,
            nanoseconds: header.tp_nsec,
            status: header.tp_status,
            tag: header.hv1.tp_vlan_tci,
            tag_type: header.hv1.tp_vlan_tpid,
        })
    }
}
