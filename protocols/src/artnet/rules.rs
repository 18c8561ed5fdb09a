//! The Art-Net rule catalogue: every rule the decoder or the verifier can report, by code.

use crate::{Layer, Rule, Severity};

/// Fields most rules of the catalogue share.
const BASE: Rule = Rule {
    code: "",
    severity: Severity::Warning,
    layer: Layer::Shape,
    title: "",
    edition: "Art-Net 4",
    clause: "",
    meaning: "",
    advice: "",
    example: "",
    known: &[],
};

/// The catalogue, in code order.
pub static RULES: [Rule; 19] = [
    Rule {
        code: "ARTNET-A01",
        severity: Severity::Info,
        title: "The datagram begins with the identifier \"Art-Net\" and a NUL.",
        clause: "Packet tables, field ID[8]",
        meaning: "Whatever it is, it is not Art-Net; nodes ignore it.",
        advice: "Find out who sends to port 6454; a second program may use the port.",
        example: "61 62 63: three octets of text",
        ..BASE
    },
    Rule {
        code: "ARTNET-A02",
        severity: Severity::Violation,
        title: "The datagram is as long as its opcode needs.",
        clause: "Packet tables, minimum lengths",
        meaning: "Fields are missing: a node ignores the datagram or reads octets that were never sent.",
        advice: "Send every field up to the end of the table: ArtSync 14 octets, ArtPoll 14, ArtDmx 20 to 530.",
        example: "41 72 74 2d 4e 65 74 00 00 52: ArtSync of 10 octets",
        known: &["artnet_protocol 0.4.4 sends an ArtSync of 10 octets (crates.io artnet_protocol)"],
        ..BASE
    },
    Rule {
        code: "ARTNET-A03",
        severity: Severity::Info,
        title: "The opcode is one Art-Net 4 defines.",
        clause: "Table 1, OpCodes",
        meaning: "Nodes ignore opcodes they do not know; it may be a vendor's own.",
        advice: "The opcode is little-endian: ArtDmx is 00 50 on the wire.",
        example: "50 00 where 00 50 was meant",
        ..BASE
    },
    Rule {
        code: "ARTNET-A04",
        severity: Severity::Violation,
        title: "ProtVer is 14 or more, high octet first.",
        clause: "Packet tables, fields ProtVerHi and ProtVerLo",
        meaning: "Nodes ignore controllers that speak an older version.",
        advice: "Write 00 0e into the octets 10 and 11.",
        example: "0e 00: written low octet first",
        known: &["ArtNetStack wrote it swapped (corentin59/ArtNetStack PR 2)"],
        ..BASE
    },
    Rule {
        code: "ARTNET-A05",
        severity: Severity::Violation,
        title: "A Port-Address has 15 bits; bit 15 is zero.",
        clause: "Port-Address: Net, Sub-Net, Universe",
        meaning: "The levels reach another port, or none.",
        advice: "Write Sub-Net and Universe into octet 14 and Net (0..127) into octet 15.",
        example: "00 80: Net 128, or Port-Address 0x0080 with its octets swapped",
        known: &[
            "node-dmx/dmx swapped the octets (PR 38)",
            "artnet-node masked the universe to 4 bits (BrianMMcClain/artnet-node#11, cansik/artnet4j#14)",
        ],
        ..BASE
    },
    Rule {
        code: "ARTNET-A06",
        severity: Severity::Violation,
        title: "The length of ArtDmx is 2..512, of ArtNzs 1..512.",
        clause: "ArtDmx and ArtNzs, field Length",
        meaning: "Nodes drop the datagram or read past the end of a universe.",
        advice: "Send at most 512 slots a Port-Address.",
        example: "02 02: 514",
        known: &["hobbyquaker/artnet sent 514 (hobbyquaker/artnet#5)"],
        ..BASE
    },
    Rule {
        code: "ARTNET-A07",
        title: "The length of ArtDmx is even.",
        clause: "ArtDmx, field Length",
        meaning: "Most nodes take an odd length; a strict one drops the datagram.",
        advice: "Pad the levels with one zero octet, as hyperion does.",
        example: "00 03: three slots",
        known: &["xLights, LedFx and stupidArtnet send odd lengths when the universe is odd (their source)"],
        ..BASE
    },
    Rule {
        code: "ARTNET-A08",
        severity: Severity::Violation,
        title: "ArtDmx and ArtNzs carry as many data octets as their length says.",
        clause: "ArtDmx and ArtNzs, field Length",
        meaning: "The last slots are missing: nodes drop the datagram or output old levels.",
        advice: "Write the number of octets that follow the header. Check for truncation on the way.",
        example: "length 02 00 with 2 octets of data",
        ..BASE
    },
    Rule {
        code: "ARTNET-A09",
        layer: Layer::Habit,
        title: "No octets follow the levels ArtDmx and ArtNzs announce.",
        clause: "ArtDmx and ArtNzs, field Length",
        meaning: "Nodes ignore the excess; some check the size and drop the datagram.",
        advice: "End the datagram with the last slot.",
        example: "length 00 02 with 4 octets of data",
        known: &[
            "mqtt-dmx-controller, in its periodic repeats only (hobbyquaker/mqtt-dmx-controller#9)",
            "DMX-Workshop fills ArtNzs to 520 octets (Polofiziert/artnet-monitor-lumenflow, \
             Artnet_DMX_workscho_networkTest_01.pcapng)",
        ],
        ..BASE
    },
    Rule {
        code: "ARTNET-A10",
        layer: Layer::Habit,
        title: "ArtDmx is sent from port 6454 to the subscribed nodes, not broadcast.",
        clause: "ArtDmx, unicast subscription",
        meaning: "Broadcast levels load every host of the network and all of Wi-Fi; some nodes ignore them.",
        advice: "Unicast to the nodes that answer ArtPoll with the Port-Address.",
        example: "ArtDmx to 255.255.255.255",
        known: &["ArtnetnodeWifi dropped broadcast ArtDmx (rstephan/ArtnetnodeWifi#6)"],
        ..BASE
    },
    Rule {
        code: "ARTNET-A11",
        severity: Severity::Violation,
        title: "The start code of ArtNzs is neither 0x00 nor 0xcc (RDM).",
        clause: "ArtNzs, field StartCode",
        meaning: "Levels belong into ArtDmx and RDM into ArtRdm; nodes ignore them here.",
        advice: "Send ArtDmx for levels.",
        example: "01 00: sequence 1, start code 0",
        ..BASE
    },
    Rule {
        code: "ARTNET-A12",
        layer: Layer::Stream,
        title: "A Port-Address is refreshed no faster than DMX512 can carry it, 44 Hz for 512 slots.",
        clause: "ArtDmx, refresh rate",
        meaning: "Nodes with DMX outputs drop frames in a pattern of their own, seen as judder.",
        advice: "Slow down, or send fewer slots, unless the nodes drive pixels.",
        example: "60 ArtDmx of 512 slots in a second",
        ..BASE
    },
    Rule {
        code: "ARTNET-A13",
        layer: Layer::Stream,
        title: "ArtSync is broadcast by the controller that sends the levels, at least every 4 s.",
        clause: "ArtSync",
        meaning: "A node ignores an ArtSync from another address than its ArtDmx, and after 4 s without one outputs \
                  levels as they come.",
        advice: "Broadcast ArtSync after the last ArtDmx of each frame, from the same address.",
        example: "ArtSync to a single node",
        ..BASE
    },
    Rule {
        code: "ARTNET-A14",
        layer: Layer::Stream,
        title: "One source sends a Port-Address, with one Physical value.",
        clause: "Data merging",
        meaning: "A node merges two sources (highest or latest takes precedence) and ignores a third.",
        advice: "Stop the source that is not meant, or wait 10 s after switching over.",
        example: "two addresses, both sending Port-Address 1",
        ..BASE
    },
    Rule {
        code: "ARTNET-A15",
        title: "Short name and long name of ArtPollReply are NUL terminated and the last octet of each is zero.",
        clause: "ArtPollReply, fields ShortName and LongName",
        meaning: "Controllers show the names with whatever follows them, or crash.",
        advice: "Keep to 17 and 63 octets and zero the rest.",
        example: "a short name of 18 letters",
        ..BASE
    },
    Rule {
        code: "ARTNET-A16",
        title: "NumPorts of ArtPollReply is at most 4.",
        clause: "ArtPollReply, field NumPorts",
        meaning: "There are four entries in each port table; a controller may read past them.",
        advice: "Send one ArtPollReply for every four ports, numbered by BindIndex.",
        example: "ff ff: 65535",
        ..BASE
    },
    Rule {
        code: "ARTNET-A17",
        title: "The port field of ArtPollReply is 0x1936, low octet first.",
        clause: "ArtPollReply, field Port",
        meaning: "A controller that believes the field sends to the wrong port.",
        advice: "Write 36 19 into the octets 14 and 15.",
        example: "19 36: written high octet first",
        ..BASE
    },
    Rule {
        code: "ARTNET-A18",
        severity: Severity::Violation,
        title: "A length or count inside the datagram stays inside the octets present.",
        clause: "ArtCommand, ArtDiagData, ArtDataReply, ArtTodRequest, ArtTodData: length and count fields",
        meaning: "A node that trusts the field reads past the end of the datagram.",
        advice: "Write the number of octets or entries that follow.",
        example: "ArtCommand with its text where EstaMan and Length belong: length 28533",
        known: &["artnet-monitor-lumenflow writes ArtDiagData without filler and length \
             (Polofiziert/artnet-monitor-lumenflow, diag.rs)"],
        ..BASE
    },
    Rule {
        code: "ARTNET-Q20",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "The sequence number is in use (1..255).",
        clause: "ArtDmx and ArtNzs, field Sequence",
        meaning: "With 0 the node does not put datagrams back in order, and loss shows only in the cadence.",
        advice: "Let the sender count 1..255 where it can.",
        example: "octet 12 = 00: sequence disabled",
        known: &["stupidArtnet never changes the octet: constant 0 (PyPI stupidArtnet, seen on the wire)"],
        ..BASE
    },
];

