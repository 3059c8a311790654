//! `gcwatch diff`: compares two watches, or several runs with several others.

mod exit_code;
mod pair;
mod several;
mod side;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::conclude::report_failed;
use super::spared;
use crate::cli::DiffArgs;
use crate::exit::{Code, Failure};
use crate::sys;

pub(crate) fn run(args: &DiffArgs) -> Result<Code, Failure> {
    spared::inputs(args.output.as_deref(), args.before.iter().chain(&args.after).map(PathBuf::as_path))?;
    let (text, code) = match (args.before.as_slice(), args.after.as_slice()) {
        ([before, after], []) | ([before], [after]) => pair::run(args, [before, after])?,
        (given, []) => {
            let what = match given {
                [one] => format!("{} alone has nothing to be compared with", one.display()),
                _ => {
                    format!("{} files were given, and not which of them come before the change", given.len())
                }
            };
            return Err(Failure::new(Code::USAGE, what).remedy(
                "gcwatch diff BEFORE AFTER, or gcwatch diff BEFORE1 BEFORE2 ... -- AFTER1 AFTER2 ...",
            ));
        }
        (before, after) => several::run(args, [before, after])?,
    };
    let written = match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => sys::create(path).and_then(|mut file| file.write_all(text.as_bytes())),
        None => io::stdout().write_all(text.as_bytes()),
    };
    match written {
        // A closed pipe is no failure, and keeps the verdict's exit code.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            report_failed(&e, args.output.as_deref()).map(|_| code)
        }
        _ => Ok(code),
    }
}
