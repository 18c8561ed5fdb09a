//! What is done with the octets of each target. The same functions run over the seeds and over every input that was
//! once a finding in the ordinary tests (`observer/tests/fuzz_inputs.rs`), which read these files as modules.

pub mod capture;
pub mod decode;
pub mod http;
pub mod record;
pub mod ring;
pub mod text;
pub mod verify;

/// A target's name and what it does with its octets.
pub type Target = (&'static str, fn(&[u8]));

/// Every target; each has a file of its name in `fuzz_targets` and a folder of its name in `seeds`.
pub const TARGETS: [Target; 16] = [
    ("bundle", text::bundle),
    ("capture", capture::capture),
    ("decode", decode::decode),
    ("fetch", http::fetch),
    ("layout", text::layout),
    ("packed", capture::packed),
    ("page", http::page),
    ("places", ring::beside),
    ("plan", text::plan),
    ("record", record::record),
    ("rig", text::rig),
    ("ring", ring::ring),
    ("service", http::service),
    ("tape", capture::tape),
    ("verify", verify::verify),
    ("words", text::words),
];
