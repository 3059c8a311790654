//! What is a root and what only looks like one: wrappers with a reference count are, and null handles, dependent
//! handles, weak tables, statics, pinned arrays, state machines and timers are not; thread statics by version.

use anyhow::{Result, ensure};
use xtask::Clr;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{By, NULL, PAIRS, Scripted, Tally, number};

const MANY: i64 = 40;
const FINALIZING: [&str; 3] = ["table", "refcounted", "release"];

pub(crate) fn register(suite: &mut Suite) {
    // Both ways of watching on each runtime, in turns.
    suite.each_heap("roots_held::what_is_none", &[], |clr, heap| {
        held(clr, heap, if heap.server() { By::Attach } else { By::Run })
    });
}

/// A command to the program, and how it changes the roots.
fn steps(clr: &Clr) -> Vec<(String, Tally)> {
    let plain = |line: &str, change| (line.to_owned(), change);
    let many = |line: &str, change| (format!("{line} {MANY}"), change);
    let none = Tally::default;
    // The runtime holds an array for a thread's statics once it has any. .NET 8: by a handle for each module, and one
    // for each generic class. Since .NET 9: by a slot of the thread, which was empty before.
    let (first, generic) = match clr.version.major {
        ..=8 => (Tally::from([("handle", 1)]), Tally::from([("handle", 4)])),
        _ => (Tally::from([("stack", 1), (NULL, -1)]), none()),
    };
    vec![
        many("dependent", Tally::from([(PAIRS, MANY)])),
        plain("undepend", Tally::from([(PAIRS, -MANY)])),
        many("table", Tally::from([(PAIRS, MANY)])),
        many("refcounted", Tally::from([("handle refcounted", MANY)])),
        plain("release", Tally::from([("handle refcounted", -MANY), ("handle weak refcounted", MANY)])),
        // The runtime passes over handles to null: they are no null roots either.
        many("null strong", none()),
        many("null weak", none()),
        many("null pinned", none()),
        many("strong", Tally::from([("handle", MANY)])),
        plain("unset", Tally::from([("handle", -MANY)])),
        plain("free", none()),
        many("async", none()),
        many("timers", none()),
        many("poh", none()),
        plain("statics", none()),
        plain("job first", first),
        plain("job second", none()),
        plain("job generic", generic),
    ]
}

fn held(clr: &Clr, heap: Heap, by: By) -> Result<()> {
    let mut program = Scripted::start(clr, heap, by, "holders", "--blocks", &[])?;
    program.ask("worker", "done ")?;
    // The first one may still see what starting to watch left behind.
    program.ask("collect", "collected ")?;
    let mut collected = vec![number(&program.ask("collect", "collected ")?, "index")?];
    let steps = steps(clr);
    for (line, _) in &steps {
        program.ask(line, "done ")?;
        collected.push(number(&program.ask("collect", "collected ")?, "index")?);
    }
    let document = program.end()?;
    for (pair, (line, expected)) in collected.windows(2).zip(&steps) {
        let [before, after] = [Tally::of(document.gc(pair[0])?)?, Tally::of(document.gc(pair[1])?)?];
        let mut change = after.since(&before);
        // Where the program's tables have grown, the finalizer thread has finalized old ones: a slot of its own then
        // holds the last one, or nothing again.
        if FINALIZING.iter().any(|start| line.starts_with(start)) {
            let (stack, null) = (change.get("stack"), change.get(NULL));
            ensure!(stack.abs() <= 1 && stack + null == 0, "{line}: {change}");
            change = change.without(&["stack", NULL]);
        }
        if line.starts_with("refcounted") && clr.version.major >= 10 {
            // There the table of wrappers is a managed one.
            change = change.without(&[PAIRS]);
        }
        ensure!(change == *expected, "{line}: {change} instead of {expected}\n{before}\n{after}");
    }
    Ok(())
}
