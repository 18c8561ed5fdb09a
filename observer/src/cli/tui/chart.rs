//! How many frame intervals of the selected stream were how long, as bars. Pure.

use super::draw::Paper;
use super::layout::Layout;
use super::words::ms;
use ratatui::style::{Color, Style};

/// Heights within a line, lowest first.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns left of the bars, for the scale.
const MARGIN: u16 = 9;

/// Draws the bars and their axis.
pub(super) fn draw(paper: &mut Paper<'_>, layout: Layout) {
    if layout.bars == 0 {
        return;
    }
    let end = paper.y + layout.bars + 1;
    let bars = &paper.model.shot.progress.bars;
    let most = bars.counts.iter().copied().max().unwrap_or(0);
    if paper.model.shot.progress.charted != Some(paper.model.selected) || most == 0 {
        paper.line("   no frame intervals to draw so far", Style::new());
        paper.y = end;
        return;
    }
    let heights: Vec<u32> =
        bars.counts.iter().map(|n| height(*n, most, u32::from(layout.bars) * 8)).collect();
    let style = if paper.model.look.color { Style::new().fg(Color::Cyan) } else { Style::new() };
    for line in (0..layout.bars).rev() {
        let text: String = heights.iter().map(|h| cell(*h, line, paper.model.look.ascii)).collect();
        let scale = match line {
            0 => "1".to_owned(),
            line if line + 1 == layout.bars => super::words::count(most, 7),
            _ => String::new(),
        };
        paper.at(0, paper.y, &format!("{scale:>8}"), Style::new());
        paper.at(MARGIN, paper.y, &text, style);
        paper.y += 1;
    }
    axis(paper);
    paper.y = end;
}

fn axis(paper: &mut Paper<'_>) {
    let bars = &paper.model.shot.progress.bars;
    let to = bars.from_ns + bars.width_ns * bars.counts.len() as u64;
    let outside = match (bars.under, bars.over) {
        (0, 0) => String::new(),
        (under, over) => format!("; {under} below, {over} above"),
    };
    let from = if bars.from_ns == 0 { "0".to_owned() } else { ms(bars.from_ns) };
    let text = format!("{from} to {} ms frame to frame, {} a bar{outside}", ms(to), ms(bars.width_ns));
    paper.at(MARGIN, paper.y, &text, Style::new());
    paper.at(3, paper.y, "log", Style::new());
}

/// Eighths of a line, of `full`: by the logarithm, so that a single outlier is seen beside thousands.
fn height(n: u64, most: u64, full: u32) -> u32 {
    match n {
        0 => 0,
        n => {
            let share = (1.0 + n as f64).ln() / (1.0 + most as f64).ln();
            ((share * f64::from(full)).round() as u32).clamp(1, full)
        }
    }
}

fn cell(height: u32, line: u16, ascii: bool) -> char {
    let above = height.saturating_sub(u32::from(line) * 8);
    match above {
        0 => ' ',
        _ if ascii && above >= 4 => '#',
        _ if ascii => '.',
        n => EIGHTHS[(n.min(8) - 1) as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_million_is_seen_and_none_is_not() {
        assert_eq!([height(0, 1_000_000, 24), height(1_000_000, 1_000_000, 24)], [0, 24]);
        assert!(height(1, 1_000_000, 24) >= 1);
        assert_eq!(
            [cell(0, 0, false), cell(1, 0, false), cell(9, 0, false), cell(9, 1, false)],
            [' ', '▁', '█', '▁']
        );
        assert_eq!([cell(3, 0, true), cell(8, 0, true), cell(8, 1, true)], ['.', '#', ' ']);
    }
}
