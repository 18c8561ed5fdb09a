//! A ring as one self-contained HTML page: chosen frames span by span, gaps, percentiles, coverage, causes. All of it
//! comes from one copy. The page is the one that runs a script: it stands in the page, and the policy of the page
//! names its hash and nothing else. Without it the slowest and the median frame are drawn.

mod choice;
mod chooser;
mod frame;
mod gantt;
mod html;
mod parts;
mod record;
mod time;

pub use record::RingPage;

use std::io::Write;
use wireproof_recorder::header::Facts;
use wireproof_recorder::places::Places;
use wireproof_recorder::{Account, Ring};

use crate::render::RenderError;
use crate::ring_summary::RingSummary;

/// The script of the page.
const SCRIPT: &str = include_str!("ring/ring.js");

impl RingPage {
    /// The record of a page: `name` is that of the file; everything else has to come from one copy.
    pub fn of(
        name: &str,
        ring: &Ring,
        facts: &Facts,
        account: &Account,
        places: &Places,
        summary: RingSummary,
    ) -> RingPage {
        record::page(name, &record::Source::new(ring, facts, account, places), summary)
    }

    /// Writes the page; the octets depend on the record alone.
    ///
    /// # Errors
    /// [`RenderError::Write`] when the writer fails.
    pub fn html(&self, out: &mut dyn Write) -> Result<(), RenderError> {
        html::write(self, out)
    }
}
