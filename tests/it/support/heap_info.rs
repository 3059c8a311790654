//! Runs the application `heapinfo` under gcwatch while the runtime writes its own file: three independent sources.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use xtask::Clr;

use super::gc_events::{GcEvents, read_gcs};
use super::{Document, Gcwatch, fact, number, own_environment};
use crate::it::suite::Heap;

/// One object before and after a collection: its address, and its generation by `GC.GetGeneration`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// "soh", "pinned", "loh", "poh" or "frozen".
    pub(crate) kind: String,
    pub(crate) before: (u64, u64),
    pub(crate) after: (u64, u64),
    pub(crate) bytes: u64,
}

/// A collection that the application asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) what: String,
    /// The numbers of the first and last collection between the program's two looks at its objects.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// How many pinned handles the application held.
    pub(crate) pins: u64,
    pub(crate) objects: Vec<Object>,
}

/// One run of `heapinfo`.
#[derive(Debug)]
pub(crate) struct HeapInfo {
    pub(crate) document: Document,
    pub(crate) ready: String,
    pub(crate) asked: Vec<Asked>,
    /// The application's `GCMemoryInfo`s, one per line.
    pub(crate) infos: Vec<String>,
    pub(crate) own: BTreeMap<u64, GcEvents>,
    pub(crate) dir: TempDir,
}

/// The name of gcwatch's recording in the run's directory.
pub(crate) const RECORDING: &str = "run.nettrace";

impl HeapInfo {
    pub(crate) fn run(
        clr: &Clr,
        heap: Heap,
        segments: bool,
        level: &str,
        more: &[(&str, &str)],
    ) -> Result<HeapInfo> {
        let dir = tempfile::tempdir()?;
        let (path, own) = (dir.path().join("out.json"), dir.path().join("own.nettrace"));
        let own_name = own.to_string_lossy().into_owned();
        let segments = segments.then_some(("DOTNET_GCName", SEGMENTS));
        let ended = Gcwatch::on(clr)
            .envs(heap.environment())
            .envs(own_environment(&own_name))
            .envs(segments)
            .envs(more.iter().copied())
            .args(&format!("run --blocks --format json --level {level}"))
            .option("--record", dir.path().join(RECORDING))
            .option("-o", &path)
            .app(clr, "heapinfo", "")?
            .output()?
            .expect(0)?;
        let document = Document::read(&path)?;
        document.nothing_lost()?;
        let mut run = HeapInfo {
            document,
            ready: String::new(),
            asked: Vec::new(),
            infos: Vec::new(),
            own: read_gcs(&own)?,
            dir,
        };
        for line in ended.out()?.lines() {
            run.line(line).with_context(|| format!("the application's line {line:?}"))?;
        }
        ensure!(
            run.asked.len() >= 10 && run.infos.len() >= run.asked.len(),
            "{} collections",
            run.asked.len()
        );
        Ok(run)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["ready", ..] => line.clone_into(&mut self.ready),
            ["collect", ..] => self.asked.push(Asked {
                what: fact(line, "what")?.to_owned(),
                first: number(line, "first")?,
                last: number(line, "last")?,
                pins: number(line, "pins")?,
                objects: Vec::new(),
            }),
            ["object", kind, old, from, new, to, bytes] => {
                let object = Object {
                    kind: (*kind).to_owned(),
                    before: (address(old)?, from.parse()?),
                    after: (address(new)?, to.parse()?),
                    bytes: bytes.parse()?,
                };
                self.asked.last_mut().context("an object of no collection")?.objects.push(object);
            }
            ["info", ..] => self.infos.push(line.to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// The GC settings in gcwatch's document.
    pub(crate) fn settings(&self) -> &Value {
        &self.document.0["target"]["gc"]
    }
}

/// The GC with segments (the default before .NET 7), a library beside the runtime.
pub(crate) const SEGMENTS: &str = "libclrgc.so";

fn address(text: &str) -> Result<u64> {
    Ok(u64::from_str_radix(text.trim_start_matches("0x"), 16)?)
}
