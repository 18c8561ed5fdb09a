//! The run record and everything made from it: the summary, its verdict, and one renderer a format.
//!
//! This crate is pure. A [`Summary`] is built from the verifier's account; every renderer writes the same
//! summary and computes nothing of its own, so that no two formats can disagree.

pub mod anonymize;
pub mod bench;
pub mod bench_recorder;
mod columns;
mod csv;
pub mod drains;
mod groups;
mod json;
mod jsonl;
mod markdown;
pub mod matrix;
mod number;
pub mod page;
pub mod reconcile;
pub mod render;
mod schemas;
pub mod summary;
mod table;
pub mod tape;
pub mod text;
pub mod verdict;

pub use anonymize::Mask;
pub use bench::Bench;
pub use bench_recorder::RecorderBench;
pub use render::{Format, RenderError, Style, render};
pub use schemas::*;
pub use summary::{DeviceClock, Drain, DrainedRing, Layers, Observer, QueueDelay, Source, Summary};
pub use verdict::Verdict;

/// The JSON Schema of [`Summary`] as JSON (`wireproof.summary/1`, draft 2020-12).
pub const SUMMARY_SCHEMA: &str = include_str!("../schemas/summary.schema.json");

/// The JSON Schema of [`Bench`] as JSON (`wireproof.bench/1`, draft 2020-12).
pub const BENCH_SCHEMA: &str = include_str!("../schemas/bench.schema.json");

/// The JSON Schema of `ring verify` as JSON (`wireproof.ring/1`, draft 2020-12).
pub const RING_SCHEMA: &str = include_str!("../schemas/ring.schema.json");

/// The JSON Schema of `ring summary` as JSON (`wireproof.ring-summary/1`, draft 2020-12).
pub const RING_SUMMARY_SCHEMA: &str = include_str!("../schemas/ring-summary.schema.json");

/// The JSON Schema of `ring frames` as JSON (`wireproof.ring-frames/1`, draft 2020-12).
pub const RING_FRAMES_SCHEMA: &str = include_str!("../schemas/ring-frames.schema.json");

/// The JSON Schema of `ring causes` as JSON (`wireproof.ring-causes/1`, draft 2020-12).
pub const RING_CAUSES_SCHEMA: &str = include_str!("../schemas/ring-causes.schema.json");

/// The JSON Schema of [`RecorderBench`] as JSON (`wireproof.bench-recorder/1`, draft 2020-12).
pub const BENCH_RECORDER_SCHEMA: &str = include_str!("../schemas/bench-recorder.schema.json");

/// The JSON Schema of a matrix verdict as JSON (`wireproof.verdict/1`, draft 2020-12).
pub const VERDICT_SCHEMA: &str = include_str!("../schemas/verdict.schema.json");

/// The JSON Schema of [`matrix::calibrate::CalibrationReport`] as JSON (`wireproof.calibration/1`, draft 2020-12).
pub const CALIBRATION_SCHEMA: &str = include_str!("../schemas/calibration.schema.json");
