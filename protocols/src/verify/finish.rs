//! The end of a run: what waited is judged, edges are told from losses, and the account is made.

use super::account::{Account, Ended, FrameAccount, OutputAccount, StreamAccount};
use super::aside::settle_doubts;
use super::chronicle::{of_output, of_stream};
use super::chunks::Chunks;
use super::episodes::flush;
use super::findings::{FRAMES_MAX, Place};
use super::flow::Flow;
use super::herald::TEAR_RUN;
use super::output::Output;
use super::settle::{close_chunked, lock, settle_wrap};
use super::spread::rate_mhz;
use super::timeline::{TimeAxis, Timeline};
use super::untiled::untiled_at_end;
use super::{Verifier, rules};
use crate::time::MS;
use crate::words::counted;
use crate::{Protocol, Rule, Severity};

/// A stream is silent at the end when nothing came for this long and three times its longest pause.
pub(super) const SILENT_AFTER: i64 = 2_500 * MS;

/// The frames of an output that count: raw numbers `base..end`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub base: i64,
    pub end: i64,
}

impl Verifier {
    pub(crate) fn settle_all(&mut self) {
        self.judge_leap(true);
        self.settle_carried();
        for flow in &mut self.flows {
            if flow.model.is_none() {
                lock(flow, &mut self.shared);
            }
            settle_wrap(flow, 0, &mut self.shared);
            settle_doubts(flow, false, &mut self.shared);
            flush(flow, &mut self.shared, true);
            untiled_at_end(flow, &mut self.shared);
        }
        for output in &mut self.shared.outputs {
            let Some(flow) = output.flows.first().copied() else { continue };
            if output.key.alone.is_some() {
                close_chunked(flow, output, &mut self.shared.findings);
            } else {
                let place = output.current.map(|c| Place {
                    stream: Some(flow),
                    packet: c.packet,
                    stamp: c.start_stamp,
                });
                if let (true, Some(place)) = (output.close().froze, place) {
                    super::settle::frozen(place, &mut self.shared.findings);
                }
            }
        }
    }

    pub(crate) fn conclude(mut self) -> Account {
        for index in 0..self.flows.len() {
            self.end_of_stream(index);
        }
        let ranges: Vec<Range> = (0..self.shared.outputs.len()).map(|i| self.range(i)).collect();
        for (index, range) in ranges.iter().enumerate() {
            self.tears(index, *range);
        }
        self.end_rules();
        self.check_rig(&ranges);
        self.blind_times();
        self.attribute();
        self.coincide();
        self.account(&ranges)
    }

    fn end_of_stream(&mut self, index: usize) {
        let now = self.clock.now().saturating_add(self.quiet);
        let flow = &mut self.flows[index];
        let silence = now - flow.arrived_at;
        if flow.ended == Ended::Terminated {
            self.goodbye(index);
        } else if silence > SILENT_AFTER && silence / 3 > longest(flow) {
            flow.ended = Ended::Silent;
            self.silent(index, silence);
        }
    }

    /// Which frames of an output count; what the edges of the capture cut goes to `edge`.
    fn range(&mut self, index: usize) -> Range {
        let output = &self.shared.outputs[index];
        if output.key.alone.is_some() { self.chunk_range(index) } else { self.group_range(index) }
    }

    fn chunk_range(&mut self, index: usize) -> Range {
        let output = &self.shared.outputs[index];
        let Some((flow, dest)) = output.key.alone else { return Range::default() };
        let flow = &mut self.flows[flow];
        let Some(c) = flow.chunks.get(usize::from(dest)) else { return Range::default() };
        if c.frame < 0 {
            return Range::default();
        }
        let cut_head = c.cut_head();
        let cut_tail = !c.ended && c.position + 1 < c.chunks && c.steady >= 3;
        let head = if cut_head { c.first_position } else { 0 };
        let tail = if cut_tail { c.chunks - 1 - c.position } else { 0 };
        let frame = c.frame;
        flow.cold.edge += u64::try_from(head + tail).unwrap_or(0);
        Range { base: i64::from(cut_head), end: frame + 1 - i64::from(cut_tail) }
    }

