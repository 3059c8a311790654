//! How large it is, and how long it takes to build.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use xtask::workspace;

use super::figure::{Figure, Goal};
use super::{Bench, tools};

const ROW: &str = "size";

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    // The release profile strips.
    let executable = tools::mib(&bench.gcwatch);
    bench.findings.figures.push(
        Figure::new(ROW, "executable, stripped", "size", "MiB")
            .with("gcwatch", vec![executable])
            .goal("gcwatch", Goal::AtMost(6.0)),
    );
    let library = bench.embedded_library_kib()?;
    bench.findings.figures.push(
        Figure::new(ROW, "profiler library", "size", "KiB")
            .with("gcwatch", vec![library])
            .goal("gcwatch", Goal::AtMost(32.0)),
    );
    if bench.quick {
        bench.skip("size: cold release build", &anyhow::anyhow!("left out by --quick"));
        return Ok(());
    }
    let seconds = bench.cold_build_s()?;
    bench.findings.figures.push(
        Figure::new(ROW, "cold release build", "wall", "s")
            .with("gcwatch", vec![seconds])
            .goal("gcwatch", Goal::AtMost(90.0)),
    );
    Ok(())
}

impl Bench {
    /// The library that the release build of gcwatch carries, as Cargo left it.
    fn embedded_library_kib(&self) -> Result<f64> {
        let version = self.gcwatch().arg("--version").output()?;
        let said = String::from_utf8_lossy(&version.stdout).into_owned();
        let hash = said.trim().trim_end_matches(')').rsplit(' ').next().unwrap_or_default().to_owned();
        let build = workspace::target_dir().join("release/build");
        for entry in std::fs::read_dir(&build)? {
            let library = entry?.path().join("out/profiler.so");
            let told = library.with_file_name("../output");
            let about = std::fs::read_to_string(&told).unwrap_or_default();
            if library.is_file() && about.contains(&hash) {
                return Ok(tools::mib(&library) * 1024.0);
            }
        }
        bail!("the library {hash} is not among what Cargo built")
    }

    /// A release build with nothing built before, but with all sources at hand.
    fn cold_build_s(&self) -> Result<f64> {
        let mut cargo = workspace::cargo();
        cargo.args(["build", "--release", "--package", "gcwatch", "--quiet", "--target-dir"]);
        cargo.arg(self.dir.path().join("cold"));
        let began = Instant::now();
        let status = cargo.status().context("cannot run cargo")?;
        let seconds = began.elapsed().as_secs_f64();
        std::fs::remove_dir_all(self.dir.path().join("cold"))?;
        if !status.success() {
            bail!("gcwatch does not build");
        }
        Ok(seconds)
    }
}
