//! Whole sealed bundles for the tests of baselines: six blocks of an idle and a raw arm whose frames take what is asked.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "helpers of tests; not every test uses all"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wireproof::matrix::bundle::{NewBundle, Writer};
use wireproof::matrix::judging::{CLOSING, Closing, How, VERDICT, files, judge_bundle};
use wireproof::matrix::schedule::{order_json, schedule};
use wireproof_matrices::arm::{Arm, ArmState, FrameSpan, Measured, Place, Span, WireStream};
use wireproof_matrices::journal::{ArmEnd, DeviceId, Record, Step};
use wireproof_matrices::plan::{Kind, Plan};
use wireproof_matrices::runner::io::{Ending, Outcome};

const PLAN: &str = include_str!("../../../matrices/tests/golden/plan_example.toml");
const TREATMENTS: [&str; 2] = ["idle", "raw"];
/// 2023-11-14 22:13:20 UTC.
const START_NS: i64 = 1_700_000_000_000_000_000;

/// What a run was like.
pub struct Made {
    /// Seconds after the first bundle.
    pub at: i64,
    /// Time of a frame in idle and in raw arms, ns.
    pub frame_ns: [i64; 2],
    /// Datagrams lost in each raw arm.
    pub lost: u64,
    pub build: &'static str,
    pub load: &'static str,
    pub min_frames: u32,
    /// How the run ended.
    pub ending: Outcome,
    pub sealed: bool,
    /// Another word in `verdict.json` than the arms give.
    pub lie: Option<&'static str>,
}

impl Default for Made {
    fn default() -> Made {
        Made {
            at: 0,
            frame_ns: [5_402_000, 5_470_500],
            lost: 0,
            build: "ad2d91a",
            load: "0.31 0.20 0.11 1/200 4711",
            min_frames: 1,
            ending: Outcome::Complete,
            sealed: true,
            lie: None,
        }
    }
}

/// The example plan, cut down to one treatment, one stream, a time and a count.
fn plan(made: &Made) -> Plan {
    let mut plan = Plan::read(PLAN).unwrap();
    plan.evidence.min_free_bytes = 0;
    plan.design.blocks = 6;
    plan.factor.truncate(1);
    plan.stream.truncate(1);
    plan.toggle.clear();
    plan.drain = None;
    plan.gate.retain(|gate| gate.id == "p95" || gate.kind == Kind::Zero);
    for gate in &mut plan.gate {
        gate.min_frames = made.min_frames;
        gate.min_trials = gate.min_trials.map(|_| 100);
    }
    plan
}

/// Writes the bundle below a folder.
pub fn make(evidence: &Path, made: &Made) -> PathBuf {
    let plan = plan(made);
    let mut at = START_NS + made.at * 1_000_000_000;
    let new = NewBundle {
        at_ns: at,
        plan: &plan,
        plan_toml: PLAN.as_bytes(),
        profile_toml: None,
        order: &order_json(&plan),
        pre_registered: true,
        tool: "wireproof 0.1.0",
        estimate: 0,
        soak: None,
    };
    let mut writer = Writer::create(evidence, &new).unwrap();
    let mut now = || {
        at += 1;
        at
    };
    let first = writer.first().unwrap().clone();
    writer.record(now(), &first).unwrap();
    let device = DeviceId { build: made.build.to_owned(), boot_id: "b".to_owned() };
    writer.record(now(), &Record::Env { device }).unwrap();
    let env = format!("{{\"schema\":\"wireproof.env/1\",\"host\":{{\"load\":\"{}\"}}}}\n", made.load);
    writer.put(now(), "env.json", env.as_bytes()).unwrap();
    for (block, treatments) in (1..).zip(schedule(&plan).strata[0].blocks.iter().map(|b| &b.treatments)) {
        for (position, treatment) in (1..).zip(treatments) {
            let place = Place { stratum: 0, block, position, treatment: *treatment, attempt: 1 };
            arm(&mut writer, &place, made, &mut now);
        }
    }
    writer.record(now(), &Record::Restored { factors: Vec::new() }).unwrap();
    close(writer, made, &mut now)
}

fn arm(writer: &mut Writer, place: &Place, made: &Made, now: &mut impl FnMut() -> i64) {
    let treatment = TREATMENTS[place.treatment as usize];
    let start = Record::ArmStart { arm: place.clone(), treatment: treatment.to_owned() };
    writer.record(now(), &start).unwrap();
    let (arm, what) = (Some(place.clone()), String::new());
    let intent = Record::Intent { step: Step::Measure, arm: arm.clone(), what: what.clone() };
    writer.record(now(), &intent).unwrap();
    writer.record(now(), &Record::Result { step: Step::Measure, arm, ok: true, what }).unwrap();
    let folder = writer.arm_scratch(place, treatment).unwrap();
    fs::write(folder.join("arm.json"), serde_json::to_vec(&measured(place, treatment, made)).unwrap())
        .unwrap();
    let files = writer.keep_arm(place, treatment).unwrap();
    let end = Record::ArmEnd { arm: place.clone(), state: ArmEnd::Ok, reasons: Vec::new(), files };
    writer.record(now(), &end).unwrap();
}

fn measured(place: &Place, treatment: &str, made: &Made) -> Arm {
    let window = Span { start_ns: 0, end_ns: 15_000_000_000 };
    let length = made.frame_ns[place.treatment as usize];
    let lost = if place.treatment == 1 { made.lost } else { 0 };
    let mut stream = WireStream {
        id: "big".to_owned(),
        datagrams: 5_400,
        frames: 900,
        last_ns: 14_983_333_333,
        lost,
        ..WireStream::default()
    };
    stream.owners.upstream = lost;
    Arm {
        place: place.clone(),
        levels: BTreeMap::from([("drain".to_owned(), treatment.to_owned())]),
        state: ArmState::Ok,
        notes: Vec::new(),
        measured: Measured {
            window,
            device_window: Some(window),
            frames: (1..5).map(|id| frame(id, length)).collect(),
            ring: true,
            streams: vec![stream],
            throttled: [Some(0), Some(0)],
            ..Measured::default()
        },
    }
}

/// One frame a second, away from the edges of the window.
fn frame(id: u32, length: i64) -> FrameSpan {
    let start_ns = i64::from(id) * 1_000_000_000;
    FrameSpan { id, span: Span { start_ns, end_ns: start_ns + length } }
}

fn close(mut writer: Writer, made: &Made, now: &mut impl FnMut() -> i64) -> PathBuf {
    let dir = writer.dir().to_owned();
    let ending = Ending { outcome: made.ending, reasons: vec!["asked".to_owned()], restored: true };
    let closing = Closing { ending, attempt: 1, attempts: 1, judged_by: "wireproof 0.1.0".to_owned() };
    writer.put(now(), CLOSING, &closing.octets()).unwrap();
    let judged = judge_bundle(&dir, &How::default()).unwrap();
    let word = judged.verdict.verdict.word().to_lowercase();
    for (name, octets) in files(&judged).unwrap() {
        let octets = match made.lie {
            Some(lie) if name == VERDICT => {
                let text = String::from_utf8(octets).unwrap();
                let told = format!("\"verdict\": \"{lie}\"");
                text.replacen(&format!("\"verdict\": \"{word}\""), &told, 1).into_bytes()
            }
            _ => octets,
        };
        writer.put(now(), name, &octets).unwrap();
    }
    if made.sealed {
        writer.seal(now(), &word).unwrap();
    }
    dir
}
