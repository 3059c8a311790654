//! Requests that must not be sent, and answers that cannot be understood.

/// Length of a frame's header in bytes.
pub(crate) const HEADER_SIZE: usize = 20;
/// Longest payload in bytes that the 16-bit size field of a frame can describe.
pub(crate) const MAX_PAYLOAD: usize = u16::MAX as usize - HEADER_SIZE;

/// What is wrong with an answer that does not follow the diagnostics protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The frame does not begin with the magic bytes of the protocol.
    #[error("the frame does not begin with DOTNET_IPC_V1")]
    BadMagic,
    /// The header states a size that is smaller than the header.
    #[error("the header announces a frame of {size} bytes, less than the header itself")]
    BadSize {
        /// Stated size in bytes.
        size: u16,
    },
    /// The frame is neither an OK nor an error reply.
    #[error("command set {set:#04x}, id {id:#04x} is not a reply")]
    UnexpectedReply {
        /// Command set of the frame.
        set: u8,
        /// Command id of the frame.
        id: u8,
    },
    /// The payload ends inside a value.
    #[error("{requested} bytes are needed at offset {offset} of the payload, {available} are left")]
    Truncated {
        /// Offset in the payload.
        offset: usize,
        /// Bytes that the value needs.
        requested: u64,
        /// Bytes that the payload still has.
        available: usize,
    },
    /// A length is larger than any that a runtime sends.
    #[error("a length of {length} bytes is announced, more than the {max} that are accepted")]
    TooLong {
        /// Stated length in bytes.
        length: u32,
        /// Largest accepted length in bytes.
        max: u32,
    },
    /// The peer that connected to the diagnostic port did not send the advertisement of a runtime.
    #[error("the connection did not begin with a runtime's advertisement")]
    BadAdvertisement,
}

/// A value that must not be sent, because a request that the runtime cannot decode can crash it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// A text is empty that the runtime requires.
    #[error("the {what} is empty")]
    Empty {
        /// Which value.
        what: &'static str,
    },
    /// A text contains a NUL, which would end it.
    #[error("the {what} contains a NUL character")]
    EmbeddedNul {
        /// Which value.
        what: &'static str,
    },
    /// The name of a variable contains "=".
    #[error("the variable name {name:?} contains \"=\"")]
    EqualsSign {
        /// The name.
        name: String,
    },
    /// The runtime is NativeAOT or Mono. NativeAOT crashes when it is asked to remove a variable (seen with 8.0.31).
    #[error("this runtime would crash on removing {name}; it can only be set, to an empty text for example")]
    RemovalWouldCrash {
        /// Name of the variable.
        name: String,
    },
    /// The runtime is suspended at its start. .NET 8 and 9 crash on this command then.
    #[error("this runtime is suspended at its start and could crash; resume it first")]
    Suspended,
    /// The buffer size is 0, or too large for a 32-bit target.
    #[error("a buffer of {buffer_mb} MB: 1 to {max} are possible")]
    Buffer {
        /// The invalid size in units of 2^20 bytes.
        buffer_mb: u32,
        /// Largest size in units of 2^20 bytes.
        max: u32,
    },
    /// The session has no provider or more than 1000.
    #[error("{count} providers: a session has 1 to {max}")]
    ProviderCount {
        /// Number of providers.
        count: usize,
        /// Largest number of providers.
        max: usize,
    },
    /// The request does not fit into a frame.
    #[error("the request has {length} bytes, {} are possible", MAX_PAYLOAD)]
    TooLong {
        /// Length of the payload in bytes.
        length: usize,
    },
}
