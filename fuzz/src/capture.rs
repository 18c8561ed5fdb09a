//! Capture files, plain, packed and as tapes, through the reader.

use wireproof::capture::{Item, read_records, read_stream};
use wireproof_reports::tape;

/// Least octets of a file for each of its records.
const LEAST: u64 = 8;

/// First octets of a packed file.
fn is_packed(data: &[u8]) -> bool {
    matches!(data, [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..])
}

/// Reads a plain capture: no more items than its octets can hold.
pub fn capture(data: &[u8]) {
    if !is_packed(data) {
        let items = read(data);
        assert!(items <= 1 + data.len() as u64 / LEAST, "{items} items of {} octets", data.len());
        let _ = read_records(data, &mut |record| assert!(record.data.len() <= data.len()));
    }
}

/// Reads a packed capture.
pub fn packed(data: &[u8]) {
    if is_packed(data) {
        read(data);
    }
}

/// Reads a tape.
pub fn tape(data: &[u8]) {
    if tape::claims(data) {
        read(data);
    }
}

fn read(data: &[u8]) -> u64 {
    let mut items = 0u64;
    let _ = read_stream("fuzz", data, &mut |item| {
        items += 1;
        if let Item::Datagram(arrival, datagram) = &item {
            assert!(datagram.payload.len() as u64 <= u64::from(datagram.length));
            assert!(datagram.length <= 65_535 && arrival.packet > 0);
        }
    });
    items
}
