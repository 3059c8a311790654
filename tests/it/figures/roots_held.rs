//! What is a root and what is not: COM wrappers with a reference count are roots; null handles, dependent handles, weak
//! tables, statics, pinned arrays, state machines and timers are not; thread statics depend on the version.

use anyhow::{Result, ensure};
use xtask::Clr;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{By, NULL, PAIRS, Scripted, Tally, number, repeated};

const MANY: i64 = 40;
const FINALIZING: [&str; 3] = ["table", "refcounted", "release"];

pub(crate) fn register(suite: &mut Suite) {
    // Run and attach alternate with the kind of GC.
    suite.each_heap("roots_held::what_is_none", &[], |clr, heap| {
        held(clr, heap, if heap.server() { By::Attach } else { By::Run })
    });
}

/// A command to the program, and the change of roots that it makes.
fn steps(clr: &Clr) -> Vec<(String, Tally)> {
    let plain = |line: &str, change| (line.to_owned(), change);
    let many = |line: &str, change| (format!("{line} {MANY}"), change);
    let none = Tally::default;
    // The runtime holds an array for a thread's statics once the thread has any. .NET 8: by one handle per module, and
    // one per generic class. Since .NET 9: by a slot of the thread, which was empty before.
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
        // The runtime does not report handles to null, so they are not null roots either.
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

/// Collections after each step. On a busy machine, a thread of the runtime's own may run in one of them and add roots
/// of its own; what the program holds is the same in all.
const READINGS: usize = 3;

fn held(clr: &Clr, heap: Heap, by: By) -> Result<()> {
    let mut program = Scripted::start(clr, heap, by, "holders", "--blocks", &[])?;
    program.ask("worker", "done ")?;
    // The first collection may still see what starting the watch has left.
    program.ask("collect", "collected ")?;
    let collect = |program: &mut Scripted| -> Result<[u64; READINGS]> {
        let mut numbers = [0; READINGS];
        for collected in &mut numbers {
            *collected = number(&program.ask("collect", "collected ")?, "index")?;
        }
        Ok(numbers)
    };
    let mut collected = vec![collect(&mut program)?];
    let steps = steps(clr);
    for (line, _) in &steps {
        program.ask(line, "done ")?;
        collected.push(collect(&mut program)?);
    }
    let document = program.end()?;
    let tally = |number: &u64| Tally::of(document.gc(*number)?);
    for (pair, (line, expected)) in collected.windows(2).zip(&steps) {
        let before = pair[0].iter().map(tally).collect::<Result<Vec<_>>>()?;
        let after = pair[1].iter().map(tally).collect::<Result<Vec<_>>>()?;
        let pairs = before.iter().flat_map(|before| after.iter().map(move |after| (before, after)));
        let mut differences = Vec::new();
        for (before, after) in pairs {
            match compare(clr, line, expected, before, after) {
                Ok(()) => break,
                Err(e) => differences.push(e),
            }
        }
        if differences.len() == READINGS * READINGS {
            return Err(differences.swap_remove(0));
        }
        if !differences.is_empty() {
            repeated::again();
        }
    }
    Ok(())
}

fn compare(clr: &Clr, line: &str, expected: &Tally, before: &Tally, after: &Tally) -> Result<()> {
    let mut change = after.since(before);
    // When the program's tables have grown, the finalizer thread has finalized old ones: its own slot then holds the
    // last one, or is null again.
    if FINALIZING.iter().any(|start| line.starts_with(start)) {
        let (stack, null) = (change.get("stack"), change.get(NULL));
        ensure!(stack.abs() <= 1 && stack + null == 0, "{line}: {change}");
        change = change.without(&["stack", NULL]);
    }
    if line.starts_with("refcounted") && clr.version.major >= 10 {
        // Since .NET 10 the table of wrappers is a managed object.
        change = change.without(&[PAIRS]);
    }
    ensure!(change == *expected, "{line}: {change} instead of {expected}\n{before}\n{after}");
    Ok(())
}
