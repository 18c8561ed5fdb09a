//! A synthetic run for the tests of bundles: two blocks of two arms, written step by step.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "helpers of tests; not every test uses all"
)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use wireproof::matrix::bundle::{NewBundle, Writer, write_frames};
use wireproof_matrices::arm::{Arm, ArmState, FrameSpan, Measured, Place, Span};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::journal::{ArmEnd, DeviceId, Record, Step};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::{Block, Schedule, Stratum};

/// 2023-11-14 22:13:20 UTC.
pub const START_NS: i64 = 1_700_000_000_000_000_000;
const PLAN: &str = include_str!("../../../matrices/tests/golden/plan_example.toml");
const TREATMENTS: [&str; 2] = ["idle", "raw"];

/// The example plan, for a bench of any size.
pub fn plan() -> Plan {
    let mut plan = Plan::read(PLAN).unwrap();
    plan.evidence.min_free_bytes = 0;
    plan
}

pub fn schedule() -> Schedule {
    let block = |treatments: [u32; 2]| Block { treatments: treatments.to_vec(), drains_ns: Vec::new() };
    let blocks = vec![block([1, 0]), block([0, 1])];
    let strata = vec![Stratum { levels: BTreeMap::new(), blocks }];
    Schedule { strata, ..Schedule::default() }
}

pub fn device() -> DeviceId {
    DeviceId { build: "7.1+ab12".to_owned(), boot_id: "0cde5d2f-1111-2222-3333-444455556666".to_owned() }
}

/// Makes the bundle; nothing is recorded.
pub fn create(evidence: &Path) -> Writer {
    let plan = plan();
    let new = NewBundle {
        at_ns: START_NS,
        plan: &plan,
        plan_toml: PLAN.as_bytes(),
        profile_toml: None,
        order: b"{\"schema\":\"wireproof.order/1\"}\n",
        pre_registered: true,
        tool: "wireproof 0.1.0",
        estimate: 0,
        soak: None,
    };
    Writer::create(evidence, &new).unwrap()
}

/// What is written one after another; each leaves the journal longer, or a file waiting.
#[derive(Clone, Debug)]
pub enum Doing {
    First,
    Say(Record),
    Arm(Place, usize),
    Put(&'static str, Vec<u8>),
}

pub fn place(block: u32, position: u32, treatment: u32, attempt: u32) -> Place {
    Place { stratum: 0, block, position, treatment, attempt }
}

/// Everything up to the seal.
pub fn script() -> Vec<Doing> {
    let s = str::to_owned;
    let intent = |step, arm: Option<&Place>, what: &str| {
        Doing::Say(Record::Intent { step, arm: arm.cloned(), what: s(what) })
    };
    let result = |step, arm: Option<&Place>| {
        Doing::Say(Record::Result { step, arm: arm.cloned(), ok: true, what: String::new() })
    };
    let mut script = vec![
        Doing::First,
        Doing::Say(Record::Env { device: device() }),
        Doing::Put("env.json", b"{\"host\":\"bench\",\"load\":0.25}\n".to_vec()),
        Doing::Say(Record::ToggleOriginal { factor: s("profiler"), value: s("off") }),
        intent(Step::Set, None, "profiler=on"),
        result(Step::Verify, None),
    ];
    for (block, treatments) in (1..).zip(schedule().strata[0].blocks.iter().map(|b| b.treatments.clone())) {
        for (position, treatment) in (1..).zip(treatments) {
            let arm = place(block, position, treatment, 1);
            let name = s(TREATMENTS[treatment as usize]);
            script.push(Doing::Say(Record::ArmStart { arm: arm.clone(), treatment: name }));
            script.push(intent(Step::Measure, Some(&arm), ""));
            script.push(result(Step::Measure, Some(&arm)));
            script.push(Doing::Arm(arm, 3000));
        }
    }
    script.push(intent(Step::Restore, None, "profiler=off"));
    script.push(Doing::Say(Record::Restored { factors: vec![s("profiler")] }));
    script.push(Doing::Put("report.md", b"# PASS on 192.168.7.20\n".to_vec()));
    script.push(Doing::Put("verdict.json", b"{\"schema\":\"wireproof.verdict/1\"}\n".to_vec()));
    script
}

/// Does one thing.
pub fn step(writer: &mut Writer, doing: &Doing, at_ns: i64) {
    match doing {
        Doing::First => {
            let first = writer.first().unwrap().clone();
            writer.record(at_ns, &first).unwrap();
        }
        Doing::Say(record) => writer.record(at_ns, record).unwrap(),
        Doing::Put(path, octets) => drop(writer.put(at_ns, path, octets).unwrap()),
        Doing::Arm(place, octets) => arm(writer, place, *octets, at_ns),
    }
}

/// Writes the files of an arm and its end.
pub fn arm(writer: &mut Writer, place: &Place, octets: usize, at_ns: i64) {
    let treatment = TREATMENTS[place.treatment as usize];
    let folder = writer.arm_scratch(place, treatment).unwrap();
    let ring: Vec<u8> = (0..octets).map(|i| (i * 31 % 251) as u8).collect();
    std::fs::write(folder.join("ring.raw"), &ring).unwrap();
    std::fs::write(folder.join("ring.sha256"), format!("{}  ring.raw\n", Digest::of(&ring))).unwrap();
    let span = |n: i64| Span { start_ns: n * 16_666_667, end_ns: n * 16_666_667 + 5_115_000 };
    let frames: Vec<FrameSpan> = (0..5).map(|id| FrameSpan { id, span: span(i64::from(id)) }).collect();
    let mut table = Vec::new();
    write_frames(&mut table, &frames).unwrap();
    std::fs::write(folder.join("frames.csv"), table).unwrap();
    let json = serde_json::to_vec(&whole_arm(place, frames)).unwrap();
    std::fs::File::create(folder.join("arm.json")).unwrap().write_all(&json).unwrap();
    let files = writer.keep_arm(place, treatment).unwrap();
    let end = Record::ArmEnd { arm: place.clone(), state: ArmEnd::Ok, reasons: Vec::new(), files };
    writer.record(at_ns, &end).unwrap();
}

fn whole_arm(place: &Place, frames: Vec<FrameSpan>) -> Arm {
    Arm {
        place: place.clone(),
        levels: BTreeMap::from([("drain".to_owned(), TREATMENTS[place.treatment as usize].to_owned())]),
        state: ArmState::Ok,
        notes: Vec::new(),
        measured: Measured { frames, ..Measured::default() },
    }
}

/// A whole run, sealed or left open.
pub fn run(evidence: &Path, sealed: bool) -> std::path::PathBuf {
    let mut writer = create(evidence);
    for (doing, n) in script().iter().zip(1..) {
        step(&mut writer, doing, START_NS + n);
    }
    let dir = writer.dir().to_owned();
    if sealed {
        writer.seal(START_NS + 1_000, "pass").unwrap();
    }
    dir
}
