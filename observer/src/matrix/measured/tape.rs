//! The tape of an arm in memory: what each datagram was, and the account of the window alone.
//!
//! The window is verified as if the capture had begun and ended with it, so that nothing outside counts (what is
//! missing over its edges is worked out in `edges`); frames are followed over the whole tape, so that one that began before
//! the window is not taken for one of it.

use std::net::SocketAddr;
use wireproof_matrices::arm::Span;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::verify::{Account, HostDrops, Options, TapEvidence, Verifier};
use wireproof_protocols::{Arrival, Datagram, Marks, Pdu, Protocol};
use wireproof_reports::tape::{Decoder, Event};

/// Why a tape is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// It is damaged.
    #[error("wire.tape is damaged: {0}")]
    Damaged(String),
    /// That of the tap is.
    #[error("tap.tape is damaged: {0}")]
    Tap(String),
    /// Datagrams without a digest of what they showed.
    #[error(
        "wire.tape has {datagrams} datagrams and {digests} digests of their data: it was not made by a matrix"
    )]
    Digests {
        /// Datagrams on it.
        datagrams: usize,
        /// Digests on it.
        digests: usize,
    },
}

/// One lighting datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    pub(super) at_ns: i64,
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    /// `None` when its identifier is wrong.
    pub(super) protocol: Option<Protocol>,
    pub(super) stream: u32,
    /// Place in the frame: octet offset, or 0 where each stream has one datagram a frame.
    pub(super) offset: u32,
    /// Number on the wire.
    pub(super) number: Option<u32>,
    /// Data of a frame, not a sync or a goodbye.
    pub(super) data: bool,
    pub(super) copy: bool,
    pub(super) well_formed: bool,
    pub(super) digest: u64,
}

/// The tape of an arm.
#[derive(Debug)]
pub(super) struct Taped {
    pub(super) datagrams: Vec<One>,
    /// The account of the window.
    pub(super) account: Account,
    /// Steps of the clock of the stamps on the whole tape, ns.
    pub(super) steps: Vec<i64>,
    /// Drop evidence that touches the window.
    pub(super) drops: Vec<HostDrops>,
    /// Datagrams in or around the window that the tape itself left out.
    pub(super) left_out: u64,
    /// When it did so, and how many.
    pub(super) blind: Vec<(Span, u64)>,
}

/// Reads a tape, whose declared protocols these layouts know.
///
/// # Errors
/// Damage, or a tape without digests.
pub(super) fn read(
    octets: &[u8],
    window: Span,
    layouts: Layouts,
    tap: Option<TapEvidence>,
) -> Result<Taped, TapeError> {
    let no_drop_counter = !cfg!(target_os = "linux");
    let mut verifier = Verifier::new(Options { no_drop_counter, layouts, ..Options::default() });
    let (mut datagrams, mut digests) = (Vec::new(), Vec::new());
    let (mut steps, mut drops, mut blind) = (Vec::new(), Vec::new(), Vec::new());
    let inside = |ns: i64| (window.start_ns..window.end_ns).contains(&ns);
    let touches = |from: i64, to: i64| from < window.end_ns && to >= window.start_ns;
    let mut each = |event: Event<'_>| match event {
        Event::Datagram(arrival, d, noted, remarks) => {
            datagrams.push(one(arrival, d, noted));
            if inside(arrival.at.0) {
                verifier.on_noted(arrival, d, noted, remarks);
            }
        }
        Event::Digests(more) => digests.extend_from_slice(more),
        Event::Others(arrival, n) if inside(arrival.at.0) => {
            verifier.on_packet(arrival);
            verifier.on_others(n);
        }
        Event::Others(..) => {}
        Event::Drops(of) if touches(of.from.0, of.to.0) => {
            drops.push(of);
            verifier.on_drops(of);
        }
        Event::Drops(_) => {}
        Event::ClockStep(by) => {
            steps.push(by);
            verifier.on_clock_step(by);
        }
        Event::Blind { from, to, count } if touches(from.0, to.0) => {
            blind.push((Span { start_ns: from.0, end_ns: to.0 }, count));
            verifier.on_blind(from, to, count);
        }
        Event::Blind { .. } => {}
    };
    let mut decoder = Decoder::knowing(layouts);
    decoder.feed(octets, &mut each);
    let report = decoder.finish(&mut each);
    if let Some(damage) = report.damaged {
        return Err(TapeError::Damaged(damage));
    }
    if datagrams.len() != digests.len() {
        return Err(TapeError::Digests { datagrams: datagrams.len(), digests: digests.len() });
    }
    datagrams.iter_mut().zip(digests).for_each(|(d, digest)| d.digest = digest);
    if let Some(tap) = tap {
        verifier.on_tap(tap);
    }
    let left_out = blind.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    Ok(Taped { datagrams, account: verifier.finish(), steps, drops, left_out, blind })
}

/// What a tap beside the sockets saw, from its own tape over the whole arm.
///
/// # Errors
/// Damage.
pub(super) fn testimony(octets: &[u8], layouts: Layouts) -> Result<TapEvidence, TapeError> {
    let mut verifier = Verifier::new(Options { layouts, ..Options::default() });
    let mut each = |event: Event<'_>| match event {
        Event::Datagram(arrival, d, noted, remarks) => verifier.on_noted(arrival, d, noted, remarks),
        Event::Others(arrival, n) => {
            verifier.on_packet(arrival);
            verifier.on_others(n);
        }
        Event::Drops(of) => verifier.on_drops(of),
        Event::ClockStep(by) => verifier.on_clock_step(by),
        Event::Blind { from, to, count } => verifier.on_blind(from, to, count),
        Event::Digests(_) => {}
    };
    let mut decoder = Decoder::knowing(layouts);
    decoder.feed(octets, &mut each);
    match decoder.finish(&mut each).damaged {
        Some(damage) => Err(TapeError::Tap(damage)),
        None => {
            let account = verifier.finish();
            Ok(TapEvidence::of(&account, account.observer.ring))
        }
    }
}

/// A layout declares its number to be none.
fn is_unnumbered(pdu: &Pdu<'_>) -> bool {
    pdu.kind.protocol.layout().is_some() && pdu.marks.has(Marks::SEQUENCE_OFF)
}

fn one(arrival: Arrival, d: &Datagram<'_>, noted: &wireproof_protocols::verify::Noted<'_>) -> One {
    let pdu = noted.pdu.as_ref();
    let marks = pdu.map_or(Marks(0), |p| p.marks);
    One {
        at_ns: arrival.at.0,
        source: d.source,
        destination: d.destination,
        protocol: pdu.map(|p| p.kind.protocol),
        stream: pdu.and_then(|p| p.stream).unwrap_or(0),
        offset: pdu.map_or(0, |p| p.offset),
        number: pdu.filter(|p| !is_unnumbered(p)).and_then(|p| p.sequence),
        data: marks.has(Marks::DATA) && !marks.has(Marks::TERMINATED),
        copy: noted.copy,
        well_formed: noted.well_formed,
        digest: 0,
    }
}
