//! Where keys lead.

use super::fixture::{graph, press, with, write};
use crate::command::graph::browse::heap::Source;
use crate::command::graph::browse::key::Key;
use crate::command::graph::browse::object::{self, Part};
use crate::command::graph::browse::state::{Flow, Place, State, View};

/// The names of the types in the list.
fn types(state: &State<'_>) -> Vec<String> {
    let row = |row| state.types().row(state.heap(), row).map(|totals| state.heap().label(totals.class));
    (0..state.types().len()).filter_map(row).collect()
}

/// The type of the shown object.
fn object(state: &State<'_>) -> String {
    let Place::Object(details) = state.place() else { panic!("{:?}", state.view()) };
    state.heap().label(state.heap().class_of(details.object))
}

#[test]
fn types_are_sorted_and_searched() {
    let graph = graph(3, 4);
    with(&graph, |state| {
        assert_eq!(types(state)[..3], ["object[]", "List<Known.Order>", "Known.Order[]"]);
        let first = ["Known.Order", "Known.Node", "Evil\\u{1b}[2J\\u{202e}"];
        for first in first {
            press(state, &[Key::Char('s')]);
            assert_eq!(types(state)[0], first);
            // The same type stays selected.
            let selected = state.types().selected(state.heap()).unwrap();
            assert_eq!(state.heap().label(selected.class), "object[]");
        }
        press(state, &[Key::Char('s')]);
        write(state, "/ORDERq");
        assert!(state.is_searching() && types(state).is_empty());
        press(state, &[Key::Backspace, Key::Down, Key::Enter]);
        assert_eq!(types(state), ["List<Known.Order>", "Known.Order[]", "Known.Order"]);
        assert_eq!(state.types().cursor.selected(), 1);
        // What is searched for is a text, no pattern.
        write(state, "/[");
        assert_eq!(types(state), ["object[]", "Known.Order[]", "Evil\\u{1b}[2J\\u{202e}"]);
        press(state, &[Key::Escape]);
        assert!(!state.is_searching() && types(state).len() == 8);
    });
}

#[test]
fn a_type_leads_to_its_objects_and_to_what_holds_them() {
    let graph = graph(3, 4);
    with(&graph, |state| {
        write(state, "/known.order");
        press(state, &[Key::Enter, Key::End, Key::Enter]);
        let Place::Objects(objects) = state.place() else { panic!("{:?}", state.view()) };
        assert_eq!((objects.len(), objects.page.all), (3, 3));
        press(state, &[Key::Enter]);
        assert_eq!(object(state), "Known.Order");
        let Place::Object(details) = state.place() else { panic!() };
        let text = |row: &object::Row| match row {
            object::Row::Head { part, all } => format!("{part:?} {all}"),
            object::Row::Text(text) => text.clone(),
            object::Row::Object { place, object, count: 1 } => {
                format!("{place} {}", state.heap().label(state.heap().class_of(*object)))
            }
            object::Row::Dominator(object) => {
                format!("through {}", state.heap().label(state.heap().class_of(*object)))
            }
            object::Row::Referrers(referrer) => {
                format!("{} {}", referrer.objects, state.heap().label(referrer.class))
            }
            other => panic!("{other:?}"),
        };
        let rows: Vec<String> = details.rows.iter().map(text).collect();
        let expected = [
            "Path 0",
            "static Known.Service._orders",
            " List<Known.Order>",
            "._items Known.Order[]",
            "[0] Known.Order",
            "through Known.Order[]",
            "Fields 1",
            ".Customer Known.Customer",
            "Referrers 2",
            "1 Known.Order[]",
            "1 Known.Customer",
        ];
        assert_eq!(rows, expected);

        press(state, &[Key::Char('f'), Key::Down, Key::Enter]);
        assert_eq!(object(state), "Known.Customer");
        press(state, &[Key::Char('r'), Key::Down, Key::Enter]);
        assert_eq!(object(state), "Known.Order");
        press(state, &[Key::Backspace, Key::Escape]);
        assert_eq!(object(state), "Known.Order");
        press(state, &[Key::Backspace, Key::Backspace]);
        assert_eq!((state.view(), state.types().len()), (View::Types, 3));
        // The first one ends the search.
        press(state, &[Key::Escape]);
        assert_eq!((state.said(), state.types().len()), (None, 8));
        press(state, &[Key::Escape]);
        assert!(state.said().is_some());
    });
}

