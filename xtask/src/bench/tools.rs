//! The ways to watch a program, gcwatch's and others'.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use xtask::testkit::peer;
use xtask::{Clr, apps, profiler};

use super::Bench;

/// Where dotnet-trace is, below the directory of other tools.
const DOTNET_TRACE: &str = "dotnet-trace-10.0.750501/dotnet-trace.dll";

/// A tool, by the name its figures have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    None,
    /// gcwatch with these options.
    Gcwatch(&'static [&'static str]),
    /// gcwatch with a profiler library that reports nothing.
    Measured(&'static str),
    /// dotnet-trace with these keywords of the runtime's provider.
    Trace(&'static str),
}

/// Every tool by its name.
const TOOLS: [(&str, Tool); 14] = [
    ("none", Tool::None),
    // What a figure is worth: nothing held against nothing.
    ("none again", Tool::None),
    ("basic", Tool::Gcwatch(&["--level", "basic"])),
    ("basic --record", Tool::Gcwatch(&["--level", "basic", "--record"])),
    ("moves", Tool::Gcwatch(&["--level", "moves"])),
    ("roots", Tool::Gcwatch(&["--level", "roots"])),
    ("roots --no-names", Tool::Gcwatch(&["--level", "roots", "--no-names"])),
    ("roots --blocks", Tool::Gcwatch(&["--level", "roots", "--blocks"])),
    ("roots --sample 1/30s", Tool::Gcwatch(&["--level", "roots", "--sample", "1/30s"])),
    ("floor", Tool::Measured("floor")),
    ("MONITOR_GC", Tool::Measured("plain")),
    ("dotnet-trace 0x1", Tool::Trace("0x1")),
    ("dotnet-trace 0x400001", Tool::Trace("0x400001")),
    ("dotnet-trace gc-verbose", Tool::Trace("gc-verbose")),
];

impl Tool {
    /// # Errors
    /// Where there is none: it would be measured as no tool.
    pub(super) fn named(name: &str) -> Result<Self> {
        let known = TOOLS.iter().find(|(known, _)| *known == name);
        known.map(|(_, tool)| *tool).with_context(|| format!("there is no tool {name}"))
    }

    /// Whether it loads a profiler.
    pub(super) fn is_profiler(self) -> bool {
        matches!(self, Self::Measured(_))
            || matches!(self, Self::Gcwatch(options) if options.contains(&"roots"))
    }
}

impl Bench {
    /// A test application as a command line: with its runtime's settings in front, for the application alone and not
    /// for the tool that starts it.
    pub(super) fn app(
        &self,
        clr: &Clr,
        name: &str,
        settings: &[(&str, String)],
        args: &[String],
    ) -> Result<Vec<OsString>> {
        let mut line = vec![OsString::from("env")];
        line.extend(settings.iter().map(|(name, value)| OsString::from(format!("{name}={value}"))));
        line.extend(clr.argv(&apps::build(name)?));
        line.extend(args.iter().map(OsString::from));
        Ok(line)
    }

    /// A command that runs a command line under a tool. gcwatch writes a line per collection, to nobody.
    pub(super) fn run_under(&self, tool: Tool, clr: &Clr, line: &[OsString]) -> Result<Command> {
        let output =
            if matches!(tool, Tool::Trace(_)) { self.file("trace.nettrace") } else { "/dev/null".into() };
        let Some((mut command, arguments)) = self.tool(tool, clr, &output)? else {
            let mut command = Command::new(&line[0]);
            command.args(&line[1..]);
            clr.environment(&mut command);
            return Ok(command);
        };
        command.arg(if matches!(tool, Tool::Trace(_)) { "collect" } else { "run" });
        command.args(arguments);
        if matches!(tool, Tool::Trace(_)) {
            command.arg("--show-child-io");
        }
        command.arg("--").args(line);
        Ok(command)
    }

    /// A command that attaches a tool to a process and writes to a file.
    pub(super) fn attach(&self, tool: Tool, clr: &Clr, pid: u32, output: &Path) -> Result<Option<Command>> {
        let Some((mut command, arguments)) = self.tool(tool, clr, output)? else { return Ok(None) };
        command.arg(if matches!(tool, Tool::Trace(_)) { "collect" } else { "attach" });
        command.args(["-p", &pid.to_string()]).args(arguments);
        Ok(Some(command))
    }

    /// A tool, and its arguments without the target.
    fn tool(&self, tool: Tool, clr: &Clr, output: &Path) -> Result<Option<(Command, Vec<OsString>)>> {
        let mut arguments: Vec<OsString> = Vec::new();
        let command = match tool {
            Tool::None => return Ok(None),
            Tool::Trace(what) => {
                arguments.push("--output".into());
                arguments.push(output.into());
                if what.starts_with("0x") {
                    let provider = format!("Microsoft-Windows-DotNETRuntime:{what}:4");
                    arguments.extend(["--providers".into(), provider.into()]);
                } else {
                    arguments.extend(["--profile".into(), what.into()]);
                }
                return Ok(Some((self.newest.command(&dotnet_trace()?), arguments)));
            }
            Tool::Gcwatch(options) => {
                arguments.extend(options.iter().map(OsString::from));
                if options.contains(&"--record") {
                    arguments.push(self.file("recording.nettrace").into());
                }
                self.gcwatch()
            }
            Tool::Measured(kind) => {
                let library = profiler::measured(kind)?;
                arguments.extend(["--level", "roots", "--no-names", "--profiler-path"].map(OsString::from));
                arguments.push(library.into());
                self.gcwatch()
            }
        };
        let mut command = command;
        clr.environment(&mut command);
        arguments.extend(["--output".into(), output.into()]);
        Ok(Some((command, arguments)))
    }

    /// gcwatch, as a command without arguments and without settings of whoever runs this.
    pub(super) fn gcwatch(&self) -> Command {
        let mut command = Command::new(&self.gcwatch);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GCWATCH_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.dir.path());
        command
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// dotnet-trace's program.
pub(super) fn dotnet_trace() -> Result<PathBuf> {
    Ok(peer(DOTNET_TRACE)?)
}

/// The size of a file in MiB.
pub(super) fn mib(path: &Path) -> f64 {
    std::fs::metadata(path).map_or(0.0, |meta| meta.len() as f64 / f64::from(1 << 20))
}
