//! The operating system that gcwatch is built for.

#[cfg(unix)]
pub(crate) use super::unix::*;
#[cfg(windows)]
pub(crate) use super::windows::*;
