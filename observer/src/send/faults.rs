//! Faults on purpose, for demonstrations: which datagrams of a run are dropped, repeated, held back or cut, and when
//! the sender stands still; and the truth about it. Seeded; it never sends and never reads a clock.

use super::pattern::scramble;
use serde::Serialize;
use std::net::SocketAddr;
use std::str::FromStr;
use wireproof_protocols::Batch;

/// Periods that pass without a frame when the sender stands still.
pub const STALL_PERIODS: u64 = 8;
/// Deeds that are written down one by one; more are counted only.
const MOST_DEEDS: usize = 100_000;
/// Odds are parts of this.
const WHOLE: u64 = 1_000_000_000;

/// What can be done on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A datagram is not sent.
    Drop,
    /// A datagram is sent twice in a row.
    Duplicate,
    /// A datagram is sent behind the one that follows it in its stream.
    Reorder,
    /// A datagram is sent without its second half.
    Truncate,
    /// The sender stands still for [`STALL_PERIODS`] periods before a frame.
    Stall,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Drop, Kind::Duplicate, Kind::Reorder, Kind::Truncate, Kind::Stall];

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Drop => "drop",
            Kind::Duplicate => "duplicate",
            Kind::Reorder => "reorder",
            Kind::Truncate => "truncate",
            Kind::Stall => "stall",
        }
    }
}

/// How often each kind is done: a fraction of the datagrams, of the frames for [`Kind::Stall`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Odds([u64; Kind::ALL.len()]);

impl Odds {
    /// True when nothing is ever done.
    pub fn is_none(&self) -> bool {
        *self == Odds::default()
    }
}

impl FromStr for Odds {
    type Err = String;

    /// Reads `drop=0.001,stall=0.01`.
    fn from_str(text: &str) -> Result<Odds, String> {
        let mut odds = Odds::default();
        for part in text.split(',') {
            let refused = || format!("{part} is no fault: write drop=0.001, with {}", names());
            let (name, fraction) = part.split_once('=').ok_or_else(refused)?;
            let place = Kind::ALL.iter().position(|kind| kind.name() == name).ok_or_else(refused)?;
            let fraction = fraction.parse::<f64>().ok().filter(|f| (0.0..=1.0).contains(f));
            let fraction = fraction.ok_or_else(|| format!("fault {part} is not 0..1"))?;
            odds.0[place] = (fraction * WHOLE as f64) as u64;
        }
        Ok(odds)
    }
}

fn names() -> String {
    Kind::ALL.map(Kind::name).join(", ")
}

/// One deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Deed {
    /// What was done.
    pub kind: Kind,
    /// Frame it was done to, from 0.
    pub frame: u64,
    /// Datagram of the frame, from 0; `None` for the whole frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagram: Option<usize>,
}

/// What was done in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Deeds by kind, in the order of [`Kind::ALL`].
    pub counts: [u64; Kind::ALL.len()],
    /// The deeds in the order done.
    pub deeds: Vec<Deed>,
    /// Deeds beyond those that are written down.
    pub more: u64,
}

impl Truth {
    /// How often something was done.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }

    fn note(&mut self, deed: Deed) {
        self.counts[deed.kind as usize] += 1;
        if self.deeds.len() < MOST_DEEDS {
            self.deeds.push(deed);
        } else {
            self.more += 1;
        }
    }
}

/// What follows a datagram in its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follower {
    /// The next datagram: a frame is one stream.
    #[default]
    NextDatagram,
    /// The same datagram of the next frame: every one of a frame is a stream of its own.
    NextFrame,
}

/// A datagram on its way out, owned.
pub type Owned = (SocketAddr, Vec<u8>);

/// Does the deeds of a run.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    seed: u64,
    odds: Odds,
    follower: Follower,
    /// Datagrams held back, each with how many places it waits.
    held: Vec<(usize, Owned)>,
    truth: Truth,
}

impl Faults {
    /// The deeds of this seed.
    pub fn new(seed: u64, odds: Odds, follower: Follower) -> Self {
        Faults { seed, odds, follower, ..Faults::default() }
    }

    /// Whether the sender stands still before this frame.
    pub fn stalls(&mut self, frame: u64) -> bool {
        // A frame that begins the run has nothing before it to stand still after.
        let stalls = frame > 0 && self.happens(Kind::Stall, frame, 0);
        if stalls {
            self.truth.note(Deed { kind: Kind::Stall, frame, datagram: None });
        }
        stalls
    }

