//! Tests of the nettrace reader with streams built by hand, real recordings, and damaged streams.

#![allow(clippy::print_stderr)] // a skipped test says why

mod builder;
mod collect;
mod damage;
mod deferred;
mod format;
mod hostile;
mod loss;
mod order;
mod parts;
mod real;
mod symbols;
mod values;
mod version6;
