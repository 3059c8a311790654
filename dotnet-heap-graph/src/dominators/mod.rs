//! Which object keeps which others alive on its own.

mod amount;
mod backward;
mod flow;
mod groups;
mod layout;
mod search;
mod semi;
mod tree;

pub use self::{
    amount::Amount,
    tree::{Dominator, Dominators, Ordered},
};