    fn group_range(&mut self, index: usize) -> Range {
        let output = &self.shared.outputs[index];
        let members = output.flows.clone();
        let last = members.iter().filter_map(|i| self.flows[*i].group_frame).max();
        let Some(last) = last else { return Range::default() };
        let usual = output.usual_size().filter(|n| *n > 1).map_or(0, i64::from);
        let size = |frame: i64, of: fn(&Flow) -> Option<i64>| {
            let n = members.iter().filter(|i| of(&self.flows[**i]) == Some(frame)).count();
            i64::try_from(n).unwrap_or(0)
        };
        let cut_head = output.cut_head();
        let last_of = |f: &Flow| f.group_frame.filter(|_| f.ended == Ended::Running);
        let cut_tail = usual > 0 && last > 0 && size(last, last_of) < usual && self.ends_running(&members);
        for i in &members {
            let f = &mut self.flows[*i];
            let head = cut_head && f.group_first == Some(1);
            let tail = cut_tail && f.group_frame == Some(last - 1) && f.ended == Ended::Running;
            f.cold.edge += u64::from(head) + u64::from(tail);
        }
        Range { base: i64::from(cut_head), end: last + 1 - i64::from(cut_tail) }
    }

    fn ends_running(&self, members: &[usize]) -> bool {
        members.iter().all(|i| self.flows[*i].ended == Ended::Running)
    }

    /// Reports torn and unterminated frames: neighbours together, numbered from the first whole frame.
    fn tears(&mut self, index: usize, range: Range) {
        let output = &self.shared.outputs[index];
        let tears: Vec<_> =
            output.tears.range(range.base..range.end.max(range.base)).map(|(n, t)| (*n, *t)).collect();
        let mut at = 0;
        while at < tears.len() {
            let end = tears[at].1.end;
            let run = tears[at..]
                .windows(2)
                .take_while(|w| w[1].0 - w[0].0 <= TEAR_RUN && w[1].1.end == end)
                .count()
                + 1;
            self.tear_episode(&tears[at..at + run], range);
            at += run;
        }
    }

    fn tear_episode(&mut self, tears: &[(i64, super::output::Tear)], range: Range) {
        let Some((first, tear)) = tears.first() else { return };
        let flow = &self.flows[tear.flow];
        let rule = torn_rule(tear.end);
        let missing: u64 = tears.iter().map(|(_, t)| t.missing).sum();
        let octets: u64 = tears.iter().map(|(_, t)| t.octets).sum();
        let text = torn_text(flow, first - range.base, tears.len() as u64, (missing, octets), tear.end);
        let place = Place { stream: Some(tear.flow), packet: tear.place.0, stamp: tear.place.1 };
        let numbers =
            tears.iter().filter_map(|(n, _)| u64::try_from(n - range.base).ok()).take(FRAMES_MAX).collect();
        if let Some(f) = self.shared.findings.single(rule, Severity::Violation, place, text) {
            f.count = tears.len() as u64;
            f.frames = numbers;
            f.last_ns = tears.last().map_or(tear.place.1, |(_, t)| t.place.1);
        }
    }

    fn account(mut self, ranges: &[Range]) -> Account {
        let (first_ns, last_ns) = self.clock.stamps();
        let limits = self.limits();
        let axis = self.axis();
        let observer_timeline = self.observer_timeline(axis);
        let mut order: Vec<usize> = (0..self.shared.outputs.len()).filter(|i| ranges[*i].end > 0).collect();
        order.sort_by_key(|i| self.shared.outputs[*i].flows.first().copied().unwrap_or(usize::MAX));
        let names: Vec<Option<String>> = order.iter().map(|i| self.rig_name(*i)).collect();
        let outputs: Vec<OutputAccount> = order
            .iter()
            .zip(names)
            .map(|(i, name)| {
                output_account(&mut self.shared.outputs[*i], &self.flows, ranges[*i], name, axis)
            })
            .collect();
        let streams = self
            .flows
            .iter_mut()
            .map(|f| {
                let own: Vec<usize> = f.chunks.iter().map(|c| c.output).chain(f.output).collect();
                let output = own.iter().find_map(|o| order.iter().position(|i| i == o));
                let frames = own_frames(f, &self.shared.outputs, ranges);
                let timeline = of_stream(f, &mut self.shared.outputs, ranges, axis);
                stream_account(f, output, frames, timeline)
            })
            .collect();
        let mut datagrams = self.counts;
        datagrams.unfollowed = self.unfollowed;
        datagrams.by_kind = self.kinds.iter().map(|(kind, n)| (kind.name, *n)).collect();
        let mut findings = self.shared.findings.into_list();
        renumber(&mut findings, &self.flows, ranges);
        self.options.set_severities(&mut findings);
        let observer = self.evidence.total;
        Account {
            first_ns,
            last_ns,
            datagrams,
            streams,
            outputs,
            findings,
            limits,
            observer,
            axis,
            observer_timeline,
        }
    }
}

