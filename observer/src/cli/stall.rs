//! `selftest stall` and `observe --self-check`: the positive control of the attribution.

use super::failure::Failure;
use crate::live::control::{Control, stall};

/// Exit code of a tool that does not report its own loss: nothing it says of others can be believed.
const INVALID: u8 = 4;

/// Runs the control, on portable sockets when asked to.
///
/// Returns the line that says what was found.
pub(super) fn check(portable: bool) -> Result<String, Failure> {
    let todo = "see `wireproof doctor`";
    let c: Control =
        stall(portable).map_err(|e| Failure::io(&format!("the self-check cannot run ({e})"), todo))?;
    let counted = if c.has_counter {
        format!("{} counted by the kernel", c.counted)
    } else {
        "no counter of drops".to_owned()
    };
    let text = format!(
        "stopped for {} ms: {} datagrams sent, {} received, {counted}, {} missing, {} of them the observer's",
        c.stopped.as_millis(),
        c.sent,
        c.received,
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
