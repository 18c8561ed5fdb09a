//! `wireproof observe`: live traffic in, a summary out, the verdict as exit code.

use super::args::ObserveArgs;
use super::config::Settings;
use super::failure::Failure;
use super::live_view::View;
use super::transmit::interrupts;
use super::tui::{self, Plan, Tui};
use super::{alerts, config, lower, output, report, rings, say, serve, soak, stall};
use crate::alert::Alerter;
use crate::live::conduct::{Event, Observed, Run, RunError, conduct};
use crate::live::drain::{DrainPlan, DrainSpan, DrainStatus, DrainUrl, RingCheck};
use crate::live::lens::{Lens, Shown};
use crate::live::multicast::Joins;
use crate::live::quiet::Quiet;
use crate::live::receive::Manner;
use crate::live::record::RecordPlan;
use crate::live::source::{Source as LiveSource, SourceInfo};
use crate::live::tap::{BUFFER_BYTES, TapFilter, TapOptions, packet_ring};
use crate::live::udp::{UdpOptions, UdpSource};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::registry::DECODERS;
use wireproof_protocols::verify::Options;
use wireproof_protocols::words::counted;
use wireproof_recorder::offset::{DRIFT_PPM, NoOffset, estimate};
use wireproof_reports::summary::Fragments;
use wireproof_reports::{DeviceClock, Drain, DrainedRing, Settled, Source, Summary, Terms};

/// Time between two pictures on a terminal, and between two lines elsewhere.
pub(super) const PICTURES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];

/// Runs the verb.
pub(super) fn run(args: &ObserveArgs) -> Result<u8, Failure> {
    check(args)?;
    if args.tui {
        tui::check()?;
    }
    serve::check(&args.serve)?;
    let settings = Settings::of(&args.report)?;
    let mut terms = settings.terms(false)?;
    if args.fail_fast && (terms.filter.is_some() || !terms.waivers.is_empty()) {
        let what = "--fail-fast ends at any violation, before a filter or a waiver can say anything";
        return Err(Failure::usage(what, "leave out --fail-fast, or --where and the rig's waivers"));
    }
    let drain = drain(args)?;
    let alerting = alerts::plan(&args.alert, terms.filter.as_ref(), args.report.anonymize)?;
    if args.self_check {
        let text = stall::check(args.portable)?;
        if !args.quiet {
            say(&text);
        }
    }
    if args.soak.until_bound.is_some() {
        return soak::run(args, &settings, &terms);
    }
    let interrupted = interrupts()?;
    let (sources, _quiet) = open(args, (args.quiet, terms.options.layouts))?;
    let (tap, listening) =
        (beside(args, terms.options.layouts)?, serve::open(&args.serve, args.report.anonymize, &terms)?);
    terms.options.no_drop_counter = counts_no_drops(&sources);
    lower::lower(args)?;
    // Threads keep the rights that they are started with.
    let mut alerter = alerts::start(alerting)?;
    let infos: Vec<SourceInfo> = sources.iter().map(|source| source.info().clone()).collect();
    let (web, glances) = serve::start(listening, args.quiet, &infos)?;
    let is_terminal = io::stderr().is_terminal();
    let lens = Lens::of(&terms).filter(|_| !args.quiet || alerter.is_some());
    let run = Run {
        duration: args.duration,
        record: args.write.clone().map(|path| RecordPlan {
            path,
            rotation: args.rotate,
            keep: args.keep,
            ..RecordPlan::default()
        }),
        tape: args.tape.clone(),
        digests: false,
        drain,
        manner: Manner { fail_fast: args.fail_fast, realtime: args.realtime, cpu: args.cpu, clock: None },
        interface: args.interface.first().filter(|_| args.interface.len() == 1).cloned(),
        interrupted,
        progress_every: (!args.quiet).then_some(PICTURES[usize::from(!is_terminal)]),
        tap: Mutex::new(tap),
        tap_tape: None,
        wanted: Arc::default(),
        looks_every: lens.as_ref().map(|_| PICTURES[0]),
        glances: Mutex::new(glances),
    };
    if args.tui {
        return full_screen(args, (&settings, &terms), sources, &run, (alerter, lens));
    }
    let mut view = View::new(is_terminal, args.quiet, config::width());
    let observed = watched(sources, terms.options.clone(), &run, lens, &mut |shown| match shown {
        Shown::Standing(standing) => view.stand(standing),
        Shown::Event(event) => {
            tell(&mut alerter, &event);
            view.show(&event);
        }
    })?;
    view.clear();
    let unwritten = web.and_then(|web| web.stop());
    let code = finish(args, (&settings, &terms), observed, alerter)?;
    unwritten.map_or(Ok(code), |error| Err(Failure::io_line(&error)))
}

