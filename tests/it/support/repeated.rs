//! Counts what tests had to repeat; the test program prints it at its end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

thread_local! {
    static TEST: RefCell<String> = const { RefCell::new(String::new()) };
}

static REPEATED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// Sets the name of the test that runs on this thread.
pub(crate) fn begin(test: &str) {
    TEST.with_borrow_mut(|name| test.clone_into(name));
}

/// Counts one repetition: the first attempt did not show what the test needs.
pub(crate) fn again() {
    let test = TEST.with_borrow(String::clone);
    let mut repeated = REPEATED.lock().unwrap_or_else(PoisonError::into_inner);
    *repeated.entry(test).or_default() += 1;
}

/// `repeated: 3 (moves::a twice, names::b once)`.
pub(crate) fn summary() -> String {
    let repeated = REPEATED.lock().unwrap_or_else(PoisonError::into_inner);
    describe(&repeated)
}

fn describe(repeated: &BTreeMap<String, u32>) -> String {
    let each: Vec<String> = repeated
        .iter()
        .map(|(test, count)| match count {
            1 => format!("{test} once"),
            2 => format!("{test} twice"),
            _ => format!("{test} {count} times"),
        })
        .collect();
    match repeated.values().sum::<u32>() {
        0 => "repeated: 0".to_owned(),
        all => format!("repeated: {all} ({})", each.join(", ")),
    }
}
