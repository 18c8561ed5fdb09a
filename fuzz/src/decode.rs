//! One datagram, shown to every decoder of the registry.

use std::net::SocketAddr;
use wireproof_protocols::registry::{DECODERS, claim};
use wireproof_protocols::{Datagram, Faults};

/// Ports that are tried: those of the protocols, and one of nobody.
pub const PORTS: [u16; 6] = [5568, 4048, 6454, 21_600, 6038, 9];

/// Octets in front of a datagram: its port, and how many octets the capture cut off.
pub const HEAD: usize = 2;

/// Reads a datagram: neither panics, nor points outside of it, nor counts more faults than it keeps.
pub fn decode(data: &[u8]) {
    let Some((&[port, cut], payload)) = data.split_first_chunk::<HEAD>() else { return };
    let to = PORTS[usize::from(port) % PORTS.len()];
    let source = SocketAddr::from(([10, 0, 0, port], to));
    let ip = [[10, 0, 0, 255], [239, 255, 0, 1], [255; 4]][usize::from(cut >> 6) % 3];
    let whole = Datagram::new(source, SocketAddr::from((ip, to)), payload);
    let d = Datagram { length: whole.length + u32::from(cut & 0x3f), ..whole };
    let mut faults = Faults::new();
    let _ = claim(&d);
    for decoder in DECODERS {
        faults.clear();
        if let Ok(pdu) = decoder.decode(&d, &mut faults) {
            assert!(pdu.data.len() <= payload.len() && pdu.name.len() <= payload.len(), "{pdu:?}");
        } else {
            assert!(!faults.is_empty(), "{}: refused without a reason", decoder.protocol().name());
        }
    }
}
