//! Texts of layouts: what is read, and what is told about what cannot be meant.

use super::*;
use crate::Severity;

/// A whole small layout, with `more` behind it.
fn text(more: &str) -> String {
    format!(
        "name = \"x\"\nheader_len = 8\n[match]\nudp_dst = [7000]\n[[field]]\nname = \"magic\"\nat = 0\nrole = \"magic\"\n\
         const_hex = \"4142\"\n{more}"
    )
}

fn faults(text: &str) -> Vec<String> {
    Layout::read(text).expect_err("it cannot be meant").iter().map(ToString::to_string).collect()
}

#[test]
fn every_shipped_layout_is_sound_and_bears_its_name() {
    for shipped in SHIPPED {
        let layout = Layout::read(shipped.text).unwrap_or_else(|f| panic!("{}: {f:?}", shipped.name));
        assert_eq!(layout.name, shipped.name);
        assert!(!layout.title.is_empty() && !layout.source.is_empty() && !layout.matching.udp_dst.is_empty());
    }
}

#[test]
fn the_table_of_bigpacket_says_what_its_text_says() {
    let layout = Layout::read(SHIPPED[1].text).unwrap();
    assert_eq!((layout.header_len, layout.footer_len, layout.payload_unit), (32, 0, 1));
    let length = layout.fields.iter().position(|f| f.name == "length").unwrap();
    assert_eq!(layout.payload_len, PayloadLength::Field(length));
    let sequence = layout.sequence.unwrap();
    let (first, last, unused) = (sequence.first, sequence.last, sequence.unused);
    assert_eq!((first, last, unused, sequence.window, sequence.step), (0, u32::MAX, None, 100, Step::Frame));
    assert_eq!(layout.frame.ends_by, [Ending::LastPacket, Ending::PacketCount, Ending::SeqChange]);
    let last = layout.field(Role::LastPacket).unwrap();
    assert_eq!((last.at, last.size, last.bits, last.line), (6, 2, Some((0, 0)), 60));
    assert!(layout.has_chunks());
}

#[test]
fn what_is_left_out_has_its_default() {
    let more = "[[field]]\nname = \"n\"\nat = 2\nsize = 1\nbits = [3, 0]\nrole = \"packet_seq\"\n";
    let layout = Layout::read(&text(more)).unwrap();
    assert_eq!((layout.payload_len, layout.trailing), (PayloadLength::Rest, Severity::Violation));
    assert_eq!(layout.matching, Matching { udp_dst: vec![7000], any_port: false, priority: 0 });
    let sequence = layout.sequence.unwrap();
    assert_eq!((sequence.first, sequence.last, sequence.window, sequence.scope), (0, 15, 7, Scope::Stream));
    assert_eq!(
        (layout.fields[1].scale, layout.fields[1].add, layout.fields[1].order),
        (1, 0, ByteOrder::Big)
    );
    assert_eq!(layout.fields[0].size, 2, "as long as its constant");
}

#[test]
fn an_empty_text_is_told_everything_it_lacks() {
    let said = faults("");
    for key in ["name", "header_len", "match"] {
        assert!(
            said.iter().any(|s| s.starts_with(&format!("line 1: layout, {key}: is missing"))),
            "{said:?}"
        );
    }
}

#[test]
fn all_faults_are_told_at_once_each_with_its_line() {
    let more = "[[field]]\nname = \"a\"\nat = 7\nsize = 2\ncolour = 1\n[[field]]\nname = \"b\"\nat = 1\nsize = 9\n\
                role = \"stream_id\"\n[frame]\nends_by = [\"last_packet\"]\n";
    let said = faults(&text(more));
    let want = [
        "line 10: field a, at: the field ends at octet 9, the header at 8",
        "line 14: field a, colour: unknown key, allowed are name, at, at_footer, size, bits, byte_order, role, const, \
         const_hex, add, scale, base, min, max, multiple_of, send, severity, sum, covers",
        "line 15: field b, at: octet 1 is the field magic's, too",
        "line 15: field b, at: the field ends at octet 10, the header at 8",
        "line 15: field b, size: a number has at most 8 octets",
        "line 21: frame, ends_by: no field makes \"last_packet\" possible",
    ];
    assert_eq!(said, want);
}

/// A number of 16 bits that ends frames, and a sequence with these lines.
fn numbered(sequence: &str) -> String {
    let field = "[[field]]\nname = \"n\"\nat = 2\nsize = 2\nrole = \"frame_seq\"\n";
    text(&format!("{field}[sequence]\n{sequence}[frame]\nends_by = [\"seq_change\"]\n"))
}

