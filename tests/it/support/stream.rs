//! Reads nettrace files; of the code under test it uses the reader only.

use std::path::Path;

use anyhow::{Context, Result, bail};
use dotnet_diagnostics_client::nettrace::{Event, Item, Reader};

pub(crate) const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// Calls `with` for each item of a file before its end tag.
pub(crate) fn each_item(path: &Path, mut with: impl FnMut(&Item<'_>) -> Result<()>) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("there is no {}", path.display()))?;
    let mut reader = Reader::new();
    reader.feed(&bytes);
    reader.finish();
    while let Some(item) = reader.next_item()? {
        if matches!(item, Item::End(_)) {
            break;
        }
        with(&item)?;
    }
    Ok(())
}

/// Calls `with` for each event of the runtime's provider; fails if the file has lost events.
pub(super) fn each_event(path: &Path, mut with: impl FnMut(&Event<'_>) -> Result<()>) -> Result<()> {
    each_item(path, |item| match item {
        Item::Event(event) if &*event.metadata.provider == RUNTIME => with(event),
        Item::Lost(lost) => {
            bail!("the runtime's own session lost {} events: the test needs a smaller load", lost.events)
        }
        _ => Ok(()),
    })
}
