//! What the views show, and what each key does. Nothing here knows a terminal.

mod going;

use super::cursor::{Cursor, Step};
use super::heap::Heap;
use super::key::Key;
use super::object::{Details, Part};
use super::objects::Objects;
use super::tree::Tree;
use super::types::Types;

/// A view, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Types,
    Tree,
    Objects,
    Object,
}

impl View {
    pub(super) const ALL: [View; 4] = [View::Types, View::Tree, View::Objects, View::Object];

    /// The view that is so many further on.
    fn further(self, by: usize) -> View {
        let at = View::ALL.iter().position(|view| *view == self).unwrap_or_default();
        View::ALL.get((at + by) % View::ALL.len()).copied().unwrap_or(self)
    }
}

/// What is shown.
#[derive(Debug)]
pub(super) enum Place {
    Types,
    Tree,
    Objects(Objects),
    Object(Details),
}

/// Whether the user goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Stay,
    Leave,
}

/// The state of all views.
#[derive(Debug)]
pub(super) struct State<'g> {
    heap: Heap<'g>,
    types: Types,
    tree: Tree,
    place: Place,
    /// Where the user was before.
    history: Vec<Place>,
    is_searching: bool,
    is_helping: bool,
    /// What the last key could not do.
    said: Option<&'static str>,
    /// How many rows of a list are seen.
    height: usize,
}

impl<'g> State<'g> {
    pub(super) fn new(heap: Heap<'g>) -> State<'g> {
        let types = Types::new(&heap);
        State {
            heap,
            types,
            tree: Tree::default(),
            place: Place::Types,
            history: Vec::new(),
            is_searching: false,
            is_helping: false,
            said: None,
            height: 1,
        }
    }

    pub(super) fn heap(&self) -> &Heap<'g> {
        &self.heap
    }

    pub(super) fn types(&self) -> &Types {
        &self.types
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn is_searching(&self) -> bool {
        self.is_searching
    }

    pub(super) fn is_helping(&self) -> bool {
        self.is_helping
    }

    pub(super) fn said(&self) -> Option<&'static str> {
        self.said
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    pub(super) fn view(&self) -> View {
        match &self.place {
            Place::Types => View::Types,
            Place::Tree => View::Tree,
            Place::Objects(_) => View::Objects,
            Place::Object(_) => View::Object,
        }
    }

    /// Says how many rows of a list are seen.
    pub(super) fn resize(&mut self, height: usize) {
        self.height = height;
        self.fit();
    }

    /// Does what a key means.
    pub(super) fn press(&mut self, key: Key) -> Flow {
        self.said = None;
        match key {
            Key::Interrupt => return Flow::Leave,
            // Any key ends the help.
            _ if self.is_helping => self.is_helping = false,
            _ if self.is_searching => self.search(key),
            Key::Char('q') => return Flow::Leave,
            Key::Char('?') => self.is_helping = true,
            Key::Char('/') => {
                self.show(View::Types);
                self.types.search_for(&self.heap, "");
                self.is_searching = true;
            }
            Key::Char('s') if self.view() == View::Types => self.types.sort_next(&self.heap),
            Key::Char('p') => self.go_to(Part::Path),
            Key::Char('f') => self.go_to(Part::Fields),
            Key::Char('r') => self.go_to(Part::Referrers),
            Key::Char('1') => self.show(View::Types),
            Key::Char('2') => self.show(View::Tree),
            Key::Char('3') => self.show(View::Objects),
            Key::Char('4') => self.show(View::Object),
            Key::Tab => self.show(self.view().further(1)),
            Key::BackTab => self.show(self.view().further(View::ALL.len() - 1)),
            Key::Enter => self.enter(),
            Key::Right | Key::Char('l') => self.right(),
            Key::Left | Key::Char('h') => self.left(),
            Key::Backspace | Key::Escape => self.back(),
            _ => step(key).into_iter().for_each(|step| self.step(step)),
        }
        self.fit();
        Flow::Stay
    }

    fn search(&mut self, key: Key) {
        let mut text = self.types.search().to_owned();
        match key {
            Key::Char(c) => text.push(c),
            Key::Backspace if text.is_empty() => self.is_searching = false,
            Key::Backspace => drop(text.pop()),
            Key::Escape => {
                text.clear();
                self.is_searching = false;
            }
            Key::Up | Key::Down | Key::PageUp | Key::PageDown => {
                return step(key).into_iter().for_each(|step| self.step(step));
            }
            _ => self.is_searching = false,
        }
        if text != self.types.search() {
            self.types.search_for(&self.heap, &text);
        }
    }

    fn step(&mut self, step: Step) {
        let height = self.height;
        let (cursor, len) = self.cursor();
        cursor.step(step, len, height);
    }

    fn fit(&mut self) {
        let height = self.height;
        let (cursor, len) = self.cursor();
        cursor.fit(len, height);
    }

    /// The place in the list that is shown, and how long that is.
    fn cursor(&mut self) -> (&mut Cursor, usize) {
        match &mut self.place {
            Place::Types => {
                let len = self.types.len();
                (&mut self.types.cursor, len)
            }
            Place::Tree => {
                let len = self.tree.rows().len();
                (&mut self.tree.cursor, len)
            }
            Place::Objects(objects) => {
                let len = objects.len();
                (&mut objects.cursor, len)
            }
            Place::Object(details) => (&mut details.cursor, details.rows.len()),
        }
    }
}

fn step(key: Key) -> Option<Step> {
    Some(match key {
        Key::Up | Key::Char('k') => Step::Up,
        Key::Down | Key::Char('j') => Step::Down,
        Key::PageUp => Step::PageUp,
        Key::PageDown | Key::Char(' ') => Step::PageDown,
        Key::Home | Key::Char('g') => Step::First,
        Key::End | Key::Char('G') => Step::Last,
        _ => return None,
    })
}
