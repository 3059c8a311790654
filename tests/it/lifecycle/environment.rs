//! What gcwatch puts into a program's environment is not there when the program looks, nor in its children.

use anyhow::{Context, Result, ensure};
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::Gcwatch;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("environment::of_a_program_and_its_children", &[], at_roots);
    suite.once("environment::at_a_lower_level", &[], at_basic);
    suite.each("environment::of_a_tree_that_is_followed", &[], followed);
}

/// The program's lines by their first word.
fn names(clr: &Clr, options: &str) -> Result<impl Fn(&str) -> Result<String>> {
    let ended = Gcwatch::on(clr)
        .args("run --format ndjson -o /dev/null")
        .args(options)
        .app(clr, "environment", "")?
        .output()?
        .expect(0)?;
    let said = ended.out()?.to_owned();
    Ok(move |who: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(who)?.strip_prefix(' '));
        Ok(line.with_context(|| format!("no line of {who}:\n{said}"))?.to_owned())
    })
}

fn at_roots(clr: &Clr) -> Result<()> {
    let names = names(clr, "--level roots")?;
    for who in ["own", "child", "native"] {
        ensure!(names(who)? == "none", "{who}: {}", names(who)?);
    }
    Ok(())
}

/// Nothing is loaded that could change what the C library has. The port is answered for as long as it is there.
fn at_basic(clr: &Clr) -> Result<()> {
    let names = names(clr, "--level basic")?;
    for who in ["own", "child"] {
        ensure!(names(who)? == "none", "{who}: {}", names(who)?);
    }
    ensure!(["none", "DOTNET_DiagnosticPorts"].contains(&names("native")?.as_str()), "{}", names("native")?);
    Ok(())
}

/// The port stays: further processes shall be watched too. What is one process's own does not.
fn followed(clr: &Clr) -> Result<()> {
    let names = names(clr, "--follow --level roots")?;
    for who in ["own", "child", "native"] {
        ensure!(names(who)? == "DOTNET_DiagnosticPorts", "{who}: {}", names(who)?);
    }
    Ok(())
}
