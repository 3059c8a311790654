//! Converts heap graphs: `cargo run --release --example convert -- FROM TO`.
//!
//! FROM is a `.gcgraph`, a `.gcdump` or a `.nettrace` file, and TO a `.gcgraph` or a `.gcdump` file.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Cursor};
use std::path::{Path, PathBuf};

use dotnet_heap_graph::exchange::{gcdump, snapshot};
use dotnet_heap_graph::format::{GraphWriter, Reader};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "an example")]
fn main() -> Result<()> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [from, to] = paths.as_slice() else { return Err("two files are needed".into()) };
    let input = File::open(from)?;
    let mut writer = GraphWriter::new(Vec::new())?;
    let mut description = gcdump::Description::default();
    let reader = match extension(from) {
        "gcgraph" => Reader::new(input)?,
        "gcdump" => {
            let (found, counts) = gcdump::read(input, &mut writer)?;
            println!("{found:?}\n{counts:?}");
            description = found;
            Reader::new(Cursor::new(writer.finish()?))?
        }
        _ => {
            let (taken, counts) = snapshot::read(input, 0, &snapshot::type_name, &mut writer)?;
            println!("{taken:?}\n{counts:?}");
            description.process_id = taken.process_id;
            Reader::new(Cursor::new(writer.finish()?))?
        }
    };
    let mut output = BufWriter::new(File::create(to)?);
    if extension(to) == "gcdump" {
        let (_, counts) = gcdump::write(&reader, &description, output)?;
        println!("{counts:?}");
        return Ok(());
    }
    // A `.gcgraph` file of another one has the same frames.
    let mut copy = dotnet_heap_graph::format::Writer::new(&mut output)?;
    let mut buffer = dotnet_heap_graph::format::FrameBuffer::default();
    let end = reader.end().copied().unwrap_or_default();
    for frame in
        reader.frames().iter().filter(|frame| frame.kind() != dotnet_heap_graph::format::FrameKind::END)
    {
        copy.write_frame(frame.kind(), reader.payload(frame, &mut buffer)?)?;
    }
    copy.finish(end)?;
    Ok(())
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}
