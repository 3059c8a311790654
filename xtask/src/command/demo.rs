//! `cargo xtask demo`

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use xtask::{clr, compiler, workspace};

/// Watch a real application: the C# compiler at work.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Number of classes to compile.
    #[arg(long, default_value_t = 160)]
    classes: u32,

    /// Options of `gcwatch run`, such as `--level moves` or `--format json`.
    #[arg(last = true, value_name = "GCWATCH_OPTIONS")]
    options: Vec<OsString>,
}

impl Demo {
    pub(crate) fn run(self) -> Result<ExitCode> {
        // The newest runtime, which a user is likely to have.
        let clr = clr::find_all()?.pop().context("no runtime was found")?;
        let csc = compiler::csc()?;
        let gcwatch = workspace::release_gcwatch()?;
        let dir = workspace::target_dir().join("demo");
        fs::create_dir_all(&dir)?;
        let source = dir.join("demo.cs");
        let program = program(self.classes);
        fs::write(&source, &program)?;
        let lines = program.lines().count();
        writeln!(io::stderr(), "Watching the C# compiler compile {lines} lines on .NET {}", clr.name)?;

        let mut command = Command::new(gcwatch);
        clr.environment(&mut command);
        command.arg("run");
        if !self.options.iter().any(|option| option.to_string_lossy().starts_with("--level")) {
            command.args(["--level", "roots"]);
        }
        command
            .args(&self.options)
            .arg("--")
            .args(clr.argv(&csc))
            .args(compiler::arguments(&clr, &[source], &dir.join("demo.dll"))?)
            // The compiler asks for server GC with a heap per core, which hardly collects at this size.
            .env("DOTNET_gcServer", "0");
        let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
    }
}

/// A C# program with enough generics, lambdas and queries to keep the compiler busy.
fn program(classes: u32) -> String {
    let mut text = String::from("using System;\nusing System.Collections.Generic;\nusing System.Linq;\n");
    for class in 0..classes {
        let _ = writeln!(text, "class Demo{class}<T> where T : IComparable<T> {{");
        for method in 0..12 {
            let _ = writeln!(
                text,
                "    public static IEnumerable<string> Method{method}(IEnumerable<T> items, Func<T, int> weight) =>\n        \
                 from item in items\n        \
                 let w = weight(item) + {method}\n        \
                 where w % {} != 0 && item.CompareTo(items.First()) >= 0\n        \
                 orderby w descending, item\n        \
                 select $\"{{item}}: {{w * {class}}} {{string.Join(\",\", items.Select(other => weight(other)))}}\";",
                method + 2,
            );
        }
        text.push_str("}\n");
    }
    text.push_str("static class Program { static void Main() { } }\n");
    text
}
