//! ArtNet (to be written).
use crate::{Claim, Datagram, Decoder, Faults, Pdu, Protocol, Rule, Undecodable};

/// The ArtNet decoder.
pub struct ArtNet;

impl Decoder for ArtNet {
    fn protocol(&self) -> Protocol {
        Protocol::ArtNet
    }
    fn ports(&self) -> &'static [u16] {
        &[6454]
    }
    fn rules(&self) -> &'static [Rule] {
        &[]
    }
    fn claims(&self, _d: &Datagram<'_>) -> Claim {
        Claim::No
    }
    fn decode<'a>(&self, _d: &Datagram<'a>, _faults: &mut Faults) -> Result<Pdu<'a>, Undecodable> {
        Err(Undecodable)
    }
}
