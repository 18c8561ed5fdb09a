//! What the demo says and keeps: the result on the terminal, the files of its folder.

use super::compare::{Comparison, Row};
use super::plan::meaning;
use super::{Demo, write};
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::live::drain::BROKEN_OFF;
use serde::Deserialize;
use std::fs;
use wireproof_protocols::verify::Owners;
use wireproof_reports::page::{self, Section};
use wireproof_reports::{Drain, DrainedRing, Format, Style, Summary, render};

/// The device's own account, as far as the demo holds it against the wire.
#[derive(Deserialize)]
struct DeviceAccount {
    outputs: Vec<DeviceOutput>,
}

#[derive(Deserialize)]
struct DeviceOutput {
    datagrams: u64,
    handed: u64,
    goodbyes: u64,
}

/// Every datagram on its way from the device to the observer: what left it is what was seen, without what was seen
/// twice, and with what is missing behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Balance {
    /// Left the device by its own account, each once, those lost behind it included; `None` without such an account.
    left: Option<u64>,
    seen: u64,
    /// Seen once more than they were sent.
    duplicates: u64,
    /// Owners of what is missing; what was never sent has not left.
    missing: Owners,
}

impl Balance {
    /// Seen, without duplicates, with those missing behind the device.
    fn sum(&self) -> Option<u64> {
        let Owners { wire, observer, unknown, .. } = self.missing;
        (self.seen + wire + observer + unknown).checked_sub(self.duplicates)
    }

    fn is_even(&self) -> bool {
        self.left.is_some() && self.left == self.sum()
    }

    /// `7696 left the device = 7696 seen - 1 seen twice + 1 missing behind it`.
    fn line(&self) -> String {
        let Owners { wire, observer, unknown, .. } = self.missing;
        let left = self.left.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let sign = if self.is_even() { "=" } else { "is not" };
        let (seen, twice, behind) = (self.seen, self.duplicates, wire + observer + unknown);
        format!("{left} left the device {sign} {seen} seen - {twice} seen twice + {behind} missing behind it")
    }
}

