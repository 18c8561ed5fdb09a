//! Anonymising: addresses, CIDs and names replaced by placeholders, the same one for the same original.
//!
//! Group, broadcast and loopback addresses stay: they name universes and hosts of every network, not of one.

use crate::summary::{Finding, Output, Stream, Summary};
use crate::text::clean;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What stands in place of an expression.
const MASKED: &str = "masked";

/// The placeholders given out so far.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    addresses: BTreeMap<IpAddr, IpAddr>,
    senders: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
    hosts: u32,
}

impl Mask {
    /// A mask that has given out nothing.
    pub fn new() -> Mask {
        Mask::default()
    }

    /// `10.0.0.1`, `10.0.0.2`, … for IPv4 and `fd00::1`, … for IPv6.
    pub fn address(&mut self, address: IpAddr) -> IpAddr {
        if stays(address) {
            return address;
        }
        if let Some(known) = self.addresses.get(&address) {
            return *known;
        }
        self.hosts = self.hosts.wrapping_add(1) & 0x00ff_ffff;
        let placeholder = match address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | self.hosts)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits((0xfd00_u128 << 112) | u128::from(self.hosts))),
        };
        self.addresses.insert(address, placeholder);
        placeholder
    }

    /// A UUID that counts up.
    pub fn sender(&mut self, cid: &str) -> String {
        let next = self.senders.len() + 1;
        let key = cid.to_ascii_lowercase();
        self.senders.entry(key).or_insert_with(|| format!("00000000-0000-0000-0000-{next:012x}")).clone()
    }

    /// `source-1`, `source-2`, …
    pub fn name(&mut self, name: &str) -> String {
        let next = self.names.len() + 1;
        self.names.entry(name.to_owned()).or_insert_with(|| format!("source-{next}")).clone()
    }

    /// A sentence with every known name and everything that reads as an address or a CID replaced.
    pub fn text(&mut self, text: &str) -> String {
        let named = self.replace_names(text);
        let mut out = String::with_capacity(named.len());
        let mut word = String::new();
        for c in named.chars() {
            if c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '-' | '[' | ']') {
                word.push(c);
            } else {
                out.push_str(&self.word(&word));
                word.clear();
                out.push(c);
            }
        }
        out.push_str(&self.word(&word));
        out
    }

    /// True when octets hold, as text, something that this mask has replaced elsewhere.
    pub fn is_told_by(&self, octets: &[u8]) -> bool {
        let holds = |text: &str| octets.windows(text.len()).any(|window| window == text.as_bytes());
        let addresses = self.addresses.keys().map(IpAddr::to_string);
        let names = self.names.keys().filter(|name| name.len() > 1).flat_map(|name| forms(name));
        addresses.chain(names).chain(self.senders.keys().cloned()).any(|text| holds(&text))
    }

    /// Longest forms first, so that a name inside another does not spoil it; what was put in is not looked at again.
    fn replace_names(&self, text: &str) -> String {
        let names = self.names.iter().filter(|(name, _)| name.len() > 1);
        let mut known: Vec<(String, &str)> =
            names.flat_map(|(name, put)| forms(name).map(move |form| (form, put.as_str()))).collect();
        known.retain(|(form, _)| text.contains(form.as_str()));
        known.sort_by(|a, b| (b.0.len(), &a.0).cmp(&(a.0.len(), &b.0)));
        let mut parts = vec![(text.to_owned(), false)];
        for (form, put) in known {
            parts = parts.into_iter().flat_map(|part| split(part, &form, put)).collect();
        }
        parts.into_iter().map(|(text, _)| text).collect()
    }

    fn word(&mut self, word: &str) -> String {
        let body = word.trim_end_matches(['.', ':', '-']);
        let tail = &word[body.len()..];
        if let Ok(socket) = body.parse::<SocketAddr>() {
            return format!("{}{tail}", SocketAddr::new(self.address(socket.ip()), socket.port()));
        }
        if let Ok(address) = body.parse::<IpAddr>() {
            return format!("{}{tail}", self.address(address));
        }
        match uuid(body) {
            Some(cid) => format!("{}{tail}", self.sender(&cid)),
            None => word.to_owned(),
        }
    }

    /// Masks everything in a record. The order of streams decides the numbers, so that the same run always
    /// gets the same placeholders.
    pub fn apply(&mut self, summary: &mut Summary) {
        "capture".clone_into(&mut summary.source.name);
        summary.streams.iter_mut().for_each(|s| self.stream(s));
        summary.outputs.iter_mut().for_each(|o| self.output(o));
        summary.findings.iter_mut().for_each(|f| self.finding(f));
        summary.limits.iter_mut().for_each(|l| *l = self.text(l));
        self.terms(summary);
        summary.reason = self.text(&summary.reason);
        summary.source.damaged = summary.source.damaged.as_deref().map(|_| "yes".to_owned());
    }

    /// Expressions hold parts of names and addresses that nothing else would know for such.
    fn terms(&mut self, s: &mut Summary) {
        if let Some(filter) = &mut s.filter {
            s.reason = s.reason.replace(&filter.expression, MASKED);
            MASKED.clone_into(&mut filter.expression);
        }
        for w in &mut s.waivers {
            let streams = crate::text::clean(&w.streams).into_owned();
            s.findings.iter_mut().for_each(|f| f.text = f.text.replace(&streams, MASKED));
            MASKED.clone_into(&mut w.streams);
            w.reason = self.text(&w.reason);
        }
        for why in s.alerts.iter_mut().flat_map(|alerts| &mut alerts.failures) {
            *why = self.text(why);
        }
    }

    fn stream(&mut self, s: &mut Stream) {
        s.source = self.text(&s.source);
        s.destination = s.destination.as_deref().map(|d| self.text(d));
        s.destinations.iter_mut().for_each(|d| *d = self.text(d));
        s.sender = s.sender.as_deref().map(|cid| self.sender(cid));
        s.name = s.name.as_deref().map(|name| self.name(name));
    }

    fn output(&mut self, o: &mut Output) {
        o.name = self.text(&o.name);
    }

    fn finding(&mut self, f: &mut Finding) {
        f.text = self.text(&f.text);
        f.expected = self.text(&f.expected);
        f.got = self.text(&f.got);
    }
}

