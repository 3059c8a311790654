//! Events about the process and the set-up of its runtime.

use super::cursor::Cursor;

/// The provider of the events at the end of a stream that describe the runtime's settings.
pub(crate) const RUNDOWN_PROVIDER: &str = "Microsoft-Windows-DotNETRuntimeRundown";
/// The provider of the event that carries the command line.
pub(crate) const EVENTPIPE_PROVIDER: &str = "Microsoft-DotNETCore-EventPipe";

/// ProcessInfo of [`EVENTPIPE_PROVIDER`]: (command line, OS, architecture); the last two since .NET 5.
pub(crate) fn process_info(payload: &[u8]) -> (String, Option<String>, Option<String>) {
    let mut c = Cursor::new(payload, 8);
    let command_line = c.utf16();
    let more = |s: String| (!s.is_empty()).then_some(s);
    (command_line, more(c.utf16()), more(c.utf16()))
}

/// The content of RuntimeInformation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuntimeInformation {
    /// Version of the runtime's file.
    file_version: [u16; 4],
    /// STARTUP_FLAGS of the hosting interface.
    startup_flags: u32,
}

impl RuntimeInformation {
    /// The runtime's version: since .NET 5 the third number of its file's is the patch times 100, and the year.
    pub(crate) fn version(self) -> Option<String> {
        let [major, minor, build, _] = self.file_version;
        (major >= 5).then(|| format!("{major}.{minor}.{}", build / 100))
    }

    /// The settings of the garbage collector that were asked for; `None` where no flag is set.
    pub(crate) fn startup_flags(self) -> Option<StartupFlags> {
        const CONCURRENT_GC: u32 = 0x1;
        const SERVER_GC: u32 = 0x1000;
        let has = |flag| self.startup_flags & flag != 0;
        (self.startup_flags != 0)
            .then(|| StartupFlags { concurrent: has(CONCURRENT_GC), server: has(SERVER_GC) })
    }
}

/// The flags of STARTUP_FLAGS that concern the garbage collector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartupFlags {
    pub(crate) concurrent: bool,
    pub(crate) server: bool,
}

/// Id of RuntimeInformation, at both providers.
pub(crate) const RUNTIME_INFORMATION: u32 = 187;

/// Decodes RuntimeInformation; `None` where the payload is too short.
pub(crate) fn runtime_information(payload: &[u8]) -> Option<RuntimeInformation> {
    let mut c = Cursor::new(payload, 8);
    c.skip(2 + 2 + 8)?;
    let file_version = [c.u16()?, c.u16()?, c.u16()?, c.u16()?];
    Some(RuntimeInformation { file_version, startup_flags: c.u32()? })
}

/// GCSettingsRundown (id 10) of [`RUNDOWN_PROVIDER`]: whether background GC is enabled.
pub(crate) fn gc_settings_concurrent(payload: &[u8]) -> Option<bool> {
    let mut c = Cursor::new(payload, 8);
    c.skip(44)?;
    Some(c.u32()? & 1 != 0)
}
