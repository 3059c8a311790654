//! What is most likely to leak.

use std::collections::HashMap;

use super::accumulation::{Accumulation, accumulation, by_class};
use super::biggest::top;
use super::paths::{Path, Paths};
use super::statics::StaticArrays;
use crate::dominators::{Amount, Dominators, Ordered};
use crate::error::Result;
use crate::graph::Graph;

/// How many classes are told of what an object dominates.
const MAX_CLASSES: usize = 10;
/// How many suspects are told at most.
const MAX_SUSPECTS: usize = 20;

/// Something that retains a large part of all objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect<'g> {
    /// What it is.
    pub what: SuspectKind,
    /// Its class: its place in [`Graph::classes`].
    pub class: u32,
    /// What it retains.
    pub retained: Amount,
    /// Its share of all bytes that can be reached, in percent.
    pub share_percent: f64,
    /// Where that comes together; of several objects, that of the one that retains most.
    pub accumulation: Accumulation,
    /// The way from a root to that place.
    pub path: Option<Path<'g>>,
}

/// What is suspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspectKind {
    /// One object.
    Object(u32),
    /// Several objects of a class, none of which is suspected alone.
    Class {
        /// How many there are, and their own size.
        own: Amount,
        /// The one that retains most.
        biggest: u32,
    },
}

/// Finds what retains at least `min_percent` of all bytes that can be reached, among the objects that no other object
/// dominates, the largest first:
///
/// - An object is suspected if it retains that much on its own.
/// - The other objects of a class are suspected if they retain that much together.
///
/// Arrays in which the runtime keeps static fields do not count as objects: what they dominate comes instead.
///
/// # Errors
/// The file cannot be read, or has changed.
pub fn suspects<'g>(
    graph: &'g Graph,
    dominators: &Dominators,
    statics: &StaticArrays,
    paths: &Paths<'g>,
    min_percent: u32,
) -> Result<Vec<Suspect<'g>>> {
    let all_bytes = dominators.reachable().bytes;
    let min_bytes = (u128::from(all_bytes) * u128::from(min_percent)).div_ceil(100).max(1) as u64;
    let is_large = |object: &Ordered| object.retained.bytes >= min_bytes;
    let objects = top(dominators, statics).filter(is_large);
    let mut found: Vec<(SuspectKind, u32, Amount, u32)> = objects
        .map(|at| (SuspectKind::Object(at.object), graph.class_of(at.object), at.retained, at.object))
        .collect();
    let others = top(dominators, statics).filter(|object| !is_large(object));
    for share in by_class(graph, others) {
        if share.retained.bytes >= min_bytes {
            let what = SuspectKind::Class { own: share.own, biggest: share.biggest };
            found.push((what, share.class, share.retained, share.biggest));
        }
    }
    found.sort_by_key(|(_, class, retained, _)| (std::cmp::Reverse(retained.bytes), *class));
    found.truncate(MAX_SUSPECTS);
    let mut known: HashMap<u32, Option<Path<'g>>> = HashMap::new();
    let mut suspects = Vec::new();
    for (what, class, retained, object) in found {
        let accumulation = accumulation(graph, dominators, object, MAX_CLASSES);
        let path = match known.get(&accumulation.object) {
            Some(path) => path.clone(),
            None => paths.path(accumulation.object)?,
        };
        known.insert(accumulation.object, path.clone());
        let share_percent = retained.bytes as f64 * 100.0 / all_bytes as f64;
        suspects.push(Suspect { what, class, retained, share_percent, accumulation, path });
    }
    Ok(suspects)
}
