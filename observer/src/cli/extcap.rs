//! `wireproof extcap`: a capture interface of Wireshark, in Wireshark's own words (its developer's guide, "Extcap: Developer
//! Notes"; wireshark-extcap(4)). Captures through `observe`, whose findings are the packets' comments. Judges nothing itself.

use super::args::{Cli, ObserveArgs, Verb};
use super::failure::Failure;
use super::{observe, output};
use crate::live::interfaces;
use clap::{Args, Parser};
use reader::Reader;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use wireproof_protocols::layout::Layouts;
use wireproof_reports::text::clean;

/// Every name of an interface begins with this: Wireshark lists those of all programs together.
const PREFIX: &str = "wireproof-";
/// The interface that takes no rights.
const SOCKETS: &str = "wireproof-udp";
/// A program of this name is the interface: Wireshark passes no verb.
const PROGRAM: &str = "wireproof-extcap";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ln -s \"$(command -v wireproof)\" ~/.local/lib/wireshark/extcap/wireproof-extcap
  wireproof extcap --extcap-interfaces
  wireproof extcap --capture --extcap-interface wireproof-udp --fifo show.pcapng

Wireshark starts it itself: after the link its list of interfaces has wireproof's, and findings stand beside the packets
while they come. docs/wireshark.md has the rest.")]
pub(super) struct ExtcapArgs {
    /// List the interfaces
    #[arg(long, group = "what")]
    extcap_interfaces: bool,
    /// Say the link type of an interface
    #[arg(long, group = "what", requires = "extcap_interface")]
    extcap_dlts: bool,
    /// Say what can be set of an interface
    #[arg(long, group = "what", requires = "extcap_interface")]
    extcap_config: bool,
    /// Capture into --fifo until it is closed or a signal comes
    #[arg(long, group = "what", requires = "extcap_interface", requires = "fifo")]
    capture: bool,
    /// The interface
    #[arg(long, value_name = "NAME")]
    extcap_interface: Option<String>,
    /// Version of the program that asks
    #[arg(long, value_name = "VERSION", num_args = 0..=1, default_missing_value = "")]
    extcap_version: Option<String>,
    /// Where the capture goes
    #[arg(long, value_name = "PATH")]
    fifo: Option<PathBuf>,
    /// A capture filter; none is taken, wireproof sees the ports of lighting
    #[arg(long, value_name = "FILTER")]
    extcap_capture_filter: Option<String>,
    /// Verify against the outputs this file declares
    #[arg(long, value_name = "FILE")]
    rig: Option<PathBuf>,
    /// Raise warnings to violations
    #[arg(long)]
    strict: bool,
    /// UDP ports that are captured beside those of the protocols
    #[arg(long, value_name = "PORTS")]
    ports: Option<String>,
    /// Join the multicast groups of these sACN universes, such as 1-12,40
    #[arg(long, value_name = "UNIVERSES")]
    join: Option<String>,
}

/// The arguments with the verb put in where the program's name says which one is meant.
pub(super) fn named(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.into_iter().collect();
    let stem = all.first().and_then(|program| Path::new(program).file_stem()).map(OsStr::to_owned);
    if stem.is_some_and(|stem| stem == PROGRAM) {
        all.insert(1, "extcap".into());
    }
    all
}

/// Runs the verb.
pub(super) fn run(args: &ExtcapArgs) -> Result<u8, Failure> {
    if args.capture {
        return capture(args);
    }
    let name = args.extcap_interface.as_deref().unwrap_or_default();
    let text = match (args.extcap_interfaces, args.extcap_dlts, args.extcap_config) {
        (true, _, _) => interfaces_text(),
        (_, true, _) => known(name).map(|()| "dlt {number=1}{name=EN10MB}{display=Ethernet}\n".to_owned())?,
        (_, _, true) => known(name).map(|()| config_text(name))?,
        _ => {
            let todo = "Wireshark asks with --extcap-interfaces, --extcap-dlts, --extcap-config or --capture";
            return Err(Failure::usage("nothing was asked", todo));
        }
    };
    output::write(None, |out| Ok(out.write_all(text.as_bytes())?)).map(|()| 0)
}

/// An interface that this program has.
fn known(name: &str) -> Result<(), Failure> {
    let own = name.strip_prefix(PREFIX).is_some_and(|rest| !rest.is_empty());
    if own {
        return Ok(());
    }
    let what = format!("{} is no interface of wireproof", clean(name));
    Err(Failure::usage(&what, "--extcap-interfaces lists them"))
}

