//! Rules that need more than one datagram and belong to no protocol alone.
//!
//! Severities are those of the command-line contract; a rig or `--strict` may raise them.

use crate::{Layer, Rule, Severity};

macro_rules! rules {
    ($($name:ident $code:literal $severity:ident $title:literal, $meaning:literal, $advice:literal, $example:literal;)*) => {
        /// The catalogue.
        pub static RULES: &[Rule] = &[$(Rule {
            code: $code,
            severity: Severity::$severity,
            layer: Layer::Stream,
            title: $title,
            edition: "wireproof counter glossary, version 1",
            clause: "docs/counters.md",
            meaning: $meaning,
            advice: $advice,
            example: $example,
            known: &[],
        },)*];
        rules!(@names 0usize; $($name)*);
    };
    (@names $i:expr; $name:ident $($rest:ident)*) => {
        /// The rule of this name.
        pub static $name: &Rule = &RULES[$i];
        rules!(@names $i + 1usize; $($rest)*);
    };
    (@names $i:expr;) => {};
}

rules! {
    SEQ_LOST "SEQ-LOST" Violation
        "datagrams were sent and did not reach the capture point",
        "Frames are shown without part of their content, or late.",
        "Look at `owners`: `unknown` is upstream of the capture (device or network); capture closer to the sender to tell them apart.",
        "numbers 17, 18, 21: two datagrams lost";
    SEQ_AMBIGUOUS "SEQ-AMBIGUOUS" Warning
        "datagrams may have been lost, but the numbers alone cannot prove it",
        "A number with few values hides whole cycles of loss; only time says that something is missing.",
        "Read `lost` as an estimate and `lost_min` as proof; capture at the sender, or use a protocol with larger numbers.",
        "DDP counts 1..15: 30 datagrams lost leave the next number in order";
    SEQ_DUPLICATE "SEQ-DUPLICATE" Warning
        "the same number arrived again on the network",
        "With the same payload the network or the sender repeated it; with another payload two senders share one identity.",
        "Look for loops, bridges and a second instance of the sender.",
        "numbers 17, 18, 18, 19";
    SEQ_LATE "SEQ-LATE" Warning
        "datagrams arrived out of order and filled a hole",
        "Receivers that follow E1.31 6.7.2 throw them away: on the lights it is a loss.",
        "Look for load-balanced links, Wi-Fi retries or several sending threads.",
        "numbers 17, 19, 18, 20";
    SEQ_OLD "SEQ-OLD" Info
        "a number from before the first one of the session arrived",
        "It was sent before the capture or the session began; it is neither late nor lost.",
        "Nothing, unless it repeats.",
        "a session that starts at 100, then 98";
    SEQ_SHARED "SEQ-SHARED-COUNTER" Warning
        "one counter is shared by several streams or destinations",
        "Receivers that count per stream see gaps and drop datagrams although nothing was lost.",
        "Give every universe, port-address or destination a counter of its own (E1.31 6.2.5).",
        "universe 1 carries 1, 13, 25 while universes 2..12 carry the numbers between";
    SEQ_RESTART "SEQ-RESTART" Warning
        "a stream began anew",
        "The sender was restarted or paused for longer than the timeout; receivers may have gone dark meanwhile.",
        "Check the sender's log for the time given; a goodbye (sACN Stream_Terminated) before a planned restart avoids the wait.",
        "numbers 200, 201, then 1 from a new source port";
    SEQ_DIALECT "SEQ-DIALECT" Warning
        "the sender counts in another way than the text prescribes",
        "Receivers that know only the prescribed cycle see a gap or an unused number once a cycle.",
        "Nothing is lost; tell the vendor.",
        "Art-Net 254, 255, 0, 1 or DDP 14, 15, 0, 1";
    SEQ_UNUSED "SEQ-UNUSED" Info
        "the stream carries no usable numbers",
        "Loss cannot be told from the counter; only frame shape and cadence can show it.",
        "Turn sequence numbers on in the sender, or verify against a rig.",
        "Art-Net sequence 0 in every ArtDmx";
    FRAME_TORN "FRAME-TORN" Violation
        "a frame reached the capture point with a hole",
        "The receiver shows old content beside new.",
        "See the losses of the same time.",
        "12 universes a frame, frame 345 lacks universe 7";
    FRAME_UNTERMINATED "FRAME-UNTERMINATED" Violation
        "the end of a frame (push or last chunk) is missing",
        "The receiver does not show the frame, or shows it with the next one.",
        "See the losses of the same time; if nothing was lost the sender forgot the mark.",
        "DDP frame of 6 datagrams whose push datagram never came";
    FRAME_SHAPE "FRAME-SHAPE" Violation
        "the chunks of a frame contradict each other: they overlap, announce two counts, or end past its usual end",
        "Receivers show one chunk over another, wait for chunks that do not exist, or write past their buffer.",
        "Look at offset, length and count of the datagram given; a frame with a hole is FRAME-TORN instead.",
        "chunks at 0, 1200 and 1200, or counts 3, 4 and 3 in one frame";
    FRAME_FROZEN "FRAME-FROZEN" Info
        "content stayed the same for over a second while frames kept coming",
        "Normal for a still look; a sign of a hung renderer when something should move.",
        "Compare with what the show should do at that time.",
        "44 frames a second with one payload";
    TIME_RATE "TIME-RATE" Warning
        "a universe is sent faster than DMX512 can carry it (SACN-S46, ARTNET-A12)",
        "A gateway to DMX drops or merges frames on its own.",
        "Send at most 44 Hz with 512 slots, or fewer slots (375 at 60 Hz).",
        "60 Hz with 512 slots; E1.11 allows 44.1 Hz";
    TIME_GAP "TIME-GAP" Warning
        "a steady stream paused for over one and a half periods without loss",
        "The sender stuttered: lights freeze for that long. A keep-alive, unchanged content after a pause (E1.31 6.6.2), is none.",
        "Look at the sender's scheduler, garbage collection or frame time.",
        "16.7 ms a frame, then 66.7 ms, numbers in order";
    TIME_CLOCK_STEP "TIME-CLOCK-STEP" Warning
        "the capture clock was set while capturing",
        "Intervals and rates around that moment mean nothing.",
        "Stop time synchronization from stepping during a capture, or capture with monotonic stamps.",
        "stamps fall back by 5 s between two records";
    SYNC_ORPHAN "SYNC-ORPHAN" Warning
        "synchronization packets are sent but no data asks for them",
        "They have no effect: receivers show data at once, universes can tear.",
        "Write the sync address into the data packets (octets 109..110).",
        "sync on 7000, data with sync address 0";
    SYNC_MISSING "SYNC-MISSING" Warning
        "data asks for synchronization that does not come",
        "Receivers hold the data, or free-run after 2.5 s (E1.31 11.1.2).",
        "Send the sync packets, or set the sync address to 0.",
        "data with sync address 50, no sync packet on 50";
    SRC_CONFLICT "SRC-CONFLICT" Violation
        "two sources at the same top priority send to one universe at the same time",
        "Receivers merge them (highest takes precedence) or jump between them: flicker.",
        "Stop one, or give them different priorities.",
        "two desks at priority 100 on universe 1";
    SRC_LOWER "SRC-LOWER-PRIORITY" Info
        "a source sends to a universe at lower priority than another",
        "It has no effect while the other one is there: a backup, or a forgotten sender.",
        "Nothing, if it is meant as a backup.",
        "priority 50 beside 100";
    STREAM_SILENT "STREAM-SILENT" Info
        "a stream stopped without goodbye while the capture went on",
        "Receivers notice after their timeout only (sACN 2.5 s).",
        "Was the sender stopped on purpose? A goodbye would have ended it at once.",
        "last datagram at 46.4 s of a 100 s capture";
    STREAM_ENDED "STREAM-ENDED" Info
        "a stream said goodbye",
        "Nothing is wrong; three goodbyes are expected (E1.31 6.2.6).",
        "Nothing.",
        "three datagrams with Stream_Terminated";
    CAP_DUPLICATE "CAP-DUPLICATE" Info
        "the capture holds the same datagram twice",
        "The capture saw it on two interfaces or in both directions; it was sent once. Removed from all counts.",
        "Capture on one interface.",
        "same addresses, payload and IP id within 5 ms";
    CAP_OFFLOAD "CAP-OFFLOAD" Info
        "the UDP checksums of a host are wrong, all or all but a few: the capturing host leaves them to its network card",
        "Not a fault of the wire.",
        "Turn off transmit checksum offload to check them.",
        "a capture made on the sender itself";
    CAP_CHECKSUM "CAP-CHECKSUM" Warning
        "datagrams were damaged on the way: wrong UDP checksum beside right ones of the same host",
        "Receivers throw them away: counted as lost, owner wire. None of them counts under CAP-OFFLOAD.",
        "Look at cables, connectors and switch port error counters.",
        "one wrong checksum among thousands of right ones";
    CAP_TRUNCATED "CAP-TRUNCATED" Info
        "the capture kept only the beginning of the datagrams",
        "Lengths and contents beyond the cut cannot be checked.",
        "Capture with a larger snap length (tcpdump -s 0).",
        "96 of 638 octets kept";
    CAP_FRAGMENT "CAP-FRAGMENT" Info
        "datagrams travelled as IP fragments",
        "One lost fragment loses the whole datagram; many small controllers cannot reassemble.",
        "Keep datagrams within the MTU (1,472 octets of UDP payload on Ethernet).",
        "one datagram of 8,640 octets in 6 fragments";
    CAP_DAMAGED "CAP-DAMAGED" Warning
        "the capture file is damaged",
        "Everything before the damage was read; what came after is not known.",
        "Fetch the file again, or judge only up to the time given.",
        "a record whose length runs past the end of the file";
    CAP_LINK_TYPE "CAP-LINK-TYPE" Warning
        "packets of an interface whose link type is not decoded",
        "Nothing of them was looked at: lighting data among them is neither counted nor judged.",
        "Capture where packets have Ethernet or IP headers (for Wi-Fi: on the interface itself, not in monitor mode).",
        "200 packets of link type RADIOTAP beside an Ethernet interface";
    CAP_DROPPED "CAP-DROPPED" Warning
        "the capture itself lost packets",
        "Losses of that time cannot be held against the sender or the network.",
        "Capture with a larger buffer or a filter for the protocol ports.",
        "interface statistics block: 1,204 dropped";
    OBS_LOST "OBS-LOST" Violation
        "the observer lost datagrams",
        "The run is INVALID: it says nothing about the device.",
        "See `wireproof doctor`; enlarge the receive buffer.",
        "socket overflow counter 190";
    OBS_BUFFER "OBS-BUFFER" Warning
        "the receive buffer is smaller than asked for",
        "A stall of the observer loses datagrams sooner.",
        "Raise net.core.rmem_max.",
        "208 KiB granted of 8 MiB";
    OBS_STALL "OBS-STALL" Warning
        "the observer's receive loop was held up; nothing was lost",
        "User-space times of that moment mean nothing; kernel stamps hold.",
        "Give the observer a core of its own.",
        "loop gap 225 ms";
    OBS_LINK "OBS-LINK" Warning
        "an interface went down while it was observed",
        "What was sent meanwhile is missing here without being lost by the sender.",
        "Look at the cable, the switch port and the host's power saving.",
        "eth1 down for 2.1 s";
    OBS_RECORD "OBS-RECORD" Warning
        "the capture file or the tape of the run is not whole",
        "The verdict is not touched: datagrams are verified before they are recorded.",
        "Write to a faster or larger disk.",
        "340 records not written: the disk was full";
    RIG_MISSING "RIG-MISSING" Violation
        "a stream of the rig was not seen, or stopped while others of its output went on",
        "That part of the rig got nothing at this capture point, or nothing any more.",
        "Check the sender's patch, or the capture point: unicast to another host is seen only on a mirror port.",
        "universe 7 declared, never seen";
    RIG_UNEXPECTED "RIG-UNEXPECTED" Warning
        "a stream that the rig does not know",
        "A forgotten sender or a wrong patch.",
        "Add it to the rig, or find out who sends it.",
        "universe 99 from an address the rig does not list";
    RIG_SHAPE "RIG-SHAPE" Violation
        "frames have another shape than the rig says",
        "Content is missing, too much, or goes elsewhere.",
        "Compare datagrams and octets a frame with the patch.",
        "5 datagrams a frame, 6 declared";
    RIG_RATE "RIG-RATE" Violation
        "the frame rate is outside the rig's tolerance",
        "Motion is slower or faster than designed.",
        "Look at the sender's load and timer.",
        "33 frames a second, 60 declared";
    RIG_WAIVER_EXPIRED "RIG-WAIVER-EXPIRED" Warning
        "a waiver of the rig is past its last day and does not apply",
        "What it covered counts again.",
        "Repair what it was for, or give it a later day and a reason for that.",
        "expires = 2026-06-30, and the run is of July";
    RIG_WAIVER_EXCEEDED "RIG-WAIVER-EXCEEDED" Info
        "more was found than a waiver of the rig covers",
        "All of it counts, not only what is beyond the limit.",
        "Find out why it became more before raising the limit.",
        "max = 3, and five datagrams were lost";
    RIG_WAIVER_UNUSED "RIG-WAIVER-UNUSED" Info
        "a waiver of the rig matched nothing",
        "It may hide something else later, or its streams may be written wrongly.",
        "Take it out, or correct its code and streams.",
        "a waiver for universe 12 in a run without it";
}
