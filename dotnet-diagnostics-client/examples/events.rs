//! Prints provider, name and fields of every event in `.nettrace` files: `events FILE...`.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};

use dotnet_diagnostics_client::nettrace::{FileReader, Item};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for path in std::env::args_os().skip(1) {
        let mut reader = FileReader::new(File::open(path)?);
        while let Some(item) = reader.next_item()? {
            if let Item::Event(event) = item {
                write!(out, "{} {}", event.metadata.provider.escape_debug(), event.name().escape_debug())?;
                for (name, value) in event.fields() {
                    write!(out, " {}={value}", name.escape_debug())?;
                }
                writeln!(out)?;
            }
        }
    }
    out.flush().map_err(Into::into)
}
