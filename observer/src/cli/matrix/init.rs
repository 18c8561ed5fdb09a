//! `wireproof matrix init`: a plan to begin with.

use super::args::InitArgs;
use crate::cli::failure::Failure;
use crate::cli::output;
use wireproof_matrices::plan::Plan;

/// Runs the verb.
pub(super) fn run(args: &InitArgs) -> Result<u8, Failure> {
    if let Some(path) = output::file(args.output.as_deref()).filter(|path| path.exists()) {
        let what = format!("{} is there already", path.display());
        return Err(Failure::usage(&what, "a plan is not overwritten, give -o another name"));
    }
    let quoted = |text: &String| format!("{text:?}");
    let values = [
        ("name", args.name.as_ref().map(quoted)),
        ("seed", args.seed.map(|seed| seed.to_string())),
        ("base_url", args.url.as_ref().map(quoted)),
    ];
    let values: Vec<_> =
        values.into_iter().filter_map(|(key, value)| value.map(|value| (key, value))).collect();
    let text = args.template.with(&values);
    Plan::read(&text).map_err(|error| Failure::usage("this makes no plan", &error.to_string()))?;
    output::write(args.output.as_deref(), |out| Ok(out.write_all(text.as_bytes())?))?;
    Ok(0)
}
