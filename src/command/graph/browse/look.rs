//! How pieces of text look, and how they fit into columns.

use ratatui::style::{Color, Modifier, Style as Painted};
use ratatui::text::{Line, Span};

use crate::report::Units;
use crate::report::style::{Role, Style};
use crate::report::units::bytes;

/// Colours, signs and units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) style: Style,
    pub(super) units: Units,
}

/// Width of a number of objects.
pub(super) const COUNT_COLUMNS: usize = 7;

impl Look {
    /// What a role looks like, as in the reports.
    pub(super) fn of(self, role: Role) -> Painted {
        let plain = Painted::new();
        match role {
            _ if !self.style.colour => plain,
            Role::Plain => plain,
            Role::Strong => plain.add_modifier(Modifier::BOLD),
            Role::Dim => plain.add_modifier(Modifier::DIM),
            Role::High => plain.fg(Color::Yellow),
            Role::Alarm => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    pub(super) fn span(self, role: Role, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.of(role))
    }

    pub(super) fn line(self, role: Role, text: impl Into<String>) -> Line<'static> {
        Line::from(self.span(role, text))
    }

    /// A size with its unit.
    pub(super) fn size(self, size_bytes: u64) -> String {
        bytes(size_bytes, self.units)
    }

    /// Width of a size.
    pub(super) fn size_columns(self) -> usize {
        if self.units == Units::Bytes { 15 } else { 10 }
    }

    /// The text in so many columns: of a longer one the middle is left out, because the end of a name says as much as its
    /// beginning.
    pub(super) fn cut(self, text: &str, columns: usize) -> String {
        let (len, sign) = (text.chars().count(), self.style.ellipsis());
        if len <= columns {
            return text.to_owned();
        }
        let rest = columns.saturating_sub(sign.chars().count());
        let (first, last) = (rest.div_ceil(2), rest / 2);
        let begin: String = text.chars().take(first).collect();
        let end: String = text.chars().skip(len.saturating_sub(last)).collect();
        (begin + sign + &end).chars().take(columns).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_loses_its_middle() {
        let look = |unicode| Look { style: Style { colour: false, unicode }, units: Units::Iec };
        assert_eq!(look(true).cut("Known.Order", 11), "Known.Order");
        assert_eq!(look(true).cut("Known.Order", 8), "Know\u{2026}der");
        assert_eq!(look(false).cut("Known.Order", 8), "Kno...er");
        assert_eq!(look(false).cut("Known.Order", 2), "..");
        assert_eq!(look(true).cut("Known.Order", 0), "");
    }
}
