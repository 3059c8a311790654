//! Lets Microsoft's own classes read and write `.gcdump` files.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use xtask::testkit::peer;
use xtask::{apps, clr};

use super::run_to_end;

/// The assembly with these classes, below the directory of other tools.
pub(crate) const MONITORING: &str = "dotnet-trace-10.0.750501/Microsoft.Diagnostics.Monitoring.EventPipe.dll";
const OTHERS: [&str; 2] = [
    "dotnet-trace-10.0.750501/Microsoft.Diagnostics.Tracing.TraceEvent.dll",
    "dotnet-trace-10.0.750501/Microsoft.Diagnostics.FastSerialization.dll",
];

/// An object of a `.gcdump` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DumpedObject {
    pub(crate) bytes: u64,
    pub(crate) class: String,
    /// Addresses.
    pub(crate) references: Vec<u64>,
}

/// What a `.gcdump` file has, as those classes read it.
#[derive(Debug, Default)]
pub(crate) struct HeapDump {
    pub(crate) total_bytes: u64,
    pub(crate) objects: BTreeMap<u64, DumpedObject>,
    /// The objects of each group of roots, by the name of the innermost group; sorted.
    pub(crate) roots: BTreeMap<String, Vec<u64>>,
    /// Start and end of the parts of the heap.
    pub(crate) segments: Vec<(u64, u64)>,
}

fn run(words: &[&OsStr]) -> Result<String> {
    let references = [MONITORING].into_iter().chain(OTHERS).map(peer).collect::<Result<Vec<_>, _>>()?;
    let dir =
        references.first().and_then(|assembly| assembly.parent()).context("an assembly in no directory")?;
    let program = apps::build_peer("heapdump", &references)?;
    let natives = clr::find_for("")?;
    let mut command = natives.last().context("no runtime")?.command(&program);
    command.arg(dir).args(words);
    let ended = run_to_end(command, Vec::new())?;
    ensure!(ended.code == 0, "{words:?}: {}", ended.stderr.trim());
    Ok(ended.out()?.to_owned())
}

/// Makes a `.gcdump` file of the heap snapshot in a recording, as dotnet-gcdump does.
pub(crate) fn write_gcdump(recording: &Path, file: &Path) -> Result<()> {
    run(&["write".as_ref(), recording.as_ref(), file.as_ref()]).map(drop)
}

impl HeapDump {
    /// Reads a `.gcdump` file. No node may be undefined but the one of null roots.
    pub(crate) fn read(file: &Path) -> Result<HeapDump> {
        let text = run(&["read".as_ref(), file.as_ref()])?;
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        let hex = |text: &str| u64::from_str_radix(text, 16);
        let mut addresses = HashMap::new();
        for line in lines.iter().filter(|line| matches!(line[0], "node" | "undefined")) {
            let address = hex(line[2])?;
            ensure!(line[0] == "node" || address == 0, "undefined: {line:?}");
            addresses.insert(line[1], address);
        }
        let mut dump = HeapDump::default();
        for line in &lines {
            match line[0] {
                "file" => dump.total_bytes = line[2].parse()?,
                "segment" => dump.segments.push((hex(line[1])?, hex(line[2])?)),
                "node" => {
                    let children = line[6..].iter().filter_map(|child| addresses.get(child).copied());
                    let references: Vec<u64> = children.filter(|address| *address != 0).collect();
                    let class = line[5].split(" (Bytes > ").next().unwrap_or_default().to_owned();
                    match addresses[line[1]] {
                        0 => dump.roots.entry(class).or_default().extend(references),
                        address => {
                            let object = DumpedObject { bytes: line[3].parse()?, class, references };
                            ensure!(dump.objects.insert(address, object).is_none(), "twice: {line:?}");
                        }
                    }
                }
                _ => {}
            }
        }
        dump.roots.values_mut().for_each(|objects| objects.sort_unstable());
        dump.roots.retain(|_, objects| !objects.is_empty());
        Ok(dump)
    }
}
