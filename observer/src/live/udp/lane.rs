//! One socket of a UDP source: its batch of datagrams, the head that is next, and its account of drops.

use super::control::{self, Control};
use super::open::Bound;
use crate::live::source::Seen;
use crate::live::sys_socket::{Batch, MemInfo, meminfo};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{SystemTime, UNIX_EPOCH};
use wireproof_protocols::{Datagram, Timestamp, datagram::Link};

/// The clock of this process, for datagrams nobody stamped.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Tells each drop once, of one 32-bit counter that is seen from two sides: beside a datagram with its value when that
/// datagram was queued, and by asking for its value now.
///
/// The two differ by what waits in the queue, so that only the first may be told at a datagram: a drop learnt by asking
/// lies behind datagrams that have not been handed over yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DropAccount {
    told: u64,
    known: u64,
}

impl DropAccount {
    /// Drops not told yet when a datagram was queued at this value of the counter; they count as told.
    #[inline]
    pub(crate) fn tell(&mut self, counter: u32) -> u64 {
        let told = self.told;
        self.told += ahead(counter, told);
        self.known = self.known.max(self.told);
        self.told - told
    }

    /// Takes note of the counter's value now.
    pub(crate) fn learn(&mut self, counter: u32) {
        self.known += ahead(counter, self.known);
    }

    /// All drops known so far.
    pub(crate) fn known(&self) -> u64 {
        self.known
    }

    /// Drops known and not told yet; they count as told.
    pub(crate) fn take_rest(&mut self) -> u64 {
        let rest = self.known - self.told;
        self.told = self.known;
        rest
    }
}

/// How far a wrapping counter is ahead of the whole count; 0 when it is older.
#[inline]
fn ahead(counter: u32, count: u64) -> u64 {
    let ahead = counter.wrapping_sub(count as u32);
    if ahead > u32::MAX / 2 { 0 } else { ahead.into() }
}

/// A socket with what has been read from it.
pub(crate) struct Lane {
    bound: Bound,
    batch: Batch,
    /// Position of the head in the batch.
    next: usize,
    /// Datagrams before this position were read in an earlier round.
    due: usize,
    /// The socket may hold more than the batch.
    has_more: bool,
    /// Control messages of the head.
    head: Control,
    stamp: Timestamp,
    pub(crate) drops: DropAccount,
    pub(crate) received: u64,
    pub(crate) cut: u64,
}

impl Lane {
    pub(crate) fn new(bound: Bound, slots: usize) -> Self {
        Lane {
            batch: Batch::new(slots, bound.portable),
            bound,
            next: 0,
            due: 0,
            has_more: false,
            head: Control::default(),
            stamp: Timestamp::default(),
            drops: DropAccount::default(),
            received: 0,
            cut: 0,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.bound.socket.as_fd()
    }

    pub(crate) fn local(&self) -> SocketAddr {
        self.bound.local
    }

    /// Reads `SO_MEMINFO` and takes note of its drops; a portable socket knows the size of its buffer only.
    pub(crate) fn ask(&mut self) -> io::Result<MemInfo> {
        if self.bound.portable {
            let granted = u32::try_from(self.bound.granted).unwrap_or(u32::MAX);
            return Ok(MemInfo { granted, ..MemInfo::default() });
        }
        let info = meminfo(self.fd())?;
        self.drops.learn(info.drops);
        Ok(info)
    }

    /// Leaves every group.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        self.bound.leave()
    }

    /// True when a datagram has been read and not handed over.
    #[inline]
    pub(crate) fn has_head(&self) -> bool {
        self.next < self.batch.len()
    }

    /// Stamp of the head if it may be handed over: it is old enough, or has waited for a round already.
    #[inline]
    pub(crate) fn head_until(&self, horizon: Timestamp) -> Option<Timestamp> {
        let may = self.has_head() && (self.stamp <= horizon || self.next < self.due);
        may.then_some(self.stamp)
    }

    /// Begins a round: what is still here is due, and a readable socket is read.
    pub(crate) fn begin(&mut self, is_readable: bool) -> io::Result<()> {
        self.due = self.batch.len();
        self.has_more |= is_readable;
        if self.has_head() || !self.has_more {
            return Ok(());
        }
        self.fill()
    }

    /// Reads the next batch. A batch that is not full has emptied the socket.
    fn fill(&mut self) -> io::Result<()> {
        (self.next, self.due, self.has_more) = (0, 0, false);
        self.batch.receive(self.bound.socket.as_fd())?;
        self.has_more = self.batch.is_full();
        self.look();
        Ok(())
    }

    /// Reads the control messages of the head.
    #[inline]
    fn look(&mut self) {
        let Some(got) = self.batch.get(self.next) else { return };
        self.head = control::read(got.control);
        self.stamp = self.head.stamp.unwrap_or_else(now);
    }

    /// Makes the next datagram the head, reading on when the batch is used up.
    #[inline]
    pub(crate) fn advance(&mut self) -> io::Result<()> {
        self.next += 1;
        if self.has_head() {
            self.look();
            return Ok(());
        }
        if self.has_more { self.fill() } else { Ok(()) }
    }

    /// Hands over the head, behind the drops it announces; returns how many datagrams that was. A broadcast that
    /// reached a further socket of the port is a copy of one the first socket has, and is left out.
    #[inline]
    pub(crate) fn hand_over(&mut self, each: &mut dyn FnMut(Seen<'_>)) -> usize {
        let Some(got) = self.batch.get(self.next) else { return 0 };
        let lost = self.head.drops.map_or(0, |counter| self.drops.tell(counter));
        if lost > 0 {
            each(Seen::Dropped(lost));
        }
        if self.head.broadcast && self.bound.is_shard {
            return 0;
        }
        let local = self.bound.local;
        let datagram = Datagram {
            source: control::address(got.name).unwrap_or_else(|| SocketAddr::from(([0; 4], 0))),
            destination: SocketAddr::new(self.head.destination.unwrap_or(local.ip()), local.port()),
            payload: got.payload,
            length: got.length,
            link: Link { broadcast: self.head.broadcast, ttl: self.head.ttl, ..Link::default() },
        };
        self.received += 1;
        self.cut += u64::from(datagram.is_cut());
        each(Seen::Datagram(self.stamp, datagram));
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_told_once_whether_learnt_by_asking_or_beside_a_datagram() {
        let mut drops = DropAccount::default();
        assert_eq!(drops.tell(3), 3);
        drops.learn(10);
        assert_eq!((drops.known(), drops.tell(7)), (10, 4), "queued before the last three were dropped");
        assert_eq!(drops.take_rest(), 3);
        assert_eq!((drops.take_rest(), drops.tell(10), drops.tell(9)), (0, 0, 0));
        assert_eq!((drops.tell(12), drops.known()), (2, 12));
    }

    #[test]
    fn the_counter_wraps_around() {
        let mut drops = DropAccount { told: u64::from(u32::MAX) - 1, known: u64::from(u32::MAX) - 1 };
        drops.learn(u32::MAX);
        assert_eq!(drops.tell(4), 6);
        drops.learn(5);
        assert_eq!((drops.known(), drops.take_rest()), ((1 << 32) + 5, 1));
    }

    #[test]
    fn an_older_value_of_the_counter_tells_nothing() {
        let mut drops = DropAccount::default();
        assert_eq!((drops.tell(100), drops.tell(90)), (100, 0));
        drops.learn(50);
        assert_eq!(drops.known(), 100);
    }
}
