//! Handles are numbers, not addresses: a wrong, stale or closed one is found by a look into a table. Each row is locked
//! for the time of a call; a second thread is turned away instead of waiting.

use crate::error::Error;
use crate::recorder::Recorder;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Handles at a time.
pub(crate) const HANDLES: usize = 64;
/// Bits of a handle that name the row, counted from 1 so that no handle is 0.
const ROW_BITS: u32 = 8;

#[derive(Debug)]
struct Row {
    /// Odd while the row is taken, and then the rest of its handle; goes up when it is taken and when it is given
    /// back, so that no handle comes twice. Looked at before the lock: only a call with the handle locks its row.
    serial: AtomicU64,
    recorder: Mutex<Option<Box<Recorder>>>,
}

static TABLE: [Row; HANDLES] =
    [const { Row { serial: AtomicU64::new(0), recorder: Mutex::new(None) } }; HANDLES];

/// A handle for a recorder that has no ring yet.
///
/// # Errors
/// [`Error::Limit`] when all are taken.
pub(crate) fn open() -> Result<u64, Error> {
    for (index, row) in TABLE.iter().enumerate() {
        let free = row.serial.load(Ordering::Relaxed);
        let take = |free| row.serial.compare_exchange(free, free + 1, Ordering::Acquire, Ordering::Relaxed);
        if free % 2 == 0 && take(free).is_ok() {
            *row.recorder.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::default());
            return Ok((free + 1) << ROW_BITS | (index as u64 + 1));
        }
    }
    Err(Error::Limit("64 handles are open: close one that is not needed"))
}

/// Works with the recorder of a handle.
///
/// # Errors
/// The handle is none, in use by another thread, or broken; else what the work says.
#[inline]
pub(crate) fn with<T>(handle: u64, work: impl FnOnce(&mut Recorder) -> Result<T, Error>) -> Result<T, Error> {
    let mut locked = lock(row(handle)?)?.map_err(|_| Error::Internal)?;
    work(locked.as_deref_mut().ok_or(Error::Handle)?)
}

/// Gives a handle back, also one that is broken; its frame is abandoned and its ring says closed.
///
/// # Errors
/// The handle is none, or in use by another thread.
pub(crate) fn close(handle: u64) -> Result<(), Error> {
    let row = row(handle)?;
    let mut locked = lock(row)?.unwrap_or_else(|broken| broken);
    let recorder = locked.take().ok_or(Error::Handle)?;
    drop(locked);
    drop(recorder);
    row.recorder.clear_poison();
    row.serial.store((handle >> ROW_BITS) + 1, Ordering::Release);
    Ok(())
}

type Locked = MutexGuard<'static, Option<Box<Recorder>>>;

/// The row of a handle that is open.
#[inline]
fn row(handle: u64) -> Result<&'static Row, Error> {
    let row = place(handle).and_then(|place| TABLE.get(place)).ok_or(Error::Handle)?;
    let serial = handle >> ROW_BITS;
    let open = serial % 2 == 1 && row.serial.load(Ordering::Acquire) == serial;
    if open { Ok(row) } else { Err(Error::Handle) }
}

/// The recorder of a row; `Err` inside when a panic has left it broken.
#[inline]
fn lock(row: &'static Row) -> Result<Result<Locked, Locked>, Error> {
    match row.recorder.try_lock() {
        Ok(locked) => Ok(Ok(locked)),
        Err(TryLockError::Poisoned(broken)) => Ok(Err(broken.into_inner())),
        Err(TryLockError::WouldBlock) => Err(Error::Busy),
    }
}

fn place(handle: u64) -> Option<usize> {
    ((handle & ((1 << ROW_BITS) - 1)) as usize).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn nothing(_: &mut Recorder) -> Result<(), Error> {
        Ok(())
    }

    #[test]
    fn numbers_that_are_no_handle_are_refused() {
        let handle = open().unwrap();
        for wrong in [0, 1, 64, 65, 255, 256, u64::MAX, handle + 256, handle + 512, handle | 0xC0] {
            assert!(matches!(with(wrong, nothing), Err(Error::Handle)), "{wrong}");
        }
        with(handle, nothing).unwrap();
        close(handle).unwrap();
        assert!(matches!(with(handle, nothing), Err(Error::Handle)));
        assert!(matches!(close(handle), Err(Error::Handle)));
    }

    #[test]
    fn a_handle_in_use_turns_other_calls_away() {
        let handle = open().unwrap();
        with(handle, |_| {
            assert!(matches!(with(handle, nothing), Err(Error::Busy)));
            assert!(matches!(close(handle), Err(Error::Busy)));
            Ok(())
        })
        .unwrap();
        close(handle).unwrap();
    }

    #[test]
    fn a_panic_leaves_a_handle_that_can_only_be_closed() {
        let handle = open().unwrap();
        let panics = |_: &mut Recorder| -> Result<(), Error> { panic!("on purpose") };
        assert!(catch_unwind(AssertUnwindSafe(|| with(handle, panics))).is_err());
        assert!(matches!(with(handle, nothing), Err(Error::Internal)));
        close(handle).unwrap();
        assert!(matches!(with(handle, nothing), Err(Error::Handle)));
        let next = open().unwrap();
        with(next, nothing).unwrap();
        close(next).unwrap();
    }
}
