//! Types of roots and names, against what the runtime's identifiers stand for.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use netcore_profiler::info::{GenerationRange, MONITOR_MODULE_LOADS, STACK_SNAPSHOT};
use netcore_profiler::wire::{
    ClassShape, DefStatus, GcFlags, Generation, HolderRow, MethodShape, Naming, Record, Root, RootFlags,
    RootKind,
};

use crate::mock::info::{lock, totals, wait_for};
use crate::mock::world::{class_of, definition, is_array, is_dynamic, method, module, size_of_object};
use crate::mock::{Clr, Collection, Library, Random, Written};

const LIMIT: Duration = Duration::from_secs(20);

/// Real memory of each test: the profiler looks at the method table before it asks for an object's class.
fn heap() -> GenerationRange {
    thread_local!(static OBJECTS: OnceCell<&'static [AtomicUsize]> = const { OnceCell::new() });
    let make = || -> &[AtomicUsize] { Vec::from_iter((0..1 << 21).map(|_| AtomicUsize::new(0))).leak() };
    let objects = OBJECTS.with(|objects| *objects.get_or_init(make));
    let length = size_of_val(objects);
    GenerationRange { generation: 2, start: objects.as_ptr().expose_provenance(), length, reserved: length }
}

/// Puts an object at every place, of so many classes.
fn fill_heap(classes: usize) {
    let (start, count) = (heap().start, heap().length / size_of::<usize>());
    // SAFETY: memory of the calling test, of that type, for good.
    let objects =
        unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance::<AtomicUsize>(start), count) };
    for (index, object) in objects.iter().enumerate() {
        object.store(class_of(start + index * size_of::<usize>(), classes), SeqCst);
    }
}

/// A runtime with so many classes, and the profiler in it.
fn attach(classes: usize) -> (Library, &'static Clr) {
    let (library, clr) = (Library::load(), Clr::new());
    clr.world.classes.store(classes, SeqCst);
    fill_heap(classes);
    clr.world.readable.store(u64::MAX, SeqCst);
    *lock(&clr.bounds) = vec![heap()];
    assert_eq!(library.attach(clr, "gcwatch=3 names=1"), 0);
    assert_eq!(clr.mask().0, MONITOR_MODULE_LOADS | STACK_SNAPSHOT, "on all the time");
    assert_eq!(clr.handle_sessions.load(SeqCst), 1);
    clr.take_written();
    (library, clr)
}

fn root(object: u64, root_id: u64, kind: RootKind) -> Root {
    Root { object, root_id, kind, flags: RootFlags(0) }
}

/// Roots to distinct objects.
fn handles(count: u64) -> Vec<Root> {
    (0..count).map(|n| root(heap().start as u64 + n * 8, 0x9000 + n * 8, RootKind::HANDLE)).collect()
}

fn collect(library: &Library, clr: &Clr, roots: Vec<Root>) -> Vec<Written> {
    library.collect(clr, &Collection { roots, ..Collection::default() });
    clr.take_written()
}

fn rows(written: &[Written]) -> Vec<HolderRow> {
    let mut rows = Vec::new();
    for (part, holders) in written
        .iter()
        .filter_map(|event| match event.record() {
            Record::Holders(holders) => Some(holders),
            _ => None,
        })
        .enumerate()
    {
        assert_eq!(holders.part as usize, part);
        rows.extend(holders.rows);
    }
    rows
}

fn naming(written: &[Written]) -> Naming {
    totals(written).naming.expect("names are on")
}

fn is_pending(written: &[Written]) -> bool {
    totals(written).flags.has(GcFlags::NAMES_PENDING)
}

/// Waits until names are told, and gives what was written up to then.
fn names(clr: &Clr, written: Vec<Written>, gc_seq: u64) -> Vec<Written> {
    let mut written = written;
    wait_for("the end of naming", LIMIT, || {
        written.extend(clr.take_written());
        written.iter().any(|event| matches!(event.record(), Record::NamesDone(d) if d.gc_seq >= gc_seq))
    });
    written
}

/// Names by module and token; `None` for those that were unloaded.
fn definitions(written: &[Written]) -> BTreeMap<(u64, u32), Option<String>> {
    let mut found = BTreeMap::new();
    for event in written {
        let (module, token, status, name) = match event.record() {
            Record::TypeDef(def) => (def.module_id, def.token, def.status, def.name),
            Record::MethodDef(def) => (def.module_id, def.token, def.status, def.name),
            _ => continue,
        };
        assert_ne!(status, DefStatus::UNREADABLE);
        let name = (status == DefStatus::OK).then(|| name.to_string());
        found.insert((module, token), name);
    }
    found
}

