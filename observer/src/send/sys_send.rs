//! System calls of the senders that neither std nor socket2 offers, each in a thin wrapper: `sendmmsg` and `sendmsg`
//! with `UDP_SEGMENT` over buffers that stay where they are, the path MTU of a socket, the monotonic clock and a sleep
//! to an absolute instant of it. The unsafe code of the senders is here and nowhere else.
//!
//! Where there is no Linux, each datagram leaves with a `sendmsg` of its own, nothing is cut, and a sleep is relative.
#![allow(unsafe_code, reason = "system calls that take pointers")]

use std::io::{self, IoSlice};
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Most datagrams handed to the kernel by one call.
pub(crate) const MOST_MESSAGES: usize = 64;
/// Most segments the kernel cuts out of one message (`UDP_MAX_SEGMENTS` of kernels before 6.9).
pub(crate) const MOST_SEGMENTS: usize = 64;
/// Most octets of one message: what the length field of an IPv4 datagram leaves for UDP payload.
pub(crate) const MOST_OCTETS: usize = 65_507;
/// Octets of a `sockaddr_in6`, the longest address of a UDP socket.
const NAME: usize = size_of::<libc::sockaddr_in6>();
/// Room for one control message of two octets: `CMSG_SPACE(2)` is 24.
#[cfg(target_os = "linux")]
const CONTROL: usize = 32;

/// One datagram: its buffers in order, and where it goes; a connected socket needs no address.
pub(crate) type Message<'a> = (Option<SocketAddr>, &'a [IoSlice<'a>]);

/// An address as the kernel reads it, the length octets of it used.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Name {
    octets: [u8; NAME],
    length: libc::socklen_t,
}

/// A message header, with room for the octets sent.
#[cfg(target_os = "linux")]
type Header = libc::mmsghdr;

/// A message header.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy)]
struct Header {
    msg_hdr: libc::msghdr,
}

/// Headers of one `sendmmsg` call, or of one `sendmsg` call each, reused by the next.
pub(crate) struct Headers {
    headers: Box<[Header]>,
    names: Box<[Name]>,
}

// SAFETY: the raw pointers inside `headers` are set by `send` from what it is given, are read by the kernel during
// that call only, and are never followed here.
unsafe impl Send for Headers {}

impl Headers {
    /// Headers for [`MOST_MESSAGES`] datagrams.
    pub(crate) fn new() -> Self {
        // SAFETY: it is a C structure of integers and pointers, for which all zeroes is a value.
        let header = unsafe { mem::zeroed::<Header>() };
        let name = Name { octets: [0; NAME], length: 0 };
        Headers {
            headers: vec![header; MOST_MESSAGES].into_boxed_slice(),
            names: vec![name; MOST_MESSAGES].into_boxed_slice(),
        }
    }

    /// Hands the first [`MOST_MESSAGES`] of the datagrams to the kernel with one call; returns how many it took: at
    /// least one, unless there are none.
    ///
    /// # Errors
    /// What the operating system says of the first datagram; none was sent then.
    pub(crate) fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        messages: impl Iterator<Item = Message<'a>>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for ((header, name), (to, parts)) in self.headers.iter_mut().zip(&mut self.names).zip(messages) {
            let header = &mut header.msg_hdr;
            (header.msg_name, header.msg_namelen) = match to {
                None => (ptr::null_mut(), 0),
                Some(to) => {
                    *name = named(&to);
                    (name.octets.as_mut_ptr().cast(), name.length)
                }
            };
            aim(header, parts);
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        let headers = self.headers.get_mut(..count).unwrap_or_default();
        // SAFETY: these headers have just been aimed at names that `self` owns and at parts borrowed for `'a`, which
        // outlives this function; neither moves meanwhile.
        unsafe { at_once(socket, headers) }
    }
}

