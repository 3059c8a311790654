#![doc = include_str!("../README.md")]

pub mod discovery;
#[cfg(all(feature = "fuzz", unix))]
#[doc(hidden)]
pub mod fuzz;
pub mod nettrace;
pub mod process;

mod client;
mod command;
mod endpoint;
mod error;
mod guid;
mod hresult;
mod message;
mod pinned;
mod port;
mod process_facts;
mod sys;
mod transport;

pub use client::{Client, DEFAULT_TIMEOUT};
pub use command::{
    CollectCommand, EventFilter, EventSession, ProcessInfo, Provider, Rundown, SessionConfig, SessionId,
};
pub use discovery::{Found, Listing, NotFound, NotFoundReason, Rejected, Rejection, SearchedDirectory};
pub use endpoint::Endpoint;
pub use error::{Error, Result};
pub use guid::{Guid, ParseGuidError};
pub use hresult::HResult;
pub use message::{InvalidRequest, ProtocolError};
pub use pinned::{Dial, Pinned};
pub use port::{Advertised, Listener, Port, PortClient, PortConnections};
pub use process_facts::ProcessFacts;
#[cfg(windows)]
pub use sys::{PipeAccess, SecurityDescriptor, own_user_sid, sid_text, user_sid};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use sys::{ProcessFiles, ProcessRights};
pub use transport::{Peer, Stream, Transport};
