//! BigPacket (to be written).
use crate::{Claim, Datagram, Decoder, Faults, Pdu, Protocol, Rule, Undecodable};

/// The BigPacket decoder.
pub struct BigPacket;

impl Decoder for BigPacket {
    fn protocol(&self) -> Protocol {
        Protocol::BigPacket
    }
    fn ports(&self) -> &'static [u16] {
        &[21600]
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
