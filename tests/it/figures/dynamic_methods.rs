//! The method that induced a collection, where it is a dynamic method, or was inlined into one: gcwatch must not name
//! the caller of the dynamic method instead.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Json, end_lines, number, start_lines, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("dynamic_methods::their_callers_are_not_blamed", &[Need::Proc], not_blamed);
}

const DYNAMIC: &str = "(dynamic method)";

fn not_blamed(clr: &Clr) -> Result<()> {
    // Before .NET 10 the runtime does not tell the profiler's own thread which code is dynamic.
    let known = clr.version.major >= 10;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("lines.ndjson");
    let (mut program, gcwatch) = start_lines(clr, "lambdas", &path)?;
    program.ask("pin", "pinned", DEADLINE)?;
    let mut asked = Vec::new();
    for (how, first, second) in [
        ("itself", DYNAMIC, Some("Demo.Program.CallItself")),
        ("inlined", DYNAMIC, Some("Demo.Program.CallInlined")),
        ("expression", DYNAMIC, Some("Demo.Program.CallExpression")),
        ("plain", "Demo.Program.Plain", None),
    ] {
        asked.push((number(&program.ask(how, "collected ", DEADLINE)?, "index")?, how, first, second));
    }
    let (last, ..) = asked.last().context("no collection")?;
    until("the last line", DEADLINE, || {
        Ok(whole_lines(&fs::read(&path)?)?.iter().any(|line| line["type"] == "gc" && line["number"] == *last))
    })?;
    let lines = end_lines(program, gcwatch, &path)?;
    for (index, how, first, second) in asked {
        let gc = lines.iter().find(|line| line["type"] == "gc" && line["number"] == index);
        let frames = gc.with_context(|| format!("no GC {index}"))?.list("/triggered_by/frames")?;
        let mut frames =
            frames.iter().filter_map(|frame| frame.as_str()).skip_while(|name| name.starts_with("GC."));
        let found = (frames.next(), frames.next());
        let right = found.0 == Some(first) && second.is_none_or(|second| found.1 == Some(second));
        ensure!(right || !known && found.0 == second, "{how}: {found:?}, not {first} and {second:?}");
        if !known {
            continue;
        }
        // It is the program's only handle of that kind.
        for row in gc.context("no collection")?.list("/roots/pinned")? {
            let maker = row["created_by"].as_str();
            ensure!(
                maker.is_none_or(|maker| !maker.starts_with("Demo.")),
                "it was made by a dynamic method: {row}"
            );
        }
    }
    let induced = lines.last().context("no last line")?.list("/summary/induced_by")?;
    let count =
        |method: &str| induced.iter().find(|row| row["method"] == method).map(|row| row["count"].clone());
    ensure!(!known || count(DYNAMIC) == Some(3.into()), "{induced:?}");
    ensure!(count("Demo.Program.Plain") == Some(1.into()), "{induced:?}");
    Ok(())
}

/// The complete lines so far, without one that is being written.
fn whole_lines(bytes: &[u8]) -> Result<Vec<Value>> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let whole = bytes[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(whole.map(serde_json::from_slice).collect::<Result<_, _>>()?)
}
