//! Replays in memory: a simulated clock, and an exit that writes down what leaves and when.

use super::*;
use crate::send::clock::simulated::Simulated;
use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use wireproof_fixture::{cases, write_pcap};
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::{Datagram, Timestamp};

/// What left, in order: time, and payload.
#[derive(Default)]
struct Book(Vec<(SocketAddr, SocketAddr, Vec<u8>)>);

impl Exit for Book {
    fn send(&mut self, source: SocketAddr, to: SocketAddr, payload: &[u8]) {
        self.0.push((source, to, payload.to_vec()));
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Datagrams `apart` ns from each other, one octet each.
fn portion(count: u8, apart: i64) -> Part {
    let mut portion = Portion::default();
    for n in 0..count {
        let payload = [n];
        let d = Datagram::new(address("10.0.0.1:9"), address("10.0.0.2:5568"), &payload);
        portion.push(Timestamp(i64::from(n) * apart), &d);
    }
    Part::Datagrams(portion)
}

fn channel(parts: Vec<Part>) -> Receiver<Part> {
    let (to, from) = crossbeam_channel::unbounded();
    parts.into_iter().for_each(|part| to.send(part).unwrap());
    from
}

fn run(parts: Vec<Part>, clock: &mut Simulated, stop: &dyn Fn() -> bool) -> (Replayed, Book) {
    let mut book = Book::default();
    let mut timeline = Timeline::new(timeline::NORMAL_SPEED, None);
    let done = replay(&channel(parts), &Mapping::default(), &mut timeline, clock, &mut book, stop);
    (done, book)
}

#[test]
fn a_replay_takes_as_long_as_the_capture_and_is_never_early() {
    let mut clock = Simulated::default();
    let (done, book) = run(vec![Part::Round, portion(101, 10_000_000)], &mut clock, &|| false);
    assert_eq!((done.datagrams, done.rounds, done.moved, done.lateness.max_ns), (101, 1, 0, 0));
    assert_eq!(clock.now_ns, 1_000_000_000);
    assert!(book.0.iter().zip(0..).all(|((_, _, payload), n)| *payload == [n]), "in order");
    assert_eq!(book.0[0].1, address("127.0.0.1:5568"));
}

#[test]
fn a_short_delay_is_made_up_for_and_a_long_one_moves_the_rest() {
    let mut clock = Simulated { hold_ups_ns: vec![0, 15_000_000, 0, 500_000_000], ..Simulated::default() };
    let (done, book) = run(vec![portion(11, 100_000_000)], &mut clock, &|| false);
    assert_eq!((book.0.len(), done.moved, done.moved_ns), (11, 1, 500_000_000));
    assert_eq!(clock.now_ns, 1_500_000_000, "the rest is half a second later, the 15 ms were made up for");
    assert_eq!(done.lateness.max_ns, 500_000_000);
}

#[test]
fn somebody_can_end_it_between_two_datagrams() {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 20
    };
    let (done, book) = run(vec![portion(100, 1_000_000)], &mut Simulated::default(), &stop);
    assert!(done.cut_short && book.0.len() < 20, "{done:?}");
    assert_eq!(done.datagrams, book.0.len() as u64);
}

#[test]
fn what_was_left_out_and_what_failed_is_told() {
    let parts = vec![Part::LeftOut { cut: 2, other: 5 }, Part::Failed("damaged".to_owned())];
    let (done, _) = run(parts, &mut Simulated::default(), &|| false);
    assert_eq!((done.cut, done.other, done.failed.as_deref()), (2, 5, Some("damaged")));
}

#[test]
fn datagrams_that_no_rule_names_are_counted_and_cost_no_time() {
    let mapping = Mapping { rules: vec!["10.0.0.3=10.0.0.4".parse().unwrap()], ..Mapping::default() };
    let (mut book, mut clock) = (Book::default(), Simulated::default());
    let mut timeline = Timeline::new(timeline::NORMAL_SPEED, None);
    let done =
        replay(&channel(vec![portion(3, 10)]), &mapping, &mut timeline, &mut clock, &mut book, &|| false);
    assert_eq!((done.unmapped, done.datagrams, book.0.len(), clock.now_ns), (3, 0, 0, 0));
}

/// The capture of a planted case, and the payloads in it.
fn capture(folder: &Path, name: &str) -> (PathBuf, Vec<Vec<u8>>) {
    let case = cases().into_iter().find(|case| case.name == name).unwrap();
    let planted = (case.build)(1).unwrap();
    let path = folder.join(name);
    let mut octets = Vec::new();
    write_pcap(&planted, &mut octets).unwrap();
    std::fs::write(&path, octets).unwrap();
    (path, planted.arrivals.into_iter().map(|a| a.payload).collect())
}

/// Reads on a thread, as the verb does.
fn all_parts(path: PathBuf, which: Which, rounds: u64) -> Vec<Part> {
    let (to, from) = crossbeam_channel::bounded(WAITING);
    let reader = thread::spawn(move || read(&path, which, rounds, &to).unwrap());
    let parts = from.iter().collect();
    reader.join().unwrap();
    parts
}

fn payloads(parts: &[Part]) -> Vec<Vec<u8>> {
    let portions = parts.iter().filter_map(|part| match part {
        Part::Datagrams(portion) => Some(portion),
        _ => None,
    });
    portions.flat_map(|portion| portion.iter().map(|d| d.payload.to_vec())).collect()
}

#[test]
fn every_datagram_of_a_file_comes_out_once_a_round_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (path, expected) = capture(folder.path(), "sacn-drop-one");
    assert_eq!(payloads(&all_parts(path.clone(), Which::Lighting(Layouts::default()), 1)), expected);
    let thrice = all_parts(path, Which::All, 3);
    assert_eq!(payloads(&thrice), [&expected[..]; 3].concat());
    assert_eq!(thrice.iter().filter(|part| **part == Part::Round).count(), 3);
}

#[test]
fn what_is_no_lighting_is_left_out_or_not_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dns.pcap");
    let mut file = std::fs::File::create(&path).unwrap();
    // One record of raw IPv4: UDP 10.0.0.1:53 to 10.0.0.2:53 with two octets.
    let ip =
        [0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 53, 0, 10, 0, 0, 7, 8];
    let head: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101];
    let record: [u32; 4] = [1, 0, 30, 30];
    for word in head.iter().chain(&record) {
        file.write_all(&word.to_le_bytes()).unwrap();
    }
    file.write_all(&ip).unwrap();
    drop(file);
    assert_eq!(payloads(&all_parts(path.clone(), Which::All, 1)), [[7, 8]]);
    let parts = all_parts(path, Which::Lighting(Layouts::default()), 1);
    assert_eq!(parts, [Part::Round, Part::LeftOut { cut: 0, other: 1 }]);
}

#[test]
fn a_file_without_datagrams_is_read_once_whatever_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.pcap");
    let head: Vec<u8> =
        [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101].iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(&path, head).unwrap();
    let parts = all_parts(path, Which::Lighting(Layouts::default()), 0);
    assert_eq!(parts, [Part::Round, Part::LeftOut { cut: 0, other: 0 }]);
}

#[test]
fn damage_ends_the_reading_after_what_was_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, expected) = capture(folder.path(), "ddp-drop-one");
    let octets = std::fs::read(&path).unwrap();
    std::fs::write(&path, &octets[..octets.len() - 7]).unwrap();
    let parts = all_parts(path, Which::Lighting(Layouts::default()), 0);
    assert_eq!(payloads(&parts), expected[..expected.len() - 1]);
    assert!(matches!(parts.last(), Some(Part::Failed(_))), "{:?}", parts.last());
}
