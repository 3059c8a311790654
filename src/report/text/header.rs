//! The first lines: the target, the level, and what watching disturbs.

use std::time::Duration;

use crate::escape::escape_untrusted;
use crate::gc::facts::{Arming, BackgroundGc, GcSettings, Sample, Target, Watch, WindowLength};
use crate::gc::record::Level;
use crate::report::model::Facts;
use crate::report::style::{Line, Role, Style, join, wrap};
use crate::report::units::{Units, bytes, duration, percent};

/// The lines before the first collection.
pub(super) fn opening(facts: &Facts, style: Style, columns: usize) -> Vec<String> {
    let mut lines = who(&facts.target, style, columns);
    if let Some(reason) = &facts.watch.level_reason {
        let text = format!("{}, because {}", facts.watch.level.name(), escape_untrusted(reason));
        lines.extend(wrap(style, Role::High, &text, 2, columns));
    }
    let mut text = how(facts, style);
    if facts.watch.level_reason.is_some()
        && let Some((_, rest)) = text.split_once(": ")
    {
        // The line before has the name of the level.
        text = rest.to_owned();
    }
    lines.extend(wrap(style, Role::Dim, &text, 2, columns));
    let cost = blocking(&facts.watch, style).into_iter().chain(choice(&facts.watch, style));
    let cost = cost.collect::<Vec<_>>().join("; ");
    if !cost.is_empty() {
        lines.extend(wrap(style, Role::Dim, &cost, 2, columns));
    }
    lines
}

/// The estimate of how long a blocking gen2 collection takes.
fn blocking(watch: &Watch, style: Style) -> Option<String> {
    let e = watch.estimate?;
    let time = |ns: u64| duration(ns, style.unicode).replace(' ', "\u{a0}");
    let size = bytes(e.bytes, Units::Iec).replace(' ', "\u{a0}");
    let what = if e.by_statistics { "in gen2 and large objects" } else { "of memory, at most" };
    let whose = if e.pace_measured { "as in its own GCs" } else { "as is usual" };
    let (all, pace) = (time(e.blocking_gc_ns), time(e.ns_per_mib));
    Some(format!("a blocking gen2 GC is estimated to take {all} ({size} {what}; {pace} per MiB, {whose})"))
}

/// What follows from the estimate: windows now, or perhaps later.
fn choice(watch: &Watch, style: Style) -> Option<String> {
    let time = |ns: u64| duration(ns, style.unicode).replace(' ', "\u{a0}");
    if let Some(limits) = watch.step_back {
        let (share, at_once) = (percent(limits.share() * 100.0), time(limits.max_pause_ns()));
        let share = share.replace(' ', "\u{a0}");
        let such = if watch.estimate.is_some() { "such GCs" } else { "gen2 GCs that gcwatch makes blocking" };
        return Some(format!(
            "once {such} have stopped the program for {share} of the time, or for {at_once} in one pause, gcwatch watches roots in windows only"
        ));
    }
    let most = time(watch.max_blocking_ns.filter(|_| watch.windows_after_gen2)?);
    let windows =
        "roots are watched in windows, each right after a gen2 GC (--level\u{a0}roots watches all the time)";
    Some(match watch.estimate {
        Some(_) => format!("that is over {most}, so {windows}"),
        None => format!("how long a blocking gen2 GC would take is not known, so {windows}"),
    })
}

fn who(target: &Target, style: Style, columns: usize) -> Vec<String> {
    let mut parts = vec![Line::of(style, Role::Strong, "gcwatch")];
    let pid = target.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
    let title = title(target, columns.saturating_sub(2 + pid.len()), style);
    parts.push(Line::of(style, Role::Strong, &format!("{title}{pid}")));
    let runtime = match (&target.runtime_name, &target.runtime_version) {
        (None, None) => None,
        (name, version) => {
            let name = name.as_deref().unwrap_or(".NET");
            Some(format!("{name} {}", version.as_deref().unwrap_or("")).trim_end().to_owned())
        }
    };
    parts.extend(runtime.map(|text| Line::of(style, Role::Plain, &escape_untrusted(&text))));
    parts.extend(flavour(&target.gc).map(|text| Line::of(style, Role::Plain, &text)));
    join(style, &parts, 2, columns)
}

