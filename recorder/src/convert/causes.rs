//! The side file of cause places (`<ring>.places`): one place a line, its id, a tab, the place. Opens no file.

use std::collections::HashMap;

/// Places that are kept; a ring's own recording keeps far fewer.
const MAX_PLACES: usize = 65_536;
/// Octets of a place; the rest is cut.
const MAX_PLACE: usize = 255;

/// Reads the places of a side file; lines that are none are counted.
pub fn places(text: &str) -> (HashMap<u64, String>, u64) {
    let mut places = HashMap::new();
    let mut bad = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let pair = line.split_once('\t').and_then(|(id, place)| Some((id.parse().ok()?, place)));
        match pair.filter(|_| places.len() < MAX_PLACES) {
            Some((id, place)) => {
                places.insert(id, place.chars().take(MAX_PLACE).collect());
            }
            None => bad += 1,
        }
    }
    (places, bad)
}

/// The class of a cause by its flags: 1 timer, 2 event, 3 refresh, 4 other.
pub fn class(flags: u16) -> &'static str {
    match flags {
        1 => "timer",
        2 => "event",
        3 => "refresh",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_damage_is_counted() {
        let (places, bad) = places("1\tsrc/cue.rs:40\n\nnonsense\n2\ta\tb\n-1\tx\n");
        assert_eq!((places.len(), bad), (2, 2));
        assert_eq!((places[&1].as_str(), places[&2].as_str()), ("src/cue.rs:40", "a\tb"));
    }
}
