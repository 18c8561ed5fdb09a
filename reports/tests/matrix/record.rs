//! JSON against its schema and the verdict it was made from.

use super::{fixtures, text};
use serde_json::Value;
use wireproof_matrices::verdict::Verdict;
use wireproof_reports::{Format, VERDICT_SCHEMA};

fn json(v: &Verdict) -> Value {
    serde_json::from_str(&text(v, Format::Json)).unwrap()
}

fn errors(document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(&serde_json::from_str(VERDICT_SCHEMA).unwrap()).unwrap();
    validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn every_verdict_keeps_to_the_schema() {
    for (name, verdict) in fixtures::all() {
        assert_eq!(errors(&json(&verdict)), Vec::<String>::new(), "{name}");
    }
}

/// The paths of all objects of a document.
fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.push(path.to_owned());
            map.iter().for_each(|(key, value)| {
                objects(value, &format!("{path}/{}", key.replace('/', "~1")), found)
            });
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, value)| objects(value, &format!("{path}/{n}"), found));
        }
        _ => {}
    }
}

/// Objects whose keys are names, not words of the format.
const OPEN: [&str; 6] =
    ["/values", "/by_arm", "/streams", "/invalid_by_treatment", "/validity/reasons", "/bins"];

#[test]
fn the_schema_is_closed_and_every_key_is_required() {
    let document = json(&fixtures::fail());
    let mut paths = Vec::new();
    objects(&document, "", &mut paths);
    let closed: Vec<&String> =
        paths.iter().filter(|path| !OPEN.iter().any(|open| path.ends_with(open))).collect();
    assert!(closed.len() > 40, "{closed:?}");
    for path in closed {
        let mut richer = document.clone();
        let object = richer.pointer_mut(path).and_then(Value::as_object_mut).unwrap();
        let keys: Vec<String> = object.keys().cloned().collect();
        object.insert("magrin".to_owned(), Value::from(1));
        assert!(!errors(&richer).is_empty(), "{path} takes a key that it does not know");
        for key in keys {
            let mut poorer = document.clone();
            poorer.pointer_mut(path).and_then(Value::as_object_mut).unwrap().remove(&key);
            assert!(!errors(&poorer).is_empty(), "{path} does without {key}");
        }
    }
}

#[test]
fn json_reads_back_as_the_same_verdict_and_begins_with_the_keys_of_the_contract() {
    for (name, verdict) in fixtures::all() {
        let json = text(&verdict, Format::Json);
        assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict, "{name}");
        assert!(json.starts_with("{\n  \"schema\": \"wireproof.verdict/1\",\n  \"verdict\": \""), "{name}");
    }
}

#[test]
fn json_lines_hold_every_gate_arm_and_loss_as_a_typed_object() {
    let verdict = fixtures::fail();
    let lines: Vec<Value> =
        text(&verdict, Format::Jsonl).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!([of("verdict"), of("gate"), of("arm"), of("loss")], [1, 5, 20, 2]);
    assert_eq!(lines.len(), 28);
    assert_eq!(lines[0]["plan_sha256"], verdict.plan_sha256);
}
