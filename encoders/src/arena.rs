//! The memory datagrams lie in: slots for headers and payloads, the encoder's own frame, and the table of pieces.
//!
//! The only file of this crate with unsafe code. It knows slots, strides and lengths, and no protocol. Every table
//! entry points into memory owned here or into the frame of the call in progress; entries into a caller's frame
//! are written anew in every call before the table is handed out, and never read afterwards.

#![allow(unsafe_code, reason = "pieces outlive the calls that write them, which references cannot say")]

use crate::shape::{LINE, MOVE, Shape};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io::IoSlice;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Padding.
static ZERO: [u8; 1] = [0];

/// Zeroed octets behind one raw allocation, aligned to a cache line.
struct Block {
    base: NonNull<u8>,
    room: usize,
}

// SAFETY: the block owns its memory alone; access goes through `&self` and `&mut self`.
unsafe impl Send for Block {}
// SAFETY: `&Block` gives shared access to plain octets only.
unsafe impl Sync for Block {}

impl Block {
    const EMPTY: Block = Block { base: NonNull::dangling(), room: 0 };

    fn layout(room: usize) -> Layout {
        // A frame lies in memory already, so that its slots exceed isize::MAX only by a caller's mistake; the
        // allocator would refuse such a size as well.
        Layout::from_size_align(room, LINE).unwrap_or(Layout::new::<u8>())
    }

    /// Makes room for `octets`; everything is zero then if the block had to grow.
    fn reserve(&mut self, octets: usize) {
        if octets <= self.room {
            return;
        }
        let room = octets.checked_next_multiple_of(LINE).unwrap_or(usize::MAX);
        let layout = Block::layout(room);
        assert!(layout.size() == room, "a frame of this length does not fit into memory");
        // SAFETY: the size is not zero, because it is larger than a room of at least zero.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        *self = Block { base, room };
    }

    fn octets_mut(&mut self) -> &mut [u8] {
        // SAFETY: `room` octets at `base` are allocated and initialised (zeroed), and borrowed exclusively; a
        // dangling base goes with a room of zero.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.room) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.room > 0 {
            // SAFETY: allocated in `reserve` with the same layout, and freed once.
            unsafe { dealloc(self.base.as_ptr(), Block::layout(self.room)) };
        }
    }
}

/// A piece as the kernel reads it: `struct iovec`, with which `IoSlice` is guaranteed to be ABI compatible on Unix.
/// It holds a raw pointer and not a reference, so that headers may be written while the table knows them.
#[derive(Clone, Copy)]
#[repr(C)]
struct Piece {
    base: *const u8,
    octets: usize,
}

