//! A document, which is cut where it would be longer than hosts take.

/// The longest document, in bytes. GitHub takes 65,536 characters of a comment and 1 MiB for the summary of a step, GitLab
/// 1 MiB of a comment.
pub(super) const MAX_BYTES: usize = 60_000;
/// Room for the sentence that says what is left out.
const NOTE_BYTES: usize = 500;

/// Lines that belong together. A blank line stands before the next block.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// What the rows are called where some are left out.
    pub(super) name: &'static str,
    pub(super) head: Vec<String>,
    /// The last ones can be left out.
    pub(super) rows: Vec<String>,
    pub(super) tail: Vec<String>,
}

impl Block {
    /// Rows without anything around them.
    pub(super) fn of(name: &'static str, rows: Vec<String>) -> Block {
        Block { name, rows, ..Block::default() }
    }

    /// A table that is folded; a click on its title shows it.
    pub(super) fn folded(name: &'static str, title: &str, head: [&str; 2], rows: Vec<String>) -> Block {
        let mut lines = vec![format!("<details><summary>{title}</summary>"), String::new()];
        lines.extend(head.map(str::to_owned));
        Block { name, head: lines, rows, tail: vec![String::new(), "</details>".to_owned()] }
    }

    /// The bytes of what is no row.
    fn around(&self) -> usize {
        Block::bytes(&self.head) + Block::bytes(&self.tail) + 1
    }

    fn bytes(lines: &[String]) -> usize {
        lines.iter().map(|line| line.len() + 1).sum()
    }
}

/// How much each of these may take, so that all fit and only the largest are cut.
fn share(blocks: &[&Block], budget: usize) -> usize {
    let mut sizes: Vec<usize> =
        blocks.iter().map(|block| block.around() + Block::bytes(&block.rows)).collect();
    sizes.sort_unstable();
    let mut left = budget;
    for (n, size) in sizes.iter().enumerate() {
        let each = left / (sizes.len() - n);
        if *size > each {
            return each;
        }
        left -= size;
    }
    budget
}

/// The blocks in at most `max` bytes. What does not fit is named at the end.
pub(super) fn fit(blocks: &[Block], max: usize) -> String {
    let blocks: Vec<&Block> =
        blocks.iter().filter(|block| !block.rows.is_empty() || !block.head.is_empty()).collect();
    let share = share(&blocks, max.saturating_sub(NOTE_BYTES));
    let (mut text, mut left_out) = (String::new(), Vec::new());
    for block in blocks {
        let mut room = share.saturating_sub(block.around());
        let fits = |row: &&String| {
            let left = room.checked_sub(row.len() + 1);
            room = left.unwrap_or(room);
            left.is_some()
        };
        let shown = block.rows.iter().take_while(fits).count();
        if shown < block.rows.len() {
            left_out.push(format!("{} of {} {}", block.rows.len() - shown, block.rows.len(), block.name));
        }
        if block.around() > share || shown == 0 && !block.rows.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        for line in block.head.iter().chain(&block.rows[..shown]).chain(&block.tail) {
            text.push_str(line);
            text.push('\n');
        }
    }
    if !left_out.is_empty() {
        let what = left_out.join(", ");
        text.push_str(&format!(
            "\n⚠️ Left out, because hosts limit the length: {what}. `--format json` has all.\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named_and_the_rest_is_whole() {
        let rows = |n: usize| (0..n).map(|n| format!("| {n:97} |")).collect::<Vec<_>>();
        let table = Block::folded("assertions", "Table", ["| a |", "|---|"], rows(50));
        let blocks =
            [Block::of("words", vec!["first".into()]), table, Block::of("notes", vec!["last".into()])];
        let whole = fit(&blocks, MAX_BYTES);
        assert!(!whole.contains("Left out") && whole.ends_with("</details>\n\nlast\n"), "{whole}");
        for max in [600, 1000, 2500, 5000] {
            let text = fit(&blocks, max);
            assert!(text.len() <= max && text.starts_with("first\n"), "{max}: {text}");
            assert!(text.contains(" of 50 assertions") && text.contains("\nlast\n"), "{max}: {text}");
            assert_eq!(text.matches("<details>").count(), text.matches("</details>").count(), "{text}");
        }
        assert!(
            fit(&blocks, 2500).contains("Left out, because hosts limit the length: 32 of 50 assertions.")
        );
    }
}
