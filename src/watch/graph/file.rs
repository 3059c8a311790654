//! The file that a graph is written to.

use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use dotnet_heap_graph::format::{EndRecord, FrameKind, Writer};
use serde_json::{Value, json};

use super::place::{new_file, not_written};
use super::take::Facts;
use crate::exit::Failure;
use crate::gc::facts::Target;
use crate::sys::NewFile;

/// A file that gets its name when the graph is whole. Without a name it is gone when it is closed.
#[derive(Debug)]
pub(crate) struct GraphFile {
    writer: Writer<BufWriter<File>>,
    /// The file of `--output`, and the path as the user has written it.
    named: Option<(NewFile, PathBuf)>,
}

impl GraphFile {
    /// Begins a file with a name.
    pub(crate) fn named(path: &Path) -> Result<GraphFile, Failure> {
        GraphFile::of(new_file(path)?, path)
    }

    /// Begins a file that was made before. `path`: as the user has written it.
    pub(crate) fn of(new: NewFile, path: &Path) -> Result<GraphFile, Failure> {
        let failed = |e: &dyn Display| not_written(Some(path), e);
        let file = new.file().map_err(|e| failed(&e))?;
        let writer = Writer::new(BufWriter::new(file)).map_err(|e| failed(&e))?;
        Ok(GraphFile { writer, named: Some((new, path.to_owned())) })
    }

    /// Begins a file that is gone when it is closed.
    pub(crate) fn without_name() -> Result<GraphFile, Failure> {
        let failed = |e: &dyn Display| not_written(None, e);
        let file = tempfile::tempfile().map_err(|e| failed(&e))?;
        let writer = Writer::new(BufWriter::new(file)).map_err(|e| failed(&e))?;
        Ok(GraphFile { writer, named: None })
    }

    /// It cannot be written.
    pub(crate) fn failed(&self, e: &dyn Display) -> Failure {
        not_written(self.named.as_ref().map(|(_, path)| path.as_path()), e)
    }

    /// What writes to it.
    pub(crate) fn writer(&mut self) -> &mut Writer<BufWriter<File>> {
        &mut self.writer
    }

    /// Ends the file. `texts`: it has the contents of strings.
    pub(crate) fn finish(
        self,
        target: &Target,
        facts: &Facts,
        texts: bool,
        version: &str,
    ) -> Result<File, Failure> {
        self.finish_with(&info(target, facts, texts, version), facts.end)
    }

    /// Ends the file. `info`: as [`info`] says it, with more.
    pub(crate) fn finish_with(self, info: &Value, end: EndRecord) -> Result<File, Failure> {
        let info = serde_json::to_vec(info).map_err(io::Error::from)?;
        let GraphFile { mut writer, named } = self;
        let failed = |e: &dyn Display| not_written(named.as_ref().map(|(_, path)| path.as_path()), e);
        writer.write_frame(FrameKind::INFO, &info).map_err(|e| failed(&e))?;
        let file = writer.finish(end).map_err(|e| failed(&e))?;
        let file = file.into_inner().map_err(|e| failed(e.error()))?;
        if let Some((new, path)) = named {
            new.keep().map_err(|e| not_written(Some(&path), &e))?;
        }
        Ok(file)
    }
}

/// What was taken of which process, when, and what it cost.
pub(crate) fn info(target: &Target, facts: &Facts, texts: bool, version: &str) -> Value {
    json!({
        "gcwatch": version,
        "id": random_id(),
        "pid": target.pid,
        "name": target.title,
        "runtime_version": target.runtime_version,
        "time": jiff::Timestamp::now().to_string(),
        "gc_number": facts.gc_number,
        "generation": facts.generation,
        "pause_ns": facts.cost.pause_ns,
        "copy_ns": facts.cost.copy_ns,
        "copied_bytes": facts.cost.copied_bytes,
        "names_missing": facts.names_missing,
        "strings": texts,
    })
}

/// 128 bits that no other graph has. The standard library's keys are random numbers of the system.
fn random_id() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// Where the graph of a watched process goes if no file was named.
pub(super) fn default_path(pid: Option<u32>) -> PathBuf {
    pid.map_or_else(|| "gcwatch.gcgraph".into(), |pid| format!("gcwatch-{pid}.gcgraph").into())
}
