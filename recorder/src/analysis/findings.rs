//! What of an analysis is a finding, by code; the catalogue of rules says what each means. Counts nothing of its own.

use super::coverage::{Coverage, TARGET_PERCENT, below_target};
use super::frame_causes::CauseReport;
use super::requests::{Outcome, RequestRow, Requests};
use super::slow::{Deadlines, Slow};
use crate::account::Account;
use crate::places::Places;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The device did what it must not.
    Violation,
    /// It probably did.
    Warning,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Violation => "violation",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// Codes of findings about rings.
pub mod code {
    /// Deadlines were missed.
    pub const DEADLINE: &str = "RING-DEADLINE";
    /// Frames took 20 ms and more.
    pub const SLOW: &str = "RING-SLOW";
    /// Children explain less of the time than they should.
    pub const COVERAGE: &str = "RING-COVERAGE";
    /// Frames are missing that were not left out on purpose.
    pub const LOST: &str = "RING-LOST";
    /// A request got no frame.
    pub const NEVER: &str = "RING-FRAME-NEVER";
    /// A request got a frame only because of something unrelated.
    pub const UNRELATED: &str = "RING-FRAME-UNRELATED";
    /// Requests waited long for their frame.
    pub const LATE: &str = "RING-FRAME-LATE";
    /// A source asks for one frame after the other.
    pub const ALWAYS: &str = "RING-FRAME-ALWAYS";
    /// The share of frames by `other` surges.
    pub const SURGE: &str = "RING-OTHER-SURGE";
    /// Frames carry no cause while others do.
    pub const NO_CAUSE: &str = "RING-CAUSE-MISSING";
    /// Sources have no name in the side file.
    pub const UNNAMED: &str = "RING-PLACE-UNKNOWN";
    /// No frame carries a cause.
    pub const NO_CAUSES: &str = "RING-CAUSES-ABSENT";
    /// All codes.
    pub const ALL: [&str; 12] =
        [DEADLINE, SLOW, COVERAGE, LOST, NEVER, UNRELATED, LATE, ALWAYS, SURGE, NO_CAUSE, UNNAMED, NO_CAUSES];
}

/// A finding about a ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Key of the catalogue.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// How often.
    pub count: u64,
    /// A frame to look at.
    pub frame: Option<u32>,
    /// One sentence.
    pub text: String,
}

/// What the frames of a ring say; `lost` are ids that are missing and were not skipped.
pub fn of_frames(
    account: &Account,
    coverage: &Coverage,
    slow: &Slow,
    deadlines: &Deadlines,
    lost: u64,
) -> Vec<Finding> {
    let mut list = List::default();
    let warning = Severity::Warning;
    let overrun = ms(deadlines.worst_overrun_ns);
    list.add(code::DEADLINE, warning, deadlines.missed, None, || {
        format!("deadlines missed, the worst by {overrun} ms")
    });
    list.add(code::SLOW, warning, slow.frames, slow.worst_frame, || {
        format!(
            "frames of {} ms and more, the worst of {} ms; {} of them are listed",
            ms(slow.threshold_ns),
            ms(slow.worst_ns),
            slow.told.len()
        )
    });
    let shares = [
        ("frame", account.frame_coverage(), coverage.worst_frame_id),
        ("device", account.device_coverage(), coverage.worst_device_frame),
    ];
    for (what, share, frame) in shares {
        let percent = share.percent().unwrap_or_default();
        list.add(code::COVERAGE, warning, u64::from(below_target(share)), frame, || {
            format!("children explain {percent:.2} % of the {what} time, less than {TARGET_PERCENT} %")
        });
    }
    list.add(code::LOST, warning, lost, None, || {
        "frame ids missing that were not skipped on purpose".to_owned()
    });
    list.0
}

/// What causes and requests say.
pub fn of_causes(causes: &CauseReport, requests: &Requests, places: &Places) -> Vec<Finding> {
    let mut list = List::default();
    list.requests(requests);
    for always in &causes.always {
        let own = if always.own { "; it sounds like the measuring tool itself" } else { "" };
        list.add(code::ALWAYS, Severity::Warning, always.row.frames, Some(always.row.first), || {
            format!(
                "{} of {} asked for every frame from {} to {}{own}",
                always.class.name(),
                always.place,
                always.row.first,
                always.row.last
            )
        });
    }
    if let Some(surge) = &causes.surge {
        list.add(code::SURGE, Severity::Warning, surge.other, Some(surge.first), || {
            format!(
                "{} of {} frames are by other, of {} before it were {}: perhaps places are recorded no more",
                surge.other, surge.frames, surge.frames_before, surge.other_before
            )
        });
    }
    if causes.cause_records == 0 {
        list.add(code::NO_CAUSES, Severity::Info, causes.counts.frames, None, || {
            "no frame says why it was made".to_owned()
        });
    } else {
        list.add(code::NO_CAUSE, Severity::Warning, causes.other.unrecorded, None, || {
            "frames do not say why they were made, others do".to_owned()
        });
    }
    if !places.is_empty() {
        list.add(code::UNNAMED, Severity::Warning, causes.unnamed, None, || {
            "records of sources that the side file does not name".to_owned()
        });
    }
    list.0
}

#[derive(Default)]
struct List(Vec<Finding>);

impl List {
    /// Adds what happened at least once.
    fn add(
        &mut self,
        code: &'static str,
        severity: Severity,
        count: u64,
        frame: Option<u32>,
        text: impl FnOnce() -> String,
    ) {
        if count > 0 {
            self.0.push(Finding { code, severity, count, frame, text: text() });
        }
    }

    fn requests(&mut self, requests: &Requests) {
        let first = |outcome| requests.told.iter().find(|row| row.outcome == outcome);
        let frame = |row: Option<&RequestRow>| row.and_then(|row| row.frame);
        let at = |row: Option<&RequestRow>| {
            row.map_or_else(String::new, |row| {
                format!("; the first by {} waited {} ms", row.place, ms(row.waited_ns))
            })
        };
        let (never, unrelated, late) =
            (first(Outcome::Never), first(Outcome::Unrelated), first(Outcome::Served));
        self.add(code::NEVER, Severity::Violation, requests.never, None, || {
            format!("requests got no frame{}", at(never))
        });
        self.add(code::UNRELATED, Severity::Violation, requests.unrelated, frame(unrelated), || {
            format!("requests got a frame only because of something unrelated{}", at(unrelated))
        });
        let limit = ms(requests.late_after_ns);
        self.add(code::LATE, Severity::Warning, requests.late, frame(late), || {
            format!("requests waited longer than {limit} ms for their frame{}", at(late))
        });
    }
}

fn ms(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000)
}
