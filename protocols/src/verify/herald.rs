//! What a run that goes on has to tell at once: findings that its account will have, each handed over one time.
//!
//! A loss is told when no late datagram can mend it any more, by number or by [`REORDER_TIME`]; a torn frame with the loss
//! that tore it, or when its end failed to come. It looks and remembers what it told; the account never depends on it.

use super::account::Finding;
use super::episodes::{fill, sentence, tears_of};
use super::findings::{Place, blank};
use super::finish::{torn_rule, torn_text};
use super::flow::{Episode, Flow};
use super::output::{Output, Tear};
use super::settle::Shared;
use super::{Options, Verifier};
use crate::time::MS;
use crate::{Severity, Timestamp};
use std::collections::VecDeque;

/// Time after which a hole is told although numbers would let a late datagram fill it, ns: a slow stream's window of
/// numbers is seconds long, and no path delays a datagram by so much more than its neighbours.
pub(super) const REORDER_TIME: i64 = 250 * MS;
/// Furthest apart that torn frames are one finding.
pub(super) const TEAR_RUN: i64 = 6;
/// Most losses, and runs of torn frames, told ahead of the account; further ones come with it.
const HERALDS_MAX: usize = 2_048;
/// Runs of torn frames of an output that a further frame may join.
const RUNS_KEPT: usize = 32;

/// What was told so far.
#[derive(Debug, Default)]
pub(crate) struct Heralds {
    /// Loss episodes of all streams that wait for late datagrams.
    pub open: usize,
    /// Listed findings that were handed over.
    listed: usize,
    /// Losses that were told and are not listed yet.
    losses: Vec<Finding>,
    /// Runs of torn frames that were told; the account lists its own.
    torn: Vec<Herald>,
}

/// A run of torn frames that was told.
#[derive(Debug)]
struct Herald {
    finding: Finding,
    /// Findings listed before it.
    after: usize,
    /// First frame, as the output counts them for a reader.
    number: i64,
    /// Datagrams and octets that it lacks.
    lacks: (u64, u64),
}

/// How long an episode has had a hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Stamp from which on it waits.
    at: i64,
    /// Missing then.
    lost: u64,
    /// Came late since.
    pub mended: u64,
    /// It was told.
    pub told: bool,
}

/// Torn frames of an output that were told.
#[derive(Debug, Default)]
pub(crate) struct Torn {
    /// First frame found torn since the last look.
    fresh: Option<i64>,
    runs: VecDeque<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    from: i64,
    to: i64,
    end: bool,
    /// Index of its herald.
    herald: usize,
}

impl Wait {
    /// A hole of so many, noticed at a stamp.
    pub(crate) fn new(at: i64, lost: u64) -> Wait {
        Wait { at, lost, mended: 0, told: false }
    }

    /// Whether some of what was missing a while ago still is; of an episode that grows the wait begins anew.
    fn is_over(&mut self, now: i64, lost: u64) -> bool {
        let age = now.saturating_sub(self.at);
        if (0..REORDER_TIME).contains(&age) {
            return false;
        }
        if age > 0 && self.lost > self.mended {
            return lost > 0;
        }
        *self = Wait::new(now, lost);
        false
    }
}

impl Torn {
    /// A frame was found torn.
    pub(crate) fn note(&mut self, frame: i64) {
        self.fresh = Some(self.fresh.map_or(frame, |first| first.min(frame)));
    }

    /// The run that a frame belongs to, and whether it is known in it.
    fn run_of(&mut self, frame: i64, end: bool) -> Option<(usize, bool)> {
        let near =
            |run: &&mut Run| run.end == end && frame >= run.from - TEAR_RUN && frame <= run.to + TEAR_RUN;
        let run = self.runs.iter_mut().rev().find(near)?;
        let known = (run.from..=run.to).contains(&frame);
        (run.from, run.to) = (run.from.min(frame), run.to.max(frame));
        Some((run.herald, known))
    }

    fn begin(&mut self, frame: i64, end: bool, herald: usize) {
        if self.runs.len() == RUNS_KEPT {
            self.runs.pop_front();
        }
        self.runs.push_back(Run { from: frame, to: frame, end, herald });
    }
}

