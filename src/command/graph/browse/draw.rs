//! Draws the views.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::heap::Source;
use super::help;
use super::look::Look;
use super::rows::Rows;
use super::state::{Place, State, View};
use crate::report::style::Role;
use crate::report::units::{count, plural};

/// Lines beside the list: three above its head, its head, and two below.
const OTHER_LINES: usize = 6;
/// Nothing can be read on a smaller terminal.
const MIN_COLUMNS: u16 = 40;
const MIN_LINES: u16 = 9;
/// Columns left of each row, for the sign of the selected one.
const SIGN_COLUMNS: usize = 2;

/// Draws what is shown. `title` says which graph it is; it must be safe to show.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State<'_>, look: Look, title: &str) {
    let area = frame.area();
    let lines = if area.width < MIN_COLUMNS || area.height < MIN_LINES {
        vec![look.line(Role::Alarm, format!("at least {MIN_COLUMNS}x{MIN_LINES} are needed"))]
    } else if state.is_helping() {
        help::LINES.iter().map(|line| look.line(Role::Plain, *line)).collect()
    } else {
        let (columns, lines) = (usize::from(area.width), usize::from(area.height));
        state.resize(lines.saturating_sub(OTHER_LINES));
        page(state, look, title, columns)
    };
    for (line, y) in lines.into_iter().zip(0..area.height) {
        frame.render_widget(line, Rect { x: 0, y, width: area.width, height: 1 });
    }
}

fn page(state: &State<'_>, look: Look, title: &str, columns: usize) -> Vec<Line<'static>> {
    let rows = Rows { heap: state.heap(), look, columns: columns.saturating_sub(SIGN_COLUMNS) };
    let (head, list) = list(state, &rows);
    let selected = list.selected;
    let mut lines = vec![first(state, look, title, columns), tabs(state.view(), look)];
    lines.push(look.line(Role::Strong, look.cut(&subject(state, &rows), columns)));
    lines.push(signed(head, false));
    let seen = list.seen.clone();
    lines.extend(seen.map(|row| signed((list.row)(row), row == selected)));
    lines.resize(4 + state.height(), Line::default());
    lines.push(look.line(Role::Dim, look.cut(&full_name(state), columns)));
    lines.push(last(state, look, columns));
    lines
}

/// The list of a view.
struct List<'a> {
    row: Box<dyn Fn(usize) -> Line<'static> + 'a>,
    selected: usize,
    seen: std::ops::Range<usize>,
}

/// The head of the list, and the list.
fn list<'a>(state: &'a State<'_>, rows: &'a Rows<'_, '_>) -> (Line<'static>, List<'a>) {
    type Row<'a> = Box<dyn Fn(usize) -> Line<'static> + 'a>;
    let (types, tree) = (state.types(), state.tree());
    let (head, cursor, len, row): (_, _, _, Row<'a>) = match state.place() {
        Place::Types => {
            let row = Box::new(move |row| rows.types(types, row));
            (rows.types_head(types.order()), types.cursor, types.len(), row)
        }
        Place::Tree => {
            (rows.tree_head(), tree.cursor, tree.rows().len(), Box::new(move |row| rows.tree(tree, row)))
        }
        Place::Objects(objects) => {
            let row = Box::new(move |row| rows.objects(objects, row));
            (rows.objects_head(), objects.cursor, objects.len(), row)
        }
        Place::Object(details) => {
            let row = Box::new(move |row| rows.details(details, row));
            (amounts(rows, details.object), details.cursor, details.rows.len(), row)
        }
    };
    (head, List { row, selected: cursor.selected(), seen: cursor.seen(len, state.height()) })
}

