//! Compares two graphs: object by object, if the second one knows the objects of the first, else by type and holder.

use std::path::Path;

use dotnet_heap_graph::analysis::{Earlier, Paths, Snapshot, StaticArrays, changes, class_totals};
use dotnet_heap_graph::format::Reader;
use dotnet_heap_graph::{Dominators, Error};
use serde_json::Value;

use super::exchange::{load, not_loaded};
use crate::cli::{GraphArgs, GraphFormat};
use crate::command::output;
use crate::escape::to_json_pretty;
use crate::exit::{Code, Failure};
use crate::report::graph::{DifferenceDocument, FollowedDocument, IdentityDocument, Noise, Side};

/// The report, and [`Code::INCOMPLETE`] if a graph is not whole. Of each graph, the file is given if the user has named one.
/// The first graph goes before the second is loaded.
///
/// # Errors
/// A graph cannot be read.
pub(super) fn text(
    args: &GraphArgs,
    (before, before_path): (Reader, Option<&Path>),
    (after, after_path): (Reader, Option<&Path>),
) -> Result<(String, Code), Failure> {
    let name = |path: Option<&Path>, which: &str| {
        path.map_or_else(|| which.to_owned(), |path| path.display().to_string())
    };
    let identity = identity(&before, &after);
    let (first, earlier) = first(before, before_path, identity.known)
        .map_err(|e| not_loaded(&name(before_path, "the first graph"), &e))?;
    let top = args.reading.top as usize;
    let document = second((after, after_path), first, earlier.as_ref(), identity, top)
        .map_err(|e| not_loaded(&name(after_path, "the second graph"), &e))?;
    let whole = document.before.whole && document.after.whole;
    let text = match args.reading.format {
        GraphFormat::Json => to_json_pretty(&document)? + "\n",
        GraphFormat::Text => document.text(&output::terminal(args.color), output::units(args.units)),
    };
    Ok((text, if whole { Code::OK } else { Code::INCOMPLETE }))
}

/// Whether the second graph knows the objects of the first.
fn identity(before: &Reader, after: &Reader) -> IdentityDocument {
    let info = |reader: &Reader| reader.info::<Value>().ok().flatten().unwrap_or_default();
    let (before, after) = (info(before), info(after));
    let since = &after["since"];
    if before["id"].as_str().is_none_or(|id| since["id"] != id) {
        let why = "their objects were not followed; --again does that";
        return IdentityDocument { why: Some(why.to_owned()), ..Default::default() };
    }
    let gave_up = &since["gave_up"];
    IdentityDocument {
        known: gave_up.is_null(),
        collections: since["collections"].as_u64(),
        why: gave_up["why"].as_str().map(str::to_owned),
        gc_number: gave_up["gc_number"].as_u64(),
    }
}

fn first(
    reader: Reader,
    path: Option<&Path>,
    followed: bool,
) -> Result<((Snapshot, Side), Option<Earlier>), Error> {
    let graph = load(reader)?;
    let dominators = Dominators::new(&graph);
    let snapshot = Snapshot::new(&graph, &dominators, &class_totals(&graph, &dominators));
    let side = Side::new(&graph, &dominators, path)?;
    Ok(((snapshot, side), followed.then(|| Earlier::new(&graph, &dominators))))
}

fn second(
    (reader, path): (Reader, Option<&Path>),
    (before, before_side): (Snapshot, Side),
    earlier: Option<&Earlier>,
    mut identity: IdentityDocument,
    top: usize,
) -> Result<DifferenceDocument, Error> {
    let graph = load(reader)?;
    let dominators = Dominators::new(&graph);
    let after = Snapshot::new(&graph, &dominators, &class_totals(&graph, &dominators));
    let noise = Noise::of(dominators.reachable().bytes);
    let statics = StaticArrays::new(&graph);
    let found = earlier.map(|earlier| changes(earlier, &graph, &dominators, &statics)).transpose()?;
    if let Some(wrong) = found.as_ref().map(|found| found.contradictions).filter(|wrong| *wrong > 0) {
        let why = format!("{wrong} objects were followed to others than themselves");
        identity = IdentityDocument { why: Some(why), ..Default::default() };
    }
    let found = found.filter(|_| identity.known);
    let followed = match &found {
        Some(found) => {
            let paths = Paths::new(&graph, &statics)?;
            Some(FollowedDocument::new(found, &graph, &paths, noise, top)?)
        }
        None => None,
    };
    let difference = before.difference(&after);
    let sides = [before_side, Side::new(&graph, &dominators, path)?];
    Ok(DifferenceDocument::new(&difference, sides, found.as_ref(), identity, followed, noise, top))
}
