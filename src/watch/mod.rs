//! One watching of one target: stream open, profiler in, lease held, profiler out.

pub(crate) mod admission;
pub(crate) mod estimate;
pub(crate) mod launch;
mod library;
mod life;
pub(crate) mod plan;
pub(crate) mod playback;
pub(crate) mod port_guard;
pub(crate) mod profiler;
pub(crate) mod pump;
pub(crate) mod recording;
pub(crate) mod replay;
pub(crate) mod session;
pub(crate) mod step_back;
pub(crate) mod stream;
pub(crate) mod unheard;
pub(crate) mod windows;
