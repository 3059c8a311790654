//! Stream info: what the stream says about the target and about the watch itself.

use std::time::Duration;

use netcore_profiler::wire;

use super::events;
use super::facts::{
    Arming, BackgroundGc, Facts, GcSettings, Sample, StepBackLimits, WindowCounts, WindowLength,
};
use super::record::Level;
use crate::escape::{MAX_LINE_CHARS, cut};

/// The profiler stays loaded until it costs too much. Then gcwatch steps back to windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepBackPlan {
    /// The profiler's hello, ns since the watch began.
    pub(crate) since_ns: u64,
    pub(crate) limits: StepBackLimits,
    /// From the beginning of one window to that of the next, after stepping back.
    pub(crate) every: Duration,
}

impl StepBackPlan {
    /// The window that the profiler's hello then has.
    pub(crate) fn window(limits: StepBackLimits, every_ms: u32) -> wire::Window {
        let StepBackLimits { share_ppm: busy, max_pause_ms: length_ms } = limits;
        wire::Window { number: 1, gcs: wire::Window::STAYS, length_ms, every_ms, busy }
    }

    fn of(window: &wire::Window, since_ns: u64) -> Option<StepBackPlan> {
        (window.gcs == wire::Window::STAYS).then(|| StepBackPlan {
            since_ns,
            limits: StepBackLimits { share_ppm: window.busy, max_pause_ms: window.length_ms },
            every: Duration::from_millis(window.every_ms.into()),
        })
    }
}

/// Answers to a profiler that asks to leave: CORPROF_E_RUNTIME_UNINITIALIZED, and that the profiler is not initialized.
const STILL_STARTING: [i32; 2] = [0x8013_1371_u32 as i32, 0x8013_1373_u32 as i32];

/// What is known so far; each field is `None` until its event has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamInfo {
    pub(crate) command_line: Option<String>,
    pub(crate) os: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) runtime_version: Option<String>,
    pub(crate) gc: GcSettings,
    pub(crate) hello: Option<wire::Hello>,
    /// Set where the first profiler was to stay until it costs too much.
    pub(crate) step_back: Option<StepBackPlan>,
    stepped_back: bool,
    /// The last profiler has said goodbye.
    left: bool,
    /// The profiler of a window has said goodbye, and no background collection has started since.
    leaving: bool,
    handle_watch_off: bool,
    /// Notes that the user has to see, each code once, until they are taken.
    notices: Vec<wire::Note>,
    ranges_seen: bool,
    fell_back: bool,
    windows: WindowCounts,
    /// Number of the last window that is not counted, and how many windows before it were skipped.
    before: (u64, u64),
}

impl StreamInfo {
    pub(crate) fn process_info(&mut self, payload: &[u8]) {
        let (command_line, os, arch) = events::process_info(payload);
        self.command_line = Some(cut(command_line, MAX_LINE_CHARS));
        self.os = os;
        self.arch = arch;
    }

    pub(crate) fn rundown(&mut self, id: u32, payload: &[u8]) {
        match id {
            10 => {
                self.gc.concurrent = events::gc_settings_concurrent(payload).or(self.gc.concurrent);
                self.gc.source = Some("events");
            }
            events::RUNTIME_INFORMATION => self.runtime_information(payload),
            _ => {}
        }
    }

    /// Which runtime it is, and how it was started.
    pub(crate) fn runtime_information(&mut self, payload: &[u8]) {
        let Some(information) = events::runtime_information(payload) else { return };
        if self.runtime_version.is_none() {
            self.runtime_version = information.version();
        }
        let Some(flags) = information.startup_flags() else { return };
        self.gc.source = Some("events");
        self.gc.concurrent.get_or_insert(flags.concurrent);
        // The wish for server GC is not always granted; without it there is none.
        if !flags.server {
            self.gc.server = Some(false);
        }
    }

    pub(crate) fn heaps(&mut self, heaps: u32) {
        self.gc.heaps = Some(heaps);
        if heaps > 1 {
            self.server(true);
        }
    }

    /// The kind of GC that runs, which may not be the requested one: on one processor server GC becomes workstation GC.
    pub(crate) fn server(&mut self, server: bool) {
        if self.gc.server.is_none() {
            self.gc.server = Some(server);
            self.gc.source = Some("events");
        }
    }

