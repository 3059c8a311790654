//! Measures a web service under load, watched at each level.

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use xtask::testkit::{Skip, Target, peer};

use super::figure::Bound::Ratio;
use super::windows::wait_for_leave;
use super::{Bench, Case, Figure, NONE};

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    if Command::new("wrk").arg("-v").output().is_err() {
        return Err(Skip::because("wrk is not installed").into());
    }
    if !bench.newest.root.join("shared/Microsoft.AspNetCore.App").is_dir() {
        return Err(Skip::because(format!("no ASP.NET Core beside .NET {}", bench.newest.name)).into());
    }
    let levels = [NONE, "basic", "moves", "roots", "dotnet-trace gc-verbose"];
    let rounds = bench.rounds.min(3);
    bench.serve("workstation", 4, rounds, &levels)?;
    bench.serve("server", 4, rounds, &levels)?;
    bench.serve("workstation", 120, 1, &[NONE, "roots --sample 1/30s"])
}

impl Bench {
    /// Measures one service, which is under load for some seconds with each tool in turn.
    fn serve(&mut self, heap: &str, seconds: u32, rounds: usize, variants: &[&'static str]) -> Result<()> {
        let (service, url) = self.service(heap)?;
        let name = format!("{} {heap}, /large/100, 16 connections, {seconds} s", self.newest.name);
        let figure = |what, unit| Figure::new(what, unit).against(NONE);
        let p99 = figure("p99", "ms").goal("basic", Ratio(NONE.into(), 1.05));
        let p99 = p99.goal("roots --sample 1/30s", Ratio(NONE.into(), 1.10));
        let longest = figure("longest", "ms");
        let figures = vec![figure("requests per second", ""), figure("p50", "ms"), p99, longest];
        self.measure(Case { name, variants, rounds, figures }, |bench, variant| {
            let served = bench.while_watched(variant, &bench.newest, &service, || wrk(&url, seconds))?;
            wait_for_leave(variant);
            Ok(served)
        });
        Ok(())
    }

    pub(super) fn service(&self, heap: &str) -> Result<(Target, String)> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        let mut command = self.newest.command(&peer("web/web.dll")?);
        command.args(["--urls", &url]).env("DOTNET_gcServer", if heap == "server" { "1" } else { "0" });
        let service = Target::spawn(command)?;
        for _ in 0..3000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                let url = format!("{url}/large/100");
                // Warm up until the runtime has compiled the code again, optimized.
                wrk(&url, 5)?;
                return Ok((service, url));
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the service does not answer\n{service:?}")
    }
}

/// Runs wrk. Returns requests per second, and median, 99th percentile and maximum of the latency in ms.
pub(super) fn wrk(url: &str, seconds: u32) -> Result<Vec<f64>> {
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c16", "--latency", &format!("-d{seconds}s"), url]);
    let output = command.output().context("cannot run wrk")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    parse(&text).with_context(|| format!("wrk printed:\n{text}"))
}

fn parse(text: &str) -> Option<Vec<f64>> {
    let after = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    let ms = |text: &str| {
        let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
        let (number, factor) =
            units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
        Some(number.parse::<f64>().ok()? * factor)
    };
    // Mean, deviation and maximum.
    let longest = after("Latency  ")?.split_whitespace().nth(2)?;
    Some(vec![after("Requests/sec:")?.parse().ok()?, ms(after("50%")?)?, ms(after("99%")?)?, ms(longest)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_wrk_is_parsed() {
        let text = "  Thread Stats   Avg\n    Latency     1.28ms    1.70ms  39.22ms   97.28%\n  Latency Distribution\n     50%  310.00us\n     75%    1.10ms\n     99%    1.02s \n\
                    \x20 1000 requests in 4.00s\nRequests/sec:   9876.54\n";
        assert_eq!(parse(text).unwrap(), [9876.54, 0.31, 1020.0, 39.22]);
        assert!(parse("unable to connect").is_none());
    }
}
