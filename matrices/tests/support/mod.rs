//! Plans and arms for tests, made of what a test is about and nothing else.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; not every test uses all"
)]

pub mod noise;

use std::collections::BTreeMap;
use wireproof_matrices::arm::{Arm, ArmDrain, ArmState, FrameSpan, Measured, Place, Span, WireStream};
use wireproof_matrices::plan::{
    Class, Design, Direction, DrainPlan, Evidence, Factor, Gate, Keep, Kind, Margin, Pcap, Plan, PlanStream,
    Role, Target, Timing, Validity,
};
use wireproof_matrices::verdict::Circumstances;

/// One factor `drain` with the levels idle and raw, three streams, no gates.
pub fn plan(blocks: u32) -> Plan {
    Plan {
        schema: 1,
        name: "a6".into(),
        purpose: "test".into(),
        target: Target {
            base_url: "http://device".into(),
            status: "/status".into(),
            profile: None,
            auth: None,
            expected_fps: 60,
            require: BTreeMap::new(),
        },
        layout: Vec::new(),
        stream: vec![stream("big", 6), stream("sacn", 12)],
        factor: vec![factor("drain", &["idle", "raw"], Role::Treatment)],
        design: Design {
            blocks,
            seed: 42,
            order: "balanced-blocks-1".into(),
            max_invalid_repeats: 2,
            looks: Vec::new(),
        },
        timing: Timing {
            warmup_ns: 0,
            settle_ns: 0,
            measure_ns: 15_000_000_000,
            guard_ns: 0,
            arm_deadline_ns: 60_000_000_000,
        },
        drain: None,
        toggle: Vec::new(),
        gate: Vec::new(),
        validity: Validity {
            max_loop_gap_ns: None,
            fps_tolerance_ppm: 5_000,
            min_hold_ns: 2_000_000_000,
            clock_step_ns: 1_000_000,
        },
        evidence: Evidence { dir: "evidence".into(), pcap: Pcap::None, min_free_bytes: 0 },
        ladder: None,
    }
}

pub fn drain_plan(offsets_ns: Vec<u64>) -> DrainPlan {
    DrainPlan {
        url: "/ring.raw".into(),
        paths: BTreeMap::new(),
        offsets_ns,
        jitter_ns: 0,
        tail_ns: 0,
        timeout_ns: 5_000_000_000,
        expect_bytes: 6_295_552,
        keep: Keep::Hash,
    }
}

fn stream(id: &str, each: u32) -> PlanStream {
    PlanStream {
        from_level: None,
        id: id.into(),
        protocol: "sacn".into(),
        listen: "0.0.0.0:5568".into(),
        source: "10.0.0.17".into(),
        universes: String::new(),
        datagrams_per_frame: each,
        seq_modulus: 256,
    }
}

pub fn factor(name: &str, levels: &[&str], role: Role) -> Factor {
    let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
    Factor { name: name.into(), baseline: levels[0].clone(), levels, role }
}

/// A gate that decides, on all arms, with the field's defaults but few frames.
pub fn gate(id: &str, metric: &str, kind: Kind, margin: Option<Margin>) -> Gate {
    Gate {
        id: id.into(),
        class: Class::Gate,
        metric: metric.into(),
        kind,
        margin,
        alpha_ppm: 50_000,
        min_pairs: 6,
        min_frames: 1,
        min_trials: None,
        direction: Direction::Less,
        expected_sign: None,
        selector: BTreeMap::new(),
        on_fail: None,
    }
}

/// Non-inferiority of `frame.p95`.
pub fn p95(margin_ns: u64) -> Gate {
    gate("p95", "frame.p95", Kind::NonInferiority, Some(Margin::Ns(margin_ns)))
}

/// Treatment 0 or 1 of the plan above; one frame of this length.
pub fn arm(block: u32, treatment: u32, frame_ns: i64) -> Arm {
    let level = if treatment == 0 { "idle" } else { "raw" };
    // AB, BA, AB ...
    let position = if (block + treatment).is_multiple_of(2) { 2 } else { 1 };
    Arm {
        place: Place { stratum: 0, block, position, treatment, attempt: 1 },
        levels: BTreeMap::from([("drain".to_owned(), level.to_owned())]),
        state: ArmState::Ok,
        notes: Vec::new(),
        measured: Measured {
            window: Span { start_ns: 0, end_ns: 15_000_000_000 },
            device_window: Some(Span { start_ns: 0, end_ns: 15_000_000_000 }),
            frames: vec![frame(1, 1_000, frame_ns)],
            ring: true,
            streams: vec![wire("big"), wire("sacn")],
            cpu_hundredths: Some(0),
            ..Measured::default()
        },
    }
}

pub fn frame(id: u32, start_ns: i64, length_ns: i64) -> FrameSpan {
    FrameSpan { id, span: Span { start_ns, end_ns: start_ns + length_ns } }
}

pub fn wire(id: &str) -> WireStream {
    WireStream {
        id: id.into(),
        datagrams: 5_400,
        frames: 900,
        first_ns: 0,
        last_ns: 14_983_333_333,
        ..WireStream::default()
    }
}

pub fn drain(start_ns: i64, end_ns: i64) -> ArmDrain {
    let span = Span { start_ns, end_ns };
    ArmDrain {
        planned_ns: 0,
        bench: span,
        device: span,
        real: true,
        failed: None,
        bytes: 6_295_552,
        sha256: None,
    }
}

/// Blocks of an idle and a raw arm with one frame each of these lengths.
pub fn arms(idle: &[i64], raw: &[i64]) -> Vec<Arm> {
    let blocks = (1_u32..).zip(idle.iter().zip(raw));
    blocks.flat_map(|(block, (idle, raw))| [arm(block, 0, *idle), arm(block, 1, *raw)]).collect()
}

pub fn circumstances() -> Circumstances {
    Circumstances {
        plan_sha256: "ab".repeat(32),
        gates_sha256: "cd".repeat(32),
        pre_registered: true,
        attempt: 1,
        attempts: 1,
        judged_by: "test".into(),
        ..Circumstances::default()
    }
}
