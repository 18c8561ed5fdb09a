//! Leases of factors: a level that the device holds only for a while is set again before each arm, outside of every window.
//!
//! It never decides how long a lease has to be; that is checked before the run.

use super::Runner;
use super::io::{Answer, Command, Failure, Outcome};
use super::steps::{Move, Step, intent};
use crate::journal::Step as Named;
use crate::plan::Role;

impl Runner {
    /// Steps that renew every lease, in the order of the plan. Treatments are set in each arm anyway.
    pub(super) fn renewing(&self) -> impl Iterator<Item = Step> + '_ {
        let lasts = |name: &str| self.plan.factor.iter().any(|f| f.name == name && f.role != Role::Treatment);
        let leased = self.plan.toggle.iter().filter(move |toggle| {
            toggle.lease_ns.is_some() && self.held.contains_key(&toggle.factor) && lasts(&toggle.factor)
        });
        leased.flat_map(|toggle| {
            let factor = toggle.factor.clone();
            [intent(Named::Set, None, format!("{factor}, for its lease")), Step::Renew(factor)]
        })
    }

    /// Sets a factor to the level it stands at. That it held until then is what reading it back at the end of each arm shows.
    pub(super) fn renew(&mut self, factor: String, answer: Option<Result<Answer, Failure>>) -> Move {
        let (Some(level), Some(toggle)) = (self.held.get(&factor).cloned(), self.toggle(&factor)) else {
            return Move::Next;
        };
        match answer {
            None => {
                let limit = toggle.timeout_ns;
                Move::Ask(Command::SetToggle { factor: factor.clone(), level }, limit, Step::Renew(factor))
            }
            Some(Ok(_)) => {
                if let Some(arm) = &mut self.arm {
                    arm.set = self.now;
                }
                Move::Next
            }
            Some(Err(failure)) => {
                self.stop(Outcome::Invalid, format!("the lease of {factor} could not be renewed: {failure}"));
                Move::Next
            }
        }
    }
}
