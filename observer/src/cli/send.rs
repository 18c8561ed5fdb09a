//! `wireproof send`: a paced, known-good sender of every protocol.

mod args;
mod choice;
mod fitting;
mod report;

pub(super) use args::{SendArgs, rate};
pub(super) use choice::host;

use super::failure::{self, Failure};
use super::{output, say, transmit};
use crate::live::sys_thread;
use crate::outfile;
use crate::send::clock::{Clock, Monotonic};
use crate::send::faults::Faults;
use crate::send::identity::Notation;
use crate::send::show::{Length, ShowError, Shown, show};
use crate::send::socket::{Outlet, Segmentation, Way};
use crate::send::thread_cpu_ns;
use choice::Choice;
use report::Account;
use std::path::Path;
use std::sync::atomic::Ordering;
use wireproof_encoders::{Backend, EncodeError, Encoder, build};
use wireproof_protocols::{Timestamp, Value};

/// Runs the verb.
pub(super) fn run(args: &SendArgs) -> Result<u8, Failure> {
    check(args)?;
    let choice = Choice::of(args)?;
    let (mut encoder, biggest) = encoder(&choice)?;
    let mut picture = choice::picture(args, choice.plan.frame_octets)?;
    let interrupted = transmit::interrupts()?;
    let mut outlet = outlet(args, &choice)?;
    check_route(&outlet, biggest, args.fragment)?;
    if !args.quiet {
        introduce(&choice, &outlet);
    }
    sys_thread::apply(args.cpu, args.realtime).map_err(|error| Failure::io_line(&error))?;
    let mut faults = Faults::new(args.seed, args.fault.unwrap_or_default(), choice.follower);
    let stop = || interrupted.load(Ordering::Relaxed);
    let mut clock = Monotonic::for_this_thread();
    let before = thread_cpu_ns();
    let outcome =
        show(&choice.plan, &mut *encoder, &mut picture, &mut faults, &mut clock, &mut outlet, &stop);
    let cpu_ns = thread_cpu_ns().saturating_sub(before);
    let shown = outcome?;
    let account =
        Account { args, choice: &choice, shown: &shown, outlet: &outlet, truth: faults.truth(), cpu_ns };
    output::write(args.output.as_deref(), |out| report::write(&account, out))?;
    if let Some(path) = &args.truth {
        outfile::write(path, |out| report::truth(&account, out)).map_err(|e| unwritten(path, e))?;
    }
    Ok(code(&choice, &shown, &outlet))
}

fn code(choice: &Choice, shown: &Shown, outlet: &Outlet) -> u8 {
    if shown.cut_short && choice.plan.length != Length::Open {
        return transmit::CUT_SHORT;
    }
    if outlet.sent().failed > 0 { failure::IO } else { 0 }
}

fn check(args: &SendArgs) -> Result<(), Failure> {
    let (Some(truth), Some(account)) = (&args.truth, output::file(args.output.as_deref())) else {
        return Ok(());
    };
    if truth == account || outfile::same_file(truth, account) {
        let what = format!("--truth and -o are both {}", account.display());
        return Err(Failure::usage(&what, "give one of them another name"));
    }
    Ok(())
}

fn unwritten(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Write(error) => {
            let what = format!("{} cannot be written ({error})", path.display());
            Failure::io(&what, "check the folder, its rights and the space on the disk")
        }
        said => said,
    }
}

/// The encoder, and the octets of its largest datagram: found with a second one, so that no number is used up.
fn encoder(choice: &Choice) -> Result<(Box<dyn Encoder + Send>, usize), Failure> {
    let make = || build(choice.protocol, Backend::Contiguous, &choice.setup);
    let mut trial = make()?;
    trial.set_time(Timestamp(Monotonic::for_this_thread().now_ns().try_into().unwrap_or(i64::MAX)));
    let frame = vec![0; choice.plan.frame_octets];
    let biggest = trial.encode(&frame)?.iter().map(|d| d.len()).max().unwrap_or(0);
    Ok((make()?, biggest))
}

fn outlet(args: &SendArgs, choice: &Choice) -> Result<Outlet, Failure> {
    let way = Way {
        to: choice.setup.destination,
        port: choice.own_port,
        // A capture of the loopback interface would show messages that nobody ever cuts.
        no_segmentation: args.no_gso || choice.setup.destination.is_none_or(|to| to.ip().is_loopback()),
        ..transmit::way(args.interface.as_deref(), args.ttl)?
    };
    Outlet::open(&way).map_err(|error| {
        let to = choice.setup.destination.map_or("the multicast groups".to_owned(), |to| to.to_string());
        Failure::io(
            &format!("cannot send to {to} ({error})"),
            "check address, interface and routes (`ip route`)",
        )
    })
}

/// Refuses datagrams that the route to the destination carries in fragments only.
fn check_route(outlet: &Outlet, biggest: usize, fragment: bool) -> Result<(), Failure> {
    let largest = outlet.largest_payload().ok().flatten().filter(|_| !fragment);
    match largest {
        Some(largest) if biggest as u64 > u64::from(largest) => Err(EncodeError {
            field: "datagram octets",
            value: biggest as u64,
            limit: Value::AtMost(largest.into()),
        }
        .into()),
        _ => Ok(()),
    }
}

/// What is about to be sent, and where to.
fn introduce(choice: &Choice, outlet: &Outlet) {
    let to = choice.setup.destination.map_or("its multicast groups".to_owned(), |to| to.to_string());
    let cid = match fitting::has_cid(choice.protocol) {
        true => format!(", CID {}", Notation(choice.setup.cid)),
        false => String::new(),
    };
    let octets = choice.plan.frame_octets;
    let hz = report::hertz(choice.plan.rate);
    say(&format!("sending {} to {to}: frames of {octets} octets at {hz} Hz{cid}", choice.protocol.name()));
    if choice.own_port.is_some_and(|port| outlet.own_port().is_ok_and(|own| own != port)) {
        say("UDP port 6454 is in use here: Art-Net leaves from another one, which ARTNET-A10 notes");
    }
    if *outlet.segmentation() != Segmentation::Off {
        say(
            "a capture on this host, or behind a virtual cable, may see messages uncut: --no-gso prevents that",
        );
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        Failure::usage(&error.to_string(), "nothing was sent; see `wireproof send --help`")
    }
}

impl From<ShowError> for Failure {
    fn from(error: ShowError) -> Self {
        match error {
            // The first frame was laid out in trial: what is refused is the time of a later one.
            ShowError::Encode(error) => Failure::usage(
                &error.to_string(),
                "the run ended before this frame; widen that limit of the layout",
            ),
            ShowError::Frames(error) => Failure::io_line(&error),
        }
    }
}
