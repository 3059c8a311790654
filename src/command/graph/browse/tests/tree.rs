//! The tree of dominators.

use super::fixture::{graph, press, with};
use crate::command::graph::browse::children::Node;
use crate::command::graph::browse::key::Key;
use crate::command::graph::browse::state::{Place, State, View};

/// The rows of the tree: their depth, and what they are.
fn rows(state: &State<'_>) -> Vec<String> {
    let row = |row: &crate::command::graph::browse::tree::Row| {
        let text = match row.node {
            Node::Object(object) => state.heap().label(state.heap().class_of(object)),
            Node::Group { class, objects, .. } => format!("{objects} {}", state.heap().label(class)),
            Node::More { left, .. } => format!("{left} more"),
        };
        format!("{} {text}", row.depth)
    };
    state.tree().rows().iter().map(row).collect()
}

#[test]
fn rows_open_and_close() {
    let graph = graph(2, 3);
    with(&graph, |state| {
        press(state, &[Key::Char('2')]);
        let closed = ["0 List<Known.Order>", "0 Known.Node", "0 Evil\\u{1b}[2J\\u{202e}"];
        assert_eq!(rows(state), closed);
        press(state, &[Key::Right, Key::Right, Key::Right]);
        assert_eq!(
            rows(state)[..4],
            ["0 List<Known.Order>", "1 Known.Order[]", "2 Known.Order", "2 Known.Order"]
        );
        press(state, &[Key::Right, Key::Enter]);
        assert_eq!(rows(state)[2..5], ["2 Known.Order", "3 Known.Customer", "2 Known.Order"]);
        // Left closes, then goes up.
        press(state, &[Key::Left, Key::Left, Key::Left]);
        assert_eq!((rows(state).len(), state.tree().cursor.selected()), (4, 1));
        press(state, &[Key::Left, Key::Left]);
        assert_eq!(rows(state), closed);
        // There is nothing below this, so Enter shows it.
        press(state, &[Key::End, Key::Right]);
        assert_eq!(state.view(), View::Tree);
        press(state, &[Key::Enter]);
        assert_eq!(state.view(), View::Object);
        press(state, &[Key::Backspace, Key::Home, Key::Char('4')]);
        let Place::Object(details) = state.place() else { panic!() };
        assert_eq!(state.heap().label(state.heap().class_of(details.object)), "List<Known.Order>");
    });
}

#[test]
fn many_children_come_by_class_and_in_pages() {
    let graph = graph(250, 0);
    with(&graph, |state| {
        press(state, &[Key::Char('2'), Key::Enter, Key::Down, Key::Enter]);
        assert_eq!(rows(state)[2], "2 250 Known.Order");
        press(state, &[Key::Down, Key::Enter]);
        assert_eq!(rows(state)[103], "3 150 more");
        for (more, left) in [(103, Some("3 50 more")), (203, None)] {
            press(state, &vec![Key::Down; more - state.tree().cursor.selected()]);
            press(state, &[Key::Enter]);
            assert_eq!(
                rows(state).get(more + 100).map(String::as_str),
                left.or(Some("0 Evil\\u{1b}[2J\\u{202e}")).filter(|_| more == 103)
            );
        }
        let of_orders = |rows: Vec<String>| rows.iter().filter(|row| *row == "3 Known.Order").count();
        assert_eq!(of_orders(rows(state)), 250);
        // All retain the same, so they come in the order of their addresses.
        let objects: Vec<u32> = state
            .tree()
            .rows()
            .iter()
            .filter_map(|row| match row.node {
                Node::Object(object) if row.depth == 3 => Some(object),
                _ => None,
            })
            .collect();
        assert!(objects.is_sorted());
    });
}

#[test]
fn a_long_chain_can_be_opened_up_to_a_bound() {
    let graph = graph(0, 3000);
    with(&graph, |state| {
        press(state, &[Key::Char('2')]);
        for _ in 0..5000 {
            press(state, &[Key::Right]);
        }
        assert_eq!((rows(state).len(), state.said().is_some()), (2000, true));
    });
}