fn interfaces_text() -> String {
    let mut text = format!(
        "extcap {{version={}}}{{help=https://www.wireshark.org/docs/man-pages/extcap.html}}\n",
        env!("CARGO_PKG_VERSION")
    );
    let _ = writeln!(text, "interface {{value={SOCKETS}}}{{display=wireproof: lighting on UDP sockets}}");
    for interface in interfaces::list() {
        let name = plain(&interface.name);
        let _ = writeln!(text, "interface {{value={PREFIX}{name}}}{{display=wireproof: lighting on {name}}}");
    }
    text
}

/// A name without what ends a value in Wireshark's notation.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && !matches!(c, '{' | '}')).collect()
}

fn config_text(name: &str) -> String {
    let mut arguments = vec![
        "{call=--rig}{display=Rig}{type=fileselect}{mustexist=true}{tooltip=How the rig should look: wireproof learn}",
        "{call=--strict}{display=Raise warnings to violations}{type=boolflag}{default=false}",
    ];
    arguments.push(
        "{call=--ports}{display=More UDP ports}{type=string}{tooltip=Beside those of the protocols, such as 4049,5569}",
    );
    if name == SOCKETS {
        arguments.push(
            "{call=--join}{display=Join sACN universes}{type=string}{tooltip=Such as 1-12,40; nothing is joined without}",
        );
    }
    let lines = arguments.iter().enumerate().map(|(number, rest)| format!("arg {{number={number}}}{rest}\n"));
    lines.collect()
}

/// The same as `observe -w FIFO`; what the run amounts to is not Wireshark's business.
fn capture(args: &ExtcapArgs) -> Result<u8, Failure> {
    let name = args.extcap_interface.as_deref().unwrap_or_default();
    known(name)?;
    if args.extcap_capture_filter.as_ref().is_some_and(|filter| !filter.trim().is_empty()) {
        let what = "a capture filter is not taken";
        return Err(Failure::usage(what, "leave it empty, and use a display filter"));
    }
    let Some(fifo) = &args.fifo else {
        return Err(Failure::usage("no --fifo", "Wireshark names the pipe it reads"));
    };
    let Some(observed) = observed(args, name, fifo)? else { return Ok(0) };
    let reader = Reader::of(fifo);
    // Closing the pipe is how the reader ends a capture.
    observe::run(&observed).or_else(|failure| if reader.is_gone() { Ok(0) } else { Err(failure) })
}

/// The `observe` that is meant.
fn observed(args: &ExtcapArgs, name: &str, fifo: &Path) -> Result<Option<Box<ObserveArgs>>, Failure> {
    let more = args.ports.as_deref().map(str::trim).filter(|ports| !ports.is_empty());
    let more = more.map_or(Ok(Vec::new()), |ports| ports_of(ports, name))?;
    let cli = Cli::try_parse_from(line(args, name, fifo))
        .map_err(|error| super::usage_line(&error.render().to_string()))?;
    let Verb::Observe(mut observed) = cli.verb else { return Ok(None) };
    // Beside the protocols' own: sockets have those in any case.
    observed.ports = if name == SOCKETS || more.is_empty() {
        Vec::new()
    } else {
        observe::protocol_ports(Layouts::default())
    };
    observed.ports.extend(more);
    // Wireshark takes a line on standard error for a failure.
    observed.report.unheard = true;
    Ok(Some(observed))
}

/// The ports that are named; of an interface 0 lets everything pass.
fn ports_of(text: &str, name: &str) -> Result<Vec<u16>, Failure> {
    let port = |word: &str| word.trim().parse().ok().filter(|port| *port > 0 || name != SOCKETS);
    text.split(',').map(port).collect::<Option<Vec<u16>>>().ok_or_else(|| {
        Failure::usage(&format!("--ports {}", clean(text)), "write UDP ports, such as 4049,5569")
    })
}

/// The command line of it, but for the ports.
fn line(args: &ExtcapArgs, name: &str, fifo: &Path) -> Vec<OsString> {
    let mut line: Vec<OsString> =
        ["wireproof", "observe", "--quiet", "--exit-zero", "--format", "json", "-o", "/dev/null", "-w"]
            .map(OsString::from)
            .to_vec();
    line.push(fifo.into());
    if name == SOCKETS {
        line.extend(args.join.iter().flat_map(|join| ["--join".into(), OsString::from(join)]));
    } else {
        line.extend(["-i".into(), OsString::from(name.trim_start_matches(PREFIX))]);
    }
    line.extend(args.rig.iter().flat_map(|rig| ["--rig".into(), rig.into()]));
    if args.strict {
        line.push("--strict".into());
    }
    line
}

