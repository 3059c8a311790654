//! Fuzzes the nettrace reader alone: any bytes, in pieces, with and without deferred payloads.
#![no_main]

use dotnet_diagnostics_client::nettrace::raw::RawReader;
use dotnet_diagnostics_client::nettrace::{Item, Reader, Symbols};
use gcwatch_fuzz::bounded;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bounded(bytes.len(), || {
        let whole = read(bytes, usize::MAX, false);
        let pieces = read(bytes, 37, false);
        assert_eq!(whole, pieces, "the result depends on how the bytes are cut");
        read(bytes, 1 << 10, true);
    });
});

/// Reads a stream. Equal results give equal numbers: events, a checksum, errors, and lost events.
fn read(mut bytes: &[u8], piece: usize, defer: bool) -> (u64, u64, u64, u64) {
    let mut reader = Reader::new();
    if defer {
        reader.defer(|_| true);
    }
    let mut symbols = Symbols::new();
    let (mut events, mut sum, mut errors, mut ended) = (0_u64, 0_u64, 0_u64, false);
    loop {
        loop {
            match reader.next_item() {
                Ok(None) => break,
                Ok(Some(Item::Event(event))) => {
                    assert!(event.deferred.is_some() <= defer);
                    events += 1;
                    symbols.add(&event);
                    let mut fields = event.fields();
                    let text: usize = fields.by_ref().map(|(_, value)| value.to_string().len()).sum();
                    assert!(text <= 1_025 * (1 << 20), "a value has no limit");
                    for address in event.stack().addresses().take(64) {
                        let _ = symbols.resolve(address);
                    }
                    let end = event.payload.last().copied().unwrap_or(0);
                    sum = sum.wrapping_mul(31).wrapping_add(event.timestamp as u64 ^ u64::from(end));
                }
                Ok(Some(Item::End(_))) => {
                    assert!(!ended, "a stream ends once");
                    ended = true;
                }
                Ok(Some(_)) => {}
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                }
            }
        }
        if ended {
            return (events, sum, errors, reader.lost_events());
        }
        let passed = reader.skippable_bytes().min(bytes.len() as u64);
        if passed > 0 {
            reader.skip(passed);
            bytes = &bytes[passed as usize..];
        }
        if bytes.is_empty() {
            reader.finish();
        } else {
            let (now, rest) = bytes.split_at(piece.min(bytes.len()));
            reader.feed(now);
            bytes = rest;
        }
    }
}
