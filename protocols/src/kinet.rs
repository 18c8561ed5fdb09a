//! Kinet (to be written).
use crate::{Claim, Datagram, Decoder, Faults, Pdu, Protocol, Rule, Undecodable};

/// The Kinet decoder.
pub struct Kinet;

impl Decoder for Kinet {
    fn protocol(&self) -> Protocol {
        Protocol::Kinet
    }
    fn ports(&self) -> &'static [u16] {
        &[6038]
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