#[test]
fn what_stands_beside_a_sequence_field_that_does_not_exist_is_told_with_it() {
    let rest = "first = 9\nlast = 8\nunused = 70000\nscope = \"all\"\nwindow = 500\nsize = 2\n";
    let of_field =
        "line 16: sequence, field: has to name a field with the role \"frame_seq\" or \"packet_seq\"";
    let want = [
        of_field,
        "line 17: sequence, first: is above last, which is 8",
        "line 19: sequence, unused: is 70000: write a whole number, 0 to 65535",
        "line 20: sequence, scope: is the text \"all\": write \"stream\" or \"source\"",
        "line 21: sequence, window: is 500: write a whole number, 1 to 126",
        "line 22: sequence, size: unknown key, allowed are",
    ];
    let said = faults(&numbered(&format!("field = \"number\"\n{rest}")));
    assert_eq!(said.len(), want.len(), "{said:#?}");
    for (said, want) in said.iter().zip(want) {
        assert!(said.starts_with(want), "{said}\n{want}");
    }
    let alone = faults(&numbered("field = \"number\"\nfirst = 1\nlast = 200\nunused = 0\n"));
    assert_eq!(alone, [of_field], "what is sound is not told of");
}

#[test]
fn a_sequence_without_any_field_to_count_is_read_to_its_end() {
    let said = faults(&text("[sequence]\nfirst = 9\nlast = 8\nunused = 3\nscope = 1\n"));
    let want = [
        "line 10: sequence, field: no field has the role",
        "line 11: sequence, first: is above last",
        "line 14: sequence, scope: is 1: write",
    ];
    assert_eq!(said.len(), want.len(), "{said:#?}");
    assert!(said.iter().zip(want).all(|(said, want)| said.starts_with(want)), "{said:#?}");
    assert_eq!(faults(&text("[sequence]\nunused = 3\n")).len(), 1, "nobody knows the cycle");
}

#[test]
fn what_is_added_to_a_length_that_no_field_has_is_told_too() {
    let lengths = "header_len = 8\npayload_len = { field = \"magic\", add = \"x\" }";
    let said = faults(&text("").replacen("header_len = 8", lengths, 1));
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().any(|s| s.contains("payload_len, add: is the text \"x\"")), "{said:?}");
}

/// What is told of a text with these lines behind a sound beginning.
const REFUSED: [(&str, &str); 34] = [
    ("[[field]]\nat = 2\nsize = 1", "line 10: field, name: is missing"),
    ("[[field]]\nname = \"a b\"\nat = 2\nsize = 1", "has to be 1 to 32 letters"),
    ("[[field]]\nname = \"a\"\nsize = 1", "field a, at: is missing"),
    ("[[field]]\nname = \"a\"\nat = 2\nat_footer = 0\nsize = 1", "stands beside at"),
    ("[[field]]\nname = \"a\"\nat = 2", "field a, size: is missing"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nbits = [0, 3]", "has to be [highest, lowest]"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nbits = [8, 8]", "bit 8 is past the 1 octets"),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"counter\"",
        "field a, role: is the text \"counter\"",
    ),
    ("[[field]]\nname = \"magic\"\nat = 2\nsize = 1", "another field has the same name"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"const\"", "field a, const_hex: is missing"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"version\"", "field a, const: is missing"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nconst = 1", "does not go with the role \"opaque\""),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nconst = 256\nrole = \"const\"", "is above 255"),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nconst_hex = \"0102\"\nrole = \"const\"",
        "has 2 octets, the field 1",
    ),
    ("[[field]]\nname = \"a\"\nat = 2\nconst_hex = \"0\"\nrole = \"const\"", "hexadecimal digits"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nmin = 5\nmax = 4", "field a, min: is above max"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nmax = 256", "min and max are at most 255"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nscale = 3", "field a, scale: does not go with"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nadd = 3", "field a, add: does not go with"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nbase = 3", "field a, base: does not go with"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 2\nrole = \"part\"", "has at most 8 bits"),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nsum = \"xor8\"", "belongs to the role \"checksum\""),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"checksum\"", "field a, sum: is missing"),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"checksum\"\nsum = \"crc32\"",
        "this sum has 4 octets",
    ),
    ("[[field]]\nname = \"a\"\nat_footer = 0\nsize = 1", "octet 1 of the footer, which has 0"),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"time_valid\"",
        "needs a field with the role \"timestamp_us\"",
    ),
    ("[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"packet_count\"", "role \"packet_index\""),
    ("[sequence]\nfirst = 1", "sequence, field: no field has the role"),
    ("[sequence]\nfield = \"magic\"", "has to name a field with the role \"frame_seq\""),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"packet_seq\"\n[sequence]\nfirst = 9\nlast = 8",
        "is above last",
    ),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"packet_seq\"\n[sequence]\nunused = 8",
        "is one of the numbers",
    ),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"packet_seq\"\n[sequence]\nlast = 2",
        "fewer than 4 numbers",
    ),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"packet_seq\"\n[sequence]\nstep = \"frame\"",
        "contradicts",
    ),
    (
        "[[field]]\nname = \"a\"\nat = 2\nsize = 1\nrole = \"packet_seq\"\n[sequence]\nlast = 20\nwindow = 11",
        "less than half",
    ),
];

#[test]
fn what_cannot_be_meant_is_told_with_the_reason() {
    for (more, want) in REFUSED {
        let said = faults(&text(more));
        assert!(said.iter().any(|s| s.contains(want)), "{more}: {said:?}");
    }
}

