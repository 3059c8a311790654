use super::{TextOptions, TextReport};
use std::time::Duration;

use crate::gc::facts::{BackgroundGc, Gap, Lost, Sample, WindowCounts, WindowLength};
use crate::gc::generation::Generation;
use crate::gc::record::{Allocated, Gc, Kind, Level, Pause, Phase};
use crate::report::model::{Facts, LiveState, Report};
use crate::report::sample::{NOTHING_LOST, end, facts, quiet_run, tiny};
use crate::report::style::Terminal;
use crate::report::units::Units;

const FILE: Terminal = Terminal { columns: 80, rows: None, colour: false, live: false, unicode: true };

fn render(terminal: Terminal, options: TextOptions, facts: &Facts, gcs: &[Gc], lost: &Lost) -> String {
    let mut out = Vec::new();
    let mut report = TextReport::new(&mut out, terminal, options);
    report.start(facts).expect("memory takes it");
    for gc in gcs {
        report.gc(facts, gc).expect("memory takes it");
        let elapsed_ns = gc.at_ns.unwrap_or(0) + 20_000_000;
        report.tick(&LiveState { elapsed_ns, lost: *lost, ..LiveState::default() }).expect("memory takes it");
    }
    end(&mut report, facts, gcs, lost);
    drop(report);
    String::from_utf8(out).expect("text is UTF-8")
}

fn plain(terminal: Terminal, gcs: &[Gc]) -> String {
    render(terminal, TextOptions::default(), &facts(), gcs, &NOTHING_LOST)
}

/// With what was allocated between the collections.
fn allocating() -> Vec<Gc> {
    let mut gcs = quiet_run();
    for (n, gc) in (0..).zip(&mut gcs).skip(2) {
        gc.allocated =
            Some(Allocated { bytes: (70 << 20) + n * 123_456, large_bytes: 0, in_ns: 130_000_000 });
    }
    gcs
}

/// At `moves`: no roots, and background collections with the stop they get from us.
fn moves() -> (Facts, Vec<Gc>) {
    let mut facts = facts();
    facts.watch.level = Level::Moves;
    facts.watch.level_reason = Some("another profiler is active (CORECLR_PROFILER is set)".to_owned());
    facts.watch.arming = None;
    facts.watch.background_gc = BackgroundGc::Walked;
    let mut gcs = quiet_run();
    gcs.remove(0);
    for gc in &mut gcs {
        gc.level = Level::Moves;
        gc.roots = None;
        gc.cost = None;
        if gc.generation == Some(Generation::GEN2) {
            gc.kind = Some(Kind::Background);
            gc.moved = None;
            let at_ns = gc.at_ns.unwrap_or(0) + 40_000_000;
            let walk = Pause {
                phase: Phase::SurvivorWalk,
                at_ns,
                ns: 3_100_000,
                suspend_ns: None,
                caused_by_watching: true,
            };
            gc.caused_by_watching_ns = Some(walk.ns);
            gc.pauses.push(walk);
        }
    }
    (facts, gcs)
}

/// 400 small collections a second, one of them long.
fn storm() -> Vec<Gc> {
    (0..1200u32)
        .map(|n| {
            let mut gc = Gc::unknown(Level::Basic);
            gc.number = Some(n + 1);
            gc.generation = Some(Generation(u8::from(n % 30 == 0)));
            gc.kind = Some(Kind::Blocking);
            gc.reason = Some(crate::gc::record::Reason(0));
            gc.at_ns = Some(u64::from(n) * 2_500_000);
            gc.pause_ns =
                Some(400_000 + u64::from(n * 7919 % 500) * 1000 + if n == 700 { 9_000_000 } else { 0 });
            gc.heap_before_bytes = Some(9 << 20);
            gc.heap_after_bytes = Some(3 << 20);
            gc
        })
        .collect()
}

#[test]
fn a_run_at_80_columns() {
    insta::assert_snapshot!(plain(FILE, &quiet_run()));
}

#[test]
fn a_run_at_40_columns() {
    insta::assert_snapshot!(plain(Terminal { columns: 40, ..FILE }, &quiet_run()));
}

#[test]
fn a_run_at_200_columns() {
    insta::assert_snapshot!(plain(Terminal { columns: 200, ..FILE }, &allocating()));
}

