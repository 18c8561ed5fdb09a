//! The gate: nobody is timed whose datagrams differ from the golden ones in a single octet.

use std::fmt;

/// What is timed, and can be looked at before and after.
pub trait Subject {
    /// Encodes one frame and copies its datagrams.
    ///
    /// # Errors
    /// Why the frame cannot be encoded.
    fn datagrams(&mut self, frame: &[u8]) -> Result<Vec<Vec<u8>>, String>;

    /// Encodes so many frames, the given buffers in turn, and leaves the datagrams where the subject keeps them.
    fn work(&mut self, frames: &[&[u8]], iterations: u64);

    /// Frames encoded in both ways.
    fn frames(&self) -> u64;
}

/// The first octet in which datagrams differ from the golden ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Frames before the one that differs.
    pub frame: u64,
    /// Datagram of the frame, from 0.
    pub datagram: usize,
    /// Octet of its payload, from 0.
    pub offset: usize,
    /// What stands there in the golden datagram; `None` when it ends before, or there is no such datagram.
    pub expected: Option<u8>,
    /// What the subject wrote there; `None` likewise.
    pub got: Option<u8>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octet = |octet: Option<u8>| octet.map_or("nothing".to_owned(), |octet| format!("0x{octet:02x}"));
        let (expected, got) = (octet(self.expected), octet(self.got));
        let Difference { frame, datagram, offset, .. } = self;
        write!(f, "frame {frame}, datagram {datagram}, octet {offset}: expected {expected}, got {got}")
    }
}

/// Why a subject is not timed, or its timing does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An octet differs.
    Differs(Difference),
    /// There is nothing to compare: the subject or the reference says why.
    Fails(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Differs(difference) => difference.fmt(f),
            Refusal::Fails(why) => f.write_str(why),
        }
    }
}

/// Makes the golden datagrams of a frame, given how many frames went before.
pub type Golden<'a> = &'a dyn Fn(&[u8], u64) -> Result<Vec<Vec<u8>>, String>;

/// Compares the next `count` frames of a subject with the golden datagrams, the given buffers in turn.
///
/// # Errors
/// [`Refusal`] at the first octet that differs.
pub fn check(
    subject: &mut dyn Subject,
    golden: Golden<'_>,
    frames: &[&[u8]],
    count: usize,
) -> Result<(), Refusal> {
    for frame in frames.iter().cycle().take(count) {
        let number = subject.frames();
        let expected = golden(frame, number).map_err(Refusal::Fails)?;
        let got = subject.datagrams(frame).map_err(Refusal::Fails)?;
        if let Some(difference) = difference(number, &expected, &got) {
            return Err(Refusal::Differs(difference));
        }
    }
    Ok(())
}

fn difference(frame: u64, expected: &[Vec<u8>], got: &[Vec<u8>]) -> Option<Difference> {
    const NONE: &[u8] = &[];
    (0..expected.len().max(got.len())).find_map(|datagram| {
        let of = |all: &[Vec<u8>]| all.get(datagram).map_or(NONE, Vec::as_slice).to_vec();
        let (wanted, found) = (of(expected), of(got));
        // An empty datagram too many differs in an octet that is nowhere.
        let missing = expected.get(datagram).is_some() != got.get(datagram).is_some();
        let offset = (0..wanted.len().max(found.len())).find(|at| wanted.get(*at) != found.get(*at));
        let offset = offset.or(missing.then_some(0))?;
        let octet = |of: &[u8]| of.get(offset).copied();
        Some(Difference { frame, datagram, offset, expected: octet(&wanted), got: octet(&found) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Emits what the script says, whatever the frame.
    struct Script {
        output: Vec<Result<Vec<Vec<u8>>, String>>,
        done: u64,
    }

    impl Subject for Script {
        fn datagrams(&mut self, _frame: &[u8]) -> Result<Vec<Vec<u8>>, String> {
            self.done += 1;
            self.output[self.done as usize - 1].clone()
        }

        fn work(&mut self, _frames: &[&[u8]], iterations: u64) {
            self.done += iterations;
        }

        fn frames(&self) -> u64 {
            self.done
        }
    }

    /// The golden datagrams are the frame in pairs, the first octet of each raised by the number of frames before.
    fn golden(frame: &[u8], number: u64) -> Result<Vec<Vec<u8>>, String> {
        let part = |part: &[u8]| vec![part[0] + number as u8, part[1]];
        Ok(frame.chunks(2).map(part).collect())
    }

    fn refusal(output: &[&[&[u8]]]) -> Result<(), Refusal> {
        let frame = |frame: &&[&[u8]]| Ok(frame.iter().map(|d| d.to_vec()).collect());
        let mut script = Script { output: output.iter().map(frame).collect(), done: 0 };
        check(&mut script, &golden, &[&[1, 2, 3, 4], &[5, 6, 7, 8]], output.len())
    }

    fn differs(
        frame: u64,
        datagram: usize,
        offset: usize,
        expected: Option<u8>,
        got: Option<u8>,
    ) -> Result<(), Refusal> {
        Err(Refusal::Differs(Difference { frame, datagram, offset, expected, got }))
    }

    #[test]
    fn the_same_octets_pass_frame_after_frame() {
        assert_eq!(refusal(&[&[&[1, 2], &[3, 4]], &[&[6, 6], &[8, 8]], &[&[3, 2], &[5, 4]]]), Ok(()));
    }

    #[test]
    fn the_first_octet_that_differs_is_named() {
        assert_eq!(refusal(&[&[&[1, 2], &[3, 9]]]), differs(0, 1, 1, Some(4), Some(9)));
        assert_eq!(refusal(&[&[&[1, 2], &[3, 4]], &[&[5, 6], &[7, 8]]]), differs(1, 0, 0, Some(6), Some(5)));
    }

    #[test]
    fn octets_and_datagrams_too_many_or_too_few_differ() {
        assert_eq!(refusal(&[&[&[1, 2], &[3]]]), differs(0, 1, 1, Some(4), None));
        assert_eq!(refusal(&[&[&[1, 2, 0], &[3, 4]]]), differs(0, 0, 2, None, Some(0)));
        assert_eq!(refusal(&[&[&[1, 2]]]), differs(0, 1, 0, Some(3), None));
        assert_eq!(refusal(&[&[&[1, 2], &[3, 4], &[5]]]), differs(0, 2, 0, None, Some(5)));
        assert_eq!(refusal(&[&[&[1, 2], &[3, 4], &[]]]), differs(0, 2, 0, None, None));
    }

    #[test]
    fn a_subject_that_cannot_encode_says_why() {
        let mut script = Script { output: vec![Err("too large".to_owned())], done: 0 };
        let refusal = check(&mut script, &golden, &[&[1, 2]], 1);
        assert_eq!(refusal, Err(Refusal::Fails("too large".to_owned())));
    }

    #[test]
    fn frames_that_were_worked_on_count() {
        let output = vec![Ok(vec![]), Ok(vec![]), Ok(vec![vec![3, 2]])];
        let mut script = Script { output, done: 0 };
        script.work(&[&[1, 2]], 2);
        assert_eq!(check(&mut script, &golden, &[&[1, 2]], 1), Ok(()));
    }

    #[test]
    fn a_difference_reads_as_a_sentence() {
        let difference = Difference { frame: 3, datagram: 1, offset: 111, expected: Some(0), got: None };
        let text = "frame 3, datagram 1, octet 111: expected 0x00, got nothing";
        assert_eq!(difference.to_string(), text);
    }
}
