//! Linux: facts from `/proc`, and sockets in the namespaces of their processes.

mod environ;
mod facts;
mod namespaces;
mod proc;
mod sockets;

pub(crate) use environ::{environ, has_variable};
pub(crate) use facts::facts;
pub(crate) use namespaces::{OwnNamespaces, socket_place};
pub(crate) use proc::{children, cpu_ticks, exists, is_stopped, pids, start_time, uid};
pub(crate) use sockets::{is_listening, may_connect, socket, sockets};
