//! Figures and times in few columns. Pure.

/// A time in milliseconds in at most five columns; seconds where they do not fit.
pub(super) fn ms(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ms {
        0.0 => "-".to_owned(),
        0.0..9.9995 => format!("{ms:.3}"),
        0.0..99.995 => format!("{ms:.2}"),
        0.0..999.95 => format!("{ms:.1}"),
        0.0..9999.5 => format!("{ms:.0}"),
        0.0..999_500.0 => format!("{:.0}s", ms / 1e3),
        0.0..6e8 => format!("{:.0}m", ms / 6e4),
        0.0..3e10 => format!("{:.0}h", ms / 3.6e6),
        _ => "years".to_owned(),
    }
}

/// A count in at most `columns`, in thousands, millions or billions where it does not fit.
pub(super) fn count(n: u64, columns: usize) -> String {
    let units = [(1, ""), (1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G"), (1_000_000_000_000, "T")];
    let mut written = units.iter().map(|(unit, name)| format!("{}{name}", n / unit));
    written.clone().find(|text| text.len() <= columns).or_else(|| written.next_back()).unwrap_or_default()
}

/// A rate in at most five columns.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "-".to_owned(),
        0.0..999.95 => format!("{per_second:.1}"),
        _ => count(per_second as u64, 5),
    }
}

/// Hours, minutes and seconds.
pub(super) fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// `n` of something.
pub(super) fn number(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The text cut to so many characters, with a dot in place of the last one when something is missing.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['.']).collect()
}

/// The parts side by side, as many of the first ones as have room whole: half a figure is a wrong figure.
pub(super) fn joined(parts: &[String], columns: usize) -> String {
    let mut line = String::new();
    for part in parts {
        if line.chars().count() + 2 + part.chars().count() > columns {
            break;
        }
        line.push_str("  ");
        line.push_str(part);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_takes_more_than_five_columns() {
        let times = [0, 1, 999, 16_666_667, 9_999_600, 99_994_000, 99_996_000, 999_960_000, 9_999_600_000];
        let times = times.map(ms);
        assert!(times.iter().all(|text| text.len() <= 5), "{times:?}");
        assert_eq!(times, ["-", "0.000", "0.001", "16.67", "10.00", "99.99", "100.0", "1000", "10s"]);
        assert!((0..64).all(|bit| ms(1 << bit).len() <= 5));
    }

    #[test]
    fn counts_that_do_not_fit_are_cut_to_thousands() {
        assert_eq!([count(99_999, 5), count(100_000, 5), count(u64::MAX, 6)], ["99999", "100k", "18446744T"]);
        assert_eq!([rate(0.0), rate(59.94), rate(44_100.0)], ["-", "59.9", "44100"]);
        assert_eq!([clock(59), clock(3_661)], ["0:59", "1:01:01"]);
        assert_eq!(joined(&["a 1".to_owned(), "bc 23".to_owned()], 11), "  a 1");
        assert_eq!([fit("abc", 3), fit("abcd", 3)], ["abc", "ab."]);
    }
}
