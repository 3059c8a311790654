//! The client's reader and Microsoft's TraceEvent read the same events: as many, in the same order, with the same names,
//! times, threads and values of fields.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use dotnet_diagnostics_client::nettrace::{Event, FileReader, Item, Value, clr};
use dotnet_diagnostics_client::{DiagnosticPort, Endpoint, Level, Provider, Rundown, SessionConfig};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use xtask::testkit::recordings;
use xtask::{Clr, apps};

use crate::it::suite::{Need, Suite};
use crate::it::support::{TRACE_EVENT, peer_events};

pub(crate) fn register(suite: &mut Suite) {
    let needs = [Need::Peer(TRACE_EVENT)];
    suite.once("event_fields::of_recordings", &needs, of_recordings);
    suite.each("event_fields::of_every_kind", &needs, of_every_kind);
}

/// For a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(300);

/// TraceEvent's name of an event of the runtime where the manifest has another one.
const OTHER_NAMES: [(u32, &str); 14] = [
    (31, "GC/DestoryGCHandle"),
    (39, "GC/CommittedUsage"),
    (150, "Method/ILToNativeMapDCStop"),
    (159, "Method/R2RGetEntryPoint"),
    (160, "Method/R2RGetEntryPointStart"),
    (202, "GC/MarkWithType"),
    (283, "TieredCompilation/BackgroundJitStart"),
    (284, "TieredCompilation/BackgroundJitStop"),
    (298, "JitInstrumentationDataVerbose/InstrumentationData"),
    // It does not know these.
    (26, "EventID(26)"),
    (191, "EventID(191)"),
    (200, "EventID(200)"),
    (201, "EventID(201)"),
    (270, "EventID(270)"),
];

/// How a field of TraceEvent's is found among ours.
#[derive(Clone, Copy)]
enum Theirs {
    /// It is no part of the payload: made of other fields, or a default where the version has no such field.
    Made,
    /// The same numbers in the same order, in a field with this name.
    Is(&'static str),
    /// TraceEvent reads it from the wrong place: the text or number next to it shows that.
    Wrong,
}

/// Fields of the runtime's events that TraceEvent shows otherwise than the manifest.
const OTHER_FIELDS: [(u32, &str, Theirs); 43] = [
    (4, "Depth", Theirs::Made),
    (4, "TotalHeapSize", Theirs::Made),
    (4, "TotalPromoted", Theirs::Made),
    (15, "TypeID_0", Theirs::Made),
    (15, "TypeName_0", Theirs::Made),
    (15, "Values", Theirs::Is("Values")),
    (19, "Values", Theirs::Is("Values")),
    (29, "TypeName", Theirs::Made),
    (39, "TotalBookkeepingCommitted", Theirs::Made),
    (39, "TotalCommittedInFree", Theirs::Made),
    (39, "TotalCommittedInGlobalDecommit", Theirs::Made),
    (39, "TotalCommittedInGlobalFree", Theirs::Made),
    (39, "TotalCommittedInUse", Theirs::Made),
    (39, "Version", Theirs::Made),
    (39, "raw", Theirs::Made),
    (72, "LoaderModuleID", Theirs::Wrong),
    (72, "TypeParameterCount", Theirs::Wrong),
    (72, "TypeParameters", Theirs::Wrong),
    (143, "MethodFlags", Theirs::Made),
    (143, "OptimizationTier", Theirs::Made),
    (143, "ReJITID", Theirs::Made),
    (144, "MethodFlags", Theirs::Made),
    (144, "OptimizationTier", Theirs::Made),
    (144, "ReJITID", Theirs::Made),
    (150, "ILOffset", Theirs::Is("ILOffsets")),
    (150, "NativeOffset", Theirs::Is("NativeOffsets")),
    (152, "ModuleILFileName", Theirs::Made),
    (153, "ModuleILFileName", Theirs::Made),
    (154, "ModuleILFileName", Theirs::Made),
    (190, "ILOffset", Theirs::Is("ILOffsets")),
    (190, "NativeOffset", Theirs::Is("NativeOffsets")),
    (202, "Promoted", Theirs::Is("Bytes")),
    (204, "CompactMechanisms", Theirs::Made),
    (204, "ConcurrentCompactMechanisms", Theirs::Made),
    (204, "ExpandMechanisms", Theirs::Made),
    (204, "GenData", Theirs::Made),
    (204, "MemoryPressure", Theirs::Made),
    (205, "Times", Theirs::Is("Values")),
    (208, "Info", Theirs::Is("Values")),
    (209, "Buckets", Theirs::Is("Values")),
    (298, "MethodFlags", Theirs::Is("MethodFlags")),
    (298, "MethodNamespace", Theirs::Wrong),
    (298, "MethodToken", Theirs::Wrong),
];

/// Events that TraceEvent reads wrongly, with a bool of one byte or a decimal, and their fields as `tests/apps/kinds.cs`
/// writes them.
const TRUTH: [(&str, &str); 2] = [
    ("Money", "{Money=1.25,After=1}"),
    (
        "Scalars",
        "{When=9466848000000000,Id=00000000-0000-0000-0000-000000000000,Text=\"x\",Letter=\"x\",Flag=true,\
         Address=-1,Colour=200,Small=-1,Single=0.1}",
    ),
];

fn of_recordings(_: &Clr) -> Result<()> {
    let mut total = Seen::default();
    for entry in std::fs::read_dir(recordings()?)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "nettrace") {
            let seen = compare(&path).with_context(|| path.display().to_string())?;
            total.events += seen.events;
            total.fields += seen.fields;
            total.kinds.extend(seen.kinds);
        }
    }
    ensure!(total.events > 19_000 && total.fields > 100_000 && total.kinds.len() > 40, "{total:?}");
    Ok(())
}

