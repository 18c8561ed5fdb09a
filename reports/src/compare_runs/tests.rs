//! Which streams are matched, what is said of figures at their limits, and what is never compared.

use super::*;
use crate::summary::{Source, sample};
use crate::{Format, Observer, Style};
use proptest::prelude::*;

/// A stream that is like every other made here.
fn stream(id: u32, name: Option<&str>, sender: Option<&str>, source: &str) -> Stream {
    let mut stream = Stream::from(&sample::stream());
    stream.stream_id = id;
    stream.name = name.map(str::to_owned);
    stream.sender = sender.map(str::to_owned);
    stream.source = source.to_owned();
    stream.output = None;
    stream.datagrams = 100_000;
    stream.rate_mhz = 44_000;
    stream.sequence.lost = 0;
    stream.sequence.gaps = 0;
    stream.sequence.ambiguous = false;
    stream
}

fn summary(name: &str, streams: Vec<Stream>) -> Summary {
    let source = Source { name: name.to_owned(), timestamps: "file-us".to_owned(), ..Source::default() };
    let mut summary = Summary::new(&Default::default(), source, Observer::default());
    summary.streams = streams;
    summary
}

fn compared(before: Vec<Stream>, after: Vec<Stream>) -> Runs {
    Runs::of(&summary("a.pcap", before), &summary("b.pcap", after)).unwrap()
}

fn matches(before: &[Stream], after: &[Stream]) -> Vec<(Option<usize>, Option<usize>, Option<By>)> {
    matching::pairs(before, after).iter().map(|one| (one.before, one.after, one.by)).collect()
}

fn said(runs: &Runs, figure: &str) -> Said {
    let pair = &runs.streams[0];
    let share = pair.shares.iter().find(|row| row.figure == figure).map(|row| row.said);
    share.or_else(|| pair.times.iter().find(|row| row.figure == figure).map(|row| row.said)).unwrap()
}

#[test]
fn a_stream_is_matched_by_what_it_says_it_is_and_not_by_where_it_is() {
    let old = [stream(1, Some("Desk"), Some("c1"), "10.0.0.2:5568"), stream(2, None, None, "10.0.0.3:4048")];
    // Another address, another CID with the same name, and an id without any name.
    let new = [stream(2, None, None, "10.0.0.9:4048"), stream(1, Some("Desk"), Some("c9"), "10.0.0.7:5568")];
    let expected = [(Some(0), Some(1), Some(By::Name)), (Some(1), Some(0), Some(By::Id))];
    assert_eq!(matches(&old, &new), expected);
    let renamed = [stream(1, Some("Desk 2"), Some("c1"), "10.0.0.7:5568")];
    assert_eq!(matches(&old[..1], &renamed), [(Some(0), Some(0), Some(By::Sender))]);
}

#[test]
fn another_sender_at_the_same_address_is_another_stream() {
    let old = [stream(1, Some("Desk"), Some("c1"), "10.0.0.2:5568")];
    let new = [stream(1, Some("Player"), Some("c2"), "10.0.0.2:5568")];
    assert_eq!(matches(&old, &new), [(Some(0), None, None), (None, Some(0), None)]);
    let runs = compared(old.to_vec(), new.to_vec());
    assert_eq!((runs.counted.gone, runs.counted.new, runs.outcome), (1, 1, Said::Worse));
    assert_eq!(runs.streams[0].unlike, ["not in b.pcap: its streams of this id have another sender"]);
}

#[test]
fn several_streams_of_one_id_are_told_apart_by_their_address() {
    let of = |addresses: [&str; 2]| addresses.map(|address| stream(1, None, None, address)).to_vec();
    let (old, new) = (of(["10.0.0.2:1", "10.0.0.3:1"]), of(["10.0.0.3:7", "10.0.0.2:7"]));
    let expected = [(Some(0), Some(1), Some(By::Address)), (Some(1), Some(0), Some(By::Address))];
    assert_eq!(matches(&old, &new), expected);
    // Neither address is known any more: nobody can say which is which.
    let moved = of(["10.0.1.2:1", "10.0.1.3:1"]);
    assert_eq!(matches(&old, &moved).iter().filter(|one| one.2.is_some()).count(), 0);
}