/// Runs to the end; what is shown of it goes by its terms, where there are any.
pub(super) fn watched(
    sources: Vec<Box<dyn LiveSource>>,
    options: Options,
    run: &Run,
    lens: Option<Lens>,
    show: &mut dyn FnMut(Shown<'_>),
) -> Result<Observed, RunError> {
    let Some(mut lens) = lens else {
        return conduct(sources, options, run, &mut |event| show(Shown::Event(event)));
    };
    let observed = conduct(sources, options, run, &mut |event| lens.pass(event, show))?;
    lens.finish(&observed.account, show);
    Ok(observed)
}

fn tell(alerter: &mut Option<Alerter>, event: &Event<'_>) {
    if let (Some(alerter), Event::Found(told)) = (alerter, event) {
        alerter.found(told);
    }
}

/// The same run in a full-screen view, then its verdict, then the evidence that was marked in the view.
fn full_screen(
    args: &ObserveArgs,
    (settings, terms): (&Settings, &Terms),
    sources: Vec<Box<dyn LiveSource>>,
    run: &Run,
    (mut alerter, lens): (Option<Alerter>, Option<Lens>),
) -> Result<u8, Failure> {
    let mut tui = Tui::start(Plan {
        color: settings.colored_on(true),
        no_slice: no_slice(args),
        interrupted: Arc::clone(&run.interrupted),
        wanted: Arc::clone(&run.wanted),
    })?;
    let observed = watched(sources, terms.options.clone(), run, lens, &mut |shown| match shown {
        Shown::Standing(standing) => tui.stand(standing),
        Shown::Event(event) => {
            tell(&mut alerter, &event);
            tui.show(&event);
        }
    });
    let (marks, failed) = tui.close();
    if let Some(why) = failed {
        say(&format!("the full-screen view ended early ({why}); the run went on"));
    }
    let code = finish(args, (settings, terms), observed?, alerter)?;
    if let Some(capture) = args.write.as_deref().filter(|_| !marks.is_empty()) {
        tui::cut(capture, &marks, &terms.options)?;
    }
    Ok(code)
}

/// Why evidence cannot be cut out when the run ends.
fn no_slice(args: &ObserveArgs) -> Option<&'static str> {
    match (&args.write, args.rotate) {
        (None, _) => Some("nothing to cut evidence from: start observe with -w FILE"),
        (Some(_), Some(_)) => {
            Some("evidence may lie in two files with --rotate: cut it with wireproof slice")
        }
        (Some(_), None) => None,
    }
}

/// The capture goes to standard output.
fn is_piped(args: &ObserveArgs) -> bool {
    args.write.as_deref().is_some_and(|path| output::file(Some(path)).is_none())
}

/// Refuses what cannot be beside a capture on standard output.
fn check_pipe(args: &ObserveArgs) -> Result<(), Failure> {
    let taken = output::file(args.report.output.as_deref()).is_none() && args.report.output.is_some();
    let [what, then] = if args.rotate.is_some() {
        ["--rotate begins files, and -w - is none", "name a file, or leave out --rotate"]
    } else if taken {
        ["-w and -o are both standard output", "leave out -o: the summary goes to standard error"]
    } else if args.tui {
        ["--tui and -w - both want standard output", "name a file"]
    } else if io::stdout().is_terminal() {
        ["-w - is a capture, and standard output is a terminal", "name a file, or pipe it on"]
    } else {
        return Ok(());
    };
    Err(Failure::usage(what, then))
}

