//! A device in simulated time, the wire behind it, an observer, and what became of each datagram.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use wireproof_fixture::device::{
    Book, Engine, HeapRing, Held, Length, Places, Planned, Setting, Simulated, default_rig, heap_maker,
    run as run_device,
};
use wireproof_fixture::pace::Rate;
use wireproof_protocols::verify::{Account, DropLayer, HostDrops, Options, Owners, Verifier};
use wireproof_protocols::{Arrival, Datagram, Faults, Marks, Protocol, Timestamp, registry};
use wireproof_recorder::snapshot::{Times, take};
use wireproof_reports::reconcile::{Clock, Delays, DeviceRecord, OutputDelays, Reconciled, reconcile};

pub(crate) const START_NS: u64 = 5_000_000_000;
pub(crate) const WALL_NS: u64 = 1_790_000_000_000_000_000;
const CID: [u8; 16] = [1, 2, 3, 4, 5, 6, 0x40, 8, 0x80, 10, 11, 12, 13, 14, 15, 16];
const PERIOD_NS: u64 = 1_000_000_000 / 60;

/// An owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Sender,
    Wire,
    Observer,
    Unknown,
}

pub(crate) struct Plan {
    pub(crate) frames: u64,
    pub(crate) capacity: u64,
    pub(crate) faults: Vec<String>,
    pub(crate) messages: Vec<(u64, &'static str)>,
    pub(crate) refused: Vec<u64>,
    /// One datagram of the output in each of these frames overflows the observer's socket.
    pub(crate) unseen: Option<(&'static str, Vec<u64>)>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            frames: 300,
            capacity: 1 << 17,
            faults: Vec::new(),
            messages: Vec::new(),
            refused: Vec::new(),
            unseen: None,
        }
    }
}

/// A run, and what reconciles it.
pub(crate) struct Run {
    pub(crate) account: Account,
    pub(crate) image: Vec<u8>,
    pub(crate) images: Vec<Vec<u8>>,
    pub(crate) clock: Clock,
    /// Of each datagram that is missing: output, stream number, and its time.
    pub(crate) missing: Vec<(String, Option<u32>, i64)>,
    /// Datagrams of frames that the observer saw: stamp, protocol, source, stream and number.
    pub(crate) arrivals: Vec<(i64, Protocol, IpAddr, u32, Option<u32>)>,
}

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Port and protocol of the default device's outputs.
fn port(output: &str) -> u16 {
    let rig = default_rig(Ipv4Addr::LOCALHOST.into(), CID);
    let at = rig.find(output).unwrap();
    rig.outputs[at].setup.destination.unwrap().port()
}

fn stamp(at_ns: u64) -> i64 {
    (WALL_NS - START_NS + at_ns) as i64
}

pub(crate) fn run(plan: Plan) -> Run {
    let paper = Paper::default();
    let mut world = Simulated::new(START_NS, WALL_NS);
    world.messages.extend(plan.messages.iter().map(|(ms, t)| (START_NS + ms * 1_000_000, (*t).to_owned())));
    world.refused.clone_from(&plan.refused);
    let setting = Setting {
        rig: default_rig(Ipv4Addr::LOCALHOST.into(), CID),
        rate: Rate::from_mhz(60_000).unwrap(),
        seed: 7,
        load_milli: 1_000,
        preview: 0,
        profiler: true,
        build: "test".to_owned(),
        faults: plan.faults.iter().map(|text| text.parse::<Planned>().unwrap()).collect(),
        ring: None,
    };
    let rate = setting.rate;
    let book = Book::new(Some(Box::new(paper.clone())));
    let mut engine: Engine<HeapRing> =
        Engine::new(setting, Some(heap_maker(plan.capacity)), Places::none(), book).unwrap();
    run_device(&mut engine, rate, Length::Frames(plan.frames), &mut world).unwrap();
    let image = take(engine.ring().unwrap().writer().shared()).unwrap().seal(&Times::default(), 1);
    let mut missing = deeds(&paper);
    let mut arrivals = Vec::new();
    let account = observe(&world, plan.unseen.as_ref(), &mut missing, &mut arrivals);
    let clock = Clock::Anchored { uncertainty_ns: 1_000_000 };
    Run { account, images: vec![image.clone()], image, clock, missing, arrivals }
}

/// What the truth file says is missing.
fn deeds(paper: &Paper) -> Vec<(String, Option<u32>, i64)> {
    let text = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
    let mut missing = Vec::new();
    for line in text.lines() {
        let deed: serde_json::Value = serde_json::from_str(line).unwrap();
        if !["drop", "burst", "unsent", "torn"].contains(&deed["kind"].as_str().unwrap()) {
            continue;
        }
        let output = deed["output"].as_str().unwrap().to_owned();
        let at = stamp(deed["monotonic_ns"].as_u64().unwrap());
        for behind in 0..deed["datagrams"].as_u64().unwrap() as u32 {
            let stream = deed["stream"].as_u64().map(|s| s as u32);
            // A universe is a stream of its own; everything else of an output is one.
            let stream = stream.map(|s| if output == "pole-b" { s + behind } else { s });
            missing.push((output.clone(), stream, at));
        }
    }
    missing
}

