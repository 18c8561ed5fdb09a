//! `observe --until-bound`: windows of observation, one after another, until a failure was shown to be rarer than the asked
//! rate, or happened. Leads the soak machine; what stands between two runs lies in the folder.

mod folder;

use super::args::ObserveArgs;
use super::config::{self, Settings};
use super::failure::{Failure, USAGE};
use super::live_view::View;
use super::observe::Sources;
use super::transmit::interrupts;
use super::{lower, observe, output, say};
use crate::live::conduct::{Event, Run};
use crate::live::lens::{Lens, Shown};
use crate::live::receive::Manner;
use folder::{Folder, Standing};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wireproof_matrices::soak::{After, DiskPolicy, Rule, Soak, rate_text};
use wireproof_protocols::verify::Options;
use wireproof_reports::soak::{METRIC, SoakReport, Window};
use wireproof_reports::{Format, Style, Terms, Verdict};

/// One-sided error of the bound, ppm: 95 %.
const ALPHA_PPM: u64 = 50_000;
/// Shortest window: a sequence number has to be seen to be missing.
const SHORTEST: Duration = Duration::from_secs(1);
/// Longest window: what it found is safe only when it ends.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Runs the soak.
pub(super) fn run(args: &ObserveArgs, settings: &Settings, terms: &Terms) -> Result<u8, Failure> {
    let rule = rule(args)?;
    check(args, settings)?;
    let identity = folder::identity(args, terms);
    let first = observe::open(args, (args.quiet, terms.options.layouts))?;
    // What is made from here on belongs to who goes on.
    lower::lower(args)?;
    let (folder, standing) = Folder::open(&args.soak.soak, &rule, &identity, args.soak.window)?;
    let mut course = Course {
        args,
        terms,
        interrupted: interrupts()?,
        begun: Instant::now(),
        view: View::new(is_watched(args), args.quiet, config::width()),
        folder,
        standing,
        opened: Some(first),
        listens: false,
    };
    course.announce();
    course.go()?;
    course.finish(settings)
}

/// The rule that was asked for.
fn rule(args: &ObserveArgs) -> Result<Rule, Failure> {
    let said = |error: &dyn std::error::Error| Failure::Said { code: USAGE, text: error.to_string() };
    let rate_ppb = Rule::rate(args.soak.until_bound.as_deref().unwrap_or_default()).map_err(|e| said(&e))?;
    if args.soak.window < SHORTEST || args.soak.window > LONGEST {
        return Err(Failure::usage("--window", "give it 1s to 1h"));
    }
    if let Some(most) = args.duration.filter(|most| *most < args.soak.window) {
        let what = format!("--duration {most:?} ends before a window of {:?} does", args.soak.window);
        return Err(Failure::usage(
            &what,
            "nothing would ever count: give a longer time or a shorter --window",
        ));
    }
    let disk = DiskPolicy { max_bytes: args.soak.soak_disk, ..DiskPolicy::default() };
    let rule = Rule { metric: METRIC.to_owned(), rate_ppb, alpha_ppm: ALPHA_PPM, disk };
    Soak::new(rule.clone()).map_err(|e| said(&e))?;
    Ok(rule)
}

/// Refuses what has no meaning over several windows.
fn check(args: &ObserveArgs, settings: &Settings) -> Result<(), Failure> {
    let serve = &args.serve;
    let others = [
        ("-w", args.write.is_some()),
        ("--tape", args.tape.is_some()),
        ("--drain", args.drain.is_some()),
        ("--tap", args.tap.is_some()),
        ("--exec and --webhook", args.alert.exec.is_some() || args.alert.webhook.is_some()),
        ("--anonymize", args.report.anonymize),
        ("--tui", args.tui),
        ("--web", serve.web.is_some()),
        ("--prom", serve.prom.is_some()),
        ("--prom-textfile", serve.prom_textfile.is_some()),
    ];
    if let Some((name, _)) = others.iter().find(|(_, given)| *given) {
        let what = format!("--until-bound keeps a tape of each window itself, and goes without {name}");
        return Err(Failure::usage(&what, "leave that out, or observe without --until-bound"));
    }
    if !SoakReport::FORMATS.contains(&settings.format) {
        let all = SoakReport::FORMATS.map(Format::name).join(", ");
        return Err(Failure::usage(
            &format!("a soak has no {}", settings.format.name()),
            &format!("use {all}"),
        ));
    }
    Ok(())
}

/// A person looks at a terminal.
fn is_watched(args: &ObserveArgs) -> bool {
    !args.quiet && io::stderr().is_terminal()
}

/// A soak on its way.
struct Course<'a> {
    args: &'a ObserveArgs,
    terms: &'a Terms,
    interrupted: Arc<AtomicBool>,
    begun: Instant,
    view: View,
    folder: Folder,
    standing: Standing,
    /// The sources of the first window, opened before rights were given up.
    opened: Option<Sources>,
    /// It was said what is listened to.
    listens: bool,
}