const _: () = assert!(size_of::<Piece>() == size_of::<IoSlice<'_>>());
const _: () = assert!(align_of::<Piece>() == align_of::<IoSlice<'_>>());
#[cfg(not(unix))]
compile_error!("the table of pieces has the layout of iovec, which is a Unix type");

impl Piece {
    const EMPTY: Piece = Piece { base: NonNull::dangling().as_ptr(), octets: 0 };
}

/// Pieces kept from frame to frame.
struct Table(Vec<Piece>);

// SAFETY: a table is plain numbers until `view` makes slices of it, whose caller vouches for the memory.
unsafe impl Send for Table {}
// SAFETY: as for Send; `&Table` changes nothing.
unsafe impl Sync for Table {}

impl Table {
    /// The pieces.
    ///
    /// # Safety
    /// Every entry points to initialised octets that stay in place and unchanged for `'a`.
    #[inline(always)]
    unsafe fn view<'a>(&'a self) -> &'a [IoSlice<'a>] {
        let pieces: *const [Piece] = self.0.as_slice();
        // SAFETY: `Piece` has the layout of iovec and so of `IoSlice`; the caller vouches for what it points to.
        unsafe { &*(pieces as *const [IoSlice<'a>]) }
    }
}

/// Slots, own frame and table of an encoder.
pub(crate) struct Arena {
    slots: Block,
    frame: Block,
    frame_octets: usize,
    table: Table,
    shape: Shape,
    /// Whether the payload pieces point into the own frame.
    own: bool,
    #[cfg(target_arch = "x86_64")]
    has_avx: bool,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Arena {
            slots: Block::EMPTY,
            frame: Block::EMPTY,
            frame_octets: 0,
            table: Table(Vec::new()),
            shape: Shape::default(),
            own: false,
            #[cfg(target_arch = "x86_64")]
            has_avx: std::arch::is_x86_feature_detected!("avx"),
        }
    }

    #[inline(always)]
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Lays out slots and hands each slot's header room to `write`, which says how long the header is in `shape`
    /// already.
    pub(crate) fn lay_out(&mut self, shape: Shape, mut write: impl FnMut(usize, &mut [u8])) {
        assert!(shape.holds(), "a datagram does not fit into its slot");
        let used = shape.count.saturating_mul(shape.stride);
        self.slots.reserve(used);
        self.shape = shape;
        self.own = false;
        for (index, slot) in self.slots.octets_mut()[..used].chunks_exact_mut(shape.stride.max(1)).enumerate()
        {
            slot.fill(0);
            write(index, &mut slot[shape.lead..shape.lead + shape.head_of(index)]);
        }
        self.lay_table();
    }

    /// Points the table at the headers; where payload pieces lie is written in before the table is handed out.
    fn lay_table(&mut self) {
        let shape = self.shape;
        self.table.0.clear();
        self.table.0.reserve(shape.count * shape.width);
        for index in 0..shape.count {
            let head = shape.head_of(index);
            let (_, data) = shape.data_of(index);
            let whole = if shape.contiguous { head + data + shape.pad_of(index) } else { head };
            // SAFETY: `Shape::holds` puts the header inside its slot, and `lay_out` made room for every slot.
            let base = unsafe { self.slots.base.as_ptr().add(index * shape.stride + shape.lead) };
            self.table.0.push(Piece { base, octets: whole });
            if !shape.contiguous {
                self.table.0.push(Piece { octets: data, ..Piece::EMPTY });
            }
            if shape.width == 3 {
                self.table.0.push(Piece { base: ZERO.as_ptr(), octets: shape.pad_of(index) });
            }
        }
    }

    /// The headers, to move counters on.
    #[inline(always)]
    pub(crate) fn heads(&mut self) -> Heads<'_> {
        let Shape { stride, lead, data, count, .. } = self.shape;
        let base = self.slots.base.as_ptr().wrapping_add(lead);
        Heads { base, stride, lead, data, count, slots: PhantomData }
    }

    /// The own frame, `octets` long.
    pub(crate) fn frame_mut(&mut self, octets: usize) -> &mut [u8] {
        if octets > self.frame.room {
            self.own = false;
        }
        self.frame.reserve(octets);
        self.frame_octets = octets;
        &mut self.frame.octets_mut()[..octets]
    }

    /// Octets of the own frame.
    #[inline(always)]
    pub(crate) fn frame_octets(&self) -> usize {
        self.frame_octets
    }

    /// The pieces of all datagrams, filled from `frame`, whose length is the planned one.
    pub(crate) fn fill<'a>(&'a mut self, frame: &'a [u8]) -> &'a [IoSlice<'a>] {
        if !self.shape.contiguous {
            return self.point_at(frame);
        }
        assert!(frame.len() == self.shape.octets, "a frame of another length than planned");
        // SAFETY: the length is the planned one.
        unsafe { self.copy(frame.as_ptr()) };
        // SAFETY: every piece lies in the slots, which are borrowed for 'a.
        unsafe { self.table.view() }
    }

    /// The pieces of all datagrams, payloads in `frame`, whose length is the planned one; nothing is copied.
    #[inline(always)]
    pub(crate) fn point_at<'a>(&'a mut self, frame: &'a [u8]) -> &'a [IoSlice<'a>] {
        assert!(
            frame.len() == self.shape.octets && !self.shape.contiguous,
            "a frame of another shape than planned"
        );
        self.own = false;
        // SAFETY: the length is the planned one.
        unsafe { self.point(frame.as_ptr()) };
        // SAFETY: headers lie in the slots and payload pieces in `frame`; both are borrowed for 'a.
        unsafe { self.table.view() }
    }

    /// The pieces of all datagrams, filled from the own frame, whose length is the planned one.
    pub(crate) fn fill_own(&mut self) -> &[IoSlice<'_>] {
        assert!(self.frame_octets == self.shape.octets, "an own frame of another length than planned");
        let frame = self.frame.base.as_ptr();
        // SAFETY: the own frame has the planned length. It stays where it is while pieces are marked as pointing at it.
        unsafe {
            if self.shape.contiguous {
                self.copy(frame);
            } else {
                self.point(frame);
                self.own = true;
            }
        }
        // SAFETY: every piece lies in the slots or in the own frame, which are borrowed for as long as the view.
        unsafe { self.table.view() }
    }

    /// Whether the table points at the own frame already, so that [`Self::pieces`] is all that is needed.
    #[inline(always)]
    pub(crate) fn points_at_own(&self) -> bool {
        self.own
    }

    /// The pieces of all datagrams, payloads in the own frame.
    #[inline(always)]
    pub(crate) fn pieces(&self) -> &[IoSlice<'_>] {
        assert!(self.own, "the table points elsewhere");
        // SAFETY: headers lie in the slots and payload pieces in the own frame, which are borrowed for as long as the
        // view: `own` is reset wherever either moves or the table is rewritten.
        unsafe { self.table.view() }
    }

    /// Copies the payloads into their slots.
    ///
    /// # Safety
    /// `frame` is valid for reads of `shape.octets` octets, outside the slots.
    #[inline(never)]
    unsafe fn copy(&mut self, frame: *const u8) {
        let Shape { lead, head, last_head, last, data, .. } = self.shape;
        let Some(whole) = data.checked_sub(1) else { return };
        // SAFETY: `Shape::holds` puts every payload inside its slot, a whole number of lines away from the next one.
        // The frame holds what is read by the caller's promise, and lies outside the slots.
        unsafe {
            let (from, to) = (frame, self.slots.base.as_ptr().add(lead + head));
            #[cfg(target_arch = "x86_64")]
            if self.has_avx {
                copy_whole_avx(&self.shape, from, to);
            } else {
                copy_whole(&self.shape, from, to);
            }
            #[cfg(not(target_arch = "x86_64"))]
            copy_whole(&self.shape, from, to);
            let to = to.add(whole * self.shape.stride).sub(head).add(last_head);
            std::ptr::copy_nonoverlapping(from.add(whole * self.shape.chunk), to, last);
        }
    }

    /// Points the table at the payloads.
    ///
    /// # Safety
    /// `frame` points to `shape.octets` octets.
    #[inline(always)]
    unsafe fn point(&mut self, frame: *const u8) {
        let Shape { chunk, data, .. } = self.shape;
        let width = self.shape.width;
        let mut piece = self.table.0.as_mut_ptr().wrapping_add(1);
        let mut payload = frame;
        for _ in 0..data {
            // SAFETY: the table has `width` pieces for each datagram, and the second is the payload.
            unsafe { (*piece).base = payload };
            (piece, payload) = (piece.wrapping_add(width), payload.wrapping_add(chunk));
        }
    }
}

/// Octets after which the processor takes the addresses of a load and of a store before it for the same at first.
const PAGE: usize = 4096;

/// Copies every chunk but the last into its slot, in whole moves; up to 31 octets of the next chunk come to lie
/// behind a datagram, in the padding of its slot.
///
/// # Safety
/// `from` is valid for reads of `shape.octets` octets, and at `to` lie the payloads of `shape`, [`LINE`]-aligned and
/// padded to whole lines; the two do not overlap.
#[inline(always)]
unsafe fn copy_whole(shape: &Shape, from: *const u8, to: *mut u8) {
    let Shape { chunk, stride, data, last, .. } = *shape;
    let moves = chunk.div_ceil(MOVE);
    let surplus = moves * MOVE - chunk;
    let whole = data - 1;
    // So near the end of the frame that a surplus would be read from behind it.
    let exact = surplus.saturating_sub(last).div_ceil(chunk).min(whole);
    let (mut from, mut to) = (from, to);
    for _ in exact..whole {
        // A load waits for a store before it whose address agrees in the last 12 bits; the other direction meets none.
        let ahead = to.addr().wrapping_sub(from.addr()) % PAGE;
        if ahead < PAGE / 2 {
            for at in (0..moves).rev() {
                // SAFETY: the caller's promise; at least `surplus` octets of the frame follow this chunk.
                unsafe { to.cast::<[u8; MOVE]>().add(at).write(from.cast::<[u8; MOVE]>().add(at).read()) };
            }
        } else {
            for at in 0..moves {
                // SAFETY: as above.
                unsafe { to.cast::<[u8; MOVE]>().add(at).write(from.cast::<[u8; MOVE]>().add(at).read()) };
            }
        }
        (from, to) = (from.wrapping_add(chunk), to.wrapping_add(stride));
    }
    for _ in 0..exact {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, chunk) };
        (from, to) = (from.wrapping_add(chunk), to.wrapping_add(stride));
    }
}

