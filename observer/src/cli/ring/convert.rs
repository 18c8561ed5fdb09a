//! `wireproof ring convert`: a ring, and what was seen beside it, as a Perfetto trace, a Chrome trace or a table.

mod args;
pub(super) mod manifest;
pub(super) mod pack;
mod scheduler;
mod wire;

pub(super) use args::ConvertArgs;

use super::{load, places};
use crate::cli::failure::Failure;
use crate::cli::{layouts, output, rings, say};
use args::{Pack, To};
use manifest::{ClockFacts, Drawn, Manifest, RingFacts, Writer};
use pack::Listed;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use wireproof_recorder::Ring;
use wireproof_recorder::convert::clock::Reading;
use wireproof_recorder::convert::ring::{Context, Odd, tracks};
use wireproof_recorder::convert::timeline::ClockPair;
use wireproof_recorder::convert::{Timeline, WallClock, chrome, csv, perfetto};
use wireproof_recorder::header;
use wireproof_recorder::layout::{BOOT_ID, PROCESS, Record, u32_at};
use wireproof_reports::drains::delay_words;

/// Runs the verb.
pub(super) fn run(args: &ConvertArgs) -> Result<u8, Failure> {
    check(args)?;
    let (image, mut ring) = load::ring(&args.file, &args.read)?;
    let facts = RingFacts::new(&ring, &writer(&image, &ring));
    keep_last(&mut ring, args.last);
    let mut files = inputs(args, &image)?;
    let target = output::file(args.output.as_deref());
    let packing = args.pack.unwrap_or_else(|| pack::by_name(target));
    if args.to == To::Csv {
        let (rows, size, sha256) = emit(args, packing, |out| csv::write(records(&ring), &ring.tables, out))?;
        let drawn = Drawn { table_rows: rows, ..Drawn::default() };
        return finish(args, Manifest::new("csv", Vec::new(), facts, drawn), files, (size, sha256));
    }
    let mut scene = Scene::new(&image, &ring, args, &mut files)?;
    let mut whole = Manifest::new("", Vec::new(), facts, Drawn::default());
    scene.add(args, &image, &ring, &mut whole)?;
    scene.about(&image, &ring, args);
    let write = if args.to == To::Perfetto { perfetto::write } else { chrome::write };
    let (written, size, sha256) = emit(args, packing, |out| write(&scene.timeline, out))?;
    whole.to = if args.to == To::Perfetto { "perfetto" } else { "chrome" };
    whole.drawn = Drawn::new(written, scene.odd);
    finish(args, whole, files, (size, sha256))
}

/// Refuses what cannot work before anything is read.
fn check(args: &ConvertArgs) -> Result<(), Failure> {
    let beside = || args.wire.iter().chain(&args.findings).chain(&args.sched).chain(&args.places);
    let all: Vec<PathBuf> = std::iter::once(&args.file).chain(beside()).cloned().collect();
    output::check(&all, args.output.as_deref())?;
    if args.to == To::Csv && beside().next().is_some() {
        let what = "a table holds the records of the ring only";
        return Err(Failure::usage(
            what,
            "use --to perfetto or --to chrome with --wire, --findings, --sched, --places",
        ));
    }
    let to_stdout = output::file(args.output.as_deref()).is_none();
    let binary = args.to.is_binary() || args.pack.is_some_and(|pack| pack != Pack::None);
    if to_stdout && binary && io::stdout().is_terminal() {
        return Err(Failure::usage("the output is binary and goes to a terminal", "give -o a file name"));
    }
    Ok(())
}

/// What the header says about its writer; a legacy header says nothing.
pub(super) fn writer(image: &[u8], ring: &Ring) -> Writer {
    if ring.version < 2 {
        return Writer::default();
    }
    let boot_id = image.get(BOOT_ID..BOOT_ID + 16).unwrap_or_default();
    Writer {
        snapshot_id: header::facts(image).snapshot,
        boot_id: Some(boot_id.iter().map(|octet| format!("{octet:02x}")).collect()),
        pid: Some(u32_at(image, PROCESS)),
    }
}

