//! Types of roots and names, compared with what the mock runtime's identifiers stand for.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use netcore_profiler::hresult::S_OK;
use netcore_profiler::info::{GenerationRange, MONITOR_MODULE_LOADS, STACK_SNAPSHOT};
use netcore_profiler::wire::{
    ClassShape, DefStatus, GcFlags, Generation, HandleKind, MethodShape, Naming, Record, Root, RootFlags,
    RootKind, TypedRoot, event_id,
};

use crate::mock::info::{lock, totals, wait_for};
use crate::mock::world::{class_of, definition, is_array, is_dynamic, method, module, size_of_object};
use crate::mock::{Clr, Collection, Library, Random, Written};

pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Real memory of each test: the profiler reads the method table before it asks for an object's class.
pub(crate) fn heap() -> GenerationRange {
    thread_local!(static OBJECTS: OnceCell<&'static [AtomicUsize]> = const { OnceCell::new() });
    let make = || -> &[AtomicUsize] { Vec::from_iter((0..1 << 21).map(|_| AtomicUsize::new(0))).leak() };
    let objects = OBJECTS.with(|objects| *objects.get_or_init(make));
    let length = size_of_val(objects);
    GenerationRange { generation: 2, start: objects.as_ptr().expose_provenance(), length, reserved: length }
}

/// Puts an object into every word, of this many classes.
fn fill_heap(classes: usize) {
    let (start, count) = (heap().start, heap().length / size_of::<usize>());
    // SAFETY: memory of the calling test, of that type, which is never freed.
    let objects =
        unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance::<AtomicUsize>(start), count) };
    for (index, object) in objects.iter().enumerate() {
        object.store(class_of(start + index * size_of::<usize>(), classes), SeqCst);
    }
}

/// A runtime with this many classes, with the profiler attached.
pub(crate) fn attach(classes: usize) -> (Library, &'static Clr) {
    let (library, clr) = (Library::load(), Clr::new());
    clr.world.classes.store(classes, SeqCst);
    fill_heap(classes);
    clr.world.readable.store(u64::MAX, SeqCst);
    *lock(&clr.bounds) = vec![heap()];
    assert_eq!(library.attach(clr, "gcwatch=5 names=1"), 0);
    assert_eq!(clr.mask().0, MONITOR_MODULE_LOADS | STACK_SNAPSHOT, "on all the time");
    assert_eq!(clr.handle_sessions.load(SeqCst), 1);
    clr.take_written();
    (library, clr)
}

/// Makes the profiler find the helper types, without which it looks no allocating method up.
pub(crate) fn learn_helpers(library: &Library, clr: &Clr) {
    // SAFETY: arguments as the interface documents them.
    unsafe { (library.table().ModuleLoadFinished)(library.callback(), module(9), S_OK) };
    wait_for("the look at the library", LIMIT, || {
        clr.world.types_sought.load(SeqCst) > 0 && clr.world.open.load(SeqCst) == 0
    });
}

pub(crate) fn root(object: u64, root_id: u64, kind: RootKind) -> Root {
    Root { object, root_id, kind, flags: RootFlags(0) }
}

/// Roots to distinct objects.
fn handles(count: u64) -> Vec<Root> {
    (0..count).map(|n| root(heap().start as u64 + n * 8, 0x9000 + n * 8, RootKind::HANDLE)).collect()
}

pub(crate) fn collect(library: &Library, clr: &Clr, roots: Vec<Root>) -> Vec<Written> {
    library.collect(clr, &Collection { roots, ..Collection::default() });
    clr.take_written()
}

