//! From the text of a profile to the typed one, and from the name in a plan to its text.

use super::super::read::table::{Table, not_toml};
use super::super::read::{MOST_TEXT, RING_BYTES, toggle};
use super::super::{Beside, Files, PlanError};
use super::{
    ANSWER_BYTES, Auth, Builtin, ClockMap, OWN, Profile, RECORD_FIELDS, RingFields, RingMap, Source,
    StatusMap, Unit, shape,
};
use std::collections::BTreeMap;
use toml::de::DeTable;

/// Units of a time.
const TIMES: [(&str, Unit); 4] = [("ns", Unit::Ns), ("us", Unit::Us), ("ms", Unit::Ms), ("s", Unit::S)];
/// Units of a rate.
const RATES: [(&str, Unit); 2] = [("fps", Unit::Fps), ("mfps", Unit::Mfps)];

/// The profile that a target names: one that comes with the program, or a file.
pub(in crate::plan) fn resolve(
    target: &Table<'_>,
    fps: u32,
    files: Files<'_>,
) -> Result<Option<Profile>, PlanError> {
    let Some(name) = target.text("profile")? else { return Ok(None) };
    if name == OWN {
        return Ok(None);
    }
    let text = match Builtin::find(&name) {
        Some(builtin) => builtin.text.to_owned(),
        None => files(Beside::Profile, &name).map_err(|why| target.refuse("profile", why))?,
    };
    let shown: String = name.chars().take(80).collect();
    let read = Profile::read(&text, fps);
    read.map(Some).map_err(|error| target.refuse("profile", format!("{shown}: {error}")))
}

impl Profile {
    /// Reads the text of a profile; a switch that counts something is looked at with these frames a second in mind.
    ///
    /// # Errors
    /// One line that names the line, the table, the field and what is allowed there.
    pub fn read(text: &str, fps: u32) -> Result<Profile, PlanError> {
        if text.len() > MOST_TEXT {
            let most = MOST_TEXT / 1024;
            return Err(PlanError::at("profile", "", format!("is longer than {most} KiB")));
        }
        let document = DeTable::parse(text).map_err(|error| not_toml(text, "profile", &error))?;
        let profile = profile(&Table::root(text, "profile", &document), fps)?;
        shape::check(&profile)?;
        Ok(profile)
    }
}

fn profile(root: &Table<'_>, fps: u32) -> Result<Profile, PlanError> {
    root.only(&["schema", "name", "answer_limit", "auth", "status", "clock", "ring", "toggle"])?;
    let status = status(&root.needed_table("status")?)?;
    Ok(Profile {
        schema: root.need("schema", root.small("schema", 1, 1)?)?,
        name: root.need("name", root.text("name")?)?,
        auth: root.table("auth")?.map_or(Ok(Auth::Bearer), |table| auth(&table))?,
        answer_bytes: root.size("answer_limit")?.unwrap_or(ANSWER_BYTES),
        clock: root.table("clock")?.map_or(Ok(ClockMap::None), |table| clock(&table, &status.path))?,
        ring: root.table("ring")?.map_or(Ok(RingMap::None), |table| ring(&table))?,
        toggle: toggle::read(root, fps)?,
        status,
    })
}

fn auth(table: &Table<'_>) -> Result<Auth, PlanError> {
    table.only(&["kind", "header"])?;
    let kinds = [("bearer", 0), ("header", 1), ("none", 2)];
    let kind = table.need("kind", table.choice("kind", &kinds)?)?;
    match (kind, table.text("header")?) {
        (1, Some(name)) => Ok(Auth::Header { name: name.to_ascii_lowercase() }),
        (1, None) => Err(table.refuse("header", "is missing: the name of the header that holds the token")),
        (_, Some(_)) => Err(table.refuse("header", "is for kind = \"header\" only")),
        (0, None) => Ok(Auth::Bearer),
        (_, None) => Ok(Auth::None),
    }
}

fn status(table: &Table<'_>) -> Result<StatusMap, PlanError> {
    table.only(&[
        "path",
        "build",
        "boot",
        "uptime",
        "generation",
        "throttled",
        "cpu",
        "fps",
        "values",
        "counters",
    ])?;
    let path = table.need("path", table.text("path")?)?;
    let one = |key: &str, units: &[(&str, Unit)]| {
        table.table(key)?.map(|inner| source(&inner, &path, units, false)).transpose()
    };
    let (uptime, cpu) = (one("uptime", &TIMES)?, one("cpu", &TIMES)?);
    let fps = one("fps", &RATES)?;
    Ok(StatusMap {
        build: one("build", &[])?,
        boot: one("boot", &[])?,
        generation: one("generation", &[])?,
        throttled: one("throttled", &[])?,
        values: several(table, "values", &path, true)?,
        counters: several(table, "counters", &path, false)?,
        uptime,
        cpu,
        fps,
        path,
    })
}

fn several(
    table: &Table<'_>,
    key: &str,
    path: &str,
    mapped: bool,
) -> Result<BTreeMap<String, Source>, PlanError> {
    let Some(inner) = table.table(key)? else { return Ok(BTreeMap::new()) };
    let one = |name: &str| Ok((name.to_owned(), source(&inner.needed_table(name)?, path, &[], mapped)?));
    inner.keys().map(one).collect()
}

