//! The advertisement of a runtime, 34 bytes: `"ADVR_V1\0"`, cookie, process id, two reserved bytes.

use crate::error::Result;
use crate::exchange::{self, read_exact};
use crate::guid::Guid;
use crate::message::{Operation, PayloadReader, ProtocolError};
use crate::transport::Stream;

pub(super) const OPERATION: Operation = Operation::Accept;

const MAGIC: &[u8; 8] = b"ADVR_V1\0";
const SIZE: usize = 34;

/// A connection of a runtime to a port, on which the runtime waits for one command.
#[derive(Debug)]
#[non_exhaustive]
pub struct Advertise {
    /// Id of the runtime instance, the same on each of its connections.
    pub cookie: Guid,
    /// Process id in the PID namespace of the target.
    pub pid: u64,
    /// The connection.
    pub stream: Stream,
}

impl Advertise {
    pub(crate) async fn read(mut stream: Stream) -> Result<Self> {
        let mut bytes = [0; SIZE];
        read_exact(&mut stream, &mut bytes, OPERATION).await?;
        let (cookie, pid) = exchange::decode(OPERATION, decode(&bytes))?;
        Ok(Self { cookie, pid, stream })
    }
}

fn decode(bytes: &[u8; SIZE]) -> Result<(Guid, u64), ProtocolError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(ProtocolError::BadAdvertisement)?;
    let mut reader = PayloadReader::new(rest);
    Ok((reader.guid()?, reader.u64()?))
}
