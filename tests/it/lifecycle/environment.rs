//! Variables that gcwatch sets for a program are gone when the program and its children look.

use anyhow::{Context, Result, ensure};
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::Gcwatch;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("environment::of_a_program_and_its_children", &[], at_roots);
    suite.once("environment::at_a_lower_level", &[], at_basic);
    suite.each("environment::of_a_tree_that_is_followed", &[], followed);
}

/// Runs the program; returns a lookup of its lines by first word.
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

/// No library is loaded that could change the C library's environment. While the port exists, gcwatch answers on it.
fn at_basic(clr: &Clr) -> Result<()> {
    let names = names(clr, "--level basic")?;
    for who in ["own", "child"] {
        ensure!(names(who)? == "none", "{who}: {}", names(who)?);
    }
    ensure!(["none", "DOTNET_DiagnosticPorts"].contains(&names("native")?.as_str()), "{}", names("native")?);
    Ok(())
}

/// With `--follow` the port stays, for further processes; the variables that concern one process are removed.
fn followed(clr: &Clr) -> Result<()> {
    let names = names(clr, "--follow --level roots")?;
    for who in ["own", "child", "native"] {
        ensure!(names(who)? == "DOTNET_DiagnosticPorts", "{who}: {}", names(who)?);
    }
    Ok(())
}
