//! Recordings of another tool, with more events than gcwatch ever asks for: stacks, samples (each of which stops the
//! program, too), allocations, tasks, counters, and a rundown at the end.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use xtask::testkit::peer;
use xtask::{Clr, apps, clr};

use crate::it::figures::trace_event::agrees;
use crate::it::recording::record::replay;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::repeated::again;
use crate::it::support::{Account, Clock, Document, GCSTATS, Json, account, agree, number, run_to_end};

/// Microsoft's recorder, below the directory of other tools.
const DOTNET_TRACE: &str = "dotnet-trace-10.0.750501/dotnet-trace.dll";

pub(crate) fn register(suite: &mut Suite) {
    let needs = [Need::Peer(GCSTATS), Need::Peer(DOTNET_TRACE)];
    suite.each_heap("foreign::stacks_and_allocations", &needs, |clr, heap| {
        check(clr, heap, "--profile dotnet-sampled-thread-time,gc-verbose", false)
    });
    suite.each_heap("foreign::blocks_among_other_providers", &needs, |clr, heap| {
        let providers = "--providers Microsoft-Windows-DotNETRuntime:0x400003:5,Microsoft-DotNETCore-SampleProfiler,\
                         System.Runtime:0:4:EventCounterIntervalSec=1,System.Threading.Tasks.TplEventSource:0xFF:4";
        check(clr, heap, providers, true)
    });
}

/// A program recorded from its start to its end, and what gcwatch reads from that.
struct Foreign {
    document: Document,
    account: Account,
    /// How many collections the program counted.
    counted: u64,
    dir: TempDir,
}

fn record(clr: &Clr, heap: Heap, options: &str) -> Result<Foreign> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("foreign.nettrace");
    let all = clr::find_all()?;
    let mut command = all.last().context("no runtime")?.command(&peer(DOTNET_TRACE)?);
    command.args(["collect", "--show-child-io", "--output"]).arg(&file);
    command.args(options.split_whitespace()).envs(heap.environment());
    // The recorder may use another runtime than the program.
    command.args(["--", "env"]).arg(format!("DOTNET_ROOT={}", clr.root.display()));
    command.args(clr.argv(&apps::build("churn")?)).args(["work=200000", "live=20000", "threads=2"]);
    let ended = run_to_end(command, Vec::new())?.expect(0)?;
    let counted = number(ended.out()?, "gc0")?;
    let document = replay(&file, "")?;
    Ok(Foreign { document, account: account(&file)?, counted, dir })
}

/// How many attempts there are: in some, all collections are background ones, which the runtime decides.
const MAX_ATTEMPTS: u32 = 8;

fn check(clr: &Clr, heap: Heap, options: &str, ranges: bool) -> Result<()> {
    for _ in 0..MAX_ATTEMPTS {
        if check_one(clr, heap, options, ranges)? {
            return Ok(());
        }
        again();
    }
    bail!("no blocking collection in {MAX_ATTEMPTS} recordings")
}

/// Returns whether there was a blocking collection to compare.
fn check_one(clr: &Clr, heap: Heap, options: &str, ranges: bool) -> Result<bool> {
    let foreign = record(clr, heap, options)?;
    let document = &foreign.document;
    document.nothing_lost()?;
    agree(document, &foreign.account, Clock::Same, ranges)?;
    every_one(document, foreign.counted)?;
    let (same, background) =
        agrees(document, &foreign.account, &foreign.dir.path().join("foreign.nettrace"))?;
    let sampled = foreign.account.stops.iter().filter(|stop| !matches!(stop.reason, 1 | 6)).count();
    ensure!(sampled > 0, "no sample was taken");
    if ranges {
        document.complete()?.into_iter().try_for_each(all_that_survived)?;
    }
    Ok(same > background)
}

/// Each collection that the program counted has one record.
fn every_one(document: &Document, counted: u64) -> Result<()> {
    let mut numbers = document.gcs()?.iter().map(|gc| gc.uint("/number")).collect::<Result<Vec<_>>>()?;
    numbers.sort_unstable();
    let expected: Vec<u64> = (1..).take(numbers.len()).collect();
    ensure!(
        numbers == expected && numbers.len() as u64 >= counted,
        "{numbers:?}, the program says {counted}"
    );
    Ok(())
}

/// The heaps' promoted bytes equal the sum of the blocks, to the byte.
fn all_that_survived(gc: &Value) -> Result<()> {
    if gc["kind"] == "background" {
        return Ok(());
    }
    let blocks = gc.uint("/moved/bytes")? + gc.uint("/moved/stayed_bytes")? + gc.uint("/surviving/bytes")?;
    let heaps = gc.list("/heaps")?.iter().map(|heap| heap.uint("/promoted_bytes")).sum::<Result<u64>>()?;
    ensure!(blocks == heaps, "GC {}: blocks of {blocks} bytes, {heaps} bytes survived", gc["number"]);
    Ok(())
}
