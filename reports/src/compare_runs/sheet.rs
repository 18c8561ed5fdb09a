//! Two runs laid out: what they are, which streams were matched how, rates with their intervals, times.

use super::{By, Pair, RunSide, Runs, Seen, Share};
use crate::sheet::{Align, Grid, Part, Sheet};
use crate::text::{base_name, milliseconds, rate, rfc3339, seconds};
use wireproof_matrices::compare::{DASH, thousands};

/// The sheet of two runs.
pub(super) fn of(runs: &Runs) -> Sheet {
    let facts =
        Grid::facts([("before", side(&runs.before)), ("after", side(&runs.after)), ("result", runs.line())]);
    let parts = vec![
        Part::default().grid(facts),
        Part::new("streams").grid(streams(runs)),
        Part::new("what is not compared, and why").list(why(runs)),
        titled("how often", RATES, shares(runs)),
        titled("intervals", TIMES, times(runs)),
    ];
    let title = match (base_name(&runs.after.name), base_name(&runs.before.name)) {
        // Of two files of one name the folders say which is which.
        (after, before) if after == before => {
            let (after, before) = unlike(&runs.after.name, &runs.before.name);
            format!("{after} after {before}")
        }
        (after, before) => format!("{after} after {before}"),
    };
    Sheet { word: runs.outcome.word().to_uppercase(), title, parts }
}

const RATES: &str = "Exact 95 % intervals (Clopper-Pearson); rates differ when these do not touch, of losses those of the \
                     bursts, too.";
const TIMES: &str = "Between datagrams, and from frame to frame. Worse or better past 10 % and 20 \u{b5}s; a largest one is only shown.";

/// The ends of two paths, from the first part on that differs.
fn unlike<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    let parts = |path: &'a str| path.rsplit('/').filter(|part| !part.is_empty());
    let same = parts(a).zip(parts(b)).take_while(|(a, b)| a == b).count();
    let end = |path: &'a str| path.rmatch_indices('/').nth(same).map_or(path, |(at, _)| &path[at + 1..]);
    (end(a), end(b))
}

/// A table under a sentence; neither without rows.
fn titled(heading: &str, text: &str, grid: Grid) -> Part {
    if grid.rows.is_empty() { Part::default() } else { Part::new(heading).text(text).grid(grid) }
}

fn side(side: &RunSide) -> String {
    let at = side.first_ns.map(|ns| format!(" from {}", rfc3339(ns, 6))).unwrap_or_default();
    format!(
        "{} ({}): {} datagrams in {} s{at}, stamps {}",
        side.name,
        side.verdict.word(),
        thousands(side.lighting.into()),
        seconds(side.span_ns),
        side.timestamps
    )
}

fn grid(columns: &[(&str, Align)], rows: Vec<Vec<String>>, spare: Vec<usize>) -> Grid {
    let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
    Grid { columns, rows, spare }
}

/// `sacn/data 1`, with Physical where there is one.
fn name(pair: &Pair) -> String {
    let part = if pair.part == 0 { String::new() } else { format!("/{}", pair.part) };
    format!("{}/{} {}{part}", pair.protocol, pair.kind, pair.stream_id)
}

fn streams(runs: &Runs) -> Grid {
    use Align::{Left, Right};
    let cell = |seen: Option<&Seen>, of: fn(&Seen) -> String| seen.map_or_else(|| DASH.to_owned(), of);
    let row = |pair: &Pair| {
        let both = [pair.before.as_ref(), pair.after.as_ref()];
        let who = both[1].or(both[0]).and_then(|seen| seen.name.clone()).filter(|name| !name.is_empty());
        let [from, to] = both.map(|seen| {
            cell(seen, |seen| rate(seen.datagrams, seen.sent_mhz).unwrap_or_else(|| DASH.to_owned()))
        });
        let [then, now] = both.map(|seen| cell(seen, |seen| thousands(seen.datagrams.into())));
        let state = match (pair.matched_by, &pair.after) {
            (Some(By::Sender), _) => "by its CID",
            (Some(By::Name), _) => "by its name",
            (Some(By::Address), _) => "by its address",
            (Some(By::Id), _) => "by its id alone",
            (None, None) => "gone",
            (None, Some(_)) => "new",
        };
        vec![name(pair), who.unwrap_or_else(|| DASH.to_owned()), then, now, from, to, state.to_owned()]
    };
    let columns = [
        ("stream", Left),
        ("name", Left),
        ("before", Right),
        ("after", Right),
        ("sent /s before", Right),
        ("sent /s after", Right),
        ("matched", Left),
    ];
    grid(&columns, runs.streams.iter().map(row).collect(), vec![4, 5, 1])
}

