//! Which arm is next: the planned order, repeats right after a block, whole blocks again.
//!
//! It never judges; it is told which arms have to be repeated.

use super::Schedule;
use crate::arm::Place;
use std::collections::VecDeque;

/// Arms still to run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Queue {
    todo: VecDeque<Place>,
    again: Vec<Place>,
    /// Block of the arm handed out last.
    block: Option<(u32, u32)>,
    /// Highest attempt handed out in that block.
    highest: u32,
    /// Arms handed out.
    pub started: u32,
}

impl Queue {
    /// Every arm of a schedule.
    pub(super) fn new(schedule: &Schedule) -> Self {
        Self::of(places(schedule))
    }

    /// These arms.
    pub(super) fn of(places: impl IntoIterator<Item = Place>) -> Self {
        Self { todo: places.into_iter().collect(), again: Vec::new(), block: None, highest: 0, started: 0 }
    }

    /// Arms that are left, known repeats included.
    pub(super) fn left(&self) -> usize {
        self.todo.len() + self.again.len()
    }

    /// The arms that are left in the order in which they will be handed out, as far as that is known.
    pub(super) fn ahead(&self) -> impl Iterator<Item = &Place> {
        let inside = self.todo.iter().take_while(|place| Some(block(place)) == self.block).count();
        let (inside, later) = (self.todo.iter().take(inside), self.todo.iter().skip(inside));
        inside.chain(&self.again).chain(later)
    }

    /// True while arms of the stratum of the last one are left.
    pub(super) fn is_inside_stratum(&self) -> bool {
        let next = self.todo.iter().chain(&self.again).next();
        match (next, self.block) {
            (Some(place), Some((stratum, _))) => place.stratum == stratum || !self.again.is_empty(),
            _ => true,
        }
    }

    /// The next arm, and whether it begins a block.
    pub(super) fn next(&mut self) -> Option<(Place, bool)> {
        if self.todo.front().map(block) != self.block {
            self.again.sort();
            let again = std::mem::take(&mut self.again);
            again.into_iter().rev().for_each(|place| self.todo.push_front(place));
        }
        let place = self.todo.pop_front()?;
        let first = self.block != Some(block(&place));
        self.highest = if first { place.attempt } else { self.highest.max(place.attempt) };
        self.block = Some(block(&place));
        self.started += 1;
        Some((place, first))
    }

    /// Repeats an arm right after its block.
    pub(super) fn repeat(&mut self, place: &Place) {
        self.again.push(Place { attempt: place.attempt + 1, ..place.clone() });
    }

    /// Repeats the block of an arm whole.
    pub(super) fn repeat_block(&mut self, place: &Place, schedule: &Schedule) {
        self.again.clear();
        self.todo.retain(|other| block(other) != block(place));
        let whole: Vec<Place> = places(schedule).filter(|other| block(other) == block(place)).collect();
        for other in whole.into_iter().rev() {
            self.todo.push_front(Place { attempt: self.highest + 1, ..other });
        }
        self.block = None;
    }
}

fn block(place: &Place) -> (u32, u32) {
    (place.stratum, place.block)
}

/// Every arm of a schedule in order, first attempts.
pub(super) fn places(schedule: &Schedule) -> impl Iterator<Item = Place> + '_ {
    (0..).zip(&schedule.strata).flat_map(|(stratum, s)| {
        (1..).zip(&s.blocks).flat_map(move |(block, b)| {
            (1..).zip(&b.treatments).map(move |(position, treatment)| Place {
                stratum,
                block,
                position,
                treatment: *treatment,
                attempt: 1,
            })
        })
    })
}
