//! The report in lines of text.

use serde_json::Value;

use super::amounts::Amounts;
use super::document::GraphDocument;
use super::object::{ObjectDocument, TypeDocument};
use super::page::Page;
use super::short;
use crate::escape::{MAX_NAME_CHARS, cut, escape_untrusted};
use crate::report::style::{Line, Role, Terminal, join};
use crate::report::table::Column;
use crate::report::units::{Units, count, duration, percent, plural};

/// A text of the `taken` object.
fn told<'t>(taken: Option<&'t Value>, key: &str) -> Option<&'t Value> {
    taken?.get(key).filter(|value| !value.is_null())
}

/// Which process, and when.
pub(super) fn process(page: &mut Page, indent: usize, taken: Option<&Value>) {
    let text =
        |key| told(taken, key).and_then(Value::as_str).map(|text| cut(text.to_owned(), MAX_NAME_CHARS));
    let number = |key| told(taken, key).and_then(Value::as_u64);
    let parts = [
        text("name"),
        number("pid").map(|pid| format!("pid {pid}")),
        text("runtime_version").map(|version| format!(".NET {version}")),
        number("gc_number").map(|gc| match number("generation") {
            Some(generation) => format!("at gc#{gc} (gen{generation})"),
            None => format!("at gc#{gc}"),
        }),
        text("time").map(|time| time.chars().take(19).chain(['Z']).collect()),
    ];
    let style = page.style;
    let part = |part: String| Line::of(style, Role::Strong, &escape_untrusted(&part));
    let parts: Vec<Line> = parts.into_iter().flatten().map(part).collect();
    if !parts.is_empty() {
        let blanks = " ".repeat(indent);
        let lines = join(style, &parts, 2, page.columns.saturating_sub(indent));
        page.add(lines.into_iter().map(|line| format!("{blanks}{line}")));
    }
}

/// The first lines: which process, when, and what it cost.
fn origin(page: &mut Page, taken: Option<&Value>) {
    process(page, 0, taken);
    let number = |key| told(taken, key).and_then(Value::as_u64);
    let style = page.style;
    if let (Some(pause), Some(lived)) = (number("pause_ns"), number("copy_ns")) {
        let unicode = style.unicode;
        let copied = number("copied_bytes").map_or_else(String::new, |copied| {
            format!(", and {} of memory were copied for it", page.size(copied))
        });
        let (pause, lived) = (duration(pause, unicode), duration(lived, unicode));
        let text = format!("the program stood still for {pause}; its copy lived {lived}{copied}");
        page.sentence(Role::Dim, 0, &text);
    }
}

/// That the file has secrets.
fn contents(page: &mut Page, taken: Option<&Value>) {
    if told(taken, "strings").and_then(Value::as_bool) == Some(true) {
        page.sentence(Role::High, 0, "the file has the contents of strings, which may be secrets");
    }
}

fn warnings(page: &mut Page, document: &GraphDocument) {
    let missing = &document.missing;
    if missing.nothing && missing.doubtful_objects == 0 {
        return;
    }
    let mut what = Vec::new();
    if let Some(cut) = &missing.cut {
        what.push(format!("the file is not whole: {cut}"));
    }
    if missing.names {
        what.push("the process did not answer when it was asked for names".to_owned());
    }
    what.extend(missing.differences.iter().cloned());
    for (number, text) in [
        (missing.references, "references lead to no object"),
        (missing.lost_roots, "roots did not fit into memory"),
        (missing.doubtful_objects, "objects were told in two different ways"),
    ] {
        if number > 0 {
            what.push(format!("{} {text}", count(number)));
        }
    }
    let text = format!("warning: {}; take the graph again", what.join(", "));
    page.sentence(Role::Alarm, 0, &text);
}

/// The report on a graph.
pub(crate) fn text(document: &GraphDocument, terminal: &Terminal, units: Units) -> String {
    let mut page = Page::new(terminal, units);
    origin(&mut page, document.taken.as_ref());
    contents(&mut page, document.taken.as_ref());
    warnings(&mut page, document);
    page.blank();
    let garbage = Amounts {
        objects: document.all.objects.saturating_sub(document.reachable.objects),
        bytes: document.all.bytes.saturating_sub(document.reachable.bytes),
    };
    let mut all = page.amount(document.all);
    if garbage.objects > 0 {
        all += &format!(
            "; {} of it garbage that was not collected yet ({})",
            page.size(garbage.bytes),
            plural(garbage.objects, "object")
        );
    }
    page.sentence(Role::Plain, 0, &all);
    let generations: Vec<Line> = document
        .generations
        .iter()
        .map(|row| {
            Line::of(page.style, Role::Dim, &format!("{} {}", row.generation, page.size(row.all.bytes)))
        })
        .collect();
    let lines = join(page.style, &generations, 0, page.columns);
    page.add(lines);
    suspects(&mut page, document);
    holders(&mut page, document);
    types(&mut page, document);
    page.waste(&document.waste, document.reachable.bytes);
    roots(&mut page, document);
    page.finish()
}

