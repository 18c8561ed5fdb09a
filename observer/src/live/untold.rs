//! What a run has found and nobody was told of while it went on: findings that only its end can settle, and those that came
//! too fast. It judges nothing and sends nothing.

use super::receive::Told;
use std::collections::HashMap;
use wireproof_protocols::verify::{Account, Finding};

/// What a finding is known by before it has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    code: &'static str,
    stream: Option<usize>,
    packet: u64,
}

impl Key {
    /// The key of a finding.
    pub fn of(f: &Finding) -> Key {
        Key { code: f.code, stream: f.stream, packet: f.first_packet }
    }
}

/// The findings of an account beyond those that were told, in its order. One that was told of another packet is the same
/// finding: torn frames that turned out to be one run begin where the first of them is.
pub fn untold(account: &Account, told: &[Key]) -> Vec<Told> {
    let mut left: HashMap<(&str, Option<usize>), Vec<u64>> = HashMap::new();
    told.iter().for_each(|key| left.entry((key.code, key.stream)).or_default().push(key.packet));
    let mut take = |f: &Finding, packet: Option<u64>| {
        let told = left.get_mut(&(f.code, f.stream)).filter(|told| !told.is_empty());
        let Some(told) = told else { return false };
        let at = packet.map_or(Some(0), |packet| told.iter().position(|p| *p == packet));
        at.map(|at| told.swap_remove(at)).is_some()
    };
    let others: Vec<&Finding> = account.findings.iter().filter(|f| !take(f, Some(f.first_packet))).collect();
    let rest = others.into_iter().filter(|f| !take(f, None));
    rest.map(|f| Told::of(f, f.stream.and_then(|s| account.streams.get(s).cloned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireproof_protocols::verify::{Options, Verifier, rules};
    use wireproof_protocols::{Rule, Timestamp};

    /// An account with a finding of each of these rules about no stream.
    fn account(rules: &[&'static Rule]) -> Account {
        let mut verifier = Verifier::new(Options::default());
        rules.iter().for_each(|rule| verifier.remark(rule, Timestamp(1), "said".to_owned()));
        verifier.finish()
    }

    #[test]
    fn what_was_told_is_not_told_again_and_what_was_not_is() {
        let account = account(&[rules::OBS_STALL, rules::OBS_LINK]);
        let keys: Vec<Key> = account.findings.iter().map(Key::of).collect();
        let rest = |told: &[Key]| untold(&account, told).iter().map(|t| t.code).collect::<Vec<_>>();
        assert_eq!(rest(&[]).len(), 2);
        assert_eq!(rest(&keys[..1]), [account.findings[1].code]);
        assert!(rest(&keys).is_empty());
    }

    #[test]
    fn one_told_of_another_packet_stands_for_one_finding_and_no_more() {
        let mut account = account(&[rules::OBS_STALL]);
        let finding = account.findings[0].clone();
        account.findings = (1..=3).map(|n| Finding { first_packet: n, ..finding.clone() }).collect();
        let told = [Key { packet: 9, ..Key::of(&finding) }, Key { packet: 2, ..Key::of(&finding) }];
        assert_eq!(untold(&account, &told).len(), 1);
        let other = [Key { stream: Some(4), ..Key::of(&finding) }];
        assert_eq!(untold(&account, &other).len(), 3);
    }
}
