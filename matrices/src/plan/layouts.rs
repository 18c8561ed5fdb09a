//! Declared protocols in a plan: the texts of its layouts, which the plan's hash covers octet by octet, and what a stream
//! takes from them. It opens no file: who reads a plan gives the texts.

use super::read::table::Table;
use super::shape::{Checked, refuse, unique};
use super::{Beside, Files, MOST_TEXT, PlanError, PlanLayout};
use wireproof_protocols::layout::{Layout, SHIPPED, Sequence};

/// What a stream's protocol begins with when a layout declares it.
pub(super) const PREFIX: &str = "layout:";
/// Values of a number that no layout declares; no rule asks for them then.
const UNNUMBERED: u64 = 1 << 32;

/// The text of the layout of this name that comes with the program.
pub fn shipped_layout(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|shipped| shipped.name == name).map(|shipped| shipped.text)
}

/// The layouts that the root of a plan names.
pub(super) fn read(root: &Table<'_>, files: Files<'_>) -> Result<Vec<PlanLayout>, PlanError> {
    let one = |name: String| {
        let text = files(Beside::Layout, &name).map_err(|why| root.refuse("layout", why))?;
        let shown: String = name.chars().take(80).collect();
        let layout = parse(&text).map_err(|why| root.refuse("layout", format!("{shown}, {why}")))?;
        Ok(PlanLayout { name: layout.name, text })
    };
    root.texts("layout")?.unwrap_or_default().into_iter().map(one).collect()
}

/// The first fault of a text, and how many more there are.
fn parse(text: &str) -> Result<Layout, String> {
    Layout::read(text).map_err(|faults| {
        let first = faults.first().map(ToString::to_string).unwrap_or_default();
        match faults.len() {
            0 | 1 => first,
            n => format!("{first}; and {} more, which `wireproof layouts check` tells", n - 1),
        }
    })
}

/// What a layout says of a stream: ports, values of the number, and whether each datagram of a
/// frame is a stream of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// UDP ports that it names.
    pub ports: Vec<u16>,
    /// Its magic is known on every port.
    pub any_port: bool,
    /// Values of the sequence number.
    pub modulus: u64,
    /// Each datagram of a frame is a stream of its own, as universes are.
    pub by_universe: bool,
}

impl PlanLayout {
    /// The protocol of its streams.
    pub fn protocol(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    /// What it says of a stream; `None` of a text that is no layout, which no plan that was read holds.
    pub fn declared(&self) -> Option<Declared> {
        let layout = Layout::read(&self.text).ok()?;
        let values = |s: &Sequence| u64::from(s.last).saturating_sub(s.first.into()).saturating_add(1);
        Some(Declared {
            modulus: layout.sequence.as_ref().map_or(UNNUMBERED, values).max(2),
            by_universe: !layout.has_chunks(),
            any_port: layout.matching.any_port,
            ports: layout.matching.udp_dst,
        })
    }
}

/// The layout that declares this protocol.
pub(super) fn of<'a>(layouts: &'a [PlanLayout], protocol: &str) -> Option<&'a PlanLayout> {
    let name = protocol.strip_prefix(PREFIX)?;
    layouts.iter().find(|layout| layout.name == name)
}

/// Refuses texts that are no layouts, or another than their name says, or too many.
pub(super) fn check(layouts: &[PlanLayout]) -> Checked {
    let octets = layouts.iter().fold(0_usize, |sum, layout| sum.saturating_add(layout.text.len()));
    if octets > MOST_TEXT {
        return refuse("plan", "layout", format!("texts are longer than {} KiB together", MOST_TEXT / 1024));
    }
    unique(layouts.iter().map(|layout| layout.name.as_str()), "layout", "name")?;
    layouts.iter().try_for_each(|given| {
        let shown: String = given.name.chars().take(40).collect();
        match parse(&given.text) {
            Ok(layout) if layout.name == given.name => Ok(()),
            Ok(_) => refuse("plan", "layout", format!("{shown} is not what its text is called")),
            Err(why) => refuse("plan", "layout", format!("{shown}, {why}")),
        }
    })
}