/// Every way in which a name stands in texts: as it is, with control characters made visible, as a quoted text escapes it,
/// and the first octets in hex.
fn forms(name: &str) -> impl Iterator<Item = String> {
    let hex: String = name.bytes().take(16).map(|b| format!("{b:02x}")).collect();
    let escaped = [name.escape_debug().to_string(), name.escape_default().to_string()];
    let trimmed = name.trim().to_owned();
    let spaced = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = [name.to_owned(), clean(name).into_owned(), trimmed, spaced].into_iter().chain(escaped);
    plain.filter(|form| form.len() > 1).chain(Some(hex).filter(|hex| hex.len() >= 8))
}

/// A part of a text around every occurrence of `form`, with what takes its place; a part that was put in stays.
fn split((text, put_in): (String, bool), form: &str, put: &str) -> Vec<(String, bool)> {
    if put_in || !text.contains(form) {
        return vec![(text, put_in)];
    }
    let mut parts = Vec::new();
    for (at, rest) in text.split(form).enumerate() {
        if at > 0 {
            parts.push((put.to_owned(), true));
        }
        parts.push((rest.to_owned(), false));
    }
    parts
}

fn stays(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(a) if a.is_broadcast());
    address.is_multicast() || address.is_loopback() || address.is_unspecified() || broadcast
}

