//! From what was typed to what is sent: defaults, limits, and options that the protocol does not have.

use super::super::failure::Failure;
use super::args::SendArgs;
use crate::send::faults::Follower;
use crate::send::identity;
use crate::send::pace::Rate;
use crate::send::pattern::{Frames, FramesError, Picture};
use crate::send::replay::Target;
use crate::send::show::{Length, Plan};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use wireproof_encoders::{EncodeError, Setup};
use wireproof_protocols::{Protocol, Value};

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
        let protocol = Protocol::from(args.protocol);
        fitting(args, protocol)?;
        let by_universe = matches!(protocol, Protocol::Sacn | Protocol::ArtNet);
        let setup = setup(args, protocol)?;
        let frame_octets = frame_octets(args)?;
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
            own_port: (protocol == Protocol::ArtNet && abroad).then_some(port(protocol)),
            setup,
        })
    }
}

/// Refuses options that the protocol does not have.
fn fitting(args: &SendArgs, protocol: Protocol) -> Result<(), Failure> {
    let sacn = protocol == Protocol::Sacn;
    let by_universe = sacn || protocol == Protocol::ArtNet;
    let given = [
        ("--multicast", args.multicast, sacn),
        ("--priority", args.priority.is_some(), sacn),
        ("--name", args.name.is_some(), sacn),
        ("--cid", args.cid.is_some(), sacn),
        ("--sync", args.sync.is_some(), sacn),
        ("--universes", args.universes.is_some(), by_universe),
        ("--first-universe", args.first_universe.is_some(), by_universe),
        ("--slots", args.slots.is_some(), by_universe),
        ("--chunk", args.chunk.is_some(), !by_universe),
        ("--id", args.id.is_some(), !by_universe),
        ("--fragment", args.fragment, !by_universe),
    ];
    match given.iter().find(|(_, is_given, has)| *is_given && !has) {
        Some((name, ..)) => {
            let what = format!("{name} means nothing in {}", protocol.name());
            Err(Failure::usage(&what, "leave it out"))
        }
        None => Ok(()),
    }
}

fn port(protocol: Protocol) -> u16 {
    match protocol {
        Protocol::Sacn => wireproof_protocols::sacn::PORT,
        Protocol::Ddp => wireproof_protocols::ddp::PORT,
        Protocol::ArtNet => wireproof_protocols::artnet::PORT,
        _ => wireproof_protocols::bigpacket::PORT,
    }
}

fn setup(args: &SendArgs, protocol: Protocol) -> Result<Setup, Failure> {
    let home = Target { ip: Ipv4Addr::LOCALHOST.into(), port: None };
    let to = args.to.unwrap_or(home);
    if to.ip.is_multicast() && protocol == Protocol::Sacn {
        let what = format!("--to {} is one group, and every universe has its own", to.ip);
        return Err(Failure::usage(&what, "give --multicast"));
    }
    let to = SocketAddr::new(to.ip, to.port.unwrap_or(port(protocol)));
    let name = args.name.clone().unwrap_or_else(|| NAME.to_owned());
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
    let most_id = if protocol == Protocol::Ddp { 255 } else { u16::MAX.into() };
    let id = args.id.map(|n| narrow("id", n, u64::from(protocol == Protocol::Ddp), most_id)).transpose()?;
    setup.id = id.unwrap_or(setup.id);
    setup.fragment = args.fragment;
    Ok(setup)
}

/// The first universe or Port-Address; the last one is checked, too.
fn first(args: &SendArgs, protocol: Protocol) -> Result<Option<u16>, Failure> {
    let (field, low, high) = match protocol {
        Protocol::ArtNet => ("port-address", 0, 32_767),
        _ => ("universe", 1, 63_999),
    };
    let Some((first, last)) = args.universes.or(args.first_universe.map(|n| (n, n))) else { return Ok(None) };
    narrow(field, last, low, high)?;
    Ok(Some(narrow(field, first, low, high)?))
}

fn narrow(field: &'static str, value: u64, low: u64, high: u64) -> Result<u16, EncodeError> {
    EncodeError::unless_within(field, value, low, high)?;
    u16::try_from(value).map_err(|_| EncodeError { field, value, limit: Value::Range(low, high) })
}

/// Octets of a frame, which the universes given have to hold.
fn frame_octets(args: &SendArgs) -> Result<usize, Failure> {
    let slots = args.slots.unwrap_or(SLOTS);
    let room = args.universes.map(|(first, last)| (last - first + 1).saturating_mul(slots));
    let pixels = args.pixels.map(|n| n.saturating_mul(PIXEL));
    let octets = args.frame_bytes.or(pixels).or(room).unwrap_or(FRAME_OCTETS);
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
