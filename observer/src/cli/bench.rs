//! `wireproof bench`: the encoders on one identical frame, timed only where every octet is right.

use super::bench_args::{BenchArgs, Packing, protocols};
use super::failure::Failure;
use super::{config, layouts, output, say};
use crate::bench::{BenchError, Options, RecorderOptions, bench, bench_recorder};
use wireproof_encoders::Backend;
use wireproof_encoders::bench::suite::usual_packing;
use wireproof_protocols::{Decoder, Protocol};
use wireproof_reports::{Bench, Style};

/// An encoder that is not byte-identical to its golden datagrams, or a ring that does not hold what was written.
const DIFFERS: u8 = 1;

/// Runs the verb.
pub(super) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    if args.recorder {
        return recorder(args);
    }
    let options = options(args)?;
    let record = bench(&options)?;
    warn_of_debug();
    let style = style();
    output::write(args.output.as_deref(), |out| Ok(record.render(args.format, style, out)?))?;
    if record.identical() {
        return Ok(0);
    }
    say(&format!("{} differ from the golden datagrams and have no times", listed(&record)));
    Ok(DIFFERS)
}

/// The writer of the ring, on and off.
fn recorder(args: &BenchArgs) -> Result<u8, Failure> {
    let options = RecorderOptions {
        frame_bytes: args.frame_bytes as usize,
        blocks: args.blocks,
        seed: args.seed,
        cpu: args.cpu,
    };
    let record = bench_recorder(&options)?;
    warn_of_debug();
    output::write(args.output.as_deref(), |out| Ok(record.render(args.format, style(), out)?))?;
    if record.check.right() {
        return Ok(0);
    }
    say("the ring does not hold what was written, its times mean nothing: report it");
    Ok(DIFFERS)
}

fn style() -> Style {
    Style { color: false, width: config::width() }
}

fn warn_of_debug() {
    if cfg!(debug_assertions) {
        say("this is a build without optimisation, its times mean nothing: build with --release");
    }
}

fn options(args: &BenchArgs) -> Result<Options, Failure> {
    if args.peers && !cfg!(feature = "peers") {
        let todo = "build with `--features peers`";
        return Err(Failure::usage("this build of wireproof has no peers to time", todo));
    }
    let chosen: Vec<Protocol> =
        if args.encoders.is_empty() { protocols().collect() } else { args.encoders.clone() };
    if let Some(twice) = (1..chosen.len()).find(|at| chosen[..*at].contains(&chosen[*at])) {
        let what = format!("--encoders names {} twice", chosen[twice].name());
        return Err(Failure::usage(&what, "name each once"));
    }
    let absent = args.packing.iter().filter_map(|packing| packing.protocol).find(|p| !chosen.contains(p));
    if let Some(protocol) = absent {
        let what = format!("--packing is for {0}, and --encoders leaves {0} out", protocol.name());
        return Err(Failure::usage(&what, "name it in both"));
    }
    let declared = layouts::load(&args.layout)?.decoders().iter().map(Decoder::protocol);
    Ok(Options {
        frame_bytes: args.frame_bytes as usize,
        encoders: chosen
            .into_iter()
            .chain(declared)
            .map(|protocol| (protocol, packing(&args.packing, protocol)))
            .collect(),
        backends: Backend::ALL
            .into_iter()
            .filter(|b| ["all", b.name()].contains(&args.backend.as_str()))
            .collect(),
        blocks: args.blocks,
        seed: args.seed,
        cpu: args.cpu,
        peers: args.peers,
    })
}

/// What was said for this encoder, else for all, else the usual; the last word counts.
fn packing(said: &[Packing], protocol: Protocol) -> u16 {
    let of = |whose: Option<Protocol>| said.iter().rev().find(|packing| packing.protocol == whose);
    of(Some(protocol)).or(of(None)).map_or_else(|| usual_packing(protocol), |packing| packing.octets)
}

fn listed(record: &Bench) -> String {
    let wrong = record.encoders.iter().filter(|encoder| !encoder.identical);
    wrong.map(|encoder| format!("{} ({})", encoder.name, encoder.backend)).collect::<Vec<_>>().join(", ")
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let what = error.to_string();
        match error {
            BenchError::Limit { .. } => {
                Failure::usage(&what, "choose another --frame-bytes, --packing or --encoders")
            }
            BenchError::Cpu(_) => Failure::io(&what, "name a CPU this process may use, or leave --cpu out"),
            BenchError::Ring(_) | BenchError::Run(_) => {
                Failure::io(&what, "this host cannot time it, try another")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packing_of_one_encoder_goes_before_that_of_all() {
        let said: Vec<Packing> = ["480", "sacn=512", "sacn=360"].map(|text| text.parse().unwrap()).into();
        assert_eq!(packing(&said, Protocol::Sacn), 360);
        assert_eq!(packing(&said, Protocol::Ddp), 480);
        assert_eq!(packing(&[], Protocol::ArtNet), 510);
        assert_eq!(packing(&[], Protocol::BigPacket), 1440);
    }

    #[test]
    fn a_packing_is_a_number_with_or_without_a_name() {
        for bad in ["", "0", "65536", "-1", "sacn", "sacn=", "sacn=x", "kinet=5", "=5"] {
            assert!(bad.parse::<Packing>().is_err(), "{bad}");
        }
    }
}
