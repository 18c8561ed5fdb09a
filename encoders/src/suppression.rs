//! Transmission suppression (E1.31, 6.6.2) as a state machine for the owner of an encoder to put in front of it:
//! content that does not change is sent a few times more and then only kept alive.
//!
//! Decides and remembers; sends nothing and reads no clock. It is meant for data with start code 0 only.

use wireproof_protocols::time::MS;
use wireproof_protocols::{EncodeError, Timestamp};

/// Copies of unchanged content before suppression begins (6.6.2).
pub const COPIES: u8 = 3;
/// Bounds of the interval between keep-alives, milliseconds (6.6.2).
pub const KEEP_ALIVE_MS: (u64, u64) = (800, 1000);

/// What to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Send it: its content differs from the frame before, or it is the first one.
    Changed,
    /// Send it: one of the copies that follow a change.
    Copy,
    /// Send it: nothing was sent for the keep-alive interval.
    KeepAlive,
    /// Send nothing before this instant unless the content changes.
    Suppressed(Timestamp),
}

impl Due {
    /// True when the frame is to be sent.
    pub fn sends(self) -> bool {
        !matches!(self, Due::Suppressed(_))
    }

    /// True when the content was sent before, which BigPacket marks as REPEAT.
    pub fn is_repeat(self) -> bool {
        matches!(self, Due::Copy | Due::KeepAlive)
    }
}

/// The suppression of one output.
#[derive(Clone, Debug)]
pub struct Suppression {
    interval_ns: i64,
    /// Copies of the content still to be sent.
    copies: u8,
    /// When something was sent last.
    sent: Option<Timestamp>,
    content: Vec<u8>,
}

impl Suppression {
    /// Suppression that keeps alive every `interval_ms`; an owner that ticks at a frame rate takes the lower bound
    /// plus what a tick may add, one that waits for [`Self::poll_timeout`] any value.
    ///
    /// # Errors
    /// [`EncodeError`] for an interval outside 800..1000 ms.
    pub fn new(interval_ms: u64) -> Result<Self, EncodeError> {
        let (low, high) = KEEP_ALIVE_MS;
        EncodeError::unless_within("keep-alive interval (ms)", interval_ms, low, high)?;
        Ok(Suppression { interval_ns: interval_ms as i64 * MS, copies: 0, sent: None, content: Vec::new() })
    }

    /// Decides about a frame at `now`; what is to be sent counts as sent. Content is compared octet by octet, so that
    /// no change is ever taken for a copy. A clock that ran backwards makes the frame a keep-alive.
    pub fn offer(&mut self, now: Timestamp, frame: &[u8]) -> Due {
        let due = self.judge(now, frame);
        if due.sends() {
            self.sent = Some(now);
        }
        due
    }

    fn judge(&mut self, now: Timestamp, frame: &[u8]) -> Due {
        let Some(sent) = self.sent.filter(|_| self.content == frame) else {
            self.content.clear();
            self.content.extend_from_slice(frame);
            self.copies = COPIES;
            return Due::Changed;
        };
        if self.copies > 0 {
            self.copies -= 1;
            return Due::Copy;
        }
        let next = sent.plus(self.interval_ns);
        if now >= next || now < sent { Due::KeepAlive } else { Due::Suppressed(next) }
    }

    /// When the next keep-alive is due; `None` while copies are due or nothing was sent.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let sent = self.sent.filter(|_| self.copies == 0)?;
        Some(sent.plus(self.interval_ns))
    }

    /// Forgets what was sent, as after a goodbye: the next frame is sent whatever it holds.
    pub fn reset(&mut self) {
        (self.sent, self.copies) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp(1_700_000_000_000_000_000 + ms * MS)
    }

    /// Offers frames every 20 ms and says when and why which were sent.
    fn sent(suppression: &mut Suppression, frames: impl Iterator<Item = u8>) -> Vec<(i64, Due)> {
        let offers = frames.enumerate().map(|(nth, content)| {
            let ms = nth as i64 * 20;
            (ms, suppression.offer(at(ms), &[content; 8]))
        });
        offers.filter(|(_, due)| due.sends()).collect()
    }

    #[test]
    fn unchanged_content_is_sent_three_times_more_and_then_kept_alive() {
        let mut suppression = Suppression::new(880).unwrap();
        let out = sent(&mut suppression, std::iter::repeat_n(7, 100));
        let copies = [(0, Due::Changed), (20, Due::Copy), (40, Due::Copy), (60, Due::Copy)];
        assert_eq!(out[..4], copies);
        assert_eq!(out[4..], [(940, Due::KeepAlive), (1820, Due::KeepAlive)]);
    }

    #[test]
    fn a_change_is_sent_at_once_and_starts_the_copies_anew() {
        let mut suppression = Suppression::new(800).unwrap();
        let contents = std::iter::repeat_n(7, 2).chain(std::iter::repeat_n(8, 20));
        let out = sent(&mut suppression, contents);
        let times: Vec<i64> = out.iter().map(|(ms, _)| *ms).collect();
        assert_eq!(times, [0, 20, 40, 60, 80, 100]);
        assert_eq!(out[2].1, Due::Changed);
    }

    #[test]
    fn content_that_always_changes_is_never_held_back() {
        let mut suppression = Suppression::new(1000).unwrap();
        assert_eq!(sent(&mut suppression, (0..200).map(|n| n as u8)).len(), 200);
        assert_eq!(suppression.poll_timeout(), None, "copies of the last change are due");
    }

    #[test]
    fn an_owner_that_waits_keeps_the_interval_exactly() {
        let mut suppression = Suppression::new(1000).unwrap();
        assert_eq!(suppression.poll_timeout(), None);
        (0..4).for_each(|ms| assert!(suppression.offer(at(ms), &[1]).sends()));
        let next = suppression.poll_timeout().unwrap();
        assert_eq!(next, at(1003));
        assert_eq!(suppression.offer(at(1002), &[1]), Due::Suppressed(next));
        assert_eq!(suppression.offer(next, &[1]), Due::KeepAlive);
        assert_eq!(suppression.poll_timeout(), Some(at(2003)));
    }

    #[test]
    fn a_clock_that_ran_backwards_silences_nothing() {
        let mut suppression = Suppression::new(1000).unwrap();
        (0..4).for_each(|_| assert!(suppression.offer(at(5000), &[1]).sends()));
        assert_eq!(suppression.offer(at(10), &[1]), Due::KeepAlive);
        assert_eq!(suppression.offer(at(11), &[1]), Due::Suppressed(at(1010)));
    }

    #[test]
    fn after_a_reset_everything_is_sent_anew() {
        let mut suppression = Suppression::new(1000).unwrap();
        (0..5).for_each(|ms| _ = suppression.offer(at(ms), &[1]));
        suppression.reset();
        assert_eq!(suppression.offer(at(6), &[1]), Due::Changed);
    }

    #[test]
    fn an_interval_outside_the_clause_is_refused() {
        let error = Suppression::new(799).unwrap_err();
        assert_eq!(error.to_string(), "keep-alive interval (ms) 799 is not 800..1000");
        assert!(Suppression::new(1001).is_err());
    }
}
