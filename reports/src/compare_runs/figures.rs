//! The figures of a matched stream, what is said of each, and why some are not compared.

use super::matching::Found;
use super::{Pair, Said, Seen, Share, ShareRow, TimeRow};
use crate::summary::{Interval, Output, Stream, Summary};
use wireproof_matrices::compare::{FLOOR_NS, Grade, against_baseline, ratio_thousandths};
use wireproof_matrices::number::Number;
use wireproof_matrices::stats::clopper_pearson;
use wireproof_protocols::words::counted;

/// Rates that differ by more than this are of unlike runs, percent of the larger.
pub(crate) const RATE_PERCENT: u128 = 2;
/// Intervals that a percentile needs so that some lie beyond it.
pub(crate) const NEEDED: [(&str, u64); 4] = [("p50", 20), ("p95", 200), ("p99", 1_000), ("p999", 10_000)];

/// Why no figure of a run says anything of the device.
pub(super) fn spoiled(s: &Summary) -> Option<String> {
    let name = &s.source.name;
    match (s.observer.lost, s.source.capture_dropped) {
        (0, 0) => None,
        (0, dropped) => Some(format!("the capture {name} dropped {} itself", counted(dropped, "packet"))),
        (lost, _) => Some(format!("the observer of {name} lost {} itself", counted(lost, "datagram"))),
    }
}

/// A stream of both runs with its figures, or of one without.
pub(super) fn pair(before: &Summary, after: &Summary, found: &Found, spoiled: &[String]) -> Option<Pair> {
    let old = found.before.and_then(|at| Some((at, before.streams.get(at)?)));
    let new = found.after.and_then(|at| Some((at, after.streams.get(at)?)));
    let (_, any) = old.or(new)?;
    let mut pair = Pair {
        protocol: any.protocol.clone(),
        kind: any.kind.clone(),
        stream_id: any.stream_id,
        part: any.part,
        matched_by: found.by,
        before: old.map(|(at, stream)| seen(at, stream)),
        after: new.map(|(at, stream)| seen(at, stream)),
        unlike: Vec::new(),
        notes: Vec::new(),
        shares: Vec::new(),
        times: Vec::new(),
    };
    let (Some((_, old)), Some((_, new))) = (old, new) else {
        let other =
            if found.others { "its streams of this id have another sender" } else { "no stream has this id" };
        let run = if new.is_none() { &after.source.name } else { &before.source.name };
        pair.unlike.push(format!("not in {run}: {other}"));
        return Some(pair);
    };
    pair.unlike = unlike(before, after, old, new);
    pair.unlike.extend(spoiled.iter().cloned());
    pair.notes = notes(old, new);
    let why = (!pair.unlike.is_empty()).then(|| pair.unlike.join("; "));
    pair.shares = shares(old, new, why.as_ref());
    let stamps = [&before.source.timestamps, &after.source.timestamps];
    let stamped =
        (stamps[0] != stamps[1]).then(|| format!("time stamps: {} then, {} now", stamps[0], stamps[1]));
    pair.times = times(before, after, &pair, why.or(stamped).as_ref());
    Some(pair)
}

fn seen(at: usize, s: &Stream) -> Seen {
    Seen {
        index: at as u64,
        source: s.source.clone(),
        sender: s.sender.clone(),
        name: s.name.clone(),
        datagrams: s.datagrams,
        sent_mhz: sent_mhz(s),
    }
}

