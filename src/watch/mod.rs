//! One watch of one target: the session opens, the profiler arrives, the stream is read, the profiler leaves, the session
//! ends. It knows neither what was typed nor how results look.

pub(crate) mod admission;
pub(crate) mod aggregator;
mod attached;
pub(crate) mod control;
mod counters;
pub(crate) mod decoder;
mod estimate;
pub(crate) mod graph;
pub(crate) mod launch;
mod library;
mod life;
pub(crate) mod observer;
pub(crate) mod playback;
pub(crate) mod port;
pub(crate) mod port_guard;
pub(crate) mod processor;
mod profiler;
mod pump;
pub(crate) mod recording;
mod refusal;
pub(crate) mod replay;
pub(crate) mod request;
pub(crate) mod run;
mod sampler;
mod started;
mod startup;
mod step_back;
pub(crate) mod stopped;
pub(crate) mod stream;
pub(crate) mod unreachable;
