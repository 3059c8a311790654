//! What all keys do.

/// At most 24 lines of 80 columns.
pub(super) const LINES: [&str; 23] = [
    "1, 2, 3, 4     types; what keeps what alive; objects of the selected type;",
    "               the selected object",
    "Tab            the next view (Shift-Tab: the one before)",
    "Up, Down       the row above, below (also k, j)",
    "PgUp, PgDn     a page up, down",
    "Home, End      the first, the last row (also g, G)",
    "Enter          goes into the selected row",
    "Backspace, Esc goes back",
    "q, Ctrl-C      leaves",
    "",
    "Types          s sorts by something else, / searches for a part of a name",
    "Tree           Right and Left open and close a row (also l, h); Enter does",
    "               both. Below an object are those that it alone keeps alive. More",
    "               than 100 are shown by type.",
    "Object         p goes to its path from a root, f to its references, r to the",
    "               types of the objects that refer to it",
    "",
    "retained       what would be garbage without the object, or without all",
    "               objects of the type",
    "own size, size of the objects themselves",
    "garbage        nothing keeps it alive; no collection has freed it yet",
    "",
    "Any key ends this help.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_a_small_terminal() {
        assert!(LINES.len() <= 24 && LINES.iter().all(|line| line.len() < 80));
    }
}
