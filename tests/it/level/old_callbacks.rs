//! The first versions of the callbacks, with a build of the profiler that answers only for `ICorProfilerCallback3` and
//! below: the same ranges and number of roots as with the second versions, but no lengths over 4 GiB and no kinds.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use xtask::testkit::Target;
use xtask::{Clr, profiler};

use crate::it::figures::blocks;
use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, Guard, Json, brief, fact, number};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("old_callbacks::same_ranges_as_the_runtime_itself", &[], |clr, heap| {
        blocks::same(clr, heap, "roots", Some(&old()?))
    });
    suite.each("old_callbacks::as_many_roots_without_their_kinds", &[], roots);
    suite.each("old_callbacks::a_block_of_more_than_4_gib", &[Need::FreeMemory(8)], huge);
}

/// The profiler without the interfaces after `ICorProfilerCallback3`.
fn old() -> Result<PathBuf> {
    profiler::limited_to(3)
}

/// A program under `gcwatch run` that writes a document.
struct Talk {
    program: Target,
    _guard: Guard,
    dir: TempDir,
}

impl Talk {
    fn start(clr: &Clr, profiler: Option<&Path>, app: &str) -> Result<Talk> {
        let dir = tempfile::tempdir()?;
        let mut program = Gcwatch::on(clr)
            // Tiered compilation would change which roots frames hold.
            .envs([("DOTNET_gcServer", "0"), ("DOTNET_TieredCompilation", "0")])
            .args("run --level roots --blocks --format json")
            .options(profiler.into_iter().flat_map(|path| [OsStr::new("--profiler-path"), path.as_os_str()]))
            .option("-o", dir.path().join("out.json"))
            .app(clr, app, "")?
            .spawn()?;
        let ready = program.wait_line("ready ", DEADLINE)?;
        Ok(Talk { _guard: Guard(fact(&ready, "pid")?.parse()?), program, dir })
    }

    fn ask(&mut self, line: &str) -> Result<String> {
        self.program.ask(line, "", DEADLINE)
    }

    fn end(mut self) -> Result<Document> {
        self.program.send_line("exit")?;
        let status = self.program.wait(DEADLINE)?;
        ensure!(status.success(), "{status}: {:?}", self.program);
        let document = Document::read(&self.dir.path().join("out.json"))?;
        document.nothing_lost()?;
        Ok(document)
    }
}

const STRONG: u64 = 70;
const WEAK: u64 = 50;

/// The records of collections at which the number of roots is known.
fn known_numbers(clr: &Clr, profiler: Option<&Path>) -> Result<Vec<Value>> {
    let mut talk = Talk::start(clr, profiler, "roots")?;
    // Starting a watch also makes finalizable objects in the runtime: wait until they are finalized.
    for turn in 0.. {
        ensure!(turn < 20, "the program always has pending finalizers");
        talk.ask("release")?;
        if number(&talk.ask("collect 2")?, "finalization_pending")? == 0 {
            break;
        }
    }
    let mut indices = Vec::new();
    for line in [format!("handles strong {STRONG}"), format!("handles weak {WEAK}"), "free".to_owned()] {
        indices.push(number(&talk.ask("collect 2")?, "index")?);
        talk.ask(&line)?;
    }
    indices.push(number(&talk.ask("collect 2")?, "index")?);
    let document = talk.end()?;
    indices.into_iter().map(|index| document.gc(index).cloned()).collect()
}

fn roots(clr: &Clr) -> Result<()> {
    let (old, new) = (known_numbers(clr, Some(&old()?))?, known_numbers(clr, None)?);
    for (gc, second) in old.iter().zip(&new) {
        ensure!(gc["complete"] == true, "{}", brief(gc));
        let (roots, named) = (&gc["roots"], &second["roots"]);
        for same in ["total", "null_refs"] {
            ensure!(
                roots.uint(&format!("/{same}"))? == named.uint(&format!("/{same}"))?,
                "{same} is {} with the first callback, {} with the second",
                roots[same],
                named[same]
            );
        }
        for unknown in ["weak", "holding", "by_kind", "by_flag", "by_kind_and_flag", "dependent_pairs"] {
            ensure!(roots[unknown].is_null(), "{unknown} is {}", roots[unknown]);
            ensure!(!named[unknown].is_null(), "{unknown} is unknown with the second callback");
        }
        let list = roots.list("/list")?;
        let held = list.iter().filter(|root| root["object"] != "0x0").count() as u64;
        ensure!(held == roots.uint("/total")?, "{held} roots in the list, {} in all", roots["total"]);
        for root in list {
            ensure!(["id", "kind", "flags"].iter().all(|unknown| root[*unknown].is_null()), "{root}");
        }
    }
    let total = |n: usize| old[n].uint("/roots/total");
    ensure!(total(1)? == total(0)? + STRONG, "{} roots, {} with {STRONG} handles", total(0)?, total(1)?);
    ensure!(total(2)? == total(1)? + WEAK, "{} roots, {} with {WEAK} weak ones", total(1)?, total(2)?);
    ensure!(total(3)? == total(0)?, "{} roots, {} after the handles were freed", total(0)?, total(3)?);
    Ok(())
}

fn huge(clr: &Clr) -> Result<()> {
    let old = old()?;
    for (profiler, at_least) in [(None, false), (Some(old.as_path()), true)] {
        let mut talk = Talk::start(clr, profiler, "huge")?;
        let said = talk.ask("collect")?;
        let address = fact(&said, "before")?.to_owned();
        ensure!(address == fact(&said, "after")?, "it moved: {said}");
        let bytes = number(&said, "bytes")?;
        ensure!(bytes > u64::from(u32::MAX), "{said}");
        let document = talk.end()?;
        let gc = document.gc(number(&said, "index")?)?;
        let surviving = &gc["surviving"];
        let all = surviving.list("/ranges")?;
        let found = all.iter().find(|range| range["start"] == address.as_str());
        let range = found.with_context(|| format!("no range at {address} among {}", all.len()))?;
        let expected = if at_least { u64::from(u32::MAX) } else { bytes };
        ensure!(range.uint("/bytes")? == expected, "{range} instead of {expected} bytes");
        ensure!(range["generation"] == "loh", "{range}");
        ensure!(surviving["block_bytes"]["max"] == expected, "{}", surviving["block_bytes"]);
        for part in [surviving, &document.0["summary"]["surviving"]] {
            ensure!(part["bytes_at_least"] == at_least, "{}", part["bytes_at_least"]);
        }
        ensure!(gc["moved"]["bytes_at_least"] == false, "no block of this length moved");
        let sum = all.iter().map(|range| range.uint("/bytes")).sum::<Result<u64>>()?;
        ensure!(surviving.uint("/bytes")? == sum, "{} bytes, {sum} in the ranges", surviving["bytes"]);
    }
    Ok(())
}