/// The other end of the pipe. A run goes on when its capture file takes no more; one that only Wireshark reads has to end.
mod reader {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Signal, getpid, kill_process};
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::thread;

    /// Whoever reads a pipe; nobody of what is none.
    pub(super) struct Reader {
        /// Where it is, of a pipe.
        fifo: Option<PathBuf>,
        own: Option<Arc<File>>,
    }

    impl Reader {
        /// Watches a pipe, and ends the run as a signal does when nobody reads it any more. A reader that is not there yet
        /// opens the pipe when `observe` does; then nobody watches, and a signal ends it.
        pub(super) fn of(fifo: &Path) -> Reader {
            if !std::fs::metadata(fifo).is_ok_and(|about| about.file_type().is_fifo()) {
                return Reader { fifo: None, own: None };
            }
            let own = opened(fifo).ok().map(Arc::new);
            if let Some(own) = own.clone() {
                let name = thread::Builder::new().name("reader".to_owned());
                drop(name.spawn(move || {
                    if is_closed(&own, None) {
                        let _ = kill_process(getpid(), Signal::TERM);
                    }
                }));
            }
            Reader { fifo: Some(fifo.to_owned()), own }
        }

        /// Whether it closed the pipe.
        pub(super) fn is_gone(&self) -> bool {
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            match (&self.own, &self.fifo) {
                (Some(own), _) => is_closed(own, Some(&at_once)),
                // Nobody has it open for reading, or it was taken away.
                (None, Some(fifo)) => opened(fifo).is_err(),
                (None, None) => false,
            }
        }
    }

    /// The pipe, as far as somebody reads it.
    fn opened(fifo: &Path) -> std::io::Result<File> {
        OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(fifo)
    }

    /// Waits until nobody reads the pipe, at most so long.
    fn is_closed(own: &File, most: Option<&Timespec>) -> bool {
        let mut fds = [PollFd::new(own, PollFlags::empty())];
        loop {
            match poll(&mut fds, most) {
                Err(rustix::io::Errno::INTR) => {}
                _ => return fds.iter().any(|fd| fd.revents().contains(PollFlags::ERR)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_right_name_is_the_interface() {
        let arguments = |program: &str| named([program.into(), "--capture".into()]);
        for program in ["/opt/extcap/wireproof-extcap", "wireproof-extcap", "wireproof-extcap.exe"] {
            assert_eq!(arguments(program)[1], "extcap", "{program}");
        }
        assert_eq!(arguments("/usr/bin/wireproof").len(), 2);
        assert_eq!(named([]).len(), 0);
    }

    /// The arguments as Wireshark passes them.
    fn args(name: &str, ports: &str) -> ExtcapArgs {
        let line = ["x", "extcap", "--capture", "--fifo", "f", "--extcap-interface", name, "--ports", ports];
        match Cli::try_parse_from(line).unwrap().verb {
            Verb::Extcap(args) => args,
            _ => unreachable!("the verb is named"),
        }
    }

    #[test]
    fn more_ports_are_taken_by_sockets_and_interfaces_and_nonsense_is_refused() {
        let ports = |name: &str, ports: &str| {
            observed(&args(name, ports), name, Path::new("f")).map(|observed| observed.unwrap().ports)
        };
        assert_eq!(ports(SOCKETS, " 4049, 6001").unwrap(), [4049, 6001]);
        assert!(ports(SOCKETS, " ").unwrap().is_empty());
        let all = ports("wireproof-eth1", "4049,0").unwrap();
        assert!(all.ends_with(&[4049, 0]) && all.contains(&5568), "{all:?}");
        assert!(ports("wireproof-eth1", "").unwrap().is_empty(), "those of the protocols by themselves");
        for bad in ["x", "70000", "0", "1,,2", "1;2"] {
            let said = ports(SOCKETS, bad).unwrap_err().to_string();
            assert!(said.contains(bad) && said.contains("UDP ports") && said.lines().count() == 1, "{said}");
        }
    }

    #[test]
    fn no_name_breaks_out_of_the_notation() {
        assert_eq!(plain("a}{display=b\n"), "adisplay=b");
    }
}