impl Demo<'_> {
    /// What is not as it should be, one line each: all planted faults found, nothing else, nothing lost by the observer,
    /// every ring that came verified, every datagram that left the device seen. Empty: the demo is good.
    pub(super) fn amiss(&self, summary: &Summary, comparison: &Comparison) -> Vec<String> {
        let (good, broken, bad) = rings(summary);
        let (taken, seen, balance) = (self.taken(), summary.datagrams.lighting, self.balance(summary));
        let told = taken.map_or_else(|| "no account".to_owned(), |n| n.to_string());
        let planted = self.faults.len();
        let checks = [
            (
                comparison.rows.len() == planted,
                format!("the device planted {} of {planted} faults", comparison.rows.len()),
            ),
            (comparison.found() == planted, format!("found {} of {planted} faults", comparison.found())),
            (comparison.wrong.is_empty(), format!("{} findings that nobody planted", comparison.wrong.len())),
            (summary.observer.lost == 0, format!("the observer lost {}", summary.observer.lost)),
            (bad == 0, format!("{bad} of {} rings were not verified", good + bad)),
            (good > 0, format!("no ring came whole ({broken} were broken off by the end of the run)")),
            (taken == Some(seen), format!("the way took {told} datagrams, {seen} were seen")),
            (balance.is_even(), format!("datagrams: {}", balance.line())),
        ];
        checks.into_iter().filter(|(holds, _)| !holds).map(|(_, text)| text).collect()
    }

    /// The device's own account.
    fn account(&self) -> Option<DeviceAccount> {
        serde_json::from_str(&fs::read_to_string(self.out.join("device.json")).ok()?).ok()
    }

    /// Datagrams that the device's kernel took, as often as it took them.
    fn taken(&self) -> Option<u64> {
        Some(self.account()?.outputs.iter().map(|o| o.datagrams + o.goodbyes).sum())
    }

    /// What left the device against what was seen.
    fn balance(&self, summary: &Summary) -> Balance {
        let twice = summary.streams.iter().map(|s| s.sequence.duplicates).sum::<u64>();
        Balance {
            left: self.account().map(|account| account.outputs.iter().map(|o| o.handed + o.goodbyes).sum()),
            seen: summary.datagrams.lighting,
            duplicates: twice + summary.datagrams.capture_duplicates,
            missing: owners(summary),
        }
    }

    /// The line that says it all.
    fn result(&self, summary: &Summary, comparison: &Comparison) -> String {
        format!(
            "found {} of {}, {} false, observer lost {}",
            comparison.found(),
            self.faults.len(),
            comparison.wrong.len(),
            summary.observer.lost
        )
    }

    /// Writes the files, then says the result.
    pub(super) fn keep(&self, summary: &Summary, comparison: &Comparison) -> Result<(), Failure> {
        let result = self.result(summary, comparison);
        for (name, format) in [("summary.json", Format::Json), ("run.md", Format::Markdown)] {
            let style = Style { color: false, width: 120 };
            output::write(Some(&self.out.join(name)), |out| Ok(render(summary, format, style, out)?))?;
        }
        let page = self.out.join("index.html");
        let sections = [self.planted(comparison), self.datagrams(summary)];
        let title = format!("wireproof demo: {result}");
        output::write(Some(&page), |out| Ok(page::write(&title, summary, &sections, out)?))?;
        write(&self.out.join("result.txt"), &format!("{result}\n"))?;
        let lines = self.lines(summary, comparison);
        let amiss = self.amiss(summary, comparison);
        output::write(None, |out| {
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            amiss.iter().try_for_each(|why| writeln!(out, "not as planned: {why}"))?;
            if let Some(why) = unread(summary).filter(|_| !amiss.is_empty()) {
                writeln!(out, "INVALID: {why}")?;
            }
            writeln!(out, "{result}")?;
            Ok(writeln!(out, "page: {}", page.display())?)
        })
    }

    fn lines(&self, summary: &Summary, comparison: &Comparison) -> Vec<String> {
        let mut lines: Vec<String> = comparison.rows.iter().map(line).collect();
        lines.extend(comparison.wrong.iter().map(|(id, code)| format!("not planted: {id} {code}")));
        let (good, broken, bad) = rings(summary);
        let cut = match broken {
            0 => String::new(),
            n => format!(" ({n} more broken off by the end of the run)"),
        };
        lines.push(format!("rings: {good} of {} verified{cut}", good + bad));
        let missing = shares(&owners(summary));
        lines.push(format!("datagrams: {}; missing: {missing}", self.balance(summary).line()));
        lines
    }

    fn planted(&self, comparison: &Comparison) -> Section {
        let row = |row: &Row| {
            let found: Vec<String> = row.findings.iter().map(|(id, code)| format!("{id} {code}")).collect();
            vec![
                row.deed.kind.clone(),
                meaning(&row.deed.kind).to_owned(),
                row.deed.output.clone().unwrap_or_default(),
                row.deed.frame.to_string(),
                row.deed.datagrams.to_string(),
                if row.found { "found" } else { "NOT FOUND" }.to_owned(),
                found.join(", "),
                shares(&row.owners),
            ]
        };
        let columns = ["fault", "what", "output", "frame", "datagrams", "", "findings", "owners"];
        Section {
            heading: "What was planted, and what was found".to_owned(),
            text: "The device wrote down each fault as it did it (truth.jsonl); nothing of that was known to the observer."
                .to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: comparison.rows.iter().map(row).collect(),
        }
    }

    fn datagrams(&self, summary: &Summary) -> Section {
        let (good, broken, bad) = rings(summary);
        let balance = self.balance(summary);
        let o = balance.missing;
        let row = |what: &str, n: u64| vec![what.to_owned(), n.to_string()];
        let verdict = if balance.is_even() { "It adds up" } else { "It does NOT add up" };
        Section {
            heading: "Every datagram accounted for".to_owned(),
            text: format!("{verdict}: {}. What was never sent has not left it.", balance.line()),
            columns: vec![String::new(), "number".to_owned()],
            rows: vec![
                row("datagrams seen", balance.seen),
                row("\u{2212} seen twice (duplicates)", balance.duplicates),
                row("+ missing: lost behind the device (wire)", o.wire),
                row("+ missing: lost by the observer", o.observer),
                row("+ missing: unknown", o.unknown),
                row("= together", balance.sum().unwrap_or_default()),
                row("datagrams that left the device, by its own account", balance.left.unwrap_or_default()),
                row("never left it: missing (sender)", o.sender),
                row("frames of the device", self.frames),
                row("rings verified", good),
                row("rings refused or not whole", bad),
                row("downloads broken off by the end of the run", broken),
            ],
        }
    }
}

fn line(row: &Row) -> String {
    let deed = &row.deed;
    let ids: Vec<String> = row.findings.iter().map(|(id, code)| format!("{id} {code}")).collect();
    format!(
        "{} {} (frame {}, {}: {}): {}{}",
        if row.found { "found" } else { "NOT FOUND" },
        deed.kind,
        deed.frame,
        deed.output.as_deref().unwrap_or("device"),
        meaning(&deed.kind),
        if ids.is_empty() { "no finding".to_owned() } else { ids.join(", ") },
        if row.owners == Owners::default() { String::new() } else { format!("; {}", shares(&row.owners)) }
    )
}

