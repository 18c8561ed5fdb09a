//! Numbers with their noun, as findings and reports say them.

/// `1 datagram`, `2 datagrams`: for nouns whose plural ends in s.
pub fn counted(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "datagram")), ["0 datagrams", "1 datagram", "2 datagrams"]);
    }
}
