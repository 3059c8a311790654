//! Reads nettrace files without the code under test beyond the reader.

use std::path::Path;

use anyhow::{Context, Result, bail};
use dotnet_diagnostics_client::nettrace::{Event, Item, Reader};

pub(crate) const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// Calls `with` for each item of a file up to its end.
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

/// Calls `with` for each event of the runtime in a file that has to be without losses.
pub(super) fn each_event(path: &Path, mut with: impl FnMut(&Event<'_>) -> Result<()>) -> Result<()> {
    each_item(path, |item| match item {
        Item::Event(event) if &*event.metadata.provider == RUNTIME => with(event),
        Item::Lost(lost) => {
            bail!("the runtime's own session lost {} events: the test needs less work", lost.events)
        }
        _ => Ok(()),
    })
}
