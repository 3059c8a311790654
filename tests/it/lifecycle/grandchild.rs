//! gcwatch does not watch .NET processes that the child starts, and they run as without gcwatch.

use anyhow::{Result, ensure};
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::{Document, Gcwatch, fact, number};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("grandchild::direct", &[], |clr| grandchild(clr, "direct"));
    suite.each("grandchild::by_a_shell", &[], |clr| grandchild(clr, "sh"));
}

fn grandchild(clr: &Clr, how: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let ended = Gcwatch::on(clr)
        .args("run --format json -o")
        .arg(&path)
        .app(clr, "grandchild", &format!("{how} exit=7 work=10"))?
        .output()?
        .expect(0)?;
    let said = ended.out()?;
    let lines: Vec<&str> = said.lines().collect();
    let [own, grandchild, done] = lines[..] else { anyhow::bail!("not three lines:\n{said}") };
    for line in [own, grandchild] {
        ensure!(
            fact(line, "ports")? == "none" && fact(line, "profiling")? == "none",
            "gcwatch's settings are in its environment: {line}"
        );
    }
    ensure!(number(grandchild, "gc0")? >= 10, "{grandchild}");
    ensure!(number(done, "exit")? == 7, "{done}");
    let document = Document::read(&path)?;
    ensure!(document.0["target"]["pid"] == number(own, "pid")?, "another process was watched: {said}");
    Ok(())
}
