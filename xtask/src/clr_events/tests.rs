use super::{HEAD, PROVIDERS, compare, table};

/// What the runtime's provider has in a manifest: tasks and opcodes, templates, events.
#[derive(Default)]
struct Parts<'a> {
    tasks: &'a str,
    templates: &'a str,
    events: &'a str,
}

const TASKS: &str = r#"
    <task name="GarbageCollection" value="1" message="$(string.GCTask)">
      <opcodes><opcode name="GCHeapStats" value="133" message="$(string.HeapStats)"> </opcode></opcodes>
    </task>
    <task name="Sampling" value="40" message="$(string.SamplingTask)"><opcodes/></task>"#;

/// A manifest of the three providers; the second and the third have nothing but their names.
fn manifest(parts: &Parts<'_>) -> String {
    let [runtime, rundown, private] = PROVIDERS;
    let Parts { tasks, templates, events } = parts;
    format!(
        r#"<instrumentationManifest xmlns="urn:events"><instrumentation xmlns:win="urn:windows"><events>
        <provider name="{runtime}" guid="{{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}}">
          <keywords>
            <!-- not in the order of their bits -->
            <keyword name="TypeKeyword" mask="0x80000" message="$(string.Type)"/>
            <keyword name="GCKeyword" mask="0x1" message="$(string.GC)"/>
          </keywords>
          <tasks>{tasks}</tasks> <maps/> <templates>{templates}</templates> <events>{events}</events>
        </provider>
        <provider name="{private}"/>
        <provider name="{rundown}"/>
        </events></instrumentation>
        <localization><resources culture="en-US"><stringTable>
          <string id="GCTask" value="GC" /><string id="HeapStats" value="HeapStats" />
          <string id="SamplingTask" value="AllocationSampling" /><string id="Spaced" value="two words" />
        </stringTable></resources></localization></instrumentationManifest>"#
    )
}

/// The lines of the events of the first provider.
fn events(parts: &Parts<'_>) -> Vec<String> {
    let text = table(&manifest(parts)).unwrap_or_else(|error| panic!("{error:#}"));
    text.lines().filter(|line| line.starts_with("event ")).map(str::to_owned).collect()
}

