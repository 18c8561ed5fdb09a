//! Declared protocols in plans: streams take port and numbers from the layout, the plan's hash covers the layout's text,
//! and the lock needs no file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

use serde_json::Value;
use wireproof_matrices::compare::Identity;
use wireproof_matrices::plan::check::{Severity, check};
use wireproof_matrices::plan::{Beside, Lock, MOST_TEXT, Plan, shipped_layout};

const EXAMPLE: &str = include_str!("golden/plan_example.toml");
const OWN: &str = r#"
name = "pixnet"
header_len = 6
[match]
udp_dst = [7100]
[[field]]
name = "magic"
at = 0
role = "magic"
const_hex = "50 58"
[[field]]
name = "frame"
at = 2
size = 2
role = "frame_seq"
[[field]]
name = "chunk"
at = 4
size = 1
role = "packet_index"
[[field]]
name = "chunks"
at = 5
size = 1
role = "packet_count"
"#;
/// Numbers 1 to 255, and each datagram of a frame is a stream of its own.
const UNIVERSES: &str = "artdmx";

/// The example with its stream `big` in a declared protocol.
fn plan_text(file: &str, protocol: &str) -> String {
    let text = EXAMPLE.replacen("[target]", &format!("layout = [{file:?}]\n\n[target]"), 1);
    let text = text.replacen("protocol = \"bigpacket\"", &format!("protocol = {protocol:?}"), 1);
    text.replacen("listen = \"0.0.0.0:9001\"\n", "", 1)
}

fn read_with(text: &str, own: &str) -> Result<Plan, String> {
    let files = |what: Beside, name: &str| match (what, name) {
        (Beside::Layout, "pixnet.toml") => Ok(own.to_owned()),
        (Beside::Layout, name) => {
            shipped_layout(name).map(str::to_owned).ok_or(format!("{name} is not there"))
        }
        (Beside::Profile, _) => Err("no profile is asked for".to_owned()),
    };
    Plan::read_with(text, &files).map_err(|error| error.to_string())
}

fn own() -> Plan {
    read_with(&plan_text("pixnet.toml", "layout:pixnet"), OWN).unwrap()
}

#[test]
fn a_stream_takes_port_and_numbers_from_its_layout_and_the_plan_can_be_run() {
    let plan = own();
    let stream = &plan.stream[0];
    assert_eq!((stream.protocol.as_str(), stream.listen.as_str()), ("layout:pixnet", "0.0.0.0:7100"));
    assert_eq!((stream.seq_modulus, plan.layout[0].text.as_str()), (65_536, OWN));
    let found = check(&plan, &|_| Vec::new());
    let as_built_in = check(&Plan::read(EXAMPLE).unwrap(), &|_| Vec::new());
    assert_eq!(found.remarks, as_built_in.remarks, "the same is said of it as of a built-in protocol");
    assert!(found.remarks.iter().all(|finding| finding.severity != Severity::Error));
    let shipped = read_with(&plan_text(UNIVERSES, "layout:artdmx"), OWN).unwrap();
    assert_eq!((shipped.stream[0].seq_modulus, shipped.stream[0].listen.as_str()), (255, "0.0.0.0:6454"));
    let known = Plan::read(&plan_text(UNIVERSES, "layout:artdmx")).unwrap();
    assert_eq!(known, shipped, "what comes with the program needs no files");
}

#[test]
fn universes_are_for_layouts_whose_datagrams_are_streams_of_their_own() {
    let with = |text: String| text.replacen("datagrams_per_frame = 6", "universes = \"1-6\"", 1);
    let plan = read_with(&with(plan_text(UNIVERSES, "layout:artdmx")), OWN).unwrap();
    assert_eq!(plan.stream[0].datagrams_per_frame, 6);
    let refused = read_with(&with(plan_text("pixnet.toml", "layout:pixnet")), OWN).unwrap_err();
    assert!(refused.contains("universes: mean nothing to layout:pixnet"), "{refused}");
}

