//! A run with a planted loss, and terms for it: what tests of views look at.

use crate::live::glances::Look;
use crate::live::receive::Told;
use wireproof_fixture::case;
use wireproof_protocols::verify::{Glance, Options, Progress, Verifier};
use wireproof_protocols::{Severity, Timestamp};
use wireproof_reports::waiver::{Day, Most, Scope};
use wireproof_reports::{Filter, Terms, Waiver};

/// A case with losses, and what was told of it so far.
pub(crate) struct Run {
    pub(crate) verifier: Verifier,
    pub(crate) told: Vec<Told>,
}

/// The whole case.
pub(crate) fn run() -> Run {
    let planted = (case("sacn-drop-one").unwrap().build)(1).unwrap();
    let mut verifier = Verifier::new(Options::default());
    planted.iter().for_each(|(arrival, d)| verifier.on_datagram(arrival, &d));
    let news = verifier.news(Timestamp(i64::MAX / 2));
    let told =
        news.iter().map(|f| Told::of(f, f.stream.and_then(|s| verifier.identity(s)))).collect::<Vec<_>>();
    assert!(told.iter().any(|t| t.severity == Severity::Violation), "{told:?}");
    Run { verifier, told }
}

/// A look at it.
pub(crate) fn look(run: &mut Run) -> Look {
    let mut look = Look { glance: Glance::roomy(), ..Look::default() };
    run.verifier.glance(Timestamp(i64::MAX / 2), &mut look.glance);
    look
}

/// Where the run stands, by streams.
pub(crate) fn progress(run: &mut Run) -> Progress {
    let mut progress = Progress::with_room(64);
    run.verifier.progress(&mut progress);
    progress
}

/// A filter, and a waiver of so many losses, where they are wanted.
pub(crate) fn terms(filter: Option<&str>, max: Option<u64>) -> Terms {
    let waiver = |code, max| Waiver {
        code,
        scope: Scope::Streams(Filter::parse("protocol == sacn").unwrap()),
        most: Most::InAll(max),
        reason: "known".to_owned(),
        expires: Day::parse("2199-12-31").unwrap(),
    };
    let waivers = max.map(|max| vec![waiver("SEQ-LOST", max)]).unwrap_or_default();
    Terms { filter: filter.map(|text| Filter::parse(text).unwrap()), waivers, ..Terms::default() }
}
