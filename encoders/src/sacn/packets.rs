//! The octets of E1.31 packets: data headers, synchronization, discovery pages and the source name field.

use wireproof_protocols::sacn::wire::{
    DATA_HEAD, DISCOVERY_HEAD, DMP, DMP_AT, EXTENDED_DISCOVERY, EXTENDED_SYNC, FRAMING_AT, FRAMING_DATA,
    LENGTH_FLAGS, LIST_AT, LIST_VECTOR, NAME_LEN, PREFIX, ROOT_AT, ROOT_DATA, ROOT_EXTENDED, SYNC_LEN,
};
use wireproof_protocols::{Cid, EncodeError, Value};

/// Source name field: the name and zeros.
pub(super) type Name = [u8; NAME_LEN];

/// Who sends, in every data and discovery packet.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) cid: Cid,
    pub(super) name: Name,
}

/// The fields of a data packet that differ from universe to universe.
pub(super) struct Data {
    pub(super) priority: u8,
    pub(super) sync_address: u16,
    pub(super) sequence: u8,
    pub(super) options: u8,
    pub(super) universe: u16,
    pub(super) start_code: u8,
    pub(super) slots: usize,
}

impl Identity {
    /// Appends a data packet up to and including its start code.
    pub(super) fn data(&self, data: &Data, out: &mut Vec<u8>) {
        let total = DATA_HEAD + data.slots;
        self.root(total, ROOT_DATA, out);
        out.extend_from_slice(&length(total, FRAMING_AT));
        out.extend_from_slice(&FRAMING_DATA.to_be_bytes());
        out.extend_from_slice(&self.name);
        out.push(data.priority);
        out.extend_from_slice(&data.sync_address.to_be_bytes());
        out.extend_from_slice(&[data.sequence, data.options]);
        out.extend_from_slice(&data.universe.to_be_bytes());
        out.extend_from_slice(&length(total, DMP_AT));
        out.extend_from_slice(&DMP);
        out.extend_from_slice(&(data.slots as u16 + 1).to_be_bytes());
        out.push(data.start_code);
    }

    /// Appends a synchronization packet.
    pub(super) fn sync(&self, sequence: u8, address: u16, out: &mut Vec<u8>) {
        self.root(SYNC_LEN, ROOT_EXTENDED, out);
        out.extend_from_slice(&length(SYNC_LEN, FRAMING_AT));
        out.extend_from_slice(&EXTENDED_SYNC.to_be_bytes());
        out.push(sequence);
        out.extend_from_slice(&address.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
    }

    /// Appends one discovery page.
    pub(super) fn page(&self, page: u8, last: u8, universes: &[u16], out: &mut Vec<u8>) {
        let total = DISCOVERY_HEAD + 2 * universes.len();
        self.root(total, ROOT_EXTENDED, out);
        out.extend_from_slice(&length(total, FRAMING_AT));
        out.extend_from_slice(&EXTENDED_DISCOVERY.to_be_bytes());
        out.extend_from_slice(&self.name);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&length(total, LIST_AT));
        out.extend_from_slice(&LIST_VECTOR.to_be_bytes());
        out.extend_from_slice(&[page, last]);
        universes.iter().for_each(|universe| out.extend_from_slice(&universe.to_be_bytes()));
    }

    /// Appends preamble, root PDU and CID of a packet of `total` octets.
    fn root(&self, total: usize, vector: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&PREFIX);
        out.extend_from_slice(&length(total, ROOT_AT));
        out.extend_from_slice(&vector.to_be_bytes());
        out.extend_from_slice(&self.cid);
    }
}

/// Flags and length of a PDU that starts at `at` and reaches to the end of a packet of `total` octets.
fn length(total: usize, at: usize) -> [u8; 2] {
    (LENGTH_FLAGS | (total - at) as u16).to_be_bytes()
}

/// The source name as it stands in packets.
///
/// # Errors
/// [`EncodeError`] when the name has more octets than the field leaves beside its NUL, or holds a NUL itself.
pub(super) fn name_field(name: &str) -> Result<Name, EncodeError> {
    let most = NAME_LEN - 1;
    if name.len() > most {
        return Err(too_long(name, most));
    }
    if let Some(at) = name.bytes().position(|octet| octet == 0) {
        let limit = Value::Word("allowed: the name ends at its first NUL");
        return Err(EncodeError { field: "source name NUL at octet", value: at as u64, limit });
    }
    let mut field = [0; NAME_LEN];
    field[..name.len()].copy_from_slice(name.as_bytes());
    Ok(field)
}

/// Says how much of the name fits: less than the field where its end would cut a character.
fn too_long(name: &str, most: usize) -> EncodeError {
    let fits = name.floor_char_boundary(most);
    let field = if fits == most {
        "source name octets"
    } else {
        "source name octets (a cut after 63 would fall inside a character)"
    };
    EncodeError { field, value: name.len() as u64, limit: Value::AtMost(fits as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fills_its_field_up_to_the_closing_nul() {
        let field = name_field(&"n".repeat(63)).unwrap();
        assert_eq!((field[62], field[63]), (b'n', 0));
    }

    #[test]
    fn a_name_that_does_not_fit_is_refused_with_what_would() {
        let error = name_field(&"n".repeat(64)).unwrap_err();
        assert_eq!(error.to_string(), "source name octets 64 is not at most 63");
        let error = name_field(&"ä".repeat(32)).unwrap_err();
        assert_eq!((error.value, error.limit), (64, Value::AtMost(62)));
        assert!(error.field.contains("inside a character"));
        assert_eq!(name_field("a\0b").unwrap_err().value, 1);
    }
}
