//! Whatever comes: the model may be wrong about nonsense, but it does not fall over, and never invents a second record
//! for a number.

use netcore_profiler::wire;
use proptest::collection::vec;
use proptest::prelude::*;

use super::payload;
use super::plan::plans;
use super::runtime::{self, What};
use crate::gc::events::{EVENTPIPE_PROVIDER, RUNDOWN_PROVIDER, RUNTIME_PROVIDER};
use crate::gc::fold::Fold;
use crate::gc::record::Gc;
use crate::gc::stream_event::StreamEvent;
use crate::gc::summary::Summary;

/// The most memory that the model holds at once while it takes in events of the runtime: id, thread, payload.
fn most_bytes(events: &[(u32, u64, Vec<u8>)]) -> (u64, Vec<Gc>) {
    let mut gcs = Vec::new();
    let info = allocation_counter::measure(|| {
        let mut fold = Fold::new(false);
        for (at_ns, (id, thread, payload)) in (0..).zip(events) {
            let provider = RUNTIME_PROVIDER;
            fold.event(StreamEvent {
                provider,
                id: *id,
                pointer_size: 8,
                thread: *thread,
                at_ns,
                payload,
                stack: &[],
            });
            while let Some(gc) = fold.take() {
                allocation_counter::opt_out(|| gcs.push(gc.clone()));
            }
        }
        fold.end();
        while let Some(gc) = fold.take() {
            allocation_counter::opt_out(|| gcs.push(gc.clone()));
        }
    });
    (info.bytes_max, gcs)
}

/// One event: what, and on which thread.
fn of(thread: u64, what: What) -> (u32, u64, Vec<u8>) {
    let (id, payload) = payload::encode(&what, 8);
    (id, thread, payload)
}

#[test]
fn what_threads_leave_open_is_bounded() {
    let begin = |n: u64| of(n, What::SuspendBegin { reason: 1 });
    let end = |n: u64| of(n, What::End { number: n as u32, generation: 0 });
    let start = |n: u64| of(1, What::Start { number: n as u32, generation: 0, reason: 0, kind: 0 });
    let global = |n: u64| of(n / 2, What::Global { heaps: 9, generation: 0, mechanisms: 0 });
    type Kind<'a> = &'a dyn Fn(u64) -> (u32, u64, Vec<u8>);
    let kinds: [Kind<'_>; 4] = [&begin, &end, &start, &|n| if n % 2 == 0 { start(n) } else { global(n) }];
    for (which, kind) in kinds.iter().enumerate() {
        let events: Vec<_> = (0..50_000).map(kind).collect();
        let (bytes, _) = most_bytes(&events);
        assert!(bytes < 1 << 20, "kind {which}: {bytes} bytes were held at once");
    }
}

#[test]
fn a_collection_that_is_stopped_for_without_end_says_that_it_is_not_whole() {
    let mut events = vec![
        of(1, What::SuspendBegin { reason: 1 }),
        of(1, What::SuspendEnd),
        of(1, What::Start { number: 1, generation: 2, reason: 0, kind: 1 }),
        of(1, What::RestartEnd),
    ];
    for index in 0..20_000 {
        events.extend([
            of(1, What::SuspendBegin { reason: 6 }),
            of(1, What::SuspendEnd),
            of(index, What::Surviving { index: 0, ranges: vec![(8, 8)] }),
            of(1, What::RestartEnd),
        ]);
    }
    let (bytes, gcs) = most_bytes(&events);
    assert!(bytes < 1 << 20, "{bytes} bytes were held at once");
    assert!(gcs.iter().all(|gc| gc.incomplete.is_some()), "{gcs:?}");
    assert!(gcs.iter().all(|gc| gc.pauses.len() < 2_000));
}

/// An event of any sort.
#[derive(Debug, Clone)]
struct Any {
    provider: &'static str,
    id: u32,
    pointer_size: u32,
    thread: u64,
    at_ns: u64,
    payload: Vec<u8>,
    lost: Option<u64>,
}

fn anything() -> impl Strategy<Value = Any> {
    let ids = [1, 2, 3, 4, 7, 8, 9, 21, 22, 23, 35, 39, 187, 202, 204, 205, 208];
    let runtime =
        (Just(RUNTIME_PROVIDER), prop_oneof![9 => proptest::sample::select(ids.to_vec()), 1 => any::<u32>()]);
    let others = [wire::PROVIDER_NAME, RUNDOWN_PROVIDER, EVENTPIPE_PROVIDER, ""];
    let other = (proptest::sample::select(others.to_vec()), 0..12_u32);
    let at_ns = prop_oneof![8 => 0..1000_u64, 1 => any::<u64>()];
    let lost = proptest::option::weighted(0.1, any::<u64>());
    (prop_oneof![8 => runtime, 2 => other], 0..10_u32, 0..4_u64, at_ns, (0..140_usize, any::<u64>()), lost)
        .prop_map(|((provider, id), pointer_size, thread, at_ns, (length, seed), lost)| Any {
            provider,
            id,
            pointer_size,
            thread,
            at_ns,
            payload: bytes(length, seed),
            lost,
        })
}

/// Mostly small numbers, so that they fit each other now and then.
fn bytes(length: usize, mut seed: u64) -> Vec<u8> {
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [.., kind, value] = seed.to_be_bytes()[..4] else { return 0 };
        if kind < 150 {
            0
        } else if kind < 230 {
            value % 4
        } else {
            value
        }
    };
    (0..length).map(|_| next()).collect()
}

fn feed(events: &[Any], keep_blocks: bool) {
    let (mut fold, mut summary) = (Fold::new(keep_blocks), Summary::default());
    for event in events {
        event.lost.into_iter().for_each(|events| fold.lost(events));
        fold.event(StreamEvent {
            provider: event.provider,
            id: event.id,
            pointer_size: event.pointer_size,
            thread: event.thread,
            at_ns: event.at_ns,
            payload: &event.payload,
            stack: &event.payload,
        });
        std::iter::from_fn(|| fold.take()).for_each(|gc| summary.add(&gc));
    }
    fold.end();
    std::iter::from_fn(|| fold.take()).for_each(|gc| summary.add(&gc));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_events(events in vec(anything(), 0..60), keep in any::<bool>()) {
        feed(&events, keep);
    }

    /// What a runtime writes, in any order, with bytes changed, and cut short.
    #[test]
    fn spoilt_events(
        plan in plans(),
        spoilt in vec((any::<u16>(), any::<u16>(), any::<u8>()), 0..20),
        swapped in vec((any::<u16>(), any::<u16>()), 0..20),
        short in vec((any::<u16>(), any::<u16>()), 0..4),
        keep in any::<bool>(),
    ) {
        let mut events: Vec<Any> = runtime::run(&plan).iter().map(|event| {
            let (id, payload) = payload::encode(&event.what, plan.pointer_size);
            Any {
                provider: RUNTIME_PROVIDER,
                id,
                pointer_size: plan.pointer_size,
                thread: event.thread,
                at_ns: event.at_ns,
                payload,
                lost: None,
            }
        }).collect();
        let count = events.len();
        for (which, at, byte) in spoilt {
            let payload = &mut events[usize::from(which) % count].payload;
            let length = payload.len().max(1);
            payload.get_mut(usize::from(at) % length).into_iter().for_each(|b| *b = byte);
        }
        for (which, length) in short {
            events[usize::from(which) % count].payload.truncate(usize::from(length) % 30);
        }
        for (a, b) in swapped {
            events.swap(usize::from(a) % count, usize::from(b) % count);
        }
        feed(&events, keep);
    }
}