/// Refuses outputs that would take each other's place.
fn check(args: &ObserveArgs) -> Result<(), Failure> {
    if is_piped(args) {
        check_pipe(args)?;
    }
    output::named("--tape", args.tape.as_deref())?;
    if let Some(path) =
        args.write.as_deref().filter(|path| args.rotate.is_some() && path.exists() && !path.is_file())
    {
        let what = format!("--rotate makes one file after another, and {} is none", path.display());
        return Err(Failure::usage(&what, "give -w the name of a file, or leave out --rotate"));
    }
    let files = [
        ("-w", args.write.as_deref()),
        ("--tape", args.tape.as_deref()),
        ("-o", output::file(args.report.output.as_deref())),
        ("--prom-textfile", args.serve.prom_textfile.as_deref()),
    ];
    for (i, (one, a)) in files.iter().enumerate() {
        for (two, b) in files.iter().skip(i + 1) {
            if let (Some(a), Some(b)) = (a, b)
                && output::same(a, b)
            {
                let what = format!("{one} and {two} are both {}", b.display());
                return Err(Failure::usage(&what, "give one of them another name"));
            }
        }
    }
    Ok(())
}

fn finish(
    args: &ObserveArgs,
    (settings, terms): (&Settings, &Terms),
    mut observed: Observed,
    alerter: Option<Alerter>,
) -> Result<u8, Failure> {
    let kept = arrivals(args, &observed);
    let reconciled = rings::of_drains(&mut observed, &args.drain_dir, &kept, terms.options.layouts)?;
    let settled = terms.settle(&mut observed.account);
    let mut summary = settled_summary(&observed, settled);
    summary.reconciled = reconciled;
    alerts::finish(alerter, &mut summary, args.quiet);
    report::write(&args.report, settings, &mut summary, is_piped(args))?;
    if !args.quiet {
        report::cut_short(&args.report, settings, &summary);
        missed(&observed).iter().for_each(|line| say(line));
    }
    let failed = [
        (&args.write, observed.recorded.and_then(|r| r.failed)),
        (&args.tape, observed.taped.and_then(|t| t.failed)),
    ];
    for (path, error) in failed {
        let Some(error) = error else { continue };
        let path = path.as_ref().map_or_else(String::new, |p| p.display().to_string());
        let what = format!("{path}: writing ended early ({error}); what was written before can be read");
        return Err(Failure::io(&what, "make room on the disk"));
    }
    if let Some(error) = observed.failed {
        return Err(Failure::io(&format!("the run ended early: {error}"), "see `wireproof doctor`"));
    }
    Ok(report::exit_code(&args.report, &summary))
}

/// The file of the run that holds every arrival, if there is one.
fn arrivals(args: &ObserveArgs, observed: &Observed) -> Vec<PathBuf> {
    let tape = args.tape.as_ref().filter(|_| observed.taped.as_ref().is_some_and(|t| t.failed.is_none()));
    // What went into a pipe cannot be read again.
    let written =
        args.write.as_ref().filter(|path| args.rotate.is_none() && !is_piped(args) && path.is_file());
    let written = written.filter(|_| observed.recorded.as_ref().is_some_and(|r| r.failed.is_none()));
    tape.or(written).into_iter().cloned().collect()
}

/// The run record of a live run.
pub(super) fn summary(observed: &Observed) -> Summary {
    settled_summary(observed, Settled::default())
}

/// The run record of a live run whose account was settled on terms.
pub(super) fn settled_summary(observed: &Observed, settled: Settled) -> Summary {
    let observer = observed.observer.clone();
    let source = source(observed);
    let mut summary = Summary::settled(&observed.account, source, observer, observed.cut_short, settled);
    summary.drains = observed.drains.iter().map(drained).collect();
    summary.device_clock = device_clock(&observed.drains);
    summary
}