/// Hands the datagrams over with one call; returns how many were taken.
///
/// # Safety
/// Every header points at a name and at buffers that live through the call.
#[cfg(target_os = "linux")]
unsafe fn at_once(socket: BorrowedFd<'_>, headers: &mut [Header]) -> io::Result<usize> {
    let count = headers.len() as libc::c_uint;
    // SAFETY: what the headers point at lives, and the kernel only reads it. It writes `msg_len` of `count` headers.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, 0) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

#[cfg(not(target_os = "linux"))]
use one_by_one as at_once;

/// Hands the datagrams over with a call each, up to the first that is refused; returns how many were taken.
///
/// # Safety
/// Every header points at a name and at buffers that live through the call.
#[cfg(any(test, not(target_os = "linux")))]
unsafe fn one_by_one(socket: BorrowedFd<'_>, headers: &mut [Header]) -> io::Result<usize> {
    let mut taken = 0;
    for header in headers {
        // SAFETY: what the header points at lives, and the kernel only reads it.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header.msg_hdr, 0) };
        match sent {
            0.. => taken += 1,
            // A refusal behind datagrams that were taken meets the one it is about again at the next call.
            _ if taken > 0 => break,
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(taken)
}

/// Lets the kernel cut one message into datagrams of `segment` octets, the last may be shorter: at most
/// [`MOST_SEGMENTS`], [`MOST_OCTETS`] and 1,024 parts (`UIO_MAXIOV`). Returns the octets taken, which are all.
///
/// # Errors
/// What the operating system says; nothing was sent then.
#[cfg(target_os = "linux")]
pub(crate) fn send_segmented(
    socket: BorrowedFd<'_>,
    parts: &[IoSlice<'_>],
    segment: u16,
) -> io::Result<usize> {
    #[repr(C, align(8))]
    struct Control([u8; CONTROL]);
    let mut control = Control([0; CONTROL]);
    // SAFETY: `msghdr` is a C structure of integers and pointers, for which all zeroes is a value.
    let mut header = unsafe { mem::zeroed::<libc::msghdr>() };
    aim(&mut header, parts);
    header.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: `CMSG_SPACE` and `CMSG_LEN` only compute.
    let (space, length) =
        unsafe { (libc::CMSG_SPACE(size_of::<u16>() as u32), libc::CMSG_LEN(size_of::<u16>() as u32)) };
    header.msg_controllen = space as _;
    // SAFETY: the control buffer is aligned and, with `CONTROL` octets, larger than `space`, so that the first header
    // exists and its data begin inside it; two octets are written there. `sendmsg` reads the parts, which outlive it.
    let sent = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        if first.is_null() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        (*first).cmsg_level = libc::SOL_UDP;
        (*first).cmsg_type = libc::UDP_SEGMENT;
        (*first).cmsg_len = length as _;
        ptr::write_unaligned(libc::CMSG_DATA(first).cast::<u16>(), segment);
        libc::sendmsg(socket.as_raw_fd(), &raw const header, 0)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Elsewhere no kernel cuts.
///
/// # Errors
/// `EOPNOTSUPP`
#[cfg(not(target_os = "linux"))]
pub(crate) fn send_segmented(_: BorrowedFd<'_>, _: &[IoSlice<'_>], _: u16) -> io::Result<usize> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Points a header at its buffers.
fn aim(header: &mut libc::msghdr, parts: &[IoSlice<'_>]) {
    // `IoSlice` has the layout of `iovec` on Unix, as its documentation promises.
    header.msg_iov = parts.as_ptr().cast_mut().cast();
    header.msg_iovlen = parts.len() as _;
}

fn named(to: &SocketAddr) -> Name {
    let address = socket2::SockAddr::from(*to);
    let mut name = Name { octets: [0; NAME], length: address.len() };
    // SAFETY: an IPv4 or IPv6 address has at most `NAME` octets, all of them written by socket2.
    let octets = unsafe {
        std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), NAME.min(address.len() as usize))
    };
    name.octets[..octets.len()].copy_from_slice(octets);
    name
}

/// Octets of the largest IP packet that reaches the peer of a connected socket whole, as far as this host knows.
///
/// # Errors
/// What the operating system says.
#[cfg(target_os = "linux")]
pub(crate) fn path_mtu(socket: BorrowedFd<'_>, is_v4: bool) -> io::Result<u32> {
    let (level, option) =
        if is_v4 { (libc::IPPROTO_IP, libc::IP_MTU) } else { (libc::IPPROTO_IPV6, libc::IPV6_MTU) };
    let mut mtu: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets to `mtu`, a local of that size, and the count to `length`.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut mtu).cast(), &raw mut length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u32::try_from(mtu).unwrap_or(0))
}

/// Elsewhere a socket does not tell: what every Ethernet carries is taken for it.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as above")]
pub(crate) fn path_mtu(_: BorrowedFd<'_>, _: bool) -> io::Result<u32> {
    Ok(1_500)
}

/// The monotonic clock, ns.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread, ns.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of this process, ns.
pub(crate) fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec` to a local.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Sleeps until an instant of the monotonic clock, or until a signal; an instant that has passed does not sleep.
#[cfg(target_os = "linux")]
pub(crate) fn sleep_until_ns(deadline_ns: u64) {
    let seconds = i32::try_from(deadline_ns / 1_000_000_000).unwrap_or(i32::MAX);
    let time = libc::timespec { tv_sec: seconds.into(), tv_nsec: (deadline_ns % 1_000_000_000) as _ };
    // SAFETY: the kernel reads `time`, a local; a null remainder is allowed.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, ptr::null_mut());
    }
}

/// Sleeps as long as it is to an instant of the monotonic clock, or until a signal.
#[cfg(any(test, not(target_os = "linux")))]
pub(crate) fn sleep_the_rest_ns(deadline_ns: u64) {
    let rest_ns = deadline_ns.saturating_sub(monotonic_ns());
    if rest_ns == 0 {
        return;
    }
    let seconds = i32::try_from(rest_ns / 1_000_000_000).unwrap_or(i32::MAX);
    let time = libc::timespec { tv_sec: seconds.into(), tv_nsec: (rest_ns % 1_000_000_000) as _ };
    // SAFETY: the system reads `time`, a local; a null remainder is allowed.
    unsafe {
        libc::nanosleep(&raw const time, ptr::null_mut());
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use sleep_the_rest_ns as sleep_until_ns;

/// Elsewhere nobody adds to a sleep on purpose.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wake_punctually() {}

/// Lets the calling thread be woken as near to its deadlines as the kernel can (Linux adds 50 us otherwise).
#[cfg(target_os = "linux")]
pub(crate) fn wake_punctually() {
    // SAFETY: the call takes integers only; where it is refused the slack stays as it was.
    unsafe {
        libc::prctl(
            libc::PR_SET_TIMERSLACK,
            1 as libc::c_ulong,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::Duration;

    fn pair() -> (UdpSocket, UdpSocket) {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (UdpSocket::bind("127.0.0.1:0").unwrap(), receiver)
    }

    fn received(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
        let mut buffer = [0; 2048];
        (0..count).map(|_| socket.recv(&mut buffer).map(|n| buffer[..n].to_vec()).unwrap()).collect()
    }

    #[test]
    fn many_datagrams_of_several_buffers_leave_with_one_call() {
        let (sender, receiver) = pair();
        let to = receiver.local_addr().unwrap();
        let parts: Vec<[IoSlice<'_>; 2]> =
            (0..20).map(|i| [IoSlice::new(b"head"), IoSlice::new(&b"0123456789abcdefghij"[..i])]).collect();
        let messages = parts.iter().map(|p| (Some(to), &p[..]));
        assert_eq!(Headers::new().send(sender.as_fd(), messages).unwrap(), 20);
        for (i, payload) in received(&receiver, 20).iter().enumerate() {
            assert_eq!(payload, &[b"head", &b"0123456789abcdefghij"[..i]].concat());
        }
    }

    #[test]
    fn datagrams_leave_one_by_one_up_to_the_first_refusal() {
        let (sender, receiver) = pair();
        let to = receiver.local_addr().unwrap();
        let long = vec![0_u8; MOST_OCTETS + 1];
        let parts =
            [IoSlice::new(b"first"), IoSlice::new(b"second"), IoSlice::new(&long), IoSlice::new(b"x")];
        let mut names: Vec<Name> = vec![named(&to); parts.len()];
        let mut headers = Headers::new();
        for ((header, name), part) in headers.headers.iter_mut().zip(&mut names).zip(&parts) {
            let header = &mut header.msg_hdr;
            (header.msg_name, header.msg_namelen) = (name.octets.as_mut_ptr().cast(), name.length);
            aim(header, std::slice::from_ref(part));
        }
        // SAFETY: the names and the parts live to the end of the test.
        let (taken, refused) = unsafe {
            let taken = one_by_one(sender.as_fd(), &mut headers.headers[..4]);
            (taken, one_by_one(sender.as_fd(), &mut headers.headers[2..4]))
        };
        assert_eq!(taken.unwrap(), 2);
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
        assert_eq!(received(&receiver, 2), [&b"first"[..], b"second"]);
    }

    #[test]
    fn a_call_takes_no_more_than_it_has_headers_for() {
        let (sender, receiver) = pair();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let part = [IoSlice::new(b"x")];
        let messages = std::iter::repeat_n((None, &part[..]), MOST_MESSAGES + 1);
        assert_eq!(Headers::new().send(sender.as_fd(), messages).unwrap(), MOST_MESSAGES);
        assert_eq!(Headers::new().send(sender.as_fd(), std::iter::empty()).unwrap(), 0);
    }

    #[test]
    fn the_kernel_cuts_a_message_into_segments() {
        let (sender, receiver) = pair();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let parts = [IoSlice::new(b"abcd"), IoSlice::new(b"efgh"), IoSlice::new(b"ijklmn")];
        match send_segmented(sender.as_fd(), &parts, 6) {
            Ok(sent) => assert_eq!(sent, 14),
            Err(error) => {
                let _ = std::io::Write::write_fmt(
                    &mut std::io::stderr(),
                    format_args!("SKIPPED the_kernel_cuts_a_message_into_segments: {error}\n"),
                );
                return;
            }
        }
        assert_eq!(received(&receiver, 3), [&b"abcdef"[..], b"ghijkl", b"mn"]);
    }

    #[test]
    fn a_sleep_never_ends_before_its_deadline() {
        let deadline = monotonic_ns() + 2_000_000;
        while monotonic_ns() < deadline {
            sleep_until_ns(deadline);
        }
        let before = monotonic_ns();
        for sleep in [sleep_until_ns, sleep_the_rest_ns] {
            sleep(before);
            sleep(0);
        }
        assert!(monotonic_ns() >= before);
        let deadline = monotonic_ns() + 2_000_000;
        while monotonic_ns() < deadline {
            sleep_the_rest_ns(deadline);
        }
    }

    #[test]
    fn the_loopback_interface_has_a_path_mtu() {
        let (sender, receiver) = pair();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        assert!(path_mtu(sender.as_fd(), true).unwrap() >= 1280);
    }
}
