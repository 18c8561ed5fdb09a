//! Background downloads and the device's record in words: what the rings are worth, how far the device's clock is
//! known, and what the record decided.

use crate::reconcile::OutputDelays;
use crate::summary::{DrainedRing, Summary};
use crate::text::milliseconds;
use wireproof_protocols::words::counted;

/// One sentence a fact; empty without downloads and rings.
pub(crate) fn sentences(s: &Summary) -> Vec<String> {
    let mut lines = vec![rings(s), clock(s)];
    let resumed: u64 = s.drains.iter().map(|d| u64::from(d.resumed)).sum();
    if resumed > 0 {
        lines.push(Some(format!("broken transfers were gone on with {resumed} times")));
    }
    lines.push(reconciled(s));
    let delays = s.reconciled.iter().flat_map(|r| r.delays.iter().map(delay_words));
    lines.into_iter().flatten().chain(delays).collect()
}

/// The times of one output from `wire_send` to the arrival, in a sentence.
pub fn delay_words(of: &OutputDelays) -> String {
    let name = format!("{} ({})", of.output, of.protocol);
    if of.frames == 0 {
        return format!(
            "{name}: no frame arrived whole that the record says was sent, {} did not",
            of.incomplete
        );
    }
    let all = [
        ("start to first arrival", &of.start_to_first_ns),
        ("start to last", &of.start_to_last_ns),
        ("end to first", &of.end_to_first_ns),
        ("end to last", &of.end_to_last_ns),
    ];
    let times = all.map(|(what, delay)| {
        let [p50, p95, max] = [delay.p50, delay.p95, delay.max].map(signed);
        let order = match (delay.order_open, delay.before) {
            (0, 0) => String::new(),
            (open, 0) => format!(" (order cannot be told in {open})"),
            (open, before) => format!(" (order cannot be told in {open}, arrival before it in {before})"),
        };
        format!("{what} {p50}/{p95}/{max}{order}")
    });
    let later = if of.cut_short { "; later frames were not followed" } else { "" };
    let rest = match (of.incomplete, of.ambiguous) {
        (0, 0) => String::new(),
        (incomplete, 0) => format!("; {} did not arrive whole", counted(incomplete, "frame")),
        (incomplete, ambiguous) => {
            let (frames, datagrams) = (counted(incomplete, "frame"), counted(ambiguous, "datagram"));
            format!("; {frames} did not arrive whole, of {datagrams} the send cannot be told")
        }
    };
    format!(
        "{name}: wire_send of {}, ms p50/p95/max, uncertain by {} to {} ms: {}{rest}{later}",
        counted(of.frames, "frame"),
        milliseconds(of.uncertainty_p50_ns),
        milliseconds(of.uncertainty_max_ns),
        times.join(", ")
    )
}

fn signed(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "" }, milliseconds(ns.unsigned_abs()))
}

fn reconciled(s: &Summary) -> Option<String> {
    let r = s.reconciled.as_ref()?;
    let missing = r.sender.saturating_add(r.wire).saturating_add(r.unknown);
    let record =
        format!("the device's record ({}, {})", counted(r.rings, "ring"), counted(r.frames, "frame"));
    if missing == 0 {
        return Some(format!("{record}: nothing was missing that it had to decide"));
    }
    let mut text = format!("{record}: {} never sent, {} sent and lost behind it", r.sender, r.wire);
    if r.unknown > 0 {
        text.push_str(&format!(", {} undecided ({})", r.unknown, r.reasons.join("; ")));
    }
    Some(text)
}

fn rings(s: &Summary) -> Option<String> {
    let (mut good, mut frames, mut dropped, mut codes) = (0u64, 0u64, 0u64, Vec::new());
    for ring in s.drains.iter().filter_map(|d| d.ring.as_ref()) {
        match ring {
            DrainedRing::Ok { frames: whole, dropped: slots, partial, .. } => {
                (good, frames) = (good + 1, frames.saturating_add(*whole));
                dropped = dropped.saturating_add(*slots).saturating_add(*partial);
            }
            DrainedRing::Refused { code } => codes.push(code.as_str()),
        }
    }
    if good == 0 && codes.is_empty() {
        return None;
    }
    let refused = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
    Some(format!(
        "rings: {good} verified with {frames} whole frames and {dropped} slots or frames dropped, {} refused{refused}",
        codes.len()
    ))
}

