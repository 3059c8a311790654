//! The model against any order of events that the runtime's rules allow, and against any bytes.
//!
//! [`plan`] says what happens, [`runtime`] makes it happen as events, [`payload`] gives them their bytes;
//! [`naive`] reads the list of events at leisure, knowing to which collection each belongs, and
//! [`properties`] holds the model's records against that. [`profiler`] does the same for the profiler's records,
//! [`hostile`] feeds whatever comes.

mod hostile;
mod naive;
mod payload;
mod plan;
mod profiler;
mod properties;
mod runtime;
