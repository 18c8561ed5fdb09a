//! What a run is judged on beside its rig's shapes: the rig's waivers, then the filter. Both are laid over the account of
//! the whole run, so that nothing is verified otherwise because of them.

use crate::filter::{Filter, Filtered, filter};
use crate::waiver::{Waived, Waiver, waive};
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
        let declared = self.options.rig.as_ref().map_or(&[][..], |rig| &rig.outputs);
        let waivers = waive(account, &self.waivers, declared, &self.options);
        let filter = self.filter.as_ref().map(|wanted| filter(account, wanted, declared));
        Settled { filter, waivers }
    }
}