impl Heralds {
    /// A loss that was told turned out to be none.
    #[cold]
    pub(crate) fn withdraw(&mut self, stream: usize, packet: u64) {
        self.losses.retain(|f| (f.stream, f.first_packet) != (Some(stream), packet));
    }

    /// A torn frame joins its run, or begins one.
    fn tear(
        &mut self,
        flow: &Flow,
        told: &mut Torn,
        (frame, tear): (i64, Tear),
        (base, after): (i64, usize),
    ) {
        if let Some((herald, known)) = told.run_of(frame, tear.end) {
            if let Some(h) = self.torn.get_mut(herald).filter(|_| !known) {
                h.finding.count += 1;
                h.finding.last_ns = h.finding.last_ns.max(tear.place.1);
                h.lacks = (h.lacks.0 + tear.missing, h.lacks.1 + tear.octets);
            }
            return;
        }
        if self.torn.len() == HERALDS_MAX {
            return;
        }
        told.begin(frame, tear.end, self.torn.len());
        let place = Place { stream: Some(tear.flow), packet: tear.place.0, stamp: tear.place.1 };
        let lacks = (tear.missing, tear.octets);
        let mut finding = blank(torn_rule(tear.end), Severity::Violation, place, String::new());
        finding.text = torn_text(flow, frame - base, 1, lacks, tear.end);
        finding.frames = u64::try_from(frame - base).into_iter().collect();
        self.torn.push(Herald { finding, after, number: frame - base, lacks });
    }
}

impl Verifier {
    /// The findings that were not handed over before, as they stand `now` by the clock of the stamps, with the severity
    /// that they will have; their numbers come at the end. What only the end of a run can tell is not among them. The
    /// account of the run is the same whether and whenever this is asked. Allocates where there is something to tell.
    pub fn news(&mut self, now: Timestamp) -> Vec<Finding> {
        let mut news = Vec::new();
        self.shared.listed_news(&mut news);
        let told = self.shared.heralds.torn.len();
        if self.shared.heralds.open > 0 {
            self.waiting_losses(now.0, &mut news);
        }
        self.torn_frames();
        for h in self.shared.heralds.torn.iter_mut().skip(told) {
            let Some(flow) = h.finding.stream.and_then(|s| self.flows.get(s)) else { continue };
            let end = h.finding.code == torn_rule(true).code;
            h.finding.text = torn_text(flow, h.number, h.finding.count, h.lacks, end);
            news.push(h.finding.clone());
        }
        self.options.set_severities(&mut news);
        news
    }

    /// Losses that have waited long enough, and the frames that they tore.
    fn waiting_losses(&mut self, now: i64, news: &mut Vec<Finding>) {
        let Verifier { flows, shared, .. } = self;
        for index in 0..flows.len() {
            for at in 0..flows[index].episodes.len() {
                let flow = &mut flows[index];
                let stalled = flow.is_stalled(at);
                let e = &mut flow.episodes[at];
                let room = shared.heralds.losses.len() < HERALDS_MAX;
                if !e.wait.told && room && !stalled && e.wait.is_over(now, e.lost) {
                    e.wait.told = true;
                    let found = loss(index, e);
                    shared.heralds.losses.push(found.clone());
                    news.push(found);
                }
                if e.wait.told && e.lost_min > 0 {
                    torn_by(flows, (index, at), shared);
                }
            }
        }
    }

    /// Torn frames noted since the last look; the one being put together waits for its end.
    fn torn_frames(&mut self) {
        for index in 0..self.shared.outputs.len() {
            let Some(fresh) = self.shared.outputs[index].told.fresh.take() else { continue };
            let base = super::finish::base(&self.flows, &self.shared.outputs[index]);
            let Shared { outputs, heralds, findings, .. } = &mut self.shared;
            let Output { tears, told, current, .. } = &mut outputs[index];
            let open = current.map_or(i64::MAX, |c| c.number);
            for (frame, tear) in tears.range(fresh.max(base)..) {
                if *frame >= open {
                    told.note(*frame);
                    break;
                }
                let Some(flow) = self.flows.get(tear.flow) else { continue };
                heralds.tear(flow, told, (*frame, *tear), (base, findings.listed().len()));
            }
        }
    }

