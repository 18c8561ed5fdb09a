//! A dissector for Wireshark out of a layout: the same fields at the same places. It shows and judges nothing; texts of a
//! layout get into it only as quoted strings and sanitised names.

use super::table::{ByteOrder, Constant, Field, Layout, PayloadLength, Region, Role};
use std::fmt::Write as _;

impl Layout {
    /// The dissector as a Lua script for Wireshark 4.0 and later. Its protocol is `wp_NAME`, its fields `wp_NAME.FIELD`,
    /// each with the number as it stands on the wire; `wp_NAME.data` is the data. Datagrams without the magic are left to
    /// other dissectors.
    pub fn lua(&self) -> String {
        let id = self.lua_name();
        let mut out = format!(
            "-- The layout {} of wireproof as a dissector for Wireshark: wireproof layouts lua {}\n",
            self.name, self.name
        );
        let title = if self.title.is_empty() { &self.name } else { &self.title };
        let _ = writeln!(out, "local p = Proto({}, {})\nlocal f = p.fields", quoted(&id), quoted(title));
        for (index, field) in self.fields.iter().enumerate() {
            let _ = writeln!(out, "f.f{index} = {}", declared(&id, field));
        }
        let _ = writeln!(out, "f.data = ProtoField.bytes({}, \"data\")\n", quoted(&format!("{id}.data")));
        out.push_str(HELP);
        self.lua_claims(&mut out);
        self.lua_dissector(&mut out);
        self.lua_registration(&mut out);
        out
    }

    /// The name of the protocol in display filters.
    pub fn lua_name(&self) -> String {
        format!("wp_{}", word(&self.name))
    }

    fn lua_claims(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "local function claims(t)\n  if t:len() < {} then return false end",
            self.header_len
        );
        for field in self.fields.iter().filter(|field| field.role == Role::Magic) {
            let (at, size) = (field.at, field.size);
            match &field.constant {
                Some(Constant::Octets(octets)) => {
                    let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
                    let size = octets.len();
                    let _ = writeln!(
                        out,
                        "  if t({at}, {size}):bytes() ~= ByteArray.new(\"{hex}\") then return false end"
                    );
                }
                Some(Constant::Number(number)) => {
                    let read = number_of(field, &format!("t({at}, {size})"));
                    let _ = writeln!(out, "  if {read} ~= {number} then return false end");
                }
                None => {}
            }
        }
        out.push_str("  return true\nend\n\n");
    }

    fn lua_dissector(&self, out: &mut String) {
        let id = self.lua_name().to_uppercase();
        let _ = writeln!(out, "function p.dissector(t, pinfo, tree)\n  if not claims(t) then return 0 end");
        let _ = writeln!(out, "  pinfo.cols.protocol = {}\n  local s = tree:add(p, t())", quoted(&id));
        for (index, field) in self.fields.iter().enumerate().filter(|(_, f)| f.region == Region::Header) {
            let _ = writeln!(out, "  {}", shown(index, field, &field.at.to_string()));
        }
        let (header, footer) = (self.header_len, self.footer_len);
        let length = match self.payload_len {
            PayloadLength::Rest => format!("t:len() - {}", u32::from(header) + u32::from(footer)),
            PayloadLength::Field(index) => self.fields.get(index).map_or_else(String::new, |field| {
                let read = number_of(field, &format!("t({}, {})", field.at, field.size));
                format!("({read}) * {} + {}", field.scale, field.add)
            }),
        };
        let _ = writeln!(out, "  local n = within({length}, t:len() - {header})");
        let _ = writeln!(out, "  if n > 0 then s:add(f.data, t({header}, n)) end\n  local e = {header} + n");
        for (index, field) in self.fields.iter().enumerate().filter(|(_, f)| f.region == Region::Footer) {
            let reach = u32::from(field.at) + u32::from(field.size);
            let add = shown(index, field, &format!("e + {}", field.at));
            let _ = writeln!(out, "  if e + {reach} <= t:len() then {add} end");
        }
        let _ = writeln!(out, "  pinfo.cols.info = {}\n  return t:len()\nend\n", self.lua_info());
    }

    /// Stream and number for the list of packets.
    fn lua_info(&self) -> String {
        let name = quoted(&self.name);
        let one = |label: &str, field: &Field| {
            let read = number_of(field, &format!("t({}, {})", field.at, field.size));
            format!(" .. {} .. tostring({read})", quoted(&format!(" {label} ")))
        };
        let stream = self.field(Role::StreamId).filter(|f| f.is_number()).map(|f| one("stream", f));
        let number = self.sequence.and_then(|s| self.fields.get(s.field)).map(|f| one("number", f));
        let of_header = |text: Option<String>| text.unwrap_or_default();
        format!("{name}{}{}", of_header(stream), of_header(number))
    }

    fn lua_registration(&self, out: &mut String) {
        for port in &self.matching.udp_dst {
            let _ = writeln!(out, "DissectorTable.get(\"udp.port\"):add({port}, p)");
        }
        if self.matching.any_port {
            out.push_str(HEURISTIC);
        }
    }
}

