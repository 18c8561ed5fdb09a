//! The rig against what was seen.

use super::account::{Ended, Missing};
use super::findings::Place;
use super::finish::Range;
use super::flow::Flow;
use super::output::Output;
use super::rig::RigOutput;
use super::{Verifier, rules};
use crate::time::{MS, SECOND};
use crate::{Protocol, Rule, Severity};

/// Frames of an output from which on its shape and rate are judged.
pub(super) const FRAMES_LEAST: i64 = 3;
/// Longest silence of a declared stream at the end while others of its output go on: a keep-alive of E1.31 (6.6.2: 800 to
/// 1000 ms) and a tenth.
pub(super) const STOPPED_AFTER: i64 = 1_100 * MS;
/// The same of Art-Net, where unchanged data comes every 4 s at the latest.
pub(super) const STOPPED_AFTER_ARTNET: i64 = 4_400 * MS;

impl Verifier {
    /// Place in the rig of the output that declares a stream; `None` where none does.
    pub(crate) fn declares(&self, flow: &Flow) -> Option<usize> {
        self.options.rig.as_ref()?.outputs.iter().position(|r| declares(r, flow))
    }

    /// Datagrams a frame that the rig declares for an output; 0 when it does not.
    pub(crate) fn declared(&self, output: usize) -> u32 {
        let o = &self.shared.outputs[output];
        let Some(rig) = &self.options.rig else { return 0 };
        let fits = |r: &&RigOutput| {
            r.protocol == o.key.protocol && r.source.is_none_or(|s| s == o.key.source) && !r.on_change
        };
        let declared = rig
            .outputs
            .iter()
            .filter(fits)
            .find(|r| o.flows.first().is_some_and(|f| r.streams.contains(&self.flows[*f].key.stream)));
        declared.and_then(|r| r.datagrams_per_frame).unwrap_or(0)
    }

    /// Name the rig gives an output.
    pub(crate) fn rig_name(&self, output: usize) -> Option<String> {
        let rig = self.options.rig.as_ref()?;
        let output = &self.shared.outputs[output];
        let flow = &self.flows[*output.flows.first()?];
        let goes_there = |r: &RigOutput| aims_at(r, output.destination(&self.flows));
        rig.outputs.iter().find(|r| matches(r, flow) && goes_there(r)).map(|r| r.name.clone())
    }

    pub(crate) fn check_rig(&mut self, ranges: &[Range]) {
        let Some(rig) = self.options.rig.take() else { return };
        for (at, r) in rig.outputs.iter().enumerate() {
            self.check_streams(at, r);
            self.check_shape(r, ranges);
            self.check_stopped(at, r);
        }
        // A rig of severities and waivers alone says nothing about streams.
        let declares = !rig.outputs.is_empty();
        let strangers: Vec<usize> = self
            .flows
            .iter()
            .filter(|f| {
                declares && f.has_frames() && !only_goodbye(f) && !rig.outputs.iter().any(|r| matches(r, f))
            })
            .map(|f| f.index)
            .collect();
        for index in strangers {
            let f = &self.flows[index];
            let place = Place { stream: Some(index), packet: 0, stamp: f.cold.first_stamp };
            self.shared.findings.add(rules::RIG_UNEXPECTED, Severity::Warning, place, 0, || {
                format!(
                    "{} {} from {} is not in the rig",
                    f.protocol().name(),
                    f.key.stream,
                    f.cold.source.ip()
                )
            });
        }
        self.options.rig = Some(rig);
    }

    fn check_streams(&mut self, at: usize, r: &RigOutput) {
        let seen =
            |id: &u32| self.flows.iter().any(|f| f.has_frames() && f.key.stream == *id && matches(r, f));
        let missing: Vec<u32> = r.streams.iter().filter(|id| !seen(id)).copied().collect();
        if missing.is_empty() {
            return;
        }
        let text = missing_text(r, &missing);
        if let Some(f) =
            self.shared.findings.single(rules::RIG_MISSING, Severity::Violation, Place::default(), text)
        {
            f.count = missing.len() as u64;
            f.missing = Some(Missing { output: at, streams: missing });
        }
    }

    /// Streams that stopped without a goodbye while others of their output went on.
    fn check_stopped(&mut self, at: usize, r: &RigOutput) {
        let allowed = if r.protocol == Protocol::ArtNet { STOPPED_AFTER_ARTNET } else { STOPPED_AFTER };
        for output in self.shared.outputs.iter().filter(|o| !r.on_change && o.key.rig == Some(at)) {
            let declared = || {
                output
                    .flows
                    .iter()
                    .map(|i| &self.flows[*i])
                    .filter(|f| matches(r, f) && f.ended != Ended::Terminated)
            };
            let Some(last) = declared().map(|f| f.arrived_at).max() else { continue };
            let frames = output.rate_mhz().max(1);
            let three = FRAMES_LEAST * (SECOND * 1000 / i64::try_from(frames).unwrap_or(i64::MAX).max(1));
            for f in declared().filter(|f| last - f.arrived_at > allowed.max(three)) {
                let place = Place { stream: Some(f.index), packet: f.last_packet, stamp: f.last_stamp };
                let text = format!(
                    "output {}: stream {} stopped without goodbye {} ms before the others",
                    r.name,
                    f.key.stream,
                    (last - f.arrived_at) / MS
                );
                self.shared.findings.add(rules::RIG_MISSING, Severity::Violation, place, 0, || text);
            }
        }
    }

