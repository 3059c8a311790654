//! Where keys lead: from view to view, into what is selected, and back.

use super::{Place, State, View};
use crate::command::graph::browse::children::Node;
use crate::command::graph::browse::heap::Source;
use crate::command::graph::browse::object::{self, Details, Part};
use crate::command::graph::browse::objects::{self, Objects};
use crate::command::graph::browse::tree::Opened;

/// So many places are remembered.
const MAX_HISTORY: usize = 30;

impl State<'_> {
    /// Goes to a view: to what is selected, where the view shows that.
    pub(super) fn show(&mut self, view: View) {
        if view == self.view() {
            return;
        }
        match view {
            View::Types => self.go(Place::Types),
            View::Tree => {
                self.tree.load(&self.heap);
                self.go(Place::Tree);
            }
            View::Objects => match self.selected_class() {
                Some(class) => self.go_to_objects(Source::Class(class)),
                None => self.said = Some("select a type first"),
            },
            View::Object => match self.selected_object() {
                Some(object) => self.go_to_object(object, 0),
                None => self.said = Some("select an object first"),
            },
        }
    }

    fn selected_class(&self) -> Option<u32> {
        match &self.place {
            Place::Types => self.types.selected(&self.heap).map(|totals| totals.class),
            Place::Tree => match self.tree.selected()?.node {
                Node::Object(object) => Some(self.heap.class_of(object)),
                Node::Group { class, .. } => Some(class),
                Node::More { .. } => None,
            },
            Place::Objects(objects) => Some(objects.source.class()),
            Place::Object(details) => Some(self.heap.class_of(details.object)),
        }
    }

    /// The type of what the selected row shows.
    pub(in crate::command::graph::browse) fn row_class(&self) -> Option<u32> {
        match &self.place {
            Place::Object(details) => match details.selected()? {
                object::Row::Referrers(referrer) => Some(referrer.class),
                _ => self.selected_object().or(Some(details.object)).map(|object| self.heap.class_of(object)),
            },
            _ => self.selected_class(),
        }
    }

    /// The object of the selected row.
    fn selected_object(&self) -> Option<u32> {
        match &self.place {
            Place::Types => None,
            Place::Tree => match self.tree.selected()?.node {
                Node::Object(object) => Some(object),
                _ => None,
            },
            Place::Objects(objects) => match objects.selected()? {
                objects::Row::Object(object) => Some(object),
                objects::Row::More { .. } => None,
            },
            Place::Object(details) => match details.selected()? {
                object::Row::Object { object, .. } | object::Row::Dominator(object) => Some(*object),
                _ => None,
            },
        }
    }

    fn go(&mut self, place: Place) {
        if self.history.len() >= MAX_HISTORY {
            self.history.remove(0);
        }
        self.history.push(std::mem::replace(&mut self.place, place));
    }

    fn go_to_objects(&mut self, source: Source) {
        let objects = Objects::new(&self.heap, source, None);
        self.go(Place::Objects(objects));
    }

    fn go_to_object(&mut self, object: u32, skip: usize) {
        let details = Details::new(&self.heap, object, skip);
        self.go(Place::Object(details));
    }

    pub(super) fn go_to(&mut self, part: Part) {
        if let Place::Object(details) = &mut self.place {
            details.go_to(part);
        }
    }

    pub(super) fn back(&mut self) {
        if self.view() == View::Types && !self.types.search().is_empty() {
            return self.types.search_for(&self.heap, "");
        }
        match self.history.pop() {
            Some(place) => self.place = place,
            None => self.said = Some("there is nothing before this; q leaves"),
        }
    }

    /// Goes into the selected row.
    pub(super) fn enter(&mut self) {
        match &self.place {
            Place::Types => self.show(View::Objects),
            Place::Tree => {
                if !self.tree.close() {
                    self.open(true);
                }
            }
            Place::Objects(objects) => match objects.selected() {
                Some(objects::Row::Object(object)) => self.go_to_object(object, 0),
                Some(objects::Row::More { after, .. }) => {
                    let next = Objects::new(&self.heap, objects.source, Some(after));
                    self.go(Place::Objects(next));
                }
                None => {}
            },
            Place::Object(details) => match details.selected() {
                Some(object::Row::Referrers(referrer)) if referrer.objects == 1 => {
                    self.go_to_object(referrer.example, 0);
                }
                Some(object::Row::Referrers(referrer)) => {
                    let source = Source::Referrers { class: referrer.class, target: details.object };
                    self.go_to_objects(source);
                }
                Some(object::Row::MoreFields { skip, .. }) => self.go_to_object(details.object, *skip),
                _ => self.selected_object().into_iter().for_each(|object| self.go_to_object(object, 0)),
            },
        }
    }

    /// Opens the selected row of the tree. With `show`, an object with nothing below it is shown.
    fn open(&mut self, show: bool) {
        match self.tree.open(&self.heap) {
            Opened::Yes => {}
            Opened::TooMany => self.said = Some("too many rows are open; close some first"),
            Opened::Nothing if show => self.show(View::Object),
            Opened::Nothing => {}
        }
    }

    pub(super) fn right(&mut self) {
        if self.view() != View::Tree {
            return;
        }
        match self.tree.selected().is_some_and(|row| row.is_open) {
            true => self.tree.go_down(),
            false => self.open(false),
        }
    }

    pub(super) fn left(&mut self) {
        if self.view() == View::Tree && !self.tree.close() {
            self.tree.go_up();
        }
    }
}