/// Leaves the last frames, and the loose records from the first of them on.
fn keep_last(ring: &mut Ring, last: Option<usize>) {
    let Some(last) = last else { return };
    ring.frames.drain(..ring.frames.len().saturating_sub(last));
    let from = ring.frames.first().map_or(u64::MAX, |frame| frame.start_ns);
    ring.loose.retain(|record| record.end_ns() >= from);
}

fn records(ring: &Ring) -> impl Iterator<Item = &Record> {
    ring.frames.iter().flat_map(|frame| &frame.records).chain(&ring.loose)
}

/// The inputs as the manifest lists them.
fn inputs(args: &ConvertArgs, image: &[u8]) -> Result<Vec<Listed>, Failure> {
    let dash = |path: &Path| path.as_os_str() == "-";
    let ring =
        if dash(&args.file) { pack::list_octets("ring", image) } else { pack::list("ring", &args.file)? };
    let mut files = vec![ring];
    let roles =
        [("wire", args.wire.as_slice()), ("findings", &args.findings), ("sched", args.sched.as_slice())];
    for (role, paths) in roles {
        for path in paths.iter().filter(|path| !dash(path)) {
            files.push(pack::list(role, path)?);
        }
    }
    Ok(files)
}

/// The timeline under way.
struct Scene {
    timeline: Timeline,
    odd: Odd,
    clock: ClockPair,
    wall: Option<WallClock>,
    pid: u32,
    range: (u64, u64),
}

impl Scene {
    /// The ring's own tracks.
    fn new(image: &[u8], ring: &Ring, args: &ConvertArgs, files: &mut Vec<Listed>) -> Result<Scene, Failure> {
        let reading = if ring.version >= 2 { Reading::of(image) } else { Reading::default() };
        let clock = ClockPair {
            monotonic_ns: reading.monotonic_ns,
            wall_ns: reading.wall_ns,
            boot_offset_ns: reading.boot_offset_ns,
        };
        let pid = writer(image, ring).pid.unwrap_or_default();
        let (places, path) = places::load(&args.file, args.places.as_deref())?;
        if let Some(path) = path {
            files.push(pack::list("places", &path)?);
        }
        let (timeline, odd) =
            tracks(records(ring), &Context { tables: Some(&ring.tables), places, pid, clock });
        let range = timeline.range().unwrap_or_default();
        let wall = WallClock::new(&reading, records(ring));
        Ok(Scene { timeline, odd, clock, wall, pid, range })
    }

    /// What was seen beside the ring.
    fn add(
        &mut self,
        args: &ConvertArgs,
        image: &[u8],
        ring: &Ring,
        manifest: &mut Manifest,
    ) -> Result<(), Failure> {
        if !args.wire.is_empty() || !args.findings.is_empty() {
            let Some(wall) = &self.wall else {
                let what =
                    "this ring has no reading of the wall clock, so that captures cannot be put beside it";
                return Err(Failure::usage(what, "leave --wire and --findings out"));
            };
            manifest.clock = Some(self.clock_facts(wall, args));
            let clock = wire::Clock::new(wall, args, self.range);
            let layouts = layouts::load(&args.layout)?;
            for path in &args.wire {
                wire::arrivals(path, layouts, &clock, &mut self.timeline)?;
            }
            manifest.arrivals = rings::of_image(image, (&args.wire, layouts), args.wire_offset)?;
            manifest.arrivals.iter().map(delay_words).for_each(|line| say(&line));
            for path in &args.findings {
                wire::findings(path, &clock, &mut self.timeline)?;
            }
        }
        if let Some(path) = &args.sched {
            let stage = |id: u16| ring.tables.stage(id).map_or_else(|| format!("stage {id}"), str::to_owned);
            let beside = scheduler::Beside {
                frames: &ring.frames,
                range: self.range,
                clock: self.clock,
                wall: self.wall.as_ref(),
                pid: self.pid,
                stage: &stage,
            };
            manifest.gaps = Some(scheduler::add(path, args, &beside, &mut self.timeline)?);
        }
        self.timeline.tracks.retain(|track| !track.events.is_empty());
        self.timeline.sort();
        Ok(())
    }