    /// A profiler's hello. Returns whether it is another profiler than the last one.
    pub(crate) fn hello(&mut self, at_ns: u64, hello: &wire::Hello) -> bool {
        let v = hello.clr_version;
        self.runtime_version = Some(format!("{}.{}.{}", v[0], v[1], v[2]));
        let before = self.hello.replace(*hello);
        (self.left, self.leaving) = (false, false);
        let Some(window) = hello.window else { return before.is_some_and(|b| b.window.is_some()) };
        let another = before.and_then(|b| b.window).is_none_or(|w| w.number != window.number);
        if window.gcs == wire::Window::GRAPH {
            return another;
        } else if let Some(plan) = StepBackPlan::of(&window, at_ns) {
            self.step_back.get_or_insert(plan);
            self.before = (window.number.into(), 0);
        } else if another {
            let w = &mut self.windows;
            w.taken += 1;
            w.busy = u64::from(window.busy).saturating_sub(self.before.1);
            // The other windows left no trace in the stream.
            let so_far = u64::from(window.number).saturating_sub(self.before.0);
            w.refused = so_far.saturating_sub(w.taken + w.busy);
        }
        another
    }

    pub(crate) fn note(&mut self, note: &wire::Note) {
        match note.code {
            wire::NoteCode::FELL_BACK_ALWAYS => self.fell_back = true,
            wire::NoteCode::GOODBYE => (self.left, self.leaving) = (true, self.sampled()),
            wire::NoteCode::HANDLE_WATCH_OFF => self.handle_watch_off = true,
            wire::NoteCode::LEASE_TAKEN | wire::NoteCode::LEASE_SILENT | wire::NoteCode::DETACH_REFUSED
                if self.notices.iter().all(|before| before.code != note.code) =>
            {
                self.notices.push(*note);
            }
            _ => {}
        }
    }

