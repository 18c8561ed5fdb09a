//! One numbering lane: tells in order, duplicate, late, old, gap and restart apart.
//!
//! Numbers are unwrapped into a signed 64-bit line. A bitmap of the last 128 numbers remembers which arrived, so
//! that a late datagram fills its hole instead of being a loss and a duplicate. Half a cycle or more is never
//! decided by the number alone: position in the frame and cadence have to agree (see `decide`).

use super::model::{Model, Unit};
use super::observation::Observation;

/// Numbers a gap may span before it is cut; larger ones are another session in all but name.
const GAP_MAX: i64 = 1 << 31;

/// Furthest behind that a datagram may still fill a hole.
pub(super) const LATE_MAX: i64 = 64;

/// What a datagram turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// First of a session.
    Started,
    /// The next number.
    InOrder,
    /// Carries no usable number.
    Unnumbered,
    /// The same number again; `same` when the payload is the same too.
    Duplicate {
        /// Payload equal to the one that came before under this number.
        same: bool,
    },
    /// Out of order, fills a hole; holds its unwrapped number.
    Late(i64),
    /// Out of order, from before the session.
    Old,
    /// Numbers are missing.
    Gap(Gap),
    /// Numbers were skipped by the sender, not lost on this path.
    NotLost(u64),
    /// The counter began anew.
    Restart,
}

/// A hole in the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Best estimate of what is missing.
    pub lost: u64,
    /// Proven.
    pub lost_min: u64,
    /// The two could differ.
    pub ambiguous: bool,
    /// Unwrapped number of the first missing one.
    pub from: i64,
    /// Missing datagrams modulo the cycle, which is all that the numbers themselves say.
    pub residue: i64,
}

/// Where a datagram stands in its frame and what time says; made by the caller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Chunk position in the frame, 0-based.
    pub position: i64,
    /// Chunks in a frame, at least 1.
    pub chunks: i64,
    /// Chunks missing at the end of the frame before, if this datagram begins another frame.
    pub tail: i64,
    /// Datagrams that time and position say were sent since the last one, when the stream is steady.
    pub estimate: Option<i64>,
    /// Numbers follow so soon that the frames they skip cannot have been sent.
    pub too_soon: bool,
    /// This datagram begins a frame other than the last one's (used where there is no number).
    pub new_frame: bool,
    /// One counter is known to run over several destinations of the stream.
    pub shared: bool,
    /// The last frame or this one repeats old content, so that silence is no sign of loss.
    pub repeats: bool,
    /// Datagrams that were held up in a silence are still to come, sooner than the pace.
    pub catching_up: bool,
}

/// What is kept of a datagram whose number may come again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    /// Upper half of its content's number.
    hash: u32,
    /// Engine time, ms, modulo 49 days.
    pub(super) at_ms: u32,
}

impl Recent {
    #[inline]
    pub(super) fn of(o: &Observation) -> Recent {
        Recent { hash: (o.hash >> 32) as u32, at_ms: (o.at / crate::time::MS) as u32 }
    }
}

/// One counter.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Lane {
    pub(super) seen: u128,
    pub(super) highest: i64,
    pub(super) place: u64,
    pub(super) model: Model,
    position: i64,
    first: i64,
    pub(super) started: bool,
    pub(super) recent: [Recent; 32],
}

impl Lane {
    /// Octets from the beginning on that the usual next number touches, beside one of the recent ones.
    pub(crate) const USUAL: usize = std::mem::offset_of!(Lane, recent);

    /// Has the place fetched where the next datagram will be remembered.
    #[inline(always)]
    pub(crate) fn fetch_far(&self) {
        super::soon::fetch_at(&self.recent, usize::try_from((self.highest + 1) & 31).unwrap_or(0));
    }

    /// A lane that has seen nothing.
    pub(crate) fn new(model: Model) -> Lane {
        Lane {
            model,
            started: false,
            highest: 0,
            first: 0,
            place: 0,
            position: 0,
            seen: 0,
            recent: [Recent::default(); 32],
        }
    }

