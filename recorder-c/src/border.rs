//! The functions of `include/wireproof_recorder.h`, which says what each does. The one file with unsafe code: it reads
//! what C's pointers point to, writes results there, and stops panics. Keeps no state.

#![allow(unsafe_code, reason = "C passes raw pointers; this file is the only one that follows them")]

use crate::error::{self, Error, code};
use crate::handles;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use wireproof_recorder::header::{Device, Protocol, Stage};
use wireproof_recorder::layout::{Counter, NO_DEVICE, NO_PARENT};
use wireproof_recorder::{Event, Kind};

/// Counts up when a function changes its meaning or goes away.
pub const ABI_VERSION: u32 = 1;
/// Classes of a cause: 1 timer, 2 event, 3 control or refresh, 4 other.
const CAUSE_CLASSES: std::ops::RangeInclusive<u16> = 1..=4;
/// The counters that can be added to, in the order of the header.
const COUNTERS: [Counter; 7] = [
    Counter::EventsDropped,
    Counter::FramesAbandoned,
    Counter::EventsDisabled,
    Counter::DeadlineMisses,
    Counter::SlowFrames,
    Counter::SlowLogsSuppressed,
    Counter::ClockSteps,
];

/// `wpr_event`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WprEvent {
    /// CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC, ns.
    pub end_ns: u64,
    /// A value by kind.
    pub aux: u64,
    /// Key of the stage table.
    pub stage: u16,
    /// Key of the device table.
    pub device: u16,
    /// Place of the span around it.
    pub parent: u16,
    /// Bits by kind.
    pub flags: u16,
    /// Key of the protocol table.
    pub protocol: u8,
    /// `WPR_KIND_…`.
    pub kind: u8,
    /// Zero.
    pub reserved: [u8; 6],
}

impl WprEvent {
    fn event(&self) -> Result<Event, Error> {
        let wanted = "a WPR_KIND_ other than frame_complete, which wpr_complete writes";
        let kind = Kind::from_u8(self.kind).filter(|kind| *kind != Kind::FrameComplete);
        let kind = kind.ok_or(Error::Argument("kind", wanted))?;
        if self.reserved != [0; 6] {
            return Err(Error::Argument("reserved", "has to be zero: begin with WPR_EVENT_INIT"));
        }
        Ok(Event {
            kind,
            stage: self.stage,
            device: self.device,
            protocol: self.protocol,
            flags: self.flags,
            parent: self.parent,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            aux: self.aux,
        })
    }
}

/// Runs a call: a panic becomes an error, an error a code.
fn call(body: impl FnOnce() -> Result<(), Error>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Error::Internal)) {
        Ok(()) => code::OK,
        Err(error) => {
            let code = error.code();
            error::remember(error);
            code
        }
    }
}

/// The text behind a pointer, up to its zero octet.
fn text<'a>(name: &'static str, pointer: *const c_char) -> Result<&'a CStr, Error> {
    if pointer.is_null() {
        return Err(Error::Argument(name, "is NULL"));
    }
    // SAFETY: not NULL, and the header asks for a text that ends in a zero octet and stays as it is during the call;
    // the reference does not outlive the call.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

fn name(pointer: *const c_char) -> Result<String, Error> {
    let text = text("name", pointer)?.to_str();
    let text = text.map_err(|_| Error::Argument("name", "is not UTF-8"))?;
    if text.is_empty() { Err(Error::Argument("name", "is empty")) } else { Ok(text.to_owned()) }
}

/// A copy of the event behind a pointer.
#[inline]
fn read(event: *const WprEvent) -> Result<Event, Error> {
    if event.is_null() || !event.is_aligned() {
        return Err(Error::Argument("event", "is NULL or not aligned"));
    }
    // SAFETY: not NULL, aligned, and the header asks for a `wpr_event` that nobody writes during the call; every bit
    // pattern is a `WprEvent`.
    unsafe { event.read() }.event()
}