/// What every dissector needs: a length that stays inside the datagram.
const HELP: &str = "local function within(n, most)\n  return math.max(0, math.min(n, most))\nend\n\n";

/// On other ports the magic tells.
const HEURISTIC: &str = "p:register_heuristic(\"udp\", function(t, pinfo, tree)\n  if not claims(t) then return false end\n  \
                         p.dissector(t, pinfo, tree)\n  return true\nend)\n";

/// Letters, digits and underscores.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// A Lua string of any text.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for octet in text.bytes() {
        match octet {
            b' '..=b'~' if octet != b'"' && octet != b'\\' => out.push(char::from(octet)),
            other => {
                let _ = write!(out, "\\{other:03}");
            }
        }
    }
    out + "\""
}

/// The bits of a number that are the field, as a mask; `None` for all of them.
fn mask(field: &Field) -> Option<u64> {
    let (_, low) = field.bits?;
    Some(field.most() << low)
}

fn declared(id: &str, field: &Field) -> String {
    let names = format!("{}, {}", quoted(&format!("{id}.{}", word(&field.name))), quoted(&field.name));
    if !field.is_number() {
        let kind = if field.role == Role::SenderName { "string" } else { "bytes" };
        return format!("ProtoField.{kind}({names})");
    }
    let kind = match field.size {
        1 => "uint8",
        2 => "uint16",
        3 => "uint24",
        4 => "uint32",
        _ => "uint64",
    };
    let mask = mask(field).map(|mask| format!(", nil, {mask:#x}")).unwrap_or_default();
    format!("ProtoField.{kind}({names}, base.DEC{mask})")
}

fn shown(index: usize, field: &Field, at: &str) -> String {
    let add = if field.order == ByteOrder::Little && field.is_number() { "add_le" } else { "add" };
    format!("s:{add}(f.f{index}, t({at}, {}))", field.size)
}

/// The number of a field, as it stands on the wire, out of its range of octets. Up to four octets it is exact.
fn number_of(field: &Field, range: &str) -> String {
    let read = match (field.size, field.order) {
        (1..=4, ByteOrder::Big) => format!("{range}:uint()"),
        (1..=4, ByteOrder::Little) => format!("{range}:le_uint()"),
        (_, ByteOrder::Big) => format!("{range}:uint64():tonumber()"),
        (_, ByteOrder::Little) => format!("{range}:le_uint64():tonumber()"),
    };
    match field.bits {
        None => read,
        Some((_, low)) => {
            let (down, most) = (1u64 << low.min(63), field.most());
            // No operators on bits: Wireshark up to 4.2 comes with Lua 5.2.
            format!("math.floor({read} / {down}) % {}", u128::from(most) + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SHIPPED;
    use super::*;

    fn shipped(name: &str) -> Layout {
        let text = SHIPPED.iter().find(|shipped| shipped.name == name).unwrap().text;
        Layout::read(text).unwrap()
    }

    #[test]
    fn fields_have_their_place_width_order_and_bits() {
        let lua = shipped("artdmx").lua();
        for line in [
            "local p = Proto(\"wp_artdmx\", \"Art-Net 4, ArtDmx\")",
            "f.f5 = ProtoField.uint16(\"wp_artdmx.port_address\", \"port_address\", base.DEC, nil, 0x7fff)",
            "  s:add_le(f.f5, t(14, 2))",
            "  if t(0, 8):bytes() ~= ByteArray.new(\"4172742d4e657400\") then return false end",
            "  local n = within((t(16, 2):uint()) * 1 + 0, t:len() - 18)",
            "DissectorTable.get(\"udp.port\"):add(6454, p)",
        ] {
            assert!(lua.contains(line), "{line}\n{lua}");
        }
        assert!(lua.contains("register_heuristic"));
        assert!(!shipped("wled-dnrgb").lua().contains("register_heuristic"));
        assert!(shipped("tpm2net").lua().contains("footer") || shipped("tpm2net").footer_len == 1);
    }

    #[test]
    fn no_text_gets_out_of_its_string() {
        assert_eq!(quoted("a\"b\\\n\u{e9}"), "\"a\\034b\\092\\010\\195\\169\"");
        assert_eq!(word("a-b.C\"]]"), "a_b_c___");
    }
}
