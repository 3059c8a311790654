//! Long ways through objects, made short.

use crate::graph::{Graph, Place};

/// Of a longer way the middle is left out.
const MAX_STEPS: usize = 200;

/// Consecutive objects of one class on a way, as the nodes of a linked list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The class: its place in [`Graph::classes`].
    pub class: u32,
    /// The first object.
    pub object: u32,
    /// The last one.
    pub last: u32,
    /// How many objects.
    pub count: u64,
    /// Where the object before refers to the first one. `None`: nothing is before, or it does not refer to it.
    pub place: Option<Place>,
    /// Where the first one refers to the second. `None`: there is only one, or it does not refer to it.
    pub inner: Option<Place>,
    /// How many objects were left out before this one, because the way is too long.
    pub omitted_before: u64,
}

/// Joins consecutive objects of one class, and leaves out the middle if the way is still too long. With each step comes its
/// second object, if it has several.
pub(crate) fn fold(graph: &Graph, way: &[u32]) -> Vec<(Step, Option<u32>)> {
    let runs = || way.chunk_by(|a, b| graph.class_of(*a) == graph.class_of(*b));
    let step = |run: &[u32]| {
        let object = run.first().copied().unwrap_or_default();
        let step = Step {
            class: graph.class_of(object),
            object,
            last: run.last().copied().unwrap_or_default(),
            count: run.len() as u64,
            ..Step::default()
        };
        (step, run.get(1).copied())
    };
    let omitted = runs().count().saturating_sub(MAX_STEPS);
    let mut steps: Vec<_> = runs().take(MAX_STEPS / 2).map(step).collect();
    let behind = steps.len();
    steps.extend(runs().skip(behind + omitted).map(step));
    if let Some((step, _)) = steps.get_mut(behind) {
        step.omitted_before = runs().skip(behind).take(omitted).map(|run| run.len() as u64).sum();
    }
    steps
}
