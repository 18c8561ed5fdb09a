//! Laws of plans: nothing panics, the same meaning has the same hash, any change has another, and a lock gives its plan back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use proptest::prelude::*;
use serde_json::{Value, json};
use wireproof_matrices::order::order;
use wireproof_matrices::plan::canonical::{canonical, plan_sha256};
use wireproof_matrices::plan::check::check;
use wireproof_matrices::plan::{Keep, Ladder, Lock, LockError, MOST_TEXT, Plan, Role, shape};

const EXAMPLE: &str = include_str!("golden/plan_example.toml");

fn example() -> Plan {
    Plan::read(EXAMPLE).unwrap()
}

/// Every leaf of a JSON value by its pointer.
fn leaves(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(value, &format!("{at}/{key}"), out)),
        Value::Array(list) => {
            (0..)
                .zip(list)
                .for_each(|(number, value): (usize, _)| leaves(value, &format!("{at}/{number}"), out));
        }
        _ => out.push(at.to_owned()),
    }
}

/// Another value of the same type.
fn another(value: &Value) -> Value {
    match value {
        Value::Bool(truth) => json!(!truth),
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::String(text) => json!(format!("{text}x")),
        _ => unreachable!("no leaf"),
    }
}

#[test]
fn a_change_of_any_field_changes_the_hash_and_breaks_the_lock() {
    let lock = Lock::freeze(EXAMPLE).unwrap();
    let text = lock.text().unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let mut pointers = Vec::new();
    leaves(&whole["plan"], "", &mut pointers);
    assert!(pointers.len() > 150, "{} leaves", pointers.len());
    for pointer in pointers {
        let mut changed = whole.clone();
        let leaf = changed["plan"].pointer_mut(&pointer).unwrap();
        *leaf = another(leaf);
        assert_ne!(plan_sha256(&canonical(&changed["plan"]).unwrap()), lock.plan_sha256, "{pointer}");
        let refused = Lock::read(&changed.to_string()).unwrap_err();
        assert!(matches!(refused, LockError::Hash { hash: "plan_sha256", .. }), "{pointer}: {refused}");
    }
}

#[test]
fn what_a_plan_leaves_out_is_hashed_when_it_is_said() {
    type Change = fn(&mut Plan);
    let changes: [Change; 12] = [
        |plan| plan.target.auth = Some("TOKEN".to_owned()),
        |plan| plan.design.looks = vec![10],
        |plan| plan.drain = None,
        |plan| {
            drop(plan.drain.as_mut().unwrap().paths.insert("chrome".to_owned(), "/v1/trace.json".to_owned()))
        },
        |plan| plan.drain.as_mut().unwrap().keep = Keep::All,
        |plan| plan.toggle[1].set.shell = true,
        |plan| drop(plan.toggle[0].set.words.insert("on".to_owned(), "1".to_owned())),
        |plan| plan.toggle[0].effect = None,
        |plan| drop(plan.gate[0].selector.insert("profiler".to_owned(), "on".to_owned())),
        |plan| plan.gate[0].on_fail = Some("stop".to_owned()),
        |plan| plan.validity.max_loop_gap_ns = Some(1),
        |plan| {
            plan.ladder = Some(Ladder { factor: "preview".to_owned(), arms_per_step: 6, alpha_ppm: 50_000 })
        },
    ];
    let mut hashes = vec![example().sha256().unwrap()];
    for change in changes {
        let mut plan = example();
        change(&mut plan);
        let back: Plan = serde_json::from_str(&plan.canonical().unwrap()).unwrap();
        assert_eq!(back, plan, "read back");
        hashes.push(plan.sha256().unwrap());
    }
    let all = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), all, "each change has a hash of its own");
}

#[test]
fn a_lock_gives_its_plan_back_and_is_the_same_each_time() {
    let lock = Lock::freeze(EXAMPLE).unwrap();
    let text = lock.text().unwrap();
    assert_eq!(Lock::read(&text).unwrap(), lock);
    assert_eq!(Lock::read(&text).unwrap().text().unwrap(), text);
    assert!(Lock::meant(&text) && !Lock::meant(EXAMPLE));
    let plan: Plan = serde_json::from_str(&lock.plan.canonical().unwrap()).unwrap();
    assert_eq!((&plan, plan.sha256().unwrap()), (&lock.plan, lock.plan_sha256.clone()));
    // Spaces and the order of keys in the file mean nothing.
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(Lock::read(&serde_json::to_string_pretty(&value).unwrap()).unwrap(), lock);
}

