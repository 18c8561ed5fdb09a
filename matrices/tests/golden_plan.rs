//! The golden cases of plans, units, hashes and orders, and the complete example of a plan.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use serde_json::{Map, Value, json};
use wireproof_matrices::digest::Digest;
use wireproof_matrices::order::{Keystream, blocks, drain_starts, key, williams};
use wireproof_matrices::plan::canonical::{canonical, gates_sha256, plan_sha256};
use wireproof_matrices::plan::check::{Retention, blind, drain_share_ppm};
use wireproof_matrices::plan::{Margin, Motion, Plan, Role, Word};
use wireproof_matrices::units::{duration_ns, ratio_ppm};

const CASES: &str = include_str!("golden/experiments.json");
const EXAMPLE: &str = include_str!("golden/plan_example.toml");

/// Input and expected output of a case.
fn case(id: &str) -> (Value, Value) {
    let file: Value = serde_json::from_str(CASES).unwrap();
    let case = file["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).expect(id).clone();
    (case["input"].clone(), case["expected"].clone())
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn the_keystream_of_a_seed_is_the_golden_one() {
    let (input, expected) = case("prng-1");
    let key = key(number(&input["seed"]));
    assert_eq!(hex(&key), expected["key_hex"].as_str().unwrap());
    let words = |mut stream: Keystream, count| (0..count).map(|_| stream.word()).collect::<Vec<u32>>();
    assert_eq!(json!(words(Keystream::new(&key, number(&input["stream"])), 20)), expected["first_20_u32"]);
    let zero = words(Keystream::new(&[0; 32], 0), 8);
    assert_eq!(json!(zero), expected["zero_key_first_8_u32"]);
    let octets: Vec<u8> = zero.iter().flat_map(|word| word.to_le_bytes()).take(16).collect();
    assert_eq!(hex(&octets), expected["zero_key_first_16_bytes_hex"].as_str().unwrap());
}

#[test]
fn bounded_draws_and_shuffles_are_the_golden_ones() {
    let (input, expected) = case("prng-2");
    let key = key(number(&input["seed"]));
    let mut stream = Keystream::new(&key, number(&input["below"]["stream"]));
    let bounds = input["below"]["bounds"].as_array().unwrap();
    let drawn: Vec<u32> =
        bounds.iter().map(|bound| stream.below(u32::try_from(number(bound)).unwrap())).collect();
    assert_eq!(json!(drawn), expected["below"]);
    assert_eq!(stream.drawn(), number(&expected["u32_drawn"]));
    let mut list: Vec<u64> = input["shuffle"]["list"].as_array().unwrap().iter().map(number).collect();
    Keystream::new(&key, number(&input["shuffle"]["stream"])).shuffle(&mut list);
    assert_eq!(json!(list), expected["shuffled"]);
}

#[test]
fn orders_are_the_golden_ones() {
    for id in [
        "order-k2-seed42",
        "order-k2-seed20250117",
        "order-k2-stratum1",
        "order-k2-odd",
        "order-k3",
        "order-k4",
    ] {
        let (input, expected) = case(id);
        let treatments =
            input["treatments"].as_u64().unwrap_or_else(|| input["levels"].as_array().unwrap().len() as u64);
        let whole = |value: &Value| u32::try_from(number(value)).unwrap();
        let treatments = u32::try_from(treatments).unwrap();
        let made =
            blocks(number(&input["seed"]), whole(&input["stratum"]), treatments, whole(&input["blocks"]));
        assert_eq!(json!(made.rows), expected["blocks"], "{id}");
        assert_eq!(made.drawn, number(&expected["u32_drawn"]), "{id}");
        if let Some(rows) = expected.get("williams_base_rows") {
            assert_eq!(json!(williams(treatments)), *rows, "{id}");
        }
        if let Some(names) = expected.get("run_order") {
            let names_of = |index: &u32| input["levels"][*index as usize].clone();
            let run: Vec<Value> = made.rows.iter().flatten().map(names_of).collect();
            assert_eq!(json!(run), *names, "{id}");
        }
    }
}

#[test]
fn drain_starts_are_the_golden_ones() {
    let (input, expected) = case("drain-jitter");
    let offsets: Vec<u64> =
        input["offsets_us"].as_array().unwrap().iter().map(|us| number(us) * 1000).collect();
    let starts = drain_starts(
        number(&input["seed"]),
        0,
        u32::try_from(number(&input["blocks"])).unwrap(),
        &offsets,
        number(&input["jitter_us"]) * 1000,
    );
    let us: Vec<Vec<u64>> = starts.iter().map(|block| block.iter().map(|ns| ns / 1000).collect()).collect();
    assert!(starts.iter().flatten().all(|ns| ns % 1000 == 0));
    assert_eq!(json!(us), expected["offsets_us"]);
}

#[test]
fn units_are_the_golden_ones() {
    let (input, expected) = case("units");
    let all = |texts: &Value, read: fn(&str) -> Option<u64>| {
        let read =
            |text: &Value| read(text.as_str().unwrap()).map_or_else(|| json!("error"), |value| json!(value));
        Value::Array(texts.as_array().unwrap().iter().map(read).collect())
    };
    assert_eq!(all(&input["durations"], |text| duration_ns(text).ok()), expected["ns"]);
    assert_eq!(all(&input["ratios"], |text| ratio_ppm(text).ok()), expected["ppm"]);
}

/// The small object that the case hashes: the text's values, and the defaults of what the case shows of a plan.
fn mini(text: &str) -> Value {
    let said: toml::Table = toml::from_str(text).unwrap();
    let (design, gate) = (&said["design"], &said["gate"][0]);
    let quantity = |key: &str, read: fn(&str) -> u64| read(gate[key].as_str().unwrap());
    let mut gates = Map::new();
    gates.insert("id".into(), json!(gate["id"].as_str()));
    gates.insert("metric".into(), json!(gate["metric"].as_str()));
    gates.insert("margin_ns".into(), json!(quantity("margin", |text| duration_ns(text).unwrap())));
    gates.insert("alpha_ppm".into(), json!(quantity("alpha", |text| ratio_ppm(text).unwrap())));
    gates.insert("min_pairs".into(), json!(6));
    gates.insert("kind".into(), json!("non-inferiority"));
    gates.insert("class".into(), json!("gate"));
    json!({
        "schema": said["schema"].as_integer(),
        "name": said["name"].as_str(),
        "gate": [gates],
        "design": {
            "seed": design["seed"].as_integer(),
            "order": "balanced-blocks-1",
            "blocks": design["blocks"].as_integer(),
        },
    })
}

#[test]
fn plans_of_the_same_meaning_have_the_golden_hash() {
    let (input, expected) = case("plan-hash");
    let text = |key: &str| input[key].as_str().unwrap();
    let hashes = |text: &str| {
        let object = mini(text);
        let form = canonical(&object).unwrap();
        (plan_sha256(&form), gates_sha256(&canonical(&object["gate"]).unwrap()), form)
    };
    let [a, b, c] = ["toml_a", "toml_b_same_meaning", "toml_c_margin_changed"].map(|key| hashes(text(key)));
    assert_eq!(json!(a.2), expected["canonical_a"]);
    assert_eq!(json!(a.0), expected["plan_sha256_a"]);
    assert_eq!(json!(b.0), expected["plan_sha256_b"]);
    assert_eq!(json!(c.0), expected["plan_sha256_c"]);
    assert_eq!(json!(a.1), expected["gates_sha256_a"]);
    assert_eq!(json!(c.1), expected["gates_sha256_c"]);
    let file = |key: &str| json!(Digest::of(text(key).as_bytes()).to_string());
    assert_eq!(file("toml_a"), expected["file_sha256_a"]);
    assert_eq!(file("toml_b_same_meaning"), expected["file_sha256_b"]);
}

#[test]
fn strings_are_escaped_as_in_the_golden_case() {
    let (input, expected) = case("canonical-strings");
    assert_eq!(json!(canonical(&input["value"]).unwrap()), expected["canonical"]);
}

#[test]
fn the_example_is_read_as_it_is_with_every_default() {
    let plan = Plan::read(EXAMPLE).unwrap();
    assert_eq!((plan.name.as_str(), plan.design.blocks, plan.design.seed), ("a6-raw-drain", 10, 20_250_117));
    assert_eq!(plan.target.status, "/v1/status");
    assert_eq!(plan.target.require["build"], Word::Text("ad2d91a".into()));
    assert_eq!(plan.target.require["devices"], Word::Integer(3));
    let modulus: Vec<u64> = plan.stream.iter().map(|stream| stream.seq_modulus).collect();
    assert_eq!(modulus, [1 << 32, 15, 256]);
    assert_eq!(
        plan.factor.iter().map(|factor| factor.role).collect::<Vec<_>>()[..2],
        [Role::Treatment, Role::Stratum]
    );
    let drain = plan.drain.as_ref().unwrap();
    assert_eq!((drain.offsets_ns.len(), drain.jitter_ns), (5, 800_000_000));
    let profiler = &plan.toggle[0];
    assert_eq!(profiler.verify.equals["on"], Word::Truth(true));
    let effect = profiler.effect.as_ref().unwrap();
    assert_eq!((effect.counter.as_str(), effect.expect["off"]), ("/ring_ordinal", Motion::Still));
    assert_eq!((effect.within_ns, effect.at_least_per_s), (2_000_000_000, 30));
    assert_eq!(plan.toggle[1].set.argv.as_ref().unwrap()[5], "{level}");
    let margins: Vec<Option<Margin>> = plan.gate.iter().map(|gate| gate.margin).collect();
    let ns = |ns| Some(Margin::Ns(ns));
    assert_eq!(margins[..4], [ns(500_000), ns(1_000_000), ns(500_000), Some(Margin::Ppm(1000))]);
    assert_eq!((margins[4], plan.gate[4].min_trials), (None, Some(30_000)));
    assert_eq!(plan.gate[6].expected_sign.as_deref(), Some("+"));
    assert_eq!(plan.evidence.min_free_bytes, 2 << 30);
}

#[test]
fn the_retention_of_the_ring_is_the_golden_one() {
    let (input, expected) = case("ring-retention");
    let ns = |key: &str| (input[key].as_f64().unwrap() * 1e9).round() as u64;
    let (records, rate) = (number(&input["records"]), number(&input["records_per_s"]));
    let found = Retention::of(records, rate, ns("measure_s"), ns("guard_s"), ns("download_s"));
    assert_eq!(json!((found.retention_ns as f64 / 1e6).round() / 1e3), expected["retention_s"]);
    assert_eq!(json!((found.margin_ns as f64 / 1e6).round() / 1e3), expected["margin_s"]);
    assert_eq!(json!(found.longest_arm_s), expected["longest_arm_s_at_80_percent"]);
}

#[test]
fn the_share_of_drains_blinds_a_percentile_as_in_the_golden_case() {
    let (input, expected) = case("dilution-lint");
    for (row, (share, lint)) in input["rows"]
        .as_array()
        .unwrap()
        .iter()
        .zip(expected["share_ppm"].as_array().unwrap().iter().zip(expected["lint"].as_array().unwrap()))
    {
        let found =
            drain_share_ppm(number(&row[0]), number(&row[1]) * 1_000_000, number(&row[2]) * 1_000_000);
        assert_eq!(json!(found), *share);
        assert_eq!(json!(if blind(found, 9500) { "blind" } else { "ok" }), *lint);
    }
}
