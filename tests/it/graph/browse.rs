//! `--browse` in a real terminal: whether a person finds there what holds an object, and has the terminal back afterwards.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use xtask::Clr;

use super::taken::program;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{Gcwatch, HeapGraph, Signal, Terminal, signal};

const ENTER: &str = "\r";

pub(crate) fn register(suite: &mut Suite) {
    suite.each("browse::what_holds_an_object", &[Need::Proc], what_holds);
    suite.once("browse::another_size", &[Need::Proc], another_size);
    suite.once("browse::signals", &[Need::Proc, Need::Hangups], signals);
    suite.once("browse::the_terminal_is_closed", &[Need::Proc, Need::Hangups], closed);
    suite.once("browse::many_keys_and_parts_of_keys", &[Need::Proc], many_keys);
    suite.once("browse::no_terminal", &[Need::Proc], no_terminal);
}

/// A graph of the program that knows its objects, in a file that lives as long as the directory.
fn graph(clr: &Clr) -> Result<(TempDir, PathBuf)> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let program = program(clr, Heap::Workstation, 20_000)?;
    let pid = program.pid().to_string();
    Gcwatch::on(clr).args("graph --induce -o").arg(&path).arg(pid).output()?.expect(0)?;
    Ok((dir, path))
}

/// The same graph for all tests that do not depend on the runtime.
fn same_graph(clr: &Clr) -> Result<&'static Path> {
    static GRAPH: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    if GRAPH.get().is_none() {
        // Another test may have been faster.
        let _ = GRAPH.set(graph(clr)?);
    }
    Ok(&GRAPH.get().context("no graph")?.1)
}

fn browse(path: &Path) -> Gcwatch {
    Gcwatch::new().args("graph --browse").arg(path)
}

/// Opens the graph, and waits for the types.
fn opened(path: &Path) -> Result<Terminal> {
    let mut terminal = Terminal::of(browse(path), 80, 24)?;
    terminal.shows(&["[1 types]", "by retained size", "Known.Filler[]"])?;
    Ok(terminal)
}

fn ends(terminal: &mut Terminal, code: i32) -> Result<()> {
    let status = terminal.ended()?;
    ensure!(status.code() == Some(code), "{status} instead of {code}: {}", terminal.text());
    terminal.is_as_before()
}

fn what_holds(clr: &Clr) -> Result<()> {
    let (_dir, path) = graph(clr)?;
    let graph = HeapGraph::read(&path)?;
    let mut terminal = opened(&path)?;
    terminal.press("/known.customer")?;
    let types = terminal.shows(&["1 type with \"known.customer\""])?;
    let row = types.lines().find(|line| line.starts_with("> ")).context("no row")?;
    ensure!(row.contains(" 1000 ") && row.ends_with("Known.Customer"), "{types}");
    terminal.press(ENTER)?;
    terminal.press(ENTER)?;
    let objects = terminal.shows(&["[3 objects]", "1 to 200 of 1000: Known.Customer"])?;
    let row = objects.lines().find(|line| line.starts_with("> ")).context("no row")?;
    let address = row.split_whitespace().find_map(|word| word.strip_prefix("0x")).context("no address")?;
    let known = u64::from_str_radix(address, 16)?;
    ensure!(graph.objects_of("Known.Customer").contains(&known), "{objects}");
    terminal.press(ENTER)?;
    let object =
        terminal.shows(&["[4 object]", &format!("Known.Customer 0x{address}"), "path from a root"])?;
    let path_rows: Vec<&str> = object
        .lines()
        .skip_while(|line| !line.contains("path from a root"))
        .skip(1)
        .take_while(|line| !line.contains("kept alive only through") && !line.contains("has 1 reference"))
        .collect();
    // The way that the source of the program says, each step with its field.
    let expected = [
        ("static Known.Service._orders", ""),
        ("List<Known.Order> 0x", "List<Known.Order>"),
        ("._items → Known.Order[] 0x", "Known.Order[]"),
        ("] → Known.Order 0x", "Known.Order"),
        (".Customer → Known.Customer 0x", "Known.Customer"),
    ];
    ensure!(path_rows.len() == expected.len(), "{object}");
    let mut before: Option<u64> = None;
    for (row, (text, class)) in path_rows.iter().zip(expected) {
        ensure!(row.contains(text), "{text} is not in {row}\n{object}");
        if class.is_empty() {
            continue;
        }
        let (_, address) = row.rsplit_once("0x").context("no address")?;
        let address = u64::from_str_radix(address.trim(), 16)?;
        ensure!(graph.class_of(&graph.objects[&address]) == class, "{row}");
        if let Some(before) = before {
            let references = &graph.objects[&before].references;
            ensure!(references.iter().any(|(_, target)| *target == address), "{before:x} -> {address:x}");
        }
        before = Some(address);
    }
    ensure!(before == Some(known), "{object}");
    // And back again.
    terminal.press("\x7f\x7f")?;
    terminal.shows(&["[1 types]", "1 type with \"known.customer\""])?;
    terminal.press("2")?;
    terminal.shows(&["[2 tree]", "static Known.Service._fillers → Known.Filler[]"])?;
    terminal.press("q")?;
    ends(&mut terminal, 0)
}