/// A lock whose plan was changed and whose hashes were made anew by whoever did it.
fn forged(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&Lock::freeze(EXAMPLE).unwrap().text().unwrap()).unwrap();
    change(&mut value["plan"]);
    value["plan_sha256"] = json!(plan_sha256(&canonical(&value["plan"]).unwrap()));
    let gates = canonical(&value["plan"]["gate"]).unwrap();
    value["gates_sha256"] = json!(wireproof_matrices::plan::canonical::gates_sha256(&gates));
    value.to_string()
}

#[test]
fn a_lock_with_good_hashes_and_a_bad_plan_is_refused_too() {
    assert!(Lock::read(&forged(|_| {})).is_ok());
    let unknown_in_gate = forged(|plan| plan["gate"][0]["magrin_ns"] = json!(1));
    assert!(
        Lock::read(&unknown_in_gate).unwrap_err().to_string().contains("keys this version does not know")
    );
    let unknown = forged(|plan| plan["timing"]["wramup_ns"] = json!(1));
    assert!(matches!(Lock::read(&unknown).unwrap_err(), LockError::Form(_)));
    let huge = forged(|plan| plan["design"]["blocks"] = json!(4_000_000_000u32));
    assert!(Lock::read(&huge).unwrap_err().to_string().contains("blocks"));
    let many = forged(|plan| {
        plan["factor"][0]["levels"] = json!((0..5000).map(|n| n.to_string()).collect::<Vec<_>>())
    });
    assert!(Lock::read(&many).is_err());
    for (pointer, value, words) in [
        ("/gate/0/kind", json!("zero"), "[gate p95] kind"),
        ("/gate/0/margin_ns", Value::Null, "keys this version does not know"),
        ("/gate/4/min_trials", json!(0), "[gate lost] min_trials"),
        ("/toggle/0/retries", json!(4_000_000_000u32), "[toggle profiler] retries"),
        ("/toggle/0/verify/read/http", json!("POST"), "[toggle profiler.verify]"),
        ("/toggle/0/set/argv", json!(["rm"]), "[toggle profiler.set]"),
        ("/drain/expect_bytes", json!(u64::MAX), "[drain] expect_bytes"),
        ("/stream/0/seq_modulus", json!(0), "[stream big] seq_modulus"),
        ("/target/base_url", json!("file:///etc"), "[target] base_url"),
    ] {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let text = forged(|plan| plan.pointer_mut(parent).unwrap()[key] = value);
        let said = Lock::read(&text).unwrap_err().to_string();
        assert!(said.contains(words), "{pointer}: {said}");
    }
    let gates = Lock::freeze(EXAMPLE).unwrap().text().unwrap();
    let mut value: Value = serde_json::from_str(&gates).unwrap();
    value["gates_sha256"] = json!("0".repeat(64));
    let refused = Lock::read(&value.to_string()).unwrap_err();
    assert!(matches!(refused, LockError::Hash { hash: "gates_sha256", .. }));
    for text in ["", "{", "[]", "{}", "{\"schema\":\"wireproof.plan-lock/2\"}", &"[".repeat(100_000)] {
        assert!(matches!(Lock::read(text).unwrap_err(), LockError::Form(_)));
    }
}

#[test]
fn two_runs_of_other_length_show_that_they_used_the_same_gates() {
    let longer = Plan::read(&EXAMPLE.replace("blocks = 10", "blocks = 12")).unwrap();
    assert_ne!(longer.sha256().unwrap(), example().sha256().unwrap());
    assert_eq!(longer.gates_sha256().unwrap(), example().gates_sha256().unwrap());
}

#[test]
fn names_with_line_breaks_stay_within_one_line() {
    for text in [
        "[\"a\\nb\"]\nx = 1",
        "schema = 1\n[target]\n\"a\\nb\" = 1",
        "[target]\nbase_url = \"h\"\n[[gate]]\nid = \"a\\nb\"\nx = 1",
    ] {
        assert_eq!(Plan::read(text).unwrap_err().to_string().lines().count(), 1);
    }
}

