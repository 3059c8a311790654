//! Installs each package into a temporary directory with the tool that it is for, and runs the program from there.

use std::env::consts;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::dist::{Artifacts, PLATFORMS, Platform, Release};

use super::tools::{exists, output};

/// Why a package was not tried, in place of an error.
type Skip = String;
type Outcome = Result<Result<(), Skip>>;

const ONLY_ROOT: &str = "only root can install into another root directory";

/// A package, and where it can be tried.
struct Trial<'a> {
    release: &'a Release,
    package: PathBuf,
    /// An empty directory.
    room: &'a Path,
    platform: Option<&'static Platform>,
}

/// Tries all packages.
pub(super) fn all(release: &Release, artifacts: &Artifacts, directory: &Path) -> Result<ExitCode> {
    let mut out = io::stdout();
    let (mut works, mut failed, mut skipped) = (0, 0, 0);
    for file in &artifacts.files {
        let room = tempfile::tempdir()?;
        let package = directory.join(&file.path);
        let platform = PLATFORMS.iter().find(|platform| platform.has(&file.path));
        let trial = Trial { release, package, room: room.path(), platform };
        let result = match trial.run(&file.path) {
            Ok(Ok(())) => {
                works += 1;
                "ok".to_owned()
            }
            Ok(Err(reason)) => {
                skipped += 1;
                format!("skipped: {reason}")
            }
            Err(error) => {
                failed += 1;
                format!("FAILED: {error:#}")
            }
        };
        writeln!(out, "{}: {result}", file.path)?;
    }
    writeln!(out, "packages: {works} ok, {failed} failed, {skipped} skipped")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Trial<'_> {
    fn run(&self, path: &str) -> Outcome {
        let needs = |program: &str| (!exists(program)).then(|| format!("{program} is not on PATH"));
        let (needed, attempt): (&str, fn(&Self) -> Outcome) =
            match path.rsplit_once('.').map_or(path, |(_, extension)| extension) {
                "SHA256SUMS" => ("sha256sum", Self::sums),
                "gz" => ("tar", Self::archive),
                "zip" => ("unzip", Self::zip),
                "deb" => ("dpkg", Self::deb),
                "rpm" => ("rpm", Self::rpm),
                "tar" => ("tar", Self::image),
                "whl" => ("python3", Self::wheel),
                "tgz" => ("npm", Self::npm),
                "nupkg" => return Ok(Err("nothing here installs tools of .NET 10".to_owned())),
                "rb" => ("ruby", Self::ruby),
                "json" => return self.json(),
                _ => return Ok(Err("nothing here reads it".to_owned())),
            };
        match needs(needed) {
            Some(reason) => Ok(Err(reason)),
            None => attempt(self),
        }
    }

    fn sums(&self) -> Outcome {
        let directory = self.package.parent().context("no directory")?;
        output(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(directory))?;
        Ok(Ok(()))
    }

    fn archive(&self) -> Outcome {
        output(Command::new("tar").arg("-xzf").arg(&self.package).arg("-C").arg(self.room))?;
        self.unpacked()
    }

    fn zip(&self) -> Outcome {
        output(Command::new("unzip").arg("-q").arg(&self.package).arg("-d").arg(self.room))?;
        self.unpacked()
    }

    /// An unpacked archive is complete, and its program runs in a root directory that holds nothing else.
    fn unpacked(&self) -> Outcome {
        let platform = self.platform.context("an archive for no platform")?;
        let top = self.room.join(format!("gcwatch-{}-{}", self.release.version, platform.name));
        for (path, bytes) in &self.release.documents {
            let path = top.join(path.strip_prefix("docs/").unwrap_or(path));
            ensure!(fs::read(&path)? == *bytes, "{} has another content", path.display());
        }
        self.in_empty_root(&top.join(platform.program))
    }

    fn image(&self) -> Outcome {
        output(Command::new("tar").arg("-xf").arg(&self.package).arg("-C").arg(self.room))?;
        let read = |descriptor: &Value| -> Result<(PathBuf, Value)> {
            let digest = descriptor["digest"].as_str().context("no digest")?;
            let digest = digest.strip_prefix("sha256:").context("no SHA-256")?;
            let path = self.room.join("blobs/sha256").join(digest);
            let sum = output(Command::new("sha256sum").arg(&path))?;
            ensure!(sum.starts_with(digest), "{digest} has another sum");
            ensure!(descriptor["size"] == fs::metadata(&path)?.len(), "{digest} has another size");
            let parsed = serde_json::from_slice(&fs::read(&path)?).unwrap_or(Value::Null);
            Ok((path, parsed))
        };
        let top: Value = serde_json::from_slice(&fs::read(self.room.join("index.json"))?)?;
        let (_, index) = read(&top["manifests"][0])?;
        let images = index["manifests"].as_array().context("no images")?;
        let mut ran = Err("it has no image for this machine".to_owned());
        for descriptor in images {
            let (_, manifest) = read(descriptor)?;
            let (_, config) = read(&manifest["config"])?;
            let (layer, _) = read(&manifest["layers"][0])?;
            let architecture = config["architecture"].as_str().context("no architecture")?;
            let root = self.room.join(architecture);
            fs::create_dir(&root)?;
            output(Command::new("tar").arg("-xzf").arg(layer).arg("-C").arg(&root))?;
            let entry = config["config"]["Entrypoint"][0].as_str().context("no entry point")?;
            let program = root.join(entry.trim_start_matches('/'));
            if matches!((architecture, consts::ARCH), ("amd64", "x86_64") | ("arm64", "aarch64")) {
                ran = self.in_empty_root(&program)?;
            }
        }
        Ok(ran)
    }

    fn deb(&self) -> Outcome {
        if !is_root() {
            return Ok(Err(ONLY_ROOT.to_owned()));
        }
        let database = self.room.join("var/lib/dpkg");
        for directory in ["info", "updates", "triggers"] {
            fs::create_dir_all(database.join(directory))?;
        }
        fs::write(database.join("status"), "")?;
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(option("--root=", self.room)).arg(option("--log=", &self.room.join("log")));
        dpkg.args(["--force-architecture", "--install"]).arg(&self.package);
        output(&mut dpkg)?;
        self.installed()
    }

    fn rpm(&self) -> Outcome {
        if !is_root() {
            return Ok(Err(ONLY_ROOT.to_owned()));
        }
        let mut rpm = Command::new("rpm");
        rpm.arg("--root").arg(self.room).args(["--install", "--ignorearch", "--nosignature"]);
        output(rpm.arg(&self.package))?;
        self.installed()
    }

    /// What a distribution's package manager has put below the root directory.
    fn installed(&self) -> Outcome {
        let page = self.room.join("usr/share/man/man1/gcwatch.1.gz");
        ensure!(page.is_file(), "the manual page is missing");
        self.runs(&self.room.join("usr/bin/gcwatch"))
    }

    fn wheel(&self) -> Outcome {
        let platform = self.platform.context("a wheel for no platform")?;
        if let Err(reason) = runner(platform) {
            return Ok(Err(reason));
        }
        if platform.name != native() {
            return Ok(Err(format!("pip takes it on {} only", platform.name)));
        }
        if output(Command::new("python3").args(["-c", "import ensurepip"])).is_err() {
            return Ok(Err("this Python makes no environments".to_owned()));
        }
        let environment = self.room.join("environment");
        output(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = environment.join("bin/pip");
        let options = ["install", "--no-index", "--no-cache-dir", "--disable-pip-version-check"];
        output(Command::new(pip).args(options).arg(&self.package))?;
        self.runs(&environment.join("bin/gcwatch"))
    }

    /// Installs the main package together with that of this platform.
    fn npm(&self) -> Outcome {
        let version = &self.release.version;
        let Some(here) = PLATFORMS.iter().find(|platform| platform.name == native()) else {
            return Ok(Err("there is no package for this machine".to_owned()));
        };
        if self.platform.is_some_and(|platform| platform != here) {
            return Ok(Err("npm takes it on its own platform only".to_owned()));
        }
        let beside = |name: String| self.package.with_file_name(format!("{name}-{version}.tgz"));
        let (os, cpu) = here.npm();
        let mut npm = Command::new("npm");
        npm.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"]);
        npm.arg(beside(format!("gcwatch-{os}-{cpu}"))).arg(beside("gcwatch".to_owned()));
        output(npm.current_dir(self.room))?;
        let program = self.room.join("node_modules/.bin/gcwatch");
        let absent = Command::new(&program).args(["attach", "4294967295"]).output()?;
        ensure!(absent.status.code() == Some(20), "an exit code became {}", absent.status);
        self.runs(&program)
    }

    fn ruby(&self) -> Outcome {
        output(Command::new("ruby").arg("-c").arg(&self.package))?;
        Ok(Err("Ruby reads it, but nothing here installs it".to_owned()))
    }

    fn json(&self) -> Outcome {
        serde_json::from_slice::<Value>(&fs::read(&self.package)?)?;
        Ok(Err("it is JSON, but nothing here uses it".to_owned()))
    }

    /// Whether the program tells its version.
    fn runs(&self, program: &Path) -> Outcome {
        let runner = match runner(self.platform.unwrap_or(&PLATFORMS[0])) {
            Ok(runner) => runner,
            Err(reason) => return Ok(Err(reason)),
        };
        self.tells_its_version(runner.iter().map(OsString::from).collect(), program)
    }

    /// The same in a root directory of its own, where it finds no file of this machine.
    fn in_empty_root(&self, program: &Path) -> Outcome {
        let foreign = self.platform.is_some_and(|platform| platform.name != native());
        let ran = self.runs(program)?;
        if foreign || ran.is_err() {
            return Ok(ran);
        }
        let unshare: &[&str] = if is_root() { &["unshare"] } else { &["unshare", "--map-root-user"] };
        if output(Command::new(unshare[0]).args(&unshare[1..]).args(["--root=/", "true"])).is_err() {
            return Ok(Err("it runs, but this machine gives no process another root directory".to_owned()));
        }
        let (root, name) =
            (program.parent().context("no directory")?, program.file_name().context("no name")?);
        let mut argv: Vec<OsString> = unshare.iter().map(OsString::from).collect();
        argv.push(option("--root=", root));
        self.tells_its_version(argv, &Path::new("/").join(name))
    }

    fn tells_its_version(&self, mut argv: Vec<OsString>, program: &Path) -> Outcome {
        argv.push(program.into());
        let said = output(Command::new(&argv[0]).args(&argv[1..]).arg("--version"))?;
        // A program without the library would say so here.
        let wanted = format!("gcwatch {} (profiler library ", self.release.version);
        ensure!(said.starts_with(&wanted), "it says {said:?}, not {wanted:?}");
        Ok(Ok(()))
    }
}

/// The name of this machine's platform.
fn native() -> &'static str {
    match (consts::OS, consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        _ => "none",
    }
}

/// What runs a platform's programs here: nothing if it is this machine's.
fn runner(platform: &Platform) -> Result<Vec<&'static str>, Skip> {
    const QEMU: &str = "qemu-aarch64-static";
    match platform.name {
        name if name == native() => Ok(Vec::new()),
        "linux-arm64" if exists(QEMU) => Ok(vec![QEMU]),
        name => Err(format!("nothing here runs programs of {name}")),
    }
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::process::geteuid().is_root();
    #[cfg(not(target_os = "linux"))]
    false
}
