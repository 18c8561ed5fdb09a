//! The attribution table: every row of the worked case splits exactly as stated.

#![allow(clippy::unwrap_used, reason = "a row that cannot be read fails the test")]

use serde_json::Value as Json;
use wireproof_protocols::attribution::{Effect, Evidence, split};
use wireproof_protocols::time::MS;

#[test]
fn all_eighteen_rows_split_as_the_table_says() {
    let rows: Vec<Json> = serde_json::from_str(include_str!("cases/attribution.json")).unwrap();
    assert_eq!(rows.len(), 18);
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        let e = evidence(&row["evidence"]);
        let s = split(&e);
        let want = |key: &str| row["split"][key].as_u64().unwrap();
        let expected = (want("observer"), want("corrupt"), want("upstream"), want("ambiguous"));
        assert_eq!((s.observer, s.corrupt, s.upstream, s.ambiguous), expected, "{name}");
        let effect = match s.effect() {
            Effect::Invalid => "arm invalid",
            Effect::Inconclusive => "arm inconclusive for loss",
            Effect::Loss => "loss",
        };
        assert_eq!(Some(effect), row["effect"].as_str(), "{name}");
        assert_eq!(s.who(&e).map(|w| w.name()), row["who"].as_str(), "{name}");
    }
}

fn evidence(row: &Json) -> Evidence {
    let number = |key: &str| row.get(key).and_then(Json::as_u64);
    Evidence {
        missing: number("missing").unwrap(),
        socket_drops: number("sock_drop_delta"),
        checksum_errors: number("csum_delta").unwrap_or(0),
        tap_seen: number("tap_seen"),
        tap_drops: number("tap_drop_delta"),
        nic_drops: number("nic_drop_delta").unwrap_or(0),
        softnet_drops: number("softnet_drop_delta").unwrap_or(0),
        loop_gap_ns: number("loop_gap_ms").map(|ms| ms as i64 * MS),
        device_sent: row.get("device_sent").and_then(Json::as_bool),
    }
}
