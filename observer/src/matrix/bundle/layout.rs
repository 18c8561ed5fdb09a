//! Names in a bundle.

use wireproof_matrices::arm::Place;
use wireproof_matrices::digest::Digest;
use wireproof_reports::text::rfc3339;

/// The plan as it was given.
pub const PLAN: &str = "plan.toml";
/// The profile as it was given, of a plan that names a file.
pub const PROFILE: &str = "profile.toml";
/// The typed plan with every default, whose hash is the hash of the plan.
pub const CANONICAL: &str = "plan.canonical.json";
/// The order of the arms.
pub const ORDER: &str = "order.json";
/// The journal.
pub const JOURNAL: &str = "journal.log";

/// `<UTC yyyymmddThhmmssZ>-<name>-<first 8 of the plan hash>`; further runs of the same second have `-2` and so on behind it.
pub fn bundle_name(at_ns: i64, name: &str, plan: &Digest) -> String {
    let second: String = rfc3339(at_ns, 6).chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    format!("{second}Z-{}-{}", plain(name, 40), plan.short())
}

/// `arms/b01-p1-raw-a1`: block, position, treatment, attempt; `arms/s2-b01-…` in a stratum behind the first.
pub fn arm_folder(place: &Place, treatment: &str) -> String {
    let stratum = match place.stratum {
        0 => String::new(),
        behind => format!("s{}-", u64::from(behind) + 1),
    };
    let (block, position, attempt) = (place.block, place.position, place.attempt);
    format!("arms/{stratum}b{block:02}-p{position}-{}-a{attempt}", plain(treatment, 80))
}

/// What may stand in a path on every system; everything else becomes `_`.
fn plain(text: &str, longest: usize) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "=,-_".contains(c) { c } else { '_' };
    text.chars().take(longest).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_named_by_time_plan_and_hash() {
        let name = bundle_name(1_700_000_000_999_999_999, "drain-safety", &Digest::of(b""));
        assert_eq!(name, "20231114T221320Z-drain-safety-e3b0c442");
    }

    #[test]
    fn an_arm_is_named_by_its_place_and_never_leaves_the_folder() {
        let mut place = Place { stratum: 0, block: 1, position: 2, treatment: 0, attempt: 1 };
        assert_eq!(arm_folder(&place, "raw"), "arms/b01-p2-raw-a1");
        place.stratum = 1;
        assert_eq!(arm_folder(&place, "drain=raw,preview=on"), "arms/s2-b01-p2-drain=raw,preview=on-a1");
        assert_eq!(arm_folder(&place, "../é/x:\\"), "arms/s2-b01-p2-_____x__-a1");
    }
}
