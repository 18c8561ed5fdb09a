//! What the command line of the bench says.

use super::Outcome;
use std::path::{Path, PathBuf};

/// Datagrams of the capture.
const DATAGRAMS: usize = 2_000_000;
/// Blocks that count.
const BLOCKS: usize = 7;

/// Options, with what they are by default.
pub(crate) struct Options {
    /// A capture to measure instead of one that is made.
    pub(crate) file: Option<PathBuf>,
    /// Datagrams of the one that is made.
    pub(crate) datagrams: usize,
    /// Universes of sACN in it, and nothing else; the usual network when it is not said.
    pub(crate) universes: Option<u16>,
    /// Where it is made.
    pub(crate) folder: PathBuf,
    /// Blocks to measure.
    pub(crate) blocks: usize,
    /// Count instructions instead of time.
    pub(crate) instructions: bool,
    /// Write the counts down as the budget.
    pub(crate) bless: bool,
    /// One pass alone over a file, so many times.
    pub(crate) alone: Option<(String, PathBuf, usize)>,
}

impl Options {
    /// Reads them; `--bench` is cargo's own.
    pub(crate) fn of(arguments: impl Iterator<Item = String>) -> Outcome<Options> {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let (datagrams, blocks) = (DATAGRAMS, BLOCKS);
        let mut o = Options {
            file: None,
            datagrams,
            universes: None,
            folder,
            blocks,
            instructions: false,
            bless: false,
            alone: None,
        };
        let mut words = arguments.filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--in" => o.folder = value()?.into(),
                "--universes" => o.universes = Some(value()?.parse::<u16>()?.max(1)),
                "--blocks" => o.blocks = value()?.parse::<usize>()?.max(1),
                "--alone" => o.alone = Some((value()?, value()?.into(), value()?.parse()?)),
                "--instructions" => o.instructions = true,
                "--bless" => o.bless = true,
                given => match given.parse() {
                    Ok(datagrams) => o.datagrams = datagrams,
                    Err(_) => o.file = Some(given.into()),
                },
            }
        }
        Ok(o)
    }
}
