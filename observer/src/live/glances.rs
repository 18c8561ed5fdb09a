//! Looks at a run from outside: one record goes to the receive loop and comes back filled in. The loop only tries both
//! queues; who looks never holds it up.

use super::health::Health;
use super::receive::now;
use crossbeam_channel::{Receiver, Sender, bounded};
use wireproof_protocols::Timestamp;
use wireproof_protocols::verify::{Glance, Verifier};
use wireproof_reports::QueueDelay;

/// What a look shows.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Where the run stands.
    pub glance: Glance,
    /// By the clock of the stamps.
    pub at: Timestamp,
    /// Datagrams the observer lost: drops announced or counted so far.
    pub lost: u64,
    /// Datagrams and frames handed over by the sources.
    pub packets: u64,
    /// Longest gap of the receive loop, ns.
    pub loop_gap_max_ns: u64,
    /// Time datagrams waited in the kernel.
    pub queue_delay: QueueDelay,
}

/// The receive loop's end.
#[derive(Debug)]
pub struct Glances {
    asked: Receiver<Box<Look>>,
    answered: Sender<Box<Look>>,
}

/// The other end.
#[derive(Debug)]
pub struct Watcher {
    ask: Sender<Box<Look>>,
    answers: Receiver<Box<Look>>,
    spare: Option<Box<Look>>,
}

/// Both ends.
pub fn pair() -> (Glances, Watcher) {
    let ((ask, asked), (answered, answers)) = (bounded(1), bounded(1));
    let look = Look { glance: Glance::roomy(), ..Look::default() };
    (Glances { asked, answered }, Watcher { ask, answers, spare: Some(Box::new(look)) })
}

impl Glances {
    /// Fills in the record that waits, if there is one.
    #[inline]
    pub(super) fn answer(
        &self,
        verifier: &mut Verifier,
        (lost, packets): (u64, u64),
        health: &mut Health,
        clock: Option<fn() -> Timestamp>,
    ) {
        let Ok(mut look) = self.asked.try_recv() else { return };
        look.at = clock.map_or_else(now, |clock| clock());
        verifier.glance(look.at, &mut look.glance);
        (look.lost, look.packets) = (lost, packets);
        look.loop_gap_max_ns = health.loop_gap_max;
        look.queue_delay = health.queue_delay();
        let _ = self.answered.try_send(look);
    }
}

impl Watcher {
    /// Asks for a look unless one is under way; `false` when the run has ended.
    pub fn ask(&mut self) -> bool {
        match self.spare.take() {
            None => true,
            Some(look) => self.ask.try_send(look).is_ok(),
        }
    }

    /// Hands the look that came over to `each`; `true` when there was one.
    pub fn take(&mut self, each: impl FnOnce(&Look)) -> bool {
        let Ok(look) = self.answers.try_recv() else { return false };
        each(&look);
        self.spare = Some(look);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_protocols::verify::Options;

    fn answer(loop_end: &Glances, packets: u64) {
        let mut verifier = Verifier::new(Options::default());
        loop_end.answer(&mut verifier, (0, packets), &mut Health::default(), Some(|| Timestamp(5)));
    }

    #[test]
    fn one_look_is_under_way_at_a_time_and_nobody_waits() {
        let (loop_end, mut watcher) = pair();
        answer(&loop_end, 1);
        assert!(!watcher.take(|_| unreachable!()));
        assert!(watcher.ask() && watcher.ask());
        answer(&loop_end, 2);
        answer(&loop_end, 3);
        assert!(watcher.take(|look| assert_eq!((look.packets, look.at), (2, Timestamp(5)))));
        assert!(!watcher.take(|_| unreachable!()));
        drop(loop_end);
        assert!(!watcher.ask());
    }
}
