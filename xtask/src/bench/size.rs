//! Measures the sizes of the executable and the profiler library, and the time of a build.

use anyhow::{Result, bail};
use xtask::workspace;

use super::figure::Bound::AtMost;
use super::tools::mib;
use super::{Bench, Figure, process};

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    // The release profile strips the executable.
    bench.size("executable, stripped", "size", "MiB", mib(&bench.gcwatch)?, 6.0);
    bench.size("profiler library", "size", "KiB", bench.embedded_library_kib()?, 32.0);
    let target = bench.file("cold");
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "--package", "gcwatch", "--quiet", "--target-dir"]).arg(&target);
    let seconds = process::run(cargo)?.wall_ms / 1e3;
    bench.size("release build with all sources at hand", "wall", "s", seconds, 90.0);
    Ok(std::fs::remove_dir_all(target)?)
}

impl Bench {
    fn size(&mut self, case: &str, what: &str, unit: &str, value: f64, limit: f64) {
        let figure = Figure::new(what, unit).with("gcwatch", vec![value]);
        self.add(case, figure.goal("gcwatch", AtMost(limit)));
    }

    /// The size of the library in the release build of gcwatch. Finds the library in Cargo's build directory.
    fn embedded_library_kib(&self) -> Result<f64> {
        let version = self.gcwatch(&self.newest).arg("--version").output()?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let hash = version.trim().trim_end_matches(')').rsplit(' ').next().unwrap_or_default().to_owned();
        for entry in std::fs::read_dir(workspace::target_dir().join("release/build"))? {
            let library = entry?.path().join("out/profiler.so");
            let about = std::fs::read_to_string(library.with_file_name("../output")).unwrap_or_default();
            if library.is_file() && about.contains(&hash) {
                return Ok(mib(&library)? * 1024.0);
            }
        }
        bail!("the library {hash} is not among what Cargo built")
    }
}