/// Writes a result where C wants it; NULL means that it wants none.
#[inline]
fn give<T>(to: *mut T, value: T) {
    if !to.is_null() && to.is_aligned() {
        // SAFETY: not NULL, aligned, and the header asks for room for one value that nobody else uses during the call.
        unsafe { to.write(value) };
    }
}

/// Records an event of the frame and hands its place out; [`NO_PARENT`] when it was not recorded.
#[inline]
fn record(handle: u64, event: Result<Event, Error>, place: *mut u16) -> i32 {
    give(place, NO_PARENT);
    call(|| {
        let event = event?;
        give(place, handles::with(handle, |recorder| recorder.ring()?.record(&event))?);
        Ok(())
    })
}

/// [`ABI_VERSION`].
#[unsafe(no_mangle)]
pub extern "C" fn wpr_abi_version() -> u32 {
    ABI_VERSION
}

/// Version of the package, as text that lasts.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The thread's last error as text, until the thread asks again.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_last_error() -> *const c_char {
    catch_unwind(error::last_text).unwrap_or(c"".as_ptr())
}

/// Hands out a handle without a ring; 0 after an error.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_new(handle: *mut u64) -> i32 {
    give(handle, 0);
    call(|| {
        if handle.is_null() || !handle.is_aligned() {
            return Err(Error::Argument("handle", "is NULL or not aligned"));
        }
        give(handle, handles::open()?);
        Ok(())
    })
}

/// Names a stage, before `wpr_open`.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_add_stage(handle: u64, id: u16, category: u8, text: *const c_char) -> i32 {
    call(|| {
        if category > 2 {
            return Err(Error::Argument("category", "0 stage, 1 place of a cause or 2 counter"));
        }
        let stage = Stage { id, category, name: name(text)? };
        handles::with(handle, |recorder| recorder.add_stage(stage))
    })
}

/// Names a device, before `wpr_open`.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_add_device(
    handle: u64,
    id: u16,
    protocol: u8,
    pixels: u32,
    text: *const c_char,
) -> i32 {
    call(|| {
        if id == NO_DEVICE {
            return Err(Error::Argument("id", "0xFFFF stands for no device: give another"));
        }
        let device = Device { id, protocol, pixels, name: name(text)? };
        handles::with(handle, |recorder| recorder.add_device(device))
    })
}

/// Names a protocol, before `wpr_open`.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_add_protocol(handle: u64, id: u8, text: *const c_char) -> i32 {
    call(|| {
        if id == 0 {
            return Err(Error::Argument("id", "0 stands for no protocol: give another"));
        }
        let protocol = Protocol { id, name: name(text)? };
        handles::with(handle, |recorder| recorder.add_protocol(protocol))
    })
}

/// Sets the frame period, ns, before `wpr_open`.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_set_period(handle: u64, period_ns: u64) -> i32 {
    call(|| {
        handles::with(handle, |recorder| {
            recorder.identity()?.period_ns = period_ns;
            Ok(())
        })
    })
}

/// Sets the anchor of the header, before `wpr_open`.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_set_anchor(
    handle: u64,
    monotonic_ns: u64,
    wall_ns: u64,
    spread_ns: u64,
    boottime_offset_ns: u64,
) -> i32 {
    call(|| {
        handles::with(handle, |recorder| {
            recorder.identity()?.anchor = [monotonic_ns, wall_ns, spread_ns, boottime_offset_ns];
            Ok(())
        })
    })
}

/// Creates the ring file.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_open(handle: u64, path: *const c_char, capacity: u64, wall_s: u64, flags: u32) -> i32 {
    call(|| {
        let path = Path::new(OsStr::from_bytes(text("path", path)?.to_bytes()));
        if path.file_name().is_none() {
            return Err(Error::Argument("path", "names no file"));
        }
        handles::with(handle, |recorder| recorder.open(path, capacity, wall_s, flags))
    })
}

