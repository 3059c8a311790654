//! Runs programs as a user without any rights.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use xtask::testkit::{Skip, Target};
use xtask::{Clr, apps};

use super::DEADLINE;

/// A user id without any rights, on any Unix.
pub(crate) const NOBODY: u32 = 65534;

/// The words before a command that run it as another user.
pub(crate) fn setpriv(uid: u32) -> Vec<String> {
    let ids = [format!("--reuid={uid}"), format!("--regid={uid}")];
    ["setpriv".to_owned()].into_iter().chain(ids).chain(["--clear-groups", "--"].map(str::to_owned)).collect()
}

/// A command that runs as this user.
fn as_nobody(program: impl AsRef<OsStr>) -> Command {
    let words = setpriv(NOBODY);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(program).current_dir("/");
    command
}

fn readable() -> Permissions {
    Permissions::from_mode(0o755)
}

/// Skips the test where the temporary directory is private.
fn anyone_may_enter(dir: &Path) -> Result<()> {
    let entered = as_nobody("test").arg("-x").arg(dir).status()?;
    if !entered.success() {
        return Err(Skip::because("other users may not enter the temporary directory").into());
    }
    Ok(())
}

/// A runtime and a program, copied where this user can run them.
pub(crate) struct Nobody {
    dir: TempDir,
    clr: Clr,
    program: PathBuf,
}

impl Nobody {
    pub(crate) fn with_runtime(clr: &Clr) -> Result<Nobody> {
        let dll = apps::build("roots")?;
        let dir = tempfile::Builder::new().permissions(readable()).tempdir()?;
        anyone_may_enter(dir.path())?;
        let program = dir.path().join("roots.dll");
        std::fs::copy(&dll, &program)?;
        let settings = "runtimeconfig.json";
        std::fs::copy(dll.with_extension(settings), program.with_extension(settings))?;
        // The original may be in another user's home directory.
        let clr = clr.copy_to(&dir.path().join("dotnet"))?;
        // The umask may have taken these rights away.
        let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(dir.path()).status()?;
        ensure!(opened.success(), "chmod: {opened}");
        Ok(Nobody { dir, clr, program })
    }

    /// The directory that everybody may enter.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The program's command line, without the change of user.
    pub(crate) fn argv(&self) -> Vec<String> {
        self.clr.argv(&self.program).iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Sets the variables that it needs.
    pub(crate) fn environment(&self, command: &mut Command) {
        self.clr.environment(command);
        command.env("HOME", "/");
    }

    /// Starts the program, and waits until it runs.
    pub(crate) fn start(&self, variables: &[(&str, &str)]) -> Result<Target> {
        let argv = self.argv();
        let mut command = as_nobody(&argv[0]);
        command.args(&argv[1..]);
        self.environment(&mut command);
        command.envs(variables.iter().copied());
        let mut target = Target::spawn(command)?;
        target.wait_line("ready ", DEADLINE)?;
        Ok(target)
    }
}
