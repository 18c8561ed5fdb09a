//! System calls of the benches that no dependency offers: `sendmmsg`, thread CPU time, CPU affinity and real-time
//! priority.
#![allow(unsafe_code, reason = "system calls that take pointers")]

use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr;

/// Datagrams handed to the kernel by one call.
pub(crate) const BATCH: usize = 64;

/// CPU time of the calling thread, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec` to a local.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Keeps the calling thread, and those it starts, on one CPU.
pub(crate) fn stay_on(cpu: usize) -> io::Result<()> {
    // SAFETY: all zeroes is an empty set; `CPU_SET` ignores a CPU beyond the set.
    let set = unsafe {
        let mut set = mem::zeroed::<libc::cpu_set_t>();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the set is a local of the size announced.
    checked(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) }).map(drop)
}

/// Runs the calling thread before every thread without real-time priority.
pub(crate) fn realtime(priority: i32) -> io::Result<()> {
    // SAFETY: all zeroes is a value of this structure of integers, which lives through the call.
    let mut parameters = unsafe { mem::zeroed::<libc::sched_param>() };
    parameters.sched_priority = priority;
    // SAFETY: as above.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) }).map(drop)
}

/// Lets the kernel cut what is sent over the socket into datagrams of so many octets (`UDP_SEGMENT`).
pub(crate) fn segment(socket: &UdpSocket, octets: u16) -> io::Result<()> {
    let (value, length) = (libc::c_int::from(octets), size_of::<libc::c_int>() as libc::socklen_t);
    let value = ptr::from_ref(&value).cast();
    // SAFETY: the kernel reads `length` octets from `value`, a local of that size.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, value, length) };
    checked(result).map(drop)
}

/// Sends every payload over a connected socket, `together` of them (1..=[`BATCH`]) as one message; returns after the
/// last one was taken. A refusal of the kernel is tried again, as it concerns a datagram sent before.
pub(crate) fn send_all(socket: &UdpSocket, payloads: &[Vec<u8>], together: usize) -> io::Result<()> {
    payloads.chunks(BATCH).try_for_each(|payloads| send_batch(socket, payloads, together))
}

fn send_batch(socket: &UdpSocket, payloads: &[Vec<u8>], together: usize) -> io::Result<()> {
    // SAFETY: `iovec` and `mmsghdr` are C structures of integers and pointers, for which all zeroes is a value.
    let (mut iovecs, mut headers) =
        unsafe { (mem::zeroed::<[libc::iovec; BATCH]>(), mem::zeroed::<[libc::mmsghdr; BATCH]>()) };
    for (iovec, payload) in iovecs.iter_mut().zip(payloads) {
        iovec.iov_base = ptr::from_ref(payload.as_slice()).cast_mut().cast();
        iovec.iov_len = payload.len();
    }
    let used = payloads.len().min(BATCH);
    let messages = iovecs[..used].chunks_mut(together.clamp(1, BATCH)).zip(&mut headers);
    let mut count = 0;
    for (iovecs, header) in messages {
        header.msg_hdr.msg_iov = iovecs.as_mut_ptr();
        header.msg_hdr.msg_iovlen = iovecs.len() as _;
        count += 1;
    }
    let (mut done, mut refusals) = (0, 0);
    while done < count {
        // SAFETY: `count - done` headers follow `done`, each with iovecs over payloads that outlive the call and are
        // only read.
        let n = unsafe {
            let first = headers.as_mut_ptr().add(done);
            libc::sendmmsg(socket.as_raw_fd(), first, (count - done) as libc::c_uint, 0)
        };
        match checked(n) {
            Ok(sent) => done += sent,
            Err(error) if refusals == 1_000 => return Err(error),
            Err(_) => refusals += 1,
        }
    }
    Ok(())
}

fn checked(result: libc::c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