/// The selected row has a sign, and is shown inverted.
fn signed(line: Line<'static>, is_selected: bool) -> Line<'static> {
    let sign = if is_selected { "> " } else { "  " };
    let mut line = line;
    line.spans.insert(0, Span::raw(sign));
    if is_selected {
        line.spans.iter_mut().for_each(|span| span.style = span.style.add_modifier(Modifier::REVERSED));
    }
    line
}

/// Which graph it is, and how much it has.
fn first(state: &State<'_>, look: Look, title: &str, columns: usize) -> Line<'static> {
    let heap = state.heap();
    let (all, reachable) = (heap.all(), heap.reachable());
    let mut amount = format!("{}, {}", plural(all.objects, "object"), look.size(all.bytes));
    let garbage = all - reachable;
    if garbage.objects > 0 {
        amount += &format!(" ({} garbage)", look.size(garbage.bytes));
    }
    if !heap.is_whole() {
        let text = format!("{title}: some is missing; {amount}");
        return look.line(Role::Alarm, look.cut(&text, columns));
    }
    look.line(Role::Plain, look.cut(&format!("{title}: {amount}"), columns))
}

fn tabs(view: View, look: Look) -> Line<'static> {
    let name = |view| match view {
        View::Types => "1 types",
        View::Tree => "2 tree",
        View::Objects => "3 objects",
        View::Object => "4 object",
    };
    let tab = |of: &View| match *of == view {
        true => look.span(Role::Strong, format!("[{}]", name(*of))),
        false => look.span(Role::Dim, format!(" {} ", name(*of))),
    };
    Line::from(View::ALL.iter().map(tab).collect::<Vec<_>>())
}

/// What the list has.
fn subject(state: &State<'_>, rows: &Rows<'_, '_>) -> String {
    let heap = state.heap();
    match state.place() {
        Place::Types => {
            let (types, search) = (state.types(), super::heap::shown(state.types().search()));
            let order = types.order().text();
            match search.is_empty() {
                true => format!("{} by {order}", plural(types.len() as u64, "type")),
                false => format!("{} with {search:?} by {order}", plural(types.len() as u64, "type")),
            }
        }
        Place::Tree => {
            "what keeps what alive: below each object are those that it alone keeps alive".to_owned()
        }
        Place::Objects(objects) => {
            let (page, label) = (&objects.page, heap.label(objects.source.class()));
            let (first, last) =
                (page.before.saturating_add(1), page.before.saturating_add(page.ranks.len() as u64));
            let of = match objects.source {
                Source::Class(_) => String::new(),
                Source::Referrers { target, .. } => format!(" that refer to {}", heap.address(target)),
            };
            format!("{} to {} of {}{of}: {label}", first.min(last), last, count(page.all))
        }
        Place::Object(details) if details.skip > 0 => {
            format!(
                "references from {} on of {}",
                details.skip.saturating_add(1),
                rows.object(details.object)
            )
        }
        Place::Object(details) => rows.object(details.object),
    }
}

/// How large an object is, and what it keeps alive.
fn amounts(rows: &Rows<'_, '_>, object: u32) -> Line<'static> {
    let (heap, look) = (rows.heap, rows.look);
    let own = look.size(heap.own_bytes(object));
    let retained = heap.retained(object);
    let retains = match retained.objects {
        0 => "garbage".to_owned(),
        objects => format!("keeps {} in {} alive", look.size(retained.bytes), plural(objects, "object")),
    };
    let text = format!("{own} itself, {retains}, {}", heap.generation(object));
    look.line(Role::Plain, look.cut(&text, rows.columns))
}

/// The whole name of the selected row's type, and its module.
fn full_name(state: &State<'_>) -> String {
    let Some(class) = state.row_class() else { return String::new() };
    let heap = state.heap();
    heap.module(class).map_or_else(|| heap.label(class), |module| format!("{} ({module})", heap.label(class)))
}

/// What the keys do, or what the last key could not do.
fn last(state: &State<'_>, look: Look, columns: usize) -> Line<'static> {
    if let Some(said) = state.said() {
        return look.line(Role::High, look.cut(said, columns));
    }
    if state.is_searching() {
        let text = format!("/{}_", super::heap::shown(state.types().search()));
        return look.line(Role::Strong, look.cut(&text, columns));
    }
    let keys = match state.view() {
        View::Types => "Enter objects  s sort  / search  Tab view  Esc back  ? help  q quit",
        View::Tree => "Enter open/close  4 object  3 objects of type  Esc back  ? help  q quit",
        View::Objects => "Enter object  Tab view  Esc back  ? help  q quit",
        View::Object => "Enter go there  p path  f references  r referred to by  Esc back  ? help  q quit",
    };
    look.line(Role::Dim, look.cut(keys, columns))
}
