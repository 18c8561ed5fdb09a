//! `wireproof layouts`: declared protocols. Reads layout files for every verb that takes `--layout`.

use super::failure::{Failure, USAGE};
use super::{output, say};
use crate::infile;
use clap::{Args, Subcommand};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use wireproof_protocols::layout::{Layout, LayoutFault, Layouts, SHIPPED, Sequence, Shipped, Step, TEXT_MAX};
use wireproof_reports::text::clean;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof layouts check my-protocol.toml
  wireproof layouts show bigpacket > my-protocol.toml

A layout declares a protocol of one's own; --layout of other verbs reads it. docs/layouts.md leads from an empty file
to a verdict and lists every key.")]
pub(super) struct LayoutsArgs {
    #[command(subcommand)]
    verb: LayoutsVerb,
}

#[derive(Debug, Subcommand)]
enum LayoutsVerb {
    /// Say everything that is wrong with layout files
    Check(CheckArgs),
    /// List the layouts that come with the program, and given ones
    List(ListArgs),
    /// Print the text of a layout that comes with the program, to start from
    Show(ShowArgs),
    /// Write a layout as a dissector for Wireshark
    Lua(LuaArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof layouts check my-protocol.toml
  wireproof layouts check layouts/*.toml

Nothing is printed for a sound file. Exit code 2 with one line for each fault: file, line, field and reason.")]
struct CheckArgs {
    /// Layout files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof layouts list
  wireproof layouts list --layout my-protocol.toml --format json

The filter of a layout is for tcpdump and dumpcap: it lets every datagram of the layout pass, and as little else as it
can. It does not look into IPv6 for the magic, and needs `vlan and (…)` behind a VLAN tag.")]
struct ListArgs {
    /// Also list this layout file; may be given several times
    #[arg(long, value_name = "LAYOUT")]
    layout: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    format: String,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof layouts show bigpacket
  wireproof layouts show tpm2net > my-protocol.toml")]
struct ShowArgs {
    /// Its name
    #[arg(value_name = "NAME", value_parser = SHIPPED.map(|shipped| shipped.name))]
    name: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wireproof layouts lua bigpacket -o ~/.local/lib/wireshark/plugins/bigpacket.lua
  wireproof layouts lua my-protocol.toml > my-protocol.lua

Wireshark and tshark load it from their folder of plugins, or with -X lua_script:FILE. Display filters then know
wp_NAME.FIELD for every field of the layout.")]
struct LuaArgs {
    /// A layout file, or the name of a layout that comes with the program; - is standard input
    #[arg(value_name = "LAYOUT")]
    layout: PathBuf,
    /// Write here instead of standard output; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the verb.
pub(super) fn run(args: &LayoutsArgs) -> Result<u8, Failure> {
    match &args.verb {
        LayoutsVerb::Check(args) => check(args),
        LayoutsVerb::List(args) => list(args),
        LayoutsVerb::Show(args) => show(args),
        LayoutsVerb::Lua(args) => lua(args),
    }
}

/// The layouts that `--layout` names, compiled.
///
/// # Errors
/// Every fault of every one of them, a line each; a file that cannot be read; a name given twice.
pub(super) fn load(given: &[PathBuf]) -> Result<Layouts, Failure> {
    let (mut layouts, mut faults) = (Vec::new(), Vec::new());
    for path in given {
        match read(path)? {
            Ok(layout) => layouts.push(layout),
            Err(found) => faults.extend(lines(path, &found)),
        }
    }
    if let Some((last, first)) = faults.split_last() {
        first.iter().for_each(|line| say(line));
        return Err(Failure::Said { code: USAGE, text: last.clone() });
    }
    Layouts::new(layouts).map_err(|name| {
        Failure::usage(
            &format!("--layout gives {name} twice or too many layouts"),
            "give each once, at most 64",
        )
    })
}

/// The name of a layout that comes with the program, not a file.
pub(super) fn is_shipped(path: &Path) -> bool {
    shipped(path).is_some()
}

fn shipped(path: &Path) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| path.as_os_str() == shipped.name)
}

/// The layout of a file, or the one of this name; in between what is wrong with it.
fn read(path: &Path) -> Result<Result<Layout, Vec<LayoutFault>>, Failure> {
    if let Some(shipped) = shipped(path) {
        return Ok(Layout::read(shipped.text));
    }
    let unreadable = |why: &str| {
        let what = format!("{} cannot be read ({why})", path.display());
        Failure::io(&what, "give a layout file, or a name that `wireproof layouts list` shows")
    };
    let mut octets = Vec::new();
    // A little more than a layout may have, so that the reading tells that there is too much.
    let most = TEXT_MAX as u64 + 1;
    let taken = match path.as_os_str() == "-" {
        true => std::io::stdin().lock().take(most).read_to_end(&mut octets),
        false => infile::open(path).and_then(|file| file.take(most).read_to_end(&mut octets)),
    };
    taken.map_err(|error| unreadable(&error.to_string()))?;
    let text = match String::from_utf8(octets) {
        Ok(text) => text,
        Err(error) if error.as_bytes().len() as u64 >= most => "x".repeat(TEXT_MAX + 1),
        Err(_) => {
            return Err(Failure::usage(&format!("{} is no UTF-8 text", path.display()), "give a TOML file"));
        }
    };
    Ok(Layout::read(&text))
}

fn lines(path: &Path, faults: &[LayoutFault]) -> Vec<String> {
    faults.iter().map(|fault| format!("{}, {fault}", path.display())).collect()
}

fn check(args: &CheckArgs) -> Result<u8, Failure> {
    let mut code = 0;
    for path in &args.files {
        if let Err(faults) = read(path)? {
            lines(path, &faults).iter().for_each(|line| say(line));
            code = USAGE;
        }
    }
    Ok(code)
}

fn show(args: &ShowArgs) -> Result<u8, Failure> {
    let text = SHIPPED.iter().find(|shipped| shipped.name == args.name).map_or("", |shipped| shipped.text);
    output::write(None, |out| Ok(out.write_all(text.as_bytes())?))?;
    Ok(0)
}

fn lua(args: &LuaArgs) -> Result<u8, Failure> {
    // Faults are told as those of --layout are.
    match read(&args.layout)? {
        Ok(layout) => {
            let text = layout.lua();
            output::write(args.output.as_deref(), |out| Ok(out.write_all(text.as_bytes())?))?;
            Ok(0)
        }
        Err(faults) => {
            lines(&args.layout, &faults).iter().for_each(|line| say(line));
            Ok(USAGE)
        }
    }
}

/// A layout and where it came from.
struct Row {
    layout: Layout,
    from: String,
}

fn list(args: &ListArgs) -> Result<u8, Failure> {
    let mut rows = Vec::new();
    for shipped in SHIPPED {
        let layout = Layout::read(shipped.text);
        rows.extend(layout.map(|layout| Row { layout, from: "shipped".to_owned() }));
    }
    for path in args.layout.iter().filter(|path| shipped(path).is_none()) {
        let one = std::slice::from_ref(path);
        load(one)?;
        let layout = read(path)?;
        rows.extend(layout.map(|layout| Row { layout, from: path.display().to_string() }));
    }
    output::write(args.output.as_deref(), |out| {
        match args.format.as_str() {
            "json" => json(&rows, out)?,
            _ => table(&rows, out)?,
        }
        Ok(())
    })?;
    Ok(0)
}

fn ports(layout: &Layout) -> String {
    let mut ports: Vec<String> = layout.matching.udp_dst.iter().map(u16::to_string).collect();
    if layout.matching.any_port {
        ports.push("any by magic".to_owned());
    }
    ports.join(", ")
}

fn numbering(layout: &Layout) -> String {
    match layout.sequence {
        None => "none".to_owned(),
        Some(Sequence { step, first, last, .. }) => {
            let step = if step == Step::Frame { "frame" } else { "datagram" };
            format!("per {step} {first}..{last}")
        }
    }
}

fn table(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    let width = rows.iter().map(|row| row.layout.name.len()).max().unwrap_or(0);
    for Row { layout, from } in rows {
        let (name, title) = (&layout.name, clean(&layout.title));
        writeln!(out, "{name:width$}  {title}")?;
        let indent = " ".repeat(width + 2);
        let (ports, numbering) = (ports(layout), numbering(layout));
        let header = layout.header_len;
        writeln!(out, "{indent}ports {ports}; header {header} octets; numbers {numbering}; {}", clean(from))?;
        writeln!(out, "{indent}filter {}", layout.capture_filter())?;
    }
    Ok(())
}

fn json(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    let rows: Vec<_> = rows
        .iter()
        .map(|Row { layout, from }| {
            serde_json::json!({
                "any_port": layout.matching.any_port,
                "filter": layout.capture_filter(),
                "from": from,
                "header_len": layout.header_len,
                "kind": format!("layout:{}", layout.name),
                "name": layout.name,
                "numbering": numbering(layout),
                "ports": layout.matching.udp_dst,
                "source": layout.source,
                "title": layout.title,
            })
        })
        .collect();
    let record = serde_json::json!({ "schema": "wireproof.layouts/1", "layouts": rows });
    serde_json::to_writer_pretty(&mut *out, &record)?;
    writeln!(out)
}
