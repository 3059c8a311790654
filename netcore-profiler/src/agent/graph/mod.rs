//! A graph of the whole heap, taken in a forked copy of the process.
//!
//! At the end of a collection, while the program stands still, the runtime tells the profiler every object. At the first
//! one the process is forked. The program goes on at once. The copy, in which only the collection's own thread exists,
//! lets the runtime tell all objects, sends them over a socket, and ends before anything else can run in it. It uses
//! only calls that take no lock, because another thread may have held one when the copy was made. Where the process
//! cannot be forked, the same walk takes place in the pause, with a deadline.

mod answers;
mod buffer;
mod class_rows;
mod classes;
mod copy;
mod fork;
mod kept;
mod objects;
mod output;
mod rest;
pub(super) mod state;
mod static_fields;
pub(super) mod thread;
