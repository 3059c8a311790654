#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
pub mod discovery;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
pub mod nettrace;
#[cfg(feature = "client")]
pub mod process;

mod guid;

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod command;
#[cfg(feature = "client")]
mod endpoint;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
mod event_session;
#[cfg(feature = "client")]
mod event_stream;
#[cfg(feature = "client")]
mod exchange;
#[cfg(feature = "client")]
mod hresult;
#[cfg(feature = "client")]
mod message;
#[cfg(feature = "client")]
mod pinned;
#[cfg(feature = "client")]
mod port;
#[cfg(feature = "client")]
mod process_status;
#[cfg(feature = "client")]
mod session;
#[cfg(feature = "client")]
mod sys;
#[cfg(feature = "client")]
mod transport;
#[cfg(feature = "client")]
mod way;

pub use guid::{Guid, ParseGuidError};

#[cfg(feature = "client")]
pub use crate::{
    client::{Client, DEFAULT_TIMEOUT},
    command::{CoreDump, DumpKind, PerfMap, ProcessInfo},
    discovery::{Found, Listing, NotFound, NotFoundReason, RejectReason, Rejected, SearchedDirectory},
    endpoint::Endpoint,
    error::{Error, Result},
    event_session::EventSession,
    event_stream::{EventStream, StopHandle, StreamError},
    hresult::HResult,
    message::{Command, InvalidRequest, Operation, ProtocolError},
    pinned::{Dial, Pinned},
    port::{Advertise, DiagnosticPort, Listener, PortClient, PortConnections},
    process_status::ProcessStatus,
    session::{
        BufferMode, CollectTracingVersion, EventFilter, Keywords, Level, Provider, Rundown, SessionConfig,
        SessionId,
    },
    transport::{Peer, Stream},
    way::Transport,
};
#[cfg(feature = "client")]
#[allow(unused_imports, unreachable_pub, reason = "some systems have nothing of their own")]
pub use sys::public::*;
