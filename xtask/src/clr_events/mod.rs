//! The table of the CLR's own events, made from the manifest that Microsoft describes them in.
//!
//! For an event of the CLR, a stream of the runtime has only a provider, an id and a version: no name and no fields.
//! The manifest, `src/coreclr/vm/ClrEtwAll.man` of dotnet/runtime, has them. It is no part of this repository.

mod element;
mod event;
mod provider;
mod strings;
mod template;
mod words;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use self::element::Element;
use self::provider::Provider;
use self::strings::Strings;

/// The file, below the root of the workspace.
const FILE: &str = "dotnet-diagnostics-client/src/nettrace/clr/events.txt";
const HEAD: &str = "# Made by `cargo xtask clr-events` from the CLR's manifest. Do not edit.\n";
/// The providers whose events a stream of EventPipe can have, in the order of the file.
const PROVIDERS: [&str; 3] = [
    "Microsoft-Windows-DotNETRuntime",
    "Microsoft-Windows-DotNETRuntimeRundown",
    "Microsoft-Windows-DotNETRuntimePrivate",
];

/// Makes the table: for each provider a line with its name, one for each keyword, and one for each version of each
/// event.
///
/// # Errors
/// If the manifest is no XML, or has something that is not known here.
pub fn table(manifest: &str) -> Result<String> {
    let document = Element::parse(manifest)?;
    let strings = Strings::read(&document)?;
    let mut text = HEAD.to_owned();
    for name in PROVIDERS {
        let provider = Provider::read(&document, name)?;
        writeln!(text, "provider {name}")?;
        text += &provider.keyword_lines()?;
        text += &event::lines(&provider, &strings).with_context(|| format!("provider {name}"))?;
    }
    Ok(text)
}

/// Writes the table of this manifest into the crate.
///
/// # Errors
/// Those of [`table`], or if the file cannot be written.
pub fn write(manifest: &str, root: &Path) -> Result<()> {
    fs::write(root.join(FILE), table(manifest)?).context(FILE)
}

/// Checks that the crate has the table of this manifest.
///
/// # Errors
/// Those of [`table`], or if the file cannot be read, or if it differs: the error names the first line that does.
pub fn check(manifest: &str, root: &Path) -> Result<()> {
    let wanted = table(manifest)?;
    let found = fs::read_to_string(root.join(FILE)).context(FILE)?;
    compare(&wanted, &found).with_context(|| format!("{FILE} is not what this manifest gives; see --write"))
}

fn compare(wanted: &str, found: &str) -> Result<()> {
    let (mut wanted, mut found) = (wanted.lines(), found.lines());
    for number in 1.. {
        let (wanted, found) = (wanted.next(), found.next());
        let [want, have] = [wanted, found].map(|line| line.unwrap_or("the end of the file"));
        ensure!(wanted == found, "line {number} is\n  {have}\nand should be\n  {want}");
        if wanted.is_none() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
