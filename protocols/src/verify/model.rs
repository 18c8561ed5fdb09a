//! Numbering models: how a sender counts. Inferred per stream from its first datagrams, then locked.
//!
//! Sources: `reference` sections 1.6 (sACN), 2.3 (DDP dialects), 3 (Art-Net), 7.1 (BigPacket).

use super::observation::Observation;
use crate::{Marks, Protocol};

/// What one number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Every datagram has its own number.
    Datagram,
    /// All datagrams of a frame share one.
    Frame,
    /// There is no usable number.
    Nothing,
}

/// How a stream is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    /// Unit of one step.
    pub unit: Unit,
    /// Numbers in a cycle.
    pub cycle: u64,
    /// First number of a cycle on the wire.
    pub first: u32,
    /// Step between neighbours; above 1 when several streams share the counter.
    pub step: u32,
    /// How far behind the newest number a datagram still counts as late.
    pub window: u32,
    /// Destinations have counters of their own.
    pub per_destination: bool,
    /// 16 was written where 0 or 1 belongs (DDP 1..16).
    pub sixteen: bool,
    /// Numbers are skipped again and again while the IP id runs on: others use the same counter.
    pub shared: bool,
    /// Numbers on the wire never change although the field is used.
    pub stuck: bool,
}

impl Model {
    /// The model a protocol's text prescribes.
    pub(crate) fn prescribed(protocol: Protocol) -> Model {
        let model = |unit, cycle, first, window| Model {
            unit,
            cycle,
            first,
            step: 1,
            window,
            per_destination: false,
            sixteen: false,
            shared: false,
            stuck: false,
        };
        match protocol {
            Protocol::Sacn => model(Unit::Datagram, 256, 0, 19),
            Protocol::Ddp => model(Unit::Datagram, 15, 1, 7),
            Protocol::ArtNet => model(Unit::Datagram, 255, 1, 126),
            Protocol::BigPacket => model(Unit::Frame, 1 << 32, 0, 100),
            Protocol::Kinet => model(Unit::Nothing, 1, 0, 0),
            Protocol::Layout(layout) => match layout.table().sequence() {
                None => model(Unit::Nothing, 1, 0, 0),
                Some(s) => {
                    let unit = if layout.table().numbers_frames() { Unit::Frame } else { Unit::Datagram };
                    let cycle = u64::from(s.last) - u64::from(s.first) + 1;
                    let shared = layout.table().counts_by_source();
                    Model { shared, ..model(unit, cycle, s.first, s.window) }
                }
            },
        }
    }

    /// Numbers from one on the wire forward to another, negative when it is nearer backward; `None` for a value that
    /// is not a number of the cycle.
    pub(crate) fn apart(&self, from: u32, to: u32) -> Option<i64> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        let forward = (to + self.cycle - from) % self.cycle;
        let signed =
            if forward < self.cycle - forward { forward as i64 } else { forward as i64 - self.cycle as i64 };
        Some(if forward == 0 { 0 } else { signed })
    }

    fn nothing(self) -> Model {
        Model { unit: Unit::Nothing, ..self }
    }

    /// Position of a number in its cycle; `None` for a value that means "not numbered".
    #[inline]
    pub(crate) fn place(&self, raw: u32) -> Option<u64> {
        let place = u64::from(raw.checked_sub(self.first)?);
        Some(if place < self.cycle { place } else { place % self.cycle })
    }

    /// The name in reports.
    pub(crate) fn label(&self, protocol: Protocol) -> String {
        let mut label = match self.unit {
            Unit::Nothing if self.stuck => "stuck: the number never changes".to_owned(),
            Unit::Nothing if protocol == Protocol::Kinet => "not judged".to_owned(),
            Unit::Nothing => "unused".to_owned(),
            Unit::Datagram => format!("per-datagram {}", self.range()),
            Unit::Frame => format!("per-frame {}", self.range()),
        };
        if self.unit != Unit::Nothing && self.step > 1 {
            label.push_str(&format!(", step {} (counter shared by several streams)", self.step));
        }
        if self.per_destination {
            label.push_str(", per destination");
        }
        label
    }

    /// First and last number of the cycle.
    pub(crate) fn range(&self) -> String {
        if self.sixteen {
            return "1..16".to_owned();
        }
        format!("{}..{}", self.first, u64::from(self.first) + self.cycle - 1)
    }
}

/// Observations after which an undisturbed stream is locked early.
pub(crate) fn enough(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Sacn | Protocol::ArtNet => 16,
        Protocol::Ddp => 40,
        Protocol::BigPacket | Protocol::Kinet => 1,
        Protocol::Layout(_) if is_declared(protocol) => 1,
        Protocol::Layout(_) => 16,
    }
}

/// The text alone says how a sender counts: there is nothing to infer.
fn is_declared(protocol: Protocol) -> bool {
    match protocol {
        Protocol::BigPacket | Protocol::Kinet => true,
        other => other.layout().is_some_and(|table| table.sequence().is_none() || table.numbers_frames()),
    }
}

/// Observations after which the model is locked whatever was seen.
pub(crate) const AT_MOST: usize = 128;

