//! A client for the .NET runtime's diagnostics IPC protocol, and a reader for the nettrace streams that it sends.
//!
//! Every .NET process listens on a Unix domain socket or a Windows named pipe for commands: say who you are, send
//! events, load a profiler. This crate finds that endpoint ([`discovery`]), sends commands ([`Client`]), listens for
//! runtimes that are to be watched from their first instruction ([`Port`]), and reads the events ([`nettrace`]). It needs
//! nothing of .NET itself.
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
//! // The stop is answered only after the stream was read to its end: the two must run side by side.
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
//! # What a caller should know
//!
//! - A runtime's diagnostics server serves one connection at a time. This client connects, sends, reads and closes;
//!   every command is bounded in time.
//! - A malformed request can crash the target. Requests are checked before they are sent ([`InvalidRequest`]).
//! - Which commands exist depends on the runtime's version, and a command that has variants tries the newest first.
//!   An unknown command is refused without harm.
//! - Endpoints belong to the target's user: only that user and the administrator may connect.

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
