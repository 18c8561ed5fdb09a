//! `wireproof matrix order`: which arm is run when.

use super::args::OrderArgs;
use super::load;
use crate::cli::failure::Failure;
use crate::cli::output;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use wireproof_matrices::order::{NAME, Order, Stratum, order};
use wireproof_matrices::units::duration_text;

/// An order; keys in the order of the contract.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    seed: u64,
    strata: Vec<StratumDocument<'a>>,
    /// Those of the first stratum.
    blocks: Vec<Vec<&'a str>>,
}

#[derive(Serialize)]
struct StratumDocument<'a> {
    levels: &'a BTreeMap<String, String>,
    blocks: Vec<Vec<&'a str>>,
    /// Starts of the drains of each block from the beginning of the window.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    drain_starts_ns: &'a [Vec<u64>],
    /// Words drawn from the keystream for the blocks.
    drawn: u64,
}

/// Runs the verb.
pub(super) fn run(args: &OrderArgs) -> Result<u8, Failure> {
    output::check(std::slice::from_ref(&args.plan.file), args.plan.output.as_deref())?;
    let mut plan = load::load(&args.plan.file)?.lock.plan;
    plan.design.seed = args.seed.unwrap_or(plan.design.seed);
    let order = order(&plan);
    output::write(args.plan.output.as_deref(), |out| match args.plan.format.as_str() {
        "json" => json(&order, out),
        _ => table(&order, out),
    })?;
    Ok(0)
}

fn blocks<'a>(order: &'a Order, stratum: &Stratum) -> Vec<Vec<&'a str>> {
    let names = |row: &Vec<u32>| row.iter().map(|treatment| order.name(*treatment)).collect();
    stratum.blocks.iter().map(names).collect()
}

fn json(order: &Order, out: &mut dyn Write) -> Result<(), Failure> {
    let strata = order.strata.iter().map(|stratum| StratumDocument {
        levels: &stratum.levels,
        blocks: blocks(order, stratum),
        drain_starts_ns: &stratum.drain_starts_ns,
        drawn: stratum.drawn,
    });
    let document = Document {
        schema: "wireproof.order/1",
        seed: order.seed,
        strata: strata.collect(),
        blocks: order.strata.first().map(|stratum| blocks(order, stratum)).unwrap_or_default(),
    };
    let text = serde_json::to_string(&document).map_err(|error| Failure::io_line(&error))?;
    Ok(writeln!(out, "{text}")?)
}

fn table(order: &Order, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{NAME}, seed {}, {} arms", order.seed, order.arms())?;
    let names = order.treatments.iter().map(|treatment| treatment.name.len());
    let width = names.max().unwrap_or(0);
    for stratum in &order.strata {
        let levels: Vec<String> =
            stratum.levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
        if !levels.is_empty() {
            writeln!(out, "\n{}", levels.join(","))?;
        }
        for (at, row) in blocks(order, stratum).iter().enumerate() {
            let arms: Vec<String> = row.iter().map(|name| format!("{name:<width$}")).collect();
            let starts = stratum.drain_starts_ns.get(at).map(Vec::as_slice).unwrap_or_default();
            let starts: Vec<String> = starts.iter().map(|ns| duration_text(*ns)).collect();
            let drains =
                if starts.is_empty() { String::new() } else { format!("  drains at {}", starts.join(" ")) };
            writeln!(out, "{:>5}  {}{drains}", at + 1, arms.join("  ").trim_end())?;
        }
    }
    Ok(())
}