    /// The model.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// Replaces the model when `raw` was the newest number; the number line goes on.
    pub(crate) fn renumber(&mut self, model: Model, raw: u32) {
        self.model = model;
        self.place = model.place(raw).unwrap_or(0);
    }

    /// Datagrams until a number comes again; 0 where numbers are not of datagrams.
    pub(crate) fn cycle(&self) -> i64 {
        let cycle = if self.model.unit == Unit::Datagram { self.model.cycle } else { 0 };
        i64::try_from(cycle / u64::from(self.model.step.max(1))).unwrap_or(i64::MAX)
    }

    /// Newest unwrapped number.
    pub(crate) fn highest(&self) -> i64 {
        self.highest
    }

    /// Holes older than this number are closed for good.
    pub(crate) fn window_floor(&self) -> i64 {
        self.highest - i64::from(self.model.window).max(LATE_MAX)
    }

    /// Takes the next datagram of the lane.
    pub(crate) fn step(&mut self, o: &Observation, p: &Place) -> Step {
        let place = match self.model.unit {
            Unit::Nothing => 0,
            _ => match self.model.place(o.raw) {
                Some(place) if o.counts() => place,
                _ => return Step::Unnumbered,
            },
        };
        if !self.started || o.new_session || o.new_port {
            return self.start(o, place, p.position);
        }
        match self.model.unit {
            Unit::Nothing => self.unnumbered(o, p),
            Unit::Datagram => {
                let forward = self.forward(place);
                let cycle = self.model.cycle / u64::from(self.model.step.max(1));
                self.numbered(o, p, place, forward, i64::try_from(cycle).unwrap_or(i64::MAX))
            }
            Unit::Frame => {
                let forward = self.forward_frames(place, p);
                let cycle =
                    i64::try_from(self.model.cycle).unwrap_or(i64::MAX).saturating_mul(p.chunks.max(1));
                self.numbered(o, p, place, forward, cycle)
            }
        }
    }

    /// The datagram's number is the next one, where numbers are of datagrams.
    pub(crate) fn is_next(&self, o: &Observation) -> bool {
        let counted = self.started && self.model.unit == Unit::Datagram && o.counts() && !o.new_session;
        let place = self.model.place(o.raw).filter(|_| counted);
        place.is_some_and(|place| self.forward(place) == 1)
    }

    /// Takes the datagram if it is simply the next one; `false`, and nothing done, when there is more to judge.
    ///
    /// The caller vouches that time does not speak for a whole cycle in between.
    #[inline]
    pub(crate) fn goes_on(&mut self, o: &Observation, position: i64) -> bool {
        if !o.counts() || o.new_session || o.new_port {
            return false;
        }
        let Some(place) = self.next(o.raw) else { return false };
        self.go_on(o, place, position);
        true
    }

    /// The place of the number in its cycle, when it is the next one.
    #[inline]
    pub(crate) fn next(&self, raw: u32) -> Option<u64> {
        if !self.started || self.model.unit != Unit::Datagram {
            return None;
        }
        let next = self.place + u64::from(self.model.step);
        let next = if next < self.model.cycle { next } else { next - self.model.cycle };
        self.model.place(raw).filter(|place| *place == next)
    }

    /// Takes the datagram whose number has the next place.
    #[inline]
    pub(crate) fn go_on(&mut self, o: &Observation, place: u64, position: i64) {
        self.advance(o, place, position, 1, Step::InOrder);
    }