#[test]
fn the_hash_covers_every_octet_of_a_layout_and_the_lock_needs_no_file() {
    let text = plan_text("pixnet.toml", "layout:pixnet");
    let hash = |own: &str| read_with(&text, own).unwrap().sha256().unwrap();
    let first = hash(OWN);
    for (from, to) in
        [("at = 5", "at = 5 # chunks"), ("size = 2", "size = 1"), ("udp_dst = [7100]", "udp_dst = [7101]")]
    {
        assert!(OWN.contains(from));
        assert_ne!(hash(&OWN.replacen(from, to, 1)), first, "{to}");
    }
    let files = |_: Beside, _: &str| Ok(OWN.to_owned());
    let lock = Lock::freeze_with(&text, &files).unwrap();
    assert_eq!(lock.plan_sha256, first);
    let written = lock.text().unwrap();
    assert_eq!(Lock::read(&written).unwrap().plan, lock.plan);
    let mut changed: Value = serde_json::from_str(&written).unwrap();
    changed["plan"]["layout"][0]["text"] = OWN.replace("7100", "7102").into();
    let refused = Lock::read(&changed.to_string()).unwrap_err().to_string();
    assert!(refused.contains("changed after it was frozen"), "{refused}");
}

#[test]
fn a_plan_without_layouts_has_the_hash_it_always_had() {
    let plan = Plan::read(EXAMPLE).unwrap();
    assert!(!plan.canonical().unwrap().contains("layout"));
}

#[test]
fn runs_of_other_layouts_are_not_alike() {
    let other =
        read_with(&plan_text("pixnet.toml", "layout:pixnet"), &OWN.replace("at = 5", "at = 5 #")).unwrap();
    let of = |plan: &Plan| Identity::of(plan, "g", "build");
    assert!(of(&own()).differences(&of(&own())).conditions.is_empty());
    let differences = of(&own()).differences(&of(&other)).conditions;
    assert!(differences.iter().any(|line| line.contains("layout:pixnet")), "{differences:?}");
}

#[test]
fn what_is_wrong_with_a_layout_is_one_line_with_its_place() {
    let text = plan_text("pixnet.toml", "layout:pixnet");
    let long = format!("{OWN}\n#{}", "x".repeat(70_000));
    let twice = text.replacen("[\"pixnet.toml\"]", "[\"pixnet.toml\", \"pixnet.toml\"]", 1);
    let absent = plan_text("other.toml", "layout:pixnet");
    let unnamed = text.replacen("layout = [\"pixnet.toml\"]\n", "", 1);
    let misnamed = plan_text("pixnet.toml", "layout:pixnett");
    let portless = OWN.replace("udp_dst = [7100]", "any_port = true").replace("50 58", "50 58 4e 45");
    let portless = portless.replace("at = 2", "at = 6").replace("header_len = 6", "header_len = 8");
    let elsewhere =
        text.replacen("source = \"10.0.0.17\"", "source = \"10.0.0.17\"\nlisten = \"0.0.0.0:7101\"", 1);
    for (plan, own, words) in [
        (&elsewhere, &OWN.to_owned(), "listen: has a port that udp_dst of layout:pixnet does not name"),
        (
            &text,
            &OWN.replace("header_len = 6", "header_len = 0"),
            "pixnet.toml, line 3: layout, header_len: is 0",
        ),
        (&text, &String::new(), "and 2 more, which `wireproof layouts check` tells"),
        (&text, &long, "longer than 64 KiB"),
        (&twice, &OWN.to_owned(), "stands twice"),
        (&absent, &OWN.to_owned(), "[plan] layout: other.toml is not there"),
        (
            &unnamed,
            &OWN.to_owned(),
            "[stream big] protocol: is \"layout:pixnet\", which no layout of the plan declares",
        ),
        (&misnamed, &OWN.to_owned(), "is \"layout:pixnett\", which no layout"),
        (&text, &portless, "[stream big] listen: is missing"),
    ] {
        let refused = read_with(plan, own).expect_err(words);
        assert!(refused.contains(words) && refused.lines().count() == 1, "{words}: {refused}");
    }
    let mut plan = own();
    plan.layout[0].name = "other".to_owned();
    let of_name = wireproof_matrices::plan::shape::check(&plan).unwrap_err().to_string();
    assert!(of_name.contains("other is not what its text is called"), "{of_name}");
    plan.layout[0].text = "x".repeat(MOST_TEXT + 1);
    assert!(
        wireproof_matrices::plan::shape::check(&plan).unwrap_err().to_string().contains("256 KiB together")
    );
}
