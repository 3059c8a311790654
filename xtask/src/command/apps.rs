//! `cargo xtask apps`

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;

pub(crate) fn run() -> Result<ExitCode> {
    for name in xtask::apps::names()? {
        writeln!(io::stdout(), "{name} {}", xtask::apps::build(&name)?.display())?;
    }
    Ok(ExitCode::SUCCESS)
}