#[test]
fn losses_are_worse_when_the_intervals_of_datagrams_and_bursts_do_not_touch() {
    let with = |lost, gaps| {
        let mut one = stream(1, None, None, "10.0.0.2:1");
        (one.sequence.lost, one.sequence.lost_min, one.sequence.gaps) = (lost, lost, gaps);
        vec![one]
    };
    let lost = |before: (u64, u64), after: (u64, u64)| {
        said(&compared(with(before.0, before.1), with(after.0, after.1)), "lost")
    };
    assert_eq!(lost((0, 0), (0, 0)), Said::Same);
    assert_eq!(lost((3, 3), (5, 5)), Said::Same);
    assert_eq!(lost((0, 0), (100, 100)), Said::Worse);
    assert_eq!(lost((100, 100), (0, 0)), Said::Better);
    assert_eq!(lost((1, 1), (500, 1)), Said::Unclear, "one burst each, one of them long");
}

#[test]
fn of_losses_in_doubt_the_proven_part_decides() {
    let with = |lost, lost_min, gaps| {
        let mut one = stream(1, None, None, "10.0.0.2:1");
        (one.sequence.lost, one.sequence.lost_min, one.sequence.gaps) = (lost, lost_min, gaps);
        one.sequence.ambiguous = true;
        vec![one]
    };
    let lost = |before: Vec<Stream>, after: Vec<Stream>| said(&compared(before, after), "lost");
    let clean = || with(0, 0, 0);
    assert_eq!(lost(clean(), with(20, 20, 20)), Said::Worse, "all of it is proven");
    assert_eq!(lost(with(20, 20, 20), clean()), Said::Better);
    assert_eq!(lost(clean(), with(100, 99, 100)), Said::Worse);
    assert_eq!(lost(clean(), with(100, 1, 100)), Said::Unclear, "too little is proven");
    assert_eq!(lost(with(100, 1, 100), clean()), Said::Unclear);
    assert_eq!(lost(clean(), with(500, 499, 1)), Said::Unclear, "one burst, however long");
    assert_eq!(lost(with(100, 20, 100), with(100, 100, 100)), Said::Unclear);
    let runs = compared(clean(), with(20, 20, 20));
    let row = runs.streams[0].shares.iter().find(|row| row.figure == "lost").unwrap();
    assert_eq!(row.why.as_deref(), Some("worse by the proven part alone, 20 of 20"));
}

#[test]
fn intervals_are_rounded_outward() {
    let mut lossy = stream(1, None, None, "10.0.0.2:1");
    (lossy.sequence.lost, lossy.sequence.lost_min, lossy.sequence.gaps) = (7, 7, 7);
    let runs = compared(vec![stream(1, None, None, "10.0.0.2:1")], vec![lossy]);
    let [low, high] = runs.streams[0].shares[0].after.interval_ppb;
    assert!(low % 1_000 != 0 && high % 1_000 != 0, "{low} {high} test nothing");
    let mut out = Vec::new();
    runs.render(Format::Markdown, Style::default(), &mut out).unwrap();
    let text = |ppb: u64| format!("{}.{:04}", ppb / 10_000_000, ppb / 1_000 % 10_000);
    let range = format!("{}..{} %", text(low), text(high + 1_000));
    assert!(String::from_utf8(out).unwrap().contains(&range), "{range}");
}

#[test]
fn a_rate_that_only_lost_datagrams_is_the_same_rate() {
    let mut lossy = stream(1, None, None, "10.0.0.2:1");
    (lossy.datagrams, lossy.rate_mhz) = (90_000, 39_600);
    (lossy.sequence.lost, lossy.sequence.lost_min, lossy.sequence.gaps) = (10_000, 10_000, 9_000);
    let runs = compared(vec![stream(1, None, None, "10.0.0.2:1")], vec![lossy]);
    assert_eq!(runs.streams[0].unlike, Vec::<String>::new());
    assert_eq!(said(&runs, "lost"), Said::Worse);
}

#[test]
fn unlike_streams_and_spoiled_runs_say_why_nothing_is_compared() {
    let plain = || stream(1, None, None, "10.0.0.2:1");
    let why = |change: fn(&mut Stream)| {
        let mut other = plain();
        change(&mut other);
        let runs = compared(vec![plain()], vec![other]);
        assert_eq!((runs.outcome, runs.counted.worse), (Said::NotCompared, 0));
        runs.streams[0].unlike.join("; ")
    };
    assert_eq!(why(|s| s.rate_mhz = 30_000), "rate: 44.000 datagrams a second sent then, 30.000 now");
    let shape = why(|s| s.data_octets.max += 1);
    assert!(shape.starts_with("shape: ") && shape.contains(" data octets a datagram then"), "{shape}");
    let mut spoiled = summary("b.pcap", vec![plain()]);
    spoiled.observer.lost = 7;
    let runs = Runs::of(&summary("a.pcap", vec![plain()]), &spoiled).unwrap();
    assert_eq!(runs.streams[0].unlike, ["the observer of b.pcap lost 7 datagrams itself"]);
}