    /// What leaves instead of a frame's datagrams; `None` when they leave as they are.
    pub fn disturb(&mut self, frame: u64, batch: &Batch<'_>) -> Option<Vec<Owned>> {
        if self.odds.is_none() {
            return None;
        }
        let fates: Vec<Option<Kind>> = (0..batch.len()).map(|i| self.fate(frame, i)).collect();
        if self.held.is_empty() && fates.iter().all(Option::is_none) {
            return None;
        }
        let wait = match self.follower {
            Follower::NextDatagram => 1,
            Follower::NextFrame => batch.len(),
        };
        let mut out = Vec::with_capacity(batch.len());
        for ((index, fate), datagram) in fates.into_iter().enumerate().zip(batch.iter()) {
            if let Some(kind) = fate {
                self.truth.note(Deed { kind, frame, datagram: Some(index) });
            }
            let mut owned = (datagram.destination, datagram.to_vec());
            match fate {
                // One place more than to wait, as the place of the datagram itself is next to be counted.
                Some(Kind::Reorder) => self.held.push((wait + 1, owned)),
                Some(Kind::Drop) => {}
                Some(Kind::Duplicate) => out.extend([owned.clone(), owned]),
                Some(Kind::Truncate) => {
                    owned.1.truncate(owned.1.len() / 2);
                    out.push(owned);
                }
                Some(Kind::Stall) | None => out.push(owned),
            }
            self.release(&mut out);
        }
        Some(out)
    }

    /// A place of the stream has passed.
    fn release(&mut self, out: &mut Vec<Owned>) {
        self.held.iter_mut().for_each(|(wait, _)| *wait -= 1);
        out.extend(self.held.extract_if(.., |(wait, _)| *wait == 0).map(|(_, owned)| owned));
    }

    /// What is still held back when there is no next frame.
    pub fn rest(&mut self) -> Vec<Owned> {
        self.held.drain(..).map(|(_, owned)| owned).collect()
    }

