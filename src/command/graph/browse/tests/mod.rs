//! What each key does, and what is drawn, without a terminal.

mod drawing;
mod fixture;
mod navigation;
mod tree;
