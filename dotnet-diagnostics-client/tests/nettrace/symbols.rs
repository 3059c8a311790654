//! Names of methods, from events built by hand. Real ones are in the tests with real runtimes.

use dotnet_diagnostics_client::nettrace::{FileReader, Item, Symbols};

use crate::builder::{Bytes, Stream, ev, metadata};

const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

fn method(id: u64, start: u64, size: u32, name: &str) -> Vec<u8> {
    let head = Bytes::new().u64(id).u64(70).u64(start).u32(size).u32(0x0600_0001).u32(0);
    head.text("N.T").text(name).text("void  ()").u16(9).u64(0).0
}

fn symbols(events: &[(u32, Vec<u8>)]) -> Symbols {
    let record = |id: u32| metadata(id, RUNDOWN, id);
    let records: Vec<_> = [144, 150, 154, 7].map(record).to_vec();
    let rows: Vec<_> = events
        .iter()
        .zip(1..)
        .map(|((id, payload), number)| ev(1, number, number.into()).metadata(*id).payload(payload))
        .collect();
    let stream = Stream::without_metadata().records(&records).events(&rows).end();
    let mut reader = FileReader::new(&*stream);
    let mut symbols = Symbols::new();
    while let Some(item) = reader.next_item().unwrap() {
        if let Item::Event(event) = item {
            symbols.add(&event);
        }
    }
    symbols
}

#[test]
fn an_address_belongs_to_the_method_that_made_the_call() {
    let map = Bytes::new().u64(1).u64(0).u8(0).u16(3);
    let map = [u32::MAX - 1, 0, 8].into_iter().fold(map, Bytes::u32);
    let map = [0, 4, 16].into_iter().fold(map, Bytes::u32).u16(9);
    let module = Bytes::new().u64(70).u64(1).u32(0).u32(0).text("/app/a.dll").text("");
    let symbols = symbols(&[
        (144, method(1, 1000, 32, "A")),
        (144, method(2, 1032, 8, "B")),
        (150, map.0),
        (154, module.0),
        (144, vec![1, 2, 3]),
        (7, vec![]),
    ]);
    let name = |address| symbols.resolve(address).map(|symbol| symbol.method.to_string());
    assert_eq!(name(1001).as_deref(), Some("N.T.A"));
    assert_eq!(name(1032).as_deref(), Some("N.T.A"), "the call is the last instruction of A");
    assert_eq!(name(1033).as_deref(), Some("N.T.B"));
    assert_eq!((name(1041), name(1000), name(0), name(u64::MAX)), (None, None, None, None));
    let il = |address| symbols.resolve(address).and_then(|symbol| symbol.il_offset);
    assert_eq!((il(1002), il(1006), il(1032), il(1034)), (None, Some(0), Some(8), None));
    let symbol = symbols.resolve(1017).unwrap();
    assert_eq!(
        (symbol.module, symbol.native_offset, symbol.method.token),
        (Some("/app/a.dll"), 17, 0x0600_0001)
    );
    assert_eq!((symbols.len(), symbols.left_out()), (2, 0));
}

#[test]
fn code_that_replaces_other_code_counts() {
    let symbols = symbols(&[(144, method(1, 1000, 32, "Old")), (144, method(2, 1000, 16, "New"))]);
    assert_eq!(symbols.resolve(1010).map(|symbol| &*symbol.method.name), Some("New"));
    assert_eq!(symbols.resolve(1020), None);
}
