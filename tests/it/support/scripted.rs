//! A program that obeys commands on stdin, one per line, while gcwatch watches it.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use xtask::Clr;
use xtask::testkit::Target;

use super::{DEADLINE, Document, Gcwatch, Guard, fact, start_attach};
use crate::it::suite::Heap;

/// How gcwatch watches it: as its parent, or attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Run,
    Attach,
}

/// The program; the test talks to it through `gcwatch run`, or directly.
pub(crate) struct Scripted {
    talk: Target,
    /// gcwatch, where it is not the parent.
    attached: Option<Target>,
    document: PathBuf,
    _dir: TempDir,
    _guard: Guard,
}

impl Scripted {
    /// Starts one of the test applications, watched with these options.
    pub(crate) fn start(
        clr: &Clr,
        heap: Heap,
        by: By,
        app: &str,
        options: &str,
        environment: &[(&str, &str)],
    ) -> Result<Scripted> {
        let dir = tempfile::tempdir()?;
        let document = dir.path().join("out.json");
        let mut variables = heap.environment().to_vec();
        // Tiered compilation has a thread of its own, whose handles come and go.
        variables.push(("DOTNET_TieredCompilation", "0"));
        variables.extend_from_slice(environment);
        let mut talk = match by {
            By::Run => Gcwatch::on(clr)
                .envs(variables)
                .args("run --format json")
                .args(options)
                .option("-o", &document)
                .app(clr, app, "")?
                .spawn()?,
            By::Attach => Target::app(clr, app, &[], &variables)?,
        };
        let pid = fact(&talk.wait_line("ready ", DEADLINE)?, "pid")?.parse()?;
        let attached = match by {
            By::Run => None,
            By::Attach => Some(start_attach(clr, pid, options, &document)?),
        };
        Ok(Scripted { talk, attached, document, _dir: dir, _guard: Guard(pid) })
    }

    /// Sends a line, waits for a line that begins with `answer`, and returns the rest of it.
    pub(crate) fn ask(&mut self, line: &str, answer: &str) -> Result<String> {
        self.talk.ask(line, answer, DEADLINE)
    }

    /// Lets the program and gcwatch end, and returns the document.
    pub(crate) fn end(mut self) -> Result<Document> {
        self.talk.send_line("exit")?;
        let status = self.talk.wait(DEADLINE)?;
        ensure!(status.success(), "{status}: {:?}", self.talk);
        if let Some(gcwatch) = &mut self.attached {
            let status = gcwatch.wait(DEADLINE)?;
            ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
        }
        let document = Document::read(&self.document)?;
        document.nothing_lost()?;
        Ok(document)
    }
}
