//! `wireproof schema`: the JSON Schemas of all records, as they are shipped with the tool. Validates nothing.

use super::explain::distance;
use super::failure::Failure;
use super::output;
use clap::Args;
use wireproof_reports::SCHEMAS;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof schema
  wireproof schema summary > summary.schema.json

Without a name it lists them. The name is that of the record: `summary` for wireproof.summary/1.")]
pub(super) struct SchemaArgs {
    /// Name of the record, such as summary
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Runs the verb.
pub(super) fn run(args: &SchemaArgs) -> Result<u8, Failure> {
    match &args.name {
        None => output::write(None, |out| {
            SCHEMAS.iter().try_for_each(|(name, _)| Ok(writeln!(out, "{name:<20}  wireproof.{name}/1")?))
        })?,
        Some(name) => {
            let text = find(name)?;
            output::write(None, |out| Ok(writeln!(out, "{}", text.trim_end())?))?;
        }
    }
    Ok(0)
}

/// The schema of a record, by its short name or the whole one.
fn find(asked: &str) -> Result<&'static str, Failure> {
    let short = asked.strip_prefix("wireproof.").unwrap_or(asked);
    let short = short.strip_suffix("/1").unwrap_or(short);
    let found = SCHEMAS.iter().find(|(name, _)| *name == short);
    found.map(|(_, text)| *text).ok_or_else(|| unknown(asked, short))
}

fn unknown(asked: &str, short: &str) -> Failure {
    let mut near: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
    near.sort_by_key(|name| (!name.contains(short), distance(short, name)));
    let hint = format!("did you mean {}? `wireproof schema` lists them", near[..3].join(", "));
    Failure::usage(&format!("no record has the name {asked:?}"), &hint)
}
