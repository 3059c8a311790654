//! What a stream tells about its target and about the watching, beside the collections.

use std::time::Duration;

use netcore_profiler::wire;

use super::events;
use super::facts::{Arming, BackgroundGc, Each, GcSettings, Sample, Windows};
use super::record::Level;

/// Gathered as the events come; each `None` until told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) command_line: Option<String>,
    pub(crate) os: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) runtime_version: Option<String>,
    pub(crate) gc: GcSettings,
    pub(crate) hello: Option<wire::Hello>,
    /// The profiler has said that it leaves, and none has come since.
    left: bool,
    makers_given_up: bool,
    ranges_seen: bool,
    fell_back: bool,
    windows: Windows,
    /// Number of the last window before those that are counted, and how many of these were skipped.
    before: (u64, u64),
}

impl Told {
    pub(crate) fn process_info(&mut self, payload: &[u8]) {
        let (command_line, os, arch) = events::process_info(payload);
        self.command_line = Some(command_line);
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

    /// What runs, whatever was asked for: with one processor server GC becomes workstation GC.
    pub(crate) fn server(&mut self, server: bool) {
        if self.gc.server.is_none() {
            self.gc.server = Some(server);
            self.gc.source = Some("events");
        }
    }

    /// Whether this is another stay than the one that was heard of last.
    pub(crate) fn hello(&mut self, hello: &wire::Hello) -> bool {
        let v = hello.clr_version;
        self.runtime_version = Some(format!("{}.{}.{}", v[0], v[1], v[2]));
        let before = self.hello.replace(*hello);
        self.left = false;
        let Some(window) = hello.window else { return before.is_some_and(|b| b.window.is_some()) };
        let another = before.and_then(|b| b.window).is_none_or(|w| w.number != window.number);
        if another {
            let w = &mut self.windows;
            w.taken += 1;
            w.busy = u64::from(window.busy).saturating_sub(self.before.1);
            // The rest of them left no other trace.
            let so_far = u64::from(window.number).saturating_sub(self.before.0);
            w.refused = so_far.saturating_sub(w.taken + w.busy);
        }
        another
    }

    pub(crate) fn note(&mut self, note: &wire::Note) {
        match note.code {
            wire::NoteCode::FELL_BACK_ALWAYS => self.fell_back = true,
            wire::NoteCode::LEAVING => self.left = true,
            wire::NoteCode::HANDLE_WATCH_OFF => self.makers_given_up = true,
            _ => {}
        }
    }

    /// A window was skipped; `busy`: a background collection ran.
    pub(crate) fn window_skipped(&mut self, busy: bool) {
        let count = if busy { &mut self.windows.busy } else { &mut self.windows.refused };
        *count += 1;
    }

    /// What came so far is repeated from a file that is not here: its windows are not counted.
    pub(crate) fn repeated(&mut self) {
        let window = self.hello.and_then(|hello| hello.window).unwrap_or_default();
        self.before = (window.number.into(), window.busy.into());
        self.windows = Windows::default();
    }

    /// The plan of a sampling watch, and what became of its windows.
    pub(crate) fn windows(&self) -> (Option<Sample>, Windows) {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        let window = self.hello.and_then(|hello| hello.window);
        let sample = window.map(|w| Sample {
            each: if w.gcs == 0 { Each::Time(ms(w.length_ms)) } else { Each::Gcs(w.gcs) },
            every: ms(w.every_ms),
            between: if self.ranges_seen { Level::Moves } else { Level::Basic },
        });
        (sample, self.windows)
    }

    /// Whether the profiler comes and goes.
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

    /// The profiler has said that it leaves.
    pub(crate) fn left(&self) -> bool {
        self.left
    }

    /// Too many handles are made to see who makes them.
    pub(crate) fn makers_given_up(&self) -> bool {
        self.makers_given_up
    }

    /// The highest level anything in the stream was seen with.
    pub(crate) fn level(&self) -> Level {
        match (&self.hello, self.ranges_seen) {
            (Some(_), _) => Level::Roots,
            (None, true) => Level::Moves,
            (None, false) => Level::Basic,
        }
    }

    /// How the profiler is armed; `None` without one.
    pub(crate) fn arming(&self) -> Option<Arming> {
        let always = self.fell_back || self.hello.as_ref()?.arming == wire::Arming::ALWAYS;
        Some(if always { Arming::Always } else { Arming::Late })
    }

    /// What watching did to background GC.
    pub(crate) fn background_gc(&self) -> BackgroundGc {
        if self.gc.concurrent == Some(false) {
            return BackgroundGc::None;
        }
        match &self.hello {
            Some(h) if h.window.is_some() => BackgroundGc::OffInWindows,
            Some(h) if h.load == wire::Load::STARTUP => BackgroundGc::OffUntilExit,
            Some(_) => BackgroundGc::OffWhileWatched,
            None if self.ranges_seen => BackgroundGc::Walked,
            None => BackgroundGc::Untouched,
        }
    }
}
