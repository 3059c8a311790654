//! Names: which types, methods and static fields the roots of a collection belong to.
//!
//! During the pause, objects and frames keep their classes and methods loaded. Only then does the agent read what an
//! identifier is: module, token and type arguments. The name of a token is read later, by a thread of our own. The
//! module may be unloaded meanwhile: what was seen of it before is then void, and the unloading waits at a gate for the
//! one definition that is being read.

mod allocated_by;
mod budget;
mod facts;
mod handle_watch;
mod handles;
mod helpers;
mod induced_by;
pub(super) mod known;
mod lookup;
mod modules;
mod pace;
pub(super) mod queue;
pub(super) mod resolver;
mod roots;
mod schedule;
mod stack;
pub(super) mod state;
pub(super) mod static_search;
mod static_values;
mod statics;
pub(super) mod thread;
mod typed_roots;
