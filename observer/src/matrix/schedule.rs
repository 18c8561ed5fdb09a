//! The order of a plan as the runner takes it, and as `order.json` shows it.

use serde_json::{Value, json};
use wireproof_matrices::order::{Order, order};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::Schedule;

/// The order of a plan for the runner.
pub fn schedule(plan: &Plan) -> Schedule {
    Schedule::from(&order(plan))
}

/// `order.json`: names in run order, drain starts, and how many words were drawn.
pub fn order_json(plan: &Plan) -> Vec<u8> {
    let order = order(plan);
    let names = |blocks: &[Vec<u32>]| -> Vec<Vec<&str>> {
        blocks.iter().map(|block| block.iter().map(|t| order.name(*t)).collect()).collect()
    };
    let strata: Vec<Value> = order
        .strata
        .iter()
        .map(|s| {
            json!({
                "blocks": names(&s.blocks),
                "drain_starts_ns": s.drain_starts_ns,
                "drawn": s.drawn,
                "levels": s.levels,
            })
        })
        .collect();
    let value = json!({
        "schema": "wireproof.order/1",
        "seed": order.seed,
        "strata": strata,
        "blocks": first(&order).map(names).unwrap_or_default(),
    });
    let mut text = value.to_string().into_bytes();
    text.push(b'\n');
    text
}

fn first(order: &Order) -> Option<&[Vec<u32>]> {
    order.strata.first().map(|stratum| stratum.blocks.as_slice())
}
