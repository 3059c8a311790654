//! What a stream tells about its target and about the watching, beside the collections.

use netcore_profiler::wire;

use super::events;
use super::facts::{Arming, BackgroundGc, GcSettings};
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
    /// The profiler says that it is on its way out, or what went wrong.
    pub(crate) notes: Vec<wire::Note>,
    ranges_seen: bool,
    fell_back: bool,
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

    pub(crate) fn hello(&mut self, hello: &wire::Hello) {
        let v = hello.clr_version;
        self.runtime_version = Some(format!("{}.{}.{}", v[0], v[1], v[2]));
        self.hello = Some(*hello);
    }

    pub(crate) fn note(&mut self, note: &wire::Note) {
        self.fell_back |= note.code == wire::NoteCode::FELL_BACK_ALWAYS;
        self.notes.push(*note);
    }

    pub(crate) fn saw(&mut self, level: Level) {
        self.ranges_seen |= level == Level::Moves;
    }

    /// The profiler has said that it leaves.
    pub(crate) fn left(&self) -> bool {
        self.notes.iter().any(|n| n.code == wire::NoteCode::LEAVING)
    }

    /// Too many handles are made to see who makes them.
    pub(crate) fn makers_given_up(&self) -> bool {
        self.notes.iter().any(|n| n.code == wire::NoteCode::HANDLE_WATCH_OFF)
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
            Some(h) if h.load == wire::Load::STARTUP => BackgroundGc::OffUntilExit,
            Some(_) => BackgroundGc::OffWhileWatched,
            None if self.ranges_seen => BackgroundGc::Walked,
            None => BackgroundGc::Untouched,
        }
    }
}
