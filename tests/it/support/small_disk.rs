//! A disk that is soon full.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use xtask::testkit::Skip;

/// The command with a file system of a few MiB at `dir` that only it sees and that ends with it. What is there in the end
/// is copied to `keep`.
pub(crate) fn on_small_disk(dir: &Path, mib: u32, keep: &Path, command: &Command) -> Result<Command> {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "sh", "-c", "mount -t tmpfs none /mnt"]);
    if !probe.output().is_ok_and(|ended| ended.status.success()) {
        return Err(Skip::because("no file system can be mounted here").into());
    }
    let script = r#"mount -t tmpfs -o size="$1"m none "$2" || exit 99; d=$2; k=$3; shift 3; "$@"; code=$?
        cp -r "$d"/. "$k" || exit 98; exit $code"#;
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", script, "sh", &mib.to_string()]).arg(dir).arg(keep);
    unshare.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => unshare.env(name, value),
            None => unshare.env_remove(name),
        };
    }
    Ok(unshare)
}
