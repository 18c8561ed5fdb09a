//! Every finding is cut out and found again: of every planted case and of every shared capture.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use wireproof::capture::{self, Record};
use wireproof::slice::{Around, Request, slice, slice_where};
use wireproof::{analysis, capture::SourceReport};
use wireproof_fixture::{cases, write_pcap};
use wireproof_protocols::Severity;
use wireproof_protocols::verify::{Account, Finding, Options, StreamAccount};
use wireproof_reports::Filter;

/// Findings that a piece cannot show again, as `input code`, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

fn analyzed(path: &Path, options: &Options) -> (SourceReport, Account) {
    analysis::analyze(&[path], options.clone()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn identity(account: &Account, f: &Finding) -> Option<String> {
    let s: &StreamAccount = account.streams.get(f.stream?)?;
    let (source, sender) = (s.source.ip(), s.sender.as_deref().unwrap_or("-"));
    Some(format!("{}/{} {source} {} {} {sender}", s.protocol.name(), s.kind, s.stream_id, s.part))
}

/// What keeps `g` from being the finding `f`; `None` when it is.
fn differs(f: &Finding, whole: &Account, g: &Finding, piece: &Account) -> Option<String> {
    let differ = |what: &str, a: String, b: String| (a != b).then(|| format!("{what} {a}, now {b}"));
    let within = g.first_ns == f.first_ns || g.count > 1 && (g.first_ns..=g.last_ns).contains(&f.first_ns);
    differ("severity", f.severity.name().to_owned(), g.severity.name().to_owned())
        .or_else(|| {
            differ("stream", format!("{:?}", identity(whole, f)), format!("{:?}", identity(piece, g)))
        })
        .or_else(|| (!within).then(|| format!("time {}, now {}..{}", f.first_ns, g.first_ns, g.last_ns)))
        .or_else(|| {
            (f.code == "SEQ-LOST").then(|| differ("lost", f.count.to_string(), g.count.to_string())).flatten()
        })
}

/// Comments of the piece's records.
fn comments(piece: &Path) -> Vec<(i64, String)> {
    let mut list = Vec::new();
    capture::read_records_path(piece, &mut |r: &Record<'_>| {
        list.extend(r.comment.map(|c| (r.at.0, c.to_owned())));
    })
    .unwrap();
    list
}

/// Cuts one finding out and looks for it in the piece.
fn round_trip(
    path: &Path,
    options: &Options,
    whole: &Account,
    f: &Finding,
    piece: &Path,
) -> Result<u64, String> {
    let request =
        Request { finding: &f.id, around: Around::Frames(30), all: false, options: options.clone() };
    let cut = slice(path, &request, piece).map_err(|e| e.to_string())?;
    let (report, account) = analyzed(piece, options);
    if report.damaged.is_some() || report.packets != cut.records {
        return Err(format!("{} records written, read back {report:?}", cut.records));
    }
    let note = format!("wireproof: {} {} ", f.id, f.code);
    let comments = comments(piece);
    let bare = report.packets == 0 && whole.datagrams.lighting == 0;
    if !bare
        && !comments.iter().any(|(at, c)| c.starts_with(&note) && (f.first_packet == 0 || *at == f.first_ns))
    {
        return Err(format!("no comment on the record of the first occurrence: {comments:?}"));
    }
    let strange = |g: &&Finding| {
        g.severity > Severity::Info
            && !whole.findings.iter().any(|w| (w.code, w.severity) == (g.code, g.severity))
    };
    if let Some(g) = account.findings.iter().find(strange) {
        return Err(format!(
            "the piece shows {} {} that the whole does not: {}",
            g.severity.name(),
            g.code,
            g.text
        ));
    }
    let same_code: Vec<&Finding> = account.findings.iter().filter(|g| g.code == f.code).collect();
    let problems: Vec<String> = same_code.iter().filter_map(|g| differs(f, whole, g, &account)).collect();
    if problems.len() < same_code.len() {
        return if cut.found_again.is_some() {
            Ok(cut.records)
        } else {
            Err("shown but not told".to_owned())
        };
    }
    Err(format!("not found again in {} records ({})", cut.records, problems.join("; ")))
}

/// Problems of all findings of one capture.
fn all_findings(name: &str, path: &Path, options: &Options, piece: &Path) -> Vec<String> {
    let (_, whole) = analyzed(path, options);
    let mut problems = Vec::new();
    // A piece is a whole file: it shows what lies before the damage, never the damage.
    for f in whole.findings.iter().filter(|f| f.code != "CAP-DAMAGED") {
        let excused = EXCEPTIONS.iter().any(|(input, code, _)| *input == name && *code == f.code);
        match (round_trip(path, options, &whole, f, piece), excused) {
            (Err(problem), false) => problems.push(format!("{name} {} {}: {problem}", f.id, f.code)),
            (Ok(_), true) => problems.push(format!("{name} {} {} needs no exception", f.id, f.code)),
            _ => {}
        }
    }
    problems
}

fn corpus(part: usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    for case in cases().into_iter().skip(part).step_by(2) {
        let planted = (case.build)(1).unwrap();
        let path = dir.path().join("case.pcap");
        write_pcap(&planted, &mut File::create(&path).unwrap()).unwrap();
        let options = Options { rig: planted.rig.clone(), ..Options::default() };
        problems.extend(all_findings(case.name, &path, &options, &dir.path().join("piece.pcapng")));
    }
    assert!(problems.is_empty(), "seed 1, {}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_finding_of_one_half_of_the_corpus_is_found_again_in_its_piece() {
    corpus(0);
}

#[test]
fn every_finding_of_the_other_half_of_the_corpus_is_found_again_in_its_piece() {
    corpus(1);
}

/// A long run of one universe in which every 50th datagram has a priority over 200.
/// Streams of a summary without what a place in a file decides.
fn told(account: &Account) -> Vec<String> {
    let one = |s: &StreamAccount| {
        let of = (s.protocol.name(), s.kind, s.source, s.stream_id, s.datagrams, s.bytes);
        format!("{of:?} {:?} {:?}", s.sequence, s.interval_ns)
    };
    account.streams.iter().map(one).collect()
}

/// Cuts by a filter: the piece alone tells of the streams what the filter leaves of the whole.
fn cut_by_filter(name: &str, text: &str, least_left_out: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let (path, piece) = (folder.path().join("whole.pcap"), folder.path().join("piece.pcapng"));
    let case = cases().into_iter().find(|case| case.name == name).unwrap();
    write_pcap(&(case.build)(1).unwrap(), &mut File::create(&path).unwrap()).unwrap();
    let options = Options::default();
    let (_, mut whole) = analyzed(&path, &options);
    let text = &text.replace("FIRST", &whole.streams[0].stream_id.to_string());
    let wanted = Filter::parse(text).unwrap();
    wireproof_reports::filter::filter(&mut whole, &wanted, &[]);
    let cut = slice_where(&path, &wanted, &options, &piece).unwrap();
    let (report, alone) = analyzed(&piece, &options);
    assert_eq!((report.damaged, report.packets), (None, cut.records), "{name} {text}");
    assert_eq!(told(&alone), told(&whole), "{name} {text}");
    let ends = |account: &Account| account.streams.iter().map(|s| s.ended).collect::<Vec<_>>();
    assert_eq!(ends(&alone), ends(&whole), "{name} {text}");
    assert_eq!(cut.streams, whole.streams.len() as u64);
    assert_eq!(comments(&piece)[0].1, format!("wireproof: cut with --where {text}"));
    assert!(cut.left_out >= least_left_out, "{name} {text}: {cut:?}");
    cut.fragments
}

#[test]
fn streams_that_fit_a_filter_are_cut_out_whole_and_alone() {
    for (name, text, left_out) in [
        ("sacn-drop-one", "universe == FIRST", 2),
        ("sacn-sync-orphan", "kind == sync", 1),
        ("artnet-drop-one", "stream_id != FIRST", 1),
        ("bigpacket-drop-one", "stream_id >= 0", 0),
    ] {
        assert_eq!(cut_by_filter(name, text, left_out), 0, "{name}");
    }
    let fragments = cut_by_filter("ddp-fragments", "stream_id >= 0", 0);
    assert!(fragments > 100, "fragments belong to their datagram: {fragments}");
}

#[test]
fn a_filter_that_no_stream_fits_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, piece) = (folder.path().join("whole.pcap"), folder.path().join("piece.pcapng"));
    let case = cases().into_iter().find(|case| case.name == "sacn-drop-one").unwrap();
    write_pcap(&(case.build)(1).unwrap(), &mut File::create(&path).unwrap()).unwrap();
    let wanted = Filter::parse("protocol == ddp").unwrap();
    let refused = slice_where(&path, &wanted, &Options::default(), &piece).unwrap_err().to_string();
    assert!(refused.starts_with("none of the ") && refused.contains("fits protocol == ddp"), "{refused}");
    assert!(!piece.exists());
}

