//! A single-file .NET 10 program that is not one of the test applications.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use xtask::Clr;
use xtask::testkit::{Skip, Target};

use crate::it::lifecycle::attach::check_attached;
use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, Document, Json, start_attach};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("single_file::program_of_others", &[], attach);
}

fn attach(clr: &Clr) -> Result<()> {
    let mut command = match xtask::targets::azmcp_server() {
        Ok(command) => command,
        Err(error) => return Err(Skip::because(format!("no azmcp: {error:#}")).into()),
    };
    // A gen0 budget that a few requests use up.
    command.env("DOTNET_GCgen0size", "40000");
    let mut server = Target::spawn(command)?;
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } },
    });
    server.ask(&hello.to_string(), "{", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch = start_attach(clr, server.pid(), "--gcs 3 --level roots", &path)?;
    let end = Instant::now() + DEADLINE;
    let mut id = 0;
    while gcwatch.wait(Duration::ZERO).is_err() {
        ensure!(Instant::now() < end, "no collections by {id} requests: {gcwatch:?}");
        id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
        server.ask(&request.to_string(), "{", DEADLINE)?;
    }
    let document = Document::read(&path)?;
    let version = document.0["target"].text("/runtime/version")?;
    ensure!(version.starts_with("10."), "{version}");
    ensure!(document.complete()?.len() >= 3, "{} collections", document.complete()?.len());
    check_attached(&document)?;
    // The program still answers.
    let request = json!({ "jsonrpc": "2.0", "id": id + 1, "method": "tools/list" });
    let answer = server.ask(&request.to_string(), "{", DEADLINE)?;
    ensure!(answer.contains("tools"), "{answer}");
    Ok(())
}
