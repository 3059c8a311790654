//! The depth-first search that numbers all nodes that can be reached.

use super::backward::Backward;
use super::flow::Flow;

/// A node that cannot be reached has this number.
pub(super) const NONE: u32 = u32::MAX;

/// After so many nodes the memory of those that have waited is given back.
const SHRINK_EVERY: u32 = 1 << 16;

/// Nodes in the order in which a depth-first search comes to them: their numbers.
#[derive(Debug)]
pub(super) struct Search {
    /// The nodes in that order.
    pub(super) order: Vec<u32>,
    /// For each number, that of the node that it was come to from. For the first one 0.
    pub(super) parents: Vec<u32>,
    /// For each number, the lowest number of a node that refers to it directly. For the first one 0.
    pub(super) lowest_sources: Vec<u32>,
    /// The references from higher numbers to lower ones.
    pub(super) backward: Backward,
}

/// Searches from the node above all.
///
/// All references of a node are looked at when the search comes to it, because by the time that it comes back they have
/// left the processor's cache. So a node may wait for its visit several times; the last one to wait is visited first, and
/// those before it find it visited.
pub(super) fn search(flow: &Flow<'_>) -> Search {
    let mut search = Search {
        order: Vec::with_capacity(flow.len()),
        parents: Vec::with_capacity(flow.len()),
        lowest_sources: Vec::with_capacity(flow.len()),
        backward: Backward::new(flow.len()),
    };
    // For a node that was found and not visited yet, the number of the first one that was found to refer to it.
    let mut numbers = vec![NONE; flow.len()];
    // A bit for each node stays in the processor's cache, the numbers do not.
    let mut visited = vec![0_u64; flow.len() / 64 + 1];
    let mut waiting = vec![(flow.top(), 0)];
    while let Some((node, parent)) = waiting.pop() {
        let Some(bits) = visited.get_mut(node as usize / 64) else { continue };
        let bit = 1 << (node % 64);
        if *bits & bit != 0 {
            continue;
        }
        *bits |= bit;
        let number = search.order.len() as u32;
        if number.is_multiple_of(SHRINK_EVERY) {
            // The memory of all that has ever waited at once would else be kept to the end.
            waiting.shrink_to(2 * waiting.len());
        }
        if let Some(place) = numbers.get_mut(node as usize) {
            // Until now this is the first node that was found to refer to this one, and numbers ascend.
            search.lowest_sources.push((*place).min(number));
            *place = number;
        }
        search.order.push(node);
        search.parents.push(parent);
        for to in flow.successors(node) {
            let is_visited = visited.get(*to as usize / 64).is_none_or(|bits| bits & 1 << (to % 64) != 0);
            let Some(place) = numbers.get_mut(*to as usize) else { continue };
            if !is_visited {
                *place = number.min(*place);
                waiting.push((*to, number));
            } else if *place < number {
                search.backward.push(number, *place);
            }
        }
    }
    // What was only found and never visited cannot be: everything that was found has waited.
    search.order.shrink_to_fit();
    search.parents.shrink_to_fit();
    search.lowest_sources.shrink_to_fit();
    search
}
