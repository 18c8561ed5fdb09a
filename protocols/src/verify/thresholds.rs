//! What the verifier judges by, taken from the constants it uses. It decides nothing.

use super::{
    anew, arrive, aside, cadence, checks, clock, conflict, episodes, evidence, finish, habits, herald, judge,
    output, pauses, ports, rig_check, sequence, settle, sources, tiles,
};
use crate::Protocol;
use crate::attribution::STALL_LIMIT;
use crate::ddp;
use crate::threshold::{Threshold, time};
use crate::time::SECOND;

macro_rules! thresholds {
    ($($file:literal: $what:literal, [$($code:literal),+], $value:expr, $source:literal;)*) => {
        /// Every threshold of the rules that the verifier decides.
        pub fn thresholds() -> Vec<Threshold> {
            vec![$(Threshold {
                codes: &[$($code),+],
                what: $what,
                value: $value,
                source: $source,
                place: concat!("protocols/src/", $file),
            }),*]
        }
    };
}

thresholds! {
    "verify/arrive.rs": "silence that ends a sACN session", ["SEQ-RESTART", "SEQ-LOST"],
        format!("more than {}", time(arrive::SACN_TIMEOUT)), "E1.31 6.7.1, network data loss";
    "verify/sequence.rs": "numbers behind the newest at which a datagram may still fill a hole",
        ["SEQ-LATE", "SEQ-OLD", "SEQ-DUPLICATE"],
        format!(
            "sACN {}, Art-Net {}, DDP {}; up to {} when the IP id went back, too",
            window(Protocol::Sacn), window(Protocol::ArtNet), window(Protocol::Ddp), sequence::LATE_MAX
        ),
        "E1.31 6.7.2 for sACN; half of the cycle for the others";
    "verify/anew.rs": "frames by which numbers and time are apart where the first number comes again, or where there was no \
        time for the numbers that are missing", ["SEQ-RESTART", "SEQ-AMBIGUOUS"],
        format!("{} and more", anew::LEAP), "own choice: no jitter of a steady stream is so long";
    "verify/habits.rs": "silence over content that comes again which is no sign of a loss", ["SEQ-AMBIGUOUS"],
        format!("up to {} of sACN and {} of Art-Net, unless the sender went on with it for {} before, or the IP id moved",
            time(habits::SACN_KEEP_ALIVE), time(habits::ART_KEEP_ALIVE), time(habits::INSISTS_FOR)),
        "E1.31 6.6.2: 1 s; Art-Net 4: about 4 s";
    "verify/episodes.rs": "gaps of a stream that are told as one finding", ["SEQ-LOST", "SEQ-AMBIGUOUS"],
        format!("no further apart than {}", time(episodes::EPISODE)), "own choice";
    "verify/herald.rs": "time after which a hole is told while the run goes on, where numbers would let it be filled \
        later; the report waits", ["SEQ-LOST", "SEQ-AMBIGUOUS", "FRAME-TORN"],
        time(herald::REORDER_TIME), "own choice: no path delays a datagram by so much more than its neighbours";
    "verify/herald.rs": "torn frames of an output that are told as one finding", ["FRAME-TORN", "FRAME-UNTERMINATED"],
        format!("no more than {} frames apart", herald::TEAR_RUN), "own choice";
    "verify/model.rs": "datagrams after which the numbering of a stream is locked",
        ["SEQ-DIALECT", "SEQ-SHARED-COUNTER", "SEQ-UNUSED"],
        format!("{} at most, undisturbed: sACN and Art-Net {}, DDP {}, BigPacket {}", super::model::AT_MOST,
            super::model::enough(Protocol::Sacn), super::model::enough(Protocol::Ddp),
            super::model::enough(Protocol::BigPacket)),
        "right in 200 of 200 synthetic trials of each model at 0, 1 and 5 % loss";
    "verify/settle.rs": "frames with an end mark from which on an end is expected",
        ["FRAME-UNTERMINATED", "DDP-D12"],
        format!("{}, and {} for each one without", settle::ENDS_LEAST, settle::ENDS_TO_ONE), "own choice";
    "verify/tiles.rs": "frames without a hole, overlap or second count from which on one that has it is told",
        ["FRAME-TORN", "FRAME-SHAPE", "DDP-D12"],
        format!("{}, and {} for each one with it; in a shorter run more than with it",
            tiles::TILED_LEAST, tiles::TILED_TO_ONE),
        "own choice: partial updates are legal in DDP";
    "verify/output.rs": "content unchanged while frames keep coming", ["FRAME-FROZEN"],
        format!("more than {}, and {} repeats", time(output::FROZEN_AFTER), output::FROZEN_REPEATS),
        "own choice";
    "verify/output.rs": "pause before a repeat that counts as a keep-alive (`outputs[].causes`)", ["keep_alive"],
        format!("{} and more", time(output::KEEP_ALIVE)), "E1.31 6.6.2: 800 to 1,000 ms";
    "verify/judge.rs": "datagrams of levels a second on a universe or Port-Address",
        ["TIME-RATE", "SACN-S46", "ARTNET-A12"],
        format!("{} Hz with 512 slots, {} Hz with 375, {} Hz with 24 and fewer ({} us a slot, {} us a frame at \
                 least), plus {} %; from {} datagrams on",
            judge::hertz(judge::dmx_limit_mhz(512)), judge::hertz(judge::dmx_limit_mhz(375)),
            judge::hertz(judge::dmx_limit_mhz(24)), judge::SLOT_US, judge::SHORTEST_US,
            judge::RATE_PERCENT - 100, judge::RATE_LEAST),
        "E1.11 timing by E1.31 6.6.1";
    "verify/pauses.rs": "pause of a steady stream without a loss", ["TIME-GAP"],
        format!("more than {} % of its period; unchanged content after {} and more is a keep-alive, and a sender of keep-alives \
            may pause while its content stands still", pauses::GAP_PERCENT, time(output::KEEP_ALIVE)),
        "the severity list of the command line; E1.31 6.6.2";
    "verify/cadence.rs": "when a stream counts as steady", ["TIME-GAP", "SEQ-AMBIGUOUS"],
        format!("{} intervals at least; of the last {} three quarters lie within a quarter of their median, and one in {} at \
                 most is a pause of over {} of it",
            cadence::ENOUGH, cadence::KEPT, cadence::PAUSES_ONE_IN, cadence::PAUSE),
        "own choice: a stream that sends on change has no period";
    "verify/clock.rs": "stamps of a capture that step back", ["TIME-CLOCK-STEP"],
        format!("{} and more; less is jitter between queues", time(clock::JITTER)), "own choice";
    "verify/clock.rs": "stamps of a capture that step forward", ["TIME-CLOCK-STEP"],
        format!("{} and more where two hosts go on with their next numbers; more than {} days always",
            time(clock::LEAP), clock::SET_FORWARD / (86_400 * SECOND)),
        "own choice";
    "verify/arrive.rs": "data waiting for a synchronization packet", ["SYNC-MISSING"],
        format!("more than {}", time(arrive::SACN_TIMEOUT)), "E1.31 11.1.2";
    "verify/conflict.rs": "two sACN, DDP or BigPacket sources at once",
        ["SRC-CONFLICT", "SRC-LOWER-PRIORITY"],
        format!("both seen within {}; a conflict after {} turns, {} of them back, so that a hand-over is none",
            time(conflict::ACTIVE), conflict::TURNS, conflict::RETURNS),
        "E1.31 6.7.1";
    "verify/conflict.rs": "one sACN source at several addresses", ["SRC-CONFLICT", "SACN-S31"],
        format!("the same CID and content within {}; for SACN-S31 a quarter of them with the same number, too",
            time(conflict::ACTIVE)),
        "own choice: while content stands still every second datagram meets its own number";
    "verify/ports.rs": "a source port that comes back is a second sender's", ["SRC-CONFLICT", "SACN-S31"],
        format!("within {}, with a number of its own; up to {} behind the newest after {} times",
            time(conflict::ACTIVE_ARTNET), ports::LATE, ports::CLASH / ports::DOUBT),
        "E1.31 6.7.2 for what is late, else own choice";
    "verify/conflict.rs": "two Art-Net sources at once", ["ARTNET-A14", "SRC-LOWER-PRIORITY"],
        format!("both seen within {}", time(conflict::ACTIVE_ARTNET)),
        "covers the repeat of unchanged levels (Art-Net 4, ArtDmx)";
    "verify/finish.rs": "nothing of a stream while the capture goes on", ["STREAM-SILENT"],
        format!("more than {}; other than sACN also three times its longest pause", time(finish::SILENT_AFTER)),
        "E1.31 6.7.1";
    "verify/arrive.rs": "termination datagrams of a goodbye (others make it a warning)", ["STREAM-ENDED"],
        "3".to_owned(), "E1.31 6.2.6";
    "verify/sources.rs": "the same datagram with the same IP id twice", ["CAP-DUPLICATE"],
        format!("within {}", time(sources::COPY_WINDOW)), "the counter glossary";
    "verify/checks.rs": "wrong checksums of a host that are the network card's", ["CAP-OFFLOAD", "CAP-CHECKSUM"],
        format!("all, or {} and more for each right one; fewer are damage", checks::OFFLOAD_OF),
        "own choice: of 65,536 that are left to the card chance makes one right";
    "verify/aside.rs": "numbers of queries, settings and ArtNzs that are of a stream's counter",
        ["SEQ-SHARED-COUNTER", "SEQ-LOST", "SEQ-AMBIGUOUS"],
        format!(
            "{} fits and {} for each miss; their own counter: {} misses and {} for each fit",
            aside::KNOWN, aside::FITS_TO_ONE, aside::KNOWN, aside::MISSES_TO_ONE
        ), "own choice: of 15 numbers one coincides by chance";
    "verify/judge.rs": "ArtSync that stays away", ["ARTNET-A13"],
        format!("more than {}", time(judge::ART_SYNC)), "Art-Net 4, ArtSync";
    "ddp/mod.rs": "data octets of a datagram", ["DDP-D11"],
        format!("{}", ddp::DATA_MAX), "3waylabs DDP: 480 RGB pixels";
    "verify/judge.rs": "frames without any push", ["DDP-D13"],
        format!("from {} on", judge::PUSH_LEAST), "own choice";
    "verify/arrive.rs": "timecode away from the clock of the capture, or backward at all", ["DDP-D14"],
        format!("more than {} s", arrive::TIMECODE_OFF), "own choice: clocks without NTP differ by more";
    "verify/rig_check.rs": "frames of an output from which on it is held against the rig", ["RIG-RATE", "RIG-SHAPE"],
        format!("{}", rig_check::FRAMES_LEAST), "own choice";
    "verify/rig_check.rs": "nothing of a declared stream at the end while others of its output go on", ["RIG-MISSING"],
        format!(
            "more than {} and {} frames; {} of Art-Net",
            time(rig_check::STOPPED_AFTER),
            rig_check::FRAMES_LEAST,
            time(rig_check::STOPPED_AFTER_ARTNET)
        ), "E1.31 6.6.2, Art-Net 4: keep-alives and a tenth";
    "attribution.rs": "stall of the receive loop that is told, and that convicts the observer where nothing \
        counts drops (macOS)", ["OBS-STALL", "OBS-LOST"],
        format!("{} and more", time(STALL_LIMIT)), "half of the 230 ms that an untouched Linux buffer holds of 720 datagrams a second";
    "verify/evidence.rs": "how late a sampled counter of the host may be to explain a loss", ["OBS-LOST"],
        time(evidence::SAMPLED), "counters are read every 100 ms";
}

/// Numbers behind the newest within which a datagram is late.
fn window(protocol: Protocol) -> u32 {
    super::model::Model::prescribed(protocol).window
}
