//! `--where` on the command line: an expression, or a failure with the place under it.

use super::failure::{Failure, USAGE};
use wireproof_reports::Filter;

/// The filter that was asked for, if any.
pub(super) fn parse(text: Option<&str>) -> Result<Option<Filter>, Failure> {
    let parsed = text.map(Filter::parse).transpose();
    parsed.map_err(|error| Failure::Shown {
        code: USAGE,
        text: format!("--where, {error}"),
        below: error.shown(),
    })
}