fn unload(library: &Library, clr: &Clr, number: usize) {
    // SAFETY: arguments as the interface documents them.
    unsafe { (library.table().ModuleUnloadStarted)(library.callback(), module(number)) };
    assert_ne!(clr.world.open.load(SeqCst), module(number), "it is being read while it goes");
    lock(&clr.world.unloaded).insert(module(number));
}

#[test]
fn roots_are_told_with_what_they_hold_and_who_they_are() {
    let (library, clr) = attach(40);
    let mut random = Random(7);
    let mut roots = Vec::new();
    for _ in 0..7000 {
        let object = match random.below(10) {
            0 => 0,
            1 => 0x5000 + random.below(64) * 8,
            _ => heap().start as u64 + random.below(1 << 20) * 8,
        };
        let stack = random.below(2) == 0;
        let id = if stack { method(random.below(30) as usize) as u64 } else { 0x9000 + random.below(99) * 8 };
        let kind = if stack { RootKind::STACK } else { RootKind::HANDLE };
        let times = if random.below(5) == 0 { 1 + random.below(4) } else { 1 };
        roots.extend((0..times).map(|_| root(object, id, kind)));
    }
    let written = collect(&library, clr, roots.clone());
    let told = rows(&written);
    let expanded: Vec<Root> = told
        .iter()
        .flat_map(|row| {
            let root = Root { object: row.object, root_id: row.root_id, kind: row.kind, flags: row.flags };
            std::iter::repeat_n(root, usize::from(row.repeats) + 1)
        })
        .collect();
    roots.retain(|root| root.object != 0);
    assert_eq!(expanded, roots);
    for row in &told {
        let object = row.object as usize;
        if object < heap().start {
            assert_eq!((row.class_id, row.bytes, row.generation), (0, 0, Generation::UNKNOWN));
        } else {
            assert_eq!(row.class_id as usize, class_of(object, 40));
            assert_eq!((row.bytes as usize, row.generation), (size_of_object(object), Generation(2)));
        }
    }
    let naming = naming(&written);
    assert_eq!((naming.typed_roots, naming.untyped_roots), (roots.len() as u64, 0));
    assert!(naming.holders_parts >= 2, "{}", naming.holders_parts);

    let (mut classes, mut methods) = (HashSet::new(), HashSet::new());
    for event in &written {
        match event.record() {
            Record::Class(class) => {
                let id = class.class_id as usize;
                assert!(classes.insert(id), "{id:x} is told twice");
                if is_array(id) {
                    assert_eq!((class.shape, class.element_class as usize), (ClassShape::ARRAY, id - 8));
                } else {
                    let (module, row) = definition(id);
                    assert_eq!(class.shape, ClassShape::PLAIN);
                    assert_eq!((class.module_id as usize, class.token), (module, 0x0200_0000 | row));
                }
            }
            Record::Method(method) => {
                let id = method.function_id as usize;
                assert!(methods.insert(id), "{id:x} is told twice");
                let shape = if is_dynamic(id) { MethodShape::DYNAMIC } else { MethodShape::NAMED };
                assert_eq!(method.shape, shape);
            }
            _ => {}
        }
    }
    assert_eq!((classes.len(), methods.len()), (40, 30));

    // While so many roots are looked up, all names may have been read.
    let written = if is_pending(&written) { names(clr, written, 1) } else { written };
    let named = definitions(&written);
    for id in classes.into_iter().filter(|id| !is_array(*id)) {
        let (module, row) = definition(id);
        assert_eq!(named[&(module as u64, 0x0200_0000 | row)], Some(format!("Ns.Type{row}")));
    }
    for id in methods.into_iter().filter(|id| !is_dynamic(*id)) {
        let (module, row) = definition(id);
        assert_eq!(named[&(module as u64, 0x0600_0000 | row)], Some(format!("Method{row}")));
    }

    let again = collect(&library, clr, roots);
    assert!(!again.iter().any(|event| matches!(event.record(), Record::Class(_) | Record::Method(_))));
    assert!(!is_pending(&again), "everything is known");
}

#[test]
fn more_roots_than_there_is_room_for_are_counted() {
    let (library, clr) = attach(8);
    let written = collect(&library, clr, handles(100_000));
    let naming = naming(&written);
    assert_eq!((naming.typed_roots, naming.untyped_roots), (10_000, 90_000));
    assert_eq!(rows(&written).len(), 10_000);
    assert_eq!(clr.world.looked_at.load(SeqCst), 8, "once for each class");
    let parts = written.iter().filter(|event| matches!(event.record(), Record::Holders(_)));
    assert_eq!(naming.holders_parts as usize, parts.count());
    let written = collect(&library, clr, handles(3));
    assert_eq!(rows(&written).len(), 3, "and the next begins anew");
}

