//! `wireproof learn`: the outputs a capture shows, as a rig file.

use super::args::LearnArgs;
use super::failure::Failure;
use super::{filter, layouts, output};
use crate::capture::SourceReport;
use crate::{analysis, rig_file};
use std::collections::BTreeSet;
use wireproof_protocols::verify::rig::{Rig, RigOutput};
use wireproof_protocols::verify::{Account, Ended, Options, OutputAccount, StreamAccount};
use wireproof_reports::text::rfc3339;

/// Nothing in the capture makes an output: neither right nor wrong.
const NOTHING_LEARNED: u8 = 3;

/// Runs the verb.
pub(super) fn run(args: &LearnArgs) -> Result<u8, Failure> {
    output::check(&args.files, args.output.as_deref())?;
    let wanted = filter::parse(args.filter.as_deref())?;
    let options = Options { layouts: layouts::load(&args.layout)?, ..Options::default() };
    let (report, mut account) = analysis::analyze(&args.files, options)?;
    let filtered = wanted.map(|wanted| wireproof_reports::filter::filter(&mut account, &wanted, &[]));
    let rig = learned(&account);
    if rig.outputs.is_empty() {
        let text =
            format!("{} shows no output to learn: capture some seconds of a running show", report.name);
        let text = if filtered.is_some() { format!("{text}, or look at --where") } else { text };
        return Err(Failure::Said { code: NOTHING_LEARNED, text });
    }
    let mut origin = origin(&report, &account);
    origin.extend(filtered.map(|f| format!("Only streams where {}.", f.expression)));
    let text = rig_file::to_toml(&rig, &origin);
    output::write(args.output.as_deref(), |out| Ok(out.write_all(text.as_bytes())?))?;
    Ok(0)
}

fn origin(report: &SourceReport, account: &Account) -> Vec<String> {
    let span = match (account.first_ns, account.last_ns) {
        (Some(first), Some(last)) => format!(", {} to {}", rfc3339(first, 6), rfc3339(last, 6)),
        _ => String::new(),
    };
    vec![
        format!("Learned from {}: {} packets{span}.", report.name, report.packets),
        "Check every value: what was wrong in the capture is wrong here too.".to_owned(),
    ]
}

/// The rig of an account; names are made unique by a number.
pub(crate) fn learned(account: &Account) -> Rig {
    let mut rig = Rig::default();
    let mut names = BTreeSet::new();
    for output in &account.outputs {
        let Some(mut output) = learned_output(output, account) else { continue };
        let base = if output.name.is_empty() { output.protocol.name().to_owned() } else { output.name };
        output.name = base.clone();
        let mut number = 2;
        while !names.insert(output.name.clone()) {
            output.name = format!("{base} {number}");
            number += 1;
        }
        rig.outputs.push(output);
    }
    rig
}

/// Nothing but a goodbye came, as some senders send for their synchronization universe.
fn only_goodbye(stream: &StreamAccount) -> bool {
    stream.ended == Ended::Terminated && stream.datagrams <= 3
}

/// `None` for an output without streams.
fn learned_output(output: &OutputAccount, account: &Account) -> Option<RigOutput> {
    let streams: Vec<&StreamAccount> = output
        .streams
        .iter()
        .filter_map(|index| account.streams.get(*index))
        .filter(|stream| !only_goodbye(stream))
        .collect();
    let first = streams.first()?;
    let ids: BTreeSet<u32> = streams.iter().map(|s| s.stream_id).collect();
    let alike = streams.iter().all(|s| s.sync_addresses == first.sync_addresses);
    Some(RigOutput {
        name: output.name.clone(),
        protocol: output.protocol,
        source: Some(first.source.ip()),
        destination: output.destination.map(|d| d.ip()),
        sender: first.sender.as_deref().and_then(rig_file::parse_cid),
        streams: ids.into_iter().collect(),
        datagrams_per_frame: Some(output.datagrams_per_frame).filter(|n| *n > 0),
        octets_per_frame: Some(output.octets_per_frame).filter(|n| *n > 0),
        rate_mhz: Some((output.rate_mhz, rig_file::TOLERANCE)).filter(|(rate, _)| *rate > 0),
        sync: match first.sync_addresses.as_slice() {
            [address] if alike => Some(*address),
            _ => None,
        },
        on_change: false,
    })
}
