//! Takes a snapshot out of a `.nettrace` recording.

use std::io::{Read, Write};

use dotnet_diagnostics_client::nettrace::{FileError, FileReader, Item};

use super::collector::{Event, Provider, Snapshot};
use super::write::Taken;
use crate::exchange::{Counts, Error, Result};
use crate::format::GraphWriter;

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Writes the snapshot with this number (0: the first) in a `.nettrace` recording, as [`Snapshot::write_with`] does. `name`
/// makes the names of types; [`type_name`](super::type_name) is one that does.
///
/// # Errors
/// The files cannot be read or written; there is no such snapshot, which is so of files that are no recordings, too; or the
/// process has 32 bits. Events that are lost or damaged are no error: [`Taken`] tells them.
pub fn read<W: Write>(
    input: impl Read,
    number: u32,
    name: &dyn Fn(&str) -> String,
    writer: &mut GraphWriter<W>,
) -> Result<(Taken, Counts)> {
    let mut reader = FileReader::new(input);
    let mut snapshot = Snapshot::new(number);
    let (mut process_id, mut damaged) = (None, 0);
    loop {
        match reader.next_item() {
            Ok(Some(Item::Trace(trace))) if trace.pointer_size != 8 => return Err(Error::Not64Bit),
            Ok(Some(Item::Trace(trace))) => process_id = Some(trace.process_id),
            Ok(Some(Item::Lost(lost))) => snapshot.lost(lost.events),
            Ok(Some(Item::Event(event))) => {
                let provider = match &*event.metadata.provider {
                    RUNTIME => Provider::Runtime,
                    RUNDOWN => Provider::Rundown,
                    _ => continue,
                };
                snapshot.event(Event {
                    provider,
                    id: event.metadata.event_id,
                    version: event.version(),
                    payload: event.payload,
                });
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(FileError::Io(error)) => return Err(error.into()),
            Err(_) => damaged += 1,
        }
    }
    let (mut taken, counts) = snapshot.write_with(writer, name)?;
    taken.process_id = process_id.filter(|id| *id != 0);
    taken.damaged = taken.damaged.saturating_add(damaged);
    Ok((taken, counts))
}