/// A program that does everything that a runtime tells, recorded with all keywords, rundown and stacks.
fn of_every_kind(clr: &Clr) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("all.nettrace");
    record_all(clr, &path)?;
    let seen = compare(&path)?;
    ensure!(seen.events > 2_000 && seen.fields > 10_000 && seen.kinds.len() > 60, "{seen:?}");
    Ok(())
}

/// Runs the program and writes all that the runtime sends into a file.
fn record_all(clr: &Clr, path: &Path) -> Result<()> {
    let directory = path.parent().context("no directory")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let port = DiagnosticPort::bind(Endpoint::socket(directory.join("port")))?;
        let mut program = clr.command(&apps::build("kinds")?);
        program.env("DOTNET_DiagnosticPorts", port.setting()).stdout(Stdio::null());
        let mut child = KillOnDrop(program.spawn()?);
        let target = timeout(DEADLINE, port.accept()).await.context("the program did not connect")??;
        let names = [
            clr::RUNTIME,
            "Microsoft-Windows-DotNETRuntimePrivate",
            "System.Threading.Tasks.TplEventSource",
            "Kinds-Manifest",
            "Kinds-SelfDescribing",
        ];
        let counters = Provider::new("System.Runtime", Level::Verbose).arguments("EventCounterIntervalSec=1");
        let providers = names.map(|name| Provider::new(name, Level::Verbose)).into_iter().chain([counters]);
        let config =
            SessionConfig::new(providers).circular_buffer_mb(1024).stackwalk(true).rundown(Rundown::Default);
        let mut session = target.client().collect_tracing(&config).await?;
        target.client().resume_runtime().await?;
        let mut bytes = Vec::new();
        timeout(DEADLINE, session.read_to_end(&mut bytes)).await.context("the stream did not end")??;
        ensure!(child.0.wait()?.success(), "the program failed");
        Ok(std::fs::write(path, bytes)?)
    })
}

struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What was compared.
#[derive(Debug, Default)]
struct Seen {
    events: usize,
    fields: usize,
    kinds: BTreeSet<(String, u32)>,
}

fn compare(path: &Path) -> Result<Seen> {
    let theirs = peer_events(path)?;
    let mut reader = FileReader::new(File::open(path)?);
    let mut seen = Seen::default();
    // Lines of events that come later here, because TraceEvent has another order for events of the same time.
    let mut later: VecDeque<&str> = VecDeque::new();
    let mut lines = theirs.iter().map(String::as_str);
    while let Some(item) = reader.next_item()? {
        let Item::Event(event) = item else { continue };
        let line = match later.iter().position(|line| is_of(line, &event)) {
            Some(index) => later.remove(index).context("no line")?,
            None => loop {
                let line = lines.next().context("TraceEvent has fewer events")?;
                if is_of(line, &event) {
                    break line;
                }
                let time = ticks(event.time()).to_string();
                ensure!(
                    line.split('\t').nth(5) == Some(&time),
                    "event {} is {event:?}, TraceEvent's {line:.400}",
                    seen.events
                );
                later.push_back(line);
            },
        };
        seen.fields += same(&event, line).with_context(|| format!("event {}: {line:.400}", seen.events))?;
        seen.events += 1;
        seen.kinds.insert((event.metadata.provider.to_string(), event.metadata.event_id));
    }
    ensure!(theirs.len() == seen.events, "TraceEvent has {} events, we have {}", theirs.len(), seen.events);
    Ok(seen)
}

/// Whether a line is about an event: the same kind, thread and time.
fn is_of(line: &str, event: &Event<'_>) -> bool {
    let metadata = event.metadata;
    let own = [metadata.event_id, event.version()].map(|number| number.to_string());
    let (thread, time) = (event.thread_id.to_string(), ticks(event.time()).to_string());
    let head = [&*metadata.provider, &own[0], &own[1]];
    let mut columns = line.split('\t');
    head.into_iter().all(|own| columns.next() == Some(own))
        && columns.nth(1) == Some(thread.as_str())
        && columns.next() == Some(time.as_str())
}

