//! Where a run stands on its terms while it goes on: which streams are wanted, which findings count and which are waived, so
//! that what is shown agrees with the verdict that will be written. Pure: an account of the moment in, figures out.

use crate::filter::Filter;
use crate::waiver::Waived;
use std::collections::BTreeMap;
use wireproof_protocols::Severity;
use wireproof_protocols::verify::{Account, Finding};
use wireproof_protocols::words::counted;

/// How a finding counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It counts.
    Counts,
    /// It is waived, by the waiver of this id.
    Waived(String),
    /// It belongs to a stream that is left out.
    LeftOut,
}

/// What tells a finding from others: its stream, its code, its first occurrence.
type Key = (Option<usize>, &'static str, i64);

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The filter's expression; none when all streams are wanted.
    pub expression: Option<String>,
    /// For each stream looked at, in order of appearance: whether it is wanted.
    pub wanted: Vec<bool>,
    /// For each of them: it has warnings or violations, and all of them are waived.
    pub excused: Vec<bool>,
    /// For each output looked at: whether one of its streams is wanted.
    pub outputs: Vec<bool>,
    /// Findings that count, by severity: info, warning, violation.
    pub findings: [u64; 3],
    /// Findings that are waived.
    pub waived: u64,
    /// Missing datagrams of the streams that are wanted.
    pub lost: u64,
    /// True when there are waivers.
    pub has_waivers: bool,
    listed: usize,
    weights: BTreeMap<Key, Weight>,
}

impl Standing {
    /// Of an account whose waived findings are marked.
    pub(crate) fn of(
        account: &Account,
        wanted: Vec<bool>,
        filter: Option<&Filter>,
        waivers: &[Waived],
    ) -> Standing {
        let is_wanted = |stream: &usize| wanted.get(*stream).copied().unwrap_or(false);
        let mut s = Standing {
            expression: filter.map(|filter| filter.text().to_owned()),
            excused: vec![false; wanted.len()],
            outputs: account.outputs.iter().map(|o| o.streams.iter().any(is_wanted)).collect(),
            has_waivers: !waivers.is_empty(),
            listed: account.findings.len(),
            ..Standing::default()
        };
        let lost = account.streams.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
        s.lost = lost.fold(0, |sum, (stream, _)| sum.saturating_add(stream.sequence.lost));
        let mut blamed = vec![false; wanted.len()];
        for f in &account.findings {
            let weight = match (f.stream, f.waiver) {
                (Some(stream), _) if !is_wanted(&stream) => Weight::LeftOut,
                (_, Some(at)) => Weight::Waived(waivers.get(at).map(|w| w.id.clone()).unwrap_or_default()),
                _ => Weight::Counts,
            };
            s.add(f, weight, &mut blamed);
        }
        s.excused.iter_mut().zip(blamed).for_each(|(excused, blamed)| *excused &= !blamed);
        s.wanted = wanted;
        s
    }

    fn add(&mut self, f: &Finding, weight: Weight, blamed: &mut [bool]) {
        let list = match weight {
            Weight::LeftOut => None,
            Weight::Waived(_) => {
                self.waived += 1;
                Some(&mut self.excused[..])
            }
            Weight::Counts => {
                self.findings[f.severity as usize] += 1;
                Some(blamed)
            }
        };
        let place = f.stream.filter(|_| f.severity > Severity::Info);
        if let Some(marked) = list.and_then(|list| list.get_mut(place?)) {
            *marked = true;
        }
        self.weights.insert((f.stream, f.code, f.first_ns), weight);
    }

    /// How a finding counts; none when the account does not list it.
    pub fn weight(&self, stream: Option<usize>, code: &'static str, first_ns: i64) -> Option<&Weight> {
        self.weights.get(&(stream, code, first_ns))
    }

    /// Findings listed.
    pub fn listed(&self) -> usize {
        self.listed
    }

    /// Streams that are left out, of those looked at.
    pub fn left_out(&self) -> usize {
        self.wanted.iter().filter(|wanted| !**wanted).count()
    }

    /// Whether the stream is shown; streams that were not looked at are not known to be wanted.
    pub fn shows(&self, stream: usize) -> bool {
        self.wanted.get(stream).copied().unwrap_or(self.expression.is_none())
    }

    /// Streams of a run with so many that are wanted, as far as they were looked at.
    pub fn streams(&self, seen: usize) -> usize {
        match self.expression {
            Some(_) => self.wanted.len() - self.left_out(),
            None => seen,
        }
    }

