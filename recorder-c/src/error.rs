//! What can go wrong behind the border: codes for programs, one line for people. The last one is kept for each thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt;
use wireproof_recorder::file::FileError;

/// The codes of the header (`WPR_OK`, `WPR_E_…`); they never change their meaning.
pub mod code {
    /// Done.
    pub const OK: i32 = 0;
    /// An argument is not what the header asks for.
    pub const ARGUMENT: i32 = 1;
    /// Not a handle, or one that is closed.
    pub const HANDLE: i32 = 2;
    /// Not at this point: before or after `wpr_open`, inside or outside of a frame.
    pub const STATE: i32 = 3;
    /// Another thread is in a call with this handle.
    pub const BUSY: i32 = 4;
    /// A table, or the table of handles, is full.
    pub const LIMIT: i32 = 5;
    /// The event was dropped and counted: the frame is full, or recording is off.
    pub const DROPPED: i32 = 6;
    /// Another writer holds the ring.
    pub const HELD: i32 = 7;
    /// The folder is on a disk.
    pub const DISK: i32 = 8;
    /// The name is taken by something that is no ring.
    pub const NOT_A_RING: i32 = 9;
    /// The system refuses.
    pub const IO: i32 = 10;
    /// A mistake in this library; the handle can only be closed.
    pub const INTERNAL: i32 = 11;
}

/// Why a call did nothing.
#[derive(Debug)]
pub(crate) enum Error {
    /// The argument of this name, and what it has to be.
    Argument(&'static str, &'static str),
    /// Not a handle.
    Handle,
    /// What the handle is not ready for, and what to do.
    State(&'static str),
    /// Another thread is in a call.
    Busy,
    /// What is full.
    Limit(&'static str),
    /// The event was dropped.
    Dropped,
    /// The ring file.
    File(FileError),
    /// A panic.
    Internal,
}

impl Error {
    /// Code of the header.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Error::Argument(..) | Error::File(FileError::Writer(_)) => code::ARGUMENT,
            Error::Handle => code::HANDLE,
            Error::State(_) => code::STATE,
            Error::Busy => code::BUSY,
            Error::Limit(_) => code::LIMIT,
            Error::Dropped => code::DROPPED,
            Error::File(FileError::Held(_)) => code::HELD,
            Error::File(FileError::Disk(_)) => code::DISK,
            Error::File(FileError::NotARing(_)) => code::NOT_A_RING,
            Error::File(FileError::Io { .. }) => code::IO,
            Error::Internal => code::INTERNAL,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Argument(name, wanted) => write!(f, "{name}: {wanted}"),
            Error::Handle => write!(f, "not a handle, or closed: use the one that wpr_new gave"),
            Error::State(what) => f.write_str(what),
            Error::Busy => write!(f, "another thread is in a call: one thread at a time writes a ring"),
            Error::Limit(what) => f.write_str(what),
            Error::Dropped => write!(f, "the event was dropped and counted: frame full, or recording off"),
            Error::File(error) => write!(f, "{error}"),
            Error::Internal => write!(f, "a mistake in wireproof-recorder: close the handle and report it"),
        }
    }
}

/// The last error of a thread and the text that was handed out for it.
#[derive(Default)]
struct Last {
    error: Option<Error>,
    text: CString,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// Keeps an error as the thread's last one; its text is made when somebody asks.
pub(crate) fn remember(error: Error) {
    // A thread that is ending has no place for it any more.
    let _ = LAST.try_with(|last| last.borrow_mut().error = Some(error));
}

/// The thread's last error as text, until the thread asks again; empty without one.
pub(crate) fn last_text() -> *const c_char {
    let text = LAST.try_with(|last| {
        let last = &mut *last.borrow_mut();
        let line = last.error.as_ref().map(ToString::to_string).unwrap_or_default();
        last.text = CString::new(line.replace('\0', " ")).unwrap_or_default();
        last.text.as_ptr()
    });
    text.unwrap_or(c"".as_ptr())
}