/// What a watcher of the run did not get to see of it; nothing of it is missing in the summary.
fn missed(observed: &Observed) -> Vec<String> {
    let mut lines = Vec::new();
    if observed.untold > 0 {
        lines.push(format!(
            "{} came too fast to be shown while the run went on; the summary has all of them",
            counted(observed.untold, "finding")
        ));
    }
    if let Some(skipped) = observed.drain_totals.map(|d| d.skipped).filter(|n| *n > 0) {
        lines.push(format!(
            "{} left out because the one before still ran: give --drain-every more time",
            counted(skipped, "download")
        ));
    }
    lines
}

fn drained(span: &DrainSpan) -> Drain {
    let error = match &span.status {
        DrainStatus::Ok => None,
        DrainStatus::Error(text) => Some(text.clone()),
    };
    Drain {
        number: span.number,
        started_ns: span.started_ns,
        ended_ns: span.ended_ns,
        bytes: span.bytes,
        sha256: span.sha256.clone(),
        file: span.file_name.clone(),
        error,
        resumed: span.resumed,
        ring: span.ring.as_ref().map(ring),
    }
}

fn ring(check: &RingCheck) -> DrainedRing {
    match check {
        RingCheck::Ok(facts) => DrainedRing::Ok {
            generation: facts.generation,
            snapshot: facts.snapshot,
            frames: facts.frames,
            first_frame: facts.first_frame,
            last_frame: facts.last_frame,
            missing: facts.missing,
            dropped: facts.dropped,
            partial: facts.partial,
        },
        RingCheck::Refused(why) => DrainedRing::Refused { code: why.to_string() },
    }
}

/// What the downloads prove about the device's clock; nothing when none carried its time.
fn device_clock(spans: &[DrainSpan]) -> Option<DeviceClock> {
    let exchanges: Vec<_> = spans.iter().flat_map(DrainSpan::exchanges).collect();
    let unknown =
        DeviceClock { exchanges: exchanges.len() as u64, drift_ppm: DRIFT_PPM, ..DeviceClock::default() };
    match estimate(&exchanges, DRIFT_PPM) {
        Ok(found) => Some(DeviceClock {
            offset_ns: Some(found.offset_ns),
            uncertainty_ns: Some(found.uncertainty_ns),
            at_ns: Some(found.at_ns),
            ..unknown
        }),
        Err(NoOffset::Contradiction) => Some(unknown),
        Err(NoOffset::Nothing) => None,
    }
}

/// The sources as the run record's source.
fn source(observed: &Observed) -> Source {
    let first = observed.sources.first();
    let names: Vec<&str> = observed.sources.iter().map(|s| s.name.as_str()).collect();
    let (seen, reassembled, incomplete) = observed.fragments;
    let mut link_types = BTreeMap::new();
    for link_type in observed.sources.iter().filter_map(|s| s.link_type) {
        // One source has one link type; several are not told apart by packet.
        *link_types.entry(link_type.to_owned()).or_default() = observed.packets;
    }
    Source {
        kind: first.map_or("udp", |s| s.kind).to_owned(),
        name: names.join(", "),
        timestamps: first.map_or("kernel", |s| s.timestamps).to_owned(),
        packets: observed.packets,
        link_types,
        fragments: Fragments { seen, reassembled, incomplete },
        ..Source::default()
    }
}

fn drain(args: &ObserveArgs) -> Result<Option<DrainPlan>, Failure> {
    let Some(url) = &args.drain else { return Ok(None) };
    let url: DrainUrl = url.parse().map_err(|e| Failure::usage("--drain", &format!("{e}")))?;
    let plan = DrainPlan::new(url, args.drain_every, &args.drain_dir);
    Ok(Some(DrainPlan { run: args.duration, ..plan }))
}

pub(super) type Sources = (Vec<Box<dyn LiveSource>>, Option<Quiet>);