pub(crate) fn rows(written: &[Written]) -> Vec<TypedRoot> {
    let mut rows = Vec::new();
    for (part, holders) in written
        .iter()
        .filter_map(|event| match event.record() {
            Record::TypedRoots(holders) => Some(holders),
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

/// Waits until names are complete, and returns what was written up to then.
fn names(clr: &Clr, written: Vec<Written>, gc_seq: u64) -> Vec<Written> {
    let mut written = written;
    wait_for("the end of naming", LIMIT, || {
        written.extend(clr.take_written());
        written.iter().any(|event| matches!(event.record(), Record::NamesDone(d) if d.gc_seq >= gc_seq))
    });
    written
}

/// Names by module and token; `None`: unloaded.
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
fn roots_come_with_types_and_names() {
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
    let sent = rows(&written);
    let expanded: Vec<Root> = sent
        .iter()
        .flat_map(|row| {
            let root = Root { object: row.object, root_id: row.root_id, kind: row.kind, flags: row.flags };
            std::iter::repeat_n(root, usize::from(row.repeats) + 1)
        })
        .collect();
    roots.retain(|root| root.object != 0);
    assert_eq!(expanded, roots);
    for row in &sent {
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
    assert!(naming.typed_root_parts >= 2, "{}", naming.typed_root_parts);

    let (mut classes, mut methods) = (HashSet::new(), HashSet::new());
    for event in &written {
        match event.record() {
            Record::Class(class) => {
                let id = class.class_id as usize;
                assert!(classes.insert(id), "{id:x} is sent twice");
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
                assert!(methods.insert(id), "{id:x} is sent twice");
                let shape = if is_dynamic(id) { MethodShape::DYNAMIC } else { MethodShape::NAMED };
                assert_eq!(method.shape, shape);
            }
            _ => {}
        }
    }
    assert_eq!((classes.len(), methods.len()), (40, 30));

    // All names may have been sent while the roots were looked up.
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
    let parts = written.iter().filter(|event| matches!(event.record(), Record::TypedRoots(_)));
    assert_eq!(naming.typed_root_parts as usize, parts.count());
    let written = collect(&library, clr, handles(3));
    assert_eq!(rows(&written).len(), 3, "and the next begins anew");
}

/// Collects repeatedly until all roots were looked up and have names.
fn collect_until_named(
    library: &Library,
    clr: &Clr,
    written: Vec<Written>,
    roots: &[Root],
    wanted: &[(u64, u32)],
) {
    let mut written = written;
    wait_for("all names", Duration::from_secs(120), || {
        // If looking up takes too long, some roots stay without a type for now.
        written.extend(collect(library, clr, roots.to_vec()));
        let named = definitions(&written);
        wanted.iter().all(|definition| matches!(named.get(definition), Some(Some(_))))
    });
}

/// Many more classes and methods than are known at once: the last ones get names like the first.
#[test]
fn names_do_not_run_out() {
    const ROOTS: usize = 5000;
    // Three times as many as there is room for, and then a collection that finds no room.
    const EACH: usize = 3 * 65_536 / 4 * 3 / 2 / ROOTS * ROOTS + 2 * ROOTS;
    let (library, clr) = attach(EACH);
    // What a reader knows: everything since the last `Forget`.
    let (mut sent, mut forgotten, mut known) = (0, 0, Vec::new());
    let began = Instant::now();
    for first in (0..EACH).step_by(ROOTS) {
        let object =
            |n: usize| root(heap().start as u64 + n as u64 * 8, 0x9000 + n as u64 * 8, RootKind::HANDLE);
        let frame = |n: usize| root(heap().start as u64, method(n) as u64, RootKind::STACK);
        let roots: Vec<Root> = (first..first + ROOTS).flat_map(|n| [object(n), frame(n)]).collect();
        // Looking up has a budget of time.
        loop {
            let written = collect(&library, clr, roots.clone());
            let count =
                |is: fn(&Record<'_>) -> bool| written.iter().filter(|event| is(&event.record())).count();
            sent += count(|record| matches!(record, Record::Class(_) | Record::Method(_)));
            forgotten += count(|record| matches!(record, Record::Forget));
            let is_done = naming(&written).typed_roots > 0;
            let forget = written.iter().rposition(|event| matches!(event.record(), Record::Forget));
            if forget.is_some() {
                known.clear();
            }
            known.extend(written.into_iter().skip(forget.unwrap_or(0)));
            if is_done {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(180), "{sent} sent");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert!(sent > 3 * 49_152, "{sent} sent");
    assert!(forgotten >= 3, "{forgotten} times");
    let (mut roots, mut wanted) = (Vec::new(), Vec::new());
    for n in EACH - 50..EACH {
        let object = heap().start as u64 + n as u64 * 8;
        roots.push(root(object, 0x9000, RootKind::HANDLE));
        roots.push(root(heap().start as u64, method(n) as u64, RootKind::STACK));
        let class = class_of(object as usize, EACH);
        if !is_array(class) {
            let (module, row) = definition(class);
            wanted.push((module as u64, 0x0200_0000 | row));
        }
        if !is_dynamic(method(n)) {
            let (module, row) = definition(method(n));
            wanted.push((module as u64, 0x0600_0000 | row));
        }
    }
    collect_until_named(&library, clr, known, &roots, &wanted);
}

#[test]
fn an_unloaded_module_is_not_read() {
    let (library, clr) = attach(40);
    clr.world.let_read(0);
    let roots = handles(40);
    let written = collect(&library, clr, roots.clone());
    assert!(is_pending(&written));
    wait_for("reading", LIMIT, || clr.world.waiting.load(SeqCst));
    let open = (clr.world.open.load(SeqCst) - module(0)) / 0x1000;
    let other = (open + 1) % 4;
    // Unloading any module waits for the definition that is being read, because there is one gate.
    std::thread::scope(|scope| {
        let unloads = scope.spawn(|| unload(&library, clr, other));
        // Long enough to reach the gate.
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

    // A new module at the same address is read again.
    lock(&clr.world.unloaded).clear();
    let written = collect(&library, clr, roots);
    let forget = written.iter().position(|event| matches!(event.record(), Record::Forget)).unwrap();
    let class = written.iter().position(|event| matches!(event.record(), Record::Class(_))).unwrap();
    assert!(forget < class, "identifiers are void before they are used again");
    let named = definitions(&names(clr, written, 2));
    assert!(named.values().all(Option::is_some));
    assert!(named.keys().any(|(id, _)| *id as usize == module(other)));
}

/// Without a limit, because the runtime frees the module afterwards.
#[test]
fn unloading_waits_for_the_definition_that_is_being_read() {
    let (library, clr) = attach(40);
    clr.world.let_read(0);
    let written = collect(&library, clr, handles(40));
    wait_for("reading", LIMIT, || clr.world.waiting.load(SeqCst));
    let open = (clr.world.open.load(SeqCst) - module(0)) / 0x1000;
    std::thread::scope(|scope| {
        let unloads = scope.spawn(|| unload(&library, clr, open));
        // Longer than a former limit.
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!unloads.is_finished(), "it is being read");
        // The unloading waits for the definition that is being read, but not for the next ones.
        clr.world.let_read(1);
        wait_for("unloading", LIMIT, || unloads.is_finished());
        clr.world.let_read(u64::MAX);
    });
    let named = definitions(&names(clr, written, 1));
    assert_eq!(
        named.iter().filter(|((id, _), name)| *id as usize == module(open) && name.is_some()).count(),
        1
    );
    assert!(named.iter().all(|((id, _), name)| *id as usize == module(open) || name.is_some()));
}

/// A module is unloaded after a collection has looked up an allocating method, and before it requests the method's
/// name.
#[test]
fn a_module_that_is_unloaded_while_its_method_is_sent_is_not_read() {
    let (library, clr) = attach(8);
    learn_helpers(&library, clr);
    let (handle, allocating) = (0x9000, method(2));
    clr.calls.come_from(&[allocating]);
    library.make_handle(clr, handle, 3);
    assert_eq!(clr.calls.walks.load(SeqCst), 1);
    // An object of another module, which stays.
    let stays = |object: &usize| definition(class_of(*object, 8)).0 == module(1);
    let object = (heap().start..).step_by(8).find(stays).unwrap();
    let roots = vec![root(object as u64, handle, RootKind::HANDLE)];
    clr.held_event.store(event_id::METHOD, SeqCst);
    let written = std::thread::scope(|scope| {
        let collection = scope.spawn(|| collect(&library, clr, roots.clone()));
        wait_for("the method", LIMIT, || clr.is_held.load(SeqCst));
        unload(&library, clr, 2);
        clr.held_event.store(0, SeqCst);
        collection.join().unwrap()
    });
    let [row] = rows(&written)[..] else { panic!("one root") };
    assert_eq!((row.allocated_by, row.handle_kind), (allocating as u64, HandleKind(3)));
    let named = definitions(&names(clr, written, 1));
    let (id, token) = definition(allocating);
    assert_eq!(named[&(id as u64, 0x0600_0000 | token)], None, "it was unloaded");
    // From then on the method is unknown.
    let written = collect(&library, clr, roots);
    let [row] = rows(&written)[..] else { panic!("one root") };
    assert_eq!((row.allocated_by, row.handle_kind), (0, HandleKind(3)));
}

#[test]
fn looking_up_stays_within_its_budget() {
    // So many classes that none is in the cache.
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
