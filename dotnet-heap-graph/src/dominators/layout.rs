//! Makes the tree of dominators out of immediate dominators.

use super::flow::Flow;
use super::search::NONE;
use super::semi::{Immediate, immediate};
use super::tree::Dominators;
use crate::graph::Graph;

impl Dominators {
    /// Computes the dominators of a graph. The time is close to proportional to the number of references; the memory is about
    /// 24 bytes for each object that can be reached, and up to 4 for each of its references, of which 24 for each object
    /// remain. [`Graph::both`] does something else at the same time.
    pub fn new(graph: &Graph) -> Self {
        let flow = Flow::new(graph);
        Self::layout(graph.len(), &flow, immediate(&flow))
    }

    fn layout(objects: u32, flow: &Flow<'_>, immediate: Immediate) -> Self {
        let Immediate { order, dominators } = immediate;
        let mut counts = vec![1_u32; order.len()];
        for (node, dominator) in dominators.iter().enumerate().skip(1).rev() {
            let count = get(&counts, node as u32);
            set(&mut counts, *dominator, |above| above + count);
        }
        // Where each node is, and where its next child comes: at last its end.
        let (mut places, mut ends) = (vec![0_u32; order.len()], vec![1_u32; order.len()]);
        for ((node, dominator), count) in (0..).zip(&dominators).zip(counts).skip(1) {
            let place = get(&ends, *dominator);
            set(&mut ends, *dominator, |next| next + count);
            set(&mut places, node, |_| place);
            set(&mut ends, node, |_| place + 1);
        }
        // Each list goes as soon as its successor is made, because here memory is at its highest.
        let nodes = by_place(&places, order.iter().copied());
        drop(order);
        let parents = by_place(&places, dominators.iter().map(|dominator| get(&places, *dominator)));
        drop(dominators);
        let ends = by_place(&places, ends.into_iter());
        drop(places);
        let mut positions = vec![NONE; flow.len()];
        for (position, node) in (0..).zip(&nodes) {
            set(&mut positions, *node, |_| position);
        }
        let mut bytes_before = Vec::with_capacity(nodes.len() + 1);
        let mut bytes = 0_u64;
        bytes_before.push(bytes);
        for node in &nodes {
            bytes = bytes.saturating_add(flow.size_bytes(*node));
            bytes_before.push(bytes);
        }
        let others = nodes.iter().filter(|node| **node >= objects).count();
        Self { objects, nodes, others, ends, parents, bytes_before, positions }
    }
}

fn get(list: &[u32], at: u32) -> u32 {
    list.get(at as usize).copied().unwrap_or_default()
}

fn set(list: &mut [u32], at: u32, value: impl FnOnce(u32) -> u32) {
    if let Some(place) = list.get_mut(at as usize) {
        *place = value(*place);
    }
}

/// Values in the order of their places.
fn by_place(places: &[u32], values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut list = vec![0; places.len()];
    for (place, value) in places.iter().zip(values) {
        set(&mut list, *place, |_| value);
    }
    list
}
