use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus};

use super::*;
use crate::assertion::Assertions;
use crate::gc::facts::{Gap, Lost};
use crate::report::multi_process::model::NOT_WATCHED;
use crate::report::sample::{EXIT, Memory, NOTHING_LOST, facts, quiet_run, summed};

const CRASH: Exit = Exit { gcwatch: 134, child: Some(134), reason: "target-ended" };

fn ended(report: &mut dyn Report, facts: &Facts, bounds: &[&str], lost: &Lost, exit: &Exit) {
    let summary = summed(&quiet_run());
    let mut assertions = Assertions::new(bounds.iter().filter_map(|text| text.parse().ok()));
    quiet_run().iter().for_each(|gc| assertions.add(gc));
    let verdicts = assertions.judge(&summary, lost, &facts.watch);
    assert_eq!(verdicts.len(), bounds.len(), "{bounds:?}");
    let end = End { summary: &summary, lost, verdicts: &verdicts, findings: &[], exit };
    report.end(facts, &end).expect("memory takes it");
}

fn document(facts: &Facts, bounds: &[&str], lost: &Lost, exit: &Exit) -> String {
    let memory = Memory::default();
    ended(&mut JunitReport::new(memory.clone(), Units::Iec), facts, bounds, lost, exit);
    memory.text()
}

/// The document by another reader, which wants a time zone in the time stamps, where Ant's schema forbids it.
fn read(xml: &str) -> quick_junit::Report {
    let zoned = xml.replace("T03:30:00\"", "T03:30:00Z\"");
    quick_junit::Report::deserialize_from_str(&zoned).unwrap_or_else(|e| panic!("{e}: {xml}"))
}

fn cases(xml: &str) -> Vec<TestCase> {
    read(xml).test_suites.into_iter().flat_map(|suite| suite.test_cases).collect()
}

/// Name, and the kind, type, message and body of what is wrong.
fn wrong(case: &TestCase) -> (String, Option<(NonSuccessKind, String, String, String)>) {
    let text = |text: Option<&quick_junit::XmlString>| {
        text.map_or_else(String::new, |text| text.as_str().to_owned())
    };
    let wrong = match &case.status {
        TestCaseStatus::NonSuccess { kind, message, ty, description, .. } => {
            Some((*kind, text(ty.as_ref()), text(message.as_ref()), text(description.as_ref())))
        }
        _ => None,
    };
    (case.name.to_string(), wrong)
}

#[test]
fn a_run() {
    let bounds = ["pause.max < 20ms", "gc.count > 3", "gc.gen2.count <= 3", "roots.stack.max < 3"];
    insta::assert_snapshot!(document(&facts(), &bounds, &NOTHING_LOST, &EXIT));
}

#[test]
fn a_case_keeps_its_name_when_its_bound_changes() {
    let names = |bounds: &[&str]| {
        let xml = document(&facts(), bounds, &NOTHING_LOST, &EXIT);
        cases(&xml).iter().map(|case| case.name.to_string()).collect::<Vec<_>>()
    };
    let one = names(&["pause.max < 1ms", "gc.count>=1"]);
    assert_eq!(one, ["watch", "pause.max", "gc.count", "exit"]);
    assert_eq!(one, names(&["pause.max<2s", "gc.count <= 9"]));
    let several = names(&["gc.count > 1", "gc.count < 9", "gc.count < 99", "gc.count<100"]);
    assert_eq!(several, ["watch", "gc.count", "gc.count <", "gc.count < (2)", "gc.count < (3)", "exit"]);
}

#[test]
fn what_fails_has_a_body_with_the_collections() {
    let xml = document(&facts(), &["pause.max < 20ms"], &NOTHING_LOST, &EXIT);
    let (_, wrong) = wrong(&cases(&xml)[1]);
    let (kind, ty, message, body) = wrong.expect("it fails");
    assert_eq!((kind, ty.as_str()), (NonSuccessKind::Failure, "assertion"));
    assert!(message.starts_with("FAIL  pause.max < 20ms"), "{message}");
    let long = quiet_run().iter().filter(|gc| gc.pause_ns > Some(20_000_000)).count();
    assert!(body.starts_with(&message) && body.lines().count() == 1 + long && long > 1, "{long}: {body}");
}

#[test]
fn a_crash_is_not_green() {
    let xml = document(&facts(), &["gc.count > 0"], &NOTHING_LOST, &CRASH);
    let all: Vec<_> = cases(&xml).iter().map(wrong).collect();
    assert!(all[..2].iter().all(|(_, wrong)| wrong.is_none()), "{xml}");
    let (name, Some((kind, ty, message, _))) = &all[2] else { panic!("{xml}") };
    assert_eq!((name.as_str(), *kind, ty.as_str()), ("exit", NonSuccessKind::Failure, "exit"));
    assert!(message.contains("exit code 134: SIGABRT"), "{message}");
}

