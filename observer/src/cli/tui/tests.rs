//! Pictures of the view as text, what keys do, and a terminal that comes back from a panic.
//!
//! The pictures lie in `snapshots/`; `WIREPROOF_BLESS=1` writes them anew, to be looked at before they are committed.

use super::draw::draw;
use super::keys::{Action, Key, press};
use super::layout::Size;
use super::model::{EVENTS, Look, MARKS, Model, Overlay, Pane, Snapshot};
use super::screen;
use crate::live::health::Vitals;
use crate::live::lens::example;
use crate::live::receive::Told;
use crate::live::source::SourceInfo;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wireproof_protocols::verify::{Bars, Owners, Progress, Quantiles, StreamProgress};
use wireproof_protocols::{Protocol, Severity, Timestamp};
use wireproof_reports::QueueDelay;

/// 2026-11-30T13:16:40Z.
const NOW: i64 = 1_796_044_600_000_000_000;
const SMALL: Size = Size { columns: 80, lines: 24 };
const LARGE: Size = Size { columns: 120, lines: 40 };
const COLORED: Look = Look { color: true, ascii: false };

fn stream(stream_id: u32) -> StreamProgress {
    StreamProgress {
        protocol: Protocol::Sacn,
        kind: "data",
        source: "10.0.0.1:5568".parse().unwrap(),
        destination: "239.255.0.1:5568".parse().unwrap(),
        stream_id,
        datagrams: 240,
        lost: 0,
        late: 0,
        duplicates: 0,
        restarts: 0,
        last_ns: NOW - 10_000_000,
        period_ns: 25_000_000,
        frames: 240,
        torn: 0,
        ended: false,
        owners: Owners::default(),
        intervals: Quantiles {
            count: 239,
            p50: 25_001_000,
            p95: 27_300_000,
            p99: 31_420_000,
            max: 50_110_000,
        },
    }
}

/// One stream of each state among `n`.
fn streams(n: u32) -> Vec<StreamProgress> {
    let mut streams: Vec<_> = (1..=n).map(stream).collect();
    streams[1] = StreamProgress { late: 2, ..stream(2) };
    streams[2] = StreamProgress { torn: 4, ..stream(3) };
    streams[3] = StreamProgress {
        lost: 123_456,
        torn: 1,
        owners: Owners { wire: 1, unknown: 123_455, ..Owners::default() },
        ..stream(4)
    };
    streams[4] = StreamProgress { last_ns: NOW - 9_000_000_000, ..stream(5) };
    streams[5] = StreamProgress { ended: true, last_ns: NOW - 9_000_000_000, ..stream(6) };
    streams[6] = StreamProgress {
        protocol: Protocol::BigPacket,
        kind: "chunk",
        source: "[fd00:1234:5678:9abc::17]:4048".parse().unwrap(),
        duplicates: 3,
        intervals: Quantiles::default(),
        ..stream(4_000_000_000)
    };
    streams
}

fn told(second: i64, severity: Severity, code: &'static str, text: &str) -> Told {
    let at = Timestamp(NOW + second * 1_000_000_000);
    let stream = "universe 4 of 10.0.0.1".to_owned();
    Told { code, severity, at, stream, text: text.to_owned(), subject: None, place: None, waived: None }
}

fn progress(n: u32) -> Progress {
    let bars = Bars {
        from_ns: 20_000_000,
        width_ns: 500_000,
        under: 2,
        counts: vec![0, 1, 0, 2, 9, 41, 95, 60, 12, 3, 0, 0, 1],
        over: 1,
    };
    Progress {
        streams: streams(n),
        streams_seen: n as usize,
        lighting: 15_538,
        lost: 123_456,
        findings: [3, 14, 22],
        charted: Some(3),
        bars,
        ..Progress::default()
    }
}

fn vitals() -> Vitals {
    Vitals {
        received: 15_538,
        loop_gap_max_ns: 1_234_567,
        queue_delay: QueueDelay { p50: 51_000, p99: 300_000, max: 1_200_000 },
        buffer: (4_096, 33_554_432),
        ..Vitals::default()
    }
}

