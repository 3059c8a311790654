//! Which object keeps which others alive on its own.

mod amount;
mod flow;
mod groups;
mod layout;
mod pieces;
mod search;
mod semi;
mod tree;

pub use self::{
    amount::Amount,
    tree::{Dominator, Dominators, Ordered},
};
