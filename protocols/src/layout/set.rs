//! The layouts of a run, in the order they are asked.

use super::decode::LayoutDecoder;
use super::plan::Table;
use super::{Layout, SHIPPED};
use crate::{Claim, Datagram, Decoder, Kind, Protocol, registry};

/// Most layouts of a run.
pub const LAYOUTS_MAX: usize = 64;

/// The layouts of a run; none by default. They are asked before the decoders of the registry, and win where both are
/// equally sure: whoever gives a layout means it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layouts(&'static [LayoutDecoder]);

impl Layouts {
    /// Compiles layouts. They stay for the life of the program; a run loads a few and ends.
    ///
    /// # Errors
    /// The name that two layouts share, or of the first beyond [`LAYOUTS_MAX`].
    pub fn new(layouts: Vec<Layout>) -> Result<Layouts, String> {
        for (index, layout) in layouts.iter().enumerate() {
            if index >= LAYOUTS_MAX || layouts[..index].iter().any(|other| other.name == layout.name) {
                return Err(layout.name.clone());
            }
        }
        let mut decoders: Vec<_> =
            layouts.into_iter().map(|layout| LayoutDecoder::new(Table::compile(layout))).collect();
        decoders.sort_by_key(|decoder| std::cmp::Reverse(decoder.table().layout.matching.priority));
        Ok(Layouts(Box::leak(decoders.into_boxed_slice())))
    }

    /// All that come with the product.
    ///
    /// # Errors
    /// Never: the texts are tested.
    pub fn shipped() -> Result<Layouts, String> {
        let read = |shipped: &super::Shipped| {
            Layout::read(shipped.text)
                .map_err(|faults| faults.iter().map(ToString::to_string).collect::<String>())
        };
        Layouts::new(SHIPPED.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// The decoders, in the order they are asked.
    pub fn decoders(self) -> &'static [LayoutDecoder] {
        self.0
    }

    /// True when there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The protocol with this name, such as `layout:bigpacket`.
    pub fn protocol(self, name: &str) -> Option<Protocol> {
        self.0.iter().map(Decoder::protocol).find(|protocol| protocol.name() == name)
    }

    /// The kind with this `by_kind` key, of a layout or of the registry.
    pub fn kind(self, name: &str) -> Option<Kind> {
        self.0.iter().find_map(|decoder| decoder.kind(name)).or_else(|| registry::kind(name))
    }

    /// UDP ports of all of them, in order.
    pub fn ports(self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.0.iter().flat_map(|d| d.ports().iter().copied()).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// The decoder with the strongest claim among layouts and registry; a layout wins a tie.
    #[inline]
    pub fn claim(self, d: &Datagram<'_>) -> Option<&'static dyn Decoder> {
        if self.0.is_empty() { registry::claim(d) } else { self.among(d) }
    }

    fn among(self, d: &Datagram<'_>) -> Option<&'static dyn Decoder> {
        let mut port: Option<&'static dyn Decoder> = None;
        for decoder in self.0 {
            match decoder.claims(d) {
                Claim::Magic => return Some(decoder),
                Claim::Port if port.is_none() => port = Some(decoder),
                _ => {}
            }
        }
        let other = registry::claim(d);
        match (port, other) {
            (Some(_), Some(other)) if other.claims(d) == Claim::Magic => Some(other),
            (port, other) => port.or(other),
        }
    }
}
