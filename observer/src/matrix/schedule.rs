//! The order of a plan as the runner takes it, and as `order.json` shows it.

use serde_json::{Value, json};
use wireproof_matrices::order::{Order, order};
use wireproof_matrices::plan::Plan;
use wireproof_matrices::runner::{Block, Schedule, Stratum, Treatment};

/// The order of a plan for the runner.
pub fn schedule(plan: &Plan) -> Schedule {
    let order = order(plan);
    let strata = order.strata.iter().map(|stratum| Stratum {
        levels: stratum.levels.clone(),
        blocks: blocks(&stratum.blocks, &stratum.drain_starts_ns),
    });
    let treatments =
        order.treatments.iter().map(|t| Treatment { name: t.name.clone(), levels: t.levels.clone() });
    Schedule { strata: strata.collect(), treatments: treatments.collect(), fixed: order.fixed.clone() }
}

fn blocks(rows: &[Vec<u32>], drains: &[Vec<u64>]) -> Vec<Block> {
    let block = |(at, treatments): (usize, &Vec<u32>)| Block {
        treatments: treatments.clone(),
        drains_ns: drains.get(at).cloned().unwrap_or_default(),
    };
    rows.iter().enumerate().map(block).collect()
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
