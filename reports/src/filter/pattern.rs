//! A text that others are compared with: `*` stands for any characters, `?` for one, a backslash takes the next as it is.
//! The case of ASCII letters does not count. Takes time in proportion to both lengths, whatever the pattern.

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    One(char),
    AnyOne,
    Any,
}

impl Pattern {
    /// The pattern of a text with wildcards.
    pub(crate) fn of(text: &str) -> Pattern {
        let mut pieces = Vec::new();
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            pieces.push(match c {
                '*' => Piece::Any,
                '?' => Piece::AnyOne,
                '\\' => Piece::One(characters.next().unwrap_or('\\').to_ascii_lowercase()),
                c => Piece::One(c.to_ascii_lowercase()),
            });
        }
        pieces.dedup_by(|a, b| *a == Piece::Any && *b == Piece::Any);
        Pattern(pieces)
    }

    /// The pattern that only this text fits.
    pub(crate) fn exactly(text: &str) -> Pattern {
        Pattern(text.chars().map(|c| Piece::One(c.to_ascii_lowercase())).collect())
    }

    /// Whether a beginning of the pattern is like the text, so that a longer text may fit.
    pub(super) fn begins_like(&self, text: &str) -> bool {
        // Beginnings of more pieces stand for longer texts, but for one `*` a piece.
        let longest = self.0.len().min(2 * text.chars().count() + 1);
        (0..=longest).any(|n| Pattern(self.0.iter().take(n).copied().collect()).fits(text))
    }

    /// Whether the whole text is like the pattern.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().map(|c| c.to_ascii_lowercase()).collect();
        let (mut at, mut piece) = (0, 0);
        // Where to go on when what follows the last `*` does not fit.
        let mut again: Option<(usize, usize)> = None;
        while at < text.len() {
            match (self.0.get(piece), text.get(at)) {
                (Some(Piece::Any), _) => {
                    again = Some((at, piece));
                    piece += 1;
                }
                (Some(Piece::AnyOne), _) => (at, piece) = (at + 1, piece + 1),
                (Some(Piece::One(a)), Some(b)) if a == b => (at, piece) = (at + 1, piece + 1),
                _ => {
                    let Some((from, star)) = again else { return false };
                    (at, piece) = (from + 1, star + 1);
                    again = Some((from + 1, star));
                }
            }
        }
        self.0.iter().skip(piece).all(|p| *p == Piece::Any)
    }
}
