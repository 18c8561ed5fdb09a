//! Places of causes: the side file that was named, or the one beside the ring.

use crate::cli::failure::Failure;
use crate::cli::say;
use crate::infile;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use wireproof_recorder::places::{MAX_PLACE, MAX_PLACES, Places, SUFFIX};

/// Octets of a side file that are read: every place that counts, twice over.
const MAX_OCTETS: u64 = 2 * (MAX_PLACES * (MAX_PLACE + 24)) as u64;

/// Reads the places of a ring, and says where they were found.
pub(super) fn load(ring: &Path, named: Option<&Path>) -> Result<(Places, Option<PathBuf>), Failure> {
    let mut beside = ring.as_os_str().to_owned();
    beside.push(SUFFIX);
    let beside = PathBuf::from(beside);
    let path = match named {
        Some(path) => path.to_owned(),
        None if ring.as_os_str() != "-" && beside.is_file() => beside,
        None => return Ok((Places::default(), None)),
    };
    let octets = read(&path).map_err(|error| {
        Failure::io(&format!("{} cannot be read ({error})", path.display()), "check the name and its rights")
    })?;
    let places = Places::read(&String::from_utf8_lossy(&octets));
    if places.bad_lines() > 0 {
        say(&format!("{}: {} lines are no places", path.display(), places.bad_lines()));
    }
    Ok((places, Some(path)))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    infile::open(path)?.take(MAX_OCTETS).read_to_end(&mut octets)?;
    Ok(octets)
}
