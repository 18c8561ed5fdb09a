//! A run without the rights that only opening takes: gives them up, says so, and looks at once whether everything
//! that is to be written later can be written without them. Who opens anew keeps what just that takes.

use super::args::ObserveArgs;
use super::doctor::WANTED;
use super::failure::Failure;
use super::{output, say};
use crate::privileges::{self, Lowered, Needs, PrivilegeError, Reopens, writable};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use wireproof_matrices::plan::Plan;

/// The kernel's limit of receive buffers.
const LIMIT: &str = "/proc/sys/net/core/rmem_max";
/// Ports that anybody may bind begin here.
const ANYBODY: u16 = 1_024;

/// Gives up what is not needed from here on. Before any thread is started.
pub(super) fn lower(args: &ObserveArgs) -> Result<(), Failure> {
    let soaks = args.soak.until_bound.is_some();
    let reopens = if soaks { reopens(args) } else { Reopens::default() };
    let needs = Needs { realtime: args.realtime, reopens, programs: false };
    let Some(lowered) = given_up(args.user.as_deref(), needs)? else { return Ok(()) };
    later(args).try_for_each(|(path, folder)| check(path, folder, &lowered))?;
    if !args.quiet {
        say(&lowered.note);
    }
    Ok(())
}

/// The same for a matrix with a tap, which opens it and the sockets of its plan for each arm, and starts the programs of
/// its plan. Before the bundle is made, which belongs to who goes on.
pub(super) fn for_arms(user: Option<&str>, plan: &Plan, quiet: bool) -> Result<(), Failure> {
    let listens = plan.stream.iter().filter_map(|stream| stream.listen.parse().ok());
    let reopens = Reopens { raw: true, admin: is_limited(), bind: listens.into_iter().any(takes_a_right) };
    let lowered = given_up(user, Needs { realtime: None, reopens, programs: true })?;
    if let Some(lowered) = lowered.filter(|_| !quiet) {
        say(&lowered.note);
    }
    Ok(())
}

fn given_up(user: Option<&str>, needs: Needs) -> Result<Option<Lowered>, Failure> {
    privileges::lower(user, needs).map_err(|error| match error {
        PrivilegeError::Refused(_) => Failure::io_line(&error),
        _ => Failure::Said { code: super::failure::USAGE, text: error.to_string() },
    })
}

/// What each window of a soak opens its sources with.
fn reopens(args: &ObserveArgs) -> Reopens {
    let sockets = args.interface.is_empty();
    let addresses = args.udp.iter().flatten();
    Reopens {
        raw: !sockets,
        admin: sockets && is_limited(),
        bind: sockets && addresses.copied().any(takes_a_right),
    }
}

fn takes_a_right(address: SocketAddr) -> bool {
    (1..ANYBODY).contains(&address.port())
}

/// The kernel grants fewer octets of receive buffer than are wanted, unless it has to.
fn is_limited() -> bool {
    let most = std::fs::read_to_string(LIMIT).ok().and_then(|text| text.trim().parse::<u64>().ok());
    most.is_none_or(|most| most < WANTED)
}

/// What is made or written while the run goes on or when it ends, and whether it is a folder.
fn later(args: &ObserveArgs) -> impl Iterator<Item = (&Path, bool)> {
    let files = [
        output::file(args.write.as_deref()),
        args.tape.as_deref(),
        output::file(args.report.output.as_deref()),
        args.serve.prom_textfile.as_deref(),
    ];
    let drains = args.drain.as_ref().map(|_| (args.drain_dir.as_path(), true));
    let windows = args.soak.until_bound.as_ref().map(|_| (args.soak.soak.as_path(), true));
    files.into_iter().flatten().map(|path| (path, false)).chain(drains).chain(windows)
}

/// A run of hours must not end with a record that nobody may write.
fn check(path: &Path, folder: bool, lowered: &Lowered) -> Result<(), Failure> {
    writable(path, folder).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            let what = format!("{} cannot be written ({error})", path.display());
            return Failure::io(&what, "make its folder, or name one that is there");
        }
        let what = format!("{} cannot be written as {} ({error})", path.display(), lowered.who);
        Failure::io(&what, "name a folder that it may write, or keep all rights with --user root")
    })
}
