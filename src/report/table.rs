//! Tables without rules.

use comfy_table::{CellAlignment, Table, presets};

use super::style::{Line, Role, Style};

/// The text of a cell, and what it is.
pub(crate) type Cell = (String, Role);

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// Blanks before it; `None`: one to four, as there is room, and as many in all such columns.
    pub(crate) gap: Option<u16>,
    pub(crate) left: bool,
}

impl Column {
    /// A column whose text is aligned left.
    pub(crate) fn left(name: &'static str, gap: u16) -> Column {
        Column { name, gap: Some(gap), left: true }
    }

    /// A column whose text is aligned right.
    pub(crate) fn right(name: &'static str, gap: u16) -> Column {
        Column { name, gap: Some(gap), left: false }
    }

    /// A column whose text is aligned right, with a gap that depends on the room.
    pub(crate) fn spread(name: &'static str) -> Column {
        Column { name, gap: None, left: false }
    }
}

/// The lines of a table, its header dim. It is at most `room` columns wide, as far as its gaps allow.
pub(crate) fn table(style: Style, columns: &[Column], rows: &[Vec<Cell>], room: usize) -> Vec<Line> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|column| column.name));
    table.add_rows(rows.iter().map(|row| row.iter().map(|(text, _)| text)));
    let widths: u16 = table.column_max_content_widths().iter().sum();
    let fixed = usize::from(widths + columns.iter().filter_map(|column| column.gap).sum::<u16>());
    let spread = columns.iter().filter(|column| column.gap.is_none()).count().max(1);
    let gap = (room.saturating_sub(fixed) / spread).clamp(1, 4) as u16;
    for (column, set) in columns.iter().zip(table.column_iter_mut()) {
        set.set_padding((column.gap.unwrap_or(gap), 0));
        set.set_cell_alignment(if column.left { CellAlignment::Left } else { CellAlignment::Right });
    }
    let header: Vec<Cell> = columns.iter().map(|column| (column.name.to_owned(), Role::Dim)).collect();
    [&header]
        .into_iter()
        .chain(rows)
        .zip(table.lines())
        .map(|(cells, line)| paint(style, cells, &line))
        .collect()
}

/// As [`table`], without the columns that there is no room for. `dispensable`: places of columns that belong together,
/// those that go first before the others.
pub(crate) fn table_in(
    style: Style,
    columns: &[Column],
    rows: &[Vec<Cell>],
    room: usize,
    dispensable: &[&[usize]],
) -> Vec<Line> {
    let mut left_out: Vec<&[usize]> = Vec::new();
    let mut next = dispensable.iter();
    loop {
        let stays = |place: &usize| !left_out.iter().any(|group| group.contains(place));
        let places: Vec<usize> = (0..columns.len()).filter(stays).collect();
        let fewer: Vec<Column> = places.iter().map(|place| columns[*place]).collect();
        let cells = |row: &Vec<Cell>| {
            places.iter().filter_map(|place| row.get(*place).cloned()).collect::<Vec<Cell>>()
        };
        let lines = table(style, &fewer, &rows.iter().map(cells).collect::<Vec<_>>(), room);
        match next.next() {
            Some(group) if lines.iter().any(|line| line.width() > room) => left_out.push(group),
            _ => return lines,
        }
    }
}

/// Adds the colours to a line of a table: comfy-table would count them as text.
fn paint(style: Style, cells: &[Cell], line: &str) -> Line {
    let mut painted = Line::default();
    let mut rest = line;
    for (text, role) in cells {
        if let Some((blanks, after)) = rest.split_once(text.as_str()).filter(|_| !text.is_empty()) {
            painted.space(blanks.len());
            painted.push(style, *role, text);
            rest = after;
        }
    }
    painted
}