/// Columns that a level cannot fill are not there.
#[test]
fn a_basic_run_at_each_width() {
    let mut facts = facts();
    (facts.watch.level, facts.watch.arming) = (Level::Basic, None);
    facts.watch.background_gc = BackgroundGc::Untouched;
    let mut gcs = allocating();
    for gc in &mut gcs {
        gc.level = Level::Basic;
        (gc.roots, gc.moved, gc.surviving, gc.cost) = (None, None, None, None);
    }
    for columns in [40, 80, 120] {
        let terminal = Terminal { columns, ..FILE };
        let text = render(terminal, TextOptions::default(), &facts, &gcs, &NOTHING_LOST);
        insta::assert_snapshot!(format!("a_basic_run_at_{columns}_columns"), text);
    }
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for columns in [40, 60, 80, 100, 120, 140, 200] {
        for unicode in [true, false] {
            let text = plain(Terminal { columns, unicode, ..FILE }, &quiet_run());
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn a_run_at_120_columns() {
    insta::assert_snapshot!(plain(Terminal { columns: 120, ..FILE }, &allocating()));
}

#[test]
fn a_run_at_160_columns() {
    let text = plain(Terminal { columns: 160, ..FILE }, &quiet_run());
    insta::assert_snapshot!(text.lines().take(9).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_run_at_moves() {
    let (facts, gcs) = moves();
    let lost = Lost { events: 12, ranges: 3, ..Lost::default() };
    insta::assert_snapshot!(render(FILE, TextOptions::default(), &facts, &gcs, &lost));
}

/// Roots in windows: the first of each three.
#[test]
fn a_sampled_run() {
    let (mut facts, mut gcs) = (facts(), quiet_run());
    let (each, every) = (WindowLength::Gcs(1), Duration::from_secs(30));
    facts.watch.sample = Some(Sample { each, every, between: Level::Basic });
    facts.watch.windows = WindowCounts { taken: 5, busy: 2, refused: 1 };
    facts.watch.background_gc = BackgroundGc::OffInWindows;
    for (n, gc) in gcs.iter_mut().enumerate().filter(|(n, _)| n % 3 != 0) {
        gc.level = Level::Basic;
        (gc.roots, gc.moved, gc.surviving, gc.cost) = (None, None, None, None);
        if gc.generation == Some(Generation::GEN2) && n % 2 == 0 {
            gc.kind = Some(Kind::Background);
        }
    }
    insta::assert_snapshot!(render(FILE, TextOptions::default(), &facts, &gcs, &NOTHING_LOST));
}

#[test]
fn a_storm_is_folded() {
    insta::assert_snapshot!(plain(FILE, &storm()));
}

#[test]
fn a_run_in_ascii() {
    let text = plain(Terminal { unicode: false, ..FILE }, &quiet_run());
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn a_run_without_collections() {
    insta::assert_snapshot!(plain(FILE, &[]));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let (facts_moves, gcs_moves) = moves();
    let mut long = facts();
    long.target.title = Some("x".repeat(300));
    let mut huge = quiet_run();
    for gc in &mut huge {
        gc.number = gc.number.map(|n| n + 90_000);
        gc.at_ns = gc.at_ns.map(|ns| ns + 999_999_000_000_000);
        gc.heap_before_bytes = gc.heap_before_bytes.map(|b| b << 13);
        gc.pause_ns = gc.pause_ns.map(|ns| ns << 12);
        if let Some(moved) = &mut gc.moved {
            moved.count.blocks <<= 22;
            moved.count.bytes <<= 26;
        }
        if let Some(roots) = &mut gc.roots {
            roots.counts[0].count <<= 22;
        }
    }
    for columns in [80, 81, 100, 119, 120, 121, 160, 200] {
        for units in [Units::Iec, Units::Si] {
            for unicode in [false, true] {
                let terminal = Terminal { columns, unicode, ..FILE };
                let options = || TextOptions { units, ..TextOptions::default() };
                for text in [
                    render(terminal, options(), &facts(), &quiet_run(), &NOTHING_LOST),
                    render(terminal, options(), &facts_moves, &gcs_moves, &NOTHING_LOST),
                    render(terminal, options(), &long, &storm(), &NOTHING_LOST),
                    render(terminal, options(), &facts(), &huge, &NOTHING_LOST),
                ] {
                    for line in text.lines() {
                        assert!(line.chars().count() <= columns, "{columns}: {line}");
                        assert_eq!(line.trim_end(), line);
                    }
                    assert!(!text.contains("NaN"));
                }
            }
        }
    }
}

#[test]
fn narrow_terminals_lose_columns_not_lines() {
    for columns in [40, 60, 79] {
        let mut out = Vec::new();
        let mut report = TextReport::new(&mut out, Terminal { columns, ..FILE }, TextOptions::default());
        for gc in &quiet_run() {
            report.gc(&facts(), gc).expect("memory takes it");
        }
        drop(report);
        for line in String::from_utf8_lossy(&out).lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let colourful = plain(Terminal { colour: true, ..FILE }, &quiet_run());
    assert!(colourful.contains("\x1b[33m"), "a pause over the p90 is yellow");
    assert!(colourful.contains("\x1b[1m\x1b[31m"), "one over the p99 is red");
    let mut stripped = String::new();
    for (i, part) in colourful.split('\x1b').enumerate() {
        stripped.push_str(if i == 0 { part } else { part.split_once('m').map_or("", |(_, text)| text) });
    }
    assert_eq!(stripped, plain(FILE, &quiet_run()));
}

#[test]
fn the_live_line_is_gone_before_anything_else_is_printed() {
    let terminal = Terminal { rows: Some(24), live: true, ..FILE };
    let text = plain(terminal, &quiet_run());
    let mut screen: Vec<String> = vec![String::new()];
    for part in text.split_inclusive('\n') {
        // What stands on a line when it is left is what comes after the last erasure.
        let line = part.rsplit("\r\x1b[2K").next().unwrap_or(part);
        screen.push(line.to_owned());
    }
    let headers = screen.iter().filter(|line| line.contains("at s")).count();
    assert_eq!(headers, 2, "35 lines are two screenfuls");
    let still: String = screen.concat();
    let repeated: String = plain(Terminal { rows: Some(24), live: false, ..FILE }, &quiet_run());
    assert_eq!(still, repeated);
    assert_eq!(text.matches("\x1b[2K").count(), 35, "it was drawn at every tick, and erased");
}

#[test]
fn a_live_line_does_not_outlive_its_report() {
    let mut out = Vec::new();
    let mut report = TextReport::new(&mut out, Terminal { live: true, ..FILE }, TextOptions::default());
    report.tick(&LiveState::default()).expect("memory takes it");
    drop(report);
    assert!(out.starts_with(" 0 ns".as_bytes()) && out.ends_with(b"\r\x1b[2K"));
}

#[test]
fn warnings_come_once_and_quiet_is_quiet() {
    let mut out = Vec::new();
    let mut report = TextReport::new(&mut out, FILE, TextOptions::default());
    for _ in 0..2 {
        report.warn("events are lost\x1b[0m: use --level moves").expect("memory takes it");
    }
    drop(report);
    assert_eq!(String::from_utf8_lossy(&out), "gcwatch: events are lost\\u{1b}[0m: use --level moves\n");
    let options = TextOptions { quiet: true, ..TextOptions::default() };
    let live = Terminal { live: true, ..FILE };
    assert_eq!(render(live, options, &facts(), &quiet_run(), &NOTHING_LOST), "");
}

#[test]
fn filters_choose_lines_and_leave_the_summary_alone() {
    let options = TextOptions {
        min_pause_ns: Some(20_000_000),
        generations: vec![Generation::GEN2],
        ..TextOptions::default()
    };
    let text = render(FILE, options, &facts(), &quiet_run(), &NOTHING_LOST);
    let rows = text.lines().filter(|line| line.contains(" ms ") && line.contains('→')).count();
    let gcs = quiet_run();
    let wanted = gcs
        .iter()
        .filter(|gc| gc.generation == Some(Generation::GEN2) && gc.pause_ns >= Some(20_000_000))
        .count();
    assert!(wanted > 0 && wanted < gcs.len());
    assert_eq!(rows, wanted);
    let summary = |text: &str| text.split_once("\n34 collections in").map(|(_, rest)| rest.to_owned());
    assert_eq!(summary(&text), summary(&plain(FILE, &gcs)));
    assert!(summary(&text).is_some());
}

#[test]
fn shares_of_what_was_promoted_contain_nothing_twice() {
    let mut gc = tiny();
    gc.promoted_by = [None; 10];
    gc.promoted_by[2] = Some(3 << 20);
    // The runtime counts what a mark queue had put off by itself, and again with the dependent handles.
    (gc.promoted_by[5], gc.promoted_by[6]) = (Some(1 << 20), Some(1 << 20));
    let text = plain(FILE, &[gc]);
    assert!(text.contains("dependent handle") && !text.contains("overflow"), "{text}");
}

#[test]
fn the_largest_blocks_come_with_blocks() {
    let mut facts = facts();
    facts.watch.blocks = true;
    let text = render(FILE, TextOptions::default(), &facts, &[tiny()], &NOTHING_LOST);
    assert!(text.contains("moved        96 B  0x7f0000002000 gen0 → 0x7f0000001000 gen1"), "{text}");
    assert!(text.contains("survived     96 B  0x7f0001000000\n"), "{text}");
}

#[test]
fn what_the_target_is_called_cannot_act_on_the_terminal() {
    let mut facts = facts();
    facts.target.title = Some("evil\x1b]0;title\x07\n.dll".to_owned());
    facts.watch.level_reason = Some("\x1b[2J".to_owned());
    let text = render(FILE, TextOptions::default(), &facts, &quiet_run(), &NOTHING_LOST);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    assert!(text.contains("evil\\u{1b}]0;title\\u{7}\\n.dll"), "{text}");
}

#[test]
fn what_is_missing_is_said_and_not_denied() {
    for gap in [Gap::Killed, Gap::Silent { since_ns: 1_500_000_000 }, Gap::Left, Gap::Truncated, Gap::Damaged]
    {
        let lost = Lost { gap: Some(gap), ..Lost::default() };
        let text = render(FILE, TextOptions::default(), &facts(), &quiet_run(), &lost);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            !text.contains("nothing was lost") && text.matches("missing").count() == 1,
            "{gap:?}: {text}"
        );
    }
    assert!(plain(FILE, &quiet_run()).contains("nothing was lost"));
}

#[test]
fn numbers_that_no_collection_has_are_explained() {
    let mut gcs = quiet_run();
    let absent = gcs.remove(3).number.expect("it has one");
    gcs[3].stops_without_gc = 1;
    let text = plain(FILE, &gcs).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("numbers: #{absent} is no collection: a NoGC region")), "{text}");
    assert!(!plain(FILE, &quiet_run()).contains("NoGC"));
}
