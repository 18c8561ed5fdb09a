//! The run record and everything made from it: the summary, its verdict, and one renderer a format.
//!
//! This crate is pure. A [`Summary`] is built from the verifier's account; every renderer writes the same
//! summary and computes nothing of its own, so that no two formats can disagree.

pub mod anonymize;
pub mod bench;
mod columns;
mod csv;
mod drains;
mod groups;
mod json;
mod jsonl;
mod markdown;
mod number;
pub mod page;
pub mod reconcile;
pub mod render;
pub mod summary;
mod table;
pub mod tape;
pub mod text;
pub mod verdict;

pub use anonymize::Mask;
pub use bench::Bench;
pub use render::{Format, RenderError, Style, render};
pub use summary::{DeviceClock, Drain, DrainedRing, Layers, Observer, QueueDelay, Source, Summary};
pub use verdict::Verdict;

/// The JSON Schema of [`Summary`] as JSON (`wireproof.summary/1`, draft 2020-12).
pub const SUMMARY_SCHEMA: &str = include_str!("../schemas/summary.schema.json");

/// The JSON Schema of [`Bench`] as JSON (`wireproof.bench/1`, draft 2020-12).
pub const BENCH_SCHEMA: &str = include_str!("../schemas/bench.schema.json");