    /// Numbers that go on over a silence as if the sender had never stopped: what was probably lost in it.
    pub(crate) fn outage(&self, o: &Observation, p: &Place) -> Option<Gap> {
        let e = p.estimate.filter(|e| *e > 0)?;
        if !self.started || o.ip_runs_on || o.new_port || p.excuses(o) || self.model.unit != Unit::Datagram {
            return None;
        }
        let cycle = i64::try_from(self.model.cycle).ok()?;
        let skipped = (self.forward(self.model.place(o.raw)?) - 1).rem_euclid(cycle);
        let cycles = super::cadence::nearest(e - skipped, cycle).max(0);
        let lost = skipped + cycles * cycle;
        let near = near(e - lost, e, cycle);
        near.then(|| Gap {
            lost: lost.unsigned_abs(),
            lost_min: 0,
            ambiguous: true,
            from: self.highest + 1,
            residue: skipped,
        })
    }

    fn start(&mut self, o: &Observation, place: u64, position: i64) -> Step {
        let first = !self.started;
        self.started = true;
        self.highest += 1 << 20;
        self.first = self.highest;
        self.seen = 1;
        self.accept(o, place, position, self.highest);
        if first { Step::Started } else { Step::Restart }
    }

    /// Numbers from the newest place forward to this one, 0..cycle.
    fn apart(&self, place: u64) -> u64 {
        if place >= self.place { place - self.place } else { place + self.model.cycle - self.place }
    }

    /// Steps forward in datagrams, 0..cycle, in units of the model's step; -1 when the step does not divide.
    fn forward(&self, place: u64) -> i64 {
        let forward = self.apart(place);
        let step = u64::from(self.model.step);
        if step > 1 && !forward.is_multiple_of(step) {
            return -1;
        }
        i64::try_from(forward / step).unwrap_or(i64::MAX)
    }

    /// Datagrams forward where a number covers a frame: whole frames between, the tail before, the head here.
    fn forward_frames(&self, place: u64, p: &Place) -> i64 {
        let cycle = self.model.cycle;
        let frames = self.apart(place);
        if frames == 0 {
            return p.position - self.position;
        }
        let half = cycle / 2;
        if frames > half {
            let back = i64::try_from(cycle - frames).unwrap_or(i64::MAX);
            return p.position - self.position - back.saturating_mul(p.chunks.max(1));
        }
        let between = i64::try_from(frames - 1).unwrap_or(i64::MAX).saturating_mul(p.chunks.max(1));
        between.saturating_add(p.tail + p.position + 1).min(GAP_MAX)
    }

    fn unnumbered(&mut self, o: &Observation, p: &Place) -> Step {
        let forward = if p.new_frame { p.tail + p.position + 1 } else { p.position - self.position };
        if p.chunks <= 1 || forward == 1 {
            return self.advance(o, 0, p.position, 1, Step::InOrder);
        }
        if forward <= 0 {
            return self
                .behind(o, forward)
                .unwrap_or_else(|| self.advance(o, 0, p.position, 1, Step::InOrder));
        }
        let missing = forward - 1;
        let gap = self.gap(missing, missing, missing, false);
        self.advance(o, 0, p.position, forward, gap)
    }

    fn numbered(&mut self, o: &Observation, p: &Place, place: u64, forward: i64, cycle: i64) -> Step {
        let signed = signed(forward, cycle);
        if signed == 1 {
            return self.in_order(o, p, place, cycle);
        }
        if self.comes_back(o, p, forward, cycle) {
            return self.start(o, place, p.position);
        }
        if let Some(number) = self.open_behind(o, forward, cycle) {
            return self.fill(o, number);
        }
        let window = i64::from(self.model.window);
        if signed <= 0 && signed >= -window && forward >= -window {
            let forced = self.estimate_says_gap(o, p, forward.rem_euclid(cycle), cycle);
            if !forced && let Some(step) = self.behind(o, signed) {
                return step;
            }
        }
        self.jump(o, p, place, forward, cycle)
    }

    fn in_order(&mut self, o: &Observation, p: &Place, place: u64, cycle: i64) -> Step {
        if let Some(e) = p.estimate
            && !o.ip_runs_on
            && !p.counted(o).says(0)
            && !p.excuses(o)
            && self.model.unit == Unit::Datagram
        {
            let cycles = super::cadence::nearest(e, cycle);
            if cycles >= 1 && near(e - cycles * cycle, e, cycle) {
                let missing = cycles * cycle;
                let gap = self.gap(missing, 0, 0, true);
                return self.advance(o, place, p.position, missing + 1, gap);
            }
        }
        self.advance(o, place, p.position, 1, Step::InOrder)
    }

