//! `wireproof ring verify`: which frames are whole, what was dropped, what was refused.

use super::args::{Plain, VerifyArgs};
use super::load::{self, Loaded};
use super::percent;
use crate::cli::failure::{Failure, INTEGRITY};
use crate::cli::{output, say};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use wireproof_recorder::account::{Row, Share};
use wireproof_recorder::frames::{Counts, Gap, Partial};
use wireproof_recorder::{Account, Ring, account};
use wireproof_reports::text::clean;

const SCHEMA: &str = "wireproof.ring/1";
/// Gaps shown in the table.
const GAPS: usize = 8;

/// A ring; keys in the order of `ring verify`'s contract.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    version: u8,
    capacity: u64,
    generation: u64,
    stamped: bool,
    window: [u64; 2],
    drops: &'a Counts,
    frames: usize,
    first_frame: Option<u32>,
    last_frame: Option<u32>,
    framed_records: u64,
    loose: usize,
    partial: &'a Partial,
    oldest_discarded: Option<u32>,
    gaps: Vec<[u32; 3]>,
    unpublished_tail: u64,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<AccountDocument>,
}

/// Shares in per cent; the frames where work of one runs beside the frame before.
#[derive(Debug, Serialize)]
struct AccountDocument {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frames: Vec<FrameDocument>,
    frame_coverage: Option<f64>,
    device_coverage: Option<f64>,
    worst_frame: Option<f64>,
    worst_device: f64,
}

#[derive(Debug, Serialize)]
struct FrameDocument {
    id: u32,
    span: i64,
    sum: i64,
    prologue: u64,
    total: i64,
    covered: u64,
    root: u64,
    devices: Vec<[u64; 2]>,
    floor: u64,
}

#[derive(Debug, Serialize)]
struct RefusedDocument {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    error: String,
}

/// Runs the verb.
pub(super) fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    output::check(&args.files, args.out.output.as_deref())?;
    let several = args.files.len() > 1;
    let mut code = 0;
    output::write(args.out.output.as_deref(), |out| {
        for path in &args.files {
            let loaded = load::load(path, &args.read)?;
            if let Err(refusal) = loaded.ring {
                code = INTEGRITY;
                say(&load::refused(path, refusal));
            }
            match args.out.format {
                Plain::Json => json(&loaded, several.then_some(path), out)?,
                Plain::Table => table(&loaded, path, out)?,
            }
        }
        Ok(())
    })?;
    Ok(code)
}

fn json(loaded: &Loaded, path: Option<impl AsRef<Path>>, out: &mut dyn Write) -> Result<(), Failure> {
    let file = path.map(|path| path.as_ref().display().to_string());
    let text = match &loaded.ring {
        Ok(ring) => serde_json::to_string(&document(ring, file)),
        Err(refusal) => {
            serde_json::to_string(&RefusedDocument { schema: SCHEMA, file, error: refusal.to_string() })
        }
    };
    Ok(writeln!(out, "{}", text.map_err(io::Error::from)?)?)
}

fn document(ring: &Ring, file: Option<String>) -> Document<'_> {
    Document {
        schema: SCHEMA,
        file,
        version: ring.version,
        capacity: ring.capacity,
        generation: ring.generation,
        stamped: ring.stamped,
        window: [ring.window.lo, ring.window.hi],
        drops: &ring.drops,
        frames: ring.frames.len(),
        first_frame: ring.frames.first().map(|frame| frame.id),
        last_frame: ring.frames.last().map(|frame| frame.id),
        framed_records: ring.framed_records(),
        loose: ring.loose.len(),
        partial: &ring.partial,
        oldest_discarded: ring.oldest_discarded,
        gaps: ring.gaps.iter().map(|gap| [gap.after, gap.before, gap.missing]).collect(),
        unpublished_tail: ring.unpublished_tail,
        digest: format!("{:08x}", ring.digest),
        account: (!ring.frames.is_empty()).then(|| accounted(&account(&ring.frames))),
    }
}

