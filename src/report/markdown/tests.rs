use std::io::Write;

use super::document::MAX_BYTES;
use super::*;
use crate::assertion::{Assertions, Verdict};
use crate::gc::facts::{Exit, Facts};
use crate::report::model::{End, Report};
use crate::report::multi_process::MultiProcess;
use crate::report::sample::{EXIT, Memory, NOTHING_LOST, facts, quiet_run, summed};
use crate::report::units::Units;

fn verdicts(bounds: &[String]) -> Vec<Verdict> {
    let mut assertions = Assertions::new(bounds.iter().filter_map(|text| text.parse().ok()));
    quiet_run().iter().for_each(|gc| assertions.add(gc));
    assertions.judge(&summed(&quiet_run()), &NOTHING_LOST, &facts().watch)
}

fn ended(report: &mut dyn Report, facts: &Facts, bounds: &[String], exit: &Exit) {
    let (summary, verdicts) = (summed(&quiet_run()), verdicts(bounds));
    let end = End { summary: &summary, lost: &NOTHING_LOST, verdicts: &verdicts, findings: &[], exit };
    report.start(facts).expect("memory takes it");
    quiet_run().iter().for_each(|gc| report.gc(facts, gc).expect("memory takes it"));
    report.end(facts, &end).expect("memory takes it");
}

fn document(facts: &Facts, bounds: &[String], exit: &Exit) -> String {
    let memory = Memory::default();
    ended(&mut MarkdownReport::new(memory.clone(), Units::Iec), facts, bounds, exit);
    memory.text()
}

fn owned(bounds: &[&str]) -> Vec<String> {
    bounds.iter().map(|&bound| bound.to_owned()).collect()
}

/// The places of these in the text, in this order.
fn follow(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not there, or too early:\n{text}"));
        rest = &rest[at..];
    }
}

#[test]
fn a_run() {
    let bounds = owned(&["gc.count > 3", "pause.max < 20ms", "roots.stack.max < 3"]);
    insta::assert_snapshot!(document(&facts(), &bounds, &EXIT));
}

#[test]
fn the_verdict_comes_first_and_tables_come_last() {
    let crash = Exit { gcwatch: 134, child: Some(134), reason: "target-ended" };
    let text = document(&facts(), &owned(&["gc.count > 3", "pause.max < 20ms"]), &crash);
    let parts = [
        "### gcwatch: app.dll",
        "❌ **the program ended with exit code 134",
        "❌ **1 of 2 assertions does not hold**",
        "❌ FAIL | `pause.max < 20ms`",
        "✅ ok | `gc.count > 3`",
        "collections",
        "In short: ",
        "**Callers of `GC.Collect`**",
        "**Pinned, so that it cannot move**",
        "**Grew from the first collection to the last**",
        "<details><summary>Collections by generation",
        "| gen2 | 4 |",
        "<details><summary>The longest pauses",
    ];
    follow(&text, &parts);
}

#[test]
fn a_document_is_never_longer_than_hosts_take() {
    let bounds: Vec<String> = (0..3000).map(|n| format!("gc.count > {n}")).collect();
    let mut facts = facts();
    facts.target.title = Some("*".repeat(100_000));
    let text = document(&facts, &bounds, &EXIT);
    assert!(text.len() <= MAX_BYTES && text.len() > MAX_BYTES / 2, "{}", text.len());
    follow(
        &text,
        &["❌ **2966 of 3000", "❌ FAIL", "In short", "</details>", "⚠️ Left out", "of 3000 assertions"],
    );
}

#[test]
fn the_verdict_on_all_processes_is_on_top_and_those_that_fail_are_kept() {
    let memory = Memory::default();
    let mut all = MultiProcess::new(Box::new(MarkdownProcesses::new(memory.clone(), Units::Iec)));
    for pid in 1..=200 {
        let mut facts = facts();
        facts.target.pid = Some(pid);
        let bound = if pid % 100 == 0 { "gc.count < 3" } else { "gc.count > 3" };
        let mut report = all.process(&facts.target);
        ended(report.as_mut(), &facts, &owned(&[bound]), &EXIT);
    }
    all.end(&EXIT).expect("memory takes it");
    let text = memory.text();
    assert!(text.len() <= MAX_BYTES && text.len() > MAX_BYTES / 2, "{}", text.len());
    let parts = [
        "### gcwatch: all processes",
        "❌ **2 of 200 assertions do not hold**",
        "200 processes: 6800 collections",
        "⚠️ Left out",
        "#### gcwatch: app.dll (process 100)",
        "#### gcwatch: app.dll (process 200)",
        "#### gcwatch: app.dll (process 1)",
    ];
    follow(&text, &parts);
    let shown = text.matches("#### ").count();
    assert!(text.contains(&format!("{} sections", 200 - shown)), "{shown}: {text}");
}

#[test]
fn names_are_no_markup_and_notify_nobody() {
    let hostile = "</details> **x** | [a](b) @team\n# H <img src=x> `c` ##[error]";
    let shown = plain(hostile);
    assert!(!shown.contains("@team") && !shown.contains("\\@"), "{shown}");
    let mut bare = shown.replace("@<!-- -->", "@");
    bare.retain(|c| c != '\n');
    let markup = ["**", " <", "|", "](", "##["];
    for mark in markup {
        let at = bare.find(mark);
        assert!(at.is_none_or(|at| bare[..at].ends_with('\\')), "{mark}: {bare}");
    }
    let mut facts = facts();
    facts.target.title = Some(hostile.to_owned());
    let text = document(&facts, &[], &EXIT);
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count(), "{text}");
    assert!(text.lines().all(|line| !line.starts_with("# H")), "{text}");
}

#[test]
fn a_closed_pipe_is_an_error_of_the_writer() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (summary, lost) = (summed(&quiet_run()), NOTHING_LOST);
    let end = End { summary: &summary, lost: &lost, verdicts: &[], findings: &[], exit: &EXIT };
    let written = MarkdownReport::new(Closed, Units::Iec).end(&facts(), &end);
    assert_eq!(written.map_err(|e| e.kind()), Err(std::io::ErrorKind::BrokenPipe));
}
