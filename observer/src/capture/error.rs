//! Why a capture cannot be read at all. Damage behind a readable header is not an error; see `SourceReport::damaged`.

use std::io;
use std::path::Path;
use thiserror::Error;

/// A capture that yields nothing, with what to do about it in one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// No file of that name.
    #[error("{name:?}: no such file; check the path")]
    NotFound {
        /// File name as given.
        name: String,
    },
    /// The name is a directory's.
    #[error("{name:?} is a directory; name a capture file inside it")]
    Directory {
        /// File name as given.
        name: String,
    },
    /// The file exists and this user may not read it.
    #[error("{name:?}: permission denied; make the file readable for this user or pipe it in with `-`")]
    Permission {
        /// File name as given.
        name: String,
    },
    /// The file or stream holds no octets, not even a header.
    #[error("{name:?} is empty (0 octets); check that the capturing program ran and was ended properly")]
    Empty {
        /// File name as given.
        name: String,
    },
    /// The first octets are no pcap or pcapng magic number.
    #[error("{name:?} is {kind}, it starts with {first}; give a pcap or pcapng file (plain, gzip or zstd)")]
    NotACapture {
        /// File name as given.
        name: String,
        /// What the first octets look like, `not a capture file` when they say nothing.
        kind: &'static str,
        /// Up to eight first octets in hexadecimal.
        first: String,
    },
    /// No packet is of a link type that is dissected.
    #[error(
        "{name:?}: none of its {packets} packets could be decoded, their link type is {link_types}; capture on an interface with \
         Ethernet or IP headers"
    )]
    LinkType {
        /// File name as given.
        name: String,
        /// Packets in it.
        packets: u64,
        /// Names of their link types.
        link_types: String,
    },
    /// A tape holds datagrams of a layout that was not given.
    #[error("{name:?} holds datagrams of {layout}; give the layout that it was made with, --layout FILE")]
    Layout {
        /// File name as given.
        name: String,
        /// `layout:NAME`.
        layout: String,
    },
    /// Reading failed below the capture format.
    #[error("{name:?} cannot be read: {source}; check the disk or the program that feeds it")]
    Io {
        /// File name as given.
        name: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl CaptureError {
    /// Sorts an error of opening `name` into the case a user can act on.
    pub(super) fn opening(name: String, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => CaptureError::NotFound { name },
            io::ErrorKind::PermissionDenied => CaptureError::Permission { name },
            io::ErrorKind::IsADirectory => CaptureError::Directory { name },
            _ => CaptureError::Io { name, source },
        }
    }

    /// Refuses a stream by its first octets.
    pub(super) fn not_a_capture(name: &str, first: &[u8]) -> Self {
        let shown = first.iter().take(8).map(|octet| format!("{octet:02x}")).collect::<Vec<_>>();
        CaptureError::NotACapture { name: name.to_owned(), kind: kind_of(first), first: shown.join(" ") }
    }
}

/// The name of a path as reports show it.
pub(super) fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// Names formats that users mistake for pcap, by their magic numbers.
fn kind_of(first: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 8] = [
        (b"snoop\0", "a snoop capture (convert it with editcap)"),
        (b"RTSS", "a Network Monitor 1 capture (convert it with editcap)"),
        (b"GMBU", "a Network Monitor 2 capture (convert it with editcap)"),
        (b"\xfd7zXZ", "packed with xz (unpack it first)"),
        (b"BZh", "packed with bzip2 (unpack it first)"),
        (b"PK\x03\x04", "a zip archive (unpack it first)"),
        (b"\x04\x22\x4d\x18", "packed with lz4 (unpack it first)"),
        (b"{", "text (JSON?)"),
    ];
    let known = KNOWN.iter().find(|(magic, _)| first.starts_with(magic));
    known.map_or("not a capture file", |(_, kind)| *kind)
}
