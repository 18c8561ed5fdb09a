//! The numbers of E1.31 packets, for decoder and encoder alike: fixed octets, vectors, lengths and option bits.

/// Preamble size 16, post-amble size 0 and the ACN packet identifier (5.1..5.3).
pub const PREFIX: [u8; 16] = *b"\x00\x10\x00\x00ASC-E1.17\0\0\0";
/// Top bits of every flags-and-length field (5.4).
pub const LENGTH_FLAGS: u16 = 0x7000;
/// Octet at which the root PDU starts.
pub const ROOT_AT: usize = 16;
/// Octet at which the framing PDU starts.
pub const FRAMING_AT: usize = 38;
/// Octet at which the DMP PDU of a data packet starts.
pub const DMP_AT: usize = 115;
/// Octet at which the list PDU of a discovery packet starts.
pub const LIST_AT: usize = 112;
/// Root vector of data packets.
pub const ROOT_DATA: u32 = 4;
/// Root vector of synchronization and discovery packets.
pub const ROOT_EXTENDED: u32 = 8;
/// Framing vector of data packets.
pub const FRAMING_DATA: u32 = 2;
/// Framing vector of synchronization packets.
pub const EXTENDED_SYNC: u32 = 1;
/// Framing vector of discovery packets.
pub const EXTENDED_DISCOVERY: u32 = 2;
/// Vector of the list in discovery packets.
pub const LIST_VECTOR: u32 = 1;
/// Octets of the source name field at offset 44.
pub const NAME_LEN: usize = 64;
/// DMP vector, address type, first address and increment of data packets (7.2..7.5).
pub const DMP: [u8; 6] = [0x02, 0xA1, 0, 0, 0, 1];
/// Octets of a data packet up to and including the start code.
pub const DATA_HEAD: usize = 126;
/// Octet of the sequence number in data packets.
pub const DATA_SEQUENCE_AT: usize = 111;
/// Octets of a synchronization packet.
pub const SYNC_LEN: usize = 49;
/// Octet of the sequence number in synchronization packets.
pub const SYNC_SEQUENCE_AT: usize = 44;
/// Octets of a discovery packet before its list.
pub const DISCOVERY_HEAD: usize = 120;
/// Most universes on one discovery page.
pub const PAGE_UNIVERSES: usize = 512;
/// Most slots in a universe.
pub const SLOTS_MAX: u16 = 512;
/// Option bit Preview_Data (6.2.6).
pub const OPTION_PREVIEW: u8 = 0x80;
/// Option bit Stream_Terminated.
pub const OPTION_TERMINATED: u8 = 0x40;
/// Option bit Force_Synchronization.
pub const OPTION_FORCE_SYNC: u8 = 0x20;