fn suspects(page: &mut Page, document: &GraphDocument) {
    if document.suspects.is_empty() {
        return;
    }
    page.head("what may be a leak");
    for suspect in &document.suspects {
        let who = match suspect.objects {
            1 => format!("one {}", suspect.class),
            objects => format!("{} {} together", count(objects), suspect.class),
        };
        let mostly = suspect.mostly.as_ref().map_or_else(String::new, |(class, objects)| {
            format!(
                ", in {}: {} {}",
                short::type_name(&suspect.accumulated_in),
                count(*objects),
                short::type_name(class)
            )
        });
        let (retained, share) = (page.size(suspect.retained.bytes), percent(suspect.share_percent));
        let verb = if suspect.objects == 1 { "keeps" } else { "keep" };
        page.sentence(Role::High, 0, &format!("{who} {verb} {retained} alive ({share}){mostly}"));
        page.way(suspect.path.as_ref());
    }
}

fn holders(page: &mut Page, document: &GraphDocument) {
    if document.holders.is_empty() {
        return;
    }
    page.head("who keeps most alive");
    for holder in &document.holders {
        let share = holder.retained.bytes as f64 / document.reachable.bytes.max(1) as f64 * 100.0;
        let head = format!(
            "{} ({}), {}",
            page.size(holder.retained.bytes),
            percent(share),
            plural(holder.retained.objects, "object")
        );
        page.sentence(Role::High, 0, &head);
        page.way(holder.path.as_ref());
        let held: Vec<String> = holder
            .holds
            .iter()
            .map(|row| {
                format!(
                    "{} {}: {}",
                    count(row.own.objects),
                    short::type_name(&row.class),
                    page.size(row.retained.bytes)
                )
            })
            .collect();
        if !held.is_empty() {
            page.sentence(Role::Dim, 4, &format!("holds {}", held.join(", ")));
        }
    }
}

fn types(page: &mut Page, document: &GraphDocument) {
    page.head("types, by what would be garbage without their objects");
    let cells = |row: &super::document::TypeRow| {
        vec![
            (page.size(row.retained.bytes), Role::Strong),
            (page.size(row.all.bytes), Role::Plain),
            (count(row.all.objects), Role::Plain),
            (escape_untrusted(&row.class), Role::Plain),
        ]
    };
    let rows: Vec<_> = document.types.iter().map(cells).collect();
    let columns = [
        Column::right("retained", 2),
        Column::right("size", 2),
        Column::right("objects", 2),
        Column::left("type", 2),
    ];
    page.rows(&columns, &rows);
    let more = document.types_in_all.saturating_sub(document.types.len() as u64);
    if more > 0 {
        page.sentence(Role::Dim, 2, &format!("and {} (--top shows more)", plural(more, "type")));
    }
}

fn roots(page: &mut Page, document: &GraphDocument) {
    page.head("roots");
    let cells = |row: &super::document::RootRow| {
        vec![
            (count(row.strong), Role::Plain),
            (count(row.weak), Role::Dim),
            (page.size(row.alone.bytes), Role::Plain),
            (row.kind.to_owned(), Role::Plain),
        ]
    };
    let rows: Vec<_> = document.roots.iter().map(cells).collect();
    let columns = [
        Column::right("roots", 2),
        Column::right("weak", 2),
        Column::right("keep alone", 2),
        Column::left("kind", 2),
    ];
    page.rows(&columns, &rows);
}

/// The report on an object.
pub(crate) fn object_text(document: &ObjectDocument, terminal: &Terminal, units: Units) -> String {
    let mut page = Page::new(terminal, units);
    object(&mut page, document);
    page.referrers(&document.referrers);
    page.finish()
}

fn object(page: &mut Page, document: &ObjectDocument) {
    let retained =
        document.retained.map_or_else(String::new, |retained| format!(", retains {}", page.amount(retained)));
    let own = page.size(document.own_bytes);
    page.sentence(Role::Strong, 0, &format!("{} at {}: {own}{retained}", document.class, document.address));
    page.way(document.path.as_ref());
    let by: Vec<String> = document
        .retained_by
        .iter()
        .map(|step| {
            if step.count > 1 {
                format!("{} ({} in a row)", short::type_name(&step.class), step.count)
            } else {
                short::type_name(&step.class)
            }
        })
        .collect();
    if by.len() > 1 {
        let arrow = format!(" {} ", page.style.arrow());
        page.sentence(Role::Dim, 4, &format!("each of these alone keeps it alive: {}", by.join(&arrow)));
    }
}

/// The report on a type.
pub(crate) fn type_text(document: &TypeDocument, terminal: &Terminal, units: Units) -> String {
    let mut page = Page::new(terminal, units);
    for row in &document.types {
        let (all, retained) = (page.amount(row.all), page.size(row.retained.bytes));
        page.sentence(Role::Strong, 0, &format!("{}: {all}, retain {retained}", row.class));
    }
    page.head("those that retain most");
    for document in &document.objects {
        object(&mut page, document);
    }
    page.referrers(&document.referrers);
    page.finish()
}