/// Compares an event with TraceEvent's line about it. Returns the number of fields that were compared.
fn same(event: &Event<'_>, line: &str) -> Result<usize> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [provider, _, _, name, _, _, fields @ ..] = columns.as_slice() else { bail!("columns") };
    let metadata = event.metadata;
    let known = clr::event(provider, metadata.event_id, event.version());
    check_name(event, known, name)?;
    if known.is_none() && event.metadata.fields.is_empty() {
        // Events of providers that neither the stream nor our table describes.
        ensure!(event.fields().next().is_none());
        return Ok(0);
    }
    let mut own_fields = event.fields();
    let own: Vec<(&str, String)> = own_fields.by_ref().map(|(name, value)| (name, shown(&value))).collect();
    ensure!(own_fields.unread_fields() == 0, "{} fields were not read: {own:?}", own_fields.unread_fields());
    let mut compared = 0;
    for (name, value) in fields.iter().filter_map(|field| field.split_once('=')) {
        let other = OTHER_FIELDS
            .iter()
            .find(|(id, field, _)| known.is_some() && (*id, *field) == (metadata.event_id, name));
        let find = |name: &str| own.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str());
        let is_same = match other.map(|(_, _, theirs)| *theirs) {
            Some(Theirs::Made | Theirs::Wrong) => continue,
            Some(Theirs::Is(ours)) => find(ours).is_some_and(|ours| numbers(ours) == numbers(value)),
            None if &*metadata.provider == "Kinds-SelfDescribing"
                && TRUTH.iter().any(|(of, _)| *of == event.name()) =>
            {
                TRUTH.contains(&(event.name(), &structure(&own)))
            }
            // What we show as the event's own fields is a struct without a name.
            None if name.is_empty() && find("").is_none() => structure(&own) == value,
            // It does not know the event.
            None if name == "raw" => continue,
            None => find(name).is_some_and(|ours| equal(ours, value)),
        };
        ensure!(is_same, "{name} is {value:.200}, ours: {:?}", find(name));
        compared += 1;
    }
    Ok(compared)
}

fn check_name(event: &Event<'_>, known: Option<&clr::ClrEvent>, theirs: &str) -> Result<()> {
    if OTHER_NAMES.contains(&(event.metadata.event_id, theirs)) {
        return Ok(());
    }
    let own = known.map_or(event.name(), |known| known.display_name);
    // TraceEvent often leaves out what repeats the task, and a missing opcode.
    let shortened = match own.split_once('/') {
        Some((task, "-")) => task.to_owned(),
        Some((task, opcode)) => format!("{task}/{}", opcode.strip_prefix(task).unwrap_or(opcode)),
        None => own.to_owned(),
    };
    // TraceEvent splits names such as WorkStart, and adds opcodes to the names of other EventSources.
    let joined = theirs.replace('/', "");
    let without_opcode = theirs.rsplit_once('/').map_or(theirs, |(task, _)| task);
    let same = [own, &shortened].contains(&theirs)
        || known.is_none() && (own.is_empty() || own == joined || own == without_opcode);
    ensure!(same, "its name is {theirs}, ours: {own}");
    Ok(())
}

/// TraceEvent has signed types where the manifest has unsigned ones.
fn equal(ours: &str, theirs: &str) -> bool {
    ours == theirs
        || match (ours.parse::<i128>(), theirs.parse::<i128>()) {
            (Ok(ours), Ok(theirs)) => [32, 64].iter().any(|bits| ours == theirs + (1 << bits)),
            _ => {
                ours.parse::<f64>().is_ok_and(|ours| theirs.parse() == Ok(ours))
                    || (ours, theirs) == ("inf", "Infinity")
            }
        }
}

/// The numbers in a text, as unsigned ones of 32 bits where they are negative.
fn numbers(text: &str) -> Vec<u64> {
    let is_part = |c: char| c.is_ascii_digit() || c == '-';
    // Texts within it are left out.
    let outside: String = text.split('"').step_by(2).collect();
    outside
        .split(|c| !is_part(c))
        .filter_map(|number| match number.strip_prefix('-') {
            Some(_) => number.parse::<i32>().ok().map(|number| u64::from(number.cast_unsigned())),
            None => number.parse().ok(),
        })
        .collect()
}

fn structure(fields: &[(&str, String)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{{{}}}", fields.join(","))
}

/// A value as `tests/apps/peers/events/Text.cs` writes it.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Uint(value) | Value::Pointer(value) => value.to_string(),
        Value::Time(time) => ticks(*time).to_string(),
        Value::Text(text) => quoted(text.chars()),
        Value::Array(array) => {
            format!("[{}]", array.iter().map(|value| shown(&value)).collect::<Vec<_>>().join(","))
        }
        Value::Struct(fields) => {
            structure(&fields.clone().map(|(name, value)| (name, shown(&value))).collect::<Vec<_>>())
        }
        other => other.to_string(),
    }
}

fn quoted(text: impl Iterator<Item = char>) -> String {
    let escaped = text.map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c < ' ' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Units of 100 ns since 1970.
fn ticks(time: SystemTime) -> i128 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (after.as_nanos() / 100).cast_signed(),
        Err(before) => -(before.duration().as_nanos() / 100).cast_signed(),
    }
}
