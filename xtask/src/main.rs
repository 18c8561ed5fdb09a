//! Project checks: `cargo xtask tidy` looks for what the compiler cannot see, `cargo xtask docs` regenerates, `cargo xtask
//! fuzz` runs the fuzzers.

mod files;
mod fuzz;
mod licenses;
mod packages;
mod source;

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let verb = std::env::args().nth(1).unwrap_or_default();
    let outcome = match verb.as_str() {
        "tidy" => tidy(),
        "docs" => docs(),
        "fuzz" => root().and_then(|root| {
            fuzz::Asked::read(std::env::args().skip(2)).and_then(|asked| fuzz::run(root, &asked))
        }),
        _ => Err(anyhow::anyhow!("verbs are `tidy`, `docs` and `fuzz`")),
    };
    match outcome {
        Ok(line) => {
            let _ = writeln!(std::io::stdout(), "{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace: the parent of this package's folder.
fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")
}

fn tidy() -> Result<String> {
    let root = root()?;
    let manifest = root.join("Cargo.toml");
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(["--locked".to_owned()])
        .exec()
        .context("cargo metadata")?;
    let files = files::collect(root)?;
    let mut problems = packages::check(&packages::of(&metadata));
    problems.extend(licenses::check(&licenses::of(&metadata)));
    problems.extend(source::check(&files));
    if problems.is_empty() {
        return Ok(format!("tidy: {} packages, {} text files", metadata.packages.len(), files.len()));
    }
    let mut err = std::io::stderr();
    for problem in &problems {
        writeln!(err, "{problem}")?;
    }
    bail!("{} problems", problems.len())
}

/// Writes `docs/findings.md` and `docs/thresholds.md` from catalogues and constants, as the product itself prints them.
fn docs() -> Result<String> {
    printed(&[], "docs/findings.md")?;
    printed(&["--thresholds"], "docs/thresholds.md")?;
    Ok("docs: docs/findings.md, docs/thresholds.md".to_owned())
}

/// Writes what `wireproof explain --format markdown` prints to a file of the project.
fn printed(options: &[&str], file: &str) -> Result<()> {
    let root = root()?;
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "-q", "--locked", "-p", "wireproof", "--", "explain", "--format", "markdown"])
        .args(options)
        .current_dir(root)
        .output()
        .context("cargo run")?;
    if !output.status.success() {
        bail!("wireproof explain: {}", String::from_utf8_lossy(&output.stderr));
    }
    let path = root.join(file);
    std::fs::write(&path, output.stdout).with_context(|| path.display().to_string())
}