/// Opens the sources; what there is to say about them is said unless `quiet`.
pub(super) fn open(args: &ObserveArgs, (quiet, layouts): (bool, Layouts)) -> Result<Sources, Failure> {
    if args.interface.is_empty() {
        return sockets(args, (quiet, layouts));
    }
    let ports = if args.ports.is_empty() { protocol_ports(layouts) } else { args.ports.clone() };
    let filter = if ports.contains(&0) { TapFilter::Everything } else { TapFilter::Ports(ports.clone()) };
    let mut sources: Vec<Box<dyn LiveSource>> = Vec::new();
    for interface in &args.interface {
        let options = TapOptions {
            promiscuous: !args.no_promiscuous,
            buffer_bytes: args.rcvbuf.unwrap_or(BUFFER_BYTES),
            ..TapOptions::new(interface.clone(), filter.clone())
        };
        sources.push(tap(args, options, layouts)?);
    }
    let held = Quiet::hold(&ports);
    if !quiet {
        held.notes().iter().for_each(|note| say(note));
    }
    Ok((sources, Some(held)))
}

/// Whether one of them has no counter of what it dropped.
pub(super) fn counts_no_drops(sources: &[Box<dyn LiveSource>]) -> bool {
    sources.iter().any(|source| !source.counts_drops())
}

/// The tap beside the sockets, if there is to be one.
fn beside(args: &ObserveArgs, layouts: Layouts) -> Result<Option<Box<dyn LiveSource>>, Failure> {
    let Some(interface) = &args.tap else { return Ok(None) };
    let filter = TapFilter::Ports(protocol_ports(layouts));
    let options = TapOptions { promiscuous: false, ..TapOptions::new(interface.clone(), filter) };
    packet_ring(&options).map(Some).map_err(|e| Failure::io_line(&e))
}

#[cfg(not(feature = "libpcap"))]
fn tap(_: &ObserveArgs, options: TapOptions, _: Layouts) -> Result<Box<dyn LiveSource>, Failure> {
    packet_ring(&options).map_err(|e| Failure::io_line(&e))
}

#[cfg(feature = "libpcap")]
fn tap(args: &ObserveArgs, options: TapOptions, layouts: Layouts) -> Result<Box<dyn LiveSource>, Failure> {
    use crate::live::pcap_source::PcapSource;
    let Some(filter) = &args.pcap else {
        return packet_ring(&options).map_err(|e| Failure::io_line(&e));
    };
    let options = TapOptions { filter: TapFilter::Expression(expression(filter, layouts)), ..options };
    Ok(Box::new(PcapSource::open(&options).map_err(|e| Failure::io_line(&e))?))
}

/// The filter that was asked for; in place of the usual one those of the layouts, beside the ports of the protocols.
#[cfg(feature = "libpcap")]
fn expression(asked: &str, layouts: Layouts) -> String {
    if asked != "udp" || layouts.is_empty() {
        return asked.to_owned();
    }
    let ports = protocol_ports(Layouts::default());
    let ports = ports.iter().map(|port| format!("udp port {port}"));
    let declared = layouts.decoders().iter().map(|d| d.table().layout.capture_filter());
    ports.chain(declared).collect::<Vec<_>>().join(" or ")
}

fn sockets(args: &ObserveArgs, (quiet, layouts): (bool, Layouts)) -> Result<Sources, Failure> {
    let universes = args.join.as_ref().map_or_else(Vec::new, |u| u.0.clone());
    let buffer_bytes = args.rcvbuf.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let options = UdpOptions {
        addresses: args.udp.clone().unwrap_or_default(),
        ports: [layouts.ports(), args.ports.clone()].concat(),
        buffer_bytes,
        rate: args.rate,
        joins: Joins { universes, interface: args.join_on.clone(), ..Joins::default() },
        portable: args.portable,
        hops: false,
    };
    let source = UdpSource::open(&options).map_err(|e| Failure::io_line(&e))?;
    if let Some(budget) = source.join_budget().filter(|_| !quiet) {
        say(&budget.to_string());
    }
    Ok((vec![Box::new(source)], None))
}

/// Ports of all protocols, those of layouts included.
pub(super) fn protocol_ports(layouts: Layouts) -> Vec<u16> {
    let mut ports: Vec<u16> = DECODERS.iter().flat_map(|d| d.ports().iter().copied()).collect();
    ports.extend(layouts.ports());
    ports.sort_unstable();
    ports.dedup();
    ports
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure::io_line(&error)
    }
}