fn accounted(account: &Account) -> AccountDocument {
    let beside = !account.prologue.is_empty();
    AccountDocument {
        frames: if beside { account.rows.iter().map(frame).collect() } else { Vec::new() },
        frame_coverage: account.frame_coverage().percent(),
        device_coverage: account.device_coverage().percent(),
        worst_frame: account.worst_frame().and_then(Share::percent),
        worst_device: account.worst_device().and_then(Share::percent).unwrap_or_default(),
    }
}

fn frame(row: &Row) -> FrameDocument {
    let narrow = |ns: i128| i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX });
    FrameDocument {
        id: row.id,
        span: narrow(row.span_ns),
        sum: narrow(row.sum_ns),
        prologue: row.prologue_ns,
        total: narrow(row.total_ns),
        covered: row.covered_ns,
        root: row.root_ns,
        devices: row.devices.iter().map(|device| [device.covered_ns, device.root_ns]).collect(),
        floor: row.floor_ns,
    }
}

fn table(loaded: &Loaded, path: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let name = path.display().to_string();
    let name = clean(&name);
    let ring = match &loaded.ring {
        Ok(ring) => ring,
        Err(refusal) => return Ok(writeln!(out, "{name}: refused, {refusal}")?),
    };
    let kind = if ring.stamped { "a stamped copy" } else { "without a stamp" };
    writeln!(
        out,
        "{name}: layout {}, {} records, generation {}, {kind}",
        ring.version, ring.capacity, ring.generation
    )?;
    let (d, p) = (&ring.drops, &ring.partial);
    writeln!(out, "  window       ordinals {} to {}", ring.window.lo, ring.window.hi)?;
    writeln!(
        out,
        "  dropped      {} pending, {} stale, {} foreign, {} empty, {} of an unknown kind",
        d.pending, d.stale, d.foreign, d.empty, d.bad_kind
    )?;
    writeln!(out, "  frames       {}; {} records beside them", whole(ring), ring.loose.len())?;
    let oldest = ring.oldest_discarded.map_or_else(|| "none".to_owned(), |id| format!("id {id}"));
    writeln!(
        out,
        "  not whole    {} by count, {} by checksum, {} unfinished; oldest given up after a wrap: {oldest}",
        p.count, p.crc, p.unfinished
    )?;
    writeln!(out, "  gaps         {}", gaps(&ring.gaps))?;
    writeln!(out, "  unpublished  {} records behind the last publication", ring.unpublished_tail)?;
    let account = account(&ring.frames);
    writeln!(
        out,
        "  coverage     frames {}, worst {}; devices {}, worst {}",
        percent(Some(account.frame_coverage())),
        percent(account.worst_frame()),
        percent(Some(account.device_coverage())),
        percent(account.worst_device())
    )?;
    Ok(writeln!(out, "  digest       {:08x}", ring.digest)?)
}

fn whole(ring: &Ring) -> String {
    match (ring.frames.first(), ring.frames.last()) {
        (Some(first), Some(last)) => {
            format!(
                "{} whole, ids {} to {}, {} records",
                ring.frames.len(),
                first.id,
                last.id,
                ring.framed_records()
            )
        }
        _ => "none".to_owned(),
    }
}

fn gaps(gaps: &[Gap]) -> String {
    let missing: u64 = gaps.iter().map(|gap| u64::from(gap.missing)).sum();
    let one = |gap: &Gap| format!("{} between {} and {}", gap.missing, gap.after, gap.before);
    let mut shown: Vec<_> = gaps.iter().take(GAPS).map(one).collect();
    if gaps.len() > GAPS {
        shown.push(format!("{} more gaps", gaps.len() - GAPS));
    }
    if gaps.is_empty() { "none".to_owned() } else { format!("{missing} ids: {}", shown.join(", ")) }
}
