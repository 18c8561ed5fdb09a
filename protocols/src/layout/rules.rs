//! What can be wrong with a datagram of a declared layout. The layout says which octets a rule is about; a finding
//! names the field.

use crate::{Layer, Rule, Severity};

/// What all entries share.
const LAYOUT: Rule = Rule {
    code: "",
    severity: Severity::Violation,
    layer: Layer::Shape,
    title: "",
    edition: "the layout file",
    clause: "",
    meaning: "",
    advice: "",
    example: "",
    known: &[],
};

/// The catalogue, in code order.
pub static RULES: [Rule; 17] = [
    Rule {
        code: "LAYOUT-L01",
        severity: Severity::Info,
        title: "The datagram begins as the layout says: every field with the role `magic` has its value",
        clause: "role `magic`",
        meaning: "The datagram stands on the layout's port but is another protocol.",
        advice: "Nothing, unless it was meant to be this protocol: then correct the sender or the layout's const_hex.",
        example: "42 50 4b 32 where 42 50 4b 31 is declared",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L02",
        title: "A field that has one value has that value",
        clause: "roles `const` and `version`, and `footer_hex`",
        meaning: "Receivers that check the field refuse the datagram.",
        advice: "Write the declared value; declare min and max where several are legal.",
        example: "version 2 where 1 is declared",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L03",
        title: "The datagram holds the whole header and footer",
        clause: "`header_len` and `footer_len`",
        meaning: "Receivers read octets that were never sent, or drop the datagram.",
        advice: "Send every field of the header, zero where there is nothing to say.",
        example: "31 octets where the header has 32",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L04",
        title: "The header's own length covers the declared header and ends inside the datagram",
        clause: "role `header_len`",
        meaning: "Receivers take header for data or data for header.",
        advice: "Write the declared header_len; a longer header of a later version is only mentioned.",
        example: "31 where the header has 32 octets",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L05",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "Reserved bits are zero",
        clause: "role `reserved_zero`",
        meaning: "Receivers ignore them today; a later version may not.",
        advice: "Write zero.",
        example: "0x0100 in flags of which only the lowest four bits are used",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L06",
        title: "The data that the header announces is there",
        clause: "`payload_len`",
        meaning: "Octets of the data are missing: the end of a chunk keeps old pixels, or receivers drop it.",
        advice: "Write the octets of data that are sent; if they count header octets, too, declare `add`.",
        example: "1441 announced, 1440 present",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L07",
        title: "Nothing follows the data that the header announces",
        clause: "`payload_len` and `trailing`",
        meaning: "Octets are left over that no field accounts for: the length is wrong, or the sender pads.",
        advice: "Write the right length; if padding is legal, declare trailing = \"info\".",
        example: "1439 announced, 1440 present",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L08",
        title: "The index of a datagram in its frame is below the count of datagrams",
        clause: "roles `packet_index` and `packet_count`",
        meaning: "The datagram belongs to no place of the frame and is dropped.",
        advice: "Count from the declared `base`; the count is at least 1.",
        example: "index 6 of 6, counted from 0",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L09",
        title: "A number is within its limits",
        clause: "`min` and `max`",
        meaning: "Receivers drop the datagram or take the number for another.",
        advice: "Keep the number within the declared limits; the hint says when swapped octets explain it.",
        example: "length 514 where at most 512 is declared",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L10",
        severity: Severity::Warning,
        title: "A number is a multiple of what is declared",
        clause: "`multiple_of`",
        meaning: "Some receivers drop the datagram or round the number.",
        advice: "Pad the data so that the number is a multiple.",
        example: "length 511 where an even one is declared",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L11",
        title: "The data lies inside the frame",
        clause: "roles `byte_offset` and `frame_len`, `expect_bytes`",
        meaning: "Octets past the end of the frame are lost.",
        advice: "Write where the data begins in the frame and the octets of the whole frame.",
        example: "offset 8000, 1440 octets, frame of 8640",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L12",
        severity: Severity::Warning,
        title: "The data lies where its index puts it",
        clause: "roles `packet_index` and `byte_offset`, `even_chunks`",
        meaning: "A chunk in another place leaves a hole or an overlap.",
        advice: "Write index times chunk size as offset, or leave even_chunks out where chunks differ in size.",
        example: "index 2, offset 1440, chunks of 1440 octets",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L13",
        severity: Severity::Warning,
        title: "The last datagram of a frame is marked as last and no other; first only on the first",
        clause: "roles `last_packet` and `first_packet`",
        meaning: "Receivers that go by the mark show the frame too early or too late.",
        advice: "Set the mark when the index is the count less one.",
        example: "index 5 of 6 without the mark",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L14",
        title: "A length that covers the rest of the datagram does",
        clause: "role `length_of_rest`",
        meaning: "Receivers that go by the length cut the datagram or wait for octets that do not come.",
        advice: "Write the octets from the declared `base` to the end of the datagram.",
        example: "622 where 510 octets follow",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L15",
        title: "The checksum is right",
        clause: "role `checksum`",
        meaning: "Octets were damaged, or the sum is made another way: receivers drop the datagram.",
        advice: "If every datagram has a wrong sum, the layout's sum, covers or byte_order is not the sender's.",
        example: "crc32 0x00000000 where 0xcbf43926 is right",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L16",
        title: "The data is a multiple of its unit",
        clause: "`payload_unit`",
        meaning: "A pixel is cut in two: the pixels behind it have wrong colours.",
        advice: "Send whole pixels.",
        example: "1000 octets where a pixel has 3",
        ..LAYOUT
    },
    Rule {
        code: "LAYOUT-L17",
        title: "A frame has the datagrams and octets that every frame has",
        clause: "`expect_packets` and `expect_bytes`",
        meaning: "The sender drives another picture than the one that was declared.",
        advice: "Set the sender to the declared size, or leave expect_packets and expect_bytes out.",
        example: "count 5 where 6 is declared",
        ..LAYOUT
    },
];
pub(super) const MAGIC: &Rule = &RULES[0];
pub(super) const CONST: &Rule = &RULES[1];
pub(super) const SHORT: &Rule = &RULES[2];
pub(super) const HEADER: &Rule = &RULES[3];
pub(super) const RESERVED: &Rule = &RULES[4];
pub(super) const MISSING: &Rule = &RULES[5];
pub(super) const TRAILING: &Rule = &RULES[6];
pub(super) const INDEX: &Rule = &RULES[7];
pub(super) const LIMITS: &Rule = &RULES[8];
pub(super) const MULTIPLE: &Rule = &RULES[9];
pub(super) const INSIDE: &Rule = &RULES[10];
pub(super) const PLACE: &Rule = &RULES[11];
pub(super) const MARK: &Rule = &RULES[12];
pub(super) const REST: &Rule = &RULES[13];
pub(super) const SUM: &Rule = &RULES[14];
pub(super) const UNIT: &Rule = &RULES[15];
pub(super) const EXPECTED: &Rule = &RULES[16];
