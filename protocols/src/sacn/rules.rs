//! The E1.31 rule catalogue: what each rule asks for, how bad a breach is, and who is known for it.
//!
//! The numbers are those of the project's rule table, which has no S22.

use crate::{Layer, Rule, Severity};

/// What all entries share.
const E131: Rule = Rule {
    code: "",
    severity: Severity::Info,
    layer: Layer::Shape,
    title: "",
    edition: "ANSI E1.31-2018",
    clause: "",
    meaning: "",
    advice: "",
    example: "",
    known: &[],
};

/// The catalogue, in code order.
pub static RULES: [Rule; 46] = [
    Rule {
        code: "SACN-S01",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The datagram is long enough: 38 octets of root layer, 126 for data, 49 exactly for \
            synchronization, 120 for discovery",
        clause: "4.1, 4.2, 4.3",
        meaning: "A field the receiver needs is not there; the packet is dropped and its universe does \
            not change.",
        advice: "Build the whole header; a data packet without slots still carries the start code and \
            has 126 octets.",
        example: "a data packet of 125 octets has no start code",
        ..E131
    },
    Rule {
        code: "SACN-S02",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The preamble size is 0x0010",
        clause: "5.1",
        meaning: "Receivers discard the packet.",
        advice: "Write 00 10 at offset 0.",
        example: "00 11 at offset 0",
        ..E131
    },
    Rule {
        code: "SACN-S03",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The post-amble size is 0",
        clause: "5.2",
        meaning: "Receivers discard the packet.",
        advice: "Write 00 00 at offset 2. Only Pathway Secure (root vector 0x50430001) appends 28 octets \
            and says so here.",
        example: "00 01 at offset 2",
        ..E131
    },
    Rule {
        code: "SACN-S04",
        severity: Severity::Info,
        layer: Layer::Shape,
        title: "The ACN packet identifier is \"ASC-E1.17\" and three NUL octets",
        clause: "5.3",
        meaning: "The datagram stands on the E1.31 port but is another protocol.",
        advice: "Nothing, unless it was meant to be E1.31: then write 41 53 43 2d 45 31 2e 31 37 00 00 \
            00 at offset 4.",
        example: "\"ASC-E1.18\" at offset 4",
        ..E131
    },
    Rule {
        code: "SACN-S05",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The top four bits of every flags-and-length field are 0x7",
        clause: "5.4, 6.1, 7.1, 8.1",
        meaning: "Receivers that mask the flags accept it, the others discard the packet.",
        advice: "Write 0x7000 | length.",
        example: "62 6e instead of 72 6e at offset 16",
        ..E131
    },
    Rule {
        code: "SACN-S06",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The root length is the datagram length minus 16",
        clause: "5.4",
        meaning: "Receivers that trust the length read past the data or drop the packet.",
        advice: "Count from octet 16, the flags-and-length field itself, to the end: 622 for 512 slots. \
            The 638 in the prose of 5.4 is the size of the datagram.",
        example: "72 7e (638) in a packet of 512 slots; 72 6e is right",
        known: &["FPP before PR 95, lengths of 512 slots on short universes: FalconChristmas/fpp#94"],
        ..E131
    },
    Rule {
        code: "SACN-S07",
        severity: Severity::Warning,
        layer: Layer::Shape,
        title: "Nothing follows the root layer PDU",
        clause: "5.4",
        meaning: "Most receivers ignore the octets, some drop the packet.",
        advice: "Send only what the root length covers.",
        example: "four octets after a complete packet of 512 slots",
        ..E131
    },
    Rule {
        code: "SACN-S08",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The framing length is the datagram length minus 38",
        clause: "6.1",
        meaning: "Receivers that trust the length drop the packet; some parsers fail on lengths under 77.",
        advice: "Count from octet 38 to the end: 600 for 512 slots.",
        example: "70 00 at offset 38",
        known: &[
            "FPP before PR 95: FalconChristmas/fpp#94",
            "receivers built on the sacn crate \
            mishandle wrong lengths: RustLight/sacn#56",
        ],
        ..E131
    },
    Rule {
        code: "SACN-S09",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The DMP length is the datagram length minus 115",
        clause: "7.1",
        meaning: "Receivers that trust the length lose slots or drop the packet.",
        advice: "Count from octet 115 to the end: 10 + the property count, 523 for 512 slots.",
        example: "72 0b (523) on a universe of 300 slots",
        known: &["FPP before PR 95: FalconChristmas/fpp#94"],
        ..E131
    },
    Rule {
        code: "SACN-S10",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The universe discovery length is the datagram length minus 112",
        clause: "8.1",
        meaning: "Receivers misread or drop the list of universes.",
        advice: "Count from octet 112 to the end: 8 + 2 for each universe.",
        example: "70 0d at offset 112 for a list of 3 universes; 70 0e is right",
        ..E131
    },
    Rule {
        code: "SACN-S11",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The lengths, the property count and the list size describe the same number of octets",
        clause: "5.4, 6.1, 7.1, 7.6",
        meaning: "Receivers disagree about where the data ends.",
        advice: "Derive every length from one number, the slots (or universes) sent.",
        example: "lengths for 512 slots, a property count for 200",
        ..E131
    },
    Rule {
        code: "SACN-S12",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The root vector is 4 (data) or 8 (synchronization, discovery)",
        clause: "5.5",
        meaning: "Receivers discard the packet; a vector of another ACN protocol is explained, not judged.",
        advice: "Write 00 00 00 04 or 00 00 00 08 at offset 18.",
        example: "00 00 00 03 is draft E1.31 revision 0.2",
        known: &["Pathway Secure uses 0x50430001: listed in the docsteer/sacnview sources"],
        ..E131
    },
    Rule {
        code: "SACN-S13",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The framing vector is 2 for data, 1 for synchronization, 2 for discovery",
        clause: "6.2.1, 6.5",
        meaning: "Receivers discard the packet.",
        advice: "Write 2 under root vector 4; 1 or 2 under root vector 8.",
        example: "00 00 00 01 under root vector 4",
        ..E131
    },
    Rule {
        code: "SACN-S14",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The DMP vector is 0x02 (set property)",
        clause: "7.2",
        meaning: "Receivers discard the packet.",
        advice: "Write 02 at offset 117.",
        example: "01 at offset 117",
        ..E131
    },
    Rule {
        code: "SACN-S15",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The DMP address and data type is 0xA1",
        clause: "7.3",
        meaning: "Receivers discard the packet.",
        advice: "Write A1 at offset 118.",
        example: "A2 at offset 118",
        ..E131
    },
    Rule {
        code: "SACN-S16",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The first property address is 0",
        clause: "7.4",
        meaning: "Receivers discard the packet.",
        advice: "Write 00 00 at offset 119; the start code travels at offset 125.",
        example: "the start code written to offset 120, as draft revision 0.2 had it",
        ..E131
    },
    Rule {
        code: "SACN-S17",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The address increment is 1",
        clause: "7.5",
        meaning: "Receivers discard the packet although packet analysers show its levels.",
        advice: "Write 00 01 at offset 121.",
        example: "00 00 at offset 121",
        known: &["a sender reported in docsteer/sacnview#301"],
        ..E131
    },
    Rule {
        code: "SACN-S18",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The property count is 1..513",
        clause: "7.6",
        meaning: "Receivers discard the packet.",
        advice: "Write 1 for the start code plus the number of slots.",
        example: "514 for 513 slots",
        ..E131
    },
    Rule {
        code: "SACN-S19",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The property count equals the octets present, start code included",
        clause: "7.6, 7.7",
        meaning: "Slots are lost at the end, or old levels stay.",
        advice: "Count the start code: 513 for 512 slots.",
        example: "512 with a start code and 512 slots",
        ..E131
    },
    Rule {
        code: "SACN-S20",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The priority is 0..200",
        clause: "6.2.3",
        meaning: "Some receivers drop the packet, others let it win over every legal source.",
        advice: "Use 100 unless a backup needs another value.",
        example: "201 at offset 108",
        known: &["OLA drops the packet, other receivers accept it: OLA sources"],
        ..E131
    },
    Rule {
        code: "SACN-S21",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The universe of a data packet is 1..63999",
        clause: "6.2.7, 9.1.1",
        meaning: "No receiver listens; 64214 belongs to universe discovery alone.",
        advice: "Number universes from 1.",
        example: "universe 0",
        known: &["hyperion.ng casts the configured start universe to 8 bits, so that 256 becomes 0: \
            E1.31 source"],
        ..E131
    },
    Rule {
        code: "SACN-S23",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The source name ends with a NUL octet",
        clause: "6.2.2",
        meaning: "Receivers that look for the end read past the name.",
        advice: "Cut the name to 63 octets, on a character boundary.",
        example: "64 letters",
        ..E131
    },
    Rule {
        code: "SACN-S24",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "The source name is UTF-8",
        clause: "6.2.2",
        meaning: "The name is shown garbled; levels are not touched.",
        advice: "Encode the name as UTF-8.",
        example: "a Latin-1 umlaut, fc",
        ..E131
    },
    Rule {
        code: "SACN-S25",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "The source name field is zero after its NUL",
        clause: "6.2.2",
        meaning: "Remains of an earlier name or of memory leave the device; receivers ignore them.",
        advice: "Clear the 64 octets before the name is written.",
        example: "\"a\", NUL, \"z\"",
        ..E131
    },
    Rule {
        code: "SACN-S26",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "The source name is not empty",
        clause: "6.2.2",
        meaning: "Operators cannot tell sources apart.",
        advice: "Send a name a person recognises.",
        example: "64 NUL octets at offset 44",
        ..E131
    },
    Rule {
        code: "SACN-S27",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "The reserved option bits 0..4 are zero",
        clause: "6.2.6",
        meaning: "Receivers ignore the bits today; a later edition may not.",
        advice: "Set only 0x80, 0x40 and 0x20.",
        example: "1f at offset 112",
        ..E131
    },
    Rule {
        code: "SACN-S28",
        severity: Severity::Warning,
        layer: Layer::Shape,
        title: "The synchronization address is 0 or 1..63999",
        clause: "4.2, 6.2.4",
        meaning: "No synchronization packet can ever match; receivers may hold the data for ever.",
        advice: "Write 0 for unsynchronized data. The address may equal the universe of the data.",
        example: "64000 at offset 109",
        known: &["some receivers reject every address other than 0: docsteer/sacnview#198"],
        ..E131
    },
    Rule {
        code: "SACN-S29",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "The CID is not all zero",
        clause: "5.6",
        meaning: "Two such senders look like one source; priorities and sequence numbers mix.",
        advice: "Make one UUID for each device and keep it.",
        example: "16 zero octets at offset 22",
        known: &["benkuper/Chataigne#224"],
        ..E131
    },
    Rule {
        code: "SACN-S30",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "The CID is a UUID of the sender's own",
        clause: "5.6",
        meaning: "A CID that is text, has no UUID version or is the same on every installation \
            identifies nobody.",
        advice: "Make one UUID (version 4 will do) for each device and keep it.",
        example: "\"FALCON FPP\" at offset 22",
        known: &[
            "FPP sends the text \"FALCON FPP\": FalconChristmas/fpp sources",
            "xLights sends \
            c0de0080-c69b-11e0-9572-0800200c9a66: xLights sources",
            "text of a UUID cut after 16 octets: \
            trace in docsteer/sacnview#263",
        ],
        ..E131
    },
    Rule {
        code: "SACN-S31",
        severity: Severity::Warning,
        layer: Layer::Stream,
        title: "One CID belongs to one host",
        clause: "5.6",
        meaning: "Receivers take two senders for one; sequence numbers jump and packets are dropped.",
        advice: "Give each device its own CID. Cloned devices need a new one.",
        example: "the same CID from 10.0.0.5 and 10.0.0.6",
        known: &["every FPP and every xLights shares its CID with its kin: sources of both"],
        ..E131
    },
    Rule {
        code: "SACN-S32",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "The start code is 0x00 for levels",
        clause: "7.7",
        meaning: "Receivers that do not know the start code must ignore the packet; its octets are not \
            levels.",
        advice: "Nothing, when it is meant: 0xDD is per-address priority, others are registered with ESTA.",
        example: "dd at offset 125",
        known: &["WLED took alternate start codes for levels: wled/WLED#3067"],
        ..E131
    },
    Rule {
        code: "SACN-S33",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "A per-address priority (start code 0xDD) is 0..200",
        clause: "7.7",
        meaning: "The values 201..255 are reserved; receivers disagree about the winner.",
        advice: "Write 0 where the slot is not controlled, else 1..200.",
        example: "c9 as the first slot under dd",
        ..E131
    },
    Rule {
        code: "SACN-S34",
        severity: Severity::Violation,
        layer: Layer::Habit,
        title: "The destination port is 5568",
        clause: "9.1.1",
        meaning: "A multicast receiver listens on 5568 only; a unicast receiver may be set to another \
            port.",
        advice: "Send to port 5568.",
        example: "239.255.0.1:5569",
        ..E131
    },
    Rule {
        code: "SACN-S35",
        severity: Severity::Violation,
        layer: Layer::Habit,
        title: "The multicast group matches the number in the packet",
        clause: "9.3",
        meaning: "Receivers of the universe never get the packet, receivers of another universe get it; \
            the number in the packet decides.",
        advice: "Send universe hi.lo to 239.255.hi.lo or ff18::8300:hhll, a synchronization packet to \
            the group of its address, discovery to 239.255.250.214.",
        example: "universe 2 sent to 239.255.0.1",
        known: &[
            "docsteer/sacnview#252",
            "discovery on 239.255.250.214 taken for unknown traffic: \
            cbdevnet/midimonster#148",
        ],
        ..E131
    },
    Rule {
        code: "SACN-S36",
        severity: Severity::Violation,
        layer: Layer::Habit,
        title: "No packet goes to 239.255.255.0/24",
        clause: "9.1.1",
        meaning: "The range belongs to other protocols; no universe maps into it.",
        advice: "Send to the group of the universe.",
        example: "239.255.255.255",
        known: &["Hundemeier/sacn#49"],
        ..E131
    },
    Rule {
        code: "SACN-S37",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "The reserved octets of a synchronization packet are zero",
        clause: "6.3.4",
        meaning: "Receivers ignore them today; a later edition may not.",
        advice: "Write 00 00 at offset 47.",
        example: "00 01 at offset 47",
        ..E131
    },
    Rule {
        code: "SACN-S38",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The synchronization address of a synchronization packet is 1..63999",
        clause: "6.3.3.1",
        meaning: "No receiver acts on the packet.",
        advice: "Write the address the data packets carry.",
        example: "0 at offset 45",
        ..E131
    },
    Rule {
        code: "SACN-S39",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "The reserved octets of a discovery packet are zero",
        clause: "6.4.3",
        meaning: "Receivers ignore them today; a later edition may not.",
        advice: "Write zeros at offset 108.",
        example: "00 00 00 01 at offset 108",
        known: &["ETCLabs/sACN before 3.0.0: changelog"],
        ..E131
    },
    Rule {
        code: "SACN-S40",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The universes of a discovery page ascend",
        clause: "8.5",
        meaning: "Receivers that search or compare lists miss universes.",
        advice: "Sort the list.",
        example: "2, 1",
        known: &["ETCLabs/sACN before 3.0.0: changelog"],
        ..E131
    },
    Rule {
        code: "SACN-S41",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "The page number is not above the last page",
        clause: "8.3, 8.4",
        meaning: "Receivers never complete the list.",
        advice: "Number pages from 0 to the last page.",
        example: "page 2 of last page 1",
        ..E131
    },
    Rule {
        code: "SACN-S42",
        severity: Severity::Warning,
        layer: Layer::Shape,
        title: "A discovery page lists each universe once",
        clause: "8.5",
        meaning: "Receivers count a universe twice.",
        advice: "Remove the duplicates.",
        example: "1, 1, 2",
        known: &["ETCLabs/sACN before 3.0.0 could double its multicast: changelog"],
        ..E131
    },
    Rule {
        code: "SACN-S43",
        severity: Severity::Violation,
        layer: Layer::Shape,
        title: "A discovery page lists at most 512 universes",
        clause: "8.5",
        meaning: "Receivers drop the page or the universes beyond 512.",
        advice: "Send more pages.",
        example: "513 universes in a datagram of 1146 octets",
        ..E131
    },
    Rule {
        code: "SACN-S44",
        severity: Severity::Info,
        layer: Layer::Stream,
        title: "The discovery list names the universes really sent",
        clause: "4.3, 8.5",
        meaning: "Consoles and monitors show universes that are silent, or miss live ones.",
        advice: "Update the list when universes come and go; a change must show within two intervals of \
            10 s.",
        example: "a list of 1 and 2 while only universe 1 is sent",
        known: &["its receiver dropped lists of fewer than 40 universes before 2.0.2: ETCLabs/sACN#67"],
        ..E131
    },
    Rule {
        code: "SACN-S45",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "A universe may have fewer than 512 slots",
        clause: "7.7",
        meaning: "Nothing is wrong: short universes and packets with a start code alone are legal. This \
            entry is never reported.",
        advice: "Nothing.",
        example: "510 slots (170 RGB pixels), or a termination with the start code only",
        known: &["Wireshark calls legal packets with the start code alone malformed: seen with 4.0.17"],
        ..E131
    },
    Rule {
        code: "SACN-S46",
        severity: Severity::Warning,
        layer: Layer::Stream,
        title: "A universe is not sent faster than DMX512 can carry it",
        clause: "6.6.1",
        meaning: "A gateway that puts the universe on a DMX line must drop packets; reported as TIME-RATE.",
        advice: "Stay under 44.1 packets per second for 512 slots (60 for 375), or configure the \
            receivers for more.",
        example: "60 packets per second with 510 slots",
        ..E131
    },
    Rule {
        code: "SACN-S47",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "Preview data is not for live output",
        clause: "6.2.6",
        meaning: "Receivers for live output ignore the packet; it is left out of live accounting.",
        advice: "Clear 0x80 in the options when the data is meant for the stage.",
        example: "80 at offset 112",
        known: &["receivers that ignore the bit: wled/WLED#3067"],
        ..E131
    },
];
