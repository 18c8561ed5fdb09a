//! Which output the stream of a universe belongs to, and the packets that synchronize outputs.
//!
//! Streams of one sender are one output, unless a rig declares them apart. It puts no frame together.

use super::arrive::SACN_TIMEOUT;
use super::findings::Place;
use super::flow::Flow;
use super::observation::Observation;
use super::output::{Output, OutputKey};
use super::{Verifier, rules};
use crate::{Pdu, Protocol, Severity};

impl Verifier {
    pub(super) fn synchronize(&mut self, index: usize, now: i64, pdu: &Pdu<'_>) {
        let key = sender_key(&self.flows[index]);
        let address = u16::try_from(pdu.stream.unwrap_or(0)).unwrap_or(0);
        for output in self.by_output.get(&key).into_iter().flatten() {
            let output = &mut self.shared.outputs[*output];
            let wanted = output.addresses.iter_mut().find(|(a, _)| *a == address);
            if let Some((_, at)) = wanted {
                *at = Some(now);
            } else if pdu.kind.protocol != Protocol::ArtNet {
                continue;
            }
            output.on_sync();
        }
    }

    /// Data that waits for a sync packet which stays away for longer than the timeout.
    pub(super) fn await_sync(&mut self, index: usize, pdu: &Pdu<'_>, o: &Observation) {
        if pdu.sync == 0 || o.new_session {
            return;
        }
        let flow = &mut self.flows[index];
        let last = flow.output.and_then(|i| self.shared.outputs[i].synced_at(pdu.sync));
        let late = last.is_some_and(|at| o.at - at > SACN_TIMEOUT);
        if late && !flow.sync_missing {
            let place = Place { stream: Some(index), packet: o.packet, stamp: o.stamp };
            self.shared.findings.add(rules::SYNC_MISSING, Severity::Warning, place, 0, || {
                format!("no synchronization on {} for over 2.5 s while data goes on", pdu.sync)
            });
        }
        flow.sync_missing = late;
    }

    pub(super) fn output_of(&mut self, index: usize) -> usize {
        if let Some(output) = self.flows[index].output {
            return output;
        }
        let rig = self.declares(&self.flows[index]);
        let key = sender_key(&self.flows[index]);
        let outputs = &mut self.shared.outputs;
        let same = self.by_output.entry(key).or_default();
        let output =
            same.iter().copied().find(|output| outputs[*output].key.rig == rig).unwrap_or_else(|| {
                outputs.push(Output::new(OutputKey { rig, ..key }));
                same.push(outputs.len() - 1);
                outputs.len() - 1
            });
        outputs[output].flows.push(index);
        self.flows[index].output = Some(output);
        self.shared.outputs[output].declared = self.declared(output);
        output
    }
}

/// What the outputs of one sender have in common.
fn sender_key(flow: &Flow) -> OutputKey {
    OutputKey {
        protocol: flow.protocol(),
        source: flow.key.source,
        sender: flow.cold.sender,
        port: flow.key.port,
        alone: None,
        rig: None,
    }
}
