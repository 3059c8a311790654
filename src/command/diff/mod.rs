//! `gcwatch diff`: compares two watches, or several runs with several others.

mod comparable;
mod files;
mod pair;
mod several;
mod side;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::conclude::report_failed;
use super::{output, spared};
use crate::cli::DiffArgs;
use crate::exit::{Code, Failure};

pub(crate) fn run(args: &DiffArgs) -> Result<Code, Failure> {
    let to = args.comparison.output.as_deref();
    let [before, after] = sides(args)?;
    spared::inputs(to, before.iter().chain(&after).map(PathBuf::as_path))?;
    // Before the files are read, which may take long.
    let mut file = to.filter(|path| *path != Path::new("-")).map(output::create).transpose()?;
    let (text, annotations, code) = match (before.as_slice(), after.as_slice()) {
        ([before], [after]) => pair::run(args, [before, after])?,
        _ => several::run(args, [&before, &after])?,
    };
    output::annotate(args.comparison.format_by_default, &annotations);
    let written = match &mut file {
        Some(file) => file.write_all(text.as_bytes()).and_then(|()| file.flush()),
        None => io::stdout().write_all(text.as_bytes()),
    };
    match written {
        // A closed pipe is no failure, and keeps the verdict's exit code.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => report_failed(&e, to).map(|_| code),
        _ => Ok(code),
    }
}

/// The files of both sides. Without `--` there are two arguments, one a side.
fn sides(args: &DiffArgs) -> Result<[Vec<PathBuf>; 2], Failure> {
    let sides = match (args.before.as_slice(), args.after.as_slice()) {
        ([before, after], []) => [std::slice::from_ref(before), std::slice::from_ref(after)],
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
        (before, after) => [before, after],
    };
    Ok([files::of(sides[0])?, files::of(sides[1])?])
}
