//! Rules that need more than one datagram and belong to no protocol alone.

use crate::{Layer, Rule, Severity};

/// The catalogue, in code order.
pub static RULES: &[Rule] = &[];
#[allow(dead_code)]
const _: (Layer, Severity) = (Layer::Stream, Severity::Info);
