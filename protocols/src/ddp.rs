//! Ddp (to be written).
use crate::{Claim, Datagram, Decoder, Faults, Pdu, Protocol, Rule, Undecodable};

/// The Ddp decoder.
pub struct Ddp;

impl Decoder for Ddp {
    fn protocol(&self) -> Protocol {
        Protocol::Ddp
    }
    fn ports(&self) -> &'static [u16] {
        &[4048]
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
