//! The built library in a mock runtime.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
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