fn why(runs: &Runs) -> Vec<String> {
    let line = |pair: &Pair| {
        let all: Vec<&str> = pair.unlike.iter().chain(&pair.notes).map(String::as_str).collect();
        let rows = pair.shares.iter().map(|row| (&row.figure, &row.why));
        let graded = |row: &&super::TimeRow| !row.figure.ends_with("_max");
        let times = pair.times.iter().filter(graded).map(|row| (&row.figure, &row.why));
        let own = rows.chain(times).filter(|_| pair.unlike.is_empty());
        let own = own.filter_map(|(figure, why)| Some(format!("{figure}: {}", why.as_ref()?)));
        let text: Vec<String> = all.into_iter().map(str::to_owned).chain(own).collect();
        (!text.is_empty()).then(|| format!("{}: {}", name(pair), text.join("; ")))
    };
    runs.streams.iter().filter_map(line).collect()
}

fn shares(runs: &Runs) -> Grid {
    use Align::{Left, Right};
    let share = |s: &Share| match s.bursts {
        Some(bursts) if s.events > 0 => {
            format!("{} of {} in {bursts}", thousands(s.events.into()), thousands(s.of.into()))
        }
        _ => format!("{} of {}", thousands(s.events.into()), thousands(s.of.into())),
    };
    let range = |s: &Share| {
        let [low, high] = s.interval_ppb;
        // Rounded outward: an interval never says more than it holds.
        format!("{}..{} %", percent(low), percent(high.next_multiple_of(1_000)))
    };
    // What never happened in either run takes no line, but for losses.
    let shown = |row: &&super::ShareRow| row.figure == "lost" || row.before.events.max(row.after.events) > 0;
    let rows =
        runs.streams.iter().flat_map(|pair| pair.shares.iter().filter(shown).map(move |row| (pair, row)));
    let row = |(pair, row): (&Pair, &super::ShareRow)| {
        let (before, after) = (&row.before, &row.after);
        vec![
            name(pair),
            row.figure.replace('_', " "),
            share(before),
            share(after),
            range(before),
            range(after),
            row.said.word().to_owned(),
        ]
    };
    let columns = [
        ("stream", Left),
        ("figure", Left),
        ("before", Right),
        ("after", Right),
        ("95 % before", Right),
        ("95 % after", Right),
        ("said", Left),
    ];
    grid(&columns, rows.map(row).collect(), vec![4, 5])
}

/// Parts per billion as percent with four decimals, rounded down.
fn percent(ppb: u64) -> String {
    format!("{}.{:04}", ppb / 10_000_000, ppb / 1_000 % 10_000)
}

fn times(runs: &Runs) -> Grid {
    use Align::{Left, Right};
    let rows = runs.streams.iter().flat_map(|pair| pair.times.iter().map(move |row| (pair, row)));
    let row = |(pair, row): (&Pair, &super::TimeRow)| {
        let figure = row.figure.replacen("interval_", "", 1).replace('_', " ");
        let ratio = row.ratio.map_or_else(|| DASH.to_owned(), |ratio| format!("{:.3}", ratio.0));
        let (before, after) = (milliseconds(row.before_ns), milliseconds(row.after_ns));
        vec![name(pair), figure, before, after, ratio, row.said.word().to_owned()]
    };
    let columns = [
        ("stream", Left),
        ("figure", Left),
        ("before ms", Right),
        ("after ms", Right),
        ("ratio", Right),
        ("said", Left),
    ];
    grid(&columns, rows.map(row).collect(), Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_of_one_name_are_told_apart_by_their_folders() {
        assert_eq!(unlike("/x/before/run.pcap", "/x/after/run.pcap"), ("before/run.pcap", "after/run.pcap"));
        assert_eq!(unlike("a/b/run.pcap", "c/b/run.pcap"), ("a/b/run.pcap", "c/b/run.pcap"));
        assert_eq!(unlike("run.pcap", "/y/run.pcap"), ("run.pcap", "y/run.pcap"));
        assert_eq!(unlike("run.pcap", "run.pcap"), ("run.pcap", "run.pcap"));
    }
}
