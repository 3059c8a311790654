//! `cargo xtask clr`

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;

pub(crate) fn run() -> Result<ExitCode> {
    for clr in xtask::clr::find_all()? {
        writeln!(io::stdout(), "{} {}", clr.name, clr.root.display())?;
    }
    Ok(ExitCode::SUCCESS)
}
