//! The built library in the hands of a runtime of our own making: what it is told has to come out
//! again, whatever else happens.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests say what is wrong by failing"
)]

#[path = "../mock/mod.rs"]
mod mock;

#[path = "mock_clr/arming.rs"]
mod arming;
#[path = "mock_clr/counting.rs"]
mod counting;
#[path = "mock_clr/handles.rs"]
mod handles;
#[path = "mock_clr/leaving.rs"]
mod leaving;
#[path = "mock_clr/loading.rs"]
mod loading;
#[path = "mock_clr/naming.rs"]
mod naming;
