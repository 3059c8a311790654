//! `--again`: two graphs of a process. Between them the moves of all collections are watched, so the second one knows which
//! of its objects were in the first.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dotnet_heap_graph::format::{IdentityRecord, RangeRecord, Reader};
use serde_json::json;
use tokio::sync::Notify;

use super::taking;
use crate::cli::GraphArgs;
use crate::command::stderr::say;
use crate::exit::{Code, Failure};
use crate::gc::following::Following;
use crate::sys::NewFile;
use crate::target::Found;
use crate::version::VERSION;
use crate::watch::graph::attached::Attached;
use crate::watch::graph::take::Facts;
use crate::watch::graph::{file, moves};

/// The file for the first graph, beside that of --output for the second: `app-before.gcgraph` beside `app.gcgraph`.
pub(super) fn before_of(output: &Path) -> PathBuf {
    let mut name = output.file_stem().unwrap_or_default().to_owned();
    name.push("-before");
    if let Some(extension) = output.extension() {
        name.push(".");
        name.push(extension);
    }
    output.with_file_name(name)
}

/// Takes both graphs. `before` and `after` are the files for them.
///
/// # Errors
/// One of them was not taken.
pub(super) async fn take(
    args: &GraphArgs,
    found: &Found,
    time: Duration,
    before: Option<(NewFile, &Path)>,
    after: Option<NewFile>,
) -> Result<(File, File), Failure> {
    let limits = taking::limits(found);
    let way = limits.way(args.taking.pause_ok)?;
    let (new, path) = before.unzip();
    let (mut first_file, mut second_file) =
        (taking::file(new, path)?, taking::file(after, args.output.as_deref())?);
    taking::say_cost(args, &limits, way);
    say(
        "gcwatch: its objects are followed until the second graph; meanwhile gen2 collections block the program",
    );
    let (mut attached, session) = Attached::watching(found, args.taking.profiler_path.as_deref()).await?;
    let target = found.describe();
    let info = |facts: &Facts| file::info(&target, facts, args.taking.strings, VERSION);
    let (following, stop) = (RefCell::new(Following::default()), Notify::new());
    let graphs = async {
        let both = async {
            let wish = taking::wish(args, &limits, way);
            let begin = &mut |gc_number| following.borrow_mut().begin(gc_number);
            let facts = taking::take(&mut attached, wish, &mut first_file, false, begin).await;
            let facts = facts.map_err(|e| taking::failure(args, &first_file, e))?;
            let first_info = info(&facts);
            let first = first_file.finish_with(&first_info, facts.end)?;
            let (addresses, frozen) = addresses(&first)?;
            following.borrow_mut().objects(addresses, frozen);
            attached.wait(time).await?;
            following.borrow_mut().hold();
            let end = &mut |gc_number| following.borrow_mut().end(gc_number);
            let facts = taking::take(&mut attached, wish, &mut second_file, true, end).await;
            let facts = facts.map_err(|e| taking::failure(args, &second_file, e))?;
            Ok::<_, Failure>((first, first_info["id"].clone(), second_file, info(&facts), facts.end))
        };
        let both = both.await;
        attached.leave().await;
        stop.notify_one();
        both
    };
    let ((), both) = tokio::join!(moves::follow(found, session, &following, &stop), graphs);
    let (first, id, mut second, mut second_info, end) = both?;
    let mut following = following.into_inner();
    let collections = following.collections();
    let since = match following.finish() {
        Ok(objects) => {
            let records = objects.into_iter().map(|(address, before)| IdentityRecord { address, before });
            second.writer().write_identity(records).map_err(|e| second.failed(&e))?;
            json!({ "id": id, "collections": collections })
        }
        Err(gave_up) => {
            json!({ "id": id, "gave_up": { "gc_number": gave_up.gc_number, "why": gave_up.why } })
        }
    };
    if let Some(info) = second_info.as_object_mut() {
        info.insert("since".to_owned(), since);
    }
    Ok((first, second.finish_with(&second_info, end)?))
}

/// The addresses of all objects of a graph: of those that may move or die, and of those in frozen segments.
fn addresses(file: &File) -> Result<(Vec<u64>, Vec<u64>), Failure> {
    let read = || -> dotnet_heap_graph::Result<_> {
        let reader = Reader::new(file.try_clone()?)?;
        let mut frozen_ranges = Vec::new();
        reader.for_each_record(|range: RangeRecord| {
            if range.generation == RangeRecord::FROZEN {
                frozen_ranges.push(range.start..range.start.saturating_add(range.used_bytes));
            }
        })?;
        let (mut addresses, mut frozen) = (Vec::new(), Vec::new());
        reader.for_each_object(&reader.classes()?, |object| {
            match frozen_ranges.iter().any(|range| range.contains(&object.address)) {
                true => frozen.push(object.address),
                false => addresses.push(object.address),
            }
        })?;
        Ok((addresses, frozen))
    };
    read().map_err(|e| Failure::new(Code::FAILED, format!("the first graph cannot be read again: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_is_beside_the_second() {
        let before = |path: &str| before_of(Path::new(path));
        assert_eq!(before("a/app.gcgraph"), Path::new("a/app-before.gcgraph"));
        assert_eq!(before("app.1.gcgraph"), Path::new("app.1-before.gcgraph"));
        assert_eq!(before("app"), Path::new("app-before"));
    }
}
