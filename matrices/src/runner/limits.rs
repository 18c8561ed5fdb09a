//! How long commands may take, and what is tried again.

use super::io::Command;

/// Time over its limit after which a command counts as lost, ns.
pub(super) const GRACE_NS: i64 = 1_000_000_000;
/// Time that an aborted command has to answer, ns.
pub(super) const ABORT_NS: i64 = 2_000_000_000;
/// Time that everything has after a second signal, ns.
pub(super) const HURRY_NS: i64 = 2_000_000_000;
/// Time that an aborted command has to answer after a second signal, ns.
pub(super) const HURRY_ABORT_NS: i64 = 300_000_000;
/// Waits before a device that did not answer is asked again (row 20), ns.
pub(super) const BACKOFF_NS: [i64; 3] = [200_000_000, 500_000_000, 1_000_000_000];

/// Longest that a command may take, ns; toggles have their own.
pub(super) fn limit_ns(command: &Command) -> u64 {
    let seconds: u64 = match command {
        Command::Preflight => 120,
        Command::Journal(_) | Command::SampleClock | Command::Rejoin | Command::StartArm(_) => 10,
        Command::Measure(_) | Command::KeepArm(_) | Command::DropEvidence { .. } => 60,
        Command::Seal(_) => 600,
        // Inside a window nothing may hold it up.
        Command::OpenWindow | Command::StartDrain { .. } | Command::CloseWindow => 1,
        _ => 5,
    };
    seconds * 1_000_000_000
}

/// True for commands that only ask the device something, or may be given to it twice.
pub(super) fn is_repeatable(command: &Command) -> bool {
    matches!(
        command,
        Command::ReadStatus
            | Command::RenewLease
            | Command::ReadToggle { .. }
            | Command::SetToggle { .. }
            | Command::VerifyToggle { .. }
            | Command::ReadCounter { .. }
            | Command::SampleClock
    )
}

/// True for commands that are better finished than given up at the first signal.
pub(super) fn is_finished_first(command: &Command) -> bool {
    matches!(
        command,
        Command::Journal(_)
            | Command::SetToggle { .. }
            | Command::KeepArm(_)
            | Command::DropEvidence { .. }
            | Command::Seal(_)
            | Command::DropArm { .. }
    )
}