    fn check_shape(&mut self, r: &RigOutput, ranges: &[Range]) {
        for (index, range) in ranges.iter().enumerate() {
            let output = &self.shared.outputs[index];
            let Some(first) = output.flows.first().map(|i| &self.flows[*i]) else { continue };
            if !matches(r, first)
                || !aims_at(r, output.destination(&self.flows))
                || range.end - range.base < FRAMES_LEAST
            {
                continue;
            }
            let place = Place { stream: Some(first.index), packet: 0, stamp: first.cold.first_stamp };
            let synced = |sync: u16| output.flows.iter().any(|f| self.flows[*f].cold.syncs.contains(&sync));
            for wrong in deviations(r, output, synced) {
                if let Some(f) =
                    self.shared.findings.single(wrong.rule, wrong.rule.severity, place, wrong.text)
                {
                    f.expected = wrong.expected;
                    f.got = wrong.got;
                }
            }
        }
    }
}

/// Which streams of a rig's output were not seen, in words.
pub fn missing_text(r: &RigOutput, missing: &[u32]) -> String {
    let list: Vec<String> = missing.iter().take(12).map(ToString::to_string).collect();
    format!(
        "output {}: {} of {} streams were not seen: {}",
        r.name,
        missing.len(),
        r.streams.len(),
        list.join(", ")
    )
}

struct Deviation {
    rule: &'static Rule,
    text: String,
    expected: String,
    got: String,
}

/// Everything in which an output differs from what the rig declares.
fn deviations(r: &RigOutput, output: &Output, synced: impl Fn(u16) -> bool) -> Vec<Deviation> {
    let mut all = Vec::new();
    let size = output.learned_size().map(u64::from);
    all.extend(r.datagrams_per_frame.and_then(|want| shape(r, "datagrams", want.into(), size)));
    all.extend(r.octets_per_frame.and_then(|want| shape(r, "octets", want, output.usual_octets())));
    all.extend(
        r.rate_mhz
            .filter(|_| !r.on_change)
            .and_then(|(want, within)| rate(r, want, within, output.rate_mhz())),
    );
    all.extend(r.sync.filter(|s| *s != 0 && !synced(*s)).map(|s| Deviation {
        rule: rules::RIG_SHAPE,
        text: format!("output {}: no data asks for synchronization on {s}", r.name),
        expected: s.to_string(),
        got: "none".to_owned(),
    }));
    all
}

fn shape(r: &RigOutput, what: &str, want: u64, got: Option<u64>) -> Option<Deviation> {
    if got == Some(want) {
        return None;
    }
    let got = got.map_or("varying".to_owned(), |g| g.to_string());
    let text = format!("output {}: {got} {what} a frame, {want} declared", r.name);
    Some(Deviation { rule: rules::RIG_SHAPE, text, expected: want.to_string(), got })
}

fn rate(r: &RigOutput, want: u64, within: u64, got: u64) -> Option<Deviation> {
    if got.abs_diff(want).saturating_mul(1000) <= want.saturating_mul(within) {
        return None;
    }
    let hertz = |mhz: u64| format!("{}.{:03} Hz", mhz / 1000, mhz % 1000);
    let text = format!("output {}: {} frames a second, {} declared", r.name, hertz(got), hertz(want));
    Some(Deviation { rule: rules::RIG_RATE, text, expected: hertz(want), got: hertz(got) })
}

fn matches(r: &RigOutput, f: &Flow) -> bool {
    declares(r, f) && !only_goodbye(f)
}

fn declares(r: &RigOutput, f: &Flow) -> bool {
    r.protocol == f.protocol()
        && r.source.is_none_or(|s| s == f.key.source)
        && r.sender.is_none_or(|s| Some(s) == f.cold.sender)
        && r.streams.contains(&f.key.stream)
        && r.destination.is_none_or(|want| f.destinations.iter().any(|d| d.address.ip() == want))
}

/// The rig names no destination, or this one.
fn aims_at(r: &RigOutput, destination: Option<std::net::SocketAddr>) -> bool {
    r.destination.is_none_or(|want| destination.is_none_or(|d| d.ip() == want))
}

/// A stream of which nothing but the goodbye was seen.
fn only_goodbye(f: &Flow) -> bool {
    f.ended == Ended::Terminated && f.datagrams <= 3
}
