//! Device profiles: how they are read, what of them is refused, what `check` says they give, and that a plan's hash covers
//! them; and that a run asks nothing of a device that it does not have.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod simulation;

use serde_json::{Value, json};
use wireproof_matrices::arm::{Arm, ArmState, Measured, Place};
use wireproof_matrices::plan::check::{Checked, Severity, check};
use wireproof_matrices::plan::profile::{Auth, BUILTIN, ClockMap, RingMap, given, unshown};
use wireproof_matrices::plan::{Beside, Lock, Plan, Profile, Template};
use wireproof_matrices::runner::io::{Command, Outcome};
use wireproof_matrices::validity::measured;

/// A profile of somebody's own controller.
const OWN: &str = r#"
schema = 1
name = "booth"

[auth]
kind = "header"
header = "X-Api-Key"

[status]
path = "/api/about"
build = { pointer = "/version" }
boot = { path = "/api/run", pointer = "/id" }
cpu = { path = "/api/run", pointer = "/cpu~1ms", unit = "ms" }
values.mode = { pointer = "/mode", map = { "2" = "show" } }
counters.frames = { path = "/api/run", pointer = "/frames" }

[clock]
kind = "headers"
received = "X-In"
sent = "X-Out"
unit = "us"

[ring]
layout = "v1"
path = "/dump"
bytes = 53248

[ring.map]
header = 4096
record = 48
visible = 8
commit = 36
commit_bias = 1
complete_stage = 7
no_frame = 0
fields = { start = [0, 8], end = [8, 8], frame = [16, 4], stage = [20, 2], device = [22, 2], proto = [24, 1], flags = [25, 1], aux = [28, 8] }

[ring.stages]
wire_send = 5

[[toggle]]
factor = "strobe"
set = { http = "PUT", path = "/api/strobe", body = '{"on":{level}}', words = { on = "true", off = "false" } }
verify = { http = "GET", path = "/api/about", pointer = "/strobe", equals = { on = true, off = false } }
effect = { frames = { on = "advances", off = "advances" } }
"#;

fn wled() -> String {
    Template::find("wled").expect("it comes with the program").text.to_owned()
}

fn of_own(text: &str, profile: &str) -> Plan {
    let text = text.replace("profile      = \"wled\"", "profile = \"booth.toml\"\nauth = \"env:KEY\"");
    let give = |_: Beside, name: &str| match name {
        "booth.toml" => Ok(profile.to_owned()),
        _ => Err(format!("{name} is not there")),
    };
    let own = |line: &&str| !line.starts_with("require");
    let text: String = text.lines().filter(own).map(|line| format!("{line}\n")).collect();
    Plan::read_with(&text, &give).unwrap_or_else(|error| panic!("{error}"))
}

fn checked(plan: &Plan) -> Checked {
    check(plan, &|_| Vec::new())
}

fn said(found: &Checked, severity: Severity) -> Vec<(&str, &str)> {
    let of = found.remarks.iter().filter(|remark| remark.severity == severity);
    of.map(|remark| (remark.code, remark.table.as_str())).collect()
}

#[test]
fn the_profiles_that_come_with_the_program_are_read_and_say_what_they_give() {
    for builtin in BUILTIN {
        let profile =
            Profile::read(builtin.text, 60).unwrap_or_else(|error| panic!("{}: {error}", builtin.name));
        assert_eq!(profile.name, builtin.name);
        assert!(given(&profile).iter().any(|row| row.what == "wire" && row.given));
    }
    let read =
        |name: &str| Profile::read(BUILTIN.iter().find(|b| b.name == name).expect("it is there").text, 60);
    let (field, wled) = (read("field").expect("it is one"), read("wled").expect("it is one"));
    let lacks = |profile: &Profile| -> Vec<&str> {
        given(profile).iter().filter(|row| !row.given).map(|row| row.what).collect()
    };
    assert_eq!(lacks(&field), ["stages", "owners"]);
    assert_eq!(lacks(&wled), ["frames", "stages", "owners", "clock", "cpu", "throttling", "token"]);
    assert_eq!((wled.auth, wled.clock, wled.ring), (Auth::None, ClockMap::None, RingMap::None));
}

