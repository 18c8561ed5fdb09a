//! What the demo's device sends and what goes wrong with it: a function of seed and length. Starts nothing.

use std::fmt::Write;
use std::net::SocketAddr;

/// Frames a second: under the 44 that a DMX line carries, so that nothing is found that was not planted.
pub(super) const RATE: u64 = 40;
/// Faults of a run.
pub(super) const FAULTS: usize = 3;
/// What can be planted, each with what it is in plain words.
const KINDS: [(&str, &str); 5] = [
    ("drop", "lost behind the device"),
    ("unsent", "never sent by the device"),
    ("torn", "the rest of a frame never sent"),
    ("duplicate", "sent twice"),
    ("missing-push", "the mark that ends the frame left out"),
];

/// An output of the demo's device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) name: &'static str,
    pub(super) protocol: &'static str,
    pub(super) to: SocketAddr,
}

/// A fault to plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: &'static str,
    pub(super) frame: u64,
    pub(super) output: usize,
}

/// A well-mixed function of both numbers (SplitMix64).
fn mix(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Three different faults, each in a third of the run of its own and away from the edges.
pub(super) fn faults(seed: u64, frames: u64, outputs: &[Output]) -> Vec<Fault> {
    let mut kinds: Vec<&'static str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    let mut fresh: Vec<usize> = (0..outputs.len()).collect();
    let edge = RATE.min(frames / 8);
    let third = (frames - 2 * edge) / FAULTS as u64;
    (0..FAULTS as u64)
        .map(|turn| {
            let pick = |n: u64, most: u64| mix(mix(seed, turn), n) % most.max(1);
            let kind = kinds.remove(pick(0, kinds.len() as u64) as usize);
            let fits = |output: &Output| kind != "missing-push" || marks_ends(output.protocol);
            let able: Vec<usize> = (0..outputs.len()).filter(|at| fits(&outputs[*at])).collect();
            // Each output has its turn, as long as what is left can have the fault.
            let unused: Vec<usize> = able.iter().copied().filter(|at| fresh.contains(at)).collect();
            let able = if unused.is_empty() { able } else { unused };
            let margin = (third / 4).max(1);
            let frame = edge + turn * third + margin + pick(1, third - 2 * margin);
            let output = able[pick(2, able.len() as u64) as usize];
            fresh.retain(|at| *at != output);
            Fault { kind, frame, output }
        })
        .collect()
}

/// Frames of the protocol end with a mark.
fn marks_ends(protocol: &str) -> bool {
    matches!(protocol, "ddp" | "bigpacket")
}

/// What a kind of fault is.
pub(super) fn meaning(kind: &str) -> &'static str {
    KINDS.iter().find(|(name, _)| *name == kind).map_or("", |(_, meaning)| meaning)
}

/// The device file.
pub(super) fn device_file(outputs: &[Output], faults: &[Fault]) -> String {
    let mut text =
        String::from("# The device of `wireproof demo`; `wireproof device --rig` takes it, too.\n");
    for output in outputs {
        let size = match output.protocol {
            "sacn" | "artnet" => "octets = 3072\nchunk = 512",
            _ => "octets = 4320",
        };
        let _ = write!(
            text,
            "\n[[output]]\nname = \"{}\"\nprotocol = \"{}\"\nto = \"{}\"\n{size}\n",
            output.name, output.protocol, output.to
        );
    }
    for fault in faults {
        let _ = write!(
            text,
            "\n[[fault]]\nkind = \"{}\"\nframe = {}\noutput = \"{}\"\n",
            fault.kind, fault.frame, outputs[fault.output].name
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs() -> Vec<Output> {
        let output = |name, protocol| Output { name, protocol, to: "127.0.0.1:9".parse().unwrap() };
        vec![output("pole-a", "bigpacket"), output("pole-b", "sacn"), output("pole-c", "ddp")]
    }

    #[test]
    fn every_seed_and_length_plants_three_different_faults_apart_from_each_other_and_the_edges() {
        let mut kinds = std::collections::BTreeSet::new();
        for seed in 0..500 {
            for frames in [200, 800, 2_000] {
                let faults = faults(seed, frames, &outputs());
                assert_eq!(faults.len(), 3);
                kinds.extend(faults.iter().map(|f| f.kind));
                for pair in faults.windows(2) {
                    assert!(pair[1].frame - pair[0].frame >= frames / 10, "seed {seed}: {faults:?}");
                    assert_ne!(pair[0].kind, pair[1].kind, "seed {seed}");
                }
                assert!(
                    faults[0].frame >= frames / 10 && faults[2].frame < frames - frames / 10,
                    "seed {seed}"
                );
                for fault in &faults {
                    assert!(fault.kind != "missing-push" || fault.output != 1, "seed {seed}: {fault:?}");
                }
            }
        }
        assert_eq!(kinds.len(), KINDS.len());
    }

    #[test]
    fn the_device_file_is_one_the_device_reads() {
        let outputs = outputs();
        let text = device_file(&outputs, &faults(1, 800, &outputs));
        let file = wireproof_fixture::device::parse_file(&text, "127.0.0.1".parse().unwrap(), &|_| [7; 16]);
        let file = file.unwrap();
        assert_eq!((file.rig.outputs.len(), file.faults.len()), (3, 3));
    }
}
