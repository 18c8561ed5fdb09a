//! The thread that measures: the processor it stays on, real-time priority, and the time it has run.
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
        // `struct sched_param` of the kernel. musl's function of this name refuses everything (ENOSYS), so it is not called.
        let priority = libc::c_int::from(priority);
        // SAFETY: 0 is the calling thread; the priority lives through the call, which reads no more than it.
        let set = unsafe {
            libc::syscall(
                libc::SYS_sched_setscheduler,
                0 as libc::c_long,
                libc::SCHED_FIFO as libc::c_long,
                &raw const priority,
            )
        };
        checked(if set == 0 { 0 } else { -1 }).map_err(|e| {
            let text = format!("real-time priority takes CAP_SYS_NICE or an RLIMIT_RTPRIO: {e}");
            io::Error::new(e.kind(), text)
        })?;
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

/// Name of the clock behind [`cpu_ns`] in the system.
pub(crate) const CPU_CLOCK: &str = "CLOCK_THREAD_CPUTIME_ID";

/// Time the calling thread has run on any processor, in user and kernel mode, ns; 0 where the system has no such
/// clock.
pub(crate) fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec` to a local; on failure it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn checked(outcome: libc::c_int) -> io::Result<()> {
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_the_thread_moves_with_its_work_and_never_back() {
        let start = cpu_ns();
        let mut before = start;
        while before < start + 1_000_000 {
            let now = cpu_ns();
            assert!(now >= before);
            before = now;
        }
    }
}
