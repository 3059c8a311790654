//! A web service under load, watched at each level.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use xtask::testkit::{Skip, peer};

use super::figure::{Figure, Goal};
use super::process::Ended;
use super::toggle::{LEAVING, while_watched};
use super::{Bench, Tool};

const ROW: &str = "Kestrel under wrk";
const PATH: &str = "large/100";
/// Seconds until its code has been compiled again, better.
const WARMING: u32 = 5;

/// What wrk said.
#[derive(Debug, Clone, Copy)]
struct Served {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let web = peer("web/web.dll")?;
    let has = |program: &str| Command::new(program).arg("-v").output().is_ok();
    if !has("wrk") {
        return Err(Skip::because("wrk is not installed").into());
    }
    if !bench.newest.root.join("shared/Microsoft.AspNetCore.App").is_dir() {
        return Err(Skip::because(format!("no ASP.NET Core beside .NET {}", bench.newest.name)).into());
    }
    let names = ["none", "basic", "moves", "roots", "dotnet-trace gc-verbose"];
    let seconds = 4;
    bench.rounds = bench.rounds.min(3);
    for server in [false, true] {
        bench.serve_all(&web, server, seconds, &names)?;
    }
    bench.rounds = 1;
    bench.serve_all(&web, false, if bench.quick { 40 } else { 120 }, &["none", "roots --sample 1/30s"])
}

impl Bench {
    /// One service, under load for so many seconds with each tool in turn: it is warm before the first comes.
    fn serve_all(&mut self, web: &Path, server: bool, seconds: u32, names: &[&'static str]) -> Result<()> {
        let heap = if server { "server" } else { "workstation" };
        let case = format!("{} {heap}, /{PATH}, 16 connections, {seconds} s", self.newest.name);
        self.say(&format!("  {case}"));
        let (service, url) = self.service(web, server)?;
        let taken = self.interleave(&case, names, |bench, name| {
            bench.serve(service.0.id(), &url, seconds, Tool::named(name)?)
        });
        let of = |what, unit, value: fn(&Served) -> f64| {
            let figure = Figure::new(ROW, &case, what, unit).against("none");
            taken.iter().fold(figure, |figure, variant| figure.with(variant.name, variant.each(value)))
        };
        let rate = of("requests per second", "", |served| served.per_second);
        let p50 = of("p50", "ms", |served| served.p50_ms);
        let mut p99 = of("p99", "ms", |served| served.p99_ms);
        for (name, at_most) in [("basic", 1.05), ("roots --sample 1/30s", 1.10)] {
            if names.contains(&name) {
                p99 = p99.goal(name, Goal::Ratio { to: "none", at_most });
            }
        }
        self.findings.figures.extend([rate, p50, p99]);
        Ok(())
    }

    fn service(&self, web: &Path, server: bool) -> Result<(Ended, String)> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        let mut command = self.newest.command(web);
        command.args(["--urls", &url]).env("DOTNET_gcServer", u8::from(server).to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut service = Ended(command.spawn()?);
        let until = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > until || service.0.try_wait()?.is_some() {
                bail!("the service does not answer");
            }
            thread::sleep(Duration::from_millis(20));
        }
        let url = format!("{url}/{PATH}");
        wrk(&url, WARMING)?;
        Ok((service, url))
    }

    fn serve(&self, pid: u32, url: &str, seconds: u32, tool: Tool) -> Result<Served> {
        let output = self.file("service");
        let Some(command) = self.attach(tool, &self.newest, pid, &output)? else { return wrk(url, seconds) };
        let served = while_watched(tool, command, &output, || wrk(url, seconds));
        if tool.is_profiler() {
            thread::sleep(LEAVING);
        }
        served
    }
}

fn wrk(url: &str, seconds: u32) -> Result<Served> {
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c16", "--latency", &format!("-d{seconds}s"), url]);
    let output = command.output().context("cannot run wrk")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    parse(&said).with_context(|| format!("what wrk said:\n{said}"))
}

fn parse(said: &str) -> Option<Served> {
    let after = |key: &str| {
        let line = said.lines().find_map(|line| line.trim_start().strip_prefix(key))?;
        Some(line.trim().to_owned())
    };
    Some(Served {
        per_second: after("Requests/sec:")?.parse().ok()?,
        p50_ms: milliseconds(&after("50%")?)?,
        p99_ms: milliseconds(&after("99%")?)?,
    })
}

fn milliseconds(text: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrk_is_understood() {
        let said = "  Thread Stats   Avg\n  Latency Distribution\n     50%  310.00us\n     75%    1.10ms\n     99%    1.02s \n\
                    \x20 1000 requests in 4.00s\nRequests/sec:   9876.54\n";
        let served = parse(said).unwrap();
        assert_eq!((served.per_second, served.p50_ms, served.p99_ms), (9876.54, 0.31, 1020.0));
        assert!(parse("unable to connect").is_none());
    }
}