#[test]
fn more_classes_than_can_be_known_are_told_once_or_not_at_all() {
    let (library, clr) = attach(60_000);
    let all: Vec<Root> = handles(60_000);
    let (mut told, mut looked_up) = (HashSet::new(), 0);
    let began = Instant::now();
    // Where looking up took too long, a part comes again.
    for part in all.chunks(10_000).cycle() {
        let written = collect(&library, clr, part.to_vec());
        looked_up += rows(&written).len();
        for event in &written {
            if let Record::Class(class) = event.record() {
                assert!(told.insert(class.class_id), "told twice");
            }
        }
        assert!(began.elapsed() < LIMIT, "{} told of {looked_up}", told.len());
        if looked_up > 120_000 && told.len() >= 65_536 / 4 * 3 {
            break;
        }
    }
    assert_eq!(told.len(), 65_536 / 4 * 3);
}

#[test]
fn what_was_seen_of_a_module_that_is_gone_is_not_touched() {
    let (library, clr) = attach(40);
    clr.world.let_read(0);
    let roots = handles(40);
    let written = collect(&library, clr, roots.clone());
    assert!(is_pending(&written));
    wait_for("reading", LIMIT, || clr.world.waiting.load(SeqCst));
    let open = (clr.world.open.load(SeqCst) - module(0)) / 0x1000;
    let other = (open + 1) % 4;
    // The one that is being read is waited for, for a second; another one is, too, since there is one gate.
    std::thread::scope(|scope| {
        let unloads = scope.spawn(|| unload(&library, clr, other));
        // Long enough to come to the gate, and shorter than it waits there.
        std::thread::sleep(Duration::from_millis(400));
        assert!(!unloads.is_finished());
        assert!(!lock(&clr.world.unloaded).contains(&module(other)), "it waits at the gate");
        clr.world.let_read(u64::MAX);
    });
    let named = definitions(&names(clr, written, 1));
    let gone = |name: &Option<String>| name.is_none();
    assert!(named.iter().any(|((id, _), _)| *id as usize == module(other)));
    for ((id, token), name) in &named {
        assert_eq!(gone(name), *id as usize == module(other), "{id:x} {token:x}");
    }

    // Another module at the same address is another matter.
    lock(&clr.world.unloaded).clear();
    let written = collect(&library, clr, roots);
    let forget = written.iter().position(|event| matches!(event.record(), Record::Forget)).unwrap();
    let class = written.iter().position(|event| matches!(event.record(), Record::Class(_))).unwrap();
    assert!(forget < class, "identifiers are void before they are used again");
    let named = definitions(&names(clr, written, 2));
    assert!(named.values().all(Option::is_some));
    assert!(named.keys().any(|(id, _)| *id as usize == module(other)));
}

#[test]
fn unloading_waits_no_longer_than_a_second() {
    let (library, clr) = attach(40);
    clr.world.let_read(0);
    let written = collect(&library, clr, handles(40));
    wait_for("reading", LIMIT, || clr.world.waiting.load(SeqCst));
    let began = Instant::now();
    // SAFETY: arguments as the interface documents them.
    unsafe { (library.table().ModuleUnloadStarted)(library.callback(), module(9)) };
    let waited = began.elapsed();
    assert!(waited > Duration::from_millis(900) && waited < Duration::from_secs(8), "{waited:?}");
    clr.world.let_read(u64::MAX);
    names(clr, written, 1);
}

#[test]
fn looking_up_takes_no_more_than_its_part_of_the_time() {
    // So many classes that each object's is asked for.
    let (library, clr) = attach(10_000);
    let began = Instant::now();
    let (mut naming_ns, mut untyped) = (0, 0);
    while untyped == 0 {
        let written = collect(&library, clr, handles(10_000));
        let naming = naming(&written);
        if naming.typed_roots > 0 {
            let allowed_ns = 100_000_000 + began.elapsed().as_nanos() as u64 / 20;
            assert!(naming_ns <= allowed_ns, "{naming_ns} of {allowed_ns} were spent, and it went on");
            naming_ns += naming.naming_ns;
        }
        untyped += naming.untyped_roots;
        assert_eq!(naming.typed_roots + naming.untyped_roots, 10_000);
        assert!(began.elapsed() < LIMIT, "{naming_ns} ns of looking up are not too much");
    }
    assert!(naming_ns > 90_000_000, "no more than {naming_ns} ns were spent");
}
