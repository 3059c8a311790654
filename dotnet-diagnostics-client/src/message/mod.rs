//! Frames of the diagnostics protocol: a 20-byte header and a payload of at most 65,515 bytes.
//!
//! ```text
//! offset size
//!      0   14  "DOTNET_IPC_V1\0"
//!     14    2  total size, header included
//!     16    1  command set
//!     17    1  command id
//!     18    2  reserved, 0
//! ```
//! Source: `documentation/design-docs/ipc-protocol.md` of dotnet/diagnostics. An error reply has 24 bytes, not 28 as
//! stated there.

mod command;
mod error;
mod reader;
mod writer;

use crate::hresult::HResult;

pub use command::{Command, Operation};
pub(crate) use error::HEADER_SIZE;
pub use error::{InvalidRequest, ProtocolError};
pub(crate) use reader::PayloadReader;
pub(crate) use writer::PayloadWriter;

const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";

/// Command set of every reply.
const SERVER_SET: u8 = 0xff;
const REPLY_OK: u8 = 0x00;
const REPLY_ERROR: u8 = 0xff;

/// A complete frame, to be sent in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) command: Command,
    pub(crate) bytes: Vec<u8>,
}

impl Request {
    /// A command whose payload `write` encodes.
    pub(crate) fn new(
        command: Command,
        write: impl FnOnce(&mut PayloadWriter) -> &mut PayloadWriter,
    ) -> Result<Self, InvalidRequest> {
        let mut payload = PayloadWriter::default();
        write(&mut payload);
        let payload = payload.finish()?;
        let too_long = InvalidRequest::TooLong { length: payload.len() };
        let size = u16::try_from(payload.len() + HEADER_SIZE).map_err(|_| too_long)?;
        Ok(Self { command, bytes: frame(command.set(), command.id(), &payload, size) })
    }
}

fn frame(set: u8, id: u8, payload: &[u8], size: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_SIZE + payload.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&[set, id, 0, 0]);
    bytes.extend_from_slice(payload);
    bytes
}

/// Kind of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    Ok,
    Error,
}

/// Decodes the header of a reply: its kind, and the length in bytes of the payload that follows.
pub(crate) fn decode_header(header: &[u8; HEADER_SIZE]) -> Result<(ReplyKind, usize), ProtocolError> {
    if !header.starts_with(MAGIC) {
        return Err(ProtocolError::BadMagic);
    }
    let size = u16::from_le_bytes([header[14], header[15]]);
    let (set, id) = (header[16], header[17]);
    let length = usize::from(size).checked_sub(HEADER_SIZE).ok_or(ProtocolError::BadSize { size })?;
    match (set, id) {
        (SERVER_SET, REPLY_OK) => Ok((ReplyKind::Ok, length)),
        (SERVER_SET, REPLY_ERROR) => Ok((ReplyKind::Error, length)),
        _ => Err(ProtocolError::UnexpectedReply { set, id }),
    }
}

/// Decodes the result code at the start of a payload.
pub(crate) fn decode_code(payload: &[u8]) -> Result<HResult, ProtocolError> {
    PayloadReader::new(payload).u32().map(HResult)
}

/// Decodes an error reply: the code, and the text that WriteCoreDump3 appends to it.
pub(crate) fn decode_error(payload: &[u8]) -> Result<(HResult, Option<String>), ProtocolError> {
    let mut reader = PayloadReader::new(payload);
    let code = HResult(reader.u32()?);
    Ok((code, reader.str16().ok().filter(|text| !text.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::error::MAX_PAYLOAD;
    use proptest::prelude::*;

    const PROBE: Command = Command::PROCESS_INFO_3;

    #[test]
    fn an_empty_request_has_the_documented_twenty_bytes() {
        let request = Request::new(PROBE, |payload| payload).unwrap();
        assert_eq!(request.bytes, b"DOTNET_IPC_V1\0\x14\x00\x04\x08\x00\x00");
    }

    #[test]
    fn the_longest_payload_fits_and_one_byte_more_does_not() {
        let fill = |length| Request::new(PROBE, |payload| payload.bytes(&vec![0; length]));
        let longest = fill(MAX_PAYLOAD).unwrap();
        assert_eq!(longest.bytes.len(), 65_535);
        assert_eq!(longest.bytes[14..16], [0xff, 0xff]);
        assert_eq!(fill(MAX_PAYLOAD + 1), Err(InvalidRequest::TooLong { length: 65_516 }));
    }

    fn reply(size: u16, set: u8, id: u8) -> [u8; HEADER_SIZE] {
        frame(set, id, &[], size).try_into().unwrap()
    }

    #[test]
    fn replies_are_distinguished() {
        assert_eq!(decode_header(&reply(24, 0xff, 0)), Ok((ReplyKind::Ok, 4)));
        assert_eq!(decode_header(&reply(24, 0xff, 0xff)), Ok((ReplyKind::Error, 4)));
        assert_eq!(decode_header(&reply(19, 0xff, 0)), Err(ProtocolError::BadSize { size: 19 }));
        assert_eq!(decode_header(&reply(20, 4, 0)), Err(ProtocolError::UnexpectedReply { set: 4, id: 0 }));
        let mut wrong = reply(20, 0xff, 0);
        wrong[0] = b'X';
        assert_eq!(decode_header(&wrong), Err(ProtocolError::BadMagic));
        assert_eq!(decode_code(&[0x85, 0x13, 0x13, 0x80]), Ok(HResult::UNKNOWN_COMMAND));
        assert!(decode_code(&[0x85, 0x13, 0x13]).is_err());
    }

    proptest! {
        #[test]
        fn frames_are_decoded_as_encoded(set: u8, id: u8, payload in prop::collection::vec(any::<u8>(), 0..300)) {
            let bytes = frame(set, id, &payload, (HEADER_SIZE + payload.len()) as u16);
            let header = bytes[..HEADER_SIZE].try_into().unwrap();
            match decode_header(header) {
                Ok((_, length)) => prop_assert_eq!(length, payload.len()),
                Err(error) => prop_assert_eq!(error, ProtocolError::UnexpectedReply { set, id }),
            }
            prop_assert_eq!(&bytes[HEADER_SIZE..], payload);
        }

        #[test]
        fn any_bytes_are_decoded_without_a_panic(header: [u8; HEADER_SIZE], payload in prop::collection::vec(any::<u8>(), 0..8)) {
            let _ = decode_header(&header);
            prop_assert_eq!(decode_code(&payload).is_ok(), payload.len() >= 4);
        }
    }
}