/// The title of the target, cut to `columns`.
pub(super) fn title(target: &Target, columns: usize, style: Style) -> String {
    let name = target.title.as_deref().or(target.executable.as_deref()).or(target.command_line.as_deref());
    shortened(&escape_untrusted(name.unwrap_or("a .NET process")), columns, style)
}

/// The maximum width of a title in a sentence.
pub(super) const MAX_TITLE: usize = 32;

fn shortened(text: &str, columns: usize, style: Style) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let keep = columns.saturating_sub(style.ellipsis().chars().count());
    text.chars().take(keep).collect::<String>() + style.ellipsis()
}

/// `workstation GC, concurrent`, as far as it is known. Regions are the default and not mentioned.
pub(super) fn flavour(gc: &GcSettings) -> Option<String> {
    let mut words = vec![];
    words.extend(gc.server.map(|server| if server { "server GC" } else { "workstation GC" }.to_owned()));
    words.extend(gc.heaps.filter(|&n| n > 1).map(|n| format!("{n} heaps")));
    words.extend(gc.concurrent.map(|on| if on { "concurrent" } else { "not concurrent" }.to_owned()));
    words.extend(gc.regions.filter(|on| !on).map(|_| "segments".to_owned()));
    (!words.is_empty()).then(|| words.join(", "))
}

/// `of 1 GC every 30 s, basic between`.
fn windows(sample: Sample, style: Style) -> String {
    let time = |time: Duration| match time.subsec_nanos() {
        0 => format!("{}\u{a0}s", time.as_secs()),
        _ => duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), style.unicode),
    };
    let what = match sample.each {
        WindowLength::Gcs(1) => "of 1\u{a0}GC".to_owned(),
        WindowLength::Gcs(n) => format!("of {n}\u{a0}GCs"),
        WindowLength::Time(window) => format!("for {}", time(window)),
    };
    format!("{what} every {}, {} between", time(sample.every), sample.between.name())
}

fn how(facts: &Facts, style: Style) -> String {
    let watch: &Watch = &facts.watch;
    let level = match (watch.level, watch.arming) {
        (Level::Basic, _) => "basic: the runtime's own GC events".to_owned(),
        (Level::Moves, _) => {
            "moves: blocks by the runtime's events; the more blocks, the longer the pauses".to_owned()
        }
        (Level::Roots, _) if watch.sample.is_some() => {
            format!("roots {}", watch.sample.map_or_else(String::new, |sample| windows(sample, style)))
        }
        (Level::Roots, Some(Arming::Late)) => "roots: profiler active only during GCs".to_owned(),
        (Level::Roots, Some(Arming::Always)) => {
            "roots: profiler active all the time, which makes pauses longer".to_owned()
        }
        (Level::Roots, None) => "roots".to_owned(),
    };
    let on_again = "(--sample\u{a0}1/30s or --level\u{a0}basic leaves it on)";
    let background = match watch.background_gc {
        BackgroundGc::Untouched => "background GC is left alone".to_owned(),
        BackgroundGc::Walked => {
            "each background GC stops the program once more for us (at --level\u{a0}basic it does not)"
                .to_owned()
        }
        BackgroundGc::OffInWindows => "background GC is on between".to_owned(),
        BackgroundGc::OffForGraph => "background GC is off while a heap graph is taken".to_owned(),
        BackgroundGc::OffWhileWatched => format!("background GC is off while we watch {on_again}"),
        BackgroundGc::OffUntilExit => {
            let name = title(&facts.target, MAX_TITLE, style);
            let cost = "so every gen2 GC blocks, as a rule for 1\u{a0}ms per MiB of gen2 and large objects";
            format!("background GC is off until {name} ends, {cost} {on_again}")
        }
        BackgroundGc::None => "this program has no background GC".to_owned(),
    };
    format!("{level}; {background}")
}
