//! From the text of a plan to the typed plan with every default filled in.
//!
//! It refuses what cannot be meant: unknown keys, floats, units that do not fit. Whether the plan makes sense is asked in
//! `check`.

mod gate;
pub(in crate::plan) mod table;
pub(in crate::plan) mod toggle;

use super::profile::{self, Profile, RingMap};
use super::{
    Design, DrainPlan, Evidence, Factor, Keep, Ladder, Pcap, Plan, PlanError, PlanLayout, PlanStream, Role,
    Target, Timing, Validity, layouts, shape,
};
use crate::order;
use table::{Table, not_toml};
use toml::de::DeTable;

/// Longest text of a plan, octets.
pub const MOST_TEXT: usize = 256 * 1024;
/// Longest part of a name that an error repeats, characters.
const SHOWN: usize = 80;
const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// Octets of a ring of 131,072 records.
pub(in crate::plan) const RING_BYTES: u64 = 6_295_552;

/// The wire's side of a protocol: its name, its port and the values of its sequence number.
const PROTOCOLS: [(&str, u16, u64); 4] =
    [("bigpacket", 21_600, 1 << 32), ("sacn", 5568, 256), ("ddp", 4048, 15), ("artnet", 6454, 255)];

/// What a plan names as a file beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A profile of a device.
    Profile,
    /// A layout of a protocol; one that comes with the program is asked for, too.
    Layout,
}

/// Gives the text of what a plan names, or one sentence why not.
pub type Files<'a> = &'a dyn Fn(Beside, &str) -> Result<String, String>;

/// Who has no files.
fn no_files(what: Beside, name: &str) -> Result<String, String> {
    if let Some(text) = layouts::shipped_layout(name).filter(|_| what == Beside::Layout) {
        return Ok(text.to_owned());
    }
    let shown: String = name.chars().take(SHOWN).collect();
    Err(format!("is {shown:?}, a file that cannot be read from here: name one that comes with the program"))
}

impl Plan {
    /// Reads the text of a plan whose profile and layouts, if it has any, come with the program.
    ///
    /// # Errors
    /// As [`Plan::read_with`].
    pub fn read(text: &str) -> Result<Plan, PlanError> {
        Plan::read_with(text, &no_files)
    }

    /// Reads the text of a plan; its profile and layouts may be files.
    ///
    /// # Errors
    /// One line that names the table, the field and what is allowed there.
    pub fn read_with(text: &str, files: Files<'_>) -> Result<Plan, PlanError> {
        if text.len() > MOST_TEXT {
            let most = MOST_TEXT / 1024;
            return Err(PlanError::at(
                "plan",
                "",
                format!("is longer than {most} KiB: no plan is that long"),
            ));
        }
        let document = DeTable::parse(text).map_err(|error| not_toml(text, "plan", &error))?;
        let plan = plan(&Table::root(text, "plan", &document), files)?;
        shape::check(&plan)?;
        Ok(plan)
    }
}

fn plan(root: &Table<'_>, files: Files<'_>) -> Result<Plan, PlanError> {
    root.only(&[
        "schema", "name", "purpose", "target", "layout", "stream", "factor", "design", "timing", "drain",
        "toggle", "gate", "validity", "evidence", "ladder",
    ])?;
    let mut target = target(&root.needed_table("target")?, files)?;
    let theirs = target.profile.as_mut().map(|profile| std::mem::take(&mut profile.toggle));
    let factor = root.tables("factor")?.into_iter().map(factor).collect::<Result<Vec<Factor>, _>>()?;
    let toggle = toggle::read(root, target.expected_fps)?;
    let ladder = root.table("ladder")?.map(|table| ladder(&table)).transpose()?;
    let layout = layouts::read(root, files)?;
    Ok(Plan {
        schema: root.need("schema", root.small("schema", 1, 1)?)?,
        name: root.need("name", root.text("name")?)?,
        purpose: root.text("purpose")?.unwrap_or_default(),
        stream: root.tables("stream")?.into_iter().map(|t| stream(t, &layout)).collect::<Result<_, _>>()?,
        layout,
        design: design(&root.needed_table("design")?, ladder.as_ref())?,
        timing: root.table("timing")?.map_or_else(|| Ok(usual_timing()), |table| timing(&table))?,
        drain: root.table("drain")?.map(|table| drain(&table, target.profile.as_deref())).transpose()?,
        toggle: toggle::with(toggle, &factor, theirs.unwrap_or_default()),
        factor,
        gate: gate::read(root)?,
        validity: root.table("validity")?.map_or_else(|| Ok(usual_validity()), |table| validity(&table))?,
        evidence: root.table("evidence")?.map_or_else(|| Ok(usual_evidence()), |table| evidence(&table))?,
        target,
        ladder,
    })
}

