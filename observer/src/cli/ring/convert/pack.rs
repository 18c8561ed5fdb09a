//! Packing and checksums: what goes out is counted and hashed as it lies on the disk.

use super::args::Pack;
use crate::cli::failure::Failure;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Level of Zstandard: the trace is packed while it is written.
const ZSTD_LEVEL: i32 = 1;

/// A file as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::cli::ring) struct Listed {
    /// What it is for.
    pub(in crate::cli::ring) role: &'static str,
    /// Its name, without folders.
    pub(in crate::cli::ring) name: String,
    /// Octets.
    pub(in crate::cli::ring) size: u64,
    /// SHA-256, hexadecimal.
    pub(in crate::cli::ring) sha256: String,
}

/// Counts and hashes what passes.
struct Hashing<'a> {
    out: &'a mut dyn Write,
    sum: Sha256,
    octets: u64,
}

impl Write for Hashing<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let written = self.out.write(octets)?;
        self.sum.update(&octets[..written]);
        self.octets += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Runs `body` through the packing; returns what it says, the size and the checksum.
pub(super) fn through<T>(
    pack: Pack,
    out: &mut dyn Write,
    body: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<(T, u64, String), Failure> {
    let mut hashing = Hashing { out, sum: Sha256::new(), octets: 0 };
    let value = match pack {
        Pack::None => body(&mut hashing)?,
        Pack::Gzip => {
            let mut packed = GzEncoder::new(&mut hashing, Compression::new(6));
            let value = body(&mut packed)?;
            packed.finish()?;
            value
        }
        Pack::Zstd => {
            let mut packed = zstd::Encoder::new(&mut hashing, ZSTD_LEVEL)?;
            packed.include_checksum(true)?;
            let value = body(&mut packed)?;
            packed.finish()?;
            value
        }
    };
    hashing.flush()?;
    Ok((value, hashing.octets, hex(&hashing.sum.finalize())))
}

/// The packing that an output's name asks for.
pub(super) fn by_name(path: Option<&Path>) -> Pack {
    match path.and_then(Path::extension).and_then(|extension| extension.to_str()) {
        Some("gz") => Pack::Gzip,
        Some("zst") => Pack::Zstd,
        _ => Pack::None,
    }
}

/// Lists a file that was read.
pub(super) fn list(role: &'static str, path: &Path) -> Result<Listed, Failure> {
    let failed = |error: io::Error| {
        Failure::io(&format!("{} cannot be read ({error})", path.display()), "check the name and its rights")
    };
    let mut file = File::open(path).map_err(failed)?;
    let (mut sum, mut size, mut piece) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let length = file.read(&mut piece).map_err(failed)?;
        if length == 0 {
            break;
        }
        sum.update(&piece[..length]);
        size += length as u64;
    }
    Ok(Listed { role, name: name(path), size, sha256: hex(&sum.finalize()) })
}

/// Lists octets that came through a pipe.
pub(super) fn list_octets(role: &'static str, octets: &[u8]) -> Listed {
    Listed { role, name: "-".to_owned(), size: octets.len() as u64, sha256: hex(&Sha256::digest(octets)) }
}

/// The last part of a path.
pub(in crate::cli::ring) fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_unpacks_and_its_checksum_is_that_of_the_packed_octets() {
        let plain = b"0123456789".repeat(1000);
        for pack in [Pack::None, Pack::Gzip, Pack::Zstd] {
            let mut out = Vec::new();
            let (value, size, sum) = through(pack, &mut out, |w| w.write_all(&plain).map(|()| 7)).unwrap();
            assert_eq!((value, size, sum), (7, out.len() as u64, hex(&Sha256::digest(&out))));
            let mut back = Vec::new();
            match pack {
                Pack::None => back = out,
                Pack::Gzip => drop(flate2::read::GzDecoder::new(&out[..]).read_to_end(&mut back).unwrap()),
                Pack::Zstd => back = zstd::decode_all(&out[..]).unwrap(),
            }
            assert!(back == plain, "{pack:?}");
        }
    }

    #[test]
    fn names_say_how_to_pack() {
        let of = |name: &str| by_name(Some(Path::new(name)));
        assert_eq!(
            [of("a.json.gz"), of("a.pftrace.zst"), of("a.pftrace")],
            [Pack::Gzip, Pack::Zstd, Pack::None]
        );
        assert_eq!(by_name(None), Pack::None);
    }
}