impl Chunks {
    /// The capture began within a frame.
    fn cut_head(&self) -> bool {
        self.first_position > 0 && (self.steady >= 3 || self.chunks > self.first_position)
    }
}

impl Output {
    /// The capture began within a frame, as far as the usual size tells.
    fn cut_head(&self) -> bool {
        self.usual_size().is_some_and(|usual| usual > 1 && self.first_size < usual)
    }
}

/// The first frame of an output that counts, as known so far.
pub(super) fn base(flows: &[Flow], output: &Output) -> i64 {
    let Some((flow, dest)) = output.key.alone else { return i64::from(output.cut_head()) };
    let chunks = flows.get(flow).and_then(|f| f.chunks.get(usize::from(dest)));
    chunks.map_or(0, |c| i64::from(c.cut_head()))
}

/// The rule that torn frames break; `end` when their ends are missing.
pub(super) fn torn_rule(end: bool) -> &'static Rule {
    if end { rules::FRAME_UNTERMINATED } else { rules::FRAME_TORN }
}

/// Torn frames from `number` on in words: how many they are, and what they lack: datagrams, or octets that are in none.
pub(super) fn torn_text(
    flow: &Flow,
    number: i64,
    frames: u64,
    (missing, octets): (u64, u64),
    end: bool,
) -> String {
    let what = match flow.protocol() {
        Protocol::Sacn => format!("universe {}", flow.key.stream),
        Protocol::ArtNet => format!("port-address {}", flow.key.stream),
        Protocol::Ddp => format!("DDP ID {}", flow.key.stream),
        Protocol::Layout(_) => format!("stream {}", flow.key.stream),
        _ => format!("device {}", flow.key.stream),
    };
    match (frames, end) {
        (1, true) => format!("frame {number} of {what} has no end: push or last chunk missing"),
        (n, true) => format!("{n} frames from {number} on of {what} have no end"),
        (1, false) if missing == 0 => {
            format!(
                "frame {number} of {what} has a hole: {octets} of its octets are in none of its datagrams"
            )
        }
        (n, false) if missing == 0 => {
            format!("{n} frames from {number} on of {what} have holes: {octets} octets are in no datagram")
        }
        (1, false) => format!("frame {number} lacks {}, first of {what}", counted(missing, "datagram")),
        (n, false) => {
            format!("{n} frames from {number} on lack {}, first of {what}", counted(missing, "datagram"))
        }
    }
}

fn longest(flow: &Flow) -> i64 {
    if flow.protocol() == Protocol::Sacn { 0 } else { flow.longest_ns }
}

/// Frame numbers of losses, counted from the first whole frame like those of torn frames.
fn renumber(findings: &mut [super::account::Finding], flows: &[Flow], ranges: &[Range]) {
    for f in findings.iter_mut().filter(|f| matches!(f.code, "SEQ-LOST" | "SEQ-AMBIGUOUS")) {
        let output = f.stream.and_then(|s| flows[s].output);
        let base = output.map_or(0, |o| u64::try_from(ranges[o].base).unwrap_or(0));
        f.frames = f.frames.iter().filter_map(|n| n.checked_sub(base)).collect();
    }
}

