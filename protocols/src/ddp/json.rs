//! Syntax check for JSON bodies (RFC 8259): no allocation, bounded depth, no values kept.

/// Deepest nesting of arrays and objects that passes.
const DEPTH_MAX: u32 = 64;

/// Index of the first octet where `text` stops being one JSON value in UTF-8; `None` when all of it is.
pub(super) fn first_error(text: &[u8]) -> Option<usize> {
    if let Err(e) = std::str::from_utf8(text) {
        return Some(e.valid_up_to());
    }
    let mut c = Cursor { text, at: 0 };
    c.space();
    let parsed = c.value(0);
    c.space();
    (parsed.is_none() || c.at < text.len()).then_some(c.at)
}

/// A position in the text. Every parsing method returns `None` at the octet that breaks the grammar.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self, octet: u8) -> Option<()> {
        self.take_if(|o| o == octet)
    }

    fn take_if(&mut self, wanted: impl Fn(u8) -> bool) -> Option<()> {
        let octet = *self.text.get(self.at)?;
        if !wanted(octet) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool + Copy) {
        while self.take_if(wanted).is_some() {}
    }

    fn space(&mut self) {
        self.skip_while(|o| matches!(o, b' ' | b'\t' | b'\n' | b'\r'));
    }

    fn value(&mut self, depth: u32) -> Option<()> {
        match self.peek() {
            b'{' => self.list(b'}', depth, Self::member),
            b'[' => self.list(b']', depth, Self::value),
            b'"' => self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn list(&mut self, close: u8, depth: u32, item: fn(&mut Self, u32) -> Option<()>) -> Option<()> {
        if depth >= DEPTH_MAX {
            return None;
        }
        self.at += 1;
        self.space();
        if self.take(close).is_some() {
            return Some(());
        }
        loop {
            item(self, depth + 1)?;
            self.space();
            if self.take(close).is_some() {
                return Some(());
            }
            self.take(b',')?;
            self.space();
        }
    }

    fn member(&mut self, depth: u32) -> Option<()> {
        self.string()?;
        self.space();
        self.take(b':')?;
        self.space();
        self.value(depth)
    }

    fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            self.skip_while(|o| o >= b' ' && o != b'"' && o != b'\\');
            if self.take(b'"').is_some() {
                return Some(());
            }
            self.take(b'\\')?;
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Option<()> {
        if self.take(b'u').is_some() {
            return (0..4).try_for_each(|_| self.take_if(|o| o.is_ascii_hexdigit()));
        }
        self.take_if(|o| matches!(o, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'))
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        word.iter().try_for_each(|&octet| self.take(octet))
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.take(b'-');
        if self.take(b'0').is_none() {
            self.digits()?;
        }
        if self.take(b'.').is_some() {
            self.digits()?;
        }
        if self.take_if(|o| o == b'e' || o == b'E').is_some() {
            let _ = self.take_if(|o| o == b'+' || o == b'-');
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        self.take_if(|o| o.is_ascii_digit())?;
        self.skip_while(|o| o.is_ascii_digit());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_texts_pass() {
        for text in [
            "{}",
            "[]",
            " { \"a\" : [1, -0.5e+3, true, false, null, \"\\u00e9\\n\"] } ",
            "0",
            "\"ü\"",
            "{\"status\":{\"man\":\"m\",\"push\":true}}",
        ] {
            assert_eq!(first_error(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn broken_texts_fail_where_they_break() {
        for (text, at) in [
            ("", 0),
            ("SLICK", 0),
            ("{\"a\":1", 6),
            ("{\"a\" 1}", 5),
            ("{a:1}", 1),
            ("[1,]", 3),
            ("01", 1),
            ("1.", 2),
            ("truth", 3),
            ("{} x", 3),
            ("\"\\x\"", 2),
            ("\"\u{1}\"", 1),
            ("{}\0", 2),
        ] {
            assert_eq!(first_error(text.as_bytes()), Some(at), "{text:?}");
        }
        assert_eq!(first_error(b"\"\xff\""), Some(1));
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
        assert_eq!(first_error(&nested(64)), None);
        assert_eq!(first_error(&nested(65)), Some(64));
        assert_eq!(first_error(&vec![b'['; 60_000]), Some(64));
    }

    #[test]
    fn every_prefix_of_an_object_is_broken_and_no_octet_panics() {
        let text = b"{\"a\":[1.5e3,{\"b\":\"\\u12aF\"}],\"c\":null}";
        for n in 0..text.len() {
            assert!(first_error(&text[..n]).is_some(), "prefix of {n} octets");
        }
        for n in 0..text.len() {
            for octet in 0..=255u8 {
                let mut changed = text.to_vec();
                changed[n] = octet;
                assert!(first_error(&changed).is_none_or(|at| at <= changed.len()));
            }
        }
    }
}
