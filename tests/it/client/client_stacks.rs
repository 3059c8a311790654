//! Stacks of events have the names of the program's methods, also of those that were compiled before the session.

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::nettrace::{Item, Symbols};
use dotnet_diagnostics_client::{
    DiagnosticPort, Endpoint, Keywords, Level, Provider, Rundown, SessionConfig,
};
use tokio::time::timeout;
use xtask::testkit::Target;
use xtask::{Clr, apps};

use super::{block_on, client_of};
use crate::it::suite::Suite;
use crate::it::support::DEADLINE;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("client_stacks::of_exceptions", &[], of_exceptions);
    suite.each("client_stacks::rundown_of_a_running_program", &[], rundown);
}

/// The program throws in `Throw`, called by `Exceptions`, called by `Main`.
fn of_exceptions(clr: &Clr) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let stacks = block_on(async {
        let port = DiagnosticPort::bind(Endpoint::socket(directory.path().join("port")))?;
        let mut command = clr.command(&apps::build("kinds")?);
        command.env("DOTNET_DiagnosticPorts", port.setting()).stdout(std::process::Stdio::null());
        let mut program = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        let target = timeout(DEADLINE, port.accept()).await.context("it did not connect")??;
        let keywords = Keywords::EXCEPTION | Keywords::JIT | Keywords::LOADER | Keywords::IL_TO_NATIVE_MAP;
        let runtime = Provider::new(Provider::RUNTIME, Level::Verbose).keywords(keywords);
        let config = SessionConfig::new([runtime]).stackwalk(true).rundown(Rundown::Default);
        let (mut events, _stop) = target.client().collect_tracing(&config).await?.into_split();
        target.client().resume_runtime().await?;
        let (mut symbols, mut thrown) = (Symbols::new(), Vec::new());
        while let Some(item) = timeout(DEADLINE, events.next()).await.context("no event")?? {
            let Item::Event(event) = item else { continue };
            symbols.add(&event);
            if event.name() == "ExceptionThrown" {
                thrown.push(event.stack().addresses().collect::<Vec<_>>());
            }
        }
        ensure!(program.wait().await?.success(), "the program failed");
        ensure!(symbols.left_out() == 0 && symbols.len() > 100, "{} methods", symbols.len());
        let named = |stack: Vec<u64>| {
            let of = |address| symbols.resolve(address);
            let own = stack.into_iter().filter_map(of).filter(|symbol| &*symbol.method.type_name == "Kinds");
            own.map(|symbol| {
                let module = symbol.module.is_some_and(|path| path.ends_with("kinds.dll"));
                (symbol.method.name.to_string(), module, symbol.il_offset.is_some())
            })
            .collect::<Vec<_>>()
        };
        Ok(thrown.into_iter().map(named).collect::<Vec<_>>())
    })?;
    let frame = |name: &str| (name.to_owned(), true, true);
    let expected = ["Throw", "Exceptions", "Main"].map(frame).to_vec();
    let found = stacks.iter().filter(|stack| **stack == expected).count();
    // Two in each of three rounds.
    ensure!(found == 6, "{found} stacks are {expected:?}: {stacks:?}");
    Ok(())
}

fn rundown(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "idle", &[], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let names = block_on(async {
        let gc = Provider::new(Provider::RUNTIME, Level::Informational).keywords(Keywords::GC);
        let config = SessionConfig::new([gc]).rundown(Rundown::Default);
        let (mut events, stop) = client_of(program.pid())?.collect_tracing(&config).await?.into_split();
        stop.stop();
        let mut names = Vec::new();
        let mut clean = false;
        while let Some(item) = timeout(DEADLINE, events.next()).await.context("no event")?? {
            match item {
                Item::Event(event) if event.name() == "MethodDCEndVerbose" => {
                    let fields = event.fields();
                    let text = |name| fields.get(name).and_then(|value| value.as_text());
                    names.extend(
                        text("MethodNamespace")
                            .zip(text("MethodName"))
                            .map(|(ns, name)| format!("{ns}.{name}")),
                    );
                }
                Item::End(end) => clean = end.clean && end.lost_events == 0,
                _ => {}
            }
        }
        ensure!(clean, "the stream is not whole");
        Ok(names)
    })?;
    ensure!(names.iter().any(|name| name == "Idle.Main"), "{} methods", names.len());
    Ok(())
}
