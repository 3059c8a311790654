//! How long it takes to load and analyse large graphs, and how much memory.
//!
//! `scale [OBJECTS] [SHAPE...]` makes graphs of several shapes with three references for each object, writes them to
//! temporary files, and analyses each in a process of its own, whose highest use of memory it prints. `scale analyse FILE`
//! analyses a file.

#![allow(clippy::print_stdout, reason = "it prints measurements")]

mod analyse;
mod shape;

use std::process::Command;

use shape::{SHAPES, write};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [word, path] if word == "analyse" => analyse::analyse(path),
        rest => {
            let objects = rest.first().map_or(Ok(1_000_000), |number| number.replace('_', "").parse())?;
            let wanted = |name: &str| rest.len() < 2 || rest.iter().skip(1).any(|wanted| wanted == name);
            let program = std::env::current_exe()?;
            for (name, shape) in SHAPES.iter().filter(|(name, _)| wanted(name)) {
                let file = tempfile::NamedTempFile::new()?;
                let start = std::time::Instant::now();
                let references = write(file.as_file(), *shape, objects)?;
                let bytes = file.as_file().metadata()?.len();
                println!(
                    "{name}: {objects} objects, {references} references, {} MiB in the file, {:.1} bytes for each object and \
                     reference, written in {:.2} s",
                    bytes >> 20,
                    bytes as f64 / (objects + references) as f64,
                    start.elapsed().as_secs_f64()
                );
                let status = Command::new(&program).arg("analyse").arg(file.path()).status()?;
                if !status.success() {
                    return Err(format!("the analysis ended with {status}").into());
                }
            }
            Ok(())
        }
    }
}
