//! `gcwatch completions`: the scripts in `completions/`, and the process ids that bash offers.

use anyhow::{Context, Result, ensure};
use xtask::testkit::Target;
use xtask::{Clr, workspace};

use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, Gcwatch, program_file};

pub(crate) fn register(suite: &mut Suite) {
    suite.plain("completions::are_up_to_date", completions);
    suite.once("completions::of_processes", &[], complete_pids);
}

/// The files that packages ship are what `gcwatch completions` prints.
fn completions() -> Result<()> {
    let dir = workspace::root().join("completions");
    let mut shells = 0;
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let printed = Gcwatch::new().arg("completions").arg(shell).output()?.expect(0)?;
        ensure!(printed.out()?.contains("gcwatch"), "{shell}: {:?}", printed.out()?);
        for entry in std::fs::read_dir(&dir)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let ours = match shell {
                "bash" => name == "gcwatch.bash",
                "zsh" => name == "_gcwatch",
                "fish" => name == "gcwatch.fish",
                "powershell" => name.ends_with(".ps1"),
                _ => name.ends_with(".elv"),
            };
            if ours {
                shells += 1;
                ensure!(
                    std::fs::read(&path)? == printed.stdout,
                    "{name} is not what gcwatch completions {shell} prints"
                );
            }
        }
    }
    ensure!(shells >= 3, "completion files of only {shells} shells in {}", dir.display());
    Ok(())
}

/// `gcwatch attach <TAB>` in bash offers the running processes.
fn complete_pids(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid().to_string();
    let listed = Gcwatch::on(clr).args("ps --format pids").output()?.expect(0)?;
    let row = listed.out()?.lines().find(|line| line.split('\t').next() == Some(&pid));
    ensure!(row.is_some_and(|row| row.contains("roots")), "{:?}", listed.out());
    let script = workspace::root().join("completions/gcwatch.bash");
    let ask = format!(
        "source '{}'; COMP_WORDS=(gcwatch attach ''); COMP_CWORD=2; _gcwatch_with_pids gcwatch '' attach; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", &ask]);
    let path = std::env::var("PATH").unwrap_or_default();
    bash.env("PATH", format!("{}:{path}", program_file().parent().context("no directory")?.display()));
    let Ok(answer) = bash.output() else {
        return Err(xtask::testkit::Skip::because("there is no bash").into());
    };
    let answer = String::from_utf8(answer.stdout)?;
    ensure!(answer.lines().any(|line| line == pid), "no {pid} in {answer:?}");
    Ok(())
}