fn long_run(path: &Path) {
    let case = cases().into_iter().find(|c| c.name == "sacn-clean-1").unwrap();
    let mut planted = (case.build)(1).unwrap();
    let (first, last) = (planted.arrivals[0].at, planted.arrivals.last().unwrap().at);
    let once = planted.arrivals.clone();
    for round in 1..40 {
        let later = round * (last.since(first) + 20_000_000);
        planted.arrivals.extend(once.iter().cloned().map(|mut d| {
            d.at = d.at.plus(later);
            d
        }));
    }
    planted.arrivals.iter_mut().skip(30).step_by(50).for_each(|d| d.payload[108] = 201);
    write_pcap(&planted, &mut File::create(path).unwrap()).unwrap();
}

#[test]
fn a_finding_of_a_whole_run_is_cut_around_its_first_occurrence_unless_all_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (path, piece) = (dir.path().join("long.pcap"), dir.path().join("piece.pcapng"));
    long_run(&path);
    let options = Options::default();
    let (report, whole) = analyzed(&path, &options);
    let f = whole.findings.iter().max_by_key(|f| f.last_ns - f.first_ns).unwrap();
    assert!(f.count > 100 && f.first_packet == 31, "{f:?}");
    let ask = |all| Request { finding: &f.id, around: Around::Frames(30), all, options: options.clone() };
    let short = slice(&path, &ask(false), &piece).unwrap();
    assert!(short.records >= 95 && short.records * 10 < report.packets, "{short:?} of {}", report.packets);
    assert!(short.found_again.is_some());
    let long = slice(&path, &ask(true), &piece).unwrap();
    assert!(long.records > report.packets * 9 / 10 && long.to.0 >= f.last_ns, "{long:?}");
    assert_eq!(
        analyzed(&piece, &options).1.findings.iter().find(|g| g.code == f.code).unwrap().count,
        f.count
    );
}

fn captures(folder: &Path, list: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.extension().and_then(|e| e.to_str()) {
            Some("pcap" | "pcapng") => list.push(path),
            None if path.is_dir() => captures(&path, list),
            _ => {}
        }
    }
}

#[test]
fn every_finding_of_the_shared_captures_is_found_again_in_its_piece() {
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    if !shared.is_dir() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!(
                "SKIPPED every_finding_of_the_shared_captures_is_found_again_in_its_piece: ../shared is absent\n"
            ),
        );
        return;
    }
    let mut list = Vec::new();
    captures(&shared.join("golden"), &mut list);
    captures(&shared.join("captures"), &mut list);
    list.sort();
    assert!(list.len() > 20, "{list:?}");
    let dir = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    for path in list {
        if analysis::analyze(&[&path], Options::default()).is_err() {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        problems.extend(all_findings(&name, &path, &Options::default(), &dir.path().join("piece.pcapng")));
    }
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}