#[test]
fn a_profile_of_ones_own_is_typed_with_every_default() {
    let profile = Profile::read(OWN, 60).expect("it is one");
    assert_eq!(profile.auth, Auth::Header { name: "x-api-key".to_owned() });
    assert_eq!(profile.answer_bytes, 65_536);
    assert_eq!(profile.status.documents(), ["/api/about", "/api/run"]);
    assert_eq!(profile.status.values["mode"].path, "/api/about");
    let RingMap::V1 { map, fields, stages, bytes, .. } = &profile.ring else { panic!("{:?}", profile.ring) };
    assert_eq!((map.as_str(), stages["wire_send"], *bytes), ("", 5, 53_248));
    assert_eq!(fields.as_ref().map(|fields| fields.fields["frame"]), Some((16, 4)));
    assert!(given(&profile).iter().any(|row| row.what == "stages" && row.how.contains("wire_send")));
}

#[test]
fn what_cannot_be_meant_is_refused_with_line_table_and_key() {
    for (from, to, words) in [
        ("name = \"booth\"", "name = \"booth\"\ncolour = 1", "line 4, [profile] colour: unknown key"),
        ("name = \"booth\"", "name = \"Booth\"", "is no name"),
        ("schema = 1", "schema = 2", "schema: is 2"),
        ("kind = \"header\"\n", "kind = \"basic\"\n", "\"bearer\" or \"header\" or \"none\""),
        ("header = \"X-Api-Key\"\n", "", "is missing: the name of the header"),
        ("\"X-Api-Key\"", "\"Host\"", "says something else already"),
        ("\"X-Api-Key\"", "\"X Api\"", "is no name of a header"),
        ("pointer = \"/version\"", "pointer = \"version\"", "has no JSON pointer"),
        ("\"/cpu~1ms\"", "\"/cpu~2ms\"", "has no JSON pointer"),
        ("pointer = \"/version\"", "pointer = \"\"", "has no JSON pointer"),
        (", unit = \"ms\"", "", "[profile.status.cpu] unit: is missing"),
        ("unit = \"ms\"", "unit = \"fps\"", "\"ns\" or \"us\" or \"ms\" or \"s\""),
        ("path = \"/api/about\"\n", "path = \"api\"\n", "is no path"),
        ("\"/mode\", map", "\"/mode\", maps", "[profile.status.values.mode] maps: unknown key"),
        ("layout = \"v1\"", "layout = \"v3\"", "\"none\" or \"v1\" or \"v2\""),
        ("layout = \"v1\"", "layout = \"v2\"", "map: unknown key"),
        ("commit = 36", "commit = 41", "[profile.ring.map] commit: is not inside the record"),
        ("aux = [28, 8]", "aux = [41, 8]", "aux: is not inside the record with 1 to 8 octets"),
        ("stage = [20, 2]", "stage = [20, 3]", "stage: is not inside the record with 1 to 2 octets"),
        ("aux = [28, 8]", "aux = [28]", "is no [first octet, number of octets]"),
        (", aux = [28, 8]", "", "[profile.ring.map.fields] aux: is missing"),
        ("visible = 8", "visible = 4089", "visible: is not inside the header"),
        ("http = \"PUT\"", "http = \"TRACE\"", "\"POST\" or \"PUT\""),
        (
            "factor = \"strobe\"\n",
            "factor = \"strobe\"\nspeed = 1\n",
            "[profile.toggle strobe] speed: unknown key",
        ),
        ("record = 48", "record = ", "is no TOML"),
    ] {
        assert!(OWN.contains(from), "{from}");
        let error = Profile::read(&OWN.replacen(from, to, 1), 60).expect_err(to).to_string();
        assert!(error.contains(words) && error.lines().count() == 1, "{words}: {error}");
        assert!(error.starts_with("line ") || error.starts_with("[profile"), "{error}");
    }
    let text = wled().replace("\"wled\"       #", "\"other.toml\" #");
    let error = Plan::read(&text).expect_err("there are no files here").to_string();
    assert!(error.contains("[target] profile: is \"other.toml\", a file"), "{error}");
    let spoilt = |_: Beside, _: &str| Ok(OWN.replace("schema = 1", "shema = 1"));
    let error = Plan::read_with(&text, &spoilt).expect_err("a misspelt key").to_string();
    assert!(error.contains("other.toml: line 2, [profile] shema: unknown key"), "{error}");
}

