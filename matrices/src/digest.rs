//! A SHA-256 as it stands in journals, manifests and hashes of plans: 64 lower-case hexadecimal digits.
//!
//! It hashes what it is given and never reads a file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256: 64 lower-case hexadecimal digits")]
pub struct NotADigest;

impl Digest {
    /// Of octets.
    pub fn of(octets: &[u8]) -> Digest {
        Digest::of_parts(&[octets])
    }

    /// Of octets that lie in several places, as if they stood one after another.
    pub fn of_parts(parts: &[&[u8]]) -> Digest {
        let mut hash = Sha256::new();
        parts.iter().for_each(|part| hash.update(part));
        Digest(hash.finalize().into())
    }

    /// From its octets, for those who hash as they read.
    pub fn from_octets(octets: [u8; 32]) -> Digest {
        Digest(octets)
    }

    /// Its first digits, as folders and sentences use them.
    pub fn short(&self) -> String {
        self.to_string().chars().take(8).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Digest, NotADigest> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(NotADigest);
        }
        let mut octets = [0; 32];
        for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
            *octet = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Digest(octets))
    }
}

fn nibble(digit: u8) -> Result<u8, NotADigest> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NotADigest),
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_and_read_as_sha256sum_does() {
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.parse(), Ok(Digest::of(b"")));
        assert_eq!(Digest::of_parts(&[b"a", b"bc"]), Digest::of(b"abc"));
        assert_eq!(Digest::of(b"").short(), "e3b0c442");
    }

    #[test]
    fn anything_but_64_lower_case_digits_is_refused() {
        let good = Digest::of(b"").to_string();
        let cases = [
            String::new(),
            good.to_uppercase(),
            good[1..].to_owned(),
            good.replace('e', "g"),
            "é".repeat(32),
        ];
        for bad in cases {
            assert_eq!(bad.parse::<Digest>(), Err(NotADigest), "{bad}");
        }
    }
}
