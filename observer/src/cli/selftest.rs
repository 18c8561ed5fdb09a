//! `wireproof selftest`: every planted fault through the verifier, judged by what the simulated link really did.

use super::args::SelftestArgs;
use super::failure::Failure;
use super::output;
use std::io::Write;
use wireproof_fixture::{Case, apply, cases, judge};
use wireproof_protocols::verify::{Options, Verifier};

/// Runs the verb: a line a case, `N/N` last.
pub(super) fn run(args: &SelftestArgs) -> Result<u8, Failure> {
    let filter = args.filter.as_deref().unwrap_or_default();
    let chosen: Vec<Case> = cases().into_iter().filter(|case| case.name.contains(filter)).collect();
    if chosen.is_empty() {
        let what = format!("no case has {filter:?} in its name");
        return Err(Failure::usage(&what, "`wireproof selftest` lists the names"));
    }
    let mut passed = 0;
    output::write(None, |out| {
        for case in &chosen {
            passed += usize::from(one(case, args.seed, out)?);
        }
        Ok(writeln!(out, "{passed}/{}", chosen.len())?)
    })?;
    Ok(u8::from(passed < chosen.len()))
}

fn one(case: &Case, seed: u64, out: &mut dyn Write) -> Result<bool, Failure> {
    let problems = problems(case, seed);
    let word = if problems.is_empty() { "PASS" } else { "FAIL" };
    writeln!(out, "{word}  {:<32}  {}", case.name, case.what)?;
    for problem in &problems {
        writeln!(out, "      seed {seed}: {}", wireproof_reports::text::clean(problem))?;
    }
    Ok(problems.is_empty())
}

fn problems(case: &Case, seed: u64) -> Vec<String> {
    let planted = match (case.build)(seed) {
        Ok(planted) => planted,
        Err(error) => return vec![format!("the case cannot be built: {error}")],
    };
    let mut verifier = Verifier::new(Options { rig: planted.rig.clone(), strict: false });
    apply(&planted, &mut verifier);
    judge(&planted.truth, &verifier.finish()).err().unwrap_or_default()
}
