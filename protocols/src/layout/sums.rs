//! Checksums over parts of a datagram. They are plain and not for the hot path of layouts that have none.

use super::table::{Checksum, Covers, Sum};
use crc::{CRC_8_SMBUS, CRC_16_IBM_3740, CRC_16_MODBUS, CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc};

static CRC8: Crc<u8> = Crc::<u8>::new(&CRC_8_SMBUS);
static CRC16_CCITT: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);
static CRC16_MODBUS: Crc<u16> = Crc::<u16>::new(&CRC_16_MODBUS);
static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
static CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Where the parts of a datagram are, as octets from its start.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// End of the header.
    pub header: usize,
    /// End of the data.
    pub data: usize,
    /// End of the footer.
    pub footer: usize,
}

/// The sum over what it covers. Its own octets, at `at`, count as zero in the header; in the footer it covers what stands
/// before it.
pub fn sum(checksum: Checksum, datagram: &[u8], parts: Parts, at: usize) -> u64 {
    let (from, to) = match checksum.covers {
        Covers::Header => (0, parts.header),
        Covers::Payload => (parts.header, parts.data),
        Covers::All if at >= parts.data => (0, at),
        Covers::All => (0, parts.footer),
    };
    let covered = datagram.get(from..to.min(datagram.len())).unwrap_or_default();
    let own = usize::from(checksum.sum.size());
    let before = covered.get(..at.saturating_sub(from).min(covered.len())).unwrap_or_default();
    let zeros = &[0u8; 8][..own.min(covered.len() - before.len())];
    let after = covered.get(before.len() + zeros.len()..).unwrap_or_default();
    // Nothing of its own is covered where it stands before or after.
    if at < from || at >= to {
        return over(checksum.sum, [covered, &[], &[]]);
    }
    over(checksum.sum, [before, zeros, after])
}

fn over(sum: Sum, parts: [&[u8]; 3]) -> u64 {
    let octets = || parts.iter().flat_map(|part| part.iter());
    match sum {
        Sum::Sum8 => octets().fold(0u8, |sum, octet| sum.wrapping_add(*octet)).into(),
        Sum::Sum16 => octets().fold(0u16, |sum, octet| sum.wrapping_add(u16::from(*octet))).into(),
        Sum::Xor8 => octets().fold(0u8, |sum, octet| sum ^ octet).into(),
        Sum::Inet16 => inet16(octets().copied()),
        Sum::Crc8 => crc(CRC8.digest(), parts, |d, part| d.update(part)).finalize().into(),
        Sum::Crc16Ccitt => crc(CRC16_CCITT.digest(), parts, |d, part| d.update(part)).finalize().into(),
        Sum::Crc16Modbus => crc(CRC16_MODBUS.digest(), parts, |d, part| d.update(part)).finalize().into(),
        Sum::Crc32 => crc(CRC32.digest(), parts, |d, part| d.update(part)).finalize().into(),
        Sum::Crc32c => crc(CRC32C.digest(), parts, |d, part| d.update(part)).finalize().into(),
    }
}

fn crc<D>(mut digest: D, parts: [&[u8]; 3], update: impl Fn(&mut D, &[u8])) -> D {
    parts.iter().for_each(|part| update(&mut digest, part));
    digest
}

fn inet16(octets: impl Iterator<Item = u8>) -> u64 {
    let sum: u64 = octets.enumerate().map(|(i, o)| u64::from(o) << (8 * (1 - i % 2))).sum();
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum & 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values of "123456789" from the catalogue of parametrised CRC algorithms; sums by hand.
    #[test]
    fn every_sum_has_its_check_value() {
        let text = b"123456789";
        let of = |sum| over(sum, [&text[..4], &text[4..7], &text[7..]]);
        assert_eq!(of(Sum::Crc8), 0xf4);
        assert_eq!(of(Sum::Crc16Ccitt), 0x29b1);
        assert_eq!(of(Sum::Crc16Modbus), 0x4b37);
        assert_eq!(of(Sum::Crc32), 0xcbf4_3926);
        assert_eq!(of(Sum::Crc32c), 0xe306_9283);
        assert_eq!((of(Sum::Sum8), of(Sum::Sum16), of(Sum::Xor8)), (0xdd, 0x1dd, 0x31));
    }

    /// The header of RFC 1071's usual worked case.
    #[test]
    fn the_internet_sum_is_the_one_of_ip_headers() {
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(over(Sum::Inet16, [&header, &[], &[]]), 0xb861);
    }

    #[test]
    fn its_own_octets_count_as_zero_in_the_header_and_end_it_in_the_footer() {
        let parts = Parts { header: 4, data: 8, footer: 10 };
        let octets = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        let of = |covers, at| sum(Checksum { sum: Sum::Sum8, covers }, &octets, parts, at);
        assert_eq!((of(Covers::Header, 1), of(Covers::Payload, 1)), (8, 26));
        assert_eq!((of(Covers::All, 9), of(Covers::All, 8), of(Covers::All, 0)), (45, 36, 54));
    }
}
