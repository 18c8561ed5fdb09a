//! The losses of one stream against what its device recorded: who lost each of them. Moves nothing but what was
//! unknown, and that only where the record decides.

use wireproof_protocols::verify::{Finding, Owners};

/// Longest that a datagram is taken to travel, ns.
pub(crate) const TRAVEL_NS: i64 = 5_000_000;

/// Datagrams of a stream that were not handed over, and the stamps between which they are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absent {
    /// Stamps, ns since 1970.
    pub(super) stamps: (i64, i64),
    /// How many; of them `others` may belong to neighbouring streams.
    pub(super) count: u64,
    /// Nobody knows whether they are this stream's.
    pub(super) vague: bool,
}

/// What the record says about one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Testimony {
    /// Stamps between which the record is whole.
    pub(super) covered: Vec<(i64, i64)>,
    /// What was not handed over.
    pub(super) absent: Vec<Absent>,
}

/// Why losses of a stream stay unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Open {
    /// The record has a hole there, or does not reach so far.
    Uncovered,
    /// The clocks are not known well enough.
    Clock,
    /// The record does not say which datagrams were not sent.
    Which,
    /// The record names datagrams as not sent where none is missing.
    Contradiction,
}

/// A loss with an owner still to be found.
#[derive(Clone, Copy, Debug)]
struct Loss {
    stamps: (i64, i64),
    /// Missing without an owner, those left out that may be the observer's.
    unknown: u64,
    /// Of them so many may be the observer's own.
    open: u64,
    /// Of them so many are proven to be missing.
    proven: u64,
}

fn meet(a: (i64, i64), b: (i64, i64)) -> bool {
    a.0 <= b.1 && a.1 >= b.0
}

/// The shares of the stream's losses, in the order of `findings`: sender, wire, and why the rest stays open.
pub(super) fn shares(
    findings: &[&Finding],
    testimony: &Testimony,
    seen: (i64, i64),
    all_listed: bool,
) -> Vec<(u64, u64, Option<Open>)> {
    let losses: Vec<Loss> = findings.iter().map(|f| Loss::of(f)).collect();
    if all_listed && contradicts(&losses, testimony, seen) {
        return losses.iter().map(|_| (0, 0, Some(Open::Contradiction))).collect();
    }
    losses.iter().map(|loss| share(loss, &losses, testimony)).collect()
}

impl Loss {
    fn of(f: &Finding) -> Loss {
        let o = f.owners.unwrap_or_default();
        let known = o.sender + o.wire + o.observer;
        Loss {
            stamps: (f.since_ns, f.last_ns),
            unknown: o.unknown,
            open: f.open.min(o.unknown),
            proven: f.proven.saturating_sub(known).min(o.unknown),
        }
    }
}

/// The record says not sent, in the middle of what was observed, and nothing is missing: clocks or streams are not
/// what they are taken for.
fn contradicts(losses: &[Loss], testimony: &Testimony, (first, last): (i64, i64)) -> bool {
    let inside = |a: &&Absent| !a.vague && a.stamps.0 > first && a.stamps.1 < last;
    let unmatched = |a: &Absent| !losses.iter().any(|loss| meet(loss.stamps, a.stamps));
    testimony.absent.iter().filter(inside).any(unmatched)
}

fn share(loss: &Loss, all: &[Loss], testimony: &Testimony) -> (u64, u64, Option<Open>) {
    let near: Vec<&Absent> = testimony.absent.iter().filter(|a| meet(a.stamps, loss.stamps)).collect();
    if near.iter().any(|a| a.vague) {
        return (0, 0, Some(Open::Which));
    }
    let absent: u64 = near.iter().map(|a| a.count).sum();
    let rivals = all.iter().filter(|other| near.iter().any(|a| meet(a.stamps, other.stamps)));
    let (rivals, wanted) = rivals.fold((0u64, 0u64), |(n, sum), other| (n + 1, sum + other.unknown));
    if rivals > 1 && absent < wanted {
        return (0, 0, Some(Open::Clock));
    }
    let sender = loss.unknown.min(absent);
    let rest = loss.unknown - sender;
    let covered = testimony.covered.iter().any(|c| c.0 <= loss.stamps.0 && c.1 >= loss.stamps.1);
    if !covered {
        return (sender, 0, (rest > 0).then_some(Open::Uncovered));
    }
    // What may be the observer's own, or may not be missing at all, no record of the sender decides.
    let wire = rest.saturating_sub(loss.open).min(loss.proven.saturating_sub(sender));
    (sender, wire, None)
}

/// Moves shares from unknown to their owners.
pub(super) fn give(of: &mut Owners, sender: u64, wire: u64) {
    let sender = sender.min(of.unknown);
    let wire = wire.min(of.unknown - sender);
    of.sender += sender;
    of.wire += wire;
    of.unknown -= sender + wire;
}
