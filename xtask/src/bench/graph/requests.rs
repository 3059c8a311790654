//! Requests to a web service at a fixed rate. Each latency counts from the time at which the request should have been sent,
//! so that a service that stands still makes all requests of that time late.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

/// How many requests can be on their way.
const CONNECTIONS: u32 = 16;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Median, 99th percentile and maximum in ms.
pub(super) fn at_rate(
    address: SocketAddr,
    path: &str,
    per_second: u32,
    duration: Duration,
) -> Result<Vec<f64>> {
    let first = Instant::now();
    let all = (f64::from(per_second) * duration.as_secs_f64()) as u32;
    let mut latencies: Vec<f64> = thread::scope(|scope| {
        let connections = (0..CONNECTIONS).map(|index| {
            scope.spawn(move || -> Result<Vec<f64>> {
                let mut connection = TcpStream::connect(address)?;
                connection.set_nodelay(true)?;
                connection.set_read_timeout(Some(TIMEOUT))?;
                let mine = (index..all).step_by(CONNECTIONS as usize);
                mine.map(|nth| {
                    let due = first + Duration::from_secs_f64(f64::from(nth) / f64::from(per_second));
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    get(&mut connection, path)?;
                    Ok(due.elapsed().as_secs_f64() * 1e3)
                })
                .collect()
            })
        });
        let connections: Vec<_> = connections.collect();
        let each = connections
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a connection's thread panicked"))?);
        each.collect::<Result<Vec<_>>>().map(|each| each.concat())
    })?;
    latencies.sort_by(f64::total_cmp);
    let at = |part: f64| latencies.get((latencies.len() as f64 * part) as usize).copied();
    let max = latencies.last().copied();
    [at(0.5), at(0.99), max].into_iter().collect::<Option<_>>().context("no request was sent")
}

/// Sends one request, and reads its answer to the end.
pub(super) fn get(connection: &mut TcpStream, path: &str) -> Result<String> {
    connection.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    let mut part = [0; 16 << 10];
    loop {
        let count = connection.read(&mut part)?;
        if count == 0 {
            bail!("the service closed the connection");
        }
        answer.extend_from_slice(&part[..count]);
        if is_whole(&answer) {
            return Ok(String::from_utf8_lossy(&answer).into_owned());
        }
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    match length {
        Some(length) => answer.len() - end - 4 >= length,
        None => answer.ends_with(b"0\r\n\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_answer_is_known() {
        let known = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert!(is_whole(known) && !is_whole(&known[..known.len() - 1]) && !is_whole(&known[..20]));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert!(is_whole(chunked) && !is_whole(&chunked[..chunked.len() - 2]));
    }
}
