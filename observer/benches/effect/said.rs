//! The words and the record of a run: the plan before it, a table and one line of JSON after it, and the exit code.

use super::arm::RATE;
use super::compare::{Block, Comparison, NICED, RAW};
use super::cost::Cost;
use super::judge::{Gate, gate, interval, word};
use super::options::Options;
use serde_json::{Value, json};
use wireproof_matrices::verdict::Decision;

/// A figure of both arms of a block: without, with.
type Pick = fn(&Block) -> (u64, u64);

/// The rule: metric, its place in a block, and its margin, ns.
const RULE: [(&str, Pick, f64); 2] = [
    ("p95", |block| (block.idle.frames.p95, block.treated.frames.p95), 500_000.0),
    ("p99", |block| (block.idle.frames.p99, block.treated.frames.p99), 1_000_000.0),
];
/// Told only.
const DIAGNOSTICS: [(&str, Pick); 3] = [
    ("p50", |block| (block.idle.frames.p50, block.treated.frames.p50)),
    ("max", |block| (block.idle.frames.max, block.treated.frames.max)),
    ("p50 beside downloads", |block| (block.idle.in_download_ns, block.treated.in_download_ns)),
];
/// Exit code where blocks count that were disturbed.
const DISTURBED: u8 = 4;

/// Everything that was measured.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) cost: Option<Cost>,
    /// `bench --recorder`: ns a frame, with the ends of its interval.
    pub(crate) hot: Option<[f64; 3]>,
    /// The device's account.
    pub(crate) device: Value,
    /// The observer's summary.
    pub(crate) summary: Value,
}

/// What it comes to.
pub(crate) struct Told {
    pub(crate) lines: Vec<String>,
    pub(crate) json: Value,
    pub(crate) code: u8,
}

/// The plan, before anything runs.
pub(crate) fn plan(options: &Options) -> Vec<String> {
    vec![
        format!(
            "device (load {}) and its web service on processor {}, observer and bench on {}",
            options.load, options.device_cpu, options.bench_cpu
        ),
        format!(
            "{} blocks of two arms of {} s a treatment, {} downloads an arm, seed {}; writer: {} pairs of {} s arms",
            options.blocks,
            options.seconds,
            options.downloads(),
            options.seed,
            options.cost_blocks,
            options.cost_seconds
        ),
        "rule: upper one-sided 95 % bound of the paired differences (signed rank, exact) and difference of the medians \
         at most 0.50 ms (p95) and 1.00 ms (p99)"
            .to_owned(),
    ]
}

impl Said {
    /// Judges.
    pub(crate) fn judge(&self) -> Told {
        let mut lines = Vec::new();
        let mut rows = Vec::new();
        let mut holds = true;
        for found in &self.comparisons {
            let (row, passes) = comparison(found, &mut lines);
            rows.push(row);
            holds &= found.treatment == NICED || passes == (found.treatment == RAW);
        }
        let wire = self.wire(&mut lines);
        let writer = self.cost.as_ref().map(|cost| writer(cost, self.hot, &mut lines));
        let of_cost = self.cost.as_ref().map_or(0, |cost| cost.disturbed);
        let disturbed = of_cost + self.comparisons.iter().map(|c| c.disturbed).sum::<usize>();
        let code = match (holds, disturbed) {
            (_, 1..) => DISTURBED,
            (true, _) => 0,
            (false, _) => 1,
        };
        lines.push(match code {
            0 => "PASS: raw copies keep the rule, the conversion on the device does not".to_owned(),
            DISTURBED => format!("INVALID: {disturbed} disturbed blocks count; run it again on a quiet host"),
            _ => {
                "FAIL: raw copies have to keep the rule, and the conversion on the device must not".to_owned()
            }
        });
        let json = json!({
            "bench": "observer_effect", "code": code, "comparisons": rows, "disturbed": disturbed, "wire": wire,
            "writer": writer,
        });
        Told { lines, json, code }
    }

    /// Loss on the wire, all arms together.
    fn wire(&self, lines: &mut Vec<String>) -> Value {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let streams = self.summary["streams"].as_array().map_or(&[][..], Vec::as_slice);
        let lost: u64 = streams.iter().map(|s| number(&s["sequence"]["lost"])).sum();
        let seen: u64 = streams.iter().map(|s| number(&s["datagrams"])).sum();
        let own = number(&self.summary["observer"]["lost"]);
        let device = |key: &str| number(&self.device[key]);
        let (frames, skipped, misses) = (device("frames"), device("skipped"), device("misses"));
        lines.push(format!(
            "wire   {seen} datagrams seen, {lost} lost, {own} by the observer; device: {frames} frames, {skipped} periods \
             skipped, {misses} deadlines missed"
        ));
        json!({"datagrams": seen, "frames": frames, "lost": lost, "misses": misses, "observer_lost": own,
               "skipped": skipped})
    }
}

