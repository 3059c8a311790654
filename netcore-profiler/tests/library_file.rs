//! The library needs nothing but a C library, of any kind and age. A dependency or a versioned symbol would fail in
//! some container.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

use std::path::Path;
use std::process::Command;

use netcore_profiler::{LIBRARY, LIBRARY_FILE_NAME, LIBRARY_HASH};

/// Functions that every libc has.
const EXPECTED: [&str; 48] = [
    "__errno_location",
    "_exit",
    "abort",
    "bcmp",
    "clock_gettime",
    "close",
    "connect",
    "dladdr",
    "dlopen",
    "fcntl",
    "fork",
    "getpid",
    "getppid",
    "getsockopt",
    "kill",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "mmap",
    "munmap",
    "nanosleep",
    "nice",
    "open",
    "poll",
    "prctl",
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setdetachstate",
    "pthread_attr_setstacksize",
    "pthread_create",
    "pthread_self",
    "pthread_sigmask",
    "read",
    "recv",
    "send",
    "setitimer",
    "setrlimit",
    "sigdelset",
    "sigfillset",
    "signal",
    "socket",
    "strlen",
    "syscall",
    "sysconf",
    "unsetenv",
    "wait4",
    "write",
];

const SHT_DYNAMIC: u32 = 6;
const SHT_DYNSYM: u32 = 11;
/// The type of symbols without a name, which stand for sections.
const STT_SECTION: u8 = 3;

/// One section header of a little-endian 64-bit ELF file.
struct Section {
    kind: u32,
    offset: usize,
    size: usize,
    link: usize,
}

fn u16_at(offset: usize) -> usize {
    u16::from_le_bytes(LIBRARY[offset..][..2].try_into().unwrap()).into()
}

fn u32_at(offset: usize) -> u32 {
    u32::from_le_bytes(LIBRARY[offset..][..4].try_into().unwrap())
}

fn u64_at(offset: usize) -> usize {
    u64::from_le_bytes(LIBRARY[offset..][..8].try_into().unwrap()) as usize
}

fn sections() -> Vec<Section> {
    assert_eq!(&LIBRARY[..6], b"\x7fELF\x02\x01");
    let (table, count) = (u64_at(40), u16_at(60));
    let section = |index: usize| {
        let at = table + index * 64;
        Section {
            kind: u32_at(at + 4),
            offset: u64_at(at + 24),
            size: u64_at(at + 32),
            link: u32_at(at + 40) as usize,
        }
    };
    (0..count).map(section).collect()
}

fn text(offset: usize) -> String {
    let bytes = LIBRARY[offset..].iter().copied().take_while(|byte| *byte != 0).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn it_needs_no_library_and_no_version() {
    const FORBIDDEN: [(usize, &str); 9] = [
        (1, "DT_NEEDED"),
        (12, "DT_INIT"),
        (13, "DT_FINI"),
        (25, "DT_INIT_ARRAY"),
        (26, "DT_FINI_ARRAY"),
        (22, "DT_TEXTREL"),
        (36, "DT_RELR"),
        (0x6fff_fffe, "DT_VERNEED"),
        (0x6fff_fffc, "DT_VERDEF"),
    ];
    let sections = sections();
    let dynamic = sections.iter().find(|section| section.kind == SHT_DYNAMIC).unwrap();
    let mut entries = 0;
    for at in (dynamic.offset..dynamic.offset + dynamic.size).step_by(16) {
        let tag = u64_at(at);
        if tag == 0 {
            break;
        }
        entries += 1;
        let forbidden = FORBIDDEN.iter().find(|(number, _)| *number == tag);
        assert!(forbidden.is_none(), "the library has {}", forbidden.unwrap().1);
    }
    assert!(entries > 5);
}

#[test]
fn it_imports_only_old_functions_and_exports_two() {
    let sections = sections();
    let symbols = sections.iter().find(|section| section.kind == SHT_DYNSYM).unwrap();
    let names = sections[symbols.link].offset;
    let (mut used, mut offered) = (Vec::new(), Vec::new());
    for at in (symbols.offset + 24..symbols.offset + symbols.size).step_by(24) {
        if LIBRARY[at + 4] & 0xf == STT_SECTION {
            continue;
        }
        let name = text(names + u32_at(at) as usize);
        if u16_at(at + 6) == 0 { used.push(name) } else { offered.push(name) }
    }
    let unexpected: Vec<_> = used.iter().filter(|name| !EXPECTED.contains(&name.as_str())).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    assert!(used.len() > 10);
    offered.sort();
    assert_eq!(offered, ["DllGetClassObject", "gcwatch_profiler_abi"]);
}

/// musl's loader says which libraries a file needs, after it has loaded all of them and resolved every name.
#[test]
fn the_loader_of_musl_loads_it() {
    let loader = format!("/lib/ld-musl-{}.so.1", std::env::consts::ARCH);
    if !Path::new(&loader).exists() {
        eprintln!("skipped 1 test: there is no {loader}, which the package musl has");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let loads = |name: &str, content: &[u8]| {
        let file = directory.path().join(name);
        std::fs::write(&file, content).unwrap();
        // In a process the C library is there already.
        let output =
            Command::new(&loader).args(["--preload", "libc.so", "--list"]).arg(&file).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(loads("profiler.so", LIBRARY), (true, String::new()));
    // A name that musl does not have.
    let (mut other, name) = (LIBRARY.to_vec(), b"sigfillset");
    let at = other.windows(name.len()).position(|part| part == name).unwrap();
    other[at] = b'S';
    let (loaded, error) = loads("other.so", &other);
    assert!(!loaded && error.contains("Sigfillset: symbol not found"), "{error}");
}

#[test]
fn its_name_contains_its_hash() {
    assert_eq!(LIBRARY_HASH.len(), 32);
    assert_eq!(LIBRARY_FILE_NAME, format!("libnetcore_profiler-{LIBRARY_HASH}.so"));
}