    /// What was done so far.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// At most one thing is done to a datagram.
    fn fate(&self, frame: u64, index: usize) -> Option<Kind> {
        let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Stall);
        kinds.into_iter().find(|kind| self.happens(*kind, frame, index as u64 + 1))
    }

    fn happens(&self, kind: Kind, frame: u64, place: u64) -> bool {
        let odds = self.odds.0[kind as usize];
        odds > 0 && scramble(scramble(scramble(self.seed, kind as u64), frame), place) % WHOLE < odds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;

    fn to() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 5568))
    }

    /// Runs frames of six datagrams of four octets (frame, index, 0, 0) through the faults: what leaves.
    fn run_with(follower: Follower, odds: &str, seed: u64, frames: u64) -> (Vec<Vec<u8>>, Truth) {
        let mut faults = Faults::new(seed, odds.parse().unwrap(), follower);
        let mut left = Vec::new();
        for frame in 0..frames {
            let octets: Vec<[u8; 4]> = (0..6).map(|index| [frame as u8, index, 0, 0]).collect();
            let parts: Vec<IoSlice<'_>> =
                octets.iter().flat_map(|o| [IoSlice::new(&o[..1]), IoSlice::new(&o[1..])]).collect();
            let destinations = [to(); 6];
            let batch = Batch::new(&parts, 2, &destinations);
            match faults.disturb(frame, &batch) {
                Some(disturbed) => left.extend(disturbed.into_iter().map(|(_, payload)| payload)),
                None => left.extend(batch.iter().map(|d| d.to_vec())),
            }
        }
        left.extend(faults.rest().into_iter().map(|(_, payload)| payload));
        (left, faults.truth().clone())
    }

    fn run(odds: &str, seed: u64, frames: u64) -> (Vec<Vec<u8>>, Truth) {
        run_with(Follower::NextFrame, odds, seed, frames)
    }

    #[test]
    fn without_faults_everything_leaves_as_it_is() {
        let (left, truth) = run("drop=0", 1, 50);
        assert_eq!((left.len(), truth), (300, Truth::default()));
    }

    #[test]
    fn the_truth_is_what_is_missing_repeated_late_and_cut() {
        for seed in 0..20 {
            let (left, truth) = run("drop=0.05,duplicate=0.05,reorder=0.05,truncate=0.05", seed, 200);
            let whole: Vec<&Vec<u8>> = left.iter().filter(|d| d.len() == 4).collect();
            let cut = (left.len() - whole.len()) as u64;
            let twice = whole.windows(2).filter(|w| w[0] == w[1]).count() as u64;
            let late = whole.windows(2).filter(|w| w[1] < w[0]).count() as u64;
            assert_eq!(cut, truth.count(Kind::Truncate), "seed {seed}");
            assert_eq!(twice, truth.count(Kind::Duplicate), "seed {seed}");
            let held = truth.count(Kind::Reorder);
            assert!(late <= held && late * 2 >= held, "seed {seed}: {late} of {held}");
            let sent = 1_200 - truth.count(Kind::Drop) + truth.count(Kind::Duplicate);
            assert_eq!(left.len() as u64, sent, "seed {seed}");
            assert_eq!(truth.counts.iter().sum::<u64>(), truth.deeds.len() as u64, "seed {seed}");
            for deed in truth.deeds.iter().filter(|d| d.kind == Kind::Drop) {
                let gone = [deed.frame as u8, deed.datagram.unwrap() as u8, 0, 0];
                assert!(!left.contains(&gone.to_vec()), "seed {seed}: {deed:?}");
            }
        }
    }

    #[test]
    fn a_held_back_datagram_leaves_right_behind_its_follower() {
        for (follower, places) in [(Follower::NextDatagram, 1), (Follower::NextFrame, 6)] {
            let (left, truth) = run_with(follower, "reorder=0.02", 4, 100);
            let held: Vec<[u8; 4]> =
                truth.deeds.iter().map(|d| [d.frame as u8, d.datagram.unwrap() as u8, 0, 0]).collect();
            assert!(held.len() > 5 && left.len() == 600, "{held:?}");
            let place = |d: &[u8]| usize::from(d[0]) * 6 + usize::from(d[1]);
            for one in held.iter().filter(|one| place(&one[..]) + places < 600) {
                let at = left.iter().position(|d| d == one).unwrap();
                let before: Vec<&Vec<u8>> =
                    left[..at].iter().filter(|d| !held.iter().any(|h| h == &d[..])).collect();
                let newest = before.iter().map(|d| place(d)).max().unwrap();
                let follower_was_held = held.iter().any(|h| place(h) == place(one) + places);
                assert!(
                    newest == place(one) + places || follower_was_held,
                    "{follower:?}: {one:?} after {newest}"
                );
            }
        }
    }

    #[test]
    fn what_is_held_back_at_the_end_is_not_forgotten() {
        let mut faults = Faults::new(1, "reorder=1".parse().unwrap(), Follower::NextDatagram);
        let (part, destinations) = ([IoSlice::new(b"x")], [to()]);
        assert_eq!(faults.disturb(0, &Batch::new(&part, 1, &destinations)), Some(vec![]));
        assert_eq!(faults.rest(), [(to(), b"x".to_vec())]);
        assert_eq!(faults.rest(), []);
    }

    #[test]
    fn a_seed_gives_the_same_faults_and_another_seed_others() {
        assert_eq!(run("drop=0.1", 7, 100), run("drop=0.1", 7, 100));
        assert_ne!(run("drop=0.1", 7, 100).1, run("drop=0.1", 8, 100).1);
    }

    #[test]
    fn odds_are_met_within_what_chance_allows() {
        let (_, truth) = run("drop=0.1", 3, 2_000);
        // Six standard deviations around 1,200 of 12,000.
        assert!((1_000..=1_400).contains(&truth.count(Kind::Drop)), "{:?}", truth.counts);
        let mut faults = Faults::new(3, "stall=1".parse().unwrap(), Follower::NextFrame);
        assert_eq!(
            (0..5).map(|frame| faults.stalls(frame)).collect::<Vec<_>>(),
            [false, true, true, true, true]
        );
    }

    #[test]
    fn the_truth_is_bounded() {
        let mut truth = Truth::default();
        for frame in 0..MOST_DEEDS as u64 + 5 {
            truth.note(Deed { kind: Kind::Drop, frame, datagram: Some(0) });
        }
        assert_eq!((truth.deeds.len(), truth.more, truth.count(Kind::Drop)), (MOST_DEEDS, 5, 100_005));
    }

    #[test]
    fn odds_are_read_as_they_are_typed() {
        assert!("drop=0".parse::<Odds>().unwrap().is_none());
        for text in ["", "drop", "drop=", "drop=1.5", "drop=-0.1", "drop=nan", "lose=0.1", "drop=0.1,,"] {
            assert!(text.parse::<Odds>().is_err(), "{text}");
        }
    }
}