impl Course<'_> {
    fn tell(&self, text: &str) {
        if !self.args.quiet {
            say(text);
        }
    }

    fn announce(&self) {
        let state = self.standing.soak.state();
        let going = match self.standing.runs {
            1 => String::new(),
            run => format!("; run {run}, {} frames of earlier runs count", state.trials),
        };
        self.tell(&format!(
            "soak: below {} of frames with {}: {} clean frames in windows of {} s{going}; Ctrl-C ends it for now, the same \
             command goes on; {}",
            rate_text(state.rule.rate_ppb),
            state.rule.confidence(),
            state.rule.trials_needed(),
            self.args.soak.window.as_secs_f64(),
            self.folder.path().display(),
        ));
    }

    /// Windows until the machine says so, Ctrl-C, or the time is over.
    fn go(&mut self) -> Result<(), Failure> {
        while !self.interrupted.load(Ordering::SeqCst) && !self.is_over_time() {
            if self.window()?.over {
                break;
            }
        }
        Ok(())
    }

    fn is_over_time(&self) -> bool {
        self.args.duration.is_some_and(|most| self.begun.elapsed() + self.args.soak.window > most)
    }

    fn window(&mut self) -> Result<After, Failure> {
        let number = self.standing.soak.state().chunks + 1;
        let (sources, _quiet) = match self.opened.take() {
            Some(opened) => opened,
            None => observe::open(self.args, (true, self.terms.options.layouts))?,
        };
        let lens = Lens::of(self.terms).filter(|_| !self.args.quiet);
        let run = Run {
            duration: Some(self.args.soak.window),
            tape: Some(self.folder.tape(number)),
            manner: Manner {
                fail_fast: self.args.fail_fast,
                realtime: self.args.realtime,
                cpu: self.args.cpu,
                clock: None,
            },
            interface: self.args.interface.first().filter(|_| self.args.interface.len() == 1).cloned(),
            interrupted: Arc::clone(&self.interrupted),
            progress_every: is_watched(self.args).then_some(observe::PICTURES[0]),
            looks_every: lens.as_ref().map(|_| observe::PICTURES[0]),
            ..Run::default()
        };
        let (view, first) = (&mut self.view, !std::mem::replace(&mut self.listens, true));
        let no_drop_counter = observe::counts_no_drops(&sources);
        let options = Options { no_drop_counter, ..self.terms.options.clone() };
        let observed = observe::watched(sources, options, &run, lens, &mut |shown| match shown {
            Shown::Standing(standing) => view.stand(standing),
            Shown::Event(Event::Listening(_)) if !first => {}
            Shown::Event(event) => view.show(&event),
        });
        self.view.clear();
        let mut observed = observed?;
        if let Some(error) = observed.taped.as_ref().and_then(|tape| tape.failed.as_ref()) {
            let what = format!("{}: its tape ended early ({error})", self.folder.tape(number).display());
            return Err(Failure::io(&what, "make room on the disk; the same command goes on"));
        }
        if let Some(error) = &observed.failed {
            let what = format!("window {number} ended early: {error}");
            return Err(Failure::io(&what, "see `wireproof doctor`; the same command goes on"));
        }
        if observed.cut_short && self.interrupted.load(Ordering::SeqCst) {
            self.folder.discard(number);
            return Ok(After::default());
        }
        // The limits of waivers are those of a window.
        let settled = self.terms.settle(&mut observed.account);
        let summary = observe::settled_summary(&observed, settled);
        let mut window = self.standing.memory.read(number, &summary);
        window.chunk.bytes = self.folder.size(number);
        let after = self.standing.soak.take(&window.chunk);
        self.folder.keep(&self.standing)?;
        after.drop.iter().for_each(|number| self.folder.discard(*number));
        self.tell(&self.line(number, &window));
        Ok(after)
    }

    /// `window 12: clean, 3,600 frames; 43,200 of 299,572, at least 1:11:12 left`.
    fn line(&self, number: u64, window: &Window) -> String {
        let soak = &self.standing.soak;
        let (counted, needed) = (soak.state().trials, soak.state().rule.trials_needed());
        let what = match window.verdict {
            Verdict::Pass => "clean".to_owned(),
            verdict => format!("{}, {}", verdict.word(), window.reason),
        };
        let left = (soak.trials_left() as f64 / window.chunk.trials.max(1) as f64).ceil();
        let seconds = (left * self.args.soak.window.as_secs_f64()).ceil() as u64;
        let time = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let frames = window.chunk.trials;
        format!("window {number}: {what}; {frames} frames; {counted} of {needed}, about {time} left")
    }

    fn finish(self, settings: &Settings) -> Result<u8, Failure> {
        let window_ns = u64::try_from(self.args.soak.window.as_nanos()).unwrap_or(u64::MAX);
        let Standing { soak, memory, runs, .. } = &self.standing;
        let report = SoakReport::of(soak, memory, window_ns, *runs);
        let target = self.args.report.output.as_deref();
        let to_file = output::file(target).is_some();
        let color = settings.format == Format::Table && !to_file && settings.colored();
        let style = Style { color, width: config::width() };
        output::write(target, |out| Ok(report.render(settings.format, style, out)?))?;
        if to_file {
            say(&format!("{}: {}", report.verdict.word(), report.reason));
        }
        Ok(if self.args.report.exit_zero { 0 } else { report.verdict.exit_code() })
    }
}
