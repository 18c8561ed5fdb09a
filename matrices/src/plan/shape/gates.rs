//! What every gate must keep to: a rule and a margin that fit what its metric counts.

use super::super::metric::{NAMES, Quantity, metric};
use super::super::{Gate, Kind, Margin};
use super::{Checked, LONGEST_TEXT, MOST_ENTRIES, name, refuse, within};

pub(super) fn check(gate: &Gate) -> Checked {
    let table = format!("gate {}", gate.id.chars().take(40).collect::<String>());
    name(&table, "id", &gate.id, "-_.")?;
    let Some(measured) = metric(&gate.metric) else {
        return refuse(table, "metric", format!("is none of {NAMES}"));
    };
    if let Some(kinds) = misfit(gate.kind, measured.quantity) {
        return refuse(table, "kind", format!("does not fit this metric: use {kinds}"));
    }
    if !margin(gate, measured.quantity) {
        return refuse(table, "margin", "is missing, or does not fit this metric and kind");
    }
    if (gate.min_trials.is_some() && gate.kind != Kind::Zero)
        || (gate.expected_sign.is_some() && gate.kind != Kind::Overhead)
        || gate.expected_sign.as_ref().is_some_and(|sign| sign != "+" && sign != "-")
    {
        return refuse(table, "kind", "has a min_trials or an expected_sign that it cannot have");
    }
    if gate.alpha_ppm == 0 || gate.alpha_ppm >= 500_000 {
        return refuse(table, "alpha", "is not above 0 and below 0.5");
    }
    within(&table, "min_pairs", gate.min_pairs.into(), 1, 10_000)?;
    within(&table, "min_frames", gate.min_frames.into(), 0, 1_000_000)?;
    within(&table, "min_trials", gate.min_trials.unwrap_or(1), 1, 1 << 48)?;
    if gate.selector.len() > MOST_ENTRIES {
        return refuse(table, "where", format!("names more than {MOST_ENTRIES} factors"));
    }
    match gate.on_fail.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
        true => refuse(table, "on_fail", format!("is longer than {LONGEST_TEXT} octets")),
        false => Ok(()),
    }
}

/// The kinds that fit what a metric counts, if this one does not.
pub(in crate::plan) fn misfit(kind: Kind, quantity: Quantity) -> Option<&'static str> {
    use Kind::{Ceiling, Equivalence, NonInferiority, Overhead, Zero};
    let (fit, kinds) = match quantity {
        Quantity::Points => (kind == Overhead, "overhead"),
        Quantity::Count => (matches!(kind, Zero | Ceiling), "zero or ceiling"),
        Quantity::Rate => (matches!(kind, Equivalence | NonInferiority), "equivalence or non-inferiority"),
        Quantity::Time => (
            matches!(kind, NonInferiority | Equivalence | Ceiling),
            "non-inferiority, equivalence or ceiling",
        ),
    };
    (!fit).then_some(kinds)
}

fn margin(gate: &Gate, quantity: Quantity) -> bool {
    let bounded = !matches!(gate.kind, Kind::Zero | Kind::Overhead);
    match (gate.margin, quantity) {
        (None, _) => !bounded,
        (Some(Margin::Ns(_)), Quantity::Time)
        | (Some(Margin::Ppm(_)), Quantity::Rate)
        | (Some(Margin::Count(_)), Quantity::Count) => bounded,
        (Some(_), _) => false,
    }
}
