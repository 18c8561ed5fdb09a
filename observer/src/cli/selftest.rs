//! `wireproof selftest`: every planted fault through the verifier, judged by what the simulated link really did.

use super::args::{SelftestArgs, SelftestOf};
use super::failure::Failure;
use super::output;
use crate::rig_file;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use wireproof_fixture::{Case, apply, cases, judge, write_pcap};
use wireproof_protocols::verify::{Options, Verifier};

/// Runs the verb: a line a case, `N/N` last.
pub(super) fn run(args: &SelftestArgs) -> Result<u8, Failure> {
    if args.what == Some(SelftestOf::Stall) {
        let text = super::stall::check(false)?;
        output::write(None, |out| Ok(writeln!(out, "{text}")?))?;
        return Ok(0);
    }
    let filter = args.filter.as_deref().unwrap_or_default();
    let chosen: Vec<Case> = cases().into_iter().filter(|case| case.name.contains(filter)).collect();
    if chosen.is_empty() {
        let what = format!("no case has {filter:?} in its name");
        return Err(Failure::usage(&what, "`wireproof selftest` lists the names"));
    }
    let seeds = seeds(args)?;
    if let Some(folder) = &args.write {
        write_all(&chosen, args.seed, folder)?;
    }
    let mut passed = 0;
    output::write(None, |out| {
        for case in &chosen {
            passed += usize::from(one(case, seeds.clone(), out)?);
        }
        Ok(writeln!(out, "{passed}/{}", chosen.len())?)
    })?;
    Ok(u8::from(passed < chosen.len()))
}

/// Writes every case as a capture file of its own, what happened in it beside it, and its rig where it has one.
fn write_all(cases: &[Case], seed: u64, folder: &Path) -> Result<(), Failure> {
    let refused = |path: &Path, e: io::Error| {
        Failure::io(&format!("cannot write {}: {e}", path.display()), "name another folder with --write")
    };
    std::fs::create_dir_all(folder).map_err(|e| refused(folder, e))?;
    for case in cases {
        let unbuilt = |e| Failure::usage(&format!("{}: {e}", case.name), "use another --seed");
        let planted = (case.build)(seed).map_err(unbuilt)?;
        let path = folder.join(format!("{}.pcap", case.name));
        let mut out = BufWriter::new(File::create(&path).map_err(|e| refused(&path, e))?);
        write_pcap(&planted, &mut out).and_then(|()| out.flush()).map_err(|e| refused(&path, e))?;
        let truth = folder.join(format!("{}.truth.txt", case.name));
        let text = format!("{}\n{:#?}\n", case.what, planted.truth);
        std::fs::write(&truth, text).map_err(|e| refused(&truth, e))?;
        if let Some(rig) = &planted.rig {
            let path = folder.join(format!("{}.rig.toml", case.name));
            let comment = format!("The rig of the planted case {}.", case.name);
            std::fs::write(&path, rig_file::to_toml(rig, &[comment])).map_err(|e| refused(&path, e))?;
        }
    }
    Ok(())
}

fn seeds(args: &SelftestArgs) -> Result<RangeInclusive<u64>, Failure> {
    let last = args.seed.checked_add(args.seeds.saturating_sub(1)).ok_or_else(|| {
        let what = format!("there are no {} seeds from {} on", args.seeds, args.seed);
        Failure::usage(&what, "give a smaller --seed or --seeds")
    })?;
    Ok(args.seed..=last)
}

/// The first failing seed with its differences, and how many failed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Failed {
    first: u64,
    problems: Vec<String>,
    seeds: u64,
}

fn one(case: &Case, seeds: RangeInclusive<u64>, out: &mut dyn Write) -> Result<bool, Failure> {
    let only = seeds.start() == seeds.end();
    let count = u128::from(seeds.end() - seeds.start()) + 1;
    let failed = failed(case, seeds);
    let word = if failed.seeds == 0 { "PASS" } else { "FAIL" };
    match failed.seeds {
        _ if only => writeln!(out, "{word}  {:<32}  {}", case.name, case.what)?,
        0 => writeln!(out, "{word}  {:<32}  {count} seeds", case.name)?,
        n => writeln!(out, "{word}  {:<32}  {n} of {count} seeds, the first is {}", case.name, failed.first)?,
    }
    for problem in &failed.problems {
        writeln!(out, "      seed {}: {}", failed.first, wireproof_reports::text::clean(problem))?;
    }
    out.flush()?;
    Ok(failed.seeds == 0)
}

/// Runs the case with every seed; only the differences of the first that fails are kept.
fn failed(case: &Case, seeds: RangeInclusive<u64>) -> Failed {
    let mut failed = Failed::default();
    for seed in seeds {
        let problems = problems(case, seed);
        if problems.is_empty() {
            continue;
        }
        if failed.seeds == 0 {
            (failed.first, failed.problems) = (seed, problems);
        }
        failed.seeds += 1;
    }
    failed
}

fn problems(case: &Case, seed: u64) -> Vec<String> {
    let planted = match (case.build)(seed) {
        Ok(planted) => planted,
        Err(error) => return vec![format!("the case cannot be built: {error}")],
    };
    let mut verifier = Verifier::new(Options { rig: planted.rig.clone(), ..Options::default() });
    apply(&planted, &mut verifier);
    judge(&planted.truth, &verifier.finish()).err().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case whose truth is wrong about one datagram for every third seed.
    fn wrong() -> Case {
        let build = |seed: u64| {
            let mut planted = (cases()[0].build)(1)?;
            planted.truth.tally.delivered += u64::from(seed.is_multiple_of(3));
            Ok(planted)
        };
        Case { name: "wrong", build, ..cases()[0] }
    }

    fn told(case: &Case, seeds: RangeInclusive<u64>) -> (bool, String) {
        let mut out = Vec::new();
        let passed = one(case, seeds, &mut out).unwrap();
        (passed, String::from_utf8(out).unwrap())
    }

    #[test]
    fn many_seeds_are_one_line_a_case() {
        let (passed, text) = told(&wrong(), 4..=5);
        assert_eq!((passed, text), (true, format!("PASS  {:<32}  2 seeds\n", "wrong")));
    }

    #[test]
    fn a_case_that_fails_tells_the_first_seed_its_differences_and_how_many() {
        let (passed, text) = told(&wrong(), 4..=10);
        let head = format!("FAIL  {:<32}  2 of 7 seeds, the first is 6\n", "wrong");
        assert!(!passed && text.starts_with(&head), "{text}");
        assert_eq!(text.matches("      seed 6: capture: lighting datagrams ").count(), 1, "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn one_seed_says_what_is_planted() {
        let case = wrong();
        assert_eq!(told(&case, 4..=4).1, format!("PASS  {:<32}  {}\n", "wrong", case.what));
    }
}
