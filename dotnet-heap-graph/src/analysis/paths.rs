//! The shortest way from a root to an object.

use std::collections::HashMap;

use super::fold::{Step, fold};
use super::reachability::{Reachability, Reached};
use super::statics::StaticArrays;
use crate::error::Result;
use crate::format::StaticName;
use crate::graph::{Graph, RootKind};

/// No way leads to this object.
const NONE: u32 = u32::MAX;
/// The way begins at this object.
const START: u32 = u32::MAX - 1;
/// Roots that come after all others have found nothing more.
const LAST: usize = 3;
/// So many objects before its turn, what an object refers to is loaded.
const SOON: usize = 8;

/// Ways from roots to all objects.
///
/// A way from a static field has a name and says most, so it may be longer than another by a reference; than one from the
/// stack by two. Ways from objects that wait for their finalizer come last: they are told only if there is no other.
#[derive(Debug)]
pub struct Paths<'g> {
    graph: &'g Graph,
    /// For each object the one before it on the way.
    before: Vec<u32>,
    starts: HashMap<u32, PathRoot<'g>>,
}

/// Where a way begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathRoot<'g> {
    /// A static field.
    Static(&'g StaticName),
    /// Another root.
    Root {
        /// What it is.
        kind: RootKind,
        /// The method of a stack root, the handle. 0: unknown.
        id: u64,
    },
}

/// The way from a root to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path<'g> {
    /// Where it begins.
    pub root: PathRoot<'g>,
    /// The objects on it; the last one is at its end.
    pub steps: Vec<Step>,
}

impl<'g> Paths<'g> {
    /// Finds a way to each object. This needs 8 bytes of memory for each object, of which 4 remain.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn new(graph: &'g Graph, statics: &StaticArrays) -> Result<Self> {
        let mut starts: HashMap<u32, PathRoot<'g>> = HashMap::new();
        let mut delayed: [Vec<u32>; LAST + 1] = Default::default();
        let mut start = |object: u32, delay: usize, root: PathRoot<'g>| {
            starts.entry(object).or_insert_with(|| {
                delayed.get_mut(delay).into_iter().for_each(|objects| objects.push(object));
                root
            });
        };
        let mut targets: Vec<_> = statics.targets(graph)?.into_iter().collect();
        targets.sort_unstable_by_key(|(object, _)| *object);
        for (object, field) in targets {
            start(object, 0, PathRoot::Static(field));
        }
        // An object with several roots begins with the best of them.
        let mut roots: Vec<_> = graph.roots().iter().filter(|root| !root.is_weak).collect();
        roots.sort_by_key(|root| root.kind);
        for root in roots {
            let field = if root.kind == RootKind::Static { graph.static_at(root.id) } else { None };
            if let Some(field) = field {
                start(root.object, 0, PathRoot::Static(field));
                continue;
            }
            let delay = match root.kind {
                RootKind::Static => 0,
                RootKind::StrongHandle | RootKind::PinnedHandle | RootKind::CountedHandle => 1,
                RootKind::Stack | RootKind::Other | RootKind::Frozen => 2,
                RootKind::Finalizer => LAST,
            };
            start(root.object, delay, PathRoot::Root { kind: root.kind, id: root.id });
        }
        let before = search(graph, &delayed);
        Ok(Self { graph, before, starts })
    }

    /// Whether a way leads to the object.
    pub fn is_reachable(&self, object: u32) -> bool {
        self.before.get(object as usize).is_some_and(|before| *before != NONE)
    }

    /// The way to an object, with the names of the references on it. `None` if no root keeps it alive. This reads a frame of
    /// the file for each step.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn path(&self, object: u32) -> Result<Option<Path<'g>>> {
        let Some(way) = self.way(object) else { return Ok(None) };
        let Some(root) = way.first().and_then(|first| self.starts.get(first)) else { return Ok(None) };
        let mut steps = Vec::new();
        let mut before = None;
        for (mut step, second) in fold(self.graph, &way) {
            if let Some(before) = before.filter(|_| step.omitted_before == 0) {
                step.place = self.graph.place(before, step.object)?;
            }
            if let Some(second) = second {
                step.inner = self.graph.place(step.object, second)?;
            }
            before = Some(step.last);
            steps.push(step);
        }
        Ok(Some(Path { root: *root, steps }))
    }

    /// The objects on the way to an object, from the one that a root refers to.
    fn way(&self, object: u32) -> Option<Vec<u32>> {
        let mut way = vec![object];
        let mut at = object;
        // A way has no object twice.
        for _ in 0..self.before.len() {
            at = *self.before.get(at as usize)?;
            match at {
                START => {
                    way.reverse();
                    return Some(way);
                }
                NONE => return None,
                _ => way.push(at),
            }
        }
        None
    }
}

impl Reachability for Paths<'_> {
    fn is_reachable(&self, object: u32) -> bool {
        Paths::is_reachable(self, object)
    }
}

/// Breadth first from all starts, the first of them at once, the others after as many references as they are delayed; the
/// last ones when nothing else is left.
fn search(graph: &Graph, delayed: &[Vec<u32>; LAST + 1]) -> Vec<u32> {
    let mut before = vec![NONE; graph.len() as usize];
    // These bits stay in the processor's cache, the others do not.
    let mut reached = Reached::none(graph.len());
    let mut level: Vec<u32> = Vec::new();
    for (delay, starts) in delayed.iter().enumerate() {
        for object in starts {
            if let Some(place) = before.get_mut(*object as usize).filter(|_| reached.insert(*object)) {
                *place = START;
                level.push(*object);
            }
        }
        let steps = if delay + 1 < LAST { 1 } else { usize::MAX };
        for _ in 0..steps {
            if level.is_empty() {
                break;
            }
            let mut next = Vec::new();
            for (index, object) in level.iter().enumerate() {
                // Objects are far apart in memory, so the processor would wait for each.
                level.get(index + SOON).into_iter().for_each(|soon| {
                    std::hint::black_box(graph.references(*soon).first().copied());
                });
                for to in graph.references(*object) {
                    if reached.insert(*to)
                        && let Some(place) = before.get_mut(*to as usize)
                    {
                        *place = *object;
                        next.push(*to);
                    }
                }
            }
            level = next;
        }
    }
    before
}