/// Opens a frame.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_begin(handle: u64, frame_id: u32) -> i32 {
    call(|| handles::with(handle, |recorder| recorder.ring()?.begin(frame_id)))
}

/// Records a span of the frame.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_span(
    handle: u64,
    stage: u16,
    device: u16,
    protocol: u8,
    parent: u16,
    start_ns: u64,
    end_ns: u64,
    count: u64,
    place: *mut u16,
) -> i32 {
    let span = Event::span(stage, start_ns, end_ns).device(device, protocol).within(parent);
    record(handle, Ok(Event { aux: count, ..span }), place)
}

/// Records why the frame was made.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_cause(handle: u64, class: u16, source: u64, at_ns: u64) -> i32 {
    let event = if CAUSE_CLASSES.contains(&class) {
        Ok(Event { kind: Kind::Cause, flags: class, aux: source, ..Event::span(0, at_ns, at_ns) })
    } else {
        Err(Error::Argument("cause_class", "has to be a WPR_CAUSE_"))
    };
    record(handle, event, std::ptr::null_mut())
}

/// Records a sampled counter in the frame.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_counter(handle: u64, stage: u16, device: u16, at_ns: u64, value: u64) -> i32 {
    let event = Event::span(stage, at_ns, at_ns).device(device, 0);
    record(handle, Ok(Event { kind: Kind::Counter, aux: value, ..event }), std::ptr::null_mut())
}

/// Records a mark in the frame.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_mark(handle: u64, stage: u16, at_ns: u64, value: u64) -> i32 {
    let event = Event { kind: Kind::Mark, aux: value, ..Event::span(stage, at_ns, at_ns) };
    record(handle, Ok(event), std::ptr::null_mut())
}

/// Records any event of the frame.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_record(handle: u64, event: *const WprEvent, place: *mut u16) -> i32 {
    record(handle, read(event), place)
}

/// Records an event of no frame.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_record_unframed(handle: u64, event: *const WprEvent) -> i32 {
    call(|| {
        let event = read(event)?;
        handles::with(handle, |recorder| recorder.ring()?.unframed(&event))
    })
}

/// Records both clocks at one moment.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_anchor(handle: u64, monotonic_ns: u64, wall_ns: u64) -> i32 {
    call(|| handles::with(handle, |recorder| recorder.ring()?.anchor(monotonic_ns, wall_ns)))
}

/// Completes the frame and publishes it.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_complete(handle: u64, start_ns: u64, end_ns: u64) -> i32 {
    call(|| handles::with(handle, |recorder| recorder.ring()?.complete(start_ns, end_ns)))
}

/// Gives the frame up.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_abandon(handle: u64) -> i32 {
    call(|| handles::with(handle, |recorder| recorder.ring()?.abandon()))
}

/// Switches recording on or off.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_set_enabled(handle: u64, enabled: i32) -> i32 {
    call(|| {
        handles::with(handle, |recorder| {
            recorder.ring()?.set_enabled(enabled != 0);
            Ok(())
        })
    })
}

/// Adds to a counter of the header.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_count(handle: u64, counter: u32, more: u64) -> i32 {
    call(|| {
        let counter = COUNTERS.get(counter as usize).copied();
        let counter = counter.ok_or(Error::Argument("counter", "has to be a WPR_COUNTER_"))?;
        handles::with(handle, |recorder| {
            recorder.ring()?.count(counter, more);
            Ok(())
        })
    })
}

/// Says that the writer lives.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_heartbeat(handle: u64, monotonic_ns: u64) -> i32 {
    call(|| {
        handles::with(handle, |recorder| {
            recorder.ring()?.heartbeat(monotonic_ns);
            Ok(())
        })
    })
}

/// Closes ring and handle.
#[unsafe(no_mangle)]
pub extern "C" fn wpr_close(handle: u64) -> i32 {
    call(|| handles::close(handle))
}

#[cfg(test)]
#[path = "border_tests.rs"]
mod tests;
