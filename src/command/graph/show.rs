//! Shows a graph.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use dotnet_heap_graph::{Dominators, Graph};

use super::again;
use super::exchange::{self, unreadable};
use super::{browse, difference};
use crate::cli::{GraphArgs, GraphFormat};
use crate::command::conclude::report_failed;
use crate::command::output;
use crate::escape::to_json_pretty;
use crate::exit::{Code, Failure};
use crate::report::graph::{self, GraphDocument, ObjectDocument, TypeDocument};

/// Shows the graph in a file.
pub(super) fn file(args: &GraphArgs, path: &Path) -> Result<Code, Failure> {
    let name = path.display().to_string();
    if let Some(output) = &args.output {
        exchange::write(&exchange::reader(open(path)?, &name)?, output)?;
    }
    open_file(args, open(path)?, &name)
}

/// Shows what has changed between the two files of `graph diff`.
pub(super) fn difference(args: &GraphArgs) -> Result<Code, Failure> {
    let [before, after] = &args.files[..] else {
        return Err(Failure::new(Code::USAGE, "graph diff needs two files: BEFORE AFTER"));
    };
    let read = |path: &Path| exchange::reader(open(path)?, &path.display().to_string());
    let (text, code) = difference::text(args, (read(before)?, Some(before)), (read(after)?, Some(after)))?;
    write(&text, code)
}

/// Shows what has grown between two graphs that were just taken.
pub(super) fn grown(args: &GraphArgs, before: File, after: File) -> Result<Code, Failure> {
    let before = exchange::reader(before, "the first graph")?;
    let after = exchange::reader(after, "the second graph")?;
    let output = args.output.as_deref();
    let first = output.filter(|path| !exchange::is_gcdump(path)).map(again::before_of);
    let (text, code) = difference::text(args, (before, first.as_deref()), (after, output))?;
    write(&text, code)
}

fn open(path: &Path) -> Result<File, Failure> {
    let name = path.display();
    File::open(path).map_err(|e| Failure::new(Code::BAD_INPUT, format!("cannot read {name}: {e}")))
}

fn load(file: File, name: &str) -> Result<Graph, Failure> {
    let reader = exchange::reader(file, name)?;
    exchange::load(reader).map_err(|e| exchange::not_loaded(name, &e))
}

fn write(text: &str, code: Code) -> Result<Code, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(code),
        Err(e) => report_failed(&e, None),
    }
}

/// Shows the graph in an open file.
pub(super) fn open_file(args: &GraphArgs, file: File, name: &str) -> Result<Code, Failure> {
    let reading = args.reading.browse.then(|| browse::reading(args, name));
    let graph = load(file, name)?;
    let taken = graph.reader().info::<serde_json::Value>().ok().flatten();
    let no_names = taken.is_some_and(|taken| taken["names_missing"] == true);
    let whole = graph.completeness().is_whole() && !no_names;
    let code = if whole { Code::OK } else { Code::INCOMPLETE };
    if args.reading.browse {
        let dominators = Dominators::new(&graph);
        let heap = browse::Heap::new(&graph, &dominators).map_err(|e| unreadable(name, &e))?;
        drop(reading);
        return Ok(browse::run(args, heap, name)?.unwrap_or(code));
    }
    let text = report(args, &graph).map_err(|e| match e {
        Wrong::File(e) => unreadable(name, &e),
        Wrong::Asked(failure) => failure,
    })?;
    write(&text, code)
}

enum Wrong {
    File(dotnet_heap_graph::Error),
    Asked(Failure),
}

impl From<dotnet_heap_graph::Error> for Wrong {
    fn from(error: dotnet_heap_graph::Error) -> Wrong {
        Wrong::File(error)
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Asked(error.into())
    }
}

/// No type has the name. `like`: those that may have been meant.
fn no_type(name: &str, like: &[String]) -> Failure {
    let failure = Failure::new(Code::USAGE, format!("no type of the graph is called {name}"));
    match like {
        [] => failure.remedy("--top 1000 lists more types"),
        _ => failure
            .remedy(format!("did you mean {}?", like.join(" or ")))
            .remedy("--browse searches for parts of names"),
    }
}

fn report(args: &GraphArgs, graph: &Graph) -> Result<String, Wrong> {
    let top = args.reading.top as usize;
    let json = args.reading.format == GraphFormat::Json;
    let (terminal, units) = (output::terminal(args.color), output::units(args.units));
    if let Some(address) = args.reading.object {
        let object = graph.object_around(address).ok_or_else(|| {
            Wrong::Asked(
                Failure::new(Code::USAGE, format!("there is no object at 0x{address:x}"))
                    .remedy("--type shows addresses of objects"),
            )
        })?;
        let document = ObjectDocument::new(graph, object, top)?;
        return Ok(match json {
            true => to_json_pretty(&document)? + "\n",
            false => graph::object_text(&document, &terminal, units),
        });
    }
    if let Some(name) = &args.reading.of_type {
        let classes = graph::classes_named(graph, name);
        if classes.is_empty() {
            return Err(Wrong::Asked(no_type(name, &graph::classes_like(graph, name))));
        }
        let document = TypeDocument::new(graph, &classes, top)?;
        return Ok(match json {
            true => to_json_pretty(&document)? + "\n",
            false => graph::type_text(&document, &terminal, units),
        });
    }
    let document = GraphDocument::new(graph, top)?;
    Ok(match json {
        true => to_json_pretty(&document)? + "\n",
        false => graph::text(&document, &terminal, units),
    })
}
