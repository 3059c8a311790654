//! Prints the public interface of a library crate, one item per line. `cargo xtask public-api` builds and runs it with
//! the path of a `Cargo.toml`, a directory for builds, and the features.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use serde::Deserialize;

/// Traits that only the compiler implements and that no stable program can name.
const UNSTABLE_TRAITS: [&str; 3] =
    ["core::marker::Freeze", "core::marker::StructuralPartialEq", "core::marker::UnsafeUnpin"];

fn main() -> ExitCode {
    match list() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, there is nothing left to do.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(manifest), Some(target_dir)) = (arguments.next(), arguments.next()) else {
        return Err("usage: gcwatch-public-api CARGO.TOML TARGET-DIR [FEATURE...]".into());
    };
    let features: Vec<String> = arguments.map(|feature| feature.to_string_lossy().into_owned()).collect();
    let json = rustdoc_json::Builder::default()
        .manifest_path(manifest)
        .target_dir(target_dir)
        .features(features)
        .cap_lints(Some("allow"))
        .quiet(true)
        // A stable compiler writes JSON only if it is told to permit unstable options.
        .env("RUSTC_BOOTSTRAP", "1")
        .build()?;
    check_format(&json)?;
    let interface = public_api::Builder::from_rustdoc_json(json)
        // Those of the standard library apply to every type, and change with it. This crate has none of its own.
        .omit_blanket_impls(true)
        .build()?;
    let mut out = io::stdout().lock();
    for item in interface.items() {
        let line = item.to_string();
        if !is_unstable(&line) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(out.flush()?)
}

/// Fails if the file has another format than the one that is read here, which could be misread without an error.
fn check_format(json: &Path) -> Result<(), Box<dyn Error>> {
    #[derive(Deserialize)]
    struct Format {
        format_version: u32,
    }
    let Format { format_version } = serde_json::from_str(&fs::read_to_string(json)?)?;
    if format_version == rustdoc_types::FORMAT_VERSION {
        return Ok(());
    }
    let read = rustdoc_types::FORMAT_VERSION;
    Err(format!("rustdoc writes format {format_version}, and this release of public-api reads format {read}")
        .into())
}

/// Whether a line says that a type implements one of [`UNSTABLE_TRAITS`].
fn is_unstable(line: &str) -> bool {
    let implemented = line.starts_with("impl").then(|| line.split_once(" for ")).flatten();
    implemented.is_some_and(|(before, _)| UNSTABLE_TRAITS.iter().any(|name| before.ends_with(name)))
}
