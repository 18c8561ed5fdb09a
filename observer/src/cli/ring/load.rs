//! From a name to a ring: the file, its packing, its field map; what is refused and how that is said.

use super::args::ReadArgs;
use crate::cli::failure::{Failure, INTEGRITY};
use crate::infile;
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::path::Path;
use wireproof_recorder::layout::{MAX_CAPACITY, file_bytes};
use wireproof_recorder::snapshot::{self, Pread, Times};
use wireproof_recorder::v1::{self, FieldMap};
use wireproof_recorder::{Policy, Refusal, Ring, parse};

/// First octets of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An image and what it says, or why it is refused.
pub(super) struct Loaded {
    pub(super) image: Vec<u8>,
    pub(super) ring: Result<Ring, Refusal>,
}

/// Reads one file.
pub(super) fn load(path: &Path, args: &ReadArgs) -> Result<Loaded, Failure> {
    let map = args.map.as_deref().map(map).transpose()?;
    let image = image(path)?;
    let policy = if args.exact { Policy::Exact } else { Policy::Conservative };
    let ring = match &map {
        Some(map) => v1::parse(&image, map),
        None if image.starts_with(v1::MAGIC.as_bytes()) => return Err(needs_map(path, &image)),
        None => parse(&image, policy),
    };
    Ok(Loaded { image, ring })
}

/// Reads one file that has to be a ring.
pub(super) fn ring(path: &Path, args: &ReadArgs) -> Result<(Vec<u8>, Ring), Failure> {
    let loaded = load(path, args)?;
    match loaded.ring {
        Ok(ring) => Ok((loaded.image, ring)),
        Err(refusal) => Err(Failure::Said { code: INTEGRITY, text: refused(path, refusal) }),
    }
}

/// The line of a refusal.
pub(in crate::cli) fn refused(path: &Path, refusal: Refusal) -> String {
    format!("{}: {refusal}: {}", path.display(), refusal.advice())
}

/// The octets of a file, unpacked, and no more than the largest ring and one.
pub(in crate::cli) fn image(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| {
        Failure::io(&format!("{} cannot be read ({error})", path.display()), "check the name and its rights")
    };
    let packed =
        if path.as_os_str() == "-" { bounded(io::stdin().lock()) } else { open(path) }.map_err(failed)?;
    if packed.starts_with(&GZIP) {
        bounded(MultiGzDecoder::new(packed.as_slice())).map_err(failed)
    } else {
        Ok(packed)
    }
}

/// A ring whose writer goes on is copied in a bracket and sealed; anything else is read as it is.
fn open(path: &Path) -> io::Result<Vec<u8>> {
    let file = infile::open(path)?;
    match snapshot::take(&Pread(&file)) {
        Ok(copy) if copy.moved() => Ok(copy.seal(&Times::default(), 0)),
        _ => bounded(file),
    }
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    from.take(file_bytes(MAX_CAPACITY) + 1).read_to_end(&mut octets)?;
    Ok(octets)
}

/// The longest field map, octets.
const MOST_MAP: u64 = 64 << 10;

/// A built-in map, or a file that holds one.
fn map(name: &str) -> Result<FieldMap, Failure> {
    if let Some(map) = FieldMap::named(name) {
        return Ok(map);
    }
    let text = infile::text(Path::new(name), MOST_MAP).map_err(|error| {
        let what = format!("{name:?} is no field map and cannot be read ({error})");
        Failure::usage(&what, &format!("name {} or a JSON or TOML file", v1::NAMES.join(", ")))
    })?;
    let refused = |error: String| {
        Failure::usage(
            &format!("the field map {name} is refused"),
            &error.split_whitespace().collect::<Vec<_>>().join(" "),
        )
    };
    let map: FieldMap = if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?
    } else {
        toml::from_str(&text).map_err(|error| refused(error.to_string()))?
    };
    map.check().map_err(|error| refused(error.to_string()))?;
    Ok(map)
}

/// A legacy ring says nothing about the order of its fields: the user does, and the scores help.
fn needs_map(path: &Path, image: &[u8]) -> Failure {
    let score = |name: &&str| {
        let score = FieldMap::named(name).and_then(|map| v1::score(image, &map).ok());
        score.map_or_else(
            || format!("{name} cannot read it"),
            |s| format!("{name} scores {}.{:03}", s / 1000, s % 1000),
        )
    };
    let scores: Vec<_> = v1::NAMES.iter().map(score).collect();
    let what = format!("{} is a legacy ring, which does not describe itself", path.display());
    Failure::usage(&what, &format!("name its field map with --map ({})", scores.join(", ")))
}
