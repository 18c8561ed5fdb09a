//! Lays the terms of a run over what is shown of it while it goes on: findings wait for the next look at the run as a whole,
//! which says whether they count, are waived, or belong to a stream that is left out. It judges nothing itself.

#[cfg(test)]
pub(crate) mod example;

use super::conduct::Event;
use super::receive::Told;
use std::collections::VecDeque;
use wireproof_protocols::verify::Account;
use wireproof_reports::{Standing, Terms, Weight};

/// Findings that wait to be weighed, and waived ones that may come to count. Of more that wait, the oldest are told as they
/// are; of more that are waived, the oldest are not told again.
const KEPT: usize = 1_024;

/// What is shown of a run with terms.
#[derive(Debug)]
pub enum Shown<'a> {
    /// How everything stands; what comes behind it goes by it.
    Standing(&'a Standing),
    /// Something that happened. Findings of streams that are left out are not among it.
    Event(Event<'a>),
}

/// The terms and what waits for them.
#[derive(Debug)]
pub struct Lens {
    terms: Terms,
    standing: Option<Standing>,
    waiting: VecDeque<Told>,
    /// Shown as waived.
    waived: VecDeque<Told>,
}

impl Lens {
    /// The lens of a run; none when its terms leave everything as it is.
    pub fn of(terms: &Terms) -> Option<Lens> {
        let lens = || Lens {
            terms: terms.clone(),
            standing: None,
            waiting: VecDeque::new(),
            waived: VecDeque::new(),
        };
        (!terms.is_empty()).then(lens)
    }

    /// Hands on what an event shows.
    pub fn pass(&mut self, event: Event<'_>, show: &mut dyn FnMut(Shown<'_>)) {
        match event {
            Event::Looked(look) => {
                let glance = &look.glance;
                let whole = glance.account.findings.len() >= glance.findings_seen;
                self.weigh(&glance.account, whole, show);
            }
            Event::Found(told) => {
                keep(&mut self.waiting, told.clone(), &mut |oldest| {
                    show(Shown::Event(Event::Found(&oldest)));
                });
            }
            // Figures that nothing was laid over yet would say something else than the verdict.
            Event::Progress(..) if self.standing.is_none() => {}
            event => show(Shown::Event(event)),
        }
    }

    /// The run has ended: what waits is weighed by its account.
    pub fn finish(&mut self, account: &Account, show: &mut dyn FnMut(Shown<'_>)) {
        self.weigh(account, true, show);
    }

    /// Weighs what waits by an account of the moment; `whole` when it lists every finding.
    fn weigh(&mut self, account: &Account, whole: bool, show: &mut dyn FnMut(Shown<'_>)) {
        let standing = self.terms.stand(account);
        show(Shown::Standing(&standing));
        let waived = self.waived.drain(..).chain(self.waiting.drain(..)).collect::<Vec<_>>();
        for mut told in waived {
            let was = told.waived.take();
            match standing.weight(told.place, told.code, told.at.0) {
                Some(Weight::LeftOut) => {}
                Some(Weight::Counts) => show(Shown::Event(Event::Found(&told))),
                Some(Weight::Waived(id)) => {
                    told.waived = Some(id.clone());
                    if was.is_none() {
                        show(Shown::Event(Event::Found(&told)));
                    }
                    keep(&mut self.waived, told, &mut drop);
                }
                // Taken back: it turned out to be something else.
                None if whole => {}
                None => keep(&mut self.waiting, Told { waived: was, ..told }, &mut |oldest| {
                    show(Shown::Event(Event::Found(&oldest)));
                }),
            }
        }
        self.standing = Some(standing);
    }
}

/// Keeps one more; the oldest goes to `beyond` when there is no room.
fn keep(list: &mut VecDeque<Told>, told: Told, beyond: &mut dyn FnMut(Told)) {
    if list.len() == KEPT
        && let Some(oldest) = list.pop_front()
    {
        beyond(oldest);
    }
    list.push_back(told);
}

#[cfg(test)]
mod tests {
    use super::example::{look, run, terms};
    use super::*;

    /// Everything told of the run, then two looks: codes, with the waiver where there is one.
    fn shown(terms: &Terms) -> (Vec<(&'static str, Option<String>)>, Standing) {
        let (mut run, mut lens) = (run(), Lens::of(terms).unwrap());
        let (mut found, mut standing) = (Vec::new(), Standing::default());
        let mut show = |shown: Shown<'_>| match shown {
            Shown::Event(Event::Found(told)) => found.push((told.code, told.waived.clone())),
            Shown::Standing(now) => standing = now.clone(),
            Shown::Event(_) => {}
        };
        let told = std::mem::take(&mut run.told);
        told.iter().for_each(|told| lens.pass(Event::Found(told), &mut show));
        let look = look(&mut run);
        lens.pass(Event::Looked(&look), &mut show);
        lens.pass(Event::Looked(&look), &mut show);
        lens.finish(&look.glance.account, &mut show);
        (found, standing)
    }

    #[test]
    fn without_terms_there_is_no_lens() {
        assert!(Lens::of(&Terms::default()).is_none());
    }

    #[test]
    fn a_waived_finding_is_shown_once_as_waived_and_is_no_violation() {
        let (found, standing) = shown(&terms(None, Some(9)));
        let lost: Vec<_> = found.iter().filter(|(code, _)| *code == "SEQ-LOST").collect();
        assert_eq!(lost, [&("SEQ-LOST", Some("w1".to_owned()))], "{found:?}");
        assert_eq!(standing.waived, 1, "{standing:?}");
        assert!(found.iter().all(|(code, waived)| *code == "SEQ-LOST" || waived.is_none()));
    }

    #[test]
    fn findings_of_streams_that_are_left_out_are_not_shown() {
        let (found, standing) = shown(&terms(Some("protocol == artnet"), None));
        assert_eq!((found, standing.findings, standing.lost), (Vec::new(), [0; 3], 0));
        assert_eq!(standing.streams(1), 0);
    }

    #[test]
    fn nothing_is_shown_before_it_was_weighed_and_a_waiver_that_is_exceeded_tells_again() {
        let mut run = run();
        let mut lens = Lens::of(&terms(None, Some(1))).unwrap();
        let mut told = Vec::new();
        let first = run.told.iter().find(|t| t.code == "SEQ-LOST").cloned().unwrap();
        lens.pass(Event::Found(&first), &mut |_| panic!("too early"));
        let look = look(&mut run);
        let mut show = |shown: Shown<'_>| {
            if let Shown::Event(Event::Found(t)) = shown {
                told.push(t.waived.clone());
            }
        };
        lens.pass(Event::Looked(&look), &mut show);
        let mut more = look.glance.account.clone();
        more.findings.iter_mut().for_each(|f| f.count += 1);
        lens.finish(&more, &mut show);
        assert_eq!(told, [Some("w1".to_owned()), None]);
    }

    #[test]
    fn what_waits_is_bounded_and_nothing_of_it_is_lost() {
        let run = run();
        let mut lens = Lens::of(&terms(None, Some(1))).unwrap();
        let mut early = 0;
        for _ in 0..KEPT + 10 {
            lens.pass(Event::Found(&run.told[0]), &mut |_| early += 1);
        }
        assert_eq!((early, lens.waiting.len()), (10, KEPT));
    }
}