fn target(table: &Table<'_>, files: Files<'_>) -> Result<Target, PlanError> {
    table.only(&["base_url", "profile", "status", "auth", "expected_fps", "require"])?;
    let auth = table.text("auth")?;
    let named =
        |text: String| match text.strip_prefix("env:") {
            Some(name) => Ok(name.to_owned()),
            None => Err(table
                .refuse("auth", "is no \"env:NAME\": a plan names the variable, it never holds a secret")),
        };
    let expected_fps = table.small("expected_fps", 1, 1000)?.unwrap_or(60);
    let profile = profile::resolve(table, expected_fps, files)?.map(Box::new);
    let status = match (&profile, table.text("status")?) {
        (Some(_), Some(_)) => return Err(table.refuse("status", "is what the profile says: leave it out")),
        (Some(profile), None) => profile.status.path.clone(),
        (None, given) => given.unwrap_or_else(|| "/v1/status".to_owned()),
    };
    Ok(Target {
        base_url: table.need("base_url", table.text("base_url")?)?,
        status,
        profile,
        auth: auth.map(named).transpose()?,
        expected_fps,
        require: table.words("require")?,
    })
}

fn stream(table: Table<'_>, layouts: &[PlanLayout]) -> Result<PlanStream, PlanError> {
    let id = table.need("id", table.text("id")?)?;
    let table = table.named(&id);
    table.only(&[
        "id",
        "protocol",
        "listen",
        "source",
        "universes",
        "datagrams_per_frame",
        "seq_modulus",
        "from_level",
    ])?;
    let (protocol, port, modulus) = protocol(&table, layouts)?;
    let universes = table.text("universes")?.unwrap_or_default();
    let counted = shape::count_universes(&universes).ok().filter(|count| *count > 0);
    let datagrams = table.small("datagrams_per_frame", 1, 65_536)?.or(counted);
    let listen = table.text("listen")?.or(port.map(|port| format!("0.0.0.0:{port}")));
    Ok(PlanStream {
        id,
        protocol,
        listen: table.need("listen", listen)?,
        source: table.need("source", table.text("source")?)?,
        universes,
        datagrams_per_frame: table.need("datagrams_per_frame", datagrams)?,
        seq_modulus: table.number("seq_modulus", 2, 1 << 48)?.unwrap_or(modulus),
        from_level: table.number("from_level", 0, u64::MAX)?,
    })
}

/// Name, usual port and values of the number of a stream's protocol.
fn protocol(table: &Table<'_>, layouts: &[PlanLayout]) -> Result<(String, Option<u16>, u64), PlanError> {
    let declared = layouts.iter().map(|layout| (layout.protocol(), layout.declared()));
    let declared =
        declared.filter_map(|(name, of)| of.map(|of| (name, of.ports.first().copied(), of.modulus)));
    let known = PROTOCOLS.into_iter().map(|(name, port, modulus)| (name.to_owned(), Some(port), modulus));
    let rows: Vec<(String, Option<u16>, u64)> = known.chain(declared).collect();
    let asked = table.text("protocol").ok().flatten().unwrap_or_default();
    if asked.starts_with(layouts::PREFIX) && rows.iter().all(|row| row.0 != asked) {
        let shown: String = asked.chars().take(SHOWN).collect();
        let how = "write layout = [\"my-protocol.toml\"] above the first table";
        return Err(
            table.refuse("protocol", format!("is {shown:?}, which no layout of the plan declares: {how}"))
        );
    }
    let names: Vec<(&str, usize)> = rows.iter().enumerate().map(|(at, row)| (row.0.as_str(), at)).collect();
    let at = table.need("protocol", table.choice("protocol", &names)?)?;
    rows.into_iter().nth(at).ok_or_else(|| table.refuse("protocol", "is none that is known"))
}

fn factor(table: Table<'_>) -> Result<Factor, PlanError> {
    let name = table.need("name", table.text("name")?)?;
    let table = table.named(&name);
    table.only(&["name", "levels", "baseline", "role"])?;
    let levels = table.need("levels", table.texts("levels")?)?;
    let first =
        levels.first().cloned().ok_or_else(|| table.refuse("levels", "is empty: name one level or more"))?;
    let roles = [("treatment", Role::Treatment), ("stratum", Role::Stratum), ("fixed", Role::Fixed)];
    Ok(Factor {
        name,
        levels,
        baseline: table.text("baseline")?.unwrap_or(first),
        role: table.need("role", table.choice("role", &roles)?)?,
    })
}

fn design(table: &Table<'_>, ladder: Option<&Ladder>) -> Result<Design, PlanError> {
    table.only(&["blocks", "seed", "order", "max_invalid_repeats", "looks"])?;
    let usual = ladder.map_or(10, |ladder| ladder.arms_per_step);
    Ok(Design {
        blocks: table.small("blocks", 1, shape::MOST_BLOCKS)?.unwrap_or(usual),
        seed: table.need("seed", table.number("seed", 0, i64::MAX as u64)?)?,
        order: table.choice("order", &[(order::NAME, order::NAME)])?.unwrap_or(order::NAME).to_owned(),
        max_invalid_repeats: table.small("max_invalid_repeats", 0, 1000)?.unwrap_or(2),
        looks: table.numbers("looks")?.unwrap_or_default(),
    })
}