#[test]
fn hostile_sizes_are_refused_at_once() {
    let big = format!("{EXAMPLE}# {}", "x".repeat(MOST_TEXT));
    assert!(Plan::read(&big).unwrap_err().to_string().contains("256 KiB"));
    let levels = |count: usize| {
        let list: Vec<String> = (0..count).map(|n| format!("\"l{n}\"")).collect();
        EXAMPLE.replace("levels   = [\"off\"]", &format!("levels = [{}]", list.join(", ")))
    };
    for (count, fits) in [(64, true), (65, false), (5000, false)] {
        let text = levels(count).replace("blocks = 10", "blocks = 10\nlooks = []");
        assert_eq!(Plan::read(&text).is_ok(), fits, "{count} levels");
    }
    let blocks = |blocks: u32| levels(64).replace("blocks = 10", &format!("blocks = {blocks}"));
    assert!(
        Plan::read(&blocks(78)).is_ok() && Plan::read(&blocks(79)).is_err(),
        "128 arms a block, 10,000 at most"
    );
    let deep = format!("schema = {}1{}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(Plan::read(&deep).is_err());
}

/// The same plan written another way: other spacing and comments, another order of tables, other units.
fn rewritten(comment: &str, reversed: bool, units: &[(&str, &str)]) -> String {
    let mut tables: Vec<String> = Vec::new();
    let (root, rest) = EXAMPLE.split_at(EXAMPLE.find("[target]").unwrap());
    for line in rest.lines() {
        if line.starts_with('[') {
            tables.push(String::new());
        }
        let table = tables.last_mut().unwrap();
        *table += line;
        *table += "\n";
    }
    let lines = |table: &String| {
        let mut lines: Vec<&str> = table.lines().collect();
        if reversed {
            lines[1..].reverse();
        }
        format!("{}\n# {comment}\n", lines.join("\n\n"))
    };
    // Tables of one name keep their order: it has a meaning.
    if reversed {
        tables.sort_by_key(|table| std::cmp::Reverse(table.lines().next().unwrap().to_owned()));
    }
    let text = format!("{root}{}", tables.iter().map(lines).collect::<String>());
    units.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_meaning_has_the_same_hash(comment in "[ -~]{0,40}", reversed: bool, units: bool) {
        let units: &[(&str, &str)] = if units {
            &[("\"0.50ms\"", "\"500us\""), ("\"0.1%\"", "\"1000ppm\""), ("\"15s\"", "\"15000ms\""), ("\"2GiB\"", "\"2048MiB\""), ("60s", "1min")]
        } else {
            &[]
        };
        let plan = Plan::read(&rewritten(&comment, reversed, units)).unwrap();
        prop_assert_eq!(plan.sha256().unwrap(), example().sha256().unwrap());
    }

    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in "(?s).{0,400}") {
        if let Err(error) = Plan::read(&text) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
        let _ = Lock::read(&text);
    }

    #[test]
    fn a_damaged_plan_never_panics_wherever_it_gets(at in 0usize..4000, cut in 0usize..40, new in "[a-z0-9\"=\\[\\]{},.# -]{0,12}") {
        let start = (0..=at.min(EXAMPLE.len())).rev().find(|at| EXAMPLE.is_char_boundary(*at)).unwrap();
        let end = (start..=(start + cut).min(EXAMPLE.len())).rev().find(|at| EXAMPLE.is_char_boundary(*at)).unwrap();
        let text = format!("{}{new}{}", &EXAMPLE[..start], &EXAMPLE[end..]);
        match Plan::read(&text) {
            Ok(plan) => {
                check(&plan, &|_| Vec::new());
                let lock = Lock::freeze(&text).unwrap();
                prop_assert_eq!(Lock::read(&lock.text().unwrap()).unwrap().plan, plan);
            }
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
    }

    #[test]
    fn typed_plans_of_any_numbers_are_checked_and_ordered_without_panic(
        numbers in proptest::collection::vec(any::<u64>(), 12), blocks in 0u32..40, fps: u32, role in 0usize..3,
    ) {
        let mut plan = example();
        let timing = &mut plan.timing;
        [timing.warmup_ns, timing.settle_ns, timing.measure_ns, timing.guard_ns, timing.arm_deadline_ns] =
            [numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]];
        let drain = plan.drain.as_mut().unwrap();
        (drain.offsets_ns, drain.jitter_ns, drain.expect_bytes) = (numbers[5..8].to_vec(), numbers[8], numbers[9]);
        (plan.design.seed, plan.design.blocks, plan.target.expected_fps) = (numbers[10], blocks, fps);
        (plan.toggle[0].timeout_ns, plan.toggle[0].retries) = (numbers[11], u32::MAX);
        plan.factor[1].role = [Role::Treatment, Role::Stratum, Role::Fixed][role];
        plan.gate.iter_mut().for_each(|gate| gate.alpha_ppm = numbers[11]);
        check(&plan, &|_| Vec::new());
        let _ = shape::check(&plan);
        prop_assert_eq!(order(&plan).arms(), 2 * blocks as usize);
    }
}