/// [`copy_whole`] in 32-octet registers.
///
/// # Safety
/// As for [`copy_whole`], and the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn copy_whole_avx(shape: &Shape, from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { copy_whole(shape, from, to) };
}

/// The headers of the planned datagrams, one behind the other at a fixed stride.
pub struct Heads<'a> {
    /// The first header.
    base: *mut u8,
    stride: usize,
    lead: usize,
    data: usize,
    count: usize,
    slots: PhantomData<&'a mut [u8]>,
}

impl Heads<'_> {
    /// Datagrams that carry data.
    #[inline(always)]
    pub(crate) fn data(&self) -> usize {
        self.data
    }

    /// Hands the field of `N` octets at offset `at` of every data header to `write`, with the datagram's index.
    #[inline(always)]
    pub(crate) fn each<const N: usize>(&mut self, at: usize, mut write: impl FnMut(usize, &mut [u8; N])) {
        self.check(at + N);
        let mut field = self.base.wrapping_add(at);
        for index in 0..self.data {
            // SAFETY: `check` keeps the field inside its slot, and there is a slot for every data datagram. The
            // slots are borrowed exclusively, and a field is gone before the next one is made.
            write(index, unsafe { &mut *field.cast() });
            field = field.wrapping_add(self.stride);
        }
    }

    /// Writes `value` at offset `at` of every data header.
    #[inline(always)]
    pub(crate) fn fill<const N: usize>(&mut self, at: usize, value: [u8; N]) {
        self.check(at + N);
        let mut field = self.base.wrapping_add(at);
        for _ in 0..self.data / 4 {
            for _ in 0..4 {
                // SAFETY: as in `each`.
                unsafe { field.cast::<[u8; N]>().write(value) };
                field = field.wrapping_add(self.stride);
            }
        }
        for _ in 0..self.data % 4 {
            // SAFETY: as in `each`.
            unsafe { field.cast::<[u8; N]>().write(value) };
            field = field.wrapping_add(self.stride);
        }
    }

    /// The field of `N` octets at offset `at` of the last data header.
    #[inline(always)]
    pub(crate) fn last<const N: usize>(&mut self, at: usize) -> Option<&mut [u8; N]> {
        self.field(self.data.checked_sub(1)?, at)
    }

    /// The field of `N` octets at offset `at` of the datagram behind the data.
    #[inline(always)]
    pub(crate) fn tail<const N: usize>(&mut self, at: usize) -> Option<&mut [u8; N]> {
        if self.count > self.data { self.field(self.data, at) } else { None }
    }

    #[inline(always)]
    fn field<const N: usize>(&mut self, index: usize, at: usize) -> Option<&mut [u8; N]> {
        self.check(at + N);
        // SAFETY: `index` is less than `count` in both callers, `check` keeps the field inside the slot, and the
        // slots are borrowed exclusively.
        Some(unsafe { &mut *self.base.add(index * self.stride + at).cast() })
    }

    #[inline(always)]
    fn check(&self, end: usize) {
        assert!(self.lead + end <= self.stride, "a field outside its slot");
    }
}

/// Datagrams outside the frames, made one by one: goodbyes, discovery, polls, other start codes.
pub(crate) struct Loose {
    octets: Vec<u8>,
    ends: Vec<usize>,
    table: Table,
}

impl Loose {
    pub(crate) fn new() -> Self {
        Loose { octets: Vec::new(), ends: Vec::new(), table: Table(Vec::new()) }
    }

    pub(crate) fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
    }

    /// Appends one datagram.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.octets);
        self.ends.push(self.octets.len());
    }

    /// The pieces, one for each datagram.
    pub(crate) fn pieces(&mut self) -> &[IoSlice<'_>] {
        self.table.0.clear();
        let mut from = 0;
        for &end in &self.ends {
            let piece = &self.octets[from..end];
            self.table.0.push(Piece { base: piece.as_ptr(), octets: piece.len() });
            from = end;
        }
        // SAFETY: every piece lies in `octets`, which is borrowed for as long as the view.
        unsafe { self.table.view() }
    }
}
