//! The DDP rule catalogue: every rule the decoder or the verifier can report, by code.

use crate::{Layer, Rule, Severity};

/// Fields most rules of the catalogue share.
const BASE: Rule = Rule {
    code: "",
    severity: Severity::Warning,
    layer: Layer::Shape,
    title: "",
    edition: "3waylabs DDP",
    clause: "",
    meaning: "",
    advice: "",
    example: "",
    known: &[],
};

/// The catalogue, in code order.
pub static RULES: [Rule; 16] = [
    Rule {
        code: "DDP-D01",
        severity: Severity::Violation,
        title: "The datagram holds the whole header: 10 octets, 14 with a timecode.",
        clause: "Packet Layout",
        meaning: "ID, offset or length are missing, so no display can place the data.",
        advice: "Write all 10 header octets, and 4 more when the timecode flag (0x10) is set.",
        example: "40 01 0b 01 00 00 00 00 00: 9 octets",
        ..BASE
    },
    Rule {
        code: "DDP-D02",
        severity: Severity::Violation,
        title: "The version bits (0xc0 of octet 0) hold 1.",
        clause: "Packet Layout, flags VV",
        meaning: "A display ignores versions it does not know; 0, 2 and 3 were never defined.",
        advice: "Set octet 0 to 0x40 plus the flag bits.",
        example: "01 01 0b 01 ...: version 0, the push flag alone was written",
        ..BASE
    },
    Rule {
        code: "DDP-D03",
        title: "The reserved flag bit (0x20 of octet 0) is zero.",
        clause: "Packet Layout, flags",
        meaning: "Harmless today; a later version may give the bit a meaning.",
        advice: "Send the bit as zero.",
        example: "60 01 0b 01 ...",
        ..BASE
    },
    Rule {
        code: "DDP-D04",
        title: "The high nibble of octet 1 is zero; the sequence number is 1..15, or 0 for unused.",
        clause: "Packet Layout, sequence number",
        meaning: "A receiver that masks the nibble reads 0, which means unused, and one that does not sees a \
                  jump to 16.",
        advice: "Wrap the sequence number from 15 to 1.",
        example: "40 10 0b 01 ...: sequence 16",
        known: &["ddp-rs 1.0 to 1.3.0 counts 1..16 (crates.io ddp-rs 1.3.0, seen on the wire)"],
        ..BASE
    },
    Rule {
        code: "DDP-D05",
        layer: Layer::Habit,
        title: "Query, reply and storage flags fit the direction: a controller sets neither reply nor both, and \
                pixels are not read from storage.",
        clause: "Packet Layout, flags S R Q",
        meaning: "With reply set a display takes the datagram for an answer and may show nothing; query beside \
                  reply is ignored; storage asks for the display's own stored data.",
        advice: "Clear reply (0x04), query (0x02) and storage (0x08) on pixel data.",
        example: "46 00 01 01 ...: query and reply together",
        ..BASE
    },
    Rule {
        code: "DDP-D06",
        layer: Layer::Habit,
        title: "The data type says what the data is: 0x0b for 8-bit RGB, 0x1b for 8-bit RGBW.",
        clause: "Packet Layout, data type C R TTT SSS",
        meaning: "Most displays ignore the field; a strict one may refuse the data or read another pixel size.",
        advice: "Write 0x0b or 0x1b. SSS counts bits per element: 3 stands for 8.",
        example: "0x0a: RGB with 4 bits per element; 0x0d: RGB with 24 bits per element",
        known: &[
            "xLights and FPP send 0x00 on purpose (xLightsSequencer/xLights#3704, #4882; FPP PR 2408)",
            "LedFx before PR 1531, wledcast#6 and OpenRGB (wled/WLED#5532) send 0x01, as the sample code does",
            "WLED as a sender before PR 3193 (2023-05) sends 0x0a and 0x1a; OpenBK7231T_App#890 too",
            "ddp-rs by default and WLED-video (wled/WLED#5532) send 0x0d and 0x1e",
            "hyperion.ng sets the custom bit: 0x8b, 0x9b (source of its DDP device)",
            "WLED PR 5390 refused unknown types, PR 5547 accepts them again (2026)",
        ],
        ..BASE
    },
    Rule {
        code: "DDP-D07",
        title: "The ID names the destination: not 0, 255 only when every output is meant, no pixels on 246, 250 \
                or 251.",
        clause: "Packet Layout, source or destination ID",
        meaning: "ID 0 is reserved and displays differ in what they do with it; pixels on a JSON ID are lost or \
                  upset the configuration.",
        advice: "Use ID 1, the default output device, or the custom ID of the output.",
        example: "40 01 0b 00 ...: ID 0",
        ..BASE
    },
    Rule {
        code: "DDP-D08",
        severity: Severity::Violation,
        title: "A write or reply carries as many data octets as its length field says.",
        clause: "Packet Layout, data length",
        meaning: "The rest of the chunk is missing: a display shows old pixels there, or drops the datagram.",
        advice: "Write the number of data octets; the timecode is not counted. Check for truncation on the way.",
        example: "length 00 64 with 3 octets of data",
        ..BASE
    },
    Rule {
        code: "DDP-D09",
        title: "No octets follow the data the length field announces.",
        clause: "Packet Layout, data length",
        meaning: "Displays ignore the excess, so pixels go missing when it was meant as data.",
        advice: "Make the length field match, or stop sending the excess. A query normally carries no data.",
        example: "length 00 01 with 3 octets of data",
        ..BASE
    },
    Rule {
        code: "DDP-D10",
        layer: Layer::Habit,
        title: "Offset and length are multiples of the pixel size the data type names.",
        clause: "Packet Layout, data offset and length",
        meaning: "One pixel is split over two datagrams; when one of them is lost its colour is mixed from two \
                  frames.",
        advice: "Cut chunks at pixel borders: 1440 octets hold whole pixels of 3, 4 and 6 octets.",
        example: "type 0x0b, offset 1, length 2",
        ..BASE
    },
    Rule {
        code: "DDP-D11",
        layer: Layer::Habit,
        title: "A datagram carries at most 1440 octets of data.",
        clause: "Sample code, DDP_MAX_DATALEN",
        meaning: "Displays with a fixed buffer drop larger chunks; beyond the MTU the network sends IP fragments, \
                  and one lost fragment loses the whole chunk.",
        advice: "Send chunks of 1440 octets. With an MTU of 1500 up to 1462 fit (IPv4; 1458 with timecode; IPv6 \
                 1442 and 1438).",
        example: "length 05 b4: 1460 octets",
        ..BASE
    },
    Rule {
        code: "DDP-D12",
        layer: Layer::Stream,
        title: "The chunks of a frame cover it without holes and overlaps, inside the configured extent.",
        clause: "Packet Layout, data offset",
        meaning: "A display keeps its buffer between frames, so pixels in a hole show the frame before.",
        advice: "Compare the offsets with the chunk length; a frame that does not begin at 0 is legal.",
        example: "offsets 0, 1440, 4320: the chunk at 2880 is missing",
        known: &[
            "FPP and xLights can keep channel numbers, so that the first offset is not 0 (their source)",
        ],
        ..BASE
    },
    Rule {
        code: "DDP-D13",
        layer: Layer::Stream,
        title: "Push is set on the last datagram of each frame and on no other.",
        clause: "Packet Layout, flag P",
        meaning: "Without push a display may never show the frame; with push on every chunk it shows torn frames.",
        advice: "Set push on the last chunk also when the frame is a whole number of chunks, or broadcast one push \
                 without data.",
        example: "8640 octets in 6 chunks of 1440, none with the flag 0x01",
        known: &[
            "LedFx sets no push when the pixel count divides by 480 (LedFx PR 833)",
            "WLED had the same fault (wled/WLED PR 3834)",
            "xLights SendSync pushes with a separate broadcast of type 0x80, sequence 0, length 0",
        ],
        ..BASE
    },
    Rule {
        code: "DDP-D14",
        layer: Layer::Stream,
        title: "A timecode comes with push, near the present and never stepping backward.",
        clause: "Packet Layout, timecode",
        meaning: "The timecode says when to show the frame; without push nothing is shown, and a wrong clock shows \
                  it late or never.",
        advice: "Set the timecode only on the datagram with push, and keep the sender on NTP.",
        example: "50 01 0b 01 ...: timecode flag without push",
        ..BASE
    },
    Rule {
        code: "DDP-D15",
        layer: Layer::Habit,
        title: "Data of the IDs 246, 250 and 251 is valid JSON.",
        clause: "JSON control, configuration and status",
        meaning: "The display cannot read the request, or the controller the answer.",
        advice: "Send one JSON object of exactly the length the header announces, without a trailing NUL.",
        example: "ID 250 with the text SLICKDENIST4000",
        ..BASE
    },
    Rule {
        code: "DDP-Q10",
        severity: Severity::Info,
        layer: Layer::Habit,
        title: "The sequence number is in use (1..15).",
        clause: "Packet Layout, sequence number",
        meaning: "With 0 the sender counts nothing: loss shows only as holes in the offsets, missing pushes and \
                  missing cadence.",
        advice: "Let the sender count 1..15 where it can.",
        example: "40 00 0b 01 ...: sequence unused",
        known: &["the sample code of the specification and many small senders leave it 0"],
        ..BASE
    },
];

