//! What is drawn.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::fixture::{graph, press, with, write};
use crate::command::graph::browse::draw::draw;
use crate::command::graph::browse::key::Key;
use crate::command::graph::browse::look::Look;
use crate::command::graph::browse::state::State;
use crate::report::Units;
use crate::report::style::Style;

/// The screen, without the quotes that the backend puts around its lines.
fn screen(state: &mut State<'_>, unicode: bool, columns: u16, lines: u16) -> String {
    let look = Look { style: Style { colour: false, unicode }, units: Units::Iec };
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, state, look, "app.gcgraph")).unwrap();
    let text = terminal.backend().to_string();
    let lines = text.lines().map(|line| line.trim_matches('"').trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_view_on_a_small_terminal() {
    let graph = graph(3, 4);
    with(&graph, |state| {
        insta::assert_snapshot!("types", screen(state, false, 80, 24));
        press(state, &[Key::Tab, Key::Enter, Key::Down, Key::Enter, Key::Down, Key::Enter]);
        insta::assert_snapshot!("tree", screen(state, false, 80, 24));
        press(state, &[Key::Char('3')]);
        insta::assert_snapshot!("objects", screen(state, false, 80, 24));
        press(state, &[Key::Enter]);
        insta::assert_snapshot!("object", screen(state, true, 80, 24));
    });
}

#[test]
fn names_cannot_control_the_terminal() {
    let graph = graph(1, 0);
    with(&graph, |state| {
        write(state, "/evil");
        for keys in [&[Key::Enter][..], &[Key::Enter], &[Key::Enter], &[Key::Char('2')]] {
            press(state, keys);
            let shown = screen(state, true, 100, 24);
            assert!(shown.contains("Evil\\u{1b}[2J\\u{202e}"), "{shown}");
            assert!(!shown.chars().any(|c| c != '\n' && c.is_control() || c == '\u{202e}'), "{shown:?}");
        }
    });
}

#[test]
fn without_unicode_there_is_none() {
    let graph = graph(200, 3);
    with(&graph, |state| {
        for keys in
            [&[][..], &[Key::Tab], &[Key::Enter], &[Key::Char('4')], &[Key::Char('3')], &[Key::Char('?')]]
        {
            press(state, keys);
            let shown = screen(state, false, 60, 12);
            assert!(shown.is_ascii(), "{shown}");
        }
    });
}

#[test]
fn any_size_will_do() {
    let graph = graph(200, 300);
    with(&graph, |state| {
        for keys in
            [&[][..], &[Key::Char('2')], &[Key::Enter], &[Key::Char('4')], &[Key::End], &[Key::Char('?')]]
        {
            press(state, keys);
            for columns in [1, 2, 39, 40, 41, 80, 300] {
                for lines in [1, 2, 8, 9, 10, 24, 200] {
                    let shown = screen(state, true, columns, lines);
                    assert_eq!(shown.split('\n').count(), usize::from(lines), "{columns}x{lines}:\n{shown}");
                }
            }
        }
    });
}
