//! The lowest semidominator on the way from a node up the tree of the search, as far up as nodes are linked.
//!
//! Nodes are linked from the highest number to the lowest. Linked nodes that have the same answer and the same top form a
//! group. When a node is linked, it becomes the top of the tree below it, and all groups there with a higher answer join its
//! own. So each tree keeps its groups in a heap, the highest answer first, and each node leaves a heap at most once. A path
//! that is shortened at each question would do, too, but far apart in memory it has five steps where this has one or two.

/// [`Node::next`] of a node that is linked and no head.
const INNER: u32 = u32::MAX;

/// What is known of a node; all zero before anything is.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Not linked: the first group of its tree's heap, plus 1. Head of a group: its first child in the heap, plus 1. Else: a
    /// node nearer to the head of its group.
    link: u32,
    /// Head of a group: the next child of its parent in the heap, plus 1.
    next: u32,
}

/// All nodes. The head of a group is the node of it that was linked last, so the answer is its semidominator.
#[derive(Debug)]
pub(super) struct Groups {
    nodes: Vec<Node>,
    semidominators: Vec<u32>,
}

impl Groups {
    /// No node is linked. `candidates` are those for the semidominators.
    pub(super) fn new(candidates: Vec<u32>) -> Self {
        Self { nodes: vec![Node::default(); candidates.len()], semidominators: candidates }
    }

    /// The semidominators of the nodes that are linked, and the candidates of the others.
    pub(super) fn into_semidominators(self) -> Vec<u32> {
        self.semidominators
    }

    #[inline]
    fn get(&self, node: u32) -> Node {
        self.nodes.get(node as usize).copied().unwrap_or_default()
    }

    #[inline]
    fn change(&mut self, node: u32, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            change(node);
        }
    }

    /// Loads a node into the processor's cache.
    #[inline]
    pub(super) fn load(&self, node: u32) {
        std::hint::black_box(self.get(node).link);
    }

    /// Loads what the answer for a node will be found in. The node itself was loaded some time before.
    #[inline]
    pub(super) fn load_answer(&self, node: u32) {
        let own = self.get(node);
        if own.next == INNER {
            self.load(own.link);
            std::hint::black_box(self.answer(own.link));
        } else {
            std::hint::black_box(self.answer(node));
        }
    }

    #[inline]
    fn answer(&self, head: u32) -> u32 {
        self.semidominators.get(head as usize).copied().unwrap_or_default()
    }

    /// The lowest semidominator from a linked node up to the last linked one.
    #[inline]
    pub(super) fn lowest(&mut self, mut node: u32) -> u32 {
        loop {
            let own = self.get(node);
            if own.next != INNER {
                return self.answer(node);
            }
            let above = self.get(own.link);
            if above.next != INNER {
                return self.answer(own.link);
            }
            self.change(node, |node| node.link = above.link);
            node = above.link;
        }
    }

    /// Links a node, with the lowest that was found for it, to its parent, which is not linked yet.
    pub(super) fn link(&mut self, node: u32, parent: u32, found: u32) {
        let semidominator = self.answer(node).min(found);
        self.semidominators.get_mut(node as usize).into_iter().for_each(|own| *own = semidominator);
        let mut heap = self.get(node).link;
        while let Some(top) = heap.checked_sub(1).filter(|top| self.answer(*top) >= semidominator) {
            heap = self.without_first(top);
            self.change(top, |top| *top = Node { link: node, next: INNER });
        }
        self.change(node, |node| *node = Node::default());
        heap = self.joined(heap, node + 1);
        let heap = self.joined(self.get(parent).link, heap);
        self.change(parent, |parent| parent.link = heap);
    }

    /// The heap of all groups in two heaps.
    fn joined(&mut self, one: u32, other: u32) -> u32 {
        let (Some(a), Some(b)) = (one.checked_sub(1), other.checked_sub(1)) else { return one.max(other) };
        let (above, below) = if self.answer(a) >= self.answer(b) { (a, b) } else { (b, a) };
        let child = self.get(above).link;
        self.change(below, |node| node.next = child);
        self.change(above, |node| node.link = below + 1);
        above + 1
    }

    /// The heap without its first group: its children joined in pairs, and then the pairs from the last to the first.
    fn without_first(&mut self, first: u32) -> u32 {
        let mut child = self.get(first).link;
        let mut pairs = 0;
        while let Some(one) = child.checked_sub(1) {
            let other = self.cut(one);
            child = other.checked_sub(1).map_or(0, |other| self.cut(other));
            let pair = self.joined(one + 1, other);
            self.change(pair - 1, |node| node.next = pairs);
            pairs = pair;
        }
        let mut heap = 0;
        while let Some(pair) = pairs.checked_sub(1) {
            let rest = self.cut(pair);
            heap = self.joined(heap, pairs);
            pairs = rest;
        }
        heap
    }

    /// Makes a group the last child, and returns what was the next.
    fn cut(&mut self, node: u32) -> u32 {
        let next = self.get(node).next;
        self.change(node, |node| node.next = 0);
        next
    }
}
