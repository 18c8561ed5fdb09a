//! From what was typed to what is sent: defaults, limits, and options that the protocol does not have.

use super::super::failure::Failure;
use super::super::layouts;
use super::args::SendArgs;
use super::fitting;
use crate::send::faults::Follower;
use crate::send::identity;
use crate::send::pace::Rate;
use crate::send::pattern::{Frames, FramesError, Picture};
use crate::send::replay::Target;
use crate::send::show::{Length, Plan};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use wireproof_encoders::{EncodeError, Setup, usual_chunk};
use wireproof_protocols::{Decoder, Protocol, Value};

/// Octets of a frame when nobody says: 2,880 RGB pixels.
const FRAME_OCTETS: u64 = 8_640;
/// Most octets of a frame: what the memory of a sender should hold.
const MOST_OCTETS: u64 = 1 << 24;
/// Slots in a universe when nobody says: whole RGB pixels.
const SLOTS: u64 = 510;
/// Octets of an RGB pixel.
const PIXEL: u64 = 3;
/// Source name when nobody says.
const NAME: &str = "wireproof";
/// Frames a second, in thousandths, where DMX lines may follow, and elsewhere.
const RATES_MHZ: [u64; 2] = [40_000, 60_000];
/// Where a host keeps the number that is its own.
const MACHINE_ID: &str = "/etc/machine-id";
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// What is sent.
pub(super) struct Choice {
    pub(super) protocol: Protocol,
    pub(super) setup: Setup,
    pub(super) plan: Plan,
    pub(super) follower: Follower,
    /// The port to send from.
    pub(super) own_port: Option<u16>,
}

