//! Scheduling of the receive thread: the processor it stays on and real-time priority.
//!
//! The one place with system calls for it, hence unsafe.
#![allow(unsafe_code)]

use std::io;

/// Ties the calling thread to a processor and gives it a SCHED_FIFO priority, as far as asked for.
///
/// # Errors
/// What the operating system says; `PermissionDenied` wants CAP_SYS_NICE or a higher RLIMIT_RTPRIO.
#[cfg(target_os = "linux")]
pub(crate) fn apply(cpu: Option<usize>, realtime: Option<u8>) -> io::Result<()> {
    if let Some(cpu) = cpu {
        if cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no CPU {cpu}")));
        }
        // SAFETY: an all-zero `cpu_set_t` is a valid empty set, and `cpu` is within its bits.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            set
        };
        // SAFETY: 0 is the calling thread; the set lives and has the size stated.
        checked(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })
            .map_err(|e| io::Error::new(e.kind(), format!("it cannot be kept on CPU {cpu}: {e}")))?;
    }
    if let Some(priority) = realtime {
        let parameters = libc::sched_param { sched_priority: i32::from(priority) };
        // SAFETY: 0 is the calling thread; the parameters live through the call.
        checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) }).map_err(
            |e| {
                io::Error::new(
                    e.kind(),
                    format!("real-time priority takes CAP_SYS_NICE or an RLIMIT_RTPRIO: {e}"),
                )
            },
        )?;
    }
    Ok(())
}

/// Elsewhere only the defaults are there.
///
/// # Errors
/// `Unsupported` when anything is asked for.
#[cfg(not(target_os = "linux"))]
pub(crate) fn apply(cpu: Option<usize>, realtime: Option<u8>) -> io::Result<()> {
    match (cpu, realtime) {
        (None, None) => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "pinning and real-time priority need Linux")),
    }
}

#[cfg(target_os = "linux")]
fn checked(outcome: libc::c_int) -> io::Result<()> {
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