    /// Behind the newest number: duplicate, late or old. `None` when it is none of them.
    fn behind(&mut self, o: &Observation, signed: i64) -> Option<Step> {
        let number = self.highest + signed;
        if number < self.first {
            return Some(Step::Old);
        }
        let bit = 1u128 << u32::try_from(-signed).ok().filter(|b| *b < 128)?;
        let before = self.recent[usize::try_from(number & 31).ok()?];
        if self.seen & bit == 0 {
            return Some(self.fill(o, number));
        }
        {
            let same = before.hash == Recent::of(o).hash && signed > -32;
            // Nobody knows what came under a number so far behind; a path that copies sends an old IP id.
            if signed <= -32 && !o.ip_went_back {
                return None;
            }
            let small = self.model.cycle <= 16 || self.model.unit == Unit::Nothing;
            let fresh = Recent::of(o).at_ms.wrapping_sub(before.at_ms) <= 100;
            if small && !(same && fresh) {
                return None;
            }
            Some(Step::Duplicate { same })
        }
    }

    /// A hole this datagram fills although it is further behind than the window: the IP id went back too, or the
    /// cycle is so long that the number can hardly mean anything else.
    fn open_behind(&self, o: &Observation, forward: i64, cycle: i64) -> Option<i64> {
        let long = cycle > 16 && forward > cycle / 2;
        if !(o.ip_went_back || long) || self.model.unit != Unit::Datagram {
            return None;
        }
        let behind = (1..=4).map(|cycles| forward - cycles * cycle).filter(|b| *b < 0 && *b > -LATE_MAX);
        behind.map(|b| self.highest + b).find(|number| {
            let bit = u32::try_from(self.highest - number).unwrap_or(127);
            *number >= self.first && self.seen & (1u128 << bit) == 0
        })
    }

    fn fill(&mut self, o: &Observation, number: i64) -> Step {
        let bit = u32::try_from(self.highest - number).unwrap_or(127).min(127);
        self.seen |= 1u128 << bit;
        if let Ok(slot) = usize::try_from(number & 31) {
            self.recent[slot] = Recent::of(o);
        }
        Step::Late(number)
    }

    /// With half a cycle or more skipped a number looks like one from behind: time decides.
    fn estimate_says_gap(&self, o: &Observation, p: &Place, forward: i64, cycle: i64) -> bool {
        let Some(e) = p.estimate else { return false };
        if o.ip_runs_on || self.model.unit != Unit::Datagram || forward == 0 && p.excuses(o) {
            return false;
        }
        let skipped = (forward - 1).rem_euclid(cycle);
        let came = cycle > 16 && forward != 0 && e >= skipped && !self.came_before(o, forward - cycle);
        e > 0 && (came || e >= skipped.min(self.model.window.into()) && fits(e, skipped, cycle))
    }

    /// The content is known to have come under the number `signed` from the newest.
    fn came_before(&self, o: &Observation, signed: i64) -> bool {
        let slot = usize::try_from((self.highest + signed) & 31).unwrap_or(0);
        signed > -32 && self.recent[slot].hash == Recent::of(o).hash
    }

