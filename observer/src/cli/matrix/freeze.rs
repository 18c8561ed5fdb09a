//! `wireproof matrix freeze`: the canonical form and the hashes of a plan, to be committed before the code under test.

use super::args::FreezeArgs;
use super::check::{predict, refuse_unrunnable};
use super::load;
use crate::cli::failure::Failure;
use crate::cli::output;
use std::path::{Path, PathBuf};
use wireproof_matrices::plan::Lock;
use wireproof_matrices::plan::check::check;

/// Runs the verb.
pub(super) fn run(args: &FreezeArgs) -> Result<u8, Failure> {
    let loaded = load::load(&args.file)?;
    if loaded.frozen {
        let what = format!("{} is a lock already", args.file.display());
        return Err(Failure::usage(&what, "freeze the plan it was made of"));
    }
    let lock = loaded.lock;
    refuse_unrunnable(&args.file, &check(&lock.plan, &predict))?;
    let target = target(args)?;
    if let Some(path) = output::file(Some(&target)) {
        output::check(std::slice::from_ref(&args.file), Some(path))?;
        keep_other(path, &lock)?;
    }
    let text =
        lock.text().map_err(|error| Failure::usage("this plan cannot be frozen", &error.to_string()))?;
    output::write(Some(&target), |out| Ok(out.write_all(text.as_bytes())?))?;
    if output::file(Some(&target)).is_some() {
        output::write(None, |out| {
            writeln!(out, "plan_sha256   {}", lock.plan_sha256)?;
            writeln!(out, "gates_sha256  {}", lock.gates_sha256)?;
            Ok(writeln!(out, "file_sha256   {}", lock.file_sha256)?)
        })?;
    }
    Ok(0)
}

fn target(args: &FreezeArgs) -> Result<PathBuf, Failure> {
    match &args.output {
        Some(path) => Ok(path.clone()),
        None if args.file.as_os_str() == "-" => {
            Err(Failure::usage("standard input has no name to make the lock's of", "give -o"))
        }
        None => Ok(args.file.with_extension("lock")),
    }
}

/// Refuses to overwrite what is no lock of this plan: a frozen plan is kept.
fn keep_other(path: &Path, lock: &Lock) -> Result<(), Failure> {
    if !path.is_file() {
        return Ok(());
    }
    let there = Lock::read(&load::text(path)?).ok().map(|there| there.plan_sha256);
    match there {
        Some(hash) if hash == lock.plan_sha256 => Ok(()),
        Some(hash) => {
            let what = format!("{} holds another plan, {hash}", path.display());
            Err(Failure::usage(&what, "a frozen plan is kept: give -o another name, or remove it"))
        }
        None => {
            let what = format!("{} is there already and no lock", path.display());
            Err(Failure::usage(&what, "give -o another name"))
        }
    }
}