fn another_size(clr: &Clr) -> Result<()> {
    let mut terminal = opened(same_graph(clr)?)?;
    terminal.press("2")?;
    let first = terminal.shows(&["[2 tree]", "Known.Filler[]", "? help"])?;
    terminal.resize(100, 40)?;
    terminal.shows_what("a larger picture", |text| {
        text.lines().nth(39).is_some_and(|line| line.contains("? help"))
    })?;
    terminal.resize(30, 8)?;
    terminal.shows(&["at least 40x9 are needed"])?;
    terminal.press("1")?;
    terminal.resize(80, 24)?;
    terminal.shows(&["[1 types]", "by retained size"])?;
    terminal.press("2")?;
    terminal.shows_what("the first picture", |text| text == first)?;
    terminal.press("q")?;
    ends(&mut terminal, 0)
}

fn signals(clr: &Clr) -> Result<()> {
    let path = same_graph(clr)?;
    for (how, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut terminal = opened(path)?;
        signal(terminal.pid(), how)?;
        ends(&mut terminal, code)?;
    }
    // The key Ctrl-C is no signal here, but the other way to leave.
    let mut terminal = opened(path)?;
    terminal.press("\x03")?;
    ends(&mut terminal, 0)
}

/// Nobody is there to press a key any more.
fn closed(clr: &Clr) -> Result<()> {
    let mut terminal = opened(same_graph(clr)?)?;
    terminal.close();
    let status = terminal.ended()?;
    ensure!(status.code() == Some(129), "{status}");
    Ok(())
}

/// More keys at once than are read at once; and the first part of a key, whose rest never comes.
fn many_keys(clr: &Clr) -> Result<()> {
    let mut terminal = opened(same_graph(clr)?)?;
    terminal.press(&"j".repeat(1500))?;
    terminal.press(&"k".repeat(1500))?;
    terminal.press("/known.customer")?;
    terminal.shows(&["1 type with \"known.customer\""])?;
    terminal.press("\x1b")?;
    terminal.shows(&["by retained size", "Known.Filler[]"])?;
    terminal.press("\x1b[")?;
    std::thread::sleep(Duration::from_millis(500));
    terminal.resize(100, 30)?;
    terminal.shows_what("a larger picture", |text| {
        text.lines().nth(29).is_some_and(|line| line.contains("? help"))
    })?;
    signal(terminal.pid(), Signal::TERM)?;
    ends(&mut terminal, 143)
}

fn no_terminal(clr: &Clr) -> Result<()> {
    let path = same_graph(clr)?;
    let words = ["--browse needs a terminal", "omit it for a report in text"];
    browse(path).output()?.expect(2)?.says(&words)?.says(&["stdin is no terminal"])?;
    let dumb = browse(path).envs([("TERM", "dumb")]);
    let unread = Gcwatch::unread().args("graph --browse").arg(path);
    for (gcwatch, why) in [(dumb, "understands no escape sequences"), (unread, "stdout is no terminal")] {
        let mut terminal = Terminal::of(gcwatch, 80, 24)?;
        ends(&mut terminal, 2)?;
        let text = terminal.text();
        ensure!(words.iter().chain([&why]).all(|part| text.contains(part)), "{text}");
    }
    Ok(())
}