/// The UUID in its usual notation, where the word is one with or without hyphens.
fn uuid(word: &str) -> Option<String> {
    let hex: String = word.chars().filter(|c| *c != '-').collect();
    if hex.len() != 32 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    Some(format!("{a}-{b}-{c}-{d}-{e}").to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::sample;
    use crate::{Format, Style, render};
    use proptest::prelude::*;

    #[test]
    fn the_same_address_gets_the_same_placeholder() {
        let mut mask = Mask::new();
        assert_eq!(mask.text("192.168.0.2:5568"), "10.0.0.1:5568");
        assert_eq!(mask.text("from 192.168.0.2 and 192.168.0.3."), "from 10.0.0.1 and 10.0.0.2.");
        assert_eq!(mask.text("[fe80::1]:4048"), "[fd00::3]:4048");
    }

    #[test]
    fn group_and_broadcast_addresses_stay() {
        let mut mask = Mask::new();
        for kept in ["239.255.0.1:5568", "255.255.255.255", "127.0.0.1", "[ff18::83:0:1]:5568"] {
            assert_eq!(mask.text(kept), kept);
        }
    }

    #[test]
    fn numbers_times_and_codes_are_left_alone() {
        let mut mask = Mask::new();
        let text = "SACN-S17 5 of 12.5 at 21:04:31, 0x00ff, 13..16, face";
        assert_eq!(mask.text(text), text);
    }

    #[test]
    fn a_cid_is_found_with_and_without_hyphens() {
        let mut mask = Mask::new();
        let placeholder = "00000000-0000-0000-0000-000000000001";
        assert_eq!(mask.sender("0cde5d2f-1111-2222-3333-444455556666"), placeholder);
        assert_eq!(mask.text("cid 0CDE5D2F111122223333444455556666"), format!("cid {placeholder}"));
    }

    #[test]
    fn a_name_is_found_in_sentences_and_in_hex() {
        let mut mask = Mask::new();
        mask.name("Desk Two");
        assert_eq!(mask.text("source Desk Two: 4465736b2054776f"), "source source-1: source-1");
    }

    #[test]
    fn a_name_with_characters_that_are_made_visible_is_found_in_every_form() {
        for name in ["FOH\nDesk", "FOH\x1b[0m", "FOH\u{202e}X", " FOH  Desk ", "F\"O'H\\", "S\u{fc}d\u{0}"] {
            let mut mask = Mask::new();
            mask.name(name);
            for form in [name.to_owned(), clean(name).into_owned(), name.escape_debug().to_string()] {
                let text = format!("{form} (10.0.0.9) and {form} both send");
                assert_eq!(mask.text(&text), "source-1 (10.0.0.1) and source-1 both send", "{name:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_of_a_finding_tells_a_name(
            names in proptest::collection::vec("\\PC{2,20}|[\\x00-\\x1f\u{202a}-\u{202e}a-c]{2,12}|[a-c]{2,4}", 1..4),
            before in "[k-n ]{0,6}",
        ) {
            let mut summary = sample::summary();
            let stream = summary.streams[0].clone();
            summary.streams = names.iter().map(|name| Stream { name: Some(name.clone()), ..stream.clone() }).collect();
            let finding = summary.findings[0].clone();
            let say = |text: &str| format!("{before}: {text} (port 7)");
            summary.findings = names
                .iter()
                .map(|name| Finding {
                    text: say(name),
                    expected: say(&clean(name)),
                    got: say(&name.escape_debug().to_string()),
                    ..finding.clone()
                })
                .collect();
            let all = names.join("; ");
            summary.reason = say(&clean(&all));
            summary.limits = vec![say(&all)];
            let whole = summary.clone();
            Mask::new().apply(&mut summary);
            let mut texts: Vec<&String> = summary.findings.iter().flat_map(|f| [&f.text, &f.expected, &f.got]).collect();
            texts.extend([&summary.reason, &summary.limits[0]]);
            for text in texts {
                // What a placeholder or the sentence around it says is no name that was told.
                let rest: String = text.split("source-").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect();
                let told = say("").replace("source-", "") + "; ";
                for name in &names {
                    let forms = [name.clone(), clean(name).into_owned(), name.escape_debug().to_string()];
                    let leak = forms.iter().find(|form| rest.contains(form.as_str()) && !told.contains(form.as_str()));
                    prop_assert_eq!(leak, None, "{:?} in {:?} of {:?}", name, text, whole.reason);
                }
            }
        }
    }

    #[test]
    fn what_was_replaced_elsewhere_is_found_in_octets_that_are_no_text() {
        let mut mask = Mask::new();
        mask.name("pi-lab");
        mask.text("192.168.0.2:5568 0CDE5D2F-1111-2222-3333-444455556666");
        for told in [&b"\xff\0pi-lab\0"[..], b"\x80192.168.0.2", b"0cde5d2f-1111-2222-3333-444455556666"] {
            assert!(mask.is_told_by(told));
        }
        assert!(!mask.is_told_by(b"pi-la 192.168.0.3 \xff") && !Mask::new().is_told_by(b"x"));
    }

    #[test]
    fn nothing_of_the_original_is_left_in_any_format() {
        let mut summary = sample::summary();
        summary.findings[0].text = format!("sent by {}", summary.streams[0].name.clone().unwrap());
        Mask::new().apply(&mut summary);
        for format in Format::ALL {
            let mut out = Vec::new();
            render(&summary, format, Style::default(), &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            for secret in ["192.168", "fe80", "0cde5d2f", "Desk", ".pcapng"] {
                assert!(!text.contains(secret), "{} holds {secret}", format.name());
            }
        }
    }
}