/// Infers the model from a stream's first observations, in arrival order.
pub(crate) fn infer(protocol: Protocol, seen: &[Observation]) -> Model {
    let base = Model::prescribed(protocol);
    if is_declared(protocol) {
        return base;
    }
    let numbered: Vec<&Observation> = seen.iter().filter(|o| o.counts()).collect();
    let off = numbered.iter().filter(|o| o.marks.has(Marks::SEQUENCE_OFF)).count();
    if off * 10 >= numbered.len() * 9 {
        return base.nothing();
    }
    let model = match protocol {
        Protocol::Ddp => ddp(base, &numbered),
        Protocol::ArtNet => with_unused(base, 0, &numbered),
        Protocol::Layout(layout) => match layout.table().sequence().and_then(|s| s.unused) {
            Some(unused) => with_unused(base, unused, &numbered),
            None => base,
        },
        _ => base,
    };
    let model = stuck(model, &numbered);
    let model = scope(model, &numbered);
    let model = Model { shared: model.shared || skips(model, &numbered), ..model };
    stepped(model, &numbered)
}

/// At least three holes, and one in six steps, that the IP id denies: a habit, where a single hole is a loss.
fn skips(model: Model, seen: &[&Observation]) -> bool {
    let hole = |w: &&[&Observation]| {
        let places = model.place(w[0].raw).zip(model.place(w[1].raw));
        let step = places.map_or(0, |(a, b)| (b + model.cycle - a) % model.cycle);
        w[1].ip_runs_on && step > 1 && step <= model.cycle / 2
    };
    let holes = seen.windows(2).filter(hole).count();
    model.unit == Unit::Datagram && holes >= 3 && holes * 6 >= seen.len()
}

fn stuck(model: Model, seen: &[&Observation]) -> Model {
    let same = seen.len() >= 8 && seen.windows(2).all(|w| w[0].raw == w[1].raw);
    if same && model.unit == Unit::Datagram { Model { stuck: true, ..model.nothing() } } else { model }
}

/// 1..15, 0..15, 1..16, or one number a frame.
fn ddp(base: Model, seen: &[&Observation]) -> Model {
    let inside = |w: &&[&Observation]| !w[0].marks.has(Marks::PUSH) && w[1].offset > w[0].offset;
    let pairs = || seen.windows(2).filter(inside);
    let same = pairs().filter(|w| w[0].raw == w[1].raw).count();
    if same >= 3 && same * 10 >= pairs().count() * 7 {
        let zero = seen.iter().any(|o| o.raw == 0);
        let (cycle, first) = if zero { (16, 0) } else { (15, 1) };
        return Model { unit: Unit::Frame, cycle, first, ..base };
    }
    if seen.iter().any(|o| o.raw == 16) {
        return Model { cycle: 16, first: 0, sixteen: true, ..base };
    }
    let zeros = seen.iter().filter(|o| o.raw == 0).count();
    let wraps =
        seen.windows(2).filter(|w| (w[0].raw, w[1].raw) == (15, 0) || (w[0].raw, w[1].raw) == (0, 1)).count();
    if zeros > 0 && wraps >= zeros { Model { cycle: 16, first: 0, ..base } } else { base }
}

/// The value before the first of the cycle means "not used", but this sender counts through it.
fn with_unused(base: Model, unused: u32, seen: &[&Observation]) -> Model {
    let last = u64::from(base.first) + base.cycle - 1;
    let through = seen.windows(2).any(|w| (u64::from(w[0].raw), w[1].raw) == (last, unused));
    if through && u64::from(unused) + 1 == u64::from(base.first) {
        return Model { cycle: base.cycle + 1, first: unused, ..base };
    }
    base
}

/// Steps of one, counted over neighbours of the whole stream or of each destination.
fn score(model: Model, seen: &[&Observation], split: bool) -> usize {
    let mut last = [None; 256];
    let mut good = 0;
    for o in seen {
        let Some(place) = model.place(o.raw) else { continue };
        let slot = &mut last[if split { usize::from(o.dest) } else { 0 }];
        if let Some(before) = *slot {
            let step = (place + model.cycle - before) % model.cycle;
            good += usize::from(step == 1 || (model.unit == Unit::Frame && step == 0));
        }
        *slot = Some(place);
    }
    good
}

fn scope(model: Model, seen: &[&Observation]) -> Model {
    let several = seen.iter().any(|o| o.dest != seen[0].dest);
    if several && model.unit != Unit::Nothing && score(model, seen, true) > score(model, seen, false) {
        return Model { per_destination: true, ..model };
    }
    model
}

/// A constant step above one: one counter shared by several streams.
fn stepped(model: Model, seen: &[&Observation]) -> Model {
    if model.unit != Unit::Datagram || model.per_destination || seen.len() < 9 {
        return model;
    }
    let places: Vec<u64> = seen.iter().filter_map(|o| model.place(o.raw)).collect();
    let steps: Vec<u64> = places.windows(2).map(|w| (w[1] + model.cycle - w[0]) % model.cycle).collect();
    let Some(&mid) = steps.first() else { return model };
    let mode = steps
        .iter()
        .copied()
        .max_by_key(|s| (steps.iter().filter(|t| *t == s).count(), *s == mid))
        .unwrap_or(1);
    let share = steps.iter().filter(|s| **s == mode).count();
    if mode > 1 && mode <= model.cycle / 2 && share * 10 >= steps.len() * 8 {
        return Model { step: u32::try_from(mode).unwrap_or(1), ..model };
    }
    model
}
