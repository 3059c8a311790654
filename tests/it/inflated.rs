//! A process that makes the kernel tell of 64 MiB of variables or arguments, as any user's can: whoever looks at it, root
//! above all, needs no memory for it.

use anyhow::{Context, Result, bail, ensure};
use xtask::Clr;
use xtask::testkit::{Skip, Target};

use super::suite::{Need, Suite};
use super::support::{DEADLINE, Document, Gcwatch};

/// The memory that each gcwatch may have for itself, as the kernel counts its data: more than it uses, as all that is
/// reserved counts, and nothing that is shared.
const MOST_KIB: u64 = 64 << 10;

pub(crate) fn register(suite: &mut Suite) {
    for what in ["environ", "cmdline"] {
        let name = format!("inflated::{what}_takes_no_memory");
        suite.with(&name, &[Need::Proc], move |clr| takes_no_memory(clr, what));
    }
}

fn start(clr: &Clr, what: &str) -> Result<Target> {
    let mut target = Target::app(clr, "inflated", &[what], &[])?;
    match target.wait_line("ready ", DEADLINE) {
        Ok(_) => {}
        Err(error) => match target.lines().iter().find(|line| line.starts_with("refused ")) {
            Some(line) => {
                let why = format!("a process may not say here where its {what} is: {line}");
                return Err(Skip::because(why).into());
            }
            None => return Err(error),
        },
    }
    let length = std::fs::read(format!("/proc/{}/{what}", target.pid()))?.len();
    ensure!(length == 64 << 20, "its {what} has {length} bytes");
    Ok(target)
}

fn takes_no_memory(clr: &Clr, what: &str) -> Result<()> {
    let target = start(clr, what)?;
    let pid = target.pid().to_string();
    let within = || Gcwatch::with_data(clr, MOST_KIB);
    let attached = within().args("attach --level basic --duration 500ms --format json").arg(&pid);
    let document = Document::parse(&attached.output()?.expect(0)?.stdout)?;
    let told = document.0["target"].to_string().len();
    ensure!(told < 256 << 10, "the report says {told} bytes of the target");
    within().args("ps --why").output()?.expect(0)?;
    // And for a program that has nothing to do with it, whose guard looks at all processes.
    within().args("run -q --level basic -- true").output()?.expect(20)?.says(&["true ran unwatched"])?;
    let list = within().args("ps --json").output()?.expect(0)?;
    let list: serde_json::Value = serde_json::from_slice(&list.stdout)?;
    let row = list.as_array().context("no list")?.iter().find(|row| row["pid"] == target.pid());
    let Some(row) = row else { bail!("{pid} is not listed: {list}") };
    let length = row.to_string().len();
    ensure!(length < 256 << 10, "its row has {length} bytes");
    Ok(())
}
