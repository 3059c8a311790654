//! The verdicts as text: the last lines, and with `--quiet` the only ones.

use super::style::{Line, Role, Style, Terminal};
use super::units::{Units, duration, generation_label, in_unit, plural};
use crate::assertion::{Unit, Verdict, Violation};

/// At most so many collections are named in a line.
const MAX_NAMED: usize = 4;

/// A line per assertion, then a total; nothing without assertions.
pub(crate) fn verdict_lines(verdicts: &[Verdict], terminal: Terminal, units: Units) -> Vec<String> {
    let style = terminal.style();
    if verdicts.is_empty() {
        return Vec::new();
    }
    let values: Vec<String> = verdicts.iter().map(|v| value(v, style, units)).collect();
    let width = |texts: &mut dyn Iterator<Item = &str>| texts.map(|t| t.chars().count()).max().unwrap_or(0);
    let first = width(&mut verdicts.iter().map(|v| v.text.as_str()));
    let second = width(&mut values.iter().map(String::as_str));
    let mut lines: Vec<String> = verdicts
        .iter()
        .zip(&values)
        .map(|(v, value)| {
            let (word, role) = match v.holds {
                Some(true) => ("ok", Role::Plain),
                Some(false) => ("FAIL", Role::Alarm),
                None => ("?", Role::High),
            };
            let mut line = Line::of(style, role, word);
            line.pad_to(6);
            line.push(style, Role::Plain, &v.text);
            line.pad_to(6 + first + 2);
            line.push_right(style, Role::Strong, value, second);
            let room = terminal.columns.saturating_sub(line.width() + 2);
            let more = remark(v, style, units, room);
            if !more.is_empty() {
                line.space(2);
                line.push(style, Role::Dim, &more);
            }
            line.into_string()
        })
        .collect();
    lines.push(total(verdicts));
    lines
}

/// One verdict in a line of plain text, whole: what it says of the value and of the collections that violate it.
pub(super) fn in_one_line(verdict: &Verdict, units: Units) -> String {
    let look = Terminal { columns: 400, rows: None, colour: false, live: false, unicode: true };
    verdict_lines(std::slice::from_ref(verdict), look, units).swap_remove(0)
}

/// As [`in_one_line`], without the verdict and the assertion.
pub(super) fn value_and_remark(verdict: &Verdict, units: Units) -> String {
    let line = in_one_line(verdict, units);
    line.split_once(verdict.text.as_str()).map_or("", |(_, rest)| rest).trim().to_owned()
}

/// The collections that violate the assertion, a line each.
pub(super) fn violations(verdict: &Verdict, units: Units) -> Vec<String> {
    let units = beside_bound(verdict, units);
    let style = Style { colour: false, unicode: true };
    verdict.violations.iter().map(|one| named(one, verdict.unit, style, units)).collect()
}

/// `1 of 2 assertions does not hold`.
pub(crate) fn total(verdicts: &[Verdict]) -> String {
    let broken = verdicts.iter().filter(|v| v.holds == Some(false)).count();
    let open = verdicts.iter().filter(|v| v.holds.is_none()).count();
    let text = total_of(verdicts.len() as u64, broken as u64, open as u64);
    match verdicts.first().and_then(|v| v.warmup_ns) {
        Some(ns) => format!("{text} (without the first {})", duration(ns, false)),
        None => text,
    }
}

/// As [`total`]: so many do not hold, and so many could not be judged.
pub(super) fn total_of(all: u64, broken: u64, open: u64) -> String {
    let some = |n: u64| if n == 1 { "does" } else { "do" };
    match (broken, open) {
        (0, 0) if all == 1 => "the assertion holds".to_owned(),
        (0, 0) => format!("all {all} assertions hold"),
        (0, open) => format!("{open} of {all} assertions could not be judged"),
        (broken, 0) => format!("{broken} of {all} assertions {} not hold", some(broken)),
        (broken, open) => {
            format!("{broken} of {all} assertions {} not hold, {open} could not be judged", some(broken))
        }
    }
}

