//! Tables, and blocks of lines set side by side as far as there is room.

use crate::report::style::{Line, Role, Style};

/// Blanks between panels.
pub(super) const GAP: usize = 3;

/// One cell: its text and what it is.
pub(super) type Cell = (String, Role);

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

/// How a column of a table stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stand {
    pub(super) name: &'static str,
    /// Blanks before it; `None`: as many as there is room for, the same for all such columns.
    pub(super) gap: Option<usize>,
    pub(super) left: bool,
}

/// A table without lines, its names dim.
pub(super) fn table(style: Style, columns: &[Stand], rows: &[Vec<Cell>], room: usize) -> Panel {
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(i, column)| {
            let cells = rows.iter().filter_map(|row| row.get(i)).map(|(text, _)| text.chars().count());
            cells.chain([column.name.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let fixed: usize = widths.iter().sum::<usize>() + columns.iter().filter_map(|c| c.gap).sum::<usize>();
    let open = columns.iter().filter(|c| c.gap.is_none()).count().max(1);
    let gap = (room.saturating_sub(fixed) / open).clamp(1, 4);
    let line = |cells: &mut dyn Iterator<Item = (&str, Role)>| {
        let mut line = Line::default();
        for ((column, width), (text, role)) in columns.iter().zip(&widths).zip(cells) {
            line.space(column.gap.unwrap_or(gap));
            let end = line.width() + width;
            if column.left {
                line.push(style, role, text);
                line.pad_to(end);
            } else {
                line.push_right(style, role, text, *width);
            }
        }
        line
    };
    let mut lines = vec![line(&mut columns.iter().map(|c| (c.name, Role::Dim)))];
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(|(text, role)| (text.as_str(), *role)))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

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
