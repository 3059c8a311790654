use super::annotations::{MAX_MESSAGE, MAX_SHOWN};
use super::*;
use crate::assertion::Assertions;
use crate::gc::facts::{Gap, Lost, Watch};
use crate::report::multi_process::model::NOT_WATCHED;
use crate::report::sample::{Memory, NOTHING_LOST, facts, quiet_run, summed};

/// A line as the runner of GitHub reads it: command, title and message.
fn read(line: &str) -> Option<(String, String, String)> {
    let (command, rest) = line.strip_prefix("::")?.split_once(' ')?;
    let (properties, message) = rest.split_once("::")?;
    let [title] = &properties.split(',').collect::<Vec<_>>()[..] else { return None };
    let plain = |text: &str| {
        let text = text.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":");
        text.replace("%2C", ",").replace("%25", "%")
    };
    Some((command.to_owned(), plain(title.strip_prefix("title=")?), plain(message)))
}

fn annotated(facts: &Facts, bounds: &[&str], lost: Lost, exit: &Exit) -> Vec<(String, String, String)> {
    let summary = summed(&quiet_run());
    let mut assertions = Assertions::new(bounds.iter().filter_map(|text| text.parse().ok()));
    quiet_run().iter().for_each(|gc| assertions.add(gc));
    let verdicts = assertions.judge(&summary, &lost, &Watch::default());
    let end = End { summary: &summary, lost: &lost, verdicts: &verdicts, findings: &[], exit };
    let memory = Memory::default();
    GithubReport::new(memory.clone(), GithubOptions::default()).end(facts, &end).unwrap();
    memory.text().lines().map(|line| read(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

fn exit(gcwatch: i32, child: i32, reason: &'static str) -> Exit {
    Exit { gcwatch, child: Some(child), reason }
}

#[test]
fn an_error_for_what_does_not_hold_and_for_a_crash() {
    let bounds = ["gc.gen2.count <= 3", "gc.count > 0", "heap.growth.percent < 1"];
    let all = annotated(&facts(), &bounds, NOTHING_LOST, &exit(134, 134, "target-ended"));
    let heads: Vec<(&str, &str)> = all.iter().map(|(a, b, _)| (a.as_str(), b.as_str())).collect();
    assert_eq!(heads[0], ("error", "gcwatch: gc.gen2.count <= 3 does not hold"));
    assert_eq!(heads.last(), Some(&("error", "gcwatch: the program failed")));
    assert!(all[0].2.starts_with("app.dll: 4"), "{}", all[0].2);
    assert!(heads.iter().all(|(_, title)| !title.contains("gc.count")), "{heads:?}");
}

#[test]
fn what_could_not_be_watched_or_judged_is_not_silent() {
    let mut unwatched = facts();
    unwatched.watch.level_reason = Some("100% of it, a:b".to_owned());
    let [(kind, _, message)] = &annotated(&unwatched, &[], NOTHING_LOST, &exit(22, 0, NOT_WATCHED))[..]
    else {
        panic!("not one annotation");
    };
    assert_eq!((kind.as_str(), message.as_str()), ("error", "app.dll: not watched: 100% of it, a:b"));
    let lost = Lost { gap: Some(Gap::Killed), ..NOTHING_LOST };
    let all = annotated(&facts(), &["lost == 0"], lost, &exit(11, 0, "target-ended"));
    assert!(all.iter().all(|(kind, ..)| kind != "notice") && !all.is_empty(), "{all:?}");
}

#[test]
fn a_target_cannot_add_commands_or_properties() {
    let mut facts = facts();
    facts.target.title = Some("x\n::error file=a,line=1::forged,::%0A##[error]".to_owned());
    let all = annotated(&facts, &["gc.count < 1"], NOTHING_LOST, &exit(10, 0, "target-ended"));
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].2.starts_with("x\\n::error file=a,line=1::forged,::%0A#\\u{23}[error]: "), "{all:?}");
}

#[test]
fn not_more_than_github_shows() {
    let bounds: Vec<String> = (1..=25).map(|n| format!("gc.count < {n}")).collect();
    let bounds: Vec<&str> = bounds.iter().map(String::as_str).collect();
    let all = annotated(&facts(), &bounds, NOTHING_LOST, &exit(10, 0, "target-ended"));
    assert_eq!(all.len(), MAX_SHOWN);
    assert_eq!(all[MAX_SHOWN - 1].2, "16 more; --format text shows all");
}

#[test]
fn texts_are_bounded() {
    let mut facts = facts();
    facts.target.title = Some("x".repeat(100_000));
    let all = annotated(&facts, &["gc.count < 1"], NOTHING_LOST, &exit(10, 0, "target-ended"));
    assert_eq!(all[0].2.chars().count(), MAX_MESSAGE);
}