    fn jump(&mut self, o: &Observation, p: &Place, place: u64, forward: i64, cycle: i64) -> Step {
        let backward = forward < 1 || forward > cycle / 2;
        let skipped = (forward - 1).rem_euclid(cycle);
        let in_time = !o.ip_runs_on && p.estimate.is_some_and(|e| fits(e, skipped, cycle));
        let anew = backward && (p.estimate.is_none() || (cycle > 16 && !in_time));
        let first = self.at_first(o, p);
        if first && (p.too_soon || anew || self.begins_ahead(o, p, skipped, cycle)) {
            return self.start(o, place, p.position);
        }
        // Where time or place says that they were due, the sender itself left them out: that is a loss all the same.
        let due = p.estimate.is_some_and(|e| e > 0 && fits(e, skipped, cycle));
        // The IP id alone only says that this host did not send them; a hole before the pace is known is a loss.
        let excused = self.model.shared || p.shared || p.estimate.is_some();
        if o.ip_runs_on && forward > 1 && !due && excused {
            // Numbers that do not come round soon stay open: one of them may yet arrive late.
            let by = if cycle > 16 { forward } else { 1 };
            return self.advance(o, place, p.position, by, Step::NotLost((forward - 1).unsigned_abs()));
        }
        if forward < 1 && self.model.unit == Unit::Frame || forward == -1 {
            return self.start(o, place, p.position);
        }
        self.decide(o, p, place, forward.rem_euclid(cycle), cycle)
    }

    /// The size of a gap: numbers give it modulo the cycle, time and position choose among the candidates.
    fn decide(&mut self, o: &Observation, p: &Place, place: u64, forward: i64, cycle: i64) -> Step {
        let skipped = (forward - 1).rem_euclid(cycle);
        let below_half = skipped * 2 < cycle;
        let fitting = p.estimate.filter(|e| *e >= 0 && !p.excuses(o) && fits(*e, skipped, cycle));
        let (lost, lost_min, ambiguous) = match (fitting, p.estimate) {
            (Some(e), _) => {
                let more = super::cadence::nearest(e - skipped, cycle).max(0);
                (skipped + more * cycle, skipped, more > 0)
            }
            (None, _) if below_half && self.doubtful(o, p, skipped, cycle) => (skipped, 0, true),
            (None, _) if below_half => (skipped, skipped, cycle <= 16 && p.estimate.is_none()),
            (None, Some(e)) if e > 0 && !p.excuses(o) => (at_most(e.min(GAP_MAX), skipped, cycle), 0, true),
            _ => (0, 0, true),
        };
        let gap = self.gap(lost, lost_min, skipped, ambiguous);
        self.advance(o, place, p.position, lost + 1, gap)
    }

    /// The hole that is left when of the datagrams `due` in a pause only some `came` in the burst after it, where the
    /// numbers ran on: whole cycles, named by time alone.
    pub(crate) fn never_came(&self, due: i64, came: i64) -> Option<Gap> {
        let left = due - came;
        let cycle = i64::try_from(self.model.cycle).unwrap_or(i64::MAX);
        if self.model.unit != Unit::Datagram {
            return None;
        }
        let cycles = super::cadence::nearest(left, cycle);
        let named = cycles >= 1 && (left - cycles * cycle).abs() <= 1 + due / 128;
        let lost = cycles * cycle;
        // Nobody knows where in the pause they were: the hole lies before the session, where nothing late fills it.
        let from = self.first.saturating_sub(lost);
        let gap = || Gap { lost: lost.unsigned_abs(), lost_min: 0, ambiguous: true, from, residue: 0 };
        named.then(gap)
    }

    fn gap(&self, lost: i64, lost_min: i64, residue: i64, ambiguous: bool) -> Step {
        Step::Gap(Gap {
            lost: lost.unsigned_abs(),
            lost_min: lost_min.unsigned_abs(),
            ambiguous,
            from: self.highest + 1,
            residue,
        })
    }

    fn advance(&mut self, o: &Observation, place: u64, position: i64, by: i64, step: Step) -> Step {
        self.highest += by;
        self.seen = match u32::try_from(by) {
            Ok(shift) if shift < 128 => self.seen << shift,
            _ => 0,
        };
        self.accept(o, place, position, self.highest);
        step
    }

    fn accept(&mut self, o: &Observation, place: u64, position: i64, number: i64) {
        self.seen |= 1;
        self.place = place;
        self.position = position;
        if let Ok(slot) = usize::try_from(number & 31) {
            self.recent[slot] = Recent::of(o);
        }
    }
}