impl Choice {
    /// Settles what was left open.
    ///
    /// # Errors
    /// One line that names the option, the value and the limit.
    pub(super) fn of(args: &SendArgs) -> Result<Choice, Failure> {
        let protocol = protocol(args)?;
        fitting::check(args, protocol)?;
        let by_universe = fitting::is_by_universe(protocol);
        let setup = setup(args, protocol)?;
        let frame_octets = frame_octets(args, protocol)?;
        let rate = match args.rate {
            Some(rate) => rate,
            None => Rate::from_mhz(RATES_MHZ[usize::from(!by_universe)]).unwrap_or(Rate::MIN),
        };
        let length = match (args.frames, args.duration) {
            (Some(frames), _) => Length::Frames(frames),
            (_, Some(time)) => Length::Time(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            _ => Length::Open,
        };
        // Bound towards this host it would take what it sends from whoever listens here.
        let abroad = setup.destination.is_some_and(|to| !to.ip().is_loopback());
        Ok(Choice {
            protocol,
            plan: Plan { rate, length, frame_octets, discovery: args.multicast },
            follower: if by_universe { Follower::NextFrame } else { Follower::NextDatagram },
            own_port: (protocol == Protocol::ArtNet && abroad).then_some(wireproof_protocols::artnet::PORT),
            setup,
        })
    }
}

/// What was asked for by name, or the one layout.
fn protocol(args: &SendArgs) -> Result<Protocol, Failure> {
    let declared = layouts::load(args.layout.as_slice())?.decoders().first().map(Decoder::protocol);
    let none = || Failure::usage("neither --protocol nor --layout says what to send", "give one of them");
    declared.or(args.protocol.map(Protocol::from)).ok_or_else(none)
}

fn setup(args: &SendArgs, protocol: Protocol) -> Result<Setup, Failure> {
    let home = Target { ip: Ipv4Addr::LOCALHOST.into(), port: None };
    let to = args.to.unwrap_or(home);
    if to.ip.is_multicast() && protocol == Protocol::Sacn {
        let what = format!("--to {} is one group, and every universe has its own", to.ip);
        return Err(Failure::usage(&what, "give --multicast"));
    }
    let port = to.port.map_or_else(|| fitting::port(protocol), Ok)?;
    let to = SocketAddr::new(to.ip, port);
    let name = args.name.clone().unwrap_or_else(|| NAME.to_owned());
    if args.name.is_some() {
        let most = fitting::most_name(protocol);
        let limit = Value::AtMost(most);
        let octets = name.len() as u64;
        let refused = EncodeError { field: "source name octets", value: octets, limit };
        (octets <= most).then_some(()).ok_or(refused)?;
    }
    let cid = args.cid.unwrap_or_else(|| identity::derived(&host(), &name));
    let mut setup = Setup::new((!args.multicast).then_some(to), cid);
    setup.name = name;
    setup.first = first(args, protocol)?;
    let (field, chunk) =
        if args.slots.is_some() { ("slots", args.slots) } else { ("chunk octets", args.chunk) };
    setup.chunk = chunk.map(|n| narrow(field, n, 1, u16::MAX.into())).transpose()?;
    let priority = args.priority.map(|n| narrow("priority", n, 0, 200)).transpose()?;
    setup.priority = priority.map_or(setup.priority, |n| u8::try_from(n).unwrap_or(u8::MAX));
    let sync = args.sync.map(|n| narrow("sync address", n, 1, 63_999)).transpose()?;
    setup.sync_universe = sync.unwrap_or(0);
    setup.id = id(args, protocol, setup.id)?;
    setup.fragment = args.fragment;
    Ok(setup)
}

/// The number of the output, by default `usual` or the nearest that the protocol has.
fn id(args: &SendArgs, protocol: Protocol, usual: u16) -> Result<u16, Failure> {
    let (field, low, high) = fitting::stream_limits(protocol);
    match args.id {
        Some(n) => Ok(narrow(field, n, low, high)?),
        None => Ok(u16::try_from(u64::from(usual).min(high).max(low)).unwrap_or(usual)),
    }
}

/// The first universe or Port-Address; the last one is checked, too.
fn first(args: &SendArgs, protocol: Protocol) -> Result<Option<u16>, Failure> {
    let (field, low, high) = fitting::stream_limits(protocol);
    let Some((first, last)) = args.universes.or(args.first_universe.map(|n| (n, n))) else { return Ok(None) };
    narrow(field, last, low, high)?;
    Ok(Some(narrow(field, first, low, high)?))
}

fn narrow(field: &'static str, value: u64, low: u64, high: u64) -> Result<u16, EncodeError> {
    EncodeError::unless_within(field, value, low, high)?;
    u16::try_from(value).map_err(|_| EncodeError { field, value, limit: Value::Range(low, high) })
}

/// Octets of a frame, which the universes given have to hold.
fn frame_octets(args: &SendArgs, protocol: Protocol) -> Result<usize, Failure> {
    let usual = fitting::layout(protocol).map(|layout| usual_chunk(layout).into());
    let slots = args.slots.or(usual.map(|usual| args.chunk.unwrap_or(usual))).unwrap_or(SLOTS);
    let room = args.universes.map(|(first, last)| (last - first + 1).saturating_mul(slots));
    let pixels = args.pixels.map(|n| n.saturating_mul(PIXEL));
    let fixed = fitting::layout(protocol).and_then(|layout| layout.frame.expect_bytes).map(u64::from);
    let octets = args.frame_bytes.or(pixels).or(room).or(fixed).unwrap_or(FRAME_OCTETS);
    let most = room.unwrap_or(MOST_OCTETS).min(MOST_OCTETS);
    EncodeError::unless_within("frame octets", octets, 1, most)?;
    Ok(usize::try_from(octets).unwrap_or(usize::MAX))
}

/// What makes this host this one.
pub(in crate::cli) fn host() -> String {
    let read = |path| fs::read_to_string(path).ok().filter(|text| !text.trim().is_empty());
    read(MACHINE_ID).or_else(|| read(HOST_NAME)).unwrap_or_default()
}

/// What frames show.
pub(super) fn picture(args: &SendArgs, frame_octets: usize) -> Result<Picture, Failure> {
    let Some(path) = &args.file else { return Ok(Picture::Pattern(args.pattern, args.seed)) };
    Frames::open(path, frame_octets).map(Picture::File).map_err(|error| match error {
        FramesError::Uneven { .. } => Failure::Said { code: super::failure::USAGE, text: error.to_string() },
        FramesError::Read { .. } => Failure::io_line(&error),
    })
}
