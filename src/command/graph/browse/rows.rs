//! The rows of each list as lines of text.

use ratatui::text::{Line, Span};

use super::children::{From, Node};
use super::heap::Heap;
use super::look::{COUNT_COLUMNS, Look};
use super::object::{self, Details, Part};
use super::objects::{self, Objects};
use super::tree::{self, Tree};
use super::types::{Order, Types};
use crate::report::style::Role;
use crate::report::units::{count, percent, plural};

/// Width of a share.
const SHARE_COLUMNS: usize = 7;
/// Deeper rows of the tree are not moved further to the right; they get a number.
const MAX_INDENT: u32 = 12;

/// Makes lines of a width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'s, 'g> {
    pub(super) heap: &'s Heap<'g>,
    pub(super) look: Look,
    pub(super) columns: usize,
}

impl Rows<'_, '_> {
    /// Numbers at the right ends of their columns, then text that fills the rest.
    fn line(&self, numbers: &[(String, usize, Role)], role: Role, text: &str) -> Line<'static> {
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut rest = self.columns;
        for (number, columns, role) in numbers {
            spans.push(self.look.span(*role, format!("{number:>columns$}")));
            spans.push(Span::raw("  "));
            rest = rest.saturating_sub(columns + 2);
        }
        spans.push(self.look.span(role, self.look.cut(text, rest)));
        Line::from(spans)
    }

    fn size(&self, size_bytes: u64, role: Role) -> (String, usize, Role) {
        (self.look.size(size_bytes), self.look.size_columns(), role)
    }

    fn head(&self, text: &str) -> (String, usize, Role) {
        (text.to_owned(), self.look.size_columns(), Role::Dim)
    }

    /// What an object retains: nothing if it is garbage.
    fn retained(&self, object: u32) -> (String, usize, Role) {
        match self.heap.retained(object) {
            retained if retained.objects > 0 => self.size(retained.bytes, Role::Strong),
            _ => ("garbage".to_owned(), self.look.size_columns(), Role::Dim),
        }
    }

    /// A row that stands for others.
    fn more(&self, left: u64, what: &str) -> Line<'static> {
        let text = format!("and {}: Enter shows the next ones", plural(left, what));
        self.look.line(Role::Dim, self.look.cut(&text, self.columns))
    }

    pub(super) fn types_head(&self, order: Order) -> Line<'static> {
        let sorted = |of: Order, text: &str| if of == order { format!("{text}*") } else { text.to_owned() };
        let columns = [
            self.head(&sorted(Order::Retained, "retained")),
            self.head(&sorted(Order::Size, "size")),
            (sorted(Order::Count, "count"), COUNT_COLUMNS, Role::Dim),
        ];
        self.line(&columns, Role::Dim, &sorted(Order::Name, "type"))
    }

    pub(super) fn types(&self, types: &Types, row: usize) -> Line<'static> {
        let Some(totals) = types.row(self.heap, row) else { return Line::default() };
        let columns = [
            self.size(totals.retained.bytes, Role::Strong),
            self.size(totals.all.bytes, Role::Plain),
            (count(totals.all.objects), COUNT_COLUMNS, Role::Plain),
        ];
        self.line(&columns, Role::Plain, &self.heap.label(totals.class))
    }

    pub(super) fn tree_head(&self) -> Line<'static> {
        let columns = [self.head("retained"), ("share".to_owned(), SHARE_COLUMNS, Role::Dim)];
        self.line(&columns, Role::Dim, "  object, or type with its objects")
    }

    pub(super) fn tree(&self, tree: &Tree, row: usize) -> Line<'static> {
        let Some(row) = tree.rows().get(row) else { return Line::default() };
        let all = self.heap.reachable().bytes.max(1);
        let share = percent(row.retained.bytes as f64 * 100.0 / all as f64);
        let columns = match row.node {
            Node::More { from: From::Object(_), .. } => {
                [self.head(""), (String::new(), SHARE_COLUMNS, Role::Dim)]
            }
            _ => [self.size(row.retained.bytes, Role::Strong), (share, SHARE_COLUMNS, Role::Plain)],
        };
        self.line(&columns, Role::Plain, &self.node(row))
    }

    fn node(&self, row: &tree::Row) -> String {
        let indent = " ".repeat(2 * row.depth.min(MAX_INDENT) as usize);
        let depth = if row.depth > MAX_INDENT { format!("{}: ", row.depth) } else { String::new() };
        let arrow = self.look.style.arrow();
        let (sign, text) = match row.node {
            Node::Object(object) => {
                let sign = if self.heap.has_children(object) { "+" } else { " " };
                let field = self.heap.static_field(object).filter(|_| row.depth == 0);
                // Both names are to fit into a row of 80 columns, which has no room for the address.
                let text = match field {
                    Some(field) => format!("{field} {arrow} {}", self.heap.label(self.heap.class_of(object))),
                    None => self.object(object),
                };
                (sign, text)
            }
            Node::Group { class, objects, .. } => {
                ("+", format!("{} ({})", self.heap.label(class), plural(objects, "object")))
            }
            Node::More { left, from, .. } => {
                let what = if matches!(from, From::Group(_)) { "more type" } else { "more object" };
                (" ", format!("and {}: Enter shows them", plural(left, what)))
            }
        };
        let sign = if row.is_open { "-" } else { sign };
        format!("{indent}{sign} {depth}{text}")
    }

    /// The name of an object's class, and its address.
    pub(super) fn object(&self, object: u32) -> String {
        format!("{} {}", self.heap.label(self.heap.class_of(object)), self.heap.address(object))
    }

    pub(super) fn objects_head(&self) -> Line<'static> {
        let columns =
            [self.head("retained"), ("count".to_owned(), COUNT_COLUMNS, Role::Dim), self.head("own size")];
        self.line(&columns, Role::Dim, "object")
    }

    pub(super) fn objects(&self, objects: &Objects, row: usize) -> Line<'static> {
        let object = match objects.row(row) {
            Some(objects::Row::Object(object)) => object,
            Some(objects::Row::More { left, .. }) => return self.more(left, "more object"),
            None => return Line::default(),
        };
        let columns = [
            self.retained(object),
            (count(self.heap.retained(object).objects), COUNT_COLUMNS, Role::Plain),
            self.size(self.heap.own_bytes(object), Role::Plain),
        ];
        let text = format!("{} {}", self.heap.address(object), self.heap.generation(object));
        self.line(&columns, Role::Plain, &text)
    }

    pub(super) fn details(&self, details: &Details, row: usize) -> Line<'static> {
        let Some(row) = details.rows.get(row) else { return Line::default() };
        let arrow = self.look.style.arrow();
        match row {
            object::Row::Head { part, all } => self.part(*part, *all),
            object::Row::Text(text) => self.line(&[self.head(""), self.head("")], Role::Plain, text),
            object::Row::Dominator(object) => {
                let columns = [self.retained(*object), self.size(self.heap.own_bytes(*object), Role::Plain)];
                self.line(&columns, Role::Plain, &format!("kept alive only through {}", self.object(*object)))
            }
            object::Row::Object { place, object, count: times } => {
                let columns = [self.retained(*object), self.size(self.heap.own_bytes(*object), Role::Plain)];
                let row = if *times > 1 { format!(" ({} in a row)", count(*times)) } else { String::new() };
                let text = format!("{place} {arrow} {}{row}", self.object(*object));
                self.line(&columns, Role::Plain, text.trim_start())
            }
            object::Row::Missing { place } => {
                let text = format!("{place} {arrow} an object that the file does not have");
                self.line(&[self.head(""), self.head("")], Role::Dim, text.trim_start())
            }
            object::Row::Referrers(referrer) => {
                let number = |number| (count(number), self.look.size_columns(), Role::Plain);
                let columns = [number(referrer.objects), number(referrer.references)];
                self.line(&columns, Role::Plain, &self.heap.label(referrer.class))
            }
            object::Row::MoreFields { left, .. } => self.more(*left, "more reference"),
        }
    }

    fn part(&self, part: Part, all: u64) -> Line<'static> {
        let (columns, text) = match part {
            Part::Path => (["retained", "own size"], "path from a root".to_owned()),
            Part::Fields => (["retained", "own size"], format!("has {}", plural(all, "reference"))),
            Part::Referrers => (["objects", "references"], format!("referred to by {}", plural(all, "type"))),
        };
        self.line(&columns.map(|text| self.head(text)), Role::Strong, &text)
    }
}
