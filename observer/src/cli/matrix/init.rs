//! `wireproof matrix init`: a plan to begin with.

use super::args::InitArgs;
use super::load;
use crate::cli::failure::Failure;
use crate::cli::output;
use std::path::Path;
use wireproof_matrices::plan::{Beside, Plan, TEMPLATES, Template};

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
        ("profile", args.profile.as_ref().map(quoted)),
    ];
    let values: Vec<_> =
        values.into_iter().filter_map(|(key, value)| value.map(|value| (key, value))).collect();
    let beside = output::file(args.output.as_deref()).unwrap_or(Path::new("-"));
    let text = template(args)?.with(&values);
    let files = |what: Beside, file: &str| load::beside(beside, what, file);
    Plan::read_with(&text, &files)
        .map_err(|error| Failure::usage("this makes no plan", &error.to_string()))?;
    output::write(args.output.as_deref(), |out| Ok(out.write_all(text.as_bytes())?))?;
    Ok(0)
}

/// The template that was named, or the one for the profile: those for our own device hold of no other one.
fn template(args: &InitArgs) -> Result<&'static Template, Failure> {
    let named = args.profile.as_deref().and_then(Template::find).filter(|template| template.takes_profile());
    let template = args.template.or(named).ok_or_else(|| {
        let what = "--profile names a file, and no --template says what to begin with";
        Failure::usage(what, &format!("add --template {}", others()))
    })?;
    match args.profile.is_none() || template.takes_profile() {
        true => Ok(template),
        false => {
            let what = format!("--template {} is for the simulated device", template.name);
            Err(Failure::usage(&what, &format!("with --profile take {}", others())))
        }
    }
}

fn others() -> String {
    let other = TEMPLATES.iter().filter(|template| template.takes_profile());
    other.map(|template| template.name).collect::<Vec<_>>().join(" or ")
}
