//! Why each frame was made, counted: exactly one cause a frame, and the places that asked. Bounded memory; knows no
//! ring.

use crate::places::shorten;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Places that are kept apart; further ones are counted together.
pub const KEEP: usize = 32;
/// Characters of a place; a longer one keeps its tail behind an ellipsis.
pub const PLACE_CHARACTERS: usize = 255;
/// Events that every frame gets and that cause none.
pub const AMBIENT: [&str; 1] = ["pointer_position"];

/// Why a frame was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Control input, cue, DMX-in, source change.
    Event,
    /// Requests for a refresh before it, and no event.
    Refresh,
    /// Neither: a pacing timer or an animation came due, or nobody wrote down why.
    Other,
}

/// A place and how often it asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceRow {
    /// The place, or what stands for it.
    pub place: String,
    /// Its requests.
    pub requests: u64,
}

/// Causes of a recording, most first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All frames.
    pub frames: u64,
    /// By an event.
    pub by_events: u64,
    /// By a request for a refresh.
    pub by_refresh: u64,
    /// By neither.
    pub by_other: u64,
    /// Places that asked: most requests first, then by name.
    pub places: Vec<PlaceRow>,
    /// Requests of places past those that are kept.
    pub places_rest: u64,
}

impl Counts {
    /// Adds the counts of another recording. Places that were kept first stay; further ones are counted together.
    pub fn add(&mut self, other: &Counts) {
        self.frames += other.frames;
        self.by_events += other.by_events;
        self.by_refresh += other.by_refresh;
        self.by_other += other.by_other;
        self.places_rest += other.places_rest;
        for row in &other.places {
            let room = self.places.len() < KEEP;
            match self.places.iter_mut().find(|known| known.place == row.place) {
                Some(known) => known.requests += row.requests,
                None if room => self.places.push(row.clone()),
                None => self.places_rest += row.requests,
            }
        }
        sort(&mut self.places);
    }
}

/// Most requests first, then by name.
fn sort(places: &mut [PlaceRow]) {
    places.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.place.cmp(&b.place)));
}

/// Counts causes frame by frame.
#[derive(Clone, Debug)]
pub struct Tally {
    keep: usize,
    characters: usize,
    counts: [u64; 3],
    places: HashMap<String, u64>,
    rest: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally::new(KEEP, PLACE_CHARACTERS)
    }
}

impl Tally {
    /// Nothing so far.
    pub fn new(keep: usize, characters: usize) -> Tally {
        Tally { keep, characters, counts: [0; 3], places: HashMap::new(), rest: 0 }
    }

    /// A recording starts: everything is counted from nothing.
    pub fn reset(&mut self) {
        *self = Tally::new(self.keep, self.characters);
    }

    /// A frame with its events and the places that asked before it; what caused it.
    pub fn frame<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a str>,
        refreshes: impl IntoIterator<Item = &'a str>,
    ) -> Cause {
        self.frame_with(events, refreshes, false)
    }

    /// The same, with requests of places that nobody keeps apart or without.
    pub fn frame_with<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a str>,
        refreshes: impl IntoIterator<Item = &'a str>,
        further: bool,
    ) -> Cause {
        let caused = events.into_iter().any(|event| !AMBIENT.contains(&event));
        let mut asked = further;
        for place in refreshes {
            asked = true;
            self.ask(place);
        }
        let cause = match (caused, asked) {
            (true, _) => Cause::Event,
            (false, true) => Cause::Refresh,
            (false, false) => Cause::Other,
        };
        self.counts[cause as usize] += 1;
        cause
    }

    /// A request of places that nobody keeps apart.
    pub fn ask_rest(&mut self) {
        self.rest += 1;
    }

    fn ask(&mut self, place: &str) {
        let place = shorten(place, self.characters);
        if let Some(requests) = self.places.get_mut(&place) {
            *requests += 1;
        } else if self.places.len() < self.keep {
            self.places.insert(place, 1);
        } else {
            self.rest += 1;
        }
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        let row = |(place, requests): (&String, &u64)| PlaceRow { place: place.clone(), requests: *requests };
        let mut places: Vec<PlaceRow> = self.places.iter().map(row).collect();
        sort(&mut places);
        let [by_events, by_refresh, by_other] = self.counts;
        Counts {
            frames: by_events + by_refresh + by_other,
            by_events,
            by_refresh,
            by_other,
            places,
            places_rest: self.rest,
        }
    }
}