fn model(size: Size, look: Look, n: u32) -> Model {
    let mut model = Model::new(size, look, None);
    let name = "0.0.0.0:5568".to_owned();
    model.listening(&SourceInfo {
        kind: "udp",
        name,
        buffer_bytes: (1 << 24, 1 << 24),
        ..SourceInfo::default()
    });
    model.update(Snapshot {
        gone: Duration::from_secs(6),
        now_ns: NOW,
        progress: progress(n),
        vitals: vitals(),
    });
    model.found(&told(-3, Severity::Info, "SEQ-UNUSED", "the sequence field is unused"));
    model.found(&told(-2, Severity::Warning, "SEQ-DUPLICATE", "the same datagram came twice, and \u{1b}[2J"));
    model.found(&told(-1, Severity::Violation, "SEQ-LOST", &"a long text ".repeat(20)));
    model.remark("download", Severity::Info, "1: 1024 octets in 5 ms");
    model
}

fn drawn(model: &Model) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(model.size.columns, model.size.lines)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let line = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

fn matches_snapshot(name: &str, model: &Model) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/tui/snapshots").join(name);
    let text = text(&drawn(model));
    if std::env::var_os("WIREPROOF_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == wanted, "{name} is drawn as\n{text}instead of\n{wanted}");
}

#[test]
fn a_small_terminal_shows_everything_without_a_line_cut_in_its_figures() {
    matches_snapshot("small.txt", &model(SMALL, COLORED, 12));
}

#[test]
fn a_large_terminal_shows_owners_and_more_streams() {
    matches_snapshot("large.txt", &model(LARGE, COLORED, 64));
}

#[test]
fn nothing_but_ascii_is_drawn_where_the_locale_knows_no_more() {
    let model = model(SMALL, Look { color: false, ascii: true }, 12);
    assert!(text(&drawn(&model)).is_ascii());
    matches_snapshot("ascii.txt", &model);
}

#[test]
fn the_help_and_an_event_in_full_leave_the_observers_health_uncovered() {
    for (name, key, overlay) in
        [("help.txt", Key::Char('?'), Overlay::Help), ("event.txt", Key::Enter, Overlay::Event)]
    {
        let mut model = model(SMALL, COLORED, 12);
        let bare = text(&drawn(&model));
        press(&mut model, Key::Tab);
        press(&mut model, Key::Up);
        assert_eq!(press(&mut model, key), Action::Nothing);
        assert_eq!(model.overlay, overlay);
        let covered = text(&drawn(&model));
        assert!(bare.lines().zip(covered.lines()).take(4).all(|(a, b)| a == b), "{covered}");
        matches_snapshot(name, &model);
        press(&mut model, Key::Escape);
        assert_eq!(model.overlay, Overlay::Nothing);
    }
}

/// The picture of a run with a planted loss under its terms, and the model of it.
fn under(filter: Option<&str>, max: Option<u64>) -> (String, Model) {
    let mut run = example::run();
    let (progress, look) = (example::progress(&mut run), example::look(&mut run));
    let now_ns = progress.streams[0].last_ns;
    let mut model = Model::new(LARGE, COLORED, None);
    let terms = example::terms(filter, max);
    if !terms.is_empty() {
        model.stand(terms.stand(&look.glance.account));
    }
    model.update(Snapshot { gone: Duration::from_secs(6), now_ns, progress, vitals: vitals() });
    run.told.iter().filter(|told| told.code == "SEQ-LOST").for_each(|told| model.found(told));
    (text(&drawn(&model)), model)
}

#[test]
fn a_waived_loss_is_shown_as_waived_and_a_stream_that_is_left_out_is_not_shown() {
    let (plain, model) = under(None, None);
    assert!(plain.contains("VIOLATIONS") && plain.contains(" violation SEQ-LOST"), "{plain}");
    assert!(!plain.contains("waived") && model.terms().is_empty(), "{plain}");
    let (waived, mut model) = under(None, Some(9));
    assert!(waived.contains("waived 1 ") && waived.contains(" waived    SEQ-LOST"), "{waived}");
    assert!(!waived.contains(" violation SEQ-LOST"), "{waived}");
    press(&mut model, Key::Tab);
    press(&mut model, Key::Enter);
    assert!(text(&drawn(&model)).contains("waived by w1 of the rig"), "{}", text(&drawn(&model)));
    let (filtered, model) = under(Some("protocol == ddp"), None);
    assert!(filtered.contains("no violation  warnings 0  missing 0  streams 0"), "{filtered}");
    assert!(filtered.contains("nothing has arrived") && model.rows().is_empty(), "{filtered}");
    assert!(filtered.contains("left out: where protocol == ddp"), "{filtered}");
}

