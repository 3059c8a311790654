//! Processes that send more than a graph.

use netcore_profiler::wire::graph::HEAD_BYTES;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const MAX_BYTES: u64 = 1 << 20;

fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&[kind][..], &length, payload].concat()
}

/// What comes of a process that sends `first`, and then `forever` as long as somebody reads; and the size of the file.
async fn taken(first: Vec<u8>, forever: Vec<u8>) -> io::Result<(Result<Facts, NotTaken>, u64)> {
    let (stream, mut process) = tokio::io::duplex(1 << 16);
    let sending = async move {
        process.read_exact(&mut [0; Request::BYTES]).await?;
        process.write_all(&first).await?;
        let many = forever.repeat(100);
        while process.write_all(&many).await.is_ok() {}
        Ok::<_, io::Error>(())
    };
    let wish = Wish {
        texts: false,
        induce: false,
        within: None,
        deadline: Duration::from_secs(300),
        way: Way::Fork,
        max_bytes: MAX_BYTES,
    };
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file)?;
    let receiving = async move { receive(stream, None, &|| (), wish, &mut writer, &mut |_| {}).await };
    let (sent, taken) = tokio::join!(sending, receiving);
    sent?;
    Ok((taken, file.len() as u64))
}

#[tokio::test]
async fn no_more_is_written_than_the_process_could_hold() -> io::Result<()> {
    const MANY: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];
    let end = || message(kind::END, &[0; 80]);
    let outcome = Outcome { code: Outcome::TAKEN, status: 0, fork_ns: 0, roots_ns: 0, cpu_ns: 0 };
    let mut payload = [0; Outcome::BYTES];
    graph::write(&outcome, &mut payload).map_err(io::Error::other)?;
    let whole = [end(), message(kind::OUTCOME, &payload)].concat();
    for (first, forever) in [
        (vec![], message(kind::OBJECTS, &[])),
        (vec![], message(kind::TAKEN, &[])),
        // It claims to have many objects, for each of which gcwatch would need memory.
        (vec![], message(kind::OBJECTS, &MANY)),
        (vec![], message(kind::TEXTS, &[7; 1000])),
        (whole.clone(), message(kind::OBJECTS, &[])),
        (whole, message(kind::CLASS_FACTS, &[1; 1000])),
    ] {
        let is_graph = !first.is_empty();
        let what = forever.get(..HEAD_BYTES).map(<[u8]>::to_vec);
        let (taken, size) = taken(first, forever).await?;
        assert!(size < 2 * MAX_BYTES, "{what:?}: {size} bytes");
        match taken {
            Ok(facts) => assert!(is_graph && facts.names_missing, "{what:?}"),
            Err(NotTaken::Failed(failure)) => {
                assert!(!is_graph && failure.what.contains("more than its memory"), "{what:?}: {failure:?}");
            }
            Err(e) => panic!("{what:?}: {e:?}"),
        }
    }
    Ok(())
}
