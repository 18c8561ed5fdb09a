//! Which layout the rings of a plan's device have, and how they are read. Opens no file.

use wireproof_matrices::plan::Plan;
use wireproof_matrices::plan::profile::{RingFields, RingMap};
use wireproof_recorder::header::{Stage, Tables};
use wireproof_recorder::v1::{self, FieldMap, Fields};
use wireproof_recorder::{Policy, Refusal, Ring, parse};

/// A reader of rings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingReader {
    /// Layout 2, which describes itself.
    Current,
    /// Layout 1: a map that was declared, and names of stages.
    Legacy(Box<FieldMap>, Tables),
}

impl RingReader {
    /// The one that a plan's profile asks for.
    pub fn of(plan: &Plan) -> RingReader {
        let Some(RingMap::V1 { map, fields, stages, .. }) = plan.profile().map(|profile| &profile.ring)
        else {
            return RingReader::Current;
        };
        let declared = match fields {
            Some(fields) => Some(field_map(fields)),
            None => FieldMap::named(map),
        };
        // A plan is checked when it is read: a map that is not known, or does not fit, is none of a plan.
        let Some(map) = declared.filter(|map| map.check().is_ok()) else { return RingReader::Current };
        let stage = |(name, id): (&String, &u16)| Stage { id: *id, category: 0, name: name.clone() };
        let tables = Tables { stages: stages.iter().map(stage).collect(), ..Tables::default() };
        RingReader::Legacy(Box::new(map), tables)
    }

    /// Reads an image.
    ///
    /// # Errors
    /// The reason why nothing of it can be believed.
    pub fn read(&self, image: &[u8]) -> Result<Ring, Refusal> {
        match self {
            RingReader::Current => parse(image, Policy::Conservative),
            RingReader::Legacy(map, tables) => {
                v1::parse(image, map).map(|ring| Ring { tables: tables.clone(), ..ring })
            }
        }
    }

    /// True when a copy tells by itself what was sent.
    pub fn has_stamps(&self) -> bool {
        *self == RingReader::Current
    }
}

fn field_map(fields: &RingFields) -> FieldMap {
    let octet = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let place = |name: &str| {
        let (at, length) = fields.fields.get(name).copied().unwrap_or_default();
        (octet(at), octet(length))
    };
    FieldMap {
        magic: fields.magic.clone(),
        header: octet(fields.header),
        record: octet(fields.record),
        visible: octet(fields.visible),
        generation: fields.generation.map(octet),
        seq: fields.seq.map(octet),
        capacity: fields.capacity.map(octet),
        fields: Fields {
            start: place("start"),
            end: place("end"),
            frame: place("frame"),
            stage: place("stage"),
            device: place("device"),
            proto: place("proto"),
            flags: place("flags"),
            aux: place("aux"),
        },
        commit: octet(fields.commit),
        commit_bias: fields.commit_bias,
        complete_stage: fields.complete_stage,
        no_frame: fields.no_frame,
    }
}