#[test]
fn a_waiver_that_is_exceeded_shows_its_findings_as_they_are() {
    let (_, mut model) = under(None, Some(9));
    let mut run = example::run();
    let mut account = example::look(&mut run).glance.account;
    account.findings.iter_mut().for_each(|f| f.count += 9);
    model.stand(example::terms(None, Some(9)).stand(&account));
    let shown = text(&drawn(&model));
    assert!(shown.contains(" violation SEQ-LOST") && shown.contains("waived 0"), "{shown}");
}

#[test]
fn without_colours_every_state_is_a_word_and_no_cell_has_a_colour() {
    let buffer = drawn(&model(LARGE, Look { color: false, ascii: false }, 64));
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let text = text(&buffer);
    for word in ["LOST", "TORN", "SILENT", "LATE", "TWICE", "complete", "VIOLATIONS 22"] {
        assert!(text.contains(word), "{word}\n{text}");
    }
    let colored = drawn(&model(LARGE, COLORED, 64));
    assert!(colored.content.iter().any(|cell| cell.fg == Color::Red));
}

#[test]
fn losses_of_the_observer_are_shouted_in_every_size() {
    for (columns, lines) in [(10, 3), (60, 12), (80, 24), (400, 200)] {
        let mut model = model(Size { columns, lines }, COLORED, 12);
        model.shot.vitals.lost = 7;
        let text = text(&drawn(&model));
        assert!(text.contains("LOSES DATAGRAMS") || columns == 10, "{columns}x{lines}\n{text}");
    }
}

#[test]
fn any_size_and_any_figure_can_be_drawn() {
    for columns in [1, 2, 59, 60, 61, 79, 80, 111, 112, 300] {
        for lines in [1, 2, 4, 11, 12, 13, 17, 21, 30, 100] {
            let size = Size { columns, lines };
            drawn(&Model::new(size, COLORED, Some("no")));
            let mut model = model(size, COLORED, 12);
            let worst = StreamProgress {
                lost: u64::MAX,
                torn: u64::MAX,
                intervals: Quantiles { p50: u64::MAX, p95: 1, p99: 0, ..Quantiles::default() },
                last_ns: i64::MIN,
                ..stream(u32::MAX)
            };
            model.shot.progress.streams[0] = worst;
            model.shot.progress.bars =
                Bars { from_ns: u64::MAX / 2, counts: vec![u64::MAX; 64], ..Bars::default() };
            for overlay in [Overlay::Nothing, Overlay::Help, Overlay::Event] {
                model.overlay = overlay;
                drawn(&model);
            }
        }
    }
}

#[test]
fn the_selection_stays_with_its_stream_when_trouble_moves_it() {
    let mut model = model(SMALL, COLORED, 64);
    assert_eq!(model.selected, 3, "the worst stream is selected first");
    press(&mut model, Key::End);
    let last = model.selected;
    assert_eq!(model.row(), 63);
    assert!(model.rows().contains(&last));
    let mut worse = progress(64);
    worse.streams[last].lost = u64::MAX;
    model.update(Snapshot { gone: Duration::from_secs(7), progress: worse, ..Snapshot::default() });
    assert_eq!((model.selected, model.row()), (last, 0));
    press(&mut model, Key::PageDown);
    assert_eq!(model.row(), model.layout().stream_rows);
    press(&mut model, Key::Home);
    assert_eq!(model.row(), 0);
}

#[test]
fn q_and_ctrl_c_end_the_run_from_everywhere() {
    for key in [Key::Char('q'), Key::Interrupt] {
        for before in [Key::Tab, Key::Char('?'), Key::Enter] {
            let mut model = model(SMALL, COLORED, 12);
            assert_eq!(press(&mut model, before), Action::Nothing);
            assert_eq!(press(&mut model, key), Action::End);
            assert!(model.ending);
        }
    }
}

