//! Pages of every kind, made by the program itself, and what must hold of a page that a browser shows. Judges nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use super::bundle_made::{Made, make};
use super::cli_support::{outcome, planted, wireproof};
use super::web_support::browser::Browser;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use wireproof_matrices::runner::io::Outcome;

/// A page and how its title begins.
pub(crate) struct Page {
    pub(crate) file: PathBuf,
    pub(crate) title: &'static str,
}

/// Folder in which pages are made.
pub(crate) struct Maker {
    folder: tempfile::TempDir,
    pub(crate) pages: Vec<Page>,
}

impl Maker {
    pub(crate) fn new() -> Maker {
        Maker { folder: tempfile::tempdir().unwrap(), pages: Vec::new() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a verb that writes a page with this name; `codes` are those it may end with.
    fn page(&mut self, name: &str, title: &'static str, codes: &[i32], verb: &[&str]) {
        let file = self.path().join(format!("{name}.html"));
        let (code, page, err) = outcome(wireproof(self.path()).args(verb).args(["--format", "html"]));
        assert!(codes.contains(&code), "{name}: {code} {err}");
        fs::write(&file, page).unwrap();
        self.pages.push(Page { file, title });
    }

    /// A capture with losses, a clean one, what lies between them, and real traffic where it is at hand.
    pub(crate) fn runs(&mut self) {
        for case in ["sacn-scatter", "ddp-torn", "mixed-clean"] {
            planted(self.path(), case);
        }
        self.page("run-losses", "FAIL", &[1], &["analyze", "sacn-scatter.pcap"]);
        self.page("run-torn", "FAIL", &[1], &["analyze", "ddp-torn.pcap"]);
        self.page("run-clean", "PASS", &[0], &["analyze", "mixed-clean.pcap"]);
        self.page("compared", "WORSE", &[0], &["compare", "mixed-clean.pcap", "sacn-scatter.pcap"]);
        let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures/captures");
        let real = shared.join("sacn_test5.pcapng");
        if real.exists() {
            self.page("run-real", "PASS", &[0], &["analyze", real.to_str().unwrap()]);
        } else {
            let _ =
                writeln!(std::io::stderr(), "SKIPPED the page of sacn_test5.pcapng: no such capture here");
        }
    }

    /// Bundles with each verdict, and one against a baseline.
    pub(crate) fn matrices(&mut self) {
        let evidence = self.path().join("evidence");
        let bundle = |made: Made| make(&evidence, &made).display().to_string();
        let pass = bundle(Made::default());
        let fail = bundle(Made { at: 60, lost: 3, frame_ns: [5_402_000, 7_300_000], ..Made::default() });
        let invalid = bundle(Made { at: 120, ending: Outcome::Invalid, ..Made::default() });
        self.page("matrix-pass", "PASS", &[0], &["matrix", "judge", &pass]);
        self.page("matrix-fail", "FAIL", &[1], &["matrix", "judge", &fail]);
        self.page("matrix-invalid", "INVALID", &[4], &["matrix", "judge", &invalid]);
        let set = outcome(wireproof(self.path()).args(["baseline", "set", &pass, "--reason", "first"]));
        assert_eq!(set.0, 0, "{}", set.2);
        let baseline = "baselines/a6-raw-drain.json";
        self.page("baseline", "FAIL", &[1], &["compare", baseline, &fail]);
    }

    /// Both benches, as short as they can be.
    pub(crate) fn benches(&mut self) {
        let short = ["--blocks", "6", "--frame-bytes", "1000"];
        self.page("bench", "Encoders", &[0], &[&["bench"][..], &short].concat());
        self.page("bench-recorder", "Recorder", &[0], &[&["bench", "--recorder"][..], &short].concat());
    }

    /// A demo on this host, and the page of a ring that was downloaded meanwhile.
    pub(crate) fn demo(&mut self) {
        let said = outcome(wireproof(self.path()).args([
            "demo",
            "-q",
            "--no-matrix",
            "--seconds",
            "5",
            "--out",
            "demo",
        ]));
        // A host that is busy spoils the run; its page is one all the same.
        assert!(matches!(said.0, 0 | 1 | 4), "{said:?}");
        let file = self.path().join("demo.html");
        fs::rename(self.path().join("demo/index.html"), &file).unwrap();
        self.pages.push(Page { file, title: "wireproof demo: found" });
        let mut rings: Vec<PathBuf> = fs::read_dir(self.path().join("demo/rings"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        rings.sort();
        let ring = rings.pop().unwrap();
        self.page("ring", "Ring", &[0, 1], &["ring", "summary", ring.to_str().unwrap()]);
    }

    /// Pages that are kept beside the tests of the reports: every part of a matrix, strata and a ladder.
    pub(crate) fn kept(&mut self) {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports/tests/matrix/kept");
        for (name, title) in [("fail", "FAIL"), ("strata", "INCONCLUSIVE"), ("ladder", "INCONCLUSIVE")] {
            let file = self.path().join(format!("kept-{name}.html"));
            fs::copy(kept.join(format!("{name}.html")), &file).unwrap();
            self.pages.push(Page { file, title });
        }
    }
}

/// Width of the text on a sheet of A4 in pixels of CSS.
const SHEET: u32 = 718;

/// What is wrong with the layout as it stands, one line each: a document wider than its window, figures that are cut,
/// labels upon one another, pictures of one time that do not lie below one another, a backtick that should be code.
const LAYOUT: &str = r#"(() => {
    const wrong = [], root = document.documentElement, wide = root.clientWidth;
    const shown = e => e.getClientRects().length > 0;
    if (root.scrollWidth > wide) {
        const box = matchMedia('print').matches ? '.none' : '.scroll';
        const out = [...document.body.querySelectorAll('*')].filter(e => shown(e) && !e.closest(box)
            && e.getBoundingClientRect().right > wide + 1);
        wrong.push(`wide: ${root.scrollWidth} in ${wide}: ${out.slice(-3).map(e => e.outerHTML.slice(0, 90)).join(' ')}`);
    }
    for (const e of document.querySelectorAll('.sum, .badge, .tile b'))
        if (shown(e) && e.scrollWidth > e.clientWidth + 1) wrong.push(`cut: ${e.textContent}`);
    const all = (from, what) => [...document.querySelectorAll(from)].map(e => [...e.querySelectorAll(what)]);
    for (const labels of [...all('.x', 'span'), ...all('.plot', '.y'), ...all('svg', 'text')]) {
        const boxes = labels.filter(shown).map(e => [e.textContent, e.getBoundingClientRect()]);
        boxes.forEach(([a, p], n) => boxes.slice(n + 1).forEach(([b, q]) => {
            const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (across > 1 && down > 0.4 * Math.min(p.height, q.height)) wrong.push(`upon one another: ${a}, ${b}`);
        }));
    }
    const times = [...document.querySelectorAll('.timed .plot > svg, .timed .strip > svg')].filter(shown);
    const edges = times.map(e => e.getBoundingClientRect());
    const apart = side => Math.max(...edges.map(side)) - Math.min(...edges.map(side));
    if (apart(b => b.left) > 1 || apart(b => b.right) > 1)
        wrong.push(`times at different places: ${edges.map(b => `${b.left}..${b.right}`).join(', ')}`);
    if (/`[^`]+`/.test(document.body.innerText)) wrong.push(`backtick: ${document.body.innerText.match(/.*`.*/)[0]}`);
    return [...new Set(wrong)];
})()"#;

/// Opens a page in every look and says what is wrong with it, each line with the look: requests for anything but the
/// page itself, anything the browser says, and faults of the layout.
pub(crate) fn faults(browser: &mut Browser, file: &Path) -> Vec<String> {
    let url = format!("file://{}", file.display());
    let mut faults = Vec::new();
    for (width, height) in [(1280, 900), (1000, 900), (400, 800)] {
        for scheme in ["light", "dark"] {
            browser.screen(width, height, scheme);
            browser.open(&url);
            let look = format!("{scheme}-{width}");
            let picture = keep_picture(file, &look, browser);
            assert!(picture.starts_with(b"\x89PNG"));
            told(browser, &url, &look, &mut faults);
        }
    }
    browser.paper(SHEET);
    browser.open(&url);
    let sheet = browser.printed();
    assert!(sheet.starts_with(b"%PDF"));
    keep(file, "print.pdf", &sheet);
    told(browser, &url, "print", &mut faults);
    faults
}

fn told(browser: &mut Browser, url: &str, look: &str, faults: &mut Vec<String>) {
    let layout = browser.value(LAYOUT);
    let layout = layout.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
    let requests = browser.requests().into_iter().filter(|to| to != url && !to.starts_with("data:"));
    let all = layout.chain(requests.map(|to| format!("request: {to}"))).chain(browser.said());
    faults.extend(all.map(|line| format!("{look}: {line}")));
}

fn keep_picture(file: &Path, look: &str, browser: &mut Browser) -> Vec<u8> {
    let picture = browser.picture();
    keep(file, &format!("{look}.png"), &picture);
    picture
}

/// Keeps a picture for people where `WIREPROOF_PICTURES` names a folder.
fn keep(file: &Path, look: &str, octets: &[u8]) {
    if let Some(folder) = std::env::var_os("WIREPROOF_PICTURES") {
        let name = format!("{}-{look}", file.file_stem().unwrap().to_str().unwrap());
        fs::write(Path::new(&folder).join(name), octets).unwrap();
    }
}
