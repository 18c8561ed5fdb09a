//! Who a sACN sender is: a component identifier that stays the same on a host, and its notation.

use sha2::{Digest, Sha256};
use std::fmt;
use wireproof_protocols::Cid;

/// A CID that is a UUID of this host and name for ever (RFC 9562 version 8: SHA-256 of both). Two senders that run at
/// the same time on a host need different names, or CIDs of their own.
pub fn derived(host: &str, name: &str) -> Cid {
    let digest =
        Sha256::new_with_prefix(b"wireproof send\0").chain_update(host).chain_update([0]).chain_update(name);
    let digest = digest.finalize();
    let mut cid = [0; 16];
    cid.iter_mut().zip(digest.iter()).for_each(|(octet, hashed)| *octet = *hashed);
    cid[6] = 0x80 | (cid[6] & 0x0F);
    cid[8] = 0x80 | (cid[8] & 0x3F);
    cid
}

/// A CID in the notation of UUIDs.
pub struct Notation(pub Cid);

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, octet) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{octet:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cid_belongs_to_a_host_and_a_name() {
        let cid = derived("host", "name");
        assert_eq!(cid, derived("host", "name"));
        for other in [derived("host", "other"), derived("other", "name"), derived("hostn", "ame")] {
            assert_ne!(cid, other);
        }
        assert_eq!((cid[6] >> 4, cid[8] >> 6), (8, 0b10), "version and variant of a UUID");
        let text = Notation(cid).to_string();
        assert_eq!(crate::rig_file::parse_cid(&text), Some(cid), "{text}");
    }
}
