//! The nettrace reader against streams built by hand, real recordings, and damage done to them.

mod builder;
mod collect;
mod damage;
mod format;
mod loss;
mod order;
mod real;
mod version6;