/// The fields of an event with this template.
fn fields(template: &str) -> Result<String, String> {
    let templates = &format!(r#"<template tid="T">{template}</template>"#);
    let events = r#"<event value="9" level="win:Verbose" symbol="E" template="T"/>"#;
    let text = table(&manifest(&Parts { tasks: "", templates, events })).map_err(|e| format!("{e:#}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("event 9 0 E -/- 5 0x0"));
    Ok(line.expect("the event").trim_start().to_owned())
}

fn failure(parts: &Parts<'_>) -> String {
    format!("{:#}", table(&manifest(parts)).expect_err("it is not as the table expects"))
}

#[test]
fn providers_and_keywords() {
    let [runtime, rundown, private] = PROVIDERS;
    let text = table(&manifest(&Parts::default())).expect("a table");
    let first = format!("provider {runtime}\nkeyword 0x1 GC\nkeyword 0x80000 Type\n");
    assert_eq!(text, format!("{HEAD}{first}provider {rundown}\nprovider {private}\n"));
}

#[test]
fn each_type_has_its_word() {
    for (in_type, word) in [
        ("Boolean", "bool"),
        ("UInt8", "u8"),
        ("Int8", "i8"),
        ("UInt16", "u16"),
        ("Int16", "i16"),
        ("UInt32", "u32"),
        ("HexInt32", "u32"),
        ("Int32", "i32"),
        ("UInt64", "u64"),
        ("HexInt64", "u64"),
        ("Int64", "i64"),
        ("Float", "f32"),
        ("Double", "f64"),
        ("Pointer", "ptr"),
        ("GUID", "guid"),
        ("UnicodeString", "utf16"),
        ("AnsiString", "utf8"),
    ] {
        let data = format!(r#"<data name="A" inType="win:{in_type}" outType="win:HexInt64" map="M"/>"#);
        assert_eq!(fields(&data), Ok(format!("A:{word}")));
    }
    let unknown = fields(r#"<data name="A" inType="win:SID"/>"#).expect_err("an unknown type");
    assert!(unknown.ends_with("template T: field A: unknown type win:SID"), "{unknown}");
}

#[test]
fn counts_and_lengths() {
    let count = r#"<data name="Count" inType="win:UInt16"/>"#;
    for (template, wanted) in [
        (r#"<data name="Ids" inType="win:Pointer" count="Count"/>"#, "Count:u16 Ids[Count]:ptr"),
        (r#"<data name="Ids" inType="win:Pointer" count="2"/>"#, "Count:u16 Ids[2]:ptr"),
        (r#"<data name="Id" inType="win:Pointer" count="1"/>"#, "Count:u16 Id:ptr"),
        (r#"<data name="Blob" inType="win:Binary" length="Count"/>"#, "Count:u16 Blob[Count]:bytes"),
        (r#"<data name="Blob" inType="win:Binary" length="16"/>"#, "Count:u16 Blob[16]:bytes"),
    ] {
        assert_eq!(fields(&format!("{count}{template}")), Ok(wanted.to_owned()));
    }
    for wrong in [
        r#"<data name="Ids" inType="win:Pointer" count="Later"/><data name="Later" inType="win:UInt16"/>"#,
        r#"<data name="Text" inType="win:UnicodeString"/><data name="Ids" inType="win:Pointer" count="Text"/>"#,
        r#"<data name="Blob" inType="win:Binary"/>"#,
        r#"<data name="Text" inType="win:UnicodeString" length="Count"/>"#,
        r#"<data name="Count" inType="win:UInt16" size="4"/>"#,
        r#"<data name="two words" inType="win:UInt16"/>"#,
        r#"<array name="A"/>"#,
    ] {
        fields(&format!("{count}{wrong}")).expect_err(wrong);
    }
}

#[test]
fn structs() {
    let template = r#"
        <data name="Count" inType="win:UInt32"    />
        <struct name="Values" count="Count" >
          <data name="TypeID" inType="win:UInt64" outType="win:HexInt64" />
          <data name="ParameterCount" inType="win:UInt32" />
          <data name="Parameters" count="ParameterCount" inType="win:UInt64" />
        </struct>
        <data name="ClrInstanceID" inType="win:UInt16" />
        <UserData><Type xmlns="myNs"><Count> %1 </Count></Type></UserData>"#;
    let values = "Values[Count]:{TypeID:u64 ParameterCount:u32 Parameters[ParameterCount]:u64}";
    assert_eq!(fields(template), Ok(format!("Count:u32 {values} ClrInstanceID:u16")));
    // A count inside the struct does not hold after it.
    let outside = r#"
        <struct name="Value"><data name="Count" inType="win:UInt32"/></struct>
        <data name="Ids" inType="win:Pointer" count="Count"/>"#;
    fields(outside).expect_err("a count of another struct");
    let deep = format!("{}{}", r#"<struct name="S">"#.repeat(20), "</struct>".repeat(20));
    fields(&deep).expect_err("too deep");
}

#[test]
fn versions_in_order() {
    let found = events(&Parts {
        tasks: TASKS,
        templates: r#"
            <template tid="GCStart"><data name="Count" inType="win:UInt32"/></template>
            <template tid="GCStart_V2"><data name="Count" inType="win:UInt32"/>
              <data name="Depth" inType="win:UInt32"/></template>"#,
        events: r#"
            <event value="10" version="0" level="win:LogAlways" keywords ="GCKeyword  TypeKeyword"
              opcode="GCHeapStats" task="GarbageCollection" symbol="GCHeapStatsV2" message="$(string.None)"/>
            <event value="1" version="2" level="win:Informational" template="GCStart_V2" keywords="GCKeyword"
              opcode="win:Start" task="GarbageCollection" symbol="GCStart_V2"/>
            <event value="1" version="0" level="win:Informational" template="GCStart" keywords="GCKeyword"
              opcode="win:Start" task="GarbageCollection" symbol="GCStart"/>"#,
    });
    let wanted = [
        "event 1 0 GCStart GC/Start 4 0x1 Count:u32",
        "event 1 2 GCStart GC/Start 4 0x1 Count:u32 Depth:u32",
        "event 10 0 GCHeapStatsV2 GC/HeapStats 0 0x80001",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn events_without_a_task_or_an_opcode() {
    let found = events(&Parts {
        tasks: TASKS,
        events: r#"
            <event value="303" level="win:Error" task="Sampling" symbol="AllocationSampled"/>
            <event value="304" level="win:Warning" task="Sampling" opcode="win:Info" symbol="Informed"/>
            <event value="305" level="win:Critical" opcode="win:Stop" symbol="Stopped"/>"#,
        ..Parts::default()
    });
    let wanted = [
        "event 303 0 AllocationSampled AllocationSampling/- 2 0x0",
        "event 304 0 Informed AllocationSampling/- 3 0x0",
        "event 305 0 Stopped -/Stop 1 0x0",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn what_is_not_known_fails() {
    for (event, error) in [
        (r#"value="1" level="win:Verbose""#, "has no symbol"),
        (r#"value="1" level="Verbose" symbol="E""#, "unknown level Verbose"),
        (r#"value="1" level="win:Verbose" symbol="E" channel="C""#, "unknown attribute channel"),
        (r#"value="1" level="win:Verbose" symbol="E" keywords="JitKeyword""#, "no keyword JitKeyword"),
        (r#"value="1" level="win:Verbose" symbol="E" task="Jit""#, "no task Jit"),
        (r#"value="1" level="win:Verbose" symbol="E" template="T""#, "no template T"),
        (r#"value="1" level="win:Verbose" symbol="E" opcode="GCHeapStats""#, "no opcode GCHeapStats"),
        (r#"value="1" level="win:Verbose" symbol="E" opcode="win:Reply""#, "no opcode win:Reply"),
        (r#"value="65536" level="win:Verbose" symbol="E""#, "an event's value"),
        (r#"value="1" version="256" level="win:Verbose" symbol="E""#, "an event's version"),
        (
            r#"value="1" level="win:Verbose" symbol="E"/><event value="1" level="win:Error" symbol="F""#,
            "twice",
        ),
    ] {
        let events = &format!("<event {event}/>");
        let found = failure(&Parts { tasks: TASKS, events, ..Parts::default() });
        assert!(found.contains(error), "{event}: {found}");
    }
    let spaced = r#"<task name="T" message="$(string.Spaced)"/>"#;
    let events = r#"<event value="1" level="win:Verbose" symbol="E" task="T"/>"#;
    let found = failure(&Parts { tasks: spaced, events, ..Parts::default() });
    assert!(found.contains("\"two words\" is no name"), "{found}");
}

#[test]
fn no_manifest() {
    for (text, error) in [
        ("", "has no provider"),
        ("<a>", "ends inside an element"),
        ("<a></b>", "no XML at byte"),
        (&"<a>".repeat(100_000), "levels"),
    ] {
        let found = format!("{:#}", table(text).expect_err(error));
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn the_first_different_line_is_named() {
    compare("a\nb\n", "a\nb\n").expect("they are the same");
    let found = compare("a\nb\n", "a\n").expect_err("a line is missing").to_string();
    assert_eq!(found, "line 2 is\n  the end of the file\nand should be\n  b");
}