#[test]
fn the_hash_of_a_plan_covers_every_word_of_its_profile_and_the_lock_needs_no_file() {
    let plan = of_own(&wled(), OWN);
    let hash = |plan: &Plan| plan.sha256().expect("a plan has one");
    for (from, to) in [
        ("/version", "/build"),
        ("X-Api-Key", "X-Key"),
        ("unit = \"us\"", "unit = \"ns\""),
        ("frame = [16, 4]", "frame = [16, 2]"),
        ("wire_send = 5", "wire_send = 6"),
        ("bytes = 53248", "bytes = 53296"),
        ("\"2\" = \"show\"", "\"2\" = \"hold\""),
    ] {
        assert_ne!(hash(&plan), hash(&of_own(&wled(), &OWN.replace(from, to))), "{to}");
    }
    let unused = OWN.replace("\"/api/strobe\"", "\"/api/flash\"");
    assert_eq!(hash(&plan), hash(&of_own(&wled(), &format!("# a comment\n{unused}"))), "no factor uses it");
    let text = wled();
    let lock = Lock::freeze(&text).expect("it is a plan");
    let read = Lock::read(&lock.text().expect("it is canonical")).expect("it is a lock");
    assert_eq!(read, lock);
    assert_eq!(read.plan.profile().map(|profile| profile.name.as_str()), Some("wled"));
}

#[test]
fn a_lock_with_a_profile_that_breaks_a_limit_is_refused() {
    let plan = of_own(&wled(), OWN);
    let forged = |change: &dyn Fn(&mut Value)| {
        let mut value = serde_json::to_value(&plan).expect("a plan is JSON");
        change(&mut value["target"]["profile"]);
        let canonical = wireproof_matrices::plan::canonical::canonical(&value).expect("it is canonical");
        let gates = wireproof_matrices::plan::canonical::canonical(&value["gate"]).expect("so are they");
        let lock = json!({
            "schema": "wireproof.plan-lock/1", "file_sha256": "0".repeat(64), "plan": value,
            "plan_sha256": wireproof_matrices::plan::canonical::plan_sha256(&canonical),
            "gates_sha256": wireproof_matrices::plan::canonical::gates_sha256(&gates),
        });
        Lock::read(&lock.to_string()).map(|lock| lock.plan).map_err(|error| error.to_string())
    };
    assert_eq!(forged(&|_| {}), Ok(plan.clone()));
    for (change, words) in [
        (&(|p: &mut Value| p["answer_bytes"] = json!(1_u64 << 40)) as &dyn Fn(&mut Value), "answer_limit"),
        (&|p: &mut Value| p["ring"]["fields"]["record"] = json!(u64::MAX), "record"),
        (&|p: &mut Value| p["ring"]["fields"]["fields"]["aux"] = json!([u64::MAX, 8]), "aux"),
        (&|p: &mut Value| p["ring"]["map"] = json!("v9"), "map"),
        (&|p: &mut Value| p["status"]["cpu"]["unit"] = json!("fps"), "cpu"),
        (&|p: &mut Value| p["clock"]["sent"] = json!("a\nb"), "sent"),
        (&|p: &mut Value| p["toggle"] = serde_json::to_value(&plan.toggle).expect("JSON"), "toggle"),
        (&|p: &mut Value| p["colour"] = json!(1), "unknown field"),
    ] {
        let refused = forged(change);
        let has_none = plan.toggle.is_empty() && words == "toggle";
        assert!(has_none || refused.as_ref().is_err_and(|text| text.contains(words)), "{words}: {refused:?}");
    }
}