/// Identifier.
pub const A01: &Rule = &RULES[0];
/// Minimum length.
pub const A02: &Rule = &RULES[1];
/// Known opcode.
pub const A03: &Rule = &RULES[2];
/// Protocol version.
pub const A04: &Rule = &RULES[3];
/// Port-Address bit 15.
pub const A05: &Rule = &RULES[4];
/// Length of the levels.
pub const A06: &Rule = &RULES[5];
/// Odd length.
pub const A07: &Rule = &RULES[6];
/// Length beyond the octets present.
pub const A08: &Rule = &RULES[7];
/// Octets after the levels.
pub const A09: &Rule = &RULES[8];
/// Broadcast levels, and a sender on another port.
pub const A10: &Rule = &RULES[9];
/// Start code of ArtNzs.
pub const A11: &Rule = &RULES[10];
/// Refresh rate; the verifier owns it.
pub const A12: &Rule = &RULES[11];
/// Use of ArtSync; the verifier owns it.
pub const A13: &Rule = &RULES[12];
/// Two sources on one Port-Address; the verifier owns it.
pub const A14: &Rule = &RULES[13];
/// Names of ArtPollReply.
pub const A15: &Rule = &RULES[14];
/// Port count of ArtPollReply.
pub const A16: &Rule = &RULES[15];
/// Port field of ArtPollReply.
pub const A17: &Rule = &RULES[16];
/// Inner lengths and counts.
pub const A18: &Rule = &RULES[17];
/// Sequence disabled.
pub const Q20: &Rule = &RULES[18];