fn value(v: &Verdict, style: Style, units: Units) -> String {
    let units = beside_bound(v, units);
    v.value.map_or_else(|| "-".to_owned(), |value| in_unit(value, v.unit, units, style.unicode))
}

/// Sizes beside a bound in MB are in MB, too. Without `--units` they would be in MiB, and could not be compared by eye.
fn beside_bound(v: &Verdict, units: Units) -> Units {
    let bound = v.text.trim_end_matches("/s");
    let decimal = ["kB", "KB", "MB", "GB"].iter().any(|unit| bound.ends_with(unit));
    match units {
        Units::Iec if decimal && matches!(v.unit, Unit::Bytes | Unit::BytesPerSecond) => Units::Si,
        units => units,
    }
}

/// The collections that violate the assertion, or why there is no verdict.
fn remark(v: &Verdict, style: Style, units: Units, room: usize) -> String {
    if let Some(why) = v.unjudged {
        return format!("could not be judged: {why}");
    }
    const DISTURBED: &str = "(disturbed by watching)";
    let disturbed = !v.disturbed_by.is_empty();
    let room = if disturbed { room.saturating_sub(DISTURBED.len() + 1) } else { room };
    let units = beside_bound(v, units);
    let mut text = String::new();
    for (n, breaker) in v.violations.iter().enumerate() {
        let separator = if n == 0 { "" } else { ", " };
        let next = format!("{separator}{}", named(breaker, v.unit, style, units));
        let last = n + 1 == v.violations.len();
        let reserve = if last { 0 } else { 2 };
        if n == MAX_NAMED || (n > 0 && text.chars().count() + next.chars().count() + reserve > room) {
            text = text + " " + style.ellipsis();
            break;
        }
        text += &next;
    }
    if let Some(gcs) = v.gcs_seen.filter(|_| text.is_empty()) {
        text = format!("of {}", plural(gcs, "sampled GC"));
    }
    match disturbed {
        true if text.is_empty() => {
            let words: Vec<&str> = v.disturbed_by.iter().map(|d| d.words()).collect();
            let whole = format!("disturbed by watching: {}", words.join(", "));
            if whole.len() <= room + DISTURBED.len() + 1 { whole } else { DISTURBED.to_owned() }
        }
        true => format!("{text} {DISTURBED}"),
        false => text,
    }
}

/// `#43 gen2 loh 21.3 ms`.
fn named(b: &Violation, unit: Unit, style: Style, units: Units) -> String {
    let mut parts = vec![format!("#{}", b.number)];
    parts.extend(b.generation.map(|g| format!("gen{}", generation_label(g, b.kind))));
    parts.extend(b.reason.map(|r| r.names().1.to_owned()));
    parts.extend(b.value.map(|value| in_unit(value as f64, unit, units, style.unicode)));
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assertion::Assertions;
    use crate::gc::facts::{Lost, Watch};
    use crate::gc::record::Allocated;
    use crate::gc::summary::Summary;

    #[test]
    fn a_value_has_the_units_of_its_bound() {
        let allocated = Allocated { bytes: 2_000_000_000, large_bytes: 0, in_ns: 1_000_000_000 };
        let summary = Summary { gcs: 1, allocated: Some(allocated), ..Summary::default() };
        let shown = |text: &str, units| {
            let verdicts =
                Assertions::new(text.parse().ok()).judge(&summary, &Lost::default(), &Watch::default());
            value(&verdicts[0], Style { colour: false, unicode: true }, units)
        };
        assert_eq!(shown("alloc.rate < 1GB/s", Units::Iec), "2.00 GB/s");
        assert_eq!(shown("alloc.rate < 1GB", Units::Iec), "2.00 GB/s");
        assert_eq!(shown("alloc.rate < 1GiB/s", Units::Iec), "1.86 GiB/s");
        assert_eq!(shown("alloc.rate < 1GB/s", Units::Bytes), "2000000000 B/s");
    }
}