#[test]
fn long_lists_come_in_pages() {
    let graph = graph(450, 0);
    with(&graph, |state| {
        write(state, "/known.order");
        press(state, &[Key::Enter, Key::End, Key::Enter]);
        for (before, left) in [(0, 250), (200, 50), (400, 0)] {
            let Place::Objects(objects) = state.place() else { panic!() };
            assert_eq!((objects.page.before, objects.page.after(), objects.page.all), (before, left, 450));
            press(state, &[Key::End]);
            if left > 0 {
                press(state, &[Key::Enter]);
            }
        }
        press(state, &[Key::Backspace, Key::Backspace, Key::Backspace]);
        write(state, "/order[]");
        press(state, &[Key::Enter, Key::Enter, Key::Enter]);
        for skip in [0, 100, 200, 300, 400] {
            let Place::Object(details) = state.place() else { panic!() };
            assert_eq!(details.skip, skip);
            let more = details.rows.iter().position(|row| matches!(row, object::Row::MoreFields { .. }));
            let Some(more) = more else { break };
            press(state, &vec![Key::Down; more]);
            press(state, &[Key::Enter]);
        }
        let Place::Object(details) = state.place() else { panic!() };
        assert_eq!((details.skip, details.rows.len()), (400, 51));
    });
}

#[test]
fn referrers_of_one_type_are_a_list() {
    let graph = graph(2, 0);
    with(&graph, |state| {
        write(state, "/customer");
        press(state, &[Key::Enter, Key::Enter, Key::Enter, Key::Char('r'), Key::Down, Key::Enter]);
        assert_eq!(object(state), "Known.Order");
    });
    let hub = super::fixture::hub(5);
    with(&hub, |state| {
        write(state, "/evil");
        press(state, &[Key::Enter, Key::Enter, Key::Enter, Key::Char('r'), Key::Down, Key::Enter]);
        let Place::Objects(objects) = state.place() else { panic!("{:?}", state.view()) };
        assert!(matches!(objects.source, Source::Referrers { .. }) && objects.page.all == 5);
    });
}

#[test]
fn garbage_has_no_path() {
    let graph = graph(1, 1);
    with(&graph, |state| {
        write(state, "/dead");
        press(state, &[Key::Enter, Key::Enter, Key::Enter]);
        let Place::Object(details) = state.place() else { panic!() };
        let is_told =
            |row: &object::Row| matches!(row, object::Row::Text(text) if text.starts_with("garbage"));
        assert!(details.rows.iter().any(is_told), "{:?}", details.rows);
        assert!(details.rows.contains(&object::Row::Head { part: Part::Referrers, all: 0 }));
    });
}

#[test]
fn views_follow_the_selection() {
    let graph = graph(3, 4);
    with(&graph, |state| {
        press(state, &[Key::Char('4')]);
        assert_eq!((state.view(), state.said().is_some()), (View::Types, true));
        let round = [View::Tree, View::Objects, View::Object, View::Types];
        for view in round {
            press(state, &[Key::Tab]);
            assert_eq!((state.view(), state.said()), (view, None));
        }
        press(state, &[Key::Char('2'), Key::BackTab]);
        assert_eq!(state.view(), View::Types);
        write(state, "/no such type");
        press(state, &[Key::Enter, Key::Char('3')]);
        assert_eq!((state.view(), state.said().is_some()), (View::Types, true));
        assert_eq!(state.press(Key::Char('q')), Flow::Leave);
    });
}

#[test]
fn keys_that_leave() {
    let graph = graph(1, 1);
    with(&graph, |state| {
        // In a text it is a letter.
        press(state, &[Key::Char('/'), Key::Char('q')]);
        assert_eq!(state.press(Key::Interrupt), Flow::Leave);
        press(state, &[Key::Escape, Key::Char('?'), Key::Char('q')]);
        assert!(!state.is_helping());
        assert_eq!(state.press(Key::Char('q')), Flow::Leave);
    });
}

#[test]
fn the_history_is_not_endless() {
    let graph = graph(3, 4);
    with(&graph, |state| {
        press(state, &[Key::Tab; 100]);
        press(state, &[Key::Backspace; 30]);
        assert_eq!(state.said(), None);
        press(state, &[Key::Backspace]);
        assert!(state.said().is_some());
    });
}

#[test]
fn nothing_at_all() {
    let graph = super::fixture::empty();
    with(&graph, |state| {
        for key in
            [Key::Enter, Key::Tab, Key::Enter, Key::Right, Key::Left, Key::Tab, Key::End, Key::Char('4')]
        {
            press(state, &[key]);
        }
    });
}
