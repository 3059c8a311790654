//! The end of a background collection's walk over its survivors is lost, and no number of an event tells that.

use super::payload;
use super::plan::{Background, Plan, Step, Work};
use super::runtime::{self, Event, What, region};
use crate::gc::fold::Fold;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Incomplete};

/// As many rows as an event of the runtime can hold.
const FULL: usize = 4016;

fn background() -> Plan {
    let work = Work {
        generation: 2,
        reason: 0,
        compacting: false,
        loh_compacting: false,
        blocks: vec![vec![10; 5]],
        seed: 1,
    };
    let step = Step::Background(Background { work, first: None, during: [None, None, None] });
    Plan {
        server: false,
        heaps: 1,
        ranges: true,
        pinned_heap: true,
        pointer_size: 8,
        steps: vec![step],
        shifts: Vec::new(),
    }
}

/// The events with `rows` more survivors of generation 0 in an event of their own, the first of the walk. Only
/// generation 0 is not promoted by a background collection.
fn events(plan: &Plan, rows: usize, rest: bool) -> Vec<Event> {
    let (start, _) = region(0);
    let mut events = Vec::new();
    for mut event in runtime::run(plan) {
        if let What::Surviving { index, .. } = &mut event.what {
            let first = *index == 0;
            *index += 1;
            if first {
                let ranges = (0..rows as u64).map(|n| (start + (n << 8), 64)).collect();
                events.push(Event { what: What::Surviving { index: 0, ranges }, ..event.clone() });
            }
            if !rest {
                continue;
            }
        }
        if let What::Stats(stats) = &mut event.what {
            stats.generations[Generation::GEN0.index()].1 = 0;
        }
        events.push(event);
    }
    events
}

fn record(plan: &Plan, events: &[Event]) -> Gc {
    let mut fold = Fold::new(false);
    for event in events {
        let (id, payload) = payload::encode(&event.what, plan.pointer_size);
        fold.event(event.in_stream(id, plan.pointer_size, &payload));
    }
    fold.end();
    fold.take().expect("one collection")
}

#[test]
fn a_walk_that_ends_with_a_full_event_and_too_few_bytes_is_not_complete() {
    let plan = background();
    let whole = record(&plan, &events(&plan, FULL, true));
    assert_eq!(whole.incomplete, None);
    assert!(whole.surviving.is_some_and(|surviving| surviving.count.blocks == FULL as u64 + 5));
    let without_end = record(&plan, &events(&plan, FULL, false));
    assert_eq!(without_end.incomplete, Some(Incomplete::Lost));
    assert_eq!(without_end.surviving, None, "a sum of which a part is missing is unknown");
    // The last event of a walk has room for more rows. A few bytes less than promoted are no loss: objects die.
    assert_eq!(record(&plan, &events(&plan, FULL - 1, false)).incomplete, None);
}