/// The wire as an observer sees it that loses what `unseen` says, and whose socket counts that.
fn observe(
    world: &Simulated,
    unseen: Option<&(&str, Vec<u64>)>,
    missing: &mut Vec<(String, Option<u32>, i64)>,
    arrivals: &mut Vec<(i64, Protocol, IpAddr, u32, Option<u32>)>,
) -> Account {
    let mut verifier = Verifier::new(Options::default());
    let mut last = 0;
    let mut taken = Vec::new();
    let mut gaps: Vec<(u16, i64)> = Vec::new();
    for (packet, transit) in (1..).zip(&world.wire) {
        let (at, port_of) = (stamp(transit.at_ns), transit.destination.port());
        let frame = (transit.at_ns - START_NS) / PERIOD_NS;
        if let Some((output, frames)) = unseen
            && port(output) == port_of
            && frames.contains(&frame)
            && !taken.contains(&frame)
        {
            taken.push(frame);
            missing.push(((*output).to_owned(), None, at));
            gaps.push((port_of, last));
            continue;
        }
        for (port, from) in gaps.extract_if(.., |(port, _)| *port == port_of) {
            let (from, to) = (Timestamp(from), Timestamp(at));
            verifier.on_drops(HostDrops { layer: DropLayer::Socket, port: Some(port), from, to, count: 1 });
        }
        let datagram = Datagram::new(transit.source, transit.destination, &transit.payload);
        verifier.on_datagram(Arrival { at: Timestamp(at), packet }, &datagram);
        let decoder = registry::claim(&datagram).unwrap();
        if let Ok(pdu) = decoder.decode(&datagram, &mut Faults::default())
            && pdu.marks.has(Marks::DATA)
            && !pdu.marks.has(Marks::TERMINATED)
        {
            let source = transit.source.ip();
            arrivals.push((at, pdu.kind.protocol, source, pdu.stream.unwrap_or_default(), pdu.sequence));
        }
        last = at;
    }
    verifier.finish()
}

impl Run {
    pub(crate) fn reconcile(&mut self) -> Reconciled {
        let mut record = DeviceRecord::default();
        self.images.iter().for_each(|image| record.add(image).unwrap());
        let before: u64 = self.account.streams.iter().map(|s| s.sequence.lost).sum();
        let told = reconcile(&mut self.account, &record, &self.clock);
        let sum = |o: Owners| o.sender + o.wire + o.observer + o.unknown;
        for s in &self.account.streams {
            assert_eq!(sum(s.owners), s.sequence.lost, "none without an owner");
        }
        assert_eq!(self.account.streams.iter().map(|s| s.sequence.lost).sum::<u64>(), before);
        told
    }

    /// Times from send to arrival, as if each datagram had travelled so much longer.
    pub(crate) fn delays(&self, travel_ns: i64, clock: &Clock) -> Vec<OutputDelays> {
        let mut record = DeviceRecord::default();
        self.images.iter().for_each(|image| record.add(image).unwrap());
        let mut delays = Delays::new(&self.account, &record, clock);
        for (at, protocol, source, stream, number) in &self.arrivals {
            delays.arrival(at + travel_ns, *protocol, *source, *stream, *number);
        }
        delays.finish()
    }

    pub(crate) fn reconciled(mut self) -> Run {
        self.reconcile();
        self
    }

    /// Owners of an output's losses; nothing else has any.
    pub(crate) fn owners(&self, output: &str) -> Owners {
        let mut all = Owners::default();
        for s in self.account.streams.iter().filter(|s| s.destinations[0].port() == port(output)) {
            all.sender += s.owners.sender;
            all.wire += s.owners.wire;
            all.observer += s.owners.observer;
            all.unknown += s.owners.unknown;
        }
        all
    }

    /// Every datagram that is missing lies in a loss of its own stream with this owner, and nothing else is missing.
    pub(crate) fn every_datagram_is(&self, output: &str, who: Who) {
        assert!(!self.missing.is_empty());
        let own = |o: &Owners| match who {
            Who::Sender => o.sender,
            Who::Wire => o.wire,
            Who::Observer => o.observer,
            Who::Unknown => o.unknown,
        };
        let mut losses: Vec<(usize, i64, i64, u64)> = Vec::new();
        for f in &self.account.findings {
            let (Some(stream), Some(owners)) = (f.stream, f.owners) else { continue };
            assert_eq!(own(&owners), f.count, "{output} {who:?} {f:?}");
            losses.push((stream, f.since_ns, f.last_ns, f.count));
        }
        for (output, stream, at) in &self.missing {
            let found = losses.iter_mut().find(|(index, since, last, left)| {
                let s = &self.account.streams[*index];
                let same = s.destinations[0].port() == port(output);
                let mine = same && stream.is_none_or(|number| s.stream_id == number);
                // The deed is written down before the frame leaves.
                mine && *left > 0 && *at + 1_000_000 >= *since && *at <= *last
            });
            let Some((_, _, _, left)) = found else {
                panic!("{output} {stream:?} {at}: not found, {losses:?}")
            };
            *left -= 1;
        }
        assert!(losses.iter().all(|(_, _, _, left)| *left == 0), "missing without a deed: {losses:?}");
        assert_eq!(own(&self.owners(output)), self.missing.len() as u64);
    }

    /// Texts of the losses.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.account.findings.iter().filter(|f| f.owners.is_some()).map(|f| f.text.as_str()).collect()
    }
}