    /// What the figures of a run with so many streams leave out, in words; empty when they leave out nothing.
    pub fn words(&self, seen: usize) -> String {
        let mut words = Vec::new();
        if self.has_waivers {
            words.push(format!("{} waived", self.waived));
        }
        if let Some(expression) = &self.expression {
            words.push(format!("{} left out: where {expression}", counted(self.left_out() as u64, "stream")));
        }
        let unknown = seen.saturating_sub(self.wanted.len());
        if unknown > 0 {
            words.push(format!("{} not looked at", counted(unknown as u64, "stream")));
        }
        words.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample;
    use crate::waiver::{Day, Most, Scope, WaiverState};
    use crate::{Observer, Source, Summary, Terms, Waiver};
    use wireproof_protocols::verify::{Owners, StreamAccount};

    fn waiver(max: u64) -> Waiver {
        Waiver {
            code: "SEQ-LOST",
            scope: Scope::Streams(Filter::parse("protocol == *").unwrap()),
            most: Most::InAll(max),
            reason: "known".to_owned(),
            expires: Day::parse("2199-12-31").unwrap(),
        }
    }

    /// Two losses of stream 0, a warning of stream 1.
    fn account() -> Account {
        let mut account = sample::account();
        (account.first_ns, account.last_ns) = (Some(1), Some(2_000_000_000));
        account.streams.truncate(1);
        account.streams.push(StreamAccount { stream_id: 77, ..sample::stream() });
        let loss = |id: &str, first_ns: i64| Finding {
            first_ns,
            count: 1,
            proven: 1,
            owners: Some(Owners { unknown: 1, ..Owners::default() }),
            ..sample::finding(id, "SEQ-LOST")
        };
        let late =
            Finding { severity: Severity::Warning, stream: Some(1), ..sample::finding("f0003", "SEQ-LATE") };
        account.findings = vec![loss("f0001", 10), loss("f0002", 20), late];
        account
    }

    fn terms(filter: Option<&str>, waivers: Vec<Waiver>) -> Terms {
        let filter = filter.map(|text| Filter::parse(text).unwrap());
        Terms { filter, waivers, ..Terms::default() }
    }

    /// What stands now is what the record of the same account says.
    fn agrees(terms: &Terms) -> Standing {
        let mut account = account();
        let standing = terms.stand(&account);
        let settled = terms.settle_so_far(&mut account);
        let s = Summary::settled(&account, Source::default(), Observer::default(), false, settled);
        let f = s.totals.findings;
        let notices = s.findings.iter().filter(|f| f.code.starts_with("RIG-WAIVER")).count() as u64;
        assert_eq!(standing.findings.iter().sum::<u64>() + notices, f.info + f.warning + f.violation);
        assert_eq!((standing.waived, standing.lost), (f.waived, s.totals.lost));
        assert_eq!(standing.streams(account.streams.len()), s.streams.len());
        standing
    }

    #[test]
    fn without_terms_everything_counts() {
        let standing = agrees(&Terms::default());
        assert!(Terms::default().is_empty() && standing.words(2).is_empty());
        assert_eq!(standing.weight(Some(0), "SEQ-LOST", 10), Some(&Weight::Counts));
        assert_eq!((standing.listed(), standing.weight(Some(0), "SEQ-LOST", 11)), (3, None));
    }

    #[test]
    fn waived_findings_are_counted_apart_and_their_stream_is_excused_until_there_are_too_many() {
        let standing = agrees(&terms(None, vec![waiver(2)]));
        assert_eq!((standing.findings, standing.waived), ([0, 1, 0], 2));
        assert_eq!(standing.weight(Some(0), "SEQ-LOST", 20), Some(&Weight::Waived("w1".to_owned())));
        assert_eq!((standing.excused[0], standing.excused[1]), (true, false));
        assert_eq!(standing.words(2), "2 waived");
        let exceeded = agrees(&terms(None, vec![waiver(1)]));
        assert_eq!((exceeded.findings, exceeded.waived, exceeded.excused[0]), ([0, 1, 2], 0, false));
    }

    #[test]
    fn streams_that_do_not_fit_are_left_out_with_their_findings() {
        let standing = agrees(&terms(Some("stream_id == 77"), vec![waiver(9)]));
        assert_eq!(standing.weight(Some(0), "SEQ-LOST", 10), Some(&Weight::LeftOut));
        assert_eq!((standing.findings, standing.waived), ([0, 1, 0], 0));
        assert!(!standing.shows(0) && standing.shows(1) && !standing.shows(2));
        let words = standing.words(5);
        assert!(
            words.contains("1 stream left out: where stream_id") && words.contains("3 streams not looked at"),
            "{words}"
        );
    }

    #[test]
    fn that_nothing_matched_a_waiver_so_far_is_no_finding() {
        let mut account = account();
        account.findings.clear();
        let settled = terms(None, vec![waiver(1)]).settle_so_far(&mut account);
        assert_eq!((settled.waivers[0].state, account.findings.len()), (WaiverState::Unused, 0));
        terms(None, vec![waiver(1)]).settle(&mut account);
        assert_eq!(account.findings[0].code, "RIG-WAIVER-UNUSED");
    }
}
