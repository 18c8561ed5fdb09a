//! The opcodes of Art-Net 4: value, name, length, and where a datagram says how much follows.

use crate::{Kind, Protocol, Severity};

/// ArtPoll.
pub const POLL: u16 = 0x2000;
/// ArtPollReply.
pub const POLL_REPLY: u16 = 0x2100;
/// ArtDiagData.
pub const DIAG_DATA: u16 = 0x2300;
/// ArtDmx: levels of one Port-Address.
pub const DMX: u16 = 0x5000;
/// ArtNzs: data with a start code other than zero.
pub const NZS: u16 = 0x5100;
/// ArtSync.
pub const SYNC: u16 = 0x5200;

/// Kind of ArtDmx.
pub const ART_DMX: Kind = Kind::new(Protocol::ArtNet, "artnet/ArtDmx");
/// Kind of ArtNzs.
pub const ART_NZS: Kind = Kind::new(Protocol::ArtNet, "artnet/ArtNzs");
/// Any opcode that is not in the table.
pub const UNKNOWN: Kind = Kind::new(Protocol::ArtNet, "artnet/unknown");

/// One opcode.
#[derive(Debug)]
pub struct Opcode {
    /// Value; little-endian in the octets 8 and 9.
    pub value: u16,
    /// Kind, e.g. `artnet/ArtDmx`.
    pub kind: Kind,
    /// Octets up to the end of the last field every sender has to write.
    pub minimum: u16,
    /// Severity of a datagram that ends before `minimum` but holds the common header.
    pub short: Severity,
    /// The field that says how much follows.
    pub count: Option<Count>,
}

/// A length or count field.
#[derive(Debug)]
pub struct Count {
    /// Octet of the field.
    pub at: u8,
    /// Octets of the field: 1 or 2, big-endian.
    pub size: u8,
    /// Octets of one entry.
    pub unit: u8,
    /// Octet of the first entry.
    pub start: u8,
}

const fn count(at: u8, size: u8, unit: u8, start: u8) -> Option<Count> {
    Some(Count { at, size, unit, start })
}

const fn strict(value: u16, name: &'static str, minimum: u16) -> Opcode {
    Opcode { short: Severity::Violation, ..lax(value, name, minimum) }
}

const fn lax(value: u16, name: &'static str, minimum: u16) -> Opcode {
    counted(value, name, minimum, None)
}

const fn counted(value: u16, name: &'static str, minimum: u16, count: Option<Count>) -> Opcode {
    Opcode { value, kind: Kind::new(Protocol::ArtNet, name), minimum, short: Severity::Warning, count }
}

/// Every opcode, ascending.
pub static OPCODES: [Opcode; 37] = [
    lax(POLL, "artnet/ArtPoll", 14),
    lax(POLL_REPLY, "artnet/ArtPollReply", 198),
    Opcode { short: Severity::Info, ..counted(DIAG_DATA, "artnet/ArtDiagData", 18, count(16, 2, 1, 18)) },
    counted(0x2400, "artnet/ArtCommand", 16, count(14, 2, 1, 16)),
    lax(0x2700, "artnet/ArtDataRequest", 18),
    counted(0x2800, "artnet/ArtDataReply", 20, count(18, 2, 1, 20)),
    strict(DMX, ART_DMX.name, 18),
    strict(NZS, ART_NZS.name, 18),
    strict(SYNC, "artnet/ArtSync", 14),
    lax(0x6000, "artnet/ArtAddress", 107),
    lax(0x7000, "artnet/ArtInput", 20),
    counted(0x8000, "artnet/ArtTodRequest", 24, count(23, 1, 1, 24)),
    counted(0x8100, "artnet/ArtTodData", 28, count(27, 1, 6, 28)),
    lax(0x8200, "artnet/ArtTodControl", 24),
    lax(0x8300, "artnet/ArtRdm", 24),
    lax(0x8400, "artnet/ArtRdmSub", 32),
    lax(0x9000, "artnet/ArtMedia", 12),
    lax(0x9100, "artnet/ArtMediaPatch", 12),
    lax(0x9200, "artnet/ArtMediaControl", 12),
    lax(0x9300, "artnet/ArtMediaContrlReply", 12),
    lax(0x9700, "artnet/ArtTimeCode", 19),
    lax(0x9800, "artnet/ArtTimeSync", 12),
    lax(0x9900, "artnet/ArtTrigger", 18),
    lax(0x9a00, "artnet/ArtDirectory", 12),
    lax(0x9b00, "artnet/ArtDirectoryReply", 12),
    lax(0xa010, "artnet/ArtVideoSetup", 12),
    lax(0xa020, "artnet/ArtVideoPalette", 12),
    lax(0xa040, "artnet/ArtVideoData", 12),
    lax(0xf000, "artnet/ArtMacMaster", 12),
    lax(0xf100, "artnet/ArtMacSlave", 12),
    lax(0xf200, "artnet/ArtFirmwareMaster", 40),
    lax(0xf300, "artnet/ArtFirmwareReply", 15),
    lax(0xf400, "artnet/ArtFileTnMaster", 12),
    lax(0xf500, "artnet/ArtFileFnMaster", 12),
    lax(0xf600, "artnet/ArtFileFnReply", 12),
    lax(0xf800, "artnet/ArtIpProg", 34),
    lax(0xf900, "artnet/ArtIpProgReply", 34),
];

/// The entry with this value.
#[inline]
pub fn find(value: u16) -> Option<&'static Opcode> {
    OPCODES.binary_search_by_key(&value, |o| o.value).ok().map(|i| &OPCODES[i])
}
