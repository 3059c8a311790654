//! Blocks of lines, set side by side as far as there is room.

use crate::report::style::Line;

/// Blanks between panels.
pub(super) const GAP: usize = 3;

/// A block of lines. The first one is its title.
pub(super) type Panel = Vec<Line>;

/// Sets panels side by side, in rows that are not wider than `columns`, a blank line between rows.
pub(super) fn flow(panels: Vec<Panel>, columns: usize) -> Vec<String> {
    let mut rows: Vec<Vec<Panel>> = Vec::new();
    let mut used = 0;
    for panel in panels {
        let width = width(&panel);
        match rows.last_mut() {
            Some(row) if used + GAP + width <= columns => {
                used += GAP + width;
                row.push(panel);
            }
            _ => {
                used = width;
                rows.push(vec![panel]);
            }
        }
    }
    let mut lines = Vec::new();
    for row in rows {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        for i in 0..row.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = Line::default();
            let mut start = 0;
            for panel in &row {
                line.pad_to(start);
                if let Some(part) = panel.get(i) {
                    line.append(part);
                }
                start += width(panel) + GAP;
            }
            lines.push(line.into_string());
        }
    }
    lines
}

fn width(panel: &Panel) -> usize {
    panel.iter().map(Line::width).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::style::{Role, Style};

    #[test]
    fn panels_stand_side_by_side_where_there_is_room() {
        let style = Style { colour: false, unicode: true };
        let panel = |lines: &[&str]| -> Panel {
            lines.iter().map(|text| Line::of(style, Role::Plain, text)).collect()
        };
        let panels = || vec![panel(&["one", "two"]), panel(&["three"]), panel(&["four", "x"])];
        assert_eq!(flow(panels(), 12), ["one   three", "two", "", "four", "x"]);
        assert_eq!(flow(panels(), 20), ["one   three   four", "two           x"]);
    }
}
