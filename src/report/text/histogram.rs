//! Sizes and shares as bars.

use super::panel::Panel;
use crate::gc::histogram::Histogram;
use crate::report::model::SIZE_BOUNDS;
use crate::report::style::{Line, Role, Style};
use crate::report::units::{Units, bound, bytes, count};

/// Width of a full bar.
const BAR: usize = 14;

/// Blocks by size, without empty rows at either end; `None`: there are none.
pub(super) fn sizes(title: &str, values: &Histogram, units: Units, style: Style) -> Option<Panel> {
    let rows = values.rows(&SIZE_BOUNDS);
    let first = rows.iter().position(|row| row.1 > 0)?;
    let last = rows.iter().rposition(|row| row.1 > 0)?;
    let labels: Vec<String> = rows
        .iter()
        .map(|(le, _, _)| match le {
            Some(le) => bound(*le, units),
            None => bound(SIZE_BOUNDS[SIZE_BOUNDS.len() - 1], units),
        })
        .collect();
    let label_width = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let top = rows.iter().map(|row| row.1).max().unwrap_or(1);
    let mut panel = vec![Line::of(style, Role::Dim, title)];
    for ((le, blocks, size), label) in rows.iter().zip(&labels).take(last + 1).skip(first) {
        let sign = if le.is_some() { style.at_most() } else { ">" };
        let sign_width = style.at_most().chars().count();
        let mut line = Line::of(style, Role::Dim, &format!("{sign:<sign_width$} {label:>label_width$} "));
        line.push(style, Role::Plain, &bar(*blocks, top, BAR, style));
        line.pad_to(sign_width + label_width + 2 + BAR);
        let role = if *blocks == 0 { Role::Dim } else { Role::Plain };
        line.push_right(style, role, &count(*blocks), 6);
        line.push_right(style, role, &bytes(*size, units), if units == Units::Bytes { 14 } else { 9 });
        panel.push(line);
    }
    Some(panel)
}

/// Named sizes, the largest first; `None`: there are none.
pub(super) fn shares(title: &str, parts: &[(String, u64)], units: Units, style: Style) -> Option<Panel> {
    let mut parts: Vec<&(String, u64)> = parts.iter().filter(|(_, size)| *size > 0).collect();
    parts.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let top = parts.first()?.1;
    let names = parts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut panel = vec![Line::of(style, Role::Dim, title)];
    for (name, size) in parts {
        let mut line = Line::of(style, Role::Plain, name);
        line.pad_to(names + 1);
        line.push(style, Role::Plain, &bar(*size, top, BAR, style));
        line.pad_to(names + 1 + BAR);
        line.push_right(style, Role::Plain, &bytes(*size, units), if units == Units::Bytes { 14 } else { 9 });
        panel.push(line);
    }
    Some(panel)
}

/// A bar of at most `width`, in eighths of a column; a value above 0 always shows.
fn bar(value: u64, top: u64, width: usize, style: Style) -> String {
    if value == 0 || top == 0 {
        return String::new();
    }
    let share = |steps: usize| {
        let scaled = (value as f64 / top as f64 * steps as f64).round() as usize;
        scaled.clamp(1, steps)
    };
    if !style.unicode {
        return "#".repeat(share(width));
    }
    let eighths = share(width * 8);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_vanishes() {
        let unicode = Style { colour: false, unicode: true };
        let ascii = Style { colour: false, unicode: false };
        assert_eq!([bar(8, 8, 4, unicode), bar(3, 8, 4, unicode)], ["████", "█▌"]);
        assert_eq!([bar(1, 1_000_000, 4, unicode), bar(0, 8, 4, unicode)], ["▏", ""]);
        assert_eq!([bar(1, 1_000_000, 4, ascii), bar(6, 8, 4, ascii)], ["#", "###"]);
    }
}
