//! The rules by name, so that a check refers to its entry at no cost at run time.

use super::rules::RULES;
use crate::Rule;

/// SACN-S01, the length of the datagram.
pub const S01: &Rule = &RULES[0];
/// SACN-S02: The preamble size is 0x0010.
pub const S02: &Rule = &RULES[1];
/// SACN-S03: The post-amble size is 0.
pub const S03: &Rule = &RULES[2];
/// SACN-S04: The ACN packet identifier is "ASC-E1.17" and three NUL octets.
pub const S04: &Rule = &RULES[3];
/// SACN-S05: The top four bits of every flags-and-length field are 0x7.
pub const S05: &Rule = &RULES[4];
/// SACN-S06: The root length is the datagram length minus 16.
pub const S06: &Rule = &RULES[5];
/// SACN-S07: Nothing follows the root layer PDU.
pub const S07: &Rule = &RULES[6];
/// SACN-S08: The framing length is the datagram length minus 38.
pub const S08: &Rule = &RULES[7];
/// SACN-S09: The DMP length is the datagram length minus 115.
pub const S09: &Rule = &RULES[8];
/// SACN-S10: The universe discovery length is the datagram length minus 112.
pub const S10: &Rule = &RULES[9];
/// SACN-S11: The lengths, the property count and the list size describe the same number of octets.
pub const S11: &Rule = &RULES[10];
/// SACN-S12: The root vector is 4 (data) or 8 (synchronization, discovery).
pub const S12: &Rule = &RULES[11];
/// SACN-S13: The framing vector is 2 for data, 1 for synchronization, 2 for discovery.
pub const S13: &Rule = &RULES[12];
/// SACN-S14: The DMP vector is 0x02 (set property).
pub const S14: &Rule = &RULES[13];
/// SACN-S15: The DMP address and data type is 0xA1.
pub const S15: &Rule = &RULES[14];
/// SACN-S16: The first property address is 0.
pub const S16: &Rule = &RULES[15];
/// SACN-S17: The address increment is 1.
pub const S17: &Rule = &RULES[16];
/// SACN-S18: The property count is 1..513.
pub const S18: &Rule = &RULES[17];
/// SACN-S19: The property count equals the octets present, start code included.
pub const S19: &Rule = &RULES[18];
/// SACN-S20: The priority is 0..200.
pub const S20: &Rule = &RULES[19];
/// SACN-S21: The universe of a data packet is 1..63999.
pub const S21: &Rule = &RULES[20];
/// SACN-S23: The source name ends with a NUL octet.
pub const S23: &Rule = &RULES[21];
/// SACN-S24: The source name is UTF-8.
pub const S24: &Rule = &RULES[22];
/// SACN-S25: The source name field is zero after its NUL.
pub const S25: &Rule = &RULES[23];
/// SACN-S26: The source name is not empty.
pub const S26: &Rule = &RULES[24];
/// SACN-S27: The reserved option bits 0..4 are zero.
pub const S27: &Rule = &RULES[25];
/// SACN-S28: The synchronization address is 0 or 1..63999.
pub const S28: &Rule = &RULES[26];
/// SACN-S29: The CID is not all zero.
pub const S29: &Rule = &RULES[27];
/// SACN-S30: The CID is a UUID of the sender's own.
pub const S30: &Rule = &RULES[28];
/// SACN-S31: One CID belongs to one host.
pub const S31: &Rule = &RULES[29];
/// SACN-S32: The start code is 0x00 for levels.
pub const S32: &Rule = &RULES[30];
/// SACN-S33: A per-address priority (start code 0xDD) is 0..200.
pub const S33: &Rule = &RULES[31];
/// SACN-S34: The destination port is 5568.
pub const S34: &Rule = &RULES[32];
/// SACN-S35: The multicast group matches the number in the packet.
pub const S35: &Rule = &RULES[33];
/// SACN-S36: No packet goes to 239.255.255.0/24.
pub const S36: &Rule = &RULES[34];
/// SACN-S37: The reserved octets of a synchronization packet are zero.
pub const S37: &Rule = &RULES[35];
/// SACN-S38: The synchronization address of a synchronization packet is 1..63999.
pub const S38: &Rule = &RULES[36];
/// SACN-S39: The reserved octets of a discovery packet are zero.
pub const S39: &Rule = &RULES[37];
/// SACN-S40: The universes of a discovery page ascend.
pub const S40: &Rule = &RULES[38];
/// SACN-S41: The page number is not above the last page.
pub const S41: &Rule = &RULES[39];
/// SACN-S42: A discovery page lists each universe once.
pub const S42: &Rule = &RULES[40];
/// SACN-S43: A discovery page lists at most 512 universes.
pub const S43: &Rule = &RULES[41];
/// SACN-S44: The discovery list names the universes really sent.
pub const S44: &Rule = &RULES[42];
/// SACN-S45: A universe may have fewer than 512 slots.
pub const S45: &Rule = &RULES[43];
/// SACN-S46: A universe is not sent faster than DMX512 can carry it.
pub const S46: &Rule = &RULES[44];
/// SACN-S47: Preview data is not for live output.
pub const S47: &Rule = &RULES[45];
