//! The rig against what was seen.

use super::account::Ended;
use super::findings::Place;
use super::finish::Range;
use super::flow::Flow;
use super::rig::RigOutput;
use super::{Verifier, rules};
use crate::Severity;

impl Verifier {
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
        let flow = &self.flows[*self.shared.outputs[output].flows.first()?];
        rig.outputs.iter().find(|r| matches(r, flow)).map(|r| r.name.clone())
    }

    pub(crate) fn check_rig(&mut self, ranges: &[Range]) {
        let Some(rig) = self.options.rig.take() else { return };
        for r in &rig.outputs {
            self.check_streams(r);
            self.check_shape(r, ranges);
        }
        let strangers: Vec<usize> = self
            .flows
            .iter()
            .filter(|f| f.has_frames() && !rig.outputs.iter().any(|r| matches(r, f)))
            .map(|f| f.index)
            .collect();
        for index in strangers {
            let f = &self.flows[index];
            let place = Place { stream: Some(index), packet: 0, stamp: f.first_stamp };
            self.shared.findings.add(rules::RIG_UNEXPECTED, Severity::Warning, place, 0, || {
                format!("{} {} from {} is not in the rig", f.protocol().name(), f.key.stream, f.source.ip())
            });
        }
        self.options.rig = Some(rig);
    }

    fn check_streams(&mut self, r: &RigOutput) {
        let seen =
            |id: &u32| self.flows.iter().any(|f| f.has_frames() && f.key.stream == *id && matches(r, f));
        let missing: Vec<u32> = r.streams.iter().filter(|id| !seen(id)).copied().collect();
        if missing.is_empty() {
            return;
        }
        let list: Vec<String> = missing.iter().take(12).map(ToString::to_string).collect();
        let text = format!(
            "output {}: {} of {} streams were not seen: {}",
            r.name,
            missing.len(),
            r.streams.len(),
            list.join(", ")
        );
        if let Some(f) =
            self.shared.findings.single(rules::RIG_MISSING, Severity::Violation, Place::default(), text)
        {
            f.count = missing.len() as u64;
        }
    }

    fn check_shape(&mut self, r: &RigOutput, ranges: &[Range]) {
        for index in 0..self.shared.outputs.len() {
            let Some(first) = self.shared.outputs[index].flows.first().copied() else { continue };
            if !matches(r, &self.flows[first]) || ranges[index].end - ranges[index].base < 3 {
                continue;
            }
            let o = &self.shared.outputs[index];
            let place = Place { stream: Some(first), packet: 0, stamp: self.flows[first].first_stamp };
            let mut wrong: Vec<(&'static crate::Rule, String, String, String)> = Vec::new();
            let mut compare = |what: &str, want: Option<u64>, got: Option<u64>| {
                if let Some(want) = want
                    && got != Some(want)
                {
                    let got = got.map_or("varying".to_owned(), |g| g.to_string());
                    let text = format!("output {}: {got} {what} a frame, {want} declared", r.name);
                    wrong.push((rules::RIG_SHAPE, text, want.to_string(), got));
                }
            };
            compare("datagrams", r.datagrams_per_frame.map(u64::from), o.learned_size().map(u64::from));
            compare("octets", r.octets_per_frame, o.usual_octets());
            if let Some((want, tolerance)) = r.rate_mhz {
                let got = o.rate_mhz();
                if got.abs_diff(want) * 1000 > want * tolerance && !r.on_change {
                    let text = format!(
                        "output {}: {}.{:03} frames a second, {}.{:03} declared",
                        r.name,
                        got / 1000,
                        got % 1000,
                        want / 1000,
                        want % 1000
                    );
                    wrong.push((
                        rules::RIG_RATE,
                        text,
                        format!("{}.{:03} Hz", want / 1000, want % 1000),
                        format!("{}.{:03} Hz", got / 1000, got % 1000),
                    ));
                }
            }
            if let Some(sync) = r.sync
                && !o.flows.iter().any(|f| self.flows[*f].syncs.contains(&sync))
                && sync != 0
            {
                wrong.push((
                    rules::RIG_SHAPE,
                    format!("output {}: no data asks for synchronization on {sync}", r.name),
                    sync.to_string(),
                    "none".to_owned(),
                ));
            }
            for (rule, text, expected, got) in wrong {
                if let Some(f) = self.shared.findings.single(rule, rule.severity, place, text) {
                    f.expected = expected;
                    f.got = got;
                }
            }
        }
    }
}

fn matches(r: &RigOutput, f: &Flow) -> bool {
    r.protocol == f.protocol()
        && r.source.is_none_or(|s| s == f.key.source)
        && r.sender.is_none_or(|s| Some(s) == f.sender)
        && r.streams.contains(&f.key.stream)
        && (f.ended != Ended::Terminated || f.datagrams > 3)
}
