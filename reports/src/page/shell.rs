//! What every page begins and ends with: its head, the one stylesheet, the record it carries. Nothing is fetched, and
//! nothing runs but the one script that a page's policy names by its hash.

use super::escape;
use crate::json::embedded;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// The look of every page.
const STYLE: &str = include_str!("page.css");
/// No source for anything but the styles that stand in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Writes everything in front of the body's content.
pub(crate) fn open(title: &str, out: &mut dyn Write) -> io::Result<()> {
    head(title, POLICY, out)
}

/// The same for a page that runs this script and no other.
pub(crate) fn open_with(title: &str, script: &str, out: &mut dyn Write) -> io::Result<()> {
    let hash = STANDARD.encode(Sha256::digest(script));
    let policy = format!("{POLICY}; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'");
    head(title, &policy, out)
}

fn head(title: &str, policy: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width\">")?;
    writeln!(out, "<meta name=\"color-scheme\" content=\"light dark\">")?;
    writeln!(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">")?;
    writeln!(out, "<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>", escape(title))
}

/// Writes the record, for programs: JSON that cannot leave its element.
pub(crate) fn record(json: &[u8], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<script type=\"application/json\" id=\"record\">{}</script>", embedded(json))
}

/// Writes the script that [`open_with`] was given.
pub(crate) fn script(script: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<script>{script}</script>")
}

/// Writes the end.
pub(crate) fn close(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "</body>\n</html>")
}
