//! A target that never stops sending and never ends its session: the watch still ends.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::it::racer::{answer, process_info, request};
use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, Document, Gcwatch, Signal, signal, wait_for_start};

pub(crate) fn register(suite: &mut Suite) {
    suite.plain("endless::duration_holds::flood", || duration_holds(flood));
    suite.plain("endless::duration_holds::trickle", || duration_holds(trickle));
    suite.plain("endless::sigterm_holds::flood", || sigterm_holds(flood));
    suite.plain("endless::sigterm_holds::trickle", || sigterm_holds(trickle));
}

type Send = fn(&mut UnixStream) -> std::io::Result<()>;

/// After how long gcwatch must have left the stream, with an allowance for a busy machine.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(30 + 60);

/// Sends as fast as gcwatch reads.
fn flood(stream: &mut UnixStream) -> std::io::Result<()> {
    loop {
        stream.write_all(&[0; 1 << 16])?;
    }
}

/// Sends so often that no silence is long enough to count as one.
fn trickle(stream: &mut UnixStream) -> std::io::Result<()> {
    loop {
        stream.write_all(&[0])?;
        thread::sleep(Duration::from_millis(200));
    }
}

/// Poses as a runtime, but does not answer the request to stop.
fn runtime(send: Send) -> Result<(tempfile::TempDir, Gcwatch)> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path)?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream, send));
        }
    });
    Ok((dir, Gcwatch::new().args("attach --level basic --format json --diagnostic-port").arg(path)))
}

/// A closed connection is no failure: gcwatch hangs up.
fn serve(mut stream: UnixStream, send: Send) {
    const EVENT_PIPE: u8 = 2;
    const STOP: u8 = 1;
    let _ = match request(&mut stream) {
        Ok((EVENT_PIPE, STOP)) => {
            thread::sleep(DEADLINE);
            Ok(())
        }
        Ok((EVENT_PIPE, _)) => answer(&mut stream, 0, &1_u64.to_le_bytes()).and_then(|()| send(&mut stream)),
        Ok(_) => answer(&mut stream, 0, &process_info()),
        Err(e) => Err(e),
    };
}

fn duration_holds(send: Send) -> Result<()> {
    let (dir, gcwatch) = runtime(send)?;
    let out = dir.path().join("out.json");
    let began = Instant::now();
    gcwatch.args("--duration 1s -o").arg(&out).output()?.expect(0)?;
    ensure!(began.elapsed() < LEAVE_TIMEOUT, "it took {:?}", began.elapsed());
    check(&Document::read(&out)?, "duration")
}

fn sigterm_holds(send: Send) -> Result<()> {
    let (dir, gcwatch) = runtime(send)?;
    let out = dir.path().join("out.json");
    let mut gcwatch = gcwatch.arg("-o").arg(&out).spawn()?;
    wait_for_start(&mut gcwatch, &out)?;
    let began = Instant::now();
    signal(gcwatch.pid(), Signal::TERM)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(
        status.success() && began.elapsed() < LEAVE_TIMEOUT,
        "{status} after {:?}: {gcwatch:?}",
        began.elapsed()
    );
    check(&Document::read(&out)?, "terminated")
}

fn check(document: &Document, reason: &str) -> Result<()> {
    let (exit, lost) = (&document.0["exit"], &document.0["lost"]);
    ensure!(exit["reason"] == reason && exit["gcwatch"] == 0, "{exit}");
    ensure!(lost["gap"] == "left", "{lost}");
    Ok(())
}
