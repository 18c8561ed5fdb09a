//! `selftest stall` and `observe --self-check`: the positive control of the attribution.

use super::failure::Failure;
use crate::live::control::{Control, stall};

/// Exit code of a tool that does not report its own loss: nothing it says of others can be believed.
const INVALID: u8 = 4;

/// Runs the control.
///
/// Returns the line that says what was found.
pub(super) fn check() -> Result<String, Failure> {
    let todo = "see `wireproof doctor`";
    let c: Control = stall().map_err(|e| Failure::io(&format!("the self-check cannot run ({e})"), todo))?;
    let text = format!(
        "stopped for {} ms: {} datagrams sent, {} received, {} counted by the kernel, {} missing, {} of them the observer's",
        c.stopped.as_millis(),
        c.sent,
        c.received,
        c.counted,
        c.missing,
        c.observers
    );
    if c.holds() {
        return Ok(format!("PASS  {text}"));
    }
    let text = format!(
        "FAIL  the tool does not account for its own loss ({text}): do not trust its runs on this host"
    );
    Err(Failure::Said { code: INVALID, text })
}