#[test]
fn times_with_other_stamps_are_not_compared_and_losses_are() {
    let streams = || vec![stream(1, None, None, "10.0.0.2:1")];
    let mut other = summary("b.pcap", streams());
    other.source.timestamps = "file-ns".to_owned();
    let runs = Runs::of(&summary("a.pcap", streams()), &other).unwrap();
    assert_eq!((said(&runs, "lost"), said(&runs, "interval_p50")), (Said::Same, Said::NotCompared));
    assert_eq!(runs.streams[0].times[0].why.as_deref(), Some("time stamps: file-us then, file-ns now"));
}

#[test]
fn a_percentile_needs_intervals_beyond_it_and_a_maximum_is_never_compared() {
    let of = |datagrams| {
        let mut one = stream(1, None, None, "10.0.0.2:1");
        one.datagrams = datagrams;
        vec![one]
    };
    let said = |datagrams| {
        let runs = compared(of(datagrams), of(200_000));
        ["interval_p50", "interval_p95", "interval_p99", "interval_p999", "interval_max"]
            .map(|f| said(&runs, f))
    };
    use Said::{NotCompared, Same};
    assert_eq!(said(10_001), [Same, Same, Same, Same, NotCompared]);
    assert_eq!(said(10_000), [Same, Same, Same, NotCompared, NotCompared]);
    assert_eq!(said(20), [NotCompared; 5]);
}

#[test]
fn every_format_says_what_the_record_says() {
    let mut lossy = stream(1, Some("<b>|=x"), None, "10.0.0.2:1");
    (lossy.sequence.lost, lossy.sequence.lost_min, lossy.sequence.gaps) = (900, 900, 900);
    lossy.interval_ns.p50 *= 2;
    let runs = compared(vec![stream(1, Some("<b>|=x"), None, "10.0.0.2:1")], vec![lossy]);
    let text = |format| {
        let mut out = Vec::new();
        runs.render(format, Style { color: false, width: 140 }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(serde_json::from_str::<Runs>(&text(Format::Json)).unwrap(), runs);
    let table = text(Format::Table);
    assert!(table.starts_with("WORSE b.pcap after a.pcap\n"), "{table}");
    assert!(table.contains("900 of 100,900 in 900"), "{table}");
    assert!(text(Format::Markdown).contains("&lt;b&gt;\\|=x"), "{}", text(Format::Markdown));
    assert!(!text(Format::Html).contains("<b>"));
    let csv = text(Format::Csv);
    assert!(csv.contains("sacn,data,1,0,lost,0,100000,"), "{csv}");
    assert!(runs.render(Format::Junit, Style::default(), &mut Vec::new()).is_err());
}

proptest! {
    // Exact intervals take a while without optimisation.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn swapping_the_runs_swaps_worse_and_better(
        counts in proptest::array::uniform8(0_u64..3_000),
        times in proptest::array::uniform2(0_u64..100_000_000),
    ) {
        let made = |lost, gaps: u64, twice, late, p50| {
            let mut one = stream(1, None, None, "10.0.0.2:1");
            (one.sequence.lost, one.sequence.lost_min, one.sequence.gaps) = (lost, lost, gaps.min(lost));
            (one.sequence.duplicates, one.sequence.late, one.interval_ns.p50) = (twice, late, p50);
            vec![one]
        };
        let [a, b, c, d, e, f, g, h] = counts;
        let (one, two) = (made(a, b, c, d, times[0]), made(e, f, g, h, times[1]));
        let (there, back) = (compared(one.clone(), two.clone()).counted, compared(two, one).counted);
        prop_assert_eq!((there.worse, there.better, there.unclear), (back.better, back.worse, back.unclear));
    }

    #[test]
    fn any_counts_at_all_are_taken(counts in proptest::array::uniform8(any::<u64>())) {
        let mut one = stream(1, None, None, "no address");
        let [a, b, c, d, e, f, g, h] = counts;
        (one.datagrams, one.rate_mhz, one.sequence.lost, one.sequence.gaps) = (a, b, c, d);
        (one.frames.seen, one.frames.torn, one.frames.unterminated, one.interval_ns.p50) = (e, f, g, h);
        let runs = compared(vec![one], vec![stream(1, None, None, "")]);
        prop_assert!(runs.render(Format::Table, Style::default(), &mut Vec::new()).is_ok());
    }
}
