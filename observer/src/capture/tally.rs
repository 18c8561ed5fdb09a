//! Counts kept while a capture file is walked.

use super::link::is_dissected;
use super::record::LinkType;
use std::collections::BTreeMap;
use wireproof_protocols::Timestamp;

/// Records by link type, drops, and the finest resolution seen.
#[derive(Default)]
pub(super) struct Tally {
    /// Records read.
    pub(super) records: u64,
    /// Packets the capture says it lost.
    pub(super) dropped: u64,
    /// True when an interface stamps finer than microseconds.
    pub(super) nanoseconds: bool,
    /// The kind of a layout that is on a tape and was not given.
    pub(super) layout: Option<String>,
    /// When capturing ended, where the file says it and can be believed.
    pub(super) ended: Option<Timestamp>,
    run: Option<(LinkType, u64)>,
    links: BTreeMap<LinkType, u64>,
}

impl Tally {
    /// Counts a record.
    #[inline]
    pub(super) fn record(&mut self, link_type: LinkType) {
        self.take(link_type, 1);
    }

    /// Counts records of one link type. They come in runs; only a change touches the map.
    #[inline]
    pub(super) fn take(&mut self, link_type: LinkType, records: u64) {
        self.records += records;
        match &mut self.run {
            Some((running, count)) if *running == link_type => *count += records,
            _ => self.change(link_type, records),
        }
    }

    /// Records by the name of their link type, and those of them whose link type is not dissected.
    pub(super) fn link_types(mut self) -> [BTreeMap<String, u64>; 2] {
        self.flush();
        let (mut names, mut undecoded) = (BTreeMap::new(), BTreeMap::new());
        for (link_type, count) in self.links {
            *names.entry(link_type.to_string()).or_insert(0) += count;
            if count > 0 && !is_dissected(link_type) {
                *undecoded.entry(link_type.to_string()).or_insert(0) += count;
            }
        }
        [names, undecoded]
    }

    fn change(&mut self, link_type: LinkType, records: u64) {
        self.flush();
        self.run = Some((link_type, records));
    }

    fn flush(&mut self) {
        if let Some((link_type, count)) = self.run.take() {
            *self.links.entry(link_type).or_insert(0) += count;
        }
    }
}
