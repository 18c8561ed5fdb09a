//! Rules about flight-recorder rings: what `ring summary` and `ring causes` find in whole frames. Only their texts stand
//! here, so that `explain` knows every code; the recorder decides.

use crate::{Layer, Rule, Severity};

/// A rule: title, meaning, advice, example.
const fn rule(code: &'static str, severity: Severity, texts: [&'static str; 4]) -> Rule {
    let [title, meaning, advice, example] = texts;
    Rule {
        code,
        severity,
        layer: Layer::Stream,
        title,
        edition: "wireproof ring analysis, version 1",
        clause: "docs/ring.md",
        meaning,
        advice,
        example,
        known: &[],
    }
}

/// The catalogue.
pub static RULES: [Rule; 12] = [
    rule(
        "RING-DEADLINE",
        Severity::Warning,
        [
            "a frame ended after its deadline",
            "The lights got that frame late, or the engine left out the next one.",
            "Look at the stages of the frame with `ring frames` and `ring convert`; `RING-SLOW` names the worst.",
            "17 deadlines missed, the worst by 6.269 ms",
        ],
    ),
    rule(
        "RING-SLOW",
        Severity::Warning,
        [
            "a frame took 20 ms and more",
            "Motion stutters. One slow frame a second is listed, with the number of the others.",
            "Draw the frame with `ring convert`, with `--sched` for what ran instead of it.",
            "frame 4711: 22.936 ms, of which wire_send 18.380 ms",
        ],
    ),
    rule(
        "RING-COVERAGE",
        Severity::Warning,
        [
            "spans explain less than 95 % of the frame or device time",
            "What fills the holes between the spans is not known: do not call a stage the cause of a slow frame.",
            "Record spans for the missing work, or put scheduler data beside the ring with `ring convert --sched`.",
            "children explain 93.10 % of the frame time",
        ],
    ),
    rule(
        "RING-LOST",
        Severity::Warning,
        [
            "frame ids are missing that the engine did not leave out",
            "They were lost by the writer's limit, by damage, or by a copy that was overtaken; percentiles do not hold them.",
            "Compare `partial` and `drops` in `ring verify`; copy faster or enlarge the ring.",
            "ids 12 and 16 are missing, none of them skipped",
        ],
    ),
    rule(
        "RING-FRAME-NEVER",
        Severity::Violation,
        [
            "a request got no frame although the recorder went on",
            "The work waits for the next unrelated event, or for ever: the lights do not follow.",
            "Wake the engine where the request is made; the place is in the finding.",
            "cue.rs:40 asked, 2.4 s of housekeeping, no frame",
        ],
    ),
    rule(
        "RING-FRAME-UNRELATED",
        Severity::Violation,
        [
            "a request was served only by a frame that something unrelated made",
            "Without that event it would still wait; on a quiet show it does.",
            "Wake the engine where the request is made; do not count on the next input.",
            "preview.rs:9 asked, 3.1 s later a control message came",
        ],
    ),
    rule(
        "RING-FRAME-LATE",
        Severity::Warning,
        [
            "a request waited longer than two frame periods for its frame",
            "Input feels slow.",
            "Look for what held the engine: a slow frame, a queue, a timer that is too coarse.",
            "dmx_in waited 61 ms",
        ],
    ),
    rule(
        "RING-FRAME-ALWAYS",
        Severity::Warning,
        [
            "one source asked for every frame of a second and longer",
            "The engine never rests. A drain or a poll of the measuring tool does that, too, and then measures itself.",
            "Ask only for what has changed; if the source is the tool's own, measure without it.",
            "251 of 252 frames by refresh, all from one place",
        ],
    ),
    rule(
        "RING-OTHER-SURGE",
        Severity::Warning,
        [
            "frames by `other` became half of all frames, and twice their share of before",
            "When places are recorded no more, frames silently show up as other.",
            "Check that requests still name their places; a timer or animation that starts does the same.",
            "30 of 60 frames by other, of 180 before it 3",
        ],
    ),
    rule(
        "RING-CAUSE-MISSING",
        Severity::Warning,
        [
            "frames do not say why they were made, while others do",
            "They count as other, which they may not be.",
            "Write a cause record in every frame.",
            "12 of 1,800 frames without a cause record",
        ],
    ),
    rule(
        "RING-PLACE-UNKNOWN",
        Severity::Warning,
        [
            "cause records name sources that the side file does not know",
            "The side file belongs to another recording, or places are not written to it.",
            "Copy ring and side file together.",
            "source 19 of ring.bin.places with 11 places",
        ],
    ),
    rule(
        "RING-CAUSES-ABSENT",
        Severity::Info,
        [
            "no frame says why it was made",
            "Frames that never come or never stop cannot be told.",
            "Write a cause record in every frame.",
            "a legacy ring",
        ],
    ),
];
