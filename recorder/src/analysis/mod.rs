//! What whole frames say when they are put together: percentiles of frames, stages and stage ranges, slow frames,
//! causes of frames, requests and the frames they got, differences of two rings, and what of it is a finding.
//!
//! Pure: rings, records and names in, figures out. Never adds or stacks percentiles, never draws records of two
//! recordings as one, never sums what may run side by side.

pub mod causes;
pub mod coverage;
pub mod findings;
pub mod frame_causes;
pub mod paired;
pub mod quantiles;
pub mod recording;
pub mod requests;
pub mod runs;
pub mod select;
pub mod skips;
pub mod slow;
pub mod span;
pub mod stages;

pub use findings::{Finding, Severity};
pub use frame_causes::{CauseReport, causes, causes_within};
pub use quantiles::Quantiles;
