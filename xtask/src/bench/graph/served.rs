//! The latency of a web service while ten graphs are taken of it.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use xtask::testkit::Skip;

use super::requests::{at_rate, get};
use super::{NONE, SNAPSHOT, VARIANTS};
use crate::bench::figure::Bound::Ratio;
use crate::bench::kestrel::wrk;
use crate::bench::{Bench, Case, Figure};

/// How many graphs are taken in each turn.
const GRAPHS: usize = 10;
const DURATION: Duration = Duration::from_secs(20);
/// A rate that the service reaches easily.
const PER_SECOND: u32 = 500;
/// What the service keeps in its cache meanwhile.
const CACHED: u32 = 20_000;
const PATH: &str = "/json/200";

pub(super) fn measure(bench: &mut Bench, snapshot: &Path) -> Result<()> {
    if !bench.newest.root.join("shared/Microsoft.AspNetCore.App").is_dir() {
        return Err(Skip::because(format!("no ASP.NET Core beside .NET {}", bench.newest.name)).into());
    }
    let seconds = DURATION.as_secs();
    let what = format!("{PATH}, {CACHED} cached entries, {GRAPHS} graphs in {seconds} s");
    let rate = format!("{} {what}, {PER_SECOND} requests a second", bench.newest.name);
    bench.served(&rate, snapshot, |url| {
        at_rate(address(url)?, PATH, PER_SECOND, DURATION).map(|latencies| [vec![0.0], latencies].concat())
    })?;
    if Command::new("wrk").arg("-v").output().is_err() {
        return Err(Skip::because("wrk is not installed").into());
    }
    let busy = format!("{} {what}, wrk with 16 connections", bench.newest.name);
    bench.served(&busy, snapshot, |url| wrk(&format!("{url}{PATH}"), u32::try_from(seconds)?))
}

fn address(url: &str) -> Result<SocketAddr> {
    Ok(url.strip_prefix("http://").context("a URL")?.parse()?)
}

impl Bench {
    /// Measures a service under a load, which returns requests per second, median, 99th percentile and maximum in ms.
    fn served(&mut self, name: &str, snapshot: &Path, load: impl Fn(&str) -> Result<Vec<f64>>) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let (service, url) = self.service("workstation")?;
        let url = url.rsplit_once("/large").map_or(url.as_str(), |(url, _)| url).to_owned();
        let mut connection = TcpStream::connect(address(&url)?)?;
        for key in 0..CACHED {
            get(&mut connection, &format!("/cache/{key}"))?;
        }
        drop(connection);
        let figure = |what, unit| Figure::new(what, unit).against(NONE);
        let less = |what, unit| figure(what, unit).goal("gcwatch graph", Ratio(SNAPSHOT.into(), 1.0));
        let figures = vec![
            figure("requests per second", ""),
            less("p50", "ms"),
            less("p99", "ms"),
            less("longest", "ms"),
            Figure::new("graphs taken", ""),
        ];
        let files = [self.file("served.gcgraph"), self.file("served.nettrace")];
        let (rounds, pid) = (self.rounds, service.pid());
        let case = Case { name: name.to_owned(), variants: &VARIANTS, rounds, figures };
        self.measure(case, |bench, variant| {
            let ended = AtomicBool::new(false);
            let (latencies, taken) = thread::scope(|scope| {
                let take = || bench.take_many(pid, variant, snapshot, &files, &ended);
                let taker = scope.spawn(take);
                let latencies = load(&url);
                ended.store(true, Relaxed);
                (latencies, taker.join().map_err(|_| anyhow!("the tools' thread panicked")))
            });
            Ok([latencies?, vec![taken?? as f64]].concat())
        });
        Ok(())
    }

    /// Takes graphs, spread over the time, until there are enough or the load has ended.
    fn take_many(
        &self,
        pid: u32,
        variant: &str,
        snapshot: &Path,
        files: &[PathBuf; 2],
        ended: &AtomicBool,
    ) -> Result<usize> {
        let mut taken = 0;
        while variant != NONE && taken < GRAPHS && !ended.load(Relaxed) {
            let mut tool = self.taker(&self.newest, pid, variant, snapshot, files)?;
            let status = loop {
                if let Ok(status) = tool.wait(Duration::ZERO) {
                    break status;
                }
                // Without requests there are no collections to wait for. Dropping the tool ends it.
                if ended.load(Relaxed) {
                    return Ok(taken);
                }
                thread::sleep(Duration::from_millis(5));
            };
            // A recording may have lost events.
            if !matches!((variant, status.code()), (_, Some(0)) | (SNAPSHOT, Some(11))) {
                bail!("{status}\n{tool:?}");
            }
            taken += 1;
            thread::sleep(DURATION / GRAPHS as u32 / 4);
        }
        Ok(taken)
    }
}
