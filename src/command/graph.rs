//! `gcwatch graph`: takes a graph of a process or reads one from a file, and shows it.

use std::fs::File;
use std::path::Path;

use crate::cli::GraphArgs;
use crate::command::stderr::say;
use crate::exit::{Code, Failure};
use crate::sys::{NewFile, Signals};
use crate::target::{self, Found, Wanted};
use crate::version::VERSION;
use crate::watch::control::{NotWatched, interrupted_by};
use crate::watch::graph::attached::Attached;
use crate::watch::graph::take::NotTaken;
use crate::watch::graph::{Way, new_file};
use crate::watch::stopped::unless_stopped;

mod again;
mod browse;
mod difference;
mod exchange;
mod show;
mod taking;
mod until;

pub(crate) fn run(args: &GraphArgs) -> Result<Code, Failure> {
    let two_files = args.source.as_deref() == Some("diff");
    let one = args.reading.of_type.is_some() || args.reading.object.is_some() || args.reading.browse;
    if one && (two_files || args.taking.again.is_some()) {
        let what = "--type, --object and --browse show one graph, not what has grown between two";
        return Err(Failure::new(Code::USAGE, what).remedy("omit them, or give one file"));
    }
    if two_files {
        if args.output.is_some() || args.taking.needs_process() {
            let what = "graph diff compares two files: it takes no graph and writes none";
            return Err(Failure::new(Code::USAGE, what)
                .remedy("omit -o and the options for taking a graph, or give a process with --again"));
        }
        return show::difference(args);
    }
    if let Some(extra) = args.files.first() {
        let what = format!("there is one file or process too many: {}", extra.display());
        return Err(
            Failure::new(Code::USAGE, what).remedy("gcwatch graph diff BEFORE AFTER compares two files")
        );
    }
    let taking = &args.taking;
    if taking.strings && args.output.is_none() {
        let what = "--strings keeps texts in a file, and there is none";
        return Err(Failure::new(Code::USAGE, what).remedy("give -o, too"));
    }
    if args.reading.browse {
        // Before a process is made to stand still for it.
        browse::check()?;
    }
    if let Some(path) = args.source.as_deref().map(Path::new).filter(|path| is_file(path)) {
        if taking.needs_process() {
            let what = format!("{} is a file; options for taking a graph need a process", path.display());
            return Err(Failure::new(Code::USAGE, what).remedy("for a process of that name, give --name"));
        }
        if path.components().count() == 1 && path.to_str().is_some_and(target::can_be_seen) {
            let name = path.display();
            say(&format!(
                "gcwatch: {name} is a file here, and is read; for the .NET process {name}, give --name or -p"
            ));
        }
        return show::file(args, path);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(taken(args)) {
        Ok((before, file)) => {
            if let Some(path) = args.output.as_deref().filter(|path| exchange::is_gcdump(path)) {
                let copy = file.try_clone()?;
                exchange::write(&exchange::reader(copy, "the graph")?, path)?;
            }
            match before {
                None => show::open_file(args, file, "the graph"),
                Some(before) => show::grown(args, before, file),
            }
        }
        Err(not) => Err(not.into_failure()),
    }
}

/// Whether the user names a file, not a process. A number that is no regular file is a process: so it is in `/proc`, too.
fn is_file(path: &Path) -> bool {
    let known = ["gcgraph", "gcdump", "nettrace"].map(Some);
    let is_number = path.to_str().is_some_and(|text| text.parse::<u32>().is_ok());
    path.is_file()
        || !is_number && path.exists()
        || known.contains(&path.extension().and_then(|extension| extension.to_str()))
}

fn wanted(args: &GraphArgs) -> Result<Wanted, Failure> {
    match (&args.source, args.process_id, &args.name) {
        (Some(text), ..) => Ok(text.parse().map_or_else(|_| Wanted::Name(text.clone()), Wanted::Pid)),
        (_, Some(pid), _) => Ok(Wanted::Pid(pid)),
        (.., Some(name)) => Ok(Wanted::Name(name.clone())),
        _ => Err(Failure::new(Code::USAGE, "no process was named")
            .remedy("give a process id; gcwatch ps lists them")),
    }
}

/// Takes a graph of the process, or two with `--again`. The first signal ends that, and the copy.
async fn taken(args: &GraphArgs) -> Result<(Option<File>, File), NotWatched> {
    let mut signals = Signals::listen().map_err(Failure::from)?;
    let wanted = wanted(args)?;
    // What cannot be written is noticed before anything is waited for.
    let place = args.output.as_deref().map(new_file).transpose()?;
    let place = place.filter(|_| !args.output.as_deref().is_some_and(exchange::is_gcdump));
    let pid = if let Wanted::Pid(pid) = wanted { Some(pid) } else { None };
    let work = async {
        let found = unless_stopped(pid, target::find(&wanted)).await?;
        if !args.taking.at.is_empty() {
            until::condition(&args.taking.at, &found).await?;
        }
        let Some(time) = args.taking.again else {
            return Ok::<_, NotWatched>((None, once(args, &found, place).await?));
        };
        let before = args.output.as_deref().filter(|_| place.is_some()).map(again::before_of);
        let before = before.as_deref().map(|path| Ok::<_, Failure>((new_file(path)?, path))).transpose()?;
        let (first, second) = again::take(args, &found, time, before, place).await?;
        Ok((Some(first), second))
    };
    let done = tokio::select! {
        biased;
        signal = signals.next() => Err(interrupted_by(signal)),
        done = work => return done,
    };
    // Only now, when the copy and all files are gone.
    done.map_err(|code| {
        let what = match args.taking.again {
            Some(_) => "interrupted before the second graph was whole; the first one stays if it was, and was to be kept",
            None => "interrupted before the graph was whole: none was taken, and nothing is left of it",
        };
        Failure::new(code, what).into()
    })
}

/// Takes one graph. `place`: the file of --output.
async fn once(args: &GraphArgs, found: &Found, place: Option<NewFile>) -> Result<File, Failure> {
    let limits = taking::limits(found);
    let mut way = limits.way(args.taking.pause_ok)?;
    let mut file = taking::file(place, args.output.as_deref())?;
    let taken = loop {
        taking::say_cost(args, &limits, way);
        let mut attached = Attached::to(found, args.taking.profiler_path.as_deref()).await?;
        let wish = taking::wish(args, &limits, way);
        let taken = taking::take(&mut attached, wish, &mut file, true, &mut |_| {}).await;
        attached.leave().await;
        match taken {
            Err(NotTaken::NotForked(failure)) if args.taking.pause_ok => {
                say(&format!("gcwatch: {}", failure.what));
                way = Way::InPause;
            }
            taken => break taken,
        }
    };
    let facts = taken.map_err(|e| taking::failure(args, &file, e))?;
    file.finish(&found.describe(), &facts, args.taking.strings, VERSION)
}