    /// The notes that the user has to see, as sentences.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        let no_roots = if self.sampled() { "" } else { ", and later collections have no roots" };
        let say = |note: wire::Note| {
            match note.code {
            wire::NoteCode::LEASE_TAKEN => format!(
                "the program closed a descriptor that is not its own, the profiler's connection to gcwatch: \
                 the profiler has left the program{no_roots}"
            ),
            wire::NoteCode::LEASE_SILENT => format!(
                "gcwatch was silent for more than 10 s (was it stopped?): the profiler has left the program{no_roots}"
            ),
            _ if STILL_STARTING.contains(&note.hresult) => {
                "the watch ended while the runtime was still starting: the profiler does nothing any more, and leaves the program soon"
                    .to_owned()
            }
            _ => format!(
                "the runtime does not let the profiler go ({:#010x}): it does nothing any more, and asks again, \
                 once a minute at most; until then no other profiler can come",
                note.hresult
            ),
        }
        };
        std::mem::take(&mut self.notices).into_iter().map(say).collect()
    }

    /// A window was skipped; `busy`: a background collection ran.
    pub(crate) fn window_skipped(&mut self, busy: bool) {
        let count = if busy { &mut self.windows.busy } else { &mut self.windows.refused };
        *count += 1;
    }

    /// The events so far repeat those of a file that is not here, so its windows are not counted.
    pub(crate) fn repeated(&mut self) {
        let window = self.hello.and_then(|hello| hello.window).unwrap_or_default();
        let busy = if self.stays() { 0 } else { window.busy };
        self.before = (window.number.into(), busy.into());
        self.windows = WindowCounts::default();
    }

    /// The plan of a sampling watch, and its windows by outcome.
    pub(crate) fn windows(&self) -> (Option<Sample>, WindowCounts) {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        // A watch that may step back is not a sampling watch.
        let window = self.hello.and_then(|hello| hello.window);
        let window = window.filter(|_| self.step_back.is_none() && !self.is_for_graph());
        let sample = window.map(|w| Sample {
            each: if w.gcs == 0 { WindowLength::Time(ms(w.length_ms)) } else { WindowLength::Gcs(w.gcs) },
            every: ms(w.every_ms),
            between: if self.ranges_seen { Level::Moves } else { Level::Basic },
        });
        (sample, self.windows)
    }

    /// Whether the last profiler was loaded only for a heap graph.
    pub(crate) fn is_for_graph(&self) -> bool {
        self.hello.and_then(|hello| hello.window).is_some_and(|window| window.gcs == wire::Window::GRAPH)
    }

    /// Whether the profiler stays loaded until it costs too much.
    pub(crate) fn stays(&self) -> bool {
        self.hello.and_then(|hello| hello.window).is_some_and(|window| window.gcs == wire::Window::STAYS)
    }

    /// The profiler costs too much: it is detached, and the watch goes on.
    pub(crate) fn set_stepped_back(&mut self) {
        self.stepped_back = true;
    }

    /// Whether the watch goes on when the last profiler has left.
    pub(crate) fn outlasts_profiler(&self) -> bool {
        self.sampled() && (self.stepped_back || !self.stays())
    }

    /// Whether the profiler is loaded for windows only, or until it costs too much.
    pub(crate) fn sampled(&self) -> bool {
        self.hello.is_some_and(|hello| hello.window.is_some())
    }

    /// The level of a collection of which nothing else is known.
    pub(crate) fn usual_level(&self) -> Level {
        match self.level() {
            Level::Roots if self.sampled() && self.ranges_seen => Level::Moves,
            Level::Roots if self.sampled() => Level::Basic,
            level => level,
        }
    }

    pub(crate) fn saw(&mut self, level: Level) {
        self.ranges_seen |= level == Level::Moves;
    }

    /// A collection starts. Returns whether the profiler is loaded for a window, and so switches background GC off. The
    /// runtime takes some 0.4 s to detach it and does not say when it is done; the next background collection shows
    /// that.
    pub(crate) fn starts(&mut self, background: bool) -> bool {
        self.leaving &= !background;
        self.sampled() && (!self.left || self.leaving)
    }

    /// Whether the last profiler has said goodbye.
    pub(crate) fn left(&self) -> bool {
        self.left
    }

    /// Whether the profiler gave up watching handles, because the program makes too many.
    pub(crate) fn handle_watch_off(&self) -> bool {
        self.handle_watch_off
    }

    /// The highest level of all events so far.
    pub(crate) fn level(&self) -> Level {
        match (&self.hello, self.ranges_seen) {
            (Some(_), _) if !self.is_for_graph() => Level::Roots,
            (_, true) => Level::Moves,
            (_, false) => Level::Basic,
        }
    }

    /// How the profiler is armed; `None` without one.
    pub(crate) fn arming(&self) -> Option<Arming> {
        let hello = self.hello.as_ref().filter(|_| !self.is_for_graph())?;
        let always = self.fell_back || hello.arming == wire::Arming::ALWAYS;
        Some(if always { Arming::Always } else { Arming::Late })
    }

    /// Completes the facts of a watch.
    pub(crate) fn complete(&self, facts: &mut Facts) {
        fn fill<T: Clone>(known: &mut Option<T>, new: &Option<T>) {
            if known.is_none() {
                known.clone_from(new);
            }
        }
        let Facts { target, watch } = facts;
        fill(&mut target.command_line, &self.command_line);
        fill(&mut target.os, &self.os);
        fill(&mut target.arch, &self.arch);
        fill(&mut target.runtime_version, &self.runtime_version);
        if self.gc.server.is_some() && self.gc.server != target.gc.server {
            target.gc.server = self.gc.server;
            target.gc.source = self.gc.source;
        }
        fill(&mut target.gc.concurrent, &self.gc.concurrent);
        fill(&mut target.gc.heaps, &self.gc.heaps);
        fill(&mut target.gc.source, &self.gc.source);
        watch.level = watch.level.max(self.level());
        watch.arming = self.arming();
        if watch.stepped_back.is_none() {
            watch.background_gc = self.background_gc();
        }
        watch.step_back = watch.step_back.or(self.step_back.map(|plan| plan.limits));
        let (sample, windows) = self.windows();
        watch.sample = watch.sample.or(sample);
        watch.windows = windows;
    }

    /// What watching did to background GC.
    pub(crate) fn background_gc(&self) -> BackgroundGc {
        if self.gc.concurrent == Some(false) {
            return BackgroundGc::None;
        }
        match &self.hello {
            Some(_) if self.is_for_graph() => BackgroundGc::OffForGraph,
            Some(h) if h.window.is_some() && self.step_back.is_none() => BackgroundGc::OffInWindows,
            Some(h) if h.load == wire::Load::STARTUP => BackgroundGc::OffUntilExit,
            Some(_) => BackgroundGc::OffWhileWatched,
            None if self.ranges_seen => BackgroundGc::Walked,
            None => BackgroundGc::Untouched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_profiler_did_by_itself_is_said_once() {
        let mut info = StreamInfo::default();
        let note = |code| wire::Note { code, hresult: 0x8013_1376_u32 as i32, tick_ns: 0 };
        for _ in 0..1000 {
            info.note(&note(wire::NoteCode::DETACH_REFUSED));
            info.note(&note(wire::NoteCode::LEASE_SILENT));
        }
        let said = info.take_notices();
        assert_eq!(said.len(), 2);
        assert!(said[0].contains("does not let the profiler go (0x80131376)"), "{said:?}");
        assert!(said[1].contains("silent for more than 10 s") && said[1].contains("no roots"), "{said:?}");
        assert!(info.take_notices().is_empty());
        let mut short = StreamInfo::default();
        short.note(&wire::Note { hresult: 0x8013_1371_u32 as i32, ..note(wire::NoteCode::DETACH_REFUSED) });
        assert!(short.take_notices()[0].contains("still starting"));
    }
}