#[test]
fn gates_that_need_a_recorder_are_refused_of_a_device_without_one_and_only_said_of_diagnostics() {
    let plain = checked(&Plan::read(&wled()).expect("it is a plan"));
    assert!(plain.runnable(), "{:?}", plain.remarks);
    assert_eq!(said(&plain, Severity::Warning), []);
    let notes = said(&plain, Severity::Note);
    assert!(notes.iter().filter(|(code, _)| *code == "profile-gives-not").count() == 2, "{notes:?}");
    let with = |gate: &str| checked(&Plan::read(&format!("{}\n{gate}", wled())).expect("it is a plan"));
    let deciding = with("[[gate]]\nid = \"p95\"\nmetric = \"frame.p95\"\nmargin = \"1ms\"");
    assert_eq!(said(&deciding, Severity::Error), [("profile-lacks", "gate p95")]);
    let remark = deciding.remarks.iter().find(|remark| remark.code == "profile-lacks").expect("it is there");
    assert!(remark.text.contains("cannot be had of wled: it has no recorder"), "{}", remark.text);
    let shown = with(
        "[[gate]]\nid = \"p50\"\nmetric = \"frame.p50\"\nmargin = \"1ms\"\n[[gate]]\nid = \"cpu\"\nmetric = \"device.cpu\"",
    );
    assert!(shown.runnable());
    assert_eq!(
        said(&shown, Severity::Warning),
        [("profile-lacks", "gate p50"), ("profile-lacks", "gate cpu")]
    );
}

#[test]
fn a_ring_without_stamps_gives_frame_times_and_says_in_one_line_what_it_does_not_give() {
    let plan = Plan::read(Template::find("field").expect("it is there").text).expect("it is a plan");
    let found = checked(&plan);
    assert!(found.runnable(), "{:?}", found.remarks);
    assert_eq!(said(&found, Severity::Warning), []);
    assert!(said(&found, Severity::Note).contains(&("ring_v1_no_stamps", "target")), "{:?}", found.remarks);
    let told = unshown(&plan);
    assert!(
        told.len() == 1 && told[0].0 == "ring_v1_no_stamps" && told[0].1.lines().count() == 1,
        "{told:?}"
    );
    assert_eq!(
        plan.drain.as_ref().map(|drain| (drain.url.as_str(), drain.expect_bytes)),
        Some(("/v1/ring/raw", 6_295_552))
    );
    let range =
        "[[gate]]\nid = \"send\"\nmetric = \"frame.range(wire_prepare,wire_send).p50\"\nmargin = \"1ms\"\n";
    let text = format!("{}\n{range}", Template::find("field").expect("it is there").text);
    let unnamed = checked(&Plan::read(&text).expect("it is a plan"));
    assert_eq!(said(&unnamed, Severity::Error), [("profile-lacks", "gate send")]);
    let clockless = |_: Beside, _: &str| {
        Ok(OWN.replace(
            "kind = \"headers\"\nreceived = \"X-In\"\nsent = \"X-Out\"\nunit = \"us\"",
            "kind = \"none\"",
        ))
    };
    let text = text.replace("profile      = \"field\"", "profile = \"own.toml\"").replace("require", "#");
    let blind = checked(&Plan::read_with(&text, &clockless).expect("it is a plan"));
    assert!(
        said(&blind, Severity::Error).iter().filter(|(code, _)| *code == "profile-lacks").count() == 4,
        "{:?}",
        blind.remarks
    );
    assert!(said(&blind, Severity::Warning).contains(&("profile-no-clock", "target")));
}

#[test]
fn names_that_a_profile_does_not_know_and_tokens_that_nobody_sends_are_errors() {
    let text = wled();
    let at = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        checked(&Plan::read(&text.replacen(from, to, 1)).expect("it is a plan"))
    };
    let unknown = at("lor = 0", "poles = 3");
    assert_eq!(said(&unknown, Severity::Error), [("require-unknown", "target")]);
    assert!(at("lor = 0", "\"/info/arch\" = \"esp32\"").runnable(), "a pointer is read as it is");
    let unused = at("expected_fps = 42", "expected_fps = 42\nauth = \"env:KEY\"");
    assert_eq!(said(&unused, Severity::Error), [("auth-unused", "target")]);
    let missing = of_own(&wled(), OWN);
    assert!(
        checked(&Plan {
            target: wireproof_matrices::plan::Target { auth: None, ..missing.target.clone() },
            ..missing
        })
        .remarks
        .iter()
        .any(|remark| remark.code == "auth-missing")
    );
    let raw = at("levels = [\"idle\", \"poll\"]", "levels = [\"idle\", \"poll\", \"raw\"]");
    assert_eq!(said(&raw, Severity::Error), [("drain-no-ring", "drain")]);
    let error = Plan::read(&text.replace("paths   =", "url = \"/x\"\npaths   ="))
        .expect_err("no recorder")
        .to_string();
    assert!(error.contains("[drain] url: names a ring"), "{error}");
    let error = Plan::read(&text.replace("expected_fps", "status = \"/x\"\nexpected_fps"))
        .expect_err("two")
        .to_string();
    assert!(error.contains("status: is what the profile says"), "{error}");
}

