//! What is kept of the first of two graphs, to find its objects in the second.

use std::collections::HashMap;

use crate::dominators::{Amount, Dominators};
use crate::graph::Graph;

/// No object dominates this one.
pub(super) const NONE: u32 = u32::MAX;

/// The objects of a graph that can be reached, without their references: 24 bytes for each, so the graph can go before
/// another is loaded.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// In the order of the tree of dominators.
    pub(super) objects: Vec<EarlierObject>,
    /// Sizes that do not fit, by position.
    large_sizes: HashMap<u32, u64>,
    /// The names of the classes.
    pub(super) labels: Vec<String>,
}

/// An object, whose position is its place among all.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierObject {
    pub(super) address: u64,
    pub(super) class: u32,
    /// In units of 8 bytes; [`u32::MAX`]: it does not fit.
    units: u32,
    /// The position of the immediate dominator, which is lower, or [`NONE`].
    pub(super) dominator: u32,
}

impl Earlier {
    /// Takes from a graph what is compared.
    pub fn new(graph: &Graph, dominators: &Dominators) -> Self {
        let mut earlier = Self {
            objects: Vec::with_capacity(usize::try_from(dominators.reachable().objects).unwrap_or(0)),
            large_sizes: HashMap::new(),
            labels: graph.classes().iter().map(|class| class.label().into_owned()).collect(),
        };
        let addresses = graph.addresses_in_order();
        let mut positions = vec![NONE; graph.len() as usize];
        for (object, dominator) in dominators.dominators_in_order() {
            let position = earlier.objects.len() as u32;
            let bytes = graph.size_bytes(object);
            let units = u32::try_from(bytes / 8).unwrap_or(u32::MAX);
            if units == u32::MAX {
                earlier.large_sizes.insert(position, bytes);
            }
            let position_of = |object: u32| positions.get(object as usize).copied();
            earlier.objects.push(EarlierObject {
                address: addresses.get(object as usize).copied().unwrap_or_default(),
                class: graph.class_of(object),
                units,
                dominator: dominator.and_then(position_of).unwrap_or(NONE),
            });
            if let Some(place) = positions.get_mut(object as usize) {
                *place = position;
            }
        }
        earlier
    }

    /// The size of the object at a position.
    pub(super) fn amount(&self, position: u32) -> Amount {
        let units = self.objects.get(position as usize).map_or(0, |object| object.units);
        Amount::one(match units {
            u32::MAX => self.large_sizes.get(&position).copied().unwrap_or_default(),
            units => u64::from(units) * 8,
        })
    }
}
