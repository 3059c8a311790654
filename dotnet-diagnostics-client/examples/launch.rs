//! Starts a program under a diagnostic port and prints the size of its GC events: `launch COMMAND [ARGUMENT...]`. The
//! processes that the program starts are resumed and not traced.

#![expect(clippy::print_stdout, reason = "the example prints")]

use std::error::Error;

use dotnet_diagnostics_client::{Client, DiagnosticPort, Endpoint, Keywords, Level, Provider, SessionConfig};
use tokio::process::Command;

const PORTS: &str = "DOTNET_DiagnosticPorts";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().ok_or("usage: launch COMMAND [ARGUMENT...]")?;
    let directory = tempfile::tempdir()?;
    let port = DiagnosticPort::bind(Endpoint::socket(directory.path().join("port")))?;
    let mut child = Command::new(program).args(arguments).env(PORTS, port.setting()).spawn()?;
    let runtime = tokio::select! {
        runtime = port.accept() => runtime?,
        // It is no .NET program, or its environment switches diagnostics off.
        status = child.wait() => return Err(format!("{} without connecting", status?).into()),
    };
    tokio::select! {
        bytes = trace(runtime.client()) => println!("{} bytes", bytes?),
        failed = resume_others(&port) => failed?,
    }
    println!("{}", child.wait().await?);
    Ok(())
}

/// Reads the events until the process ends. Returns their size in bytes.
async fn trace(runtime: &Client) -> Result<u64, Box<dyn Error>> {
    let info = runtime.process_info().await?;
    println!("process {}, {:?} on .NET {:?}", info.pid, info.entry_assembly, info.clr_version);
    // So that child processes do not connect. NativeAOT cannot remove a variable.
    match runtime.supports_profilers().await? {
        true => runtime.remove_environment_variable(PORTS).await?,
        false => runtime.set_environment_variable(PORTS, "").await?,
    }
    let gc = Provider::new(Provider::RUNTIME, Level::Informational).keywords(Keywords::GC);
    let mut session = runtime.collect_tracing(&SessionConfig::new([gc])).await?;
    runtime.resume_runtime().await?;
    Ok(tokio::io::copy(&mut session, &mut tokio::io::sink()).await?)
}

async fn resume_others(port: &DiagnosticPort) -> Result<(), Box<dyn Error>> {
    loop {
        let other = port.accept().await?;
        println!("resuming process {}", other.connections().pid());
        other.client().resume_runtime().await?;
    }
}
