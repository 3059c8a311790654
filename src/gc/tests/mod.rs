//! Tests the model with any order of events that the runtime's rules allow, and with any bytes.
//!
//! [`plan`] says what happens, [`runtime`] makes events of it, and [`payload`] encodes them. [`naive`] knows to which
//! collection each event belongs and computes the expected record; [`properties`] compares the model's records with it.
//! [`walk_end`] has what only the sum of the bytes can tell. [`profiler`] does the same for the profiler's records, [`hostile`] sends arbitrary events.

mod hostile;
mod naive;
mod payload;
mod plan;
mod profiler;
mod properties;
mod runtime;
mod walk_end;
