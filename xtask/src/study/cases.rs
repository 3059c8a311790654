//! What is compared: the program, its changes, and the gates.

/// The name of the case in which nothing was changed.
pub(super) const UNCHANGED: &str = "unchanged";
/// A baseline of the same program that was taken earlier in the study.
pub(super) const EARLIER: &str = "earlier";
/// The changes of `tests/apps/gate.cs`.
pub const CHANGES: [&str; 5] = ["midlife", "old", "more", "collect", "large"];

/// A small gen0 budget gives a run of a third of a second about as many collections as a service has in several seconds.
pub(super) const ENVIRONMENT: [(&str, &str); 2] = [("DOTNET_GCgen0size", "400000"), ("DOTNET_gcServer", "0")];

/// The gates that are tried, each alone: a metric, and by how much it may rise.
pub(super) const GATES: [&str; 11] = [
    "heap.after.max > +10%",
    "heap.after.mean > +10%",
    "committed.max > +10%",
    "promoted.mean > +10%",
    "promoted.percent > +1%",
    "gc.gen2.count > +10%",
    "gen2.per_gib > +10%",
    "gc.per_gib > +10%",
    "alloc.total > +10%",
    "pause.per_gib > +10%",
    "pause.p99 > +10%",
];
/// Gates that are also tried together.
pub(super) const FAMILIES: [&[&str]; 2] = [
    &["heap.after.max > +10%", "committed.max > +10%", "promoted.mean > +10%", "gen2.per_gib > +10%"],
    &[
        "heap.after.mean > +10%",
        "committed.max > +10%",
        "promoted.mean > +10%",
        "gc.gen2.count > +10%",
        "alloc.total > +10%",
    ],
];

/// The programs of which is measured how well the metrics repeat: a name, and how it is called.
pub(super) const REPEATED: [(&str, &str); 3] =
    [("gate", "unchanged"), ("churn", "work=150000 threads=2"), ("bench", "old=100000 iterations=5000000")];
/// The levels, each of which has metrics of its own.
pub(super) const LEVELS: [&str; 3] = ["basic", "moves", "roots"];
/// The case of the runs that show how well metrics repeat.
pub(super) const REPEATS: &str = "repeats";