fn shares(o: &Owners) -> String {
    format!("sender {}, wire {}, observer {}, unknown {}", o.sender, o.wire, o.observer, o.unknown)
}

fn owners(summary: &Summary) -> Owners {
    summary.streams.iter().fold(Owners::default(), |sum, s| Owners {
        sender: sum.sender + s.owners.sender,
        wire: sum.wire + s.owners.wire,
        observer: sum.observer + s.owners.observer,
        unknown: sum.unknown + s.owners.unknown,
    })
}

/// Why the recorder's word is missing: then the demo says nothing about what was found. `None` when it was read.
pub(super) fn unread(summary: &Summary) -> Option<String> {
    let late = |drain: &&Drain| drain.error.as_deref().is_some_and(|error| error != BROKEN_OFF);
    let late = summary.drains.iter().filter(late).count();
    let (good, _, _) = rings(summary);
    (late > 0 || good == 0).then(|| {
        let all = summary.drains.len();
        format!(
            "this host was too busy to read the recorder: {late} of {all} downloads failed and {good} came whole; try again \
             when it does less"
        )
    })
}

/// Downloads that were verified, those that the end of the run broke off, and the others.
fn rings(summary: &Summary) -> (u64, u64, u64) {
    let is_cut = |drain: &&Drain| drain.error.as_deref() == Some(BROKEN_OFF);
    let good = summary.drains.iter().filter(|d| matches!(d.ring, Some(DrainedRing::Ok { .. }))).count();
    let broken = summary.drains.iter().filter(is_cut).count();
    (good as u64, broken as u64, (summary.drains.len() - good - broken) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_that_the_end_of_the_run_broke_off_is_no_ring_that_was_refused() {
        let error = |text: &str| Drain { error: Some(text.to_owned()), ..Drain::default() };
        let ring = Some(DrainedRing::Refused { code: "torn".to_owned() });
        let drains = vec![error(BROKEN_OFF), error("connection refused"), Drain { ring, ..Drain::default() }];
        assert_eq!(rings(&Summary { drains, ..page_summary() }), (0, 1, 2));
    }

    #[test]
    fn downloads_that_did_not_come_in_time_are_the_hosts_and_one_that_lies_is_not() {
        let why = |drains: Vec<Drain>| unread(&Summary { drains, ..page_summary() });
        let error = |text: &str| Drain { error: Some(text.to_owned()), ..Drain::default() };
        let ring = |ring| Drain { ring: Some(ring), ..Drain::default() };
        let whole = || {
            ring(DrainedRing::Ok {
                generation: 1,
                snapshot: Some(1),
                frames: 1,
                first_frame: None,
                last_frame: None,
                missing: 0,
                dropped: 0,
                partial: 0,
            })
        };
        let refused = ring(DrainedRing::Refused { code: "torn".to_owned() });
        assert_eq!(why(vec![whole(), error(BROKEN_OFF), refused]), None, "what was read decides");
        let late = why(vec![whole(), error("not finished within 5000 ms")]).unwrap();
        assert!(late.contains("1 of 2 downloads failed and 1 came whole"), "{late}");
        assert!(why(vec![error(BROKEN_OFF)]).is_some() && why(Vec::new()).is_some());
    }

    fn page_summary() -> Summary {
        let (account, observer) =
            (wireproof_protocols::verify::Account::default(), wireproof_reports::Observer::default());
        Summary::of_run(&account, wireproof_reports::Source::default(), observer, false)
    }

    fn balance(left: u64, seen: u64, duplicates: u64, wire: u64) -> Balance {
        let missing = Owners { wire, sender: 4, ..Owners::default() };
        Balance { left: Some(left), seen, duplicates, missing }
    }

    #[test]
    fn every_term_of_the_balance_counts() {
        let even = balance(7_696, 7_696, 1, 1);
        assert!(even.is_even() && balance(10, 10, 0, 0).is_even() && balance(10, 9, 0, 1).is_even());
        assert_eq!(even.line(), "7696 left the device = 7696 seen - 1 seen twice + 1 missing behind it");
        for odd in [balance(7_696, 7_696, 0, 1), balance(7_696, 7_696, 1, 0), balance(7_695, 7_696, 1, 1)] {
            assert!(!odd.is_even() && odd.line().contains("left the device is not"), "{odd:?}");
        }
        assert!(
            !Balance { left: None, ..even }.is_even()
                && Balance { left: None, ..even }.line().starts_with("? ")
        );
        let twice = Balance { seen: 0, duplicates: 1, missing: Owners::default(), left: Some(0) };
        assert_eq!((twice.sum(), twice.is_even()), (None, false));
    }
}
