//! A bundle checked by somebody without the device: hashes and chain, then plan, order, what each arm measured, and verdict
//! and reports, all made again from the raw record. Every difference is named.

use super::bundle::{ArmFiles, Bundle, BundleError, ORDER, PLAN, Seal};
use super::going::{NOTED, measured_from};
use super::judging::{CLOSING, How, files, judge_opened};
use super::schedule::order_json;
use super::soaking::run_by;
use std::path::Path;
use wireproof_matrices::arm::{Arm, Measured};
use wireproof_matrices::plan::{Lock, Plan};

/// What was checked, and what differs.
#[derive(Debug, Default)]
pub struct Verified {
    /// What was found to be right, one line each.
    pub checked: Vec<String>,
    /// What differs, one line each.
    pub differences: Vec<String>,
    /// What is not as it should be and no difference, such as a bundle that is not sealed.
    pub notes: Vec<String>,
}

/// Checks a bundle. Hashes that do not agree are an error, named by file; nothing is made again then.
///
/// # Errors
/// [`BundleError`]
pub fn verify(dir: &Path) -> Result<Verified, BundleError> {
    let bundle = Bundle::open(dir)?;
    let mut verified = Verified::default();
    let entries = bundle.journal().len();
    verified.checked.push(format!(
        "{} files as recorded, {entries} journal records in their chain, plan {}",
        bundle.files().len(),
        bundle.plan_sha256()
    ));
    match bundle.seal() {
        Seal::Sealed => verified.checked.push("manifest: sealed".to_owned()),
        Seal::Cut => verified.notes.push("the seal was cut: its manifest is missing".to_owned()),
        Seal::Open => verified.notes.push("not sealed: the run was cut, or goes on".to_owned()),
    }
    verified.notes.extend(bundle.orphans().iter().map(|path| format!("{path}: no record names it")));
    let plan = bundle.plan()?;
    verified.plan_text(&bundle, &plan)?;
    let run_by = run_by(&bundle)?;
    verified.order(&bundle, &run_by)?;
    let arms = verified.arms(&bundle, &run_by)?;
    verified.soak(&bundle, &run_by, &arms)?;
    verified.reports(&bundle, arms)?;
    Ok(verified)
}

impl Verified {
    /// The plan as it was given is the plan that was hashed.
    fn plan_text(&mut self, bundle: &Bundle, plan: &Plan) -> Result<(), BundleError> {
        let text = String::from_utf8_lossy(&bundle.read(PLAN)?).into_owned();
        let read = if Lock::meant(&text) {
            Lock::read(&text).map(|lock| lock.plan).map_err(|e| e.to_string())
        } else {
            Plan::read(&text).map_err(|e| e.to_string())
        };
        match read {
            Ok(given) if given == *plan => self.checked.push(format!("{PLAN}: is the plan of the hash")),
            Ok(_) => self.differences.push(format!("{PLAN}: is another plan than the one of the hash")),
            Err(why) => self.differences.push(format!("{PLAN}: cannot be read again: {why}")),
        }
        Ok(())
    }

    fn order(&mut self, bundle: &Bundle, plan: &Plan) -> Result<(), BundleError> {
        if bundle.read(ORDER)? == order_json(plan) {
            self.checked.push(format!("{ORDER}: as seed {} makes it", plan.design.seed));
        } else {
            self.differences.push(format!("{ORDER}: not the order of seed {}", plan.design.seed));
        }
        Ok(())
    }

    /// Works out each arm again from its raw files.
    fn arms(&mut self, bundle: &Bundle, plan: &Plan) -> Result<Vec<Arm>, BundleError> {
        let mut arms = Vec::new();
        for files in bundle.arms() {
            let Some(arm) = bundle.arm(&files)? else { continue };
            arms.push(self.arm(bundle, plan, &files, arm));
        }
        let same = arms.len();
        if self.differences.iter().all(|line| !line.starts_with("arms/")) {
            self.checked.push(format!("{same} arms measure the same again"));
        }
        Ok(arms)
    }

    fn arm(&mut self, bundle: &Bundle, plan: &Plan, files: &ArmFiles, arm: Arm) -> Arm {
        let folder = files.files.values().next().and_then(|path| Path::new(path).parent());
        let Some(folder) = folder else { return arm };
        // An arm that ended before its window has nothing that it could be measured from, and says so.
        if arm.measured == Measured::default() && !files.files.contains_key(NOTED) {
            return arm;
        }
        match measured_from(plan, &bundle.dir().join(folder)) {
            Ok(again) if again == arm.measured => arm,
            Ok(again) => {
                let what = differing(&arm, &Arm { measured: again.clone(), ..arm.clone() });
                self.differences.push(format!("{}/arm.json: {what}", folder.display()));
                Arm { measured: again, ..arm }
            }
            Err(error) => {
                self.differences.push(format!("{}: cannot be measured again: {error}", folder.display()));
                arm
            }
        }
    }

    /// Makes verdict and reports again.
    fn reports(&mut self, bundle: &Bundle, arms: Vec<Arm>) -> Result<(), BundleError> {
        if !bundle.files().contains_key(CLOSING) {
            return Ok(());
        }
        let judged = judge_opened(bundle, &How { arms: Some(arms), ..How::default() })?;
        for (name, octets) in files(&judged)? {
            match bundle.files().contains_key(name) {
                true if bundle.read(name)? == octets => self.checked.push(format!("{name}: the same again")),
                true => self.differences.push(format!("{name}: differs from what the arms give")),
                false => self.notes.push(format!("{name}: not there")),
            }
        }
        Ok(())
    }
}

/// Which parts of what was measured differ.
fn differing(kept: &Arm, again: &Arm) -> String {
    let value = |arm: &Arm| serde_json::to_value(&arm.measured).unwrap_or_default();
    let (kept, again) = (value(kept), value(again));
    let keys = kept.as_object().into_iter().flatten().map(|(key, _)| key);
    let names: Vec<&str> = keys.filter(|key| kept.get(*key) != again.get(*key)).map(String::as_str).collect();
    format!("{} differ from what the raw files give", names.join(", "))
}
