#![doc = include_str!("../README.md")]

pub mod discovery;
#[cfg(feature = "fuzz")]
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
#[allow(unused_imports, unreachable_pub, reason = "some systems have nothing of their own")]
pub use sys::public::*;
pub use transport::{Peer, Stream, Transport};
