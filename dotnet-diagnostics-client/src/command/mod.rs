//! The commands, one file per command set.

mod event_pipe;
mod process;
mod profiler;

pub use event_pipe::{
    CollectCommand, EventFilter, EventSession, Provider, Rundown, SessionConfig, SessionId,
};
pub use process::ProcessInfo;

use crate::client::decode;
use crate::error::{Error, Result};
use crate::hresult::HResult;
use crate::message::{CommandCode, InvalidRequest, PayloadReader, PayloadWriter, Request};

/// A request, or the name of the command that was refused here and why.
type Prepared = Result<Request, (&'static str, InvalidRequest)>;

/// Writes a command's payload and frames it.
fn prepare(code: CommandCode, write: impl FnOnce(&mut PayloadWriter)) -> Prepared {
    let mut payload = PayloadWriter::default();
    write(&mut payload);
    Request::new(code, payload).map_err(|reason| (code.name, reason))
}

/// Some commands report a failure in the code inside an OK reply.
fn succeeded(operation: &'static str, payload: &[u8]) -> Result<()> {
    match decode(operation, PayloadReader::new(payload).u32().map(HResult))? {
        code if code.is_success() => Ok(()),
        code => Err(Error::Runtime { operation, code }),
    }
}
