//! The secret that a page beyond this host asks for: read from a file, carried by a header or a cookie, compared in a
//! time that does not depend on where it differs.

use crate::infile;
use sha2::{Digest, Sha256};
use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Octets of a token file that are read.
const LONGEST: u64 = 4_096;
/// Shortest token.
const SHORTEST: usize = 16;
/// Name of the cookie.
const COOKIE: &str = "wireproof";

/// The secret, as digests: of itself, and of the cookie that stands for it.
pub struct Token {
    token: [u8; 32],
    cookie: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Reads a token file: one line, for its owner's eyes only.
    ///
    /// # Errors
    /// One sentence that says what to do.
    pub fn read(path: &Path) -> Result<Token, String> {
        let shown = path.display();
        let unreadable = |e| format!("the token file {shown} cannot be read: {e}");
        let mode = fs::metadata(path).map_err(unreadable)?.mode();
        if mode & 0o077 != 0 {
            return Err(format!("the token file {shown} can be read by others: chmod 600 {shown}"));
        }
        let mut text = Vec::new();
        let read = infile::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
        read.map_err(unreadable)?;
        let token = text.trim_ascii();
        if token.len() < SHORTEST || !token.iter().all(u8::is_ascii_graphic) {
            return Err(format!(
                "the token file {shown} needs one line of {SHORTEST} or more visible ASCII characters: \
                 openssl rand -hex 32"
            ));
        }
        Ok(Token::of(token))
    }

    pub(super) fn of(token: &[u8]) -> Token {
        let mut cookie = Sha256::new();
        cookie.update(b"wireproof page ");
        cookie.update(token);
        let cookie = cookie.finalize().iter().map(|octet| format!("{octet:02x}")).collect();
        Token { token: Sha256::digest(token).into(), cookie }
    }

    /// This is the token.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        equal(&Sha256::digest(given), &self.token)
    }

    /// The value of an `Authorization` field holds it (RFC 6750, 2.1).
    pub(super) fn bears(&self, field: &[u8]) -> bool {
        let Some((scheme, token)) = field.split_at_checked(7) else { return false };
        scheme.eq_ignore_ascii_case(b"bearer ") && self.is(token.trim_ascii())
    }

    /// A `Cookie` field holds its cookie (RFC 6265, 5.4).
    pub(super) fn in_cookie(&self, field: &[u8]) -> bool {
        field.split(|octet| *octet == b';').any(|pair| {
            let value =
                pair.trim_ascii().strip_prefix(COOKIE.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            value.is_some_and(|value| equal(&Sha256::digest(value), &Sha256::digest(&self.cookie)))
        })
    }

    /// The `Set-Cookie` field of a login: for this page only, out of the reach of scripts, until the browser is closed.
    pub(super) fn set_cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie)
    }
}

/// Compares digests octet by octet to the end.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0u8, |differing, (a, b)| black_box(differing | (a ^ b)));
    a.len() == b.len() && black_box(differing) == 0
}

/// Undoes percent-encoding (RFC 3986, 2.1); what is none stays.
pub(super) fn decoded(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(octet) => {
                octets.push(octet);
                rest = &after[2..];
            }
            None => {
                octets.push(*first);
                rest = after;
            }
        }
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn only_the_whole_token_opens_by_header_cookie_and_login() {
        let token = Token::of(SECRET.as_bytes());
        let field = |text: &str| token.bears(text.as_bytes());
        assert!(field(&format!("Bearer {SECRET}")) && field(&format!("bearer  {SECRET} ")));
        for bad in ["", "Bearer", "Bearer ", SECRET, "Basic 0123", "Bearer 0123456789abcdef0123456789abcdeF"]
        {
            assert!(!field(bad), "{bad}");
        }
        let set = token.set_cookie();
        let pair = set.split(';').next().unwrap();
        assert!(token.in_cookie(pair.as_bytes()) && token.in_cookie(format!("a=b; {pair}").as_bytes()));
        assert!(!set.contains(SECRET));
        for bad in ["", "wireproof", "wireproof=", &format!("wireproof={SECRET}"), &format!("x{pair}")] {
            assert!(!token.in_cookie(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn a_token_file_that_others_can_read_or_that_is_short_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let write = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Token::read(&path)
        };
        assert!(write(&format!("{SECRET}\n"), 0o600).unwrap().is(SECRET.as_bytes()));
        for mode in [0o640, 0o604, 0o666] {
            assert!(write(SECRET, mode).unwrap_err().contains("chmod 600"), "{mode:o}");
        }
        for text in ["", "short", "with a space in the middle of it"] {
            assert!(write(text, 0o600).unwrap_err().contains("16 or more visible"), "{text}");
        }
        assert!(Token::read(&folder.path().join("none")).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_token_may_be_percent_encoded_in_an_address() {
        assert_eq!(decoded("a%2Bb%zz%4"), b"a+b%zz%4");
    }
}