#[test]
fn the_root_is_checked_like_the_fields() {
    let of = |root: &str| faults(&text("").replacen("header_len = 8", root, 1)).join("\n");
    assert!(of("header_len = 513").contains("layout, header_len: is 513: write a whole number, 1 to 512"));
    assert!(of("header_len = 8\npayload_len = \"all\"").contains("layout, payload_len: is the text \"all\""));
    assert!(
        of("header_len = 8\npayload_len = { field = \"magic\" }")
            .contains("has to name a field with the role")
    );
    assert!(of("header_len = 8\nbyte_order = \"native\"").contains("write \"big\" or \"little\""));
    assert!(of("header_len = 8\nsize = 2").contains("line 3: layout, size: unknown key"));
    let named = faults(&text("").replacen("\"x\"", "\"Big Packet\"", 1));
    assert_eq!(named, ["line 1: layout, name: has to be 1 to 32 lower-case letters, digits and dashes"]);
}

#[test]
fn a_magic_of_two_octets_does_not_identify_on_every_port() {
    let said = faults(&text("").replacen("udp_dst = [7000]", "any_port = true", 1));
    assert_eq!(
        said,
        ["line 4: match, any_port: needs 4 octets of fields with the role \"magic\", 2 there are"]
    );
}

#[test]
fn every_break_of_the_syntax_is_told() {
    let said = faults("name = \nheader_len = = 3\n");
    assert!(said.len() >= 2 && said.iter().all(|s| s.contains("is no TOML")), "{said:?}");
    assert!(said[0].starts_with("line 1:") && said[1].starts_with("line 2:"), "{said:?}");
}

#[test]
fn what_is_wrong_at_a_key_is_said_once_and_names_the_value() {
    let said =
        |text: &str| Layout::read(text).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>();
    let head = "name = \"x\"\nheader_len = 4\n";
    let one = |rest: &str| {
        let said = said(&format!("{head}{rest}"));
        assert_eq!(said.len(), 1, "{said:?}");
        said[0].clone()
    };
    let ports = one("[match]\nudp_dst = [9000, 70000]\n");
    assert!(ports.contains("line 4: match, udp_dst: holds 70000: write a list of at most 16"), "{ports}");
    let matched = "[match]\nudp_dst = [9000]\n";
    let hex = one(&format!(
        "{matched}[[field]]\nname = \"m\"\nat = 0\nsize = 2\nrole = \"magic\"\nconst_hex = \"zz\"\n"
    ));
    assert!(hex.contains("line 10: field m, const_hex: is the text \"zz\""), "{hex}");
    let twice = one(&format!("{matched}[[field]]\nname = \"m\"\nat = 0\nat = 1\nsize = 2\n"));
    assert!(twice.contains("line 8: layout: is no TOML: duplicate key at"), "{twice}");
    let nowhere =
        format!("{matched}[[field]]\nname = \"m\"\nat = 0\nsize = 2\n[[field]]\nname = \"n\"\nsize = 2\n");
    assert!(one(&nowhere).contains("field n, at: is missing"), "{nowhere}");
}

#[test]
fn hostile_texts_are_refused_in_bounds() {
    assert_eq!(
        faults(&"x".repeat(TEXT_MAX + 1)),
        ["line 1: layout: is longer than 64 KiB: no layout is that long"]
    );
    let many = "[[field]]\nname = \"a\"\nat = 600\nsize = 0\n".repeat(FIELDS_MAX + 1);
    assert!(faults(&text(&many)).iter().any(|s| s.contains("at most 64 of them")));
    let keys: String = (0..900).map(|n| format!("key{n} = 1\n")).collect();
    assert_eq!(faults(&keys).len(), FAULTS_MAX);
    assert!(!faults(&format!("a = {}", "[".repeat(60_000))).is_empty());
    let broken = faults("\"a\\nb\\u0007\" = 1\n");
    assert!(broken.iter().all(|s| !s.contains('\n') && !s.contains('\u{7}')), "{broken:?}");
}

#[test]
fn the_octets_of_bits_follow_the_byte_order() {
    let of = |order: &str, bits: &str| {
        let more =
            format!("[[field]]\nname = \"a\"\nat = 2\nsize = 2\nbyte_order = \"{order}\"\nbits = {bits}\n");
        Layout::read(&text(&more)).unwrap().fields[1].octets().collect::<Vec<_>>()
    };
    assert_eq!(of("big", "[15, 4]"), [(2, 0xff), (3, 0xf0)]);
    assert_eq!(of("little", "[15, 4]"), [(2, 0xf0), (3, 0xff)]);
    assert_eq!(of("big", "[14, 0]"), [(2, 0x7f), (3, 0xff)]);
    assert_eq!(of("little", "[15, 15]"), [(3, 0x80)]);
    assert_eq!(of("big", "[9, 6]"), [(2, 0x03), (3, 0xc0)]);
}
