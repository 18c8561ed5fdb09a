//! Sacn (to be written).
use crate::{Claim, Datagram, Decoder, Faults, Pdu, Protocol, Rule, Undecodable};

/// The Sacn decoder.
pub struct Sacn;

impl Decoder for Sacn {
    fn protocol(&self) -> Protocol {
        Protocol::Sacn
    }
    fn ports(&self) -> &'static [u16] {
        &[5568]
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