fn stream_account(
    f: &mut Flow,
    output: Option<usize>,
    frames: FrameAccount,
    timeline: Timeline,
) -> StreamAccount {
    let mut sequence = f.cold.sequence.clone();
    sequence.edge = f.cold.edge;
    sequence.model = match (&f.model, f.key.kind.name) {
        (_, "artnet/ArtSync") => "none".to_owned(),
        (Some(m), _) => m.label(f.protocol()),
        (None, _) => String::new(),
    };
    StreamAccount {
        protocol: f.protocol(),
        kind: f.key.kind.short(),
        source: f.cold.source,
        destinations: f.destinations.iter().map(|d| d.address).collect(),
        sender: f.cold.sender.map(uuid),
        name: f.cold.name.clone(),
        stream_id: f.key.stream,
        part: f.key.part,
        output,
        datagrams: f.datagrams,
        bytes: f.bytes,
        sessions: f.cold.sessions.max(1),
        rate_mhz: rate_mhz(f.active_steps, f.active_ns),
        first_ns: f.cold.first_stamp,
        last_ns: f.last_stamp,
        sequence,
        frames,
        interval_ns: f.intervals.spread(),
        owners: f.cold.owners,
        ended: f.ended,
        priorities: if f.protocol() == Protocol::Sacn {
            f.cold.priorities.iter().copied().collect()
        } else {
            Vec::new()
        },
        sync_addresses: f.cold.syncs.iter().copied().collect(),
        start_codes: f.cold.start_codes.iter().copied().collect(),
        data_octets: (f.octets.0.min(f.octets.1), f.octets.1),
        timeline,
    }
}

/// The output's frames as this stream's datagrams made them; chunks to several destinations are added up.
fn own_frames(f: &Flow, outputs: &[Output], ranges: &[Range]) -> FrameAccount {
    if f.chunked() {
        let each =
            f.chunks.iter().map(|c| outputs[c.output].frames(ranges[c.output].base, ranges[c.output].end));
        return each.fold(FrameAccount::default(), FrameAccount::plus);
    }
    let Some(range) = f.group_frame.and(f.output).map(|o| ranges[o]) else { return FrameAccount::default() };
    let seen = u64::try_from(range.end - range.base).unwrap_or(0);
    let torn = f.cold.torn.range(range.base..range.end.max(range.base)).count() as u64 + f.cold.torn_more;
    let torn = torn.min(seen);
    FrameAccount { seen, complete: seen - torn, torn, unterminated: 0 }
}

fn output_account(
    o: &mut Output,
    flows: &[Flow],
    range: Range,
    name: Option<String>,
    axis: TimeAxis,
) -> OutputAccount {
    let (frame_interval_ns, spread_ns) = o.times();
    OutputAccount {
        declared: name.is_some(),
        name: name.unwrap_or_else(|| output_name(o, flows)),
        destination: o.destination(flows),
        protocol: o.key.protocol,
        streams: o.flows.clone(),
        datagrams_per_frame: o.usual_size().unwrap_or(0),
        octets_per_frame: o.usual_octets().unwrap_or(0),
        rate_mhz: o.rate_mhz(),
        frames: o.frames(range.base, range.end),
        sync: o.sync,
        causes: o.causes,
        frame_interval_ns,
        spread_ns,
        frame_interval_bars: o.bars(axis.bars()),
        timeline: of_output(o, range, axis),
    }
}

/// A name for an output that no rig names.
pub(crate) fn output_name(o: &Output, flows: &[Flow]) -> String {
    let Some(flow) = o.flows.first().map(|i| &flows[*i]) else { return String::new() };
    let protocol = o.key.protocol.name();
    match (&flow.cold.name, o.key.alone) {
        (Some(name), None) => format!("{protocol} {} {name}", o.key.source),
        (_, Some((_, dest))) => match flow.destinations.get(usize::from(dest)) {
            Some(d) => format!("{protocol} {} to {} id {}", flow.cold.source, d.address, flow.key.stream),
            None => format!("{protocol} {} id {}", flow.cold.source, flow.key.stream),
        },
        (None, None) => format!("{protocol} {}", o.key.source),
    }
}

/// A CID as a UUID is written.
pub(crate) fn uuid(cid: crate::Cid) -> String {
    let mut text = String::with_capacity(36);
    for (i, octet) in cid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{octet:02x}"));
    }
    text
}