    fn clock_facts(&self, wall: &WallClock, args: &ConvertArgs) -> ClockFacts {
        ClockFacts {
            monotonic_ns: self.clock.monotonic_ns,
            wall_ns: self.clock.wall_ns,
            uncertainty_ns: wall.uncertainty_ns(),
            steps: wall.steps() as u64,
            wire_offset_ns: args.wire_offset,
        }
    }

    /// What a reader of the trace has to know.
    fn about(&mut self, image: &[u8], ring: &Ring, args: &ConvertArgs) {
        let writer = writer(image, ring);
        let mut say = |key: &str, text: String| self.timeline.about.push((key.to_owned(), text));
        say("tool", format!("wireproof {}", env!("CARGO_PKG_VERSION")));
        say("ring_layout", ring.version.to_string());
        say("ring_generation", ring.generation.to_string());
        if let Some(id) = writer.snapshot_id {
            say("ring_snapshot", id.to_string());
        }
        if let Some(id) = writer.boot_id {
            say("boot_id", id);
        }
        say("frames", ring.frames.len().to_string());
        let p = &ring.partial;
        let lost = ring.drops.pending
            + ring.drops.stale
            + ring.drops.foreign
            + ring.drops.empty
            + ring.drops.bad_kind;
        say("frames_not_whole", (p.count + p.crc + p.unfinished).to_string());
        say("records_dropped", lost.to_string());
        say("frame_ids_missing", ring.gaps.iter().map(|gap| u64::from(gap.missing)).sum::<u64>().to_string());
        say("clock", "CLOCK_MONOTONIC of the device, ns".to_owned());
        if let Some(wall) = self.wall.as_ref().filter(|_| !args.wire.is_empty() || !args.findings.is_empty())
        {
            let text = format!(
                "wall times converted within {} ns by the ring's own readings, {} steps; the difference between the \
                 clocks of the capturing host and the device is not known{}",
                wall.uncertainty_ns(),
                wall.steps(),
                if args.wire_offset == 0 {
                    String::new()
                } else {
                    format!("; {} ns were added", args.wire_offset)
                }
            );
            say("wire_clock", text);
        }
    }
}

/// Writes the output, packed.
fn emit<T>(
    args: &ConvertArgs,
    packing: Pack,
    body: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<(T, u64, String), Failure> {
    let mut done = None;
    output::write(args.output.as_deref(), |out| {
        done = Some(pack::through(packing, out, body)?);
        Ok(())
    })?;
    done.ok_or_else(|| Failure::io("nothing was written", "try again"))
}

/// Manifest and checksum beside the output, and one line.
fn finish(
    args: &ConvertArgs,
    mut manifest: Manifest,
    mut files: Vec<Listed>,
    (size, sha256): (u64, String),
) -> Result<u8, Failure> {
    let Some(target) = output::file(args.output.as_deref()) else { return Ok(0) };
    let name = pack::name(target);
    let line = format!("{sha256}  {name}\n");
    files.push(Listed { role: "output", name, size, sha256 });
    manifest.files = files;
    if !args.no_manifest {
        let mut text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?;
        text.push(b'\n');
        output::write(Some(&beside(target, ".manifest.json")), |out| Ok(out.write_all(&text)?))?;
    }
    if args.checksum {
        output::write(Some(&beside(target, ".sha256")), |out| Ok(out.write_all(line.as_bytes())?))?;
    }
    let d = &manifest.drawn;
    say(&format!(
        "{}: {size} octets; {} spans, {} instants, {} samples on {} rows, {} table rows",
        target.display(),
        d.spans,
        d.instants,
        d.samples,
        d.rows,
        d.table_rows
    ));
    let odd = d.inverted + d.out_of_range + d.unknown_kind + d.crowded + d.beyond_lanes;
    if odd > 0 {
        say(&format!("{odd} records could not be drawn as recorded: see \"drawn\" in the manifest"));
    }
    Ok(0)
}

/// The path with more behind its name.
pub(super) fn beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
