//! The side file of cause places (`<ring>.places`): one place a line, its id, a tab, the place; started over with each
//! recording. Owns both directions, reading and writing; opens no file.

use std::collections::HashMap;
use std::fmt::Write as _;

/// What the side file of a ring is called: the ring's name and this.
pub const SUFFIX: &str = ".places";
/// Places that are read; a recording keeps far fewer.
pub const MAX_PLACES: usize = 65_536;
/// Octets of a place; of a longer one the tail is kept, which names file and line.
pub const MAX_PLACE: usize = 255;
/// Name of the source that stands for all places past the most a writer keeps apart.
pub const FURTHER: &str = "further places";

/// The last whole characters of a place that fit into so many octets.
pub fn tail(place: &str, octets: usize) -> &str {
    let mut from = place.len().saturating_sub(octets);
    while !place.is_char_boundary(from) {
        from += 1;
    }
    &place[from..]
}

/// A place of at most so many characters: of a longer one the tail, behind an ellipsis.
pub fn shorten(place: &str, characters: usize) -> String {
    let count = place.chars().count();
    if count <= characters {
        return place.to_owned();
    }
    let kept = characters.saturating_sub(1);
    std::iter::once('\u{2026}').take(characters).chain(place.chars().skip(count - kept)).collect()
}

/// The line of a place, its end included: one line, whatever the place holds.
pub fn line(id: u64, place: &str) -> String {
    let mut line = String::new();
    let clean = tail(place, MAX_PLACE).chars().map(|c| if c.is_control() { ' ' } else { c });
    let _ = write!(line, "{id}\t");
    line.extend(clean);
    line.push('\n');
    line
}

/// Places by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    names: HashMap<u64, String>,
    bad_lines: u64,
}

impl Places {
    /// Reads a side file. An id that comes again takes its latest place; lines that are none are counted.
    pub fn read(text: &str) -> Places {
        let mut places = Places::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let pair = line.split_once('\t').and_then(|(id, place)| Some((id.parse().ok()?, place)));
            match pair.filter(|(id, _)| places.names.len() < MAX_PLACES || places.names.contains_key(id)) {
                Some((id, place)) => places.insert(id, place),
                None => places.bad_lines += 1,
            }
        }
        places
    }

    /// Names a source.
    pub fn insert(&mut self, id: u64, place: &str) {
        self.names.insert(id, tail(place, MAX_PLACE).to_owned());
    }

    /// The place of a source.
    pub fn get(&self, id: u64) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// The place of a source, or `source 7` for one that has no name.
    pub fn name(&self, id: u64) -> String {
        self.get(id).map_or_else(|| format!("source {id}"), str::to_owned)
    }

    /// Whether the source stands for all places past the most a writer keeps apart.
    pub fn is_further(&self, id: u64) -> bool {
        self.get(id) == Some(FURTHER)
    }

    /// No source has a name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Number of sources that have a name.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Lines that were no places.
    pub fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// The side file of these places, by id.
    pub fn write(&self) -> String {
        let mut ids: Vec<_> = self.names.iter().collect();
        ids.sort_unstable();
        ids.into_iter().map(|(id, place)| line(*id, place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_are_read_and_damage_is_counted() {
        let places = Places::read("1\tsrc/cue.rs:40\n\nnonsense\n2\ta\tb\n-1\tx\n1\tsrc/cue.rs:41\r\n");
        assert_eq!((places.len(), places.bad_lines()), (2, 2));
        assert_eq!((places.get(1), places.get(2)), (Some("src/cue.rs:41"), Some("a\tb")));
        assert_eq!((places.name(3).as_str(), places.get(3)), ("source 3", None));
    }

    #[test]
    fn a_long_place_keeps_its_tail_and_whole_characters() {
        let long = format!("{}/effects/melt.py:118", "ü".repeat(200));
        let places = Places::read(&line(9, &long));
        let kept = places.get(9).unwrap();
        assert!(kept.len() <= MAX_PLACE && kept.len() > MAX_PLACE - 2, "{}", kept.len());
        assert!(long.ends_with(kept) && kept.ends_with("/melt.py:118"));
        assert_eq!(Places::read(&format!("9\t{long}")), places, "however it came into the file");
    }

    #[test]
    fn an_ellipsis_stands_for_what_was_cut() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdef", 4), "\u{2026}def");
        assert_eq!((shorten("abc", 1), shorten("abc", 0)), ("\u{2026}".to_owned(), String::new()));
    }

    #[test]
    fn places_past_the_limit_are_counted() {
        let text: String = (0..MAX_PLACES as u64 + 3).map(|id| line(id, "x")).collect();
        let places = Places::read(&text);
        assert_eq!((places.len(), places.bad_lines()), (MAX_PLACES, 3));
        let places = Places::read(&(text + "7\ty\n"));
        assert_eq!((places.get(7), places.bad_lines()), (Some("y"), 3), "a known id takes its latest place");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_on_one_line(id: u64, place in "\\PC{0,300}|[\\x00-\\x7f]{0,40}") {
            let line = line(id, &place);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let places = Places::read(&line);
            prop_assert_eq!((places.len(), places.bad_lines()), (1, 0));
            prop_assert_eq!(Places::read(&places.write()), places);
        }
    }
}