/// Thousandths of datagrams a second as they were sent: loss must not look like another rate.
fn sent_mhz(s: &Stream) -> u64 {
    let sent = u128::from(s.datagrams) + u128::from(s.sequence.lost);
    let rate = u128::from(s.rate_mhz).saturating_mul(sent) / u128::from(s.datagrams.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Why two streams are not alike: shape and rate.
fn unlike(before: &Summary, after: &Summary, old: &Stream, new: &Stream) -> Vec<String> {
    let mut why = Vec::new();
    let octets = |s: &Stream| format!("{}..{}", s.data_octets.min, s.data_octets.max);
    if old.data_octets != new.data_octets {
        why.push(format!("shape: {} data octets a datagram then, {} now", octets(old), octets(new)));
    }
    let frame = |s: &Summary, stream: &Stream| -> Option<[u64; 2]> {
        let output: &Output = s.outputs.get(stream.output?)?;
        Some([output.datagrams_per_frame.into(), output.octets_per_frame])
    };
    if let (Some(then), Some(now)) = (frame(before, old), frame(after, new)) {
        for (what, then, now) in [("datagrams", then[0], now[0]), ("octets", then[1], now[1])] {
            if then != now && then != 0 && now != 0 {
                why.push(format!("shape: {then} {what} a frame then, {now} now"));
            }
        }
    }
    let [then, now] = [old, new].map(|stream| u128::from(sent_mhz(stream)));
    if then.abs_diff(now) * 100 > RATE_PERCENT * then.max(now) {
        let hz = |mhz: u128| format!("{}.{:03}", mhz / 1000, mhz % 1000);
        why.push(format!("rate: {} datagrams a second sent then, {} now", hz(then), hz(now)));
    }
    why
}

fn notes(old: &Stream, new: &Stream) -> Vec<String> {
    let rows = [
        ("numbering", old.sequence.model.clone(), new.sequence.model.clone()),
        ("address", super::address(old).to_owned(), super::address(new).to_owned()),
        ("sessions", old.sessions.to_string(), new.sessions.to_string()),
    ];
    rows.into_iter()
        .filter(|(_, then, now)| then != now)
        .map(|(what, then, now)| format!("{what}: {then} then, {now} now"))
        .collect()
}

fn shares(old: &Stream, new: &Stream, why: Option<&String>) -> Vec<ShareRow> {
    let sent = |s: &Stream| s.datagrams.saturating_add(s.sequence.lost);
    let lost = |s: &Stream| {
        let bursts = s.sequence.gaps.max(u64::from(s.sequence.lost > 0));
        bursty(s.sequence.lost, bursts, sent(s))
    };
    // A datagram that is not proven to be lost spoils one burst at most.
    let proven = |s: &Stream| {
        let (lost, proven) = (s.sequence.lost, s.sequence.lost_min.min(s.sequence.lost));
        let bursts = s.sequence.gaps.saturating_sub(lost - proven).max(u64::from(proven > 0));
        bursty(proven, bursts, sent(s))
    };
    let torn = |s: &Stream| s.frames.torn.saturating_add(s.frames.unterminated);
    let rows = [
        ("lost", lost(old), lost(new)),
        ("duplicates", share(old.sequence.duplicates, sent(old)), share(new.sequence.duplicates, sent(new))),
        ("late", share(old.sequence.late, sent(old)), share(new.sequence.late, sent(new))),
        ("torn_frames", share(torn(old), old.frames.seen), share(torn(new), new.frames.seen)),
    ];
    let unsure = |s: &Stream| s.sequence.ambiguous || s.sequence.lost != s.sequence.lost_min;
    rows.into_iter()
        .filter(|(_, before, after)| before.of > 0 || after.of > 0)
        .map(|(figure, before, after)| {
            let (said, why) = match why {
                Some(why) => (Said::NotCompared, Some(why.clone())),
                None if figure == "lost" && (unsure(old) || unsure(new)) => {
                    doubted((&before, &proven(old)), (&after, &proven(new)))
                }
                None => told(&before, &after),
            };
            ShareRow { figure: figure.to_owned(), before, after, said, why }
        })
        .collect()
}

fn share(events: u64, of: u64) -> Share {
    let events = events.min(of);
    let rate_ppb = u128::from(events) * 1_000_000_000 / u128::from(of.max(1));
    Share {
        events,
        of,
        rate_ppb: u64::try_from(rate_ppb).unwrap_or(u64::MAX),
        interval_ppb: interval(events, of),
        bursts: None,
        bursts_interval_ppb: None,
    }
}

fn bursty(events: u64, bursts: u64, of: u64) -> Share {
    let bursts = bursts.min(of);
    Share { bursts: Some(bursts), bursts_interval_ppb: Some(interval(bursts, of)), ..share(events, of) }
}

/// Events beyond this have Wilson's interval: it agrees with the exact one to about a thousandth, in a time
/// that does not grow.
pub(crate) const MOST_EXACT: u64 = 1_000;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate from 0 to 1 times 1e9")]
fn interval(events: u64, of: u64) -> [u64; 2] {
    let many = events.min(of - events) > MOST_EXACT;
    let (low, high) = if many { wilson(events, of) } else { clopper_pearson(events, of, 0.05) };
    [(low * 1e9).floor() as u64, (high * 1e9).ceil() as u64]
}

/// Wilson's score interval at 95 %.
fn wilson(events: u64, of: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let (n, p) = (of as f64, events as f64 / of as f64);
    let (middle, scale) = (p + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}

/// Rates differ when their intervals do not touch; where events come in bursts, those of the bursts, too.
fn told(before: &Share, after: &Share) -> (Said, Option<String>) {
    let alone = apart(before.interval_ppb, after.interval_ppb);
    let bursts = before.bursts_interval_ppb.zip(after.bursts_interval_ppb);
    match bursts.map(|(before, after)| apart(before, after)) {
        Some(bursts) if bursts != alone && alone != Said::Same => {
            let why = "as often as before within chance, in bursts of another length".to_owned();
            (Said::Unclear, Some(why))
        }
        _ => (alone, None),
    }
}

/// Losses of which only a part is proven, each as estimated and as proven: worse when the proven part after is apart from
/// the estimate before, better when the estimate after is apart from the proven part before.
fn doubted(before: (&Share, &Share), after: (&Share, &Share)) -> (Said, Option<String>) {
    let said = |word: &str, proven: &Share, of: &Share| {
        Some(format!("{word} by the proven part alone, {} of {}", proven.events, of.events))
    };
    match (told(before.0, after.1).0, told(before.1, after.0).0) {
        (Said::Worse, _) => (Said::Worse, said("worse", after.1, after.0)),
        (_, Said::Better) => (Said::Better, said("better", before.1, before.0)),
        _ => (Said::Unclear, Some("a run cannot tell how many were lost".to_owned())),
    }
}

fn apart(before: [u64; 2], after: [u64; 2]) -> Said {
    match () {
        () if after[0] > before[1] => Said::Worse,
        () if after[1] < before[0] => Said::Better,
        () => Said::Same,
    }
}

/// Between datagrams, and where a stream alone makes frames of several datagrams, from frame to frame.
fn times(before: &Summary, after: &Summary, pair: &Pair, why: Option<&String>) -> Vec<TimeRow> {
    let stream = |s: &'_ Summary, seen: &Option<Seen>| {
        let at = usize::try_from(seen.as_ref()?.index).ok()?;
        let stream = s.streams.get(at)?;
        let intervals = stream.datagrams.saturating_sub(stream.sessions.max(1));
        let alone = |output: &&Output| output.streams == [at] && output.datagrams_per_frame != 1;
        let output = stream.output.and_then(|at| s.outputs.get(at)).filter(alone);
        let frames = output.map(|output| (output.frames.seen.saturating_sub(1), output.frame_interval_ns));
        Some(((intervals, stream.interval_ns), frames))
    };
    let both = stream(before, &pair.before).zip(stream(after, &pair.after));
    let Some(((old, old_frames), (new, new_frames))) = both else { return Vec::new() };
    let mut rows = spread("interval", old, new, why);
    if let Some((old, new)) = old_frames.zip(new_frames) {
        rows.extend(spread("frame_interval", old, new, why));
    }
    rows
}

/// The percentiles of a distribution in both runs, each with how many intervals it is of.
fn spread(name: &str, old: (u64, Interval), new: (u64, Interval), why: Option<&String>) -> Vec<TimeRow> {
    let few = old.0.min(new.0);
    let values = |i: &Interval| [i.p50, i.p95, i.p99, i.p999];
    let rows = NEEDED.iter().zip(values(&old.1)).zip(values(&new.1));
    let mut rows: Vec<TimeRow> = rows
        .map(|(((percentile, needed), before), after)| {
            let short =
                (few < *needed).then(|| format!("{few} intervals are too few for it, {needed} are needed"));
            let figure = format!("{name}_{percentile}");
            match why.cloned().or(short) {
                Some(why) => time(figure, before, after, Said::NotCompared, Some(why)),
                None => time(figure, before, after, longer(before, after), None),
            }
        })
        .collect();
    let alone = "the largest of all depends on how many there are".to_owned();
    let why = Some(why.cloned().unwrap_or(alone));
    rows.push(time(format!("{name}_max"), old.1.max, new.1.max, Said::NotCompared, why));
    rows
}

fn time(figure: String, before_ns: u64, after_ns: u64, said: Said, why: Option<String>) -> TimeRow {
    let ratio =
        ratio_thousandths(narrow(before_ns), narrow(after_ns)).map(|ratio| Number(ratio as f64 / 1000.0));
    TimeRow { figure, before_ns, after_ns, ratio, said, why }
}

/// Past 10 % and 20 us, either way.
fn longer(before: u64, after: u64) -> Said {
    let (before, after) = (narrow(before), narrow(after));
    match () {
        () if against_baseline(before, after, FLOOR_NS) == Grade::Fail => Said::Worse,
        () if against_baseline(after, before, FLOOR_NS) == Grade::Fail => Said::Better,
        () => Said::Same,
    }
}

fn narrow(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_intervals_agree_where_one_takes_over_from_the_other() {
        for of in [2_500, 3_000_000, 1_000_000_000] {
            let (exact, wilson) = (clopper_pearson(MOST_EXACT, of, 0.05), wilson(MOST_EXACT, of));
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 2e-3;
            assert!(close(exact.0, wilson.0) && close(exact.1, wilson.1), "{of}: {exact:?} {wilson:?}");
        }
    }
}
