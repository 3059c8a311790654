//! Starts a program under a diagnostic port and writes its GC events, from the first GC on, to a file:
//! `launch FILE.nettrace COMMAND [ARGUMENT...]`. The processes that it starts are resumed and left alone.
#![expect(clippy::print_stdout, reason = "printing is what the example is for")]

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

use dotnet_diagnostics_client::{Endpoint, Port, PortClient, Provider, Rundown, SessionConfig};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

const PORTS: &str = "DOTNET_DiagnosticPorts";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match launch().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("launch: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn launch() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("usage: launch FILE.nettrace COMMAND [ARGUMENT...]".into());
    };
    let directory = tempfile::tempdir()?;
    let port = Port::bind(Endpoint::socket(directory.path().join("port")))?;
    let mut child = Command::new(program).args(arguments).env(PORTS, port.setting()).spawn()?;

    let runtime = tokio::select! {
        runtime = port.accept() => runtime?,
        // Diagnostics may be switched off, or it is no .NET program at all.
        status = child.wait() => return Err(format!("{} without dialling", status?).into()),
    };
    let mut file = File::create(path)?;
    tokio::select! {
        written = trace(&runtime, &mut file) => println!("{} bytes", written?),
        failed = resume_others(&port) => failed?,
    }
    println!("{}", child.wait().await?);
    Ok(())
}

/// Traces until the process ends.
async fn trace(runtime: &PortClient, file: &mut File) -> Result<u64, Box<dyn Error>> {
    let info = runtime.process_info().await?;
    println!("process {}, {:?} on .NET {:?}", info.pid, info.entry_assembly, info.clr_version);
    // So that the processes it starts do not dial as well. NativeAOT cannot remove a variable.
    let value = (!runtime.supports_profilers().await?).then_some("");
    runtime.set_environment_variable(PORTS, value).await?;
    let mut session = runtime
        .collect_tracing(&SessionConfig {
            buffer_mb: 64,
            providers: vec![Provider::new("Microsoft-Windows-DotNETRuntime", 0x1, 4)],
            rundown: Rundown::None,
            stacks: false,
        })
        .await?;
    runtime.resume_runtime().await?;
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        let count = session.read(&mut buffer).await?;
        if count == 0 {
            return Ok(total);
        }
        file.write_all(&buffer[..count])?;
        total += count as u64;
    }
}

async fn resume_others(port: &Port) -> Result<(), Box<dyn Error>> {
    loop {
        let other = port.accept().await?;
        println!("resuming process {}", other.transport().pid());
        other.resume_runtime().await?;
    }
}
