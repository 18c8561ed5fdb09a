//! The run record and everything made from it: the summary, its verdict, and one renderer a format.
//!
//! This crate is pure. A [`Summary`] is built from the verifier's account; every renderer writes the same
//! summary and computes nothing of its own, so that no two formats can disagree.

pub mod alerts;
pub mod anonymize;
pub mod baseline;
pub mod bench;
pub mod bench_recorder;
mod columns;
pub mod compare;
pub mod compare_runs;
mod csv;
pub mod drains;
pub mod filter;
mod groups;
mod json;
mod jsonl;
mod junit;
mod markdown;
pub mod matrix;
pub mod metrics;
mod number;
pub mod page;
pub mod reconcile;
pub mod record;
pub mod render;
pub mod ring_summary;
mod schemas;
mod sheet;
pub mod soak;
pub mod standing;
pub mod summary;
mod table;
pub mod tape;
pub mod terms;
pub mod text;
pub mod thresholds;
pub mod verdict;
pub mod waiver;

pub use alerts::Alerts;
pub use anonymize::Mask;
pub use baseline::Baseline;
pub use bench::Bench;
pub use bench_recorder::RecorderBench;
pub use compare::Comparison;
pub use filter::{Filter, Filtered};
pub use page::ring::RingPage;
pub use render::{Format, RenderError, Style, render};
pub use ring_summary::RingSummary;
pub use schemas::*;
pub use standing::{Standing, Weight};
pub use summary::{DeviceClock, Drain, DrainedRing, Layers, Observer, QueueDelay, Source, Summary};
pub use terms::{Settled, Terms};
pub use verdict::Verdict;
pub use waiver::{Waived, Waiver, WaiverState};
