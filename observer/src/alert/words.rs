//! A command as it is typed, split into program and arguments: blanks part them, quotes and backslashes hold them together.
//! No shell: nothing is expanded.

/// Program and arguments.
///
/// # Errors
/// A sentence when there is no program, or quotes do not close.
pub(super) fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let next = characters.next().ok_or("it ends in a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("its quotes are not closed");
    }
    words.extend(word);
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err("there is no program in it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_part_words_and_quotes_hold_them_together() {
        let split = |text| split(text).unwrap();
        assert_eq!(split(" notify  -u critical "), ["notify", "-u", "critical"]);
        assert_eq!(
            split(r#"sh -c 'echo "$X" \n' "a \" b" '' c\ d"#),
            ["sh", "-c", r#"echo "$X" \n"#, "a \" b", "", "c d"]
        );
        assert_eq!(split("a$HOME `x` *"), ["a$HOME", "`x`", "*"]);
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for text in ["", "  ", "''", "sh 'x", "sh \"x", "sh \\"] {
            assert!(split(text).is_err(), "{text}");
        }
    }
}