    /// What is found so far, in the order in which it was told.
    pub(crate) fn found_so_far(&self) -> impl Iterator<Item = &Finding> {
        let (listed, heralds) = (self.shared.findings.listed(), &self.shared.heralds);
        let last = heralds.torn.last().map_or(0, |h| h.after);
        let mut from = 0;
        let mixed = heralds.torn.iter().flat_map(move |h| {
            let before = listed.get(from..h.after).unwrap_or_default();
            from = h.after;
            before.iter().chain(std::iter::once(&h.finding))
        });
        mixed.chain(listed.get(last..).unwrap_or_default()).chain(&heralds.losses)
    }

    /// How many that is, and how many of each severity: info, warning, violation.
    pub(crate) fn counts_so_far(&self) -> (usize, [u64; 3]) {
        let heralds = &self.shared.heralds;
        let all = self.shared.findings.listed().len() + heralds.torn.len() + heralds.losses.len();
        let mut counts = [0; 3];
        if self.options.sets_severities() {
            for f in self.found_so_far() {
                counts[self.options.severity(f.code, f.severity) as usize] += 1;
            }
            return (all, counts);
        }
        counts = self.shared.findings.kept();
        let ahead = heralds.torn.iter().map(|h| &h.finding).chain(&heralds.losses);
        ahead.for_each(|f| counts[f.severity as usize] += 1);
        (all, counts)
    }
}

impl Options {
    /// Whether a finding may have another severity than its rule says.
    fn sets_severities(&self) -> bool {
        self.strict || self.rig.as_ref().is_some_and(|rig| !rig.severities.is_empty())
    }

    /// Severities a rig sets, and `--strict`.
    pub(super) fn set_severities(&self, findings: &mut [Finding]) {
        if self.sets_severities() {
            findings.iter_mut().for_each(|f| f.severity = self.severity(f.code, f.severity));
        }
    }
}

impl Shared {
    /// Findings listed since the last look, but for losses that were told before.
    fn listed_news(&mut self, news: &mut Vec<Finding>) {
        let listed = self.findings.listed();
        let from = std::mem::replace(&mut self.heralds.listed, listed.len());
        let losses = &mut self.heralds.losses;
        for f in listed.get(from..).unwrap_or_default() {
            let loss = matches!(f.code, "SEQ-LOST" | "SEQ-AMBIGUOUS");
            let same = |told: &Finding| (told.stream, told.first_packet) == (f.stream, f.first_packet);
            match losses.iter().position(same).filter(|_| loss) {
                Some(at) => drop(losses.remove(at)),
                None => news.push(f.clone()),
            }
        }
    }
}

impl Flow {
    /// Time alone speaks for this loss, and a burst may yet take it back.
    fn is_stalled(&self, episode: usize) -> bool {
        let e = &self.episodes[episode];
        self.cold.stall.is_some_and(|s| s.lane == e.lane && (e.from..=e.to).contains(&s.from))
    }
}

/// An episode as it stands.
fn loss(stream: usize, e: &Episode) -> Finding {
    let place = Place { stream: Some(stream), packet: e.place.0, stamp: e.place.1 };
    let (rule, severity, text) = sentence(e);
    let mut found = blank(rule, severity, place, text);
    fill(&mut found, e);
    found
}

/// Frames that an episode tore, before the account has them.
fn torn_by(flows: &[Flow], (index, episode): (usize, usize), shared: &mut Shared) {
    let flow = &flows[index];
    let e = &flow.episodes[episode];
    let Some(output) = tears_of(flow, e) else { return };
    let base = super::finish::base(flows, &shared.outputs[output]);
    let Shared { outputs, heralds, findings, .. } = shared;
    let Output { told, current, .. } = &mut outputs[output];
    let open = current.map_or(i64::MAX, |c| c.number);
    for frame in e.tears.chunk_by(|a, b| a.1 == b.1) {
        let number = frame[0].1;
        if (base..open).contains(&number) {
            let end = frame.iter().any(|(.., end)| *end);
            let tear = Tear { flow: index, missing: frame.len() as u64, octets: 0, end, place: e.place };
            heralds.tear(flow, told, (number, tear), (base, findings.listed().len()));
        }
    }
}