#[test]
fn every_key_is_harmless_before_anything_has_arrived() {
    let keys =
        [Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Home, Key::End, Key::Enter, Key::Char('s')];
    let mut model = Model::new(SMALL, COLORED, None);
    for key in keys.iter().chain([&Key::Tab]).chain(&keys) {
        assert_eq!(press(&mut model, *key), Action::Nothing, "{key:?}");
        drawn(&model);
    }
    assert_eq!((model.overlay, model.marks.len()), (Overlay::Nothing, 0));
}

#[test]
fn events_are_followed_until_one_is_chosen_and_again_at_the_end() {
    let mut model = model(SMALL, COLORED, 12);
    press(&mut model, Key::Tab);
    assert_eq!(model.pane, Pane::Events);
    press(&mut model, Key::Up);
    assert_eq!(model.event().unwrap().code, "SEQ-LOST");
    for second in 0..EVENTS as i64 + 10 {
        model.found(&told(second, Severity::Info, "STREAM-ENDED", "it ended"));
    }
    assert_eq!((model.events.len(), model.events_seen), (EVENTS, EVENTS as u64 + 14));
    assert_eq!(model.event_row(), 0, "what was chosen is gone: the oldest one left");
    press(&mut model, Key::End);
    assert_eq!((model.chosen, model.event_row()), (None, EVENTS - 1));
}

#[test]
fn a_finding_is_marked_and_unmarked_and_the_key_says_why_it_cannot() {
    let mut model = model(SMALL, COLORED, 12);
    press(&mut model, Key::Char('s'));
    assert_eq!(model.note, "no finding to cut out: choose one in the list of events");
    press(&mut model, Key::Tab);
    press(&mut model, Key::Up);
    press(&mut model, Key::Char('s'));
    assert_eq!((model.marks[0].code, model.marks[0].at_ns), ("SEQ-LOST", NOW - 1_000_000_000));
    assert!(text(&drawn(&model)).contains(">*13:16:39.000 violation SEQ-LOST"), "{}", text(&drawn(&model)));
    press(&mut model, Key::Char('s'));
    assert_eq!(model.marks, []);
    for second in 0..=MARKS as i64 {
        model.found(&told(second, Severity::Violation, "FRAME-TORN", "torn"));
        press(&mut model, Key::End);
        press(&mut model, Key::Char('s'));
    }
    assert_eq!((model.marks.len(), model.note.as_str()), (MARKS, "32 findings are marked, no more fit"));
    model.no_slice = Some("start observe with -w FILE");
    press(&mut model, Key::Char('s'));
    assert_eq!(model.note, "start observe with -w FILE");
}

#[test]
fn a_panic_of_any_thread_gives_the_terminal_back() {
    const INSIDE: &str = "WIREPROOF_TEST_PANIC";
    let name = "cli::tui::tests::a_panic_of_any_thread_gives_the_terminal_back";
    if std::env::var_os(INSIDE).is_some() {
        screen::take().unwrap();
        let panicked = std::thread::spawn(|| panic!("on purpose")).join();
        assert!(panicked.is_err());
        return;
    }
    let exe = std::env::current_exe().unwrap();
    let inner = format!("{} --exact {name} --nocapture; stty -a", exe.display());
    let mut script = Command::new("script");
    script.args(["-qec", &inner, "/dev/null"]).env(INSIDE, "1").env("TERM", "xterm");
    let Ok(output) = script.stdin(Stdio::null()).output() else {
        let line = format!("SKIPPED {name}: needs script (util-linux)\n");
        return std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (before, after) = said.split_once("\u{1b}[?1049h").expect("the other screen is entered");
    assert!(!before.contains("on purpose"), "{said}");
    let left = after.find("\u{1b}[?1049l").expect("the other screen is left");
    assert!(left < after.find("on purpose").expect("the message is on the usual screen"), "{said}");
    assert!(after.contains("\u{1b}[?25h") && after.contains(" icanon") && after.contains(" echo "), "{said}");
}