/// Header complete.
pub const D01: &Rule = &RULES[0];
/// Version 1.
pub const D02: &Rule = &RULES[1];
/// Reserved flag bit.
pub const D03: &Rule = &RULES[2];
/// Reserved nibble beside the sequence number.
pub const D04: &Rule = &RULES[3];
/// Query, reply and storage flags.
pub const D05: &Rule = &RULES[4];
/// Data type.
pub const D06: &Rule = &RULES[5];
/// Destination ID.
pub const D07: &Rule = &RULES[6];
/// Length beyond the octets present.
pub const D08: &Rule = &RULES[7];
/// Octets after the announced data.
pub const D09: &Rule = &RULES[8];
/// Split pixels.
pub const D10: &Rule = &RULES[9];
/// Large chunks.
pub const D11: &Rule = &RULES[10];
/// Holes and overlaps in a frame; the verifier owns it.
pub const D12: &Rule = &RULES[11];
/// Push; the verifier owns it.
pub const D13: &Rule = &RULES[12];
/// Timecode. The decoder reports a timecode without push, the verifier everything about the clock.
pub const D14: &Rule = &RULES[13];
/// JSON bodies.
pub const D15: &Rule = &RULES[14];
/// Sequence unused.
pub const Q10: &Rule = &RULES[15];