/// `{ path, pointer, unit, map }`; the path is the status's unless it is given, a unit is asked for where one is possible.
fn source(table: &Table<'_>, path: &str, units: &[(&str, Unit)], mapped: bool) -> Result<Source, PlanError> {
    let mut known = vec!["path", "pointer"];
    known.extend((!units.is_empty()).then_some("unit"));
    known.extend(mapped.then_some("map"));
    table.only(&known)?;
    let unit = match units {
        [] => None,
        units => Some(table.need("unit", table.choice("unit", units)?)?),
    };
    Ok(Source {
        path: table.text("path")?.unwrap_or_else(|| path.to_owned()),
        pointer: table.need("pointer", table.text("pointer")?)?,
        unit,
        map: table.words("map")?,
    })
}

fn clock(table: &Table<'_>, path: &str) -> Result<ClockMap, PlanError> {
    let kinds = [("none", 0), ("headers", 1), ("value", 2)];
    match table.need("kind", table.choice("kind", &kinds)?)? {
        0 => table.only(&["kind"]).map(|()| ClockMap::None),
        1 => {
            table.only(&["kind", "received", "sent", "unit"])?;
            Ok(ClockMap::Headers {
                received: table.need("received", table.text("received")?)?.to_ascii_lowercase(),
                sent: table.need("sent", table.text("sent")?)?.to_ascii_lowercase(),
                unit: table.need("unit", table.choice("unit", &TIMES)?)?,
            })
        }
        _ => {
            table.only(&["kind", "path", "pointer", "unit"])?;
            let source = Source {
                path: table.text("path")?.unwrap_or_else(|| path.to_owned()),
                pointer: table.need("pointer", table.text("pointer")?)?,
                unit: Some(table.need("unit", table.choice("unit", &TIMES)?)?),
                map: BTreeMap::new(),
            };
            Ok(ClockMap::Value { source })
        }
    }
}

fn ring(table: &Table<'_>) -> Result<RingMap, PlanError> {
    let layouts = [("none", 0), ("v1", 1), ("v2", 2)];
    let layout = table.need("layout", table.choice("layout", &layouts)?)?;
    if layout == 0 {
        return table.only(&["layout"]).map(|()| RingMap::None);
    }
    let path = table.need("path", table.text("path")?)?;
    let bytes = table.number("bytes", 1, 1 << 32)?.unwrap_or(RING_BYTES);
    if layout == 2 {
        table.only(&["layout", "path", "bytes"])?;
        return Ok(RingMap::V2 { path, bytes });
    }
    table.only(&["layout", "path", "bytes", "map", "stages"])?;
    let (map, fields) = match table.text("map") {
        Ok(name) => (table.need("map", name)?, None),
        Err(_) => (String::new(), Some(Box::new(fields(&table.needed_table("map")?)?))),
    };
    Ok(RingMap::V1 { path, bytes, map, fields, stages: stages(table)? })
}

fn stages(table: &Table<'_>) -> Result<BTreeMap<String, u16>, PlanError> {
    let Some(table) = table.table("stages")? else { return Ok(BTreeMap::new()) };
    let one = |name: &str| {
        let id = table.need(name, table.number(name, 0, u16::MAX.into())?)?;
        Ok((name.to_owned(), u16::try_from(id).unwrap_or(u16::MAX)))
    };
    table.keys().map(one).collect()
}

/// The same as a field map of `wireproof ring --map`.
fn fields(table: &Table<'_>) -> Result<RingFields, PlanError> {
    let words = [
        "magic",
        "header",
        "record",
        "visible",
        "generation",
        "seq",
        "capacity",
        "commit",
        "commit_bias",
        "complete_stage",
        "no_frame",
        "fields",
    ];
    table.only(&words)?;
    let inner = table.needed_table("fields")?;
    inner.only(&RECORD_FIELDS.map(|(name, _)| name))?;
    let number = |key: &str| table.number(key, 0, i64::MAX as u64);
    let place = |(name, _): (&str, u64)| {
        let list = inner.need(name, inner.numbers(name)?)?;
        match list.as_slice() {
            [at, length] => Ok((name.to_owned(), (u64::from(*at), u64::from(*length)))),
            _ => Err(inner.refuse(name, "is no [first octet, number of octets]")),
        }
    };
    Ok(RingFields {
        magic: table.text("magic")?,
        header: table.need("header", number("header")?)?,
        record: table.need("record", number("record")?)?,
        visible: table.need("visible", number("visible")?)?,
        generation: number("generation")?,
        seq: number("seq")?,
        capacity: number("capacity")?,
        fields: RECORD_FIELDS.into_iter().map(place).collect::<Result<_, _>>()?,
        commit: table.need("commit", number("commit")?)?,
        commit_bias: table.need("commit_bias", number("commit_bias")?)?,
        complete_stage: table.need("complete_stage", number("complete_stage")?)?,
        no_frame: table.need("no_frame", number("no_frame")?)?,
    })
}
