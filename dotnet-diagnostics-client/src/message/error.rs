//! Requests that must not be sent, and answers that cannot be understood.

/// Length of a frame's header in bytes.
pub(crate) const HEADER_SIZE: usize = 20;
/// Longest payload in bytes that the 16-bit size field of a frame can describe.
pub(crate) const MAX_PAYLOAD: usize = u16::MAX as usize - HEADER_SIZE;

/// Bytes that are not the diagnostics protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The frame does not begin with the protocol's magic.
    #[error("the frame does not begin with DOTNET_IPC_V1")]
    BadMagic,
    /// The header announces less than its own size.
    #[error("the header announces a frame of {size} bytes, less than the header itself")]
    BadSize {
        /// Announced size in bytes.
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
        /// Bytes that are left.
        available: usize,
    },
    /// A length is larger than anything a runtime sends.
    #[error("a length of {length} bytes is announced, more than the {max} that are accepted")]
    TooLong {
        /// Announced length in bytes.
        length: u32,
        /// The most that is accepted.
        max: u32,
    },
    /// What dialled the diagnostic port did not introduce itself as a runtime.
    #[error("the connection did not begin with a runtime's advertisement")]
    BadAdvertisement,
}

/// A value that must not be sent: a request that a runtime cannot decode may crash it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// The text is empty where the runtime needs one.
    #[error("the {what} is empty")]
    Empty {
        /// Which value.
        what: &'static str,
    },
    /// The text contains a NUL, which would end it early.
    #[error("the {what} contains a NUL character")]
    EmbeddedNul {
        /// Which value.
        what: &'static str,
    },
    /// A variable's name contains "=".
    #[error("the variable name {name:?} contains \"=\"")]
    EqualsSign {
        /// The name.
        name: String,
    },
    /// NativeAOT crashes when it is asked to remove a variable (seen on 8.0.31); an empty value is possible.
    #[error("this runtime would crash on removing {name}; it can only be set, to an empty text for example")]
    RemovalWouldCrash {
        /// The variable's name.
        name: String,
    },
    /// Event levels go from 0 to 5.
    #[error("level {level} of provider {provider} is above 5")]
    Level {
        /// Name of the provider.
        provider: String,
        /// The level asked for.
        level: u32,
    },
    /// The buffer is 0, or too large for a 32-bit target.
    #[error("a buffer of {buffer_mb} MB: 1 to {max} are possible")]
    Buffer {
        /// The size asked for, in MB.
        buffer_mb: u32,
        /// The largest possible, in MB.
        max: u32,
    },
    /// A session has 1 to 1000 providers.
    #[error("{count} providers: a session has 1 to {max}")]
    ProviderCount {
        /// Number of providers asked for.
        count: usize,
        /// The most possible.
        max: usize,
    },
    /// The request does not fit one frame.
    #[error("the request has {length} bytes, {} are possible", MAX_PAYLOAD)]
    TooLong {
        /// Length of the payload in bytes.
        length: usize,
    },
}
