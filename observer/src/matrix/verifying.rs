//! A bundle checked by somebody without the device: hashes and chain, then plan, order, what each arm measured, and verdict
//! and reports, all made again from the raw record. Every difference is named.

use super::bundle::{ArmFiles, Bundle, BundleError, MASKED, Masked, ORDER, PLAN, PROFILE, Seal};
use super::causes::CAUSES;
use super::going::{NOTED, RING, beside, without_wire_from, worked_from};
use super::hlog::{self, HLOG};
use super::judging::{CLOSING, How, files, judge_opened};
use super::measured::Worked;
use super::schedule::order_json;
use super::soaking::run_by;
use std::cell::RefCell;
use std::path::Path;
use wireproof_matrices::arm::{Arm, Measured};
use wireproof_matrices::plan::{Beside, Lock, Plan};

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
    let masked = masked(&bundle)?;
    if let Some(masked) = &masked {
        verified.notes.push(format!(
            "a masked copy: {} files of the original are not in it; streams and losses stand as they were measured",
            masked.left_out.len()
        ));
    }
    let plan = bundle.plan()?;
    verified.plan_text(&bundle, &plan)?;
    let run_by = run_by(&bundle)?;
    verified.order(&bundle, &run_by)?;
    let arms = verified.arms(&bundle, &run_by, masked.is_some())?;
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
            let layouts = RefCell::new(plan.layout.iter());
            // The texts of the plan's layouts are in the plan of the hash, in their order.
            let layout = || layouts.borrow_mut().next().map(|layout| layout.text.clone());
            let files = |what: Beside, _: &str| match bundle.files().contains_key(PROFILE) {
                _ if what == Beside::Layout => layout().ok_or("is none of the plan of the hash".to_owned()),
                true => Ok(String::from_utf8_lossy(&bundle.read(PROFILE).unwrap_or_default()).into_owned()),
                false => Err(format!("names a file, and {PROFILE} is not in the bundle")),
            };
            Plan::read_with(&text, &files).map_err(|e| e.to_string())
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
    fn arms(&mut self, bundle: &Bundle, plan: &Plan, masked: bool) -> Result<Vec<Arm>, BundleError> {
        let mut arms = Vec::new();
        for files in bundle.arms() {
            let Some(arm) = bundle.arm(&files)? else { continue };
            arms.push(match masked {
                true => self.masked_arm(bundle, plan, &files, arm),
                false => self.arm(bundle, plan, &files, arm),
            });
        }
        let same = arms.len();
        if self.differences.iter().all(|line| !line.starts_with("arms/")) {
            let what = if masked { ", as far as clocks, status and rings tell" } else { "" };
            self.checked.push(format!("{same} arms measure the same again{what}"));
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
        match worked_from(plan, &bundle.dir().join(folder)) {
            Ok(again) => {
                self.beside(bundle, plan, files, &again);
                let again = again.measured;
                if again == arm.measured {
                    return arm;
                }
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

    /// Works out what an arm without its tape still shows. One whose ring was left out, too, stands as it is.
    fn masked_arm(&mut self, bundle: &Bundle, plan: &Plan, files: &ArmFiles, arm: Arm) -> Arm {
        let folder = files.files.values().next().and_then(|path| Path::new(path).parent());
        let Some(folder) = folder.filter(|_| files.files.contains_key(RING) || !arm.measured.ring) else {
            return arm;
        };
        let kept = &arm.measured;
        match without_wire_from(plan, &bundle.dir().join(folder)) {
            Ok(again) => {
                let (streams, episodes) = (kept.streams.clone(), kept.episodes.clone());
                let again = Measured { streams, episodes, health: kept.health.clone(), ..again };
                if again != *kept {
                    let what = differing(&arm, &Arm { measured: again, ..arm.clone() });
                    self.differences.push(format!("{}/arm.json: {what}", folder.display()));
                }
            }
            Err(error) => {
                self.differences.push(format!("{}: cannot be measured again: {error}", folder.display()));
            }
        }
        arm
    }

    /// Makes the files again that show what is not judged; a bundle that was written before there were such files has none.
    fn beside(&mut self, bundle: &Bundle, plan: &Plan, files: &ArmFiles, again: &Worked) {
        let made = match beside(plan, again) {
            Ok(made) => made,
            Err(error) => {
                return self.differences.push(format!("arms/: {HLOG} cannot be made again: {error}"));
            }
        };
        for name in [HLOG, CAUSES] {
            let Some(path) = files.files.get(name) else { continue };
            let made = made.iter().find(|(made, _)| *made == name).map(|(_, octets)| octets);
            let is_same = |kept: &[u8], made: &[u8]| match name {
                // The values count, not how some version of a library packs them.
                HLOG => kept == made || hlog::read(kept).ok() == hlog::read(made).ok(),
                _ => kept == made,
            };
            if !bundle.read(path).ok().zip(made).is_some_and(|(kept, made)| is_same(&kept, made)) {
                self.differences.push(format!("{path}: not what the raw files give"));
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

/// What a masked copy says of itself; `None` for a bundle that is none.
fn masked(bundle: &Bundle) -> Result<Option<Masked>, BundleError> {
    if !bundle.files().contains_key(MASKED) {
        return Ok(None);
    }
    let refused = |e: serde_json::Error| BundleError::Refused { path: MASKED.to_owned(), why: e.to_string() };
    serde_json::from_slice(&bundle.read(MASKED)?).map(Some).map_err(refused)
}

/// Which parts of what was measured differ.
fn differing(kept: &Arm, again: &Arm) -> String {
    let value = |arm: &Arm| serde_json::to_value(&arm.measured).unwrap_or_default();
    let (kept, again) = (value(kept), value(again));
    let keys = kept.as_object().into_iter().flatten().map(|(key, _)| key);
    let names: Vec<&str> = keys.filter(|key| kept.get(*key) != again.get(*key)).map(String::as_str).collect();
    format!("{} differ from what the raw files give", names.join(", "))
}