/// One treatment; whether it keeps the whole rule.
fn comparison(found: &Comparison, lines: &mut Vec<String>) -> (Value, bool) {
    let name = found.treatment.name;
    let judged =
        RULE.map(|(metric, pick, margin)| (metric, gate(&pairs(&found.blocks, pick), margin), margin));
    lines.extend(judged.iter().map(|(metric, gate, margin)| gate_line(name, metric, gate, *margin)));
    let passes = judged.iter().all(|(_, gate, _)| gate.decision == Decision::Pass);
    let shown = DIAGNOSTICS.map(|(metric, pick)| (metric, gate(&pairs(&found.blocks, pick), f64::INFINITY)));
    lines.extend(shown.iter().map(|(metric, gate)| {
        let (low, high) = (bound(gate.low_ns), bound(gate.high_ns));
        format!("{name:<6} {metric:<20} {:+.3} ms, bounds {low} .. {high}, diagnostic", ms(gate.hl_ns))
    }));
    let mut row = json!({
        "diagnostics": shown.map(|(metric, gate)| json!({"hl_ns": gate.hl_ns, "metric": metric})),
        "disturbed": found.disturbed,
        "gates": judged.map(|(metric, gate, margin)| json!({
            "decision": gate.decision, "high_ns": gate.high_ns, "hl_ns": gate.hl_ns, "low_ns": gate.low_ns,
            "margin_ns": margin, "metric": metric, "pairs": found.blocks.len(), "point_ns": gate.point_ns,
        })),
        "passes": passes, "repeated": found.repeated, "treatment": name,
    });
    downloads(found, &mut row, lines);
    (row, passes)
}

/// What the downloads of a treatment were like, and which blocks were done again.
fn downloads(found: &Comparison, row: &mut Value, lines: &mut Vec<String>) {
    let name = found.treatment.name;
    let sum = |of: fn(&Block) -> u64| found.blocks.iter().map(of).sum::<u64>();
    let (idle, treated) = (sum(|b| b.idle.left_out), sum(|b| b.treated.left_out));
    let mut took: Vec<u64> =
        found.blocks.iter().flat_map(|b| b.treated.downloads_ns.iter().copied()).collect();
    took.sort_unstable();
    let median = took.get(took.len() / 2).copied().unwrap_or_default();
    let longest = took.last().copied().unwrap_or_default();
    row["downloads"] = json!({"count": took.len(), "longest_ns": longest, "median_ns": median});
    row["left_out"] = json!({"idle": idle, "treated": treated});
    lines.push(format!(
        "{name:<6} {} downloads, median {:.0} ms, longest {:.0} ms; periods without a frame: {idle} without, {treated} \
         with; {} blocks done again, {} disturbed ones count",
        took.len(),
        ms(median as f64),
        ms(longest as f64),
        found.repeated.len(),
        found.disturbed
    ));
    lines.extend(found.repeated.iter().map(|why| format!("{name:<6} done again: {why}")));
}

/// What recording costs.
fn writer(cost: &Cost, hot: Option<[f64; 3]>, lines: &mut Vec<String>) -> Value {
    let differences: Vec<f64> = cost.pairs.iter().map(|pair| pair.on_ns - pair.off_ns).collect();
    let (hl, ends) = interval(&differences);
    let us = |ns: f64| ns / 1e3;
    // So many points of a core: 1 us a frame is 0.006 of them.
    let points = |ns: f64| ns * RATE as f64 / 1e7;
    let in_words = |of: &dyn Fn(f64) -> f64, digits: usize| match ends {
        Some((low, high)) => format!("{:+.digits$} .. {:+.digits$}", of(low), of(high)),
        None => "none from so few pairs".to_owned(),
    };
    lines.push(format!(
        "writer {:+.2} us a frame, 95 % interval {}; {:+.3} points of a core, {}; {} pairs, {} measured again",
        us(hl),
        in_words(&us, 2),
        points(hl),
        in_words(&points, 3),
        cost.pairs.len(),
        cost.repeated.len()
    ));
    lines.extend(cost.repeated.iter().map(|why| format!("writer measured again: {why}")));
    lines.extend(hot.map(|[median, low, high]| {
        format!(
            "writer hot (bench --recorder, 27 records with two clock reads each): {:.2} us a frame, {:.2} .. {:.2}",
            us(median),
            us(low),
            us(high)
        )
    }));
    json!({"hl_ns": hl, "hot_ns": hot, "interval_ns": ends.map(|(low, high)| [low, high]),
           "pairs": cost.pairs.len(), "repeated": cost.repeated})
}

fn pairs(blocks: &[Block], pick: Pick) -> Vec<(f64, f64)> {
    blocks.iter().map(pick).map(|(idle, treated)| (idle as f64, treated as f64)).collect()
}

fn gate_line(name: &str, metric: &str, gate: &Gate, margin: f64) -> String {
    format!(
        "{name:<6} {metric:<20} {:+.3} ms (medians {:+.3}), bounds {} .. {}, margin {:.2} ms  {}",
        ms(gate.hl_ns),
        ms(gate.point_ns),
        bound(gate.low_ns),
        bound(gate.high_ns),
        ms(margin),
        word(gate.decision)
    )
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

fn bound(ns: Option<f64>) -> String {
    ns.map_or_else(|| "none".to_owned(), |ns| format!("{:+.3}", ms(ns)))
}