fn clock(s: &Summary) -> Option<String> {
    let clock = s.device_clock?;
    let Some((offset, uncertainty)) = clock.offset_ns.zip(clock.uncertainty_ns) else {
        return Some("device clock: unknown, a clock was set during the run".to_owned());
    };
    Some(format!(
        "device clock: bench {} ms, uncertain by {} ms, from {} exchanges",
        signed(offset),
        milliseconds(uncertainty),
        clock.exchanges
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconcile::Delay;
    use crate::summary::sample::summary;
    use crate::summary::{DeviceClock, Drain};

    fn with(drains: Vec<Drain>, device_clock: Option<DeviceClock>) -> Vec<String> {
        sentences(&Summary { drains, device_clock, ..summary() })
    }

    fn drain(ring: Option<DrainedRing>, resumed: u32) -> Drain {
        Drain { number: 1, ring, resumed, ..Drain::default() }
    }

    #[test]
    fn rings_clock_and_broken_transfers_are_told() {
        let good = |frames| DrainedRing::Ok {
            generation: 2,
            snapshot: Some(1),
            frames,
            first_frame: Some(0),
            last_frame: Some(9),
            missing: 0,
            dropped: 3,
            partial: 1,
        };
        let bad = DrainedRing::Refused { code: "BodyCrc".into() };
        let clock = DeviceClock {
            offset_ns: Some(-1_500_000),
            uncertainty_ns: Some(250_000),
            at_ns: Some(7),
            exchanges: 3,
            drift_ppm: 1000,
        };
        let drains =
            vec![drain(Some(good(10)), 2), drain(Some(good(5)), 0), drain(Some(bad), 0), drain(None, 1)];
        let expected = [
            "rings: 2 verified with 15 whole frames and 8 slots or frames dropped, 1 refused (BodyCrc)",
            "device clock: bench -1.500 ms, uncertain by 0.250 ms, from 3 exchanges",
            "broken transfers were gone on with 3 times",
        ];
        assert_eq!(with(drains, Some(clock)), expected);
    }

    #[test]
    fn the_times_of_an_output_are_told_with_what_they_rest_on() {
        let delay = |p50, order_open, before| Delay { p50, p95: 80_000, max: 200_000, order_open, before };
        let of = OutputDelays {
            output: "pole-a".into(),
            protocol: "bigpacket".into(),
            frames: 300,
            incomplete: 2,
            ambiguous: 0,
            cut_short: false,
            start_to_first_ns: delay(50_000, 120, 0),
            start_to_last_ns: delay(60_000, 0, 0),
            end_to_first_ns: delay(-40_000, 3, 1),
            end_to_last_ns: delay(0, 0, 0),
            uncertainty_p50_ns: 250_000,
            uncertainty_max_ns: 2_500_000,
        };
        let text = "pole-a (bigpacket): wire_send of 300 frames, ms p50/p95/max, uncertain by 0.250 to 2.500 ms: \
                    start to first arrival 0.050/0.080/0.200 (order cannot be told in 120), start to last \
                    0.060/0.080/0.200, end to first -0.040/0.080/0.200 (order cannot be told in 3, arrival before it \
                    in 1), end to last 0.000/0.080/0.200; 2 frames did not arrive whole";
        assert_eq!(delay_words(&of), text);
        let long = OutputDelays { cut_short: true, ..of.clone() };
        assert_eq!(delay_words(&long), format!("{text}; later frames were not followed"));
        let none = "pole-a (bigpacket): no frame arrived whole that the record says was sent, 2 did not";
        assert_eq!(delay_words(&OutputDelays { frames: 0, ..of }), none);
    }

    #[test]
    fn downloads_of_something_else_say_nothing_and_a_clock_that_was_set_is_told() {
        assert_eq!(with(vec![drain(None, 0)], None), Vec::<String>::new());
        let set = with(vec![drain(None, 0)], Some(DeviceClock::default()));
        assert_eq!(set, ["device clock: unknown, a clock was set during the run"]);
    }
}
