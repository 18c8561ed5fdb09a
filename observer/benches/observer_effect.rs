//! Does reading the recorder disturb the device? Paired arms: nothing, raw copies, a conversion on the device, with the
//! device and its web service tied to one processor and everything else to another.
//!
//! `cargo bench -p wireproof --bench observer_effect`; under 8 minutes on a quiet host. The rule was fixed beforehand
//! (field notes A, experiments 6.1): the upper 95 % bound of the paired differences and the difference of the medians
//! are at most 0.50 ms for p95 and 1.00 ms for p99. Raw copies have to pass it, the conversion must not. Then the
//! writer's own cost, with its interval. `OBSERVER_EFFECT_BLOCKS`, `_SECONDS`, `_WARM_UP`, `_COST_BLOCKS`,
//! `_COST_SECONDS`, `_LOAD`, `_SEED`, `_REPEATS`, `_NICED`, `_DEVICE_CPU` and `_BENCH_CPU` change the run. The last line
//! is JSON. Exit code 1 when a line does not hold, 4 when blocks count that the host disturbed.

mod effect;
mod load;

use effect::options::Options;
use effect::quiet::{self, Sentinel};
use effect::rig::{Rig, stay_on};
use effect::said::Said;
use effect::{Outcome, compare, cost, said};
use load::host;
use std::io::{self, Write};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

fn main() -> Outcome<ExitCode> {
    let inside = std::env::args().any(|argument| argument == "inside");
    if inside {
        Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    }
    // The ports are the protocols' own: in a network of its own nobody else has them or sends to them.
    let may =
        !inside && Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success());
    if may {
        let exe = std::env::current_exe()?;
        let run = Command::new("unshare").arg("-n").arg(exe).arg("inside").status()?;
        return Ok(ExitCode::from(u8::try_from(run.code().unwrap_or(1)).unwrap_or(1)));
    }
    bench(&Options::of_environment()?)
}

fn bench(options: &Options) -> Outcome<ExitCode> {
    let mut say = |line: &str| drop(writeln!(io::stdout(), "{line}"));
    if options.device_cpu == options.bench_cpu {
        return Err("device and bench need a processor each".into());
    }
    host::facts().iter().for_each(|line| say(line));
    stay_on(options.bench_cpu)?;
    said::plan(options).iter().for_each(|line| say(line));
    say(&quiet::rule(options.repeats));
    let sentinel = Sentinel::start(options.bench_cpu)?;
    say(&format!("sleeper with real-time priority: {}", if sentinel.realtime { "yes" } else { "no" }));
    let mut said = Said::default();
    let rig = Rig::start(options, &options.load)?;
    say(&format!("warm-up of {} s", options.warm_up));
    thread::sleep(Duration::from_secs(options.warm_up));
    let niced = options.niced.then_some(compare::NICED);
    for treatment in [compare::RAW, compare::PLAIN].into_iter().chain(niced) {
        say(&format!("{}: {}; without, with", treatment.name, treatment.what));
        said.comparisons.push(compare::run(&rig, &sentinel, options, treatment, &mut say)?);
    }
    let (device, summary) = rig.end()?;
    (said.device, said.summary) = (device, summary);
    if options.cost_blocks > 0 {
        say("writer: processor time of the engine's thread, recorder off and on, no work of its own");
        let rig = Rig::start(options, "0")?;
        thread::sleep(Duration::from_secs(2));
        said.cost = Some(cost::run(&rig, &sentinel, options, &mut say)?);
        rig.end()?;
        said.hot = Some(cost::hot()?);
    }
    let told = said.judge();
    told.lines.iter().for_each(|line| say(line));
    say(&told.json.to_string());
    Ok(ExitCode::from(told.code))
}
