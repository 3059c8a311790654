//! Loading: what is accepted, and that a refused load leaves nothing behind.

use std::sync::atomic::Ordering::SeqCst;

use netcore_profiler::build_options::LATEST_CALLBACK;
use netcore_profiler::callback::IIDS;
use netcore_profiler::com::{Guid, IID_CLASS_FACTORY, IID_UNKNOWN};
use netcore_profiler::hresult::{
    CLASS_E_CLASSNOTAVAILABLE, CONFIG_MALFORMED, CONFIG_MISSING, CONFIG_VERSION, E_NOINTERFACE, HResult,
    NO_LEASE, RUNTIME_TOO_OLD,
};
use netcore_profiler::wire::{ABI_VERSION, Arming, Load};

use crate::mock::info::{hellos, lock};
use crate::mock::{Clr, Library};

#[test]
fn it_is_every_callback_interface() {
    let library = Library::load();
    for iid in &IIDS[..LATEST_CALLBACK] {
        assert_eq!(library.query(iid), 0, "{iid:?}");
    }
    assert_eq!(library.query(&IID_UNKNOWN), 0);
    assert_eq!(library.query(&IID_CLASS_FACTORY), E_NOINTERFACE);
    let mut answer = 7;
    // SAFETY: arguments as the interface documents them.
    unsafe { (library.table().LoadAsNotificationOnly)(library.callback(), &mut answer) };
    assert_eq!(answer, 0);
    // SAFETY: the export has this type.
    let abi: extern "C" fn() -> u32 = unsafe { library.export("gcwatch_profiler_abi") };
    assert_eq!(abi(), ABI_VERSION);
}

#[test]
fn other_classes_are_not_available() {
    type Get = unsafe extern "system" fn(*const Guid, *const Guid, *mut *mut std::ffi::c_void) -> HResult;
    let library = Library::load();
    let mut out = std::ptr::dangling_mut();
    // SAFETY: the export has this type; the pointers are valid.
    let answer =
        unsafe { library.export::<Get>("DllGetClassObject")(&IID_UNKNOWN, &IID_CLASS_FACTORY, &mut out) };
    assert_eq!((answer, out.is_null()), (CLASS_E_CLASSNOTAVAILABLE, true));
}

#[test]
fn hello_describes_the_profiler() {
    let (_library, clr) = Library::attached("gcwatch=5 arming=always blocks=1");
    let [hello] = hellos(&clr.take_written())[..] else { panic!("one hello") };
    assert_eq!((hello.abi, hello.load, hello.arming), (ABI_VERSION, Load::ATTACH, Arming::ALWAYS));
    assert_eq!((hello.blocks, hello.clr_version), (true, [9, 8, 7, 6]));
    assert!(hello.slots >= 8 && !hello.lease_connected && hello.tick_ns > 0);

    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.start(clr, "gcwatch=5"), 0);
    let [hello] = hellos(&clr.take_written())[..] else { panic!("one hello") };
    assert_eq!((hello.load, hello.arming, hello.blocks), (Load::STARTUP, Arming::LATE, false));
    assert!(lock(&clr.environment).is_empty(), "the profiler removes its configuration");
}

#[test]
fn a_refused_load_leaves_nothing_behind() {
    let library = Library::load();
    for (config, expected) in [
        ("", CONFIG_MISSING),
        ("gcwatch=1", CONFIG_VERSION),
        ("arming=late", CONFIG_VERSION),
        ("gcwatch=5 arming=never", CONFIG_MALFORMED),
    ] {
        let clr = Clr::new();
        assert_eq!(library.attach(clr, config), expected, "{config}");
        assert_eq!(library.start(clr, config), expected, "{config}");
        assert_untouched(clr);
    }
    let clr = Clr::new();
    // SAFETY: arguments as the interface documents them.
    let answer = unsafe { (library.table().Initialize)(library.callback(), clr.unknown()) };
    assert_eq!(answer, CONFIG_MISSING, "the variable is not set");
    assert_untouched(clr);
    let clr = Clr::new();
    clr.lacks_info12.store(true, SeqCst);
    assert_eq!(library.attach(clr, "gcwatch=5"), RUNTIME_TOO_OLD);
    assert_untouched(clr);
    // After all refusals a load succeeds.
    let clr = Clr::new();
    assert_eq!(library.attach(clr, "gcwatch=5"), 0);
}

fn assert_untouched(clr: &Clr) {
    assert_eq!(clr.references.load(SeqCst), 0);
    assert_eq!(clr.providers_made.load(SeqCst), 0);
    assert_eq!(*lock(&clr.masks), []);
    assert!(lock(&clr.written).is_empty());
}

#[test]
fn a_refused_mask_refuses_the_attach() {
    use crate::mock::info::REFUSED;
    let (library, clr) = (Library::load(), Clr::new());
    clr.refusals.store(1, SeqCst);
    assert_eq!(library.attach(clr, "gcwatch=5"), REFUSED);
    assert_eq!(clr.references.load(SeqCst), 0);
    assert_eq!(clr.session.load(SeqCst), 0);
    assert_eq!(library.attach(clr, "gcwatch=5"), 0, "the next one succeeds");
    assert_eq!(clr.providers_made.load(SeqCst), 1, "with the same provider");
}

/// Without a lease, and without news of the provider's listeners, the profiler would never leave.
#[test]
fn a_lease_that_cannot_be_connected_is_refused_if_it_is_needed() {
    let (library, clr) = (Library::load(), Clr::new());
    clr.lacks_info14.store(true, SeqCst);
    let config = "gcwatch=5 lease=/nonexistent/socket";
    assert_eq!(library.attach(clr, config), NO_LEASE);
    assert_eq!(clr.references.load(SeqCst), 0);
    assert_eq!(*lock(&clr.masks), []);
    assert_eq!(library.attach(clr, "gcwatch=5"), 0);

    let (library, clr) = (Library::load(), Clr::new());
    assert_eq!(library.attach(clr, config), 0, "the provider replaces the lease");
    assert!(!hellos(&clr.take_written())[0].lease_connected);
}

#[cfg(unix)]
#[test]
fn a_variable_is_taken_from_the_environment_at_startup() {
    const NAME: &str = "GCWATCH_TEST_OF_UNSET";
    let (library, clr) = (Library::load(), Clr::new());
    // SAFETY: no other test uses this variable or changes the environment through the C library.
    unsafe { std::env::set_var(NAME, "x") };
    assert_eq!(library.start(clr, &format!("gcwatch=5 unset={NAME}")), 0);
    assert_eq!(std::env::var_os(NAME), None);
}

/// After a refused attach the runtime calls `dlclose`; after an accepted one our code may still run.
#[cfg(target_os = "linux")]
#[test]
fn only_an_accepted_library_stays_mapped() {
    use crate::mock::library::is_mapped;
    let library = Library::load();
    let path = library.path();
    assert_eq!(library.attach(Clr::new(), "gcwatch=9"), CONFIG_VERSION);
    assert!(is_mapped(&path));
    let kept = library.unload();
    assert!(!is_mapped(&path));
    drop(kept);

    let library = Library::load();
    let path = library.path();
    assert_eq!(library.attach(Clr::new(), "gcwatch=5"), 0);
    let kept = library.unload();
    assert!(is_mapped(&path));
    drop(kept);
}
