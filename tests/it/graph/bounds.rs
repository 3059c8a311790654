//! A file that somebody made: what it says is bounded, however much that is.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use dotnet_heap_graph::format::{
    ClassName, ClassRecord, GraphWriter, Names, ObjectRecord, RangeRecord, Reference, RootRecord,
};
use xtask::Clr;

use crate::it::suite::{Need, Suite};
use crate::it::support::{Gcwatch, MemoryGroup, program, run_to_end};

const START: u64 = 0x10000;
const CLASSES: u32 = 2000;
/// Blanks in it, so that it is not one word that is cut to fit into a line.
const NAME: &str = "a b c d e f g h ";

pub(crate) fn register(suite: &mut Suite) {
    suite.plain("bounds::long_names", long_names);
    suite.once("bounds::more_objects_than_memory", &[Need::Proc], too_many);
}

/// Pairs of objects, each of a class of its own whose name has 4 KiB. A handle holds the first one of each pair.
fn write(path: &Path) -> Result<()> {
    let mut writer = GraphWriter::new(File::create(path)?)?;
    for index in 0..CLASSES {
        let class = ClassRecord { index, id: 1 + u64::from(index), size_units: 3, ..ClassRecord::default() };
        writer.class(&class)?;
        let address = START + 24 * u64::from(index);
        let object = ObjectRecord { address, class: index, size_units: 3, ..ObjectRecord::default() };
        let second = [Reference { offset_bytes: 8, target: address + 24 }];
        let is_first = index % 2 == 0;
        writer.object(&class, &object, if is_first { &second } else { &[] })?;
        if is_first {
            writer.root(&RootRecord { address, kind: RootRecord::HANDLE, flags: 0, id: 1 })?;
        }
        let name = format!("{index} {}", NAME.repeat(256));
        let fields = vec![(8, name.clone())];
        let class = ClassName { index, name, module: None, fields };
        writer.names(&Names { classes: vec![class], ..Names::default() })?;
    }
    let bytes = 24 * u64::from(CLASSES);
    writer.range(&RangeRecord { generation: 2, start: START, used_bytes: bytes, reserved_bytes: bytes })?;
    writer.finish()?;
    Ok(())
}

fn long_names() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    write(&path)?;
    let gcwatch = |more: &str| Gcwatch::new().args("graph").arg(&path).args(more).output()?.expect(0);
    let text = gcwatch("--top 1000")?;
    let full = (1 << 20) - (1 << 10)..=(1 << 20) + 200;
    ensure!(full.contains(&text.stdout.len()), "{} bytes", text.stdout.len());
    let last: Vec<&str> = text.out()?.lines().rev().take(3).collect();
    let last = last.into_iter().rev().map(str::trim).collect::<Vec<_>>().join(" ");
    ensure!(last.contains(" more lines, which are left out; give a smaller --top"), "{last}");
    // No name has more than 1000 characters.
    let json = gcwatch("--format json")?;
    ensure!(!json.out()?.contains(&NAME.repeat(63)) && json.out()?.contains(&NAME.repeat(60)));
    Ok(())
}

/// Objects of one class in a row take next to nothing in a file, and some 40 bytes each in memory.
fn too_many(_: &Clr) -> Result<()> {
    const OBJECTS: u64 = 3_000_000;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut writer = GraphWriter::new(File::create(&path)?)?;
    let class = ClassRecord { index: 0, id: 1, size_units: 3, ..ClassRecord::default() };
    writer.class(&class)?;
    for nth in 0..OBJECTS {
        let object = ObjectRecord { address: START + 24 * nth, size_units: 3, ..ObjectRecord::default() };
        writer.object(&class, &object, &[])?;
    }
    writer.finish()?;
    ensure!(std::fs::metadata(&path)?.len() < OBJECTS / 50, "the file is large");
    let group = MemoryGroup::new()?;
    group.limit(64 << 20)?;
    let limited = |words: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.processes()).args(program());
        command.arg("graph").args(words).arg(&path);
        run_to_end(command, Vec::new())
    };
    let other = path.to_string_lossy().into_owned();
    for words in [&[][..], &["diff", &other]] {
        limited(words)?.expect(12)?.says(&["too little memory", "3000000 objects"])?;
    }
    Gcwatch::new().args("graph").arg(&path).output()?.expect(0)?;
    Ok(())
}
