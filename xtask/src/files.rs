//! The text files of the project.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Folders that hold nothing written by hand.
const SKIPPED: &[&str] = &[".git", "target", "corpus", "artifacts"];

/// A text file: path from the root with `/`, and its text.
pub(crate) type TextFile = (String, String);

/// Every text file under the root, sorted by path; files that are not UTF-8 are left out.
pub(crate) fn collect(root: &Path) -> Result<Vec<TextFile>> {
    let mut files = Vec::new();
    walk(root, "", &mut files)?;
    files.sort();
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<TextFile>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(fs::read(entry.path()).with_context(|| path.clone())?)
        {
            files.push((path, text));
        }
    }
    Ok(())
}