#[test]
fn a_factor_without_a_switch_takes_the_profiles_and_a_plans_own_goes_before_it() {
    let plan = Plan::read(&wled()).expect("it is a plan");
    assert_eq!(plan.toggle.len(), 1, "only what a factor names");
    assert_eq!(
        (plan.toggle[0].factor.as_str(), plan.toggle[0].set.path.as_deref()),
        ("on", Some("/json/state"))
    );
    assert!(plan.profile().is_some_and(|profile| profile.toggle.is_empty()));
    let own = "[[toggle]]\nfactor = \"on\"\nset = { argv = [\"relay\", \"{level}\"] }\nverify = { http = \"GET\", path = \"/json/state\", pointer = \"/on\", equals = { on = true } }\n";
    let plan = Plan::read(&format!("{}\n{own}", wled())).expect("it is a plan");
    assert_eq!((plan.toggle.len(), plan.toggle[0].set.argv.is_some()), (1, true));
}

#[test]
fn our_own_device_needs_no_profile_and_its_plans_keep_their_hash() {
    let text = Template::find("drain").expect("it is there").text;
    let named = text.replacen("expected_fps", "profile = \"wireproof\"\nexpected_fps", 1);
    let (plain, named) = (Plan::read(text).expect("a plan"), Plan::read(&named).expect("a plan"));
    assert_eq!(plain, named);
    assert!(!plain.canonical().expect("it is canonical").contains("profile\":{"));
}

#[test]
fn a_device_without_clock_and_recorder_is_asked_for_neither() {
    for (name, asked) in [("wled", false), ("field", true)] {
        let mut plan = Plan::read(Template::find(name).expect("it is there").text).expect("it is a plan");
        plan.design.blocks = 3;
        plan.target.require.clear();
        let run = simulation::run(&plan, &[]);
        assert_eq!(run.outcome(), Outcome::Complete, "{name}: {}", run.why());
        let has = |is: &dyn Fn(&Command) -> bool| run.bench.trace.iter().any(|(_, command)| is(command));
        assert!(has(&|command| matches!(command, Command::StartDrain { .. })), "{name}");
        assert_eq!(has(&|command| matches!(command, Command::SampleClock)), asked, "{name}");
        assert_eq!(has(&|command| matches!(command, Command::Collect { .. })), asked, "{name}");
    }
}

#[test]
fn a_clock_that_is_read_through_slow_answers_has_not_stepped_within_their_errors() {
    let plan =
        |name: &str| Plan::read(Template::find(name).expect("it is there").text).expect("it is a plan");
    let stepped = |plan: &Plan, clock_drift_ns: i64, clock_error_ns: u64| {
        let place = Place { stratum: 0, block: 1, position: 1, treatment: 0, attempt: 1 };
        let measured_of = Measured { clock_drift_ns, clock_error_ns, ..Measured::default() };
        let arm = Arm {
            place,
            levels: Default::default(),
            state: ArmState::Ok,
            notes: Vec::new(),
            measured: measured_of,
        };
        measured(plan, &arm).contains(&"clock_unstable")
    };
    let (own, field) = (plan("drain"), plan("field"));
    assert!(stepped(&own, 3_000_000, 2_000_000) && !stepped(&own, 900_000, 0));
    assert!(!stepped(&field, -3_000_000, 2_000_000), "both readings were good to 2 ms");
    assert!(stepped(&field, 5_100_000, 2_000_000) && stepped(&field, 1_100_000, 10_000));
}