/// Signed distance in -cycle/2..cycle/2; for a cycle of 256 this is the signed 8-bit rule of E1.31 6.7.2.
fn signed(forward: i64, cycle: i64) -> i64 {
    if forward < 0 || forward < cycle - forward { forward } else { forward - cycle }
}

/// How far an estimate from time may be off a candidate and still name it.
fn tolerance(estimate: i64, cycle: i64) -> i64 {
    if cycle <= 16 { 0 } else { (estimate / 128).max(1) }
}

/// The most that the numbers allow and time has room for, as the rest may yet follow in a burst; the estimate itself
/// where no size fits both or the cycle is too short to name one.
fn at_most(estimate: i64, skipped: i64, cycle: i64) -> i64 {
    if cycle <= 16 || estimate < skipped {
        return estimate;
    }
    skipped + (estimate - skipped) / cycle * cycle
}

pub(super) fn fits(estimate: i64, skipped: i64, cycle: i64) -> bool {
    let more = super::cadence::nearest(estimate - skipped, cycle).max(0);
    near(estimate - skipped - more * cycle, estimate, cycle)
}

/// Time, `off` a candidate, still names it; after a silence in which it is off by much of the cycle it names none.
fn near(off: i64, estimate: i64, cycle: i64) -> bool {
    let tolerance = tolerance(estimate, cycle);
    off.abs() <= tolerance && tolerance <= (cycle / 8).max(1)
}

/// The class of a pair (last, new) of sACN sequence numbers by the signed 8-bit rule of E1.31 6.7.2: accepted
/// (`true`) or to be discarded as out of order.
pub fn sacn_accepts(last: u8, new: u8) -> bool {
    let forward = i64::from(new.wrapping_sub(last));
    !(-19..=0).contains(&signed(forward, 256))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn run(protocol: Protocol, numbers: &[u32]) -> Vec<Step> {
        let mut lane = Lane::new(Model::prescribed(protocol));
        let steps = numbers.iter().enumerate().map(|(i, raw)| {
            let at = i as i64 * 20_000_000;
            let o = Observation { at, raw: *raw, numbered: true, hash: i as u64, ..Observation::default() };
            lane.step(&o, &Place { chunks: 1, ..Place::default() })
        });
        steps.collect()
    }

    #[test]
    fn all_65536_pairs_follow_the_signed_eight_bit_rule() {
        for last in 0..=255u8 {
            for new in 0..=255u8 {
                let d = new.wrapping_sub(last) as i8;
                let accepted = d > 0 || d <= -20;
                assert_eq!(sacn_accepts(last, new), accepted, "{last} -> {new}");
                let step = run(Protocol::Sacn, &[u32::from(last), u32::from(new)])[1];
                let taken = matches!(step, Step::InOrder | Step::Gap(_) | Step::Restart);
                assert_eq!(taken, accepted, "{last} -> {new} gave {step:?}");
            }
        }
    }

    #[test]
    fn a_late_datagram_fills_its_hole() {
        let steps = run(Protocol::Sacn, &[250, 251, 253, 252, 254, 255, 0, 1]);
        assert!(matches!(steps[2], Step::Gap(Gap { lost: 1, lost_min: 1, ambiguous: false, .. })));
        assert!(matches!(steps[3], Step::Late(_)));
        assert!(steps[4..].iter().all(|s| *s == Step::InOrder), "{steps:?}");
    }

    #[test]
    fn a_number_from_before_the_session_is_old() {
        assert_eq!(run(Protocol::Sacn, &[100, 98, 101])[1..], [Step::Old, Step::InOrder]);
    }

    #[test]
    fn art_net_skips_zero() {
        assert_eq!(
            run(Protocol::ArtNet, &[254, 255, 1, 0, 2])[1..],
            [Step::InOrder, Step::InOrder, Step::Unnumbered, Step::InOrder]
        );
    }
}