fn timing(table: &Table<'_>) -> Result<Timing, PlanError> {
    table.only(&["warmup", "settle", "measure", "guard", "arm_deadline"])?;
    let usual = usual_timing();
    Ok(Timing {
        warmup_ns: table.duration("warmup")?.unwrap_or(usual.warmup_ns),
        settle_ns: table.duration("settle")?.unwrap_or(usual.settle_ns),
        measure_ns: table.duration("measure")?.unwrap_or(usual.measure_ns),
        guard_ns: table.duration("guard")?.unwrap_or(usual.guard_ns),
        arm_deadline_ns: table.duration("arm_deadline")?.unwrap_or(usual.arm_deadline_ns),
    })
}

fn usual_timing() -> Timing {
    Timing {
        warmup_ns: 60 * SECOND,
        settle_ns: 2 * SECOND,
        measure_ns: 15 * SECOND,
        guard_ns: 50 * MS,
        arm_deadline_ns: 60 * SECOND,
    }
}

/// The profile says where the ring is and how long, unless the plan does; without a recorder there is nothing to say.
fn drain(table: &Table<'_>, profile: Option<&Profile>) -> Result<DrainPlan, PlanError> {
    table.only(&["url", "paths", "offsets", "jitter", "tail", "timeout", "expect_bytes", "keep"])?;
    let copy = profile.and_then(|profile| profile.ring.copy());
    let usual = match profile.map(|profile| &profile.ring) {
        Some(RingMap::None) => Some(String::new()),
        _ => copy.map(|(path, _)| path.to_owned()),
    };
    let usual_bytes = copy.map_or(RING_BYTES, |(_, bytes)| bytes);
    Ok(DrainPlan {
        url: table.need("url", table.text("url")?.or(usual))?,
        paths: table.text_map("paths")?,
        offsets_ns: table.durations("offsets")?.unwrap_or_default(),
        jitter_ns: table.duration("jitter")?.unwrap_or(0),
        tail_ns: table.duration("tail")?.unwrap_or(100 * MS),
        timeout_ns: table.duration("timeout")?.unwrap_or(5 * SECOND),
        expect_bytes: table.number("expect_bytes", 1, 1 << 32)?.unwrap_or(usual_bytes),
        keep: table.choice("keep", &[("hash", Keep::Hash), ("all", Keep::All)])?.unwrap_or(Keep::Hash),
    })
}

fn validity(table: &Table<'_>) -> Result<Validity, PlanError> {
    table.only(&["max_loop_gap", "fps_tolerance", "min_hold", "clock_step"])?;
    let usual = usual_validity();
    let automatic = table.text("max_loop_gap")?.is_some_and(|text| text == "auto");
    Ok(Validity {
        max_loop_gap_ns: if automatic { None } else { table.duration("max_loop_gap")? },
        fps_tolerance_ppm: table.ratio("fps_tolerance")?.unwrap_or(usual.fps_tolerance_ppm),
        min_hold_ns: table.duration("min_hold")?.unwrap_or(usual.min_hold_ns),
        clock_step_ns: table.duration("clock_step")?.unwrap_or(usual.clock_step_ns),
    })
}

/// What spoils an arm unless the plan says otherwise.
pub fn usual_validity() -> Validity {
    Validity { max_loop_gap_ns: None, fps_tolerance_ppm: 5000, min_hold_ns: 2 * SECOND, clock_step_ns: MS }
}

fn evidence(table: &Table<'_>) -> Result<Evidence, PlanError> {
    table.only(&["dir", "pcap", "min_free"])?;
    let usual = usual_evidence();
    let kinds = [("none", Pcap::None), ("headers", Pcap::Headers), ("full", Pcap::Full)];
    Ok(Evidence {
        dir: table.text("dir")?.unwrap_or(usual.dir),
        pcap: table.choice("pcap", &kinds)?.unwrap_or(usual.pcap),
        min_free_bytes: table.size("min_free")?.unwrap_or(usual.min_free_bytes),
    })
}

fn usual_evidence() -> Evidence {
    Evidence { dir: "evidence".to_owned(), pcap: Pcap::None, min_free_bytes: 2 << 30 }
}

fn ladder(table: &Table<'_>) -> Result<Ladder, PlanError> {
    table.only(&["factor", "arms_per_step", "alpha"])?;
    Ok(Ladder {
        factor: table.need("factor", table.text("factor")?)?,
        arms_per_step: table.small("arms_per_step", 1, shape::MOST_BLOCKS)?.unwrap_or(6),
        alpha_ppm: table.ratio("alpha")?.unwrap_or(50_000),
    })
}
