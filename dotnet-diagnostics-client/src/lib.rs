//! A client for the .NET runtime's diagnostics IPC protocol, and a reader for the nettrace streams that it sends.
//!
//! Every .NET process has a diagnostics server, which takes commands on a Unix domain socket or a Windows named pipe:
//! give information about the process, send events, load a profiler. This crate
//!
//! - finds that endpoint ([`discovery`]),
//! - sends commands ([`Client`]),
//! - lets runtimes connect that are to be observed from their first instruction ([`Port`]),
//! - reads the events ([`nettrace`]).
//!
//! It needs no .NET SDK or runtime.
//!
//! ```no_run
//! use dotnet_diagnostics_client::{Client, Provider, Rundown, SessionConfig, discovery};
//! use tokio::io::AsyncReadExt;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(discovery::find(4711)?);
//! let info = client.process_info().await?;
//! println!("{} runs .NET {:?}", info.command_line, info.clr_version);
//!
//! let mut session = client
//!     .collect_tracing(&SessionConfig {
//!         buffer_mb: 256,
//!         providers: vec![Provider::new("Microsoft-Windows-DotNETRuntime", 0x1, 4)],
//!         rundown: Rundown::None,
//!         stacks: false,
//!     })
//!     .await?;
//! let id = session.id();
//! let mut trace = Vec::new();
//! // The runtime answers the stop only after the stream was read to its end, so both run concurrently.
//! let (read, stopped) = tokio::join!(session.read_to_end(&mut trace), async {
//!     tokio::time::sleep(std::time::Duration::from_secs(5)).await;
//!     client.stop_tracing(id).await
//! });
//! read?;
//! stopped?;
//! # Ok(())
//! # }
//! ```
//!
//! # Properties of the protocol
//!
//! - The diagnostics server serves one connection at a time. This client opens a connection per command, and each
//!   command has a timeout.
//! - A malformed request can crash the target, so requests are checked before they are sent ([`InvalidRequest`]).
//! - The commands depend on the version of the runtime. If a command has variants, the client tries the newest first.
//! - Only the user of the target and the administrator may connect to its endpoint.

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
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use sys::{ProcessFiles, ProcessRights};
pub use transport::{Peer, Stream, Transport};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
