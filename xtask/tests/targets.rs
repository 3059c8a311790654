//! Checks that the real applications start and stop. Fetches 59 MB the first time.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::time::Duration;

use anyhow::{Result, ensure};
use xtask::targets;
use xtask::testkit::Target;

const DEADLINE: Duration = Duration::from_secs(120);

#[test]
fn azmcp_serves_until_stdin_ends() -> Result<()> {
    let mut server = Target::spawn(targets::azmcp_server()?)?;
    server.send_line(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#,
    )?;
    let answer = server.wait_line("{", DEADLINE)?;
    ensure!(answer.contains(r#""id":1"#) && answer.contains("serverInfo"), "{answer}");
    server.close_stdin();
    server.wait(DEADLINE)?;
    Ok(())
}
