//! What a run is judged on beside its rig's shapes: the rig's waivers, then the filter. Both are laid over the account of
//! the whole run, so that nothing is verified otherwise because of them.

use crate::filter::{Filter, Filtered, filter, fitting};
use crate::standing::Standing;
use crate::waiver::{Waived, Waiver, mark, waive, waive_so_far};
use wireproof_protocols::verify::rig::RigOutput;
use wireproof_protocols::verify::{Account, Options};

/// The terms of a run.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Which streams are wanted; all without one.
    pub filter: Option<Filter>,
    /// The rig's waivers.
    pub waivers: Vec<Waiver>,
    /// What the run was verified with.
    pub options: Options,
}

/// What they came to.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// What the filter left.
    pub filter: Option<Filtered>,
    /// What became of each waiver.
    pub waivers: Vec<Waived>,
}

impl Terms {
    /// Lays them over an account. Waivers come first: their limits are for the whole run, whatever of it is shown.
    pub fn settle(&self, account: &mut Account) -> Settled {
        let waivers = waive(account, &self.waivers, self.declared(), &self.options);
        self.filtered(account, waivers)
    }

    /// Lays them over the account of a run that goes on: that nothing matched a waiver so far is no finding.
    pub fn settle_so_far(&self, account: &mut Account) -> Settled {
        let waivers = waive_so_far(account, &self.waivers, self.declared(), &self.options);
        self.filtered(account, waivers)
    }

    /// How each stream and each finding counts, of a run that goes on or of one that has ended.
    pub fn stand(&self, account: &Account) -> Standing {
        let mut marked = account.clone();
        let waivers = mark(&mut marked, &self.waivers, self.declared());
        let wanted = match &self.filter {
            Some(filter) => fitting(account, filter),
            None => vec![true; account.streams.len()],
        };
        Standing::of(&marked, wanted, self.filter.as_ref(), &waivers)
    }

    /// True when nothing is left out and nothing waived.
    pub fn is_empty(&self) -> bool {
        self.filter.is_none() && self.waivers.is_empty()
    }

    fn filtered(&self, account: &mut Account, waivers: Vec<Waived>) -> Settled {
        let filter = self.filter.as_ref().map(|wanted| filter(account, wanted, self.declared()));
        Settled { filter, waivers }
    }

    fn declared(&self) -> &[RigOutput] {
        self.options.rig.as_ref().map_or(&[][..], |rig| &rig.outputs)
    }
}
