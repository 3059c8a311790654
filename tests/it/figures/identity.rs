//! Compares how gcwatch follows objects through collections with a program that knows the identity of each.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Heap, Suite};
use crate::it::support::{
    DEADLINE, Document, Gcwatch, Guard, Json, Signal, fact, number, signal, start_attach,
};

/// Collections of all generations, which move some objects more than once.
const LINES: [&str; 13] = [
    "collect 0",
    "collect 1",
    "collect 2",
    "collect 0",
    "collect 2",
    "collect 1",
    "collect 0",
    "collect 0",
    "collect 2",
    "collect 2",
    "collect 1",
    "collect 0",
    "collect 2",
];

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("identity::objects_are_followed", &[], in_run);
    suite.each("identity::objects_are_followed_in_attach", &[], in_attach);
}

/// An object's root after one collection, as the program prints it.
#[derive(Debug)]
struct Object {
    gc: u64,
    name: String,
    address: u64,
    handle: u64,
    /// The number of the last collection before it became a root.
    born: u64,
}

fn collect(talk: &mut Target, objects: &mut Vec<Object>) -> Result<()> {
    for line in LINES {
        let begun = talk.lines().len();
        let gc = number(&talk.ask(line, "collected ", DEADLINE)?, "index")?;
        for line in &talk.lines()[begun..] {
            if let ["object", name, address, handle, born] = line.split(' ').collect::<Vec<_>>()[..] {
                let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16);
                let (address, handle) = (hex(address)?, hex(handle)?);
                objects.push(Object { gc, name: name.to_owned(), address, handle, born: born.parse()? });
            }
        }
    }
    Ok(())
}

fn in_run(clr: &Clr, heap: Heap) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("out.nettrace"));
    let mut talk = Gcwatch::on(clr)
        .envs(heap.environment())
        .args("run --blocks --format json --level roots --record")
        .arg(&recording)
        .option("-o", &path)
        .app(clr, "identity", "")?
        .spawn()?;
    let ready = talk.wait_line("ready ", DEADLINE)?;
    let _guard = Guard(fact(&ready, "pid")?.parse()?);
    let mut objects = Vec::new();
    // The runtime flushes the stream ten times a second; the test needs several blocks.
    for _ in 0..8 {
        collect(&mut talk, &mut objects)?;
    }
    talk.send_line("exit")?;
    let status = talk.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {talk:?}");
    let live = Document::read(&path)?;
    live.nothing_lost()?;
    let checked = check(&live, &objects)?;
    ensure!(
        checked.objects == objects.len() && checked.moved > 0 && checked.frozen > 0,
        "{checked:?} of {}",
        objects.len()
    );
    ensure!(live.gcs()?.len() >= LINES.len(), "{} records", live.gcs()?.len());

    let bytes = std::fs::read(&recording)?;
    let replay = |bytes: Vec<u8>| -> Result<Document> {
        let ended = Gcwatch::new().args("report - --blocks --format json").feed(bytes)?.expect(0)?;
        Document::parse(&ended.stdout)
    };
    ensure!(replay(bytes.clone())?.0["gcs"] == live.0["gcs"], "a replay follows objects differently");
    // Damage one block, so that readers skip it: collections after it know nothing of those before. Not the first
    // block, which has what the others need, and not the last, which has no block after it.
    let name = b"EventBlock";
    let blocks: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
    for at in blocks.iter().skip(1) {
        let mut cut = bytes.clone();
        cut[*at] = b'X';
        let checked = check(&replay(cut)?, &objects).context("with a part of the stream missing")?;
        if checked.after_gap > 0 && checked.known > 0 {
            ensure!(checked.objects < objects.len(), "{checked:?}: all of {}", objects.len());
            return Ok(());
        }
    }
    bail!("none of {} blocks is followed by a useful one", blocks.len())
}

fn in_attach(clr: &Clr) -> Result<()> {
    let mut talk = Target::app(clr, "identity", &[], &Heap::Workstation.environment())?;
    talk.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let mut unwatched = Vec::new();
    for stay in ["first", "second"] {
        let path = dir.path().join(stay);
        let mut gcwatch = start_attach(clr, talk.pid(), "--blocks --level roots", &path)?;
        let mut objects = Vec::new();
        collect(&mut talk, &mut objects)?;
        signal(gcwatch.pid(), Signal::INT)?;
        let status = gcwatch.wait(DEADLINE)?;
        ensure!(status.success(), "{status}: {gcwatch:?}");
        let checked = check(&Document::read(&path)?, &objects)?;
        ensure!(checked.objects > objects.len() / 2 && checked.moved > 0, "{checked:?}");
        collect(&mut talk, &mut unwatched)?;
    }
    Ok(())
}

/// How many objects were checked, by case.
#[derive(Debug, Default)]
struct Checked {
    /// In complete records.
    objects: usize,
    /// Moved while gcwatch followed them.
    moved: usize,
    /// Followed since an earlier collection.
    known: usize,
    /// After a gap.
    after_gap: usize,
    /// In the frozen heap.
    frozen: usize,
}

/// Each object in a complete record has the address that the program saw; it is followed since the first collection
/// after it became a root, or since the last gap.
fn check(document: &Document, objects: &[Object]) -> Result<Checked> {
    // The first number of the series without gaps to which each complete record belongs.
    let mut series: BTreeMap<u64, u64> = BTreeMap::new();
    for gc in document.complete()? {
        let number = gc.uint("/number")?;
        let start = number.checked_sub(1).and_then(|last| series.get(&last)).copied().unwrap_or(number);
        series.insert(number, start);
    }
    let first = series.values().next().copied().unwrap_or(0);
    let mut checked = Checked::default();
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for object in objects {
        let Some(&start) = series.get(&object.gc) else { continue };
        let roots = document.gc(object.gc)?.list("/roots/list")?;
        let mut found = 0;
        for root in roots.iter().filter(|root| root["kind"] == "handle") {
            if root.address("/id")? & !7 != object.handle {
                continue;
            }
            found += 1;
            ensure!(root.address("/object")? == object.address, "{object:x?}: {root}");
            let expected = start.max(object.born + 1);
            // Frozen objects are in no range: after their first collection nothing confirms their address.
            if object.name == "frozen" && object.gc > expected {
                ensure!(root["since_gc"].is_null(), "{object:x?}: {root}");
                checked.frozen += 1;
                continue;
            }
            let since = root.uint("/since_gc").with_context(|| format!("{object:x?}"))?;
            ensure!(since == expected, "{object:x?} is known since GC {since}, not {expected}");
        }
        ensure!(found == 1, "{object:x?}: {found} roots");
        checked.objects += 1;
        checked.known += usize::from(start.max(object.born + 1) < object.gc);
        checked.after_gap += usize::from(start > first);
        let before = last.insert(&object.name, object.address);
        checked.moved += usize::from(before.is_some_and(|address| address != object.address));
    }
    Ok(checked)
}