#[test]
fn what_could_not_be_watched_is_not_green() {
    let mut unwatched = facts();
    unwatched.watch.level_reason = Some("its diagnostics are switched off".to_owned());
    for (exit, lost, expected) in [
        (
            Exit { gcwatch: 22, child: Some(0), reason: NOT_WATCHED },
            NOTHING_LOST,
            "not watched: its diagnostics",
        ),
        (
            Exit { gcwatch: 0, child: Some(0), reason: NOT_WATCHED },
            NOTHING_LOST,
            "not watched: its diagnostics",
        ),
        (
            Exit { gcwatch: 11, child: None, reason: "target-killed" },
            Lost { gap: Some(Gap::Killed), ..NOTHING_LOST },
            "gcwatch ended with exit code 11 (target-killed): the process ended",
        ),
    ] {
        let xml = document(&unwatched, &[], &lost, &exit);
        let (name, Some((kind, ty, message, body))) = wrong(&cases(&xml)[0]) else { panic!("{xml}") };
        assert_eq!((name.as_str(), kind, ty.as_str()), ("watch", NonSuccessKind::Error, "watch"));
        assert!(message.starts_with(expected) && body == message, "{message}");
    }
}

#[test]
fn nothing_that_a_target_is_called_breaks_the_document() {
    for name in [
        "]]><testcase name=\"forged\"/>",
        "\"'<&>\u{1}\u{9b}\n\r\t\u{0}",
        "\u{ffff}\u{fffe}\u{1fffe}\u{feff}\u{202e}",
        "[[ATTACHMENT|/etc/passwd]]",
        &"x".repeat(100_000),
    ] {
        let mut facts = facts();
        facts.target.title = Some(name.to_owned());
        let xml = document(&facts, &["gc.count < 1", "gc.count > 1"], &NOTHING_LOST, &CRASH);
        // What XML 1.0 allows.
        let allowed = |c: char| c == '\n' || c >= ' ' && !('\u{fffe}'..='\u{ffff}').contains(&c);
        assert!(xml.chars().all(allowed), "{name:?}");
        let cases = cases(&xml);
        assert_eq!(cases.len(), 4, "{name:?}");
        let class = escape_untrusted(name);
        assert!(cases.iter().all(|case| case.classname.as_deref() == Some(class.as_str())), "{name:?}");
    }
}

#[test]
fn processes_of_one_name_are_told_apart_in_the_order_of_their_starts() {
    let (memory, target) = (Memory::default(), facts().target);
    let mut format = JunitProcesses::new(memory.clone(), Units::Iec);
    let mut parts: Vec<_> = (0..3).map(|_| format.process(&target)).collect();
    for (part, level) in [2, 0, 1].into_iter().zip(["gc.count > 2", "gc.count > 0", "gc.count > 1"]) {
        ended(parts[part].as_mut(), &facts(), &[level], &NOTHING_LOST, &EXIT);
    }
    format.end(&Overall::default(), &CRASH).expect("memory takes it");
    let xml = memory.text();
    let read = read(&xml);
    let names: Vec<&str> = read.test_suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(names, ["gcwatch app.dll", "gcwatch app.dll (2)", "gcwatch app.dll (3)", "gcwatch command"]);
    let verdicts = |n: usize| read.test_suites[n].system_out.as_ref().map(|text| text.as_str().to_owned());
    assert!((0..3).all(|n| verdicts(n).unwrap_or_default().contains(&format!("gc.count > {n}"))), "{xml}");
    let exits: Vec<_> = cases(&xml).iter().map(wrong).filter(|(name, _)| name == "exit").collect();
    assert!(exits.len() == 1 && exits[0].1.is_some(), "{xml}");
}

#[test]
fn names_are_found_in_time() {
    let bounds: Vec<String> = (0..20_000).map(|n| format!("gc.count > {n}")).collect();
    let bounds: Vec<&str> = bounds.iter().map(String::as_str).collect();
    let began = std::time::Instant::now();
    let xml = document(&facts(), &bounds, &NOTHING_LOST, &EXIT);
    assert!(xml.contains("name=\"gc.count &gt; (19999)\""));
    // It takes less than a second; looking at all names for each name would take minutes.
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    let mut suites: Vec<Suite> = Vec::new();
    for class in ["x", "x (2)", "x", "x", "x (2)"].into_iter().chain(vec!["y"; 20_000]) {
        suites.push(Suite { class: class.to_owned(), ..Suite::default() });
    }
    tell_apart(&mut suites);
    let names: Vec<&str> = suites.iter().map(|suite| suite.class.as_str()).collect();
    assert_eq!(names[..6], ["x", "x (2)", "x (3)", "x (4)", "x (2) (2)", "y"]);
    assert_eq!(names[20_004], "y (20000)");
}

#[test]
fn a_failure_of_the_whole_is_not_green() {
    for (exit, suites) in [
        (Exit { gcwatch: 20, child: Some(0), reason: NOT_WATCHED }, 1),
        (Exit { gcwatch: 130, child: None, reason: "interrupted" }, 1),
        (Exit { gcwatch: 0, child: None, reason: "end-of-file" }, 0),
    ] {
        let memory = Memory::default();
        JunitProcesses::new(memory.clone(), Units::Iec)
            .end(&Overall::default(), &exit)
            .expect("memory takes it");
        let read = read(&memory.text());
        assert_eq!((read.test_suites.len(), read.errors), (suites, suites), "{exit:?}");
    }
}
