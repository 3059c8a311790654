//! Takes a graph: asks the profiler for one, which forks the process at the end of its next collection, writes down what the
//! copy sends, and asks the process for names.

use std::io::{self, Write};
use std::time::Duration;

use dotnet_heap_graph::format::{EndRecord, FrameKind, Names, Writer};
use netcore_profiler::wire::graph::{self, Ask, CopyCost, Outcome, Request, Taken, kind};
use netcore_profiler::wire::{FieldDef, MethodDef, Module, Payload, TypeDef};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::connection::Connection;
use super::naming::Naming;
use super::process::{CopyProcess, Cost, PAUSE_OK, Way};
use crate::exit::{Code, Failure};
use crate::sys::{GraphStream, Lease};

pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// How long the profiler may take to connect for the graph.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the process may take to name what it was asked about.
const NAMES_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the outcome may take to come, after something that is no message.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(2);
/// How long gcwatch waits beyond the copy's own deadline.
const GRACE: Duration = Duration::from_secs(5);
/// How many questions are asked at once. The answers must be read before the next ones.
const QUESTIONS: usize = 64;

/// What a message takes in the file beside its payload.
const FRAME_HEAD_BYTES: u64 = 16;
/// The smallest object of a 64-bit runtime.
const MIN_OBJECT_BYTES: u64 = 24;

/// The messages that are frames of the file.
const OF_THE_FILE: [u8; 7] =
    [kind::CLASSES, kind::OBJECTS, kind::ROOTS, kind::EDGES, kind::RANGES, kind::TEXTS, kind::MORE];

/// What graph is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// With the contents of strings.
    pub(crate) texts: bool,
    /// Induce a collection.
    pub(crate) induce: bool,
    /// How long to wait for a collection of the program; `None`: as long as it takes.
    pub(crate) within: Option<Duration>,
    /// How long the copy may live, or the walk in the pause may take.
    pub(crate) deadline: Duration,
    pub(crate) way: Way,
    /// More bytes than these are no graph of this process.
    pub(crate) max_bytes: u64,
}

/// What is known of a graph that was taken, beside its content.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    /// Number of the collection in the process; `None`: unknown.
    pub(crate) gc_number: Option<u32>,
    /// The oldest generation that was collected.
    pub(crate) generation: Option<u32>,
    pub(crate) cost: Cost,
    /// The process did not answer all questions about names.
    pub(crate) names_missing: bool,
    /// The counts of the copy, for the end of the file.
    pub(crate) end: EndRecord,
}

/// How far it has come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Progress {
    /// Waiting for a collection.
    Waiting,
    /// The copy was made, at the end of a collection with this number; `None`: unknown.
    Copied { gc_number: Option<u32> },
    /// The copy is sending.
    Walking { objects: u64, bytes: u64 },
    /// The process is asked for names.
    Naming,
}

/// Why there is no graph.
#[derive(Debug)]
pub(crate) enum NotTaken {
    Failed(Failure),
    /// There was no collection in time.
    NoCollection,
    /// The file of the graph cannot be written.
    NotWritten(dotnet_heap_graph::Error),
    /// The system refused to copy the process.
    NotForked(Failure),
}

impl<E: Into<Failure>> From<E> for NotTaken {
    fn from(error: E) -> NotTaken {
        NotTaken::Failed(error.into())
    }
}

/// Receives a graph that the profiler was asked for, and writes it. `stream`: the profiler's second connection. `pid`: the
/// process, if it is known. `beat` sends a heartbeat.
///
/// # Errors
/// The process cannot be forked, it ended, there was no collection, or the file cannot be written.
pub(super) async fn receive<W: Write>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    pid: Option<u32>,
    beat: &dyn Fn(),
    wish: Wish,
    writer: &mut Writer<W>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Facts, NotTaken> {
    let (naming, facts) = (Naming::default(), Facts::default());
    let taking = Taking { pid, wish, beat, writer, progress, naming, facts, end: None, objects: 0, bytes: 0 };
    taking.run(&mut Connection::new(stream)).await
}

/// The signal of the copy's deadline.
const ALARM: i32 = 14;

/// What comes is not what the profiler sends.
fn not_a_graph(why: &str) -> Failure {
    Failure::new(Code::FAILED, format!("the process sends something that is no graph: {why}"))
        .remedy("use the same gcwatch for the process's profiler (--profiler-path)")
}

/// Why the copy ended early.
fn cut_short(status: i32) -> Failure {
    const KILL: i32 = 9;
    const NO_MEMORY: i32 = 3 << 8;
    let (what, remedy) = match status & 0x7f {
        // As the profiler says it.
        _ if status < 0 => ("the program has waited for it, so nobody knows how".to_owned(), "try again"),
        0 if status == NO_MEMORY => {
            ("it got no memory".to_owned(), "give the process or its container more memory")
        }
        ALARM => ("its time was over".to_owned(), "give it more with --deadline"),
        KILL => (
            "it was killed, as the system does when memory is short".to_owned(),
            "give the container more memory, or try again when the program writes less",
        ),
        0 => (format!("it ended with {}", status >> 8 & 0xff), "try again"),
        signal => (format!("signal {signal} ended it"), "try again"),
    };
    Failure::new(
        Code::INCOMPLETE,
        format!("the copy of the process ended before the graph was whole: {what}"),
    )
    .seen("the program itself goes on")
    .remedy(remedy)
}

/// Asks the profiler for a graph, and waits for its second connection.
///
/// # Errors
/// The profiler has left, or does not connect.
pub(super) async fn asked(lease: &mut Lease) -> Result<GraphStream, Failure> {
    connected(lease.ask_for_graph().await.map_err(|e| ended(&e))?).await
}

/// Waits for the profiler's second connection, for which it was asked.
///
/// # Errors
/// It does not come.
pub(super) async fn connected(
    stream: impl Future<Output = io::Result<GraphStream>>,
) -> Result<GraphStream, Failure> {
    let silent = || {
        Failure::new(Code::FAILED, "the profiler was loaded, but does not connect for the graph")
            .remedy("is the process stopped, or out of file descriptors?")
    };
    timeout(CONNECT_TIMEOUT, stream).await.map_err(|_| silent())?.map_err(|e| ended(&e))
}

/// The copy has not ended by itself when its time was over.
fn overdue(copy: Option<CopyProcess>) -> Failure {
    match copy {
        Some(copy) if copy.is_stopped => cut_short(ALARM)
            .seen(format!("the copy, process {}, is stopped, as by SIGSTOP or a debugger", copy.pid)),
        _ => cut_short(ALARM),
    }
}

struct Taking<'a, W: Write> {
    /// The process; `None`: unknown.
    pid: Option<u32>,
    wish: Wish,
    beat: &'a dyn Fn(),
    writer: &'a mut Writer<W>,
    progress: &'a mut dyn FnMut(Progress),
    naming: Naming,
    facts: Facts,
    /// The last message of the copy.
    end: Option<EndRecord>,
    /// How many objects have come.
    objects: u64,
    /// How many bytes all messages take in a file.
    bytes: u64,
}

/// What a message has led to.
enum Step {
    GoOn,
    /// The copy has ended.
    Outcome(Outcome),
    /// All questions are answered.
    Answered,
    /// gcwatch does not know such messages.
    Unknown,
}

/// How many objects a block has, as it says.
fn count(payload: &[u8]) -> u64 {
    let mut count = 0;
    for (nth, byte) in payload.iter().take(9).enumerate() {
        count |= u64::from(byte & 0x7f) << (7 * nth);
        if byte & 0x80 == 0 {
            break;
        }
    }
    count
}

fn ended(e: &io::Error) -> Failure {
    if e.kind() == io::ErrorKind::InvalidData {
        return not_a_graph(&e.to_string());
    }
    Failure::new(Code::NO_TARGET, format!("the process broke the connection before the graph was whole: {e}"))
        .remedy("is it still running? gcwatch ps lists the .NET processes")
}

fn unknown() -> Failure {
    not_a_graph("it sends messages that this gcwatch does not know")
}

/// What came is no message. A copy that is killed leaves a part of one, and the outcome behind it.
async fn at_end(
    connection: &mut Connection<impl AsyncRead + AsyncWrite + Unpin>,
    failure: Failure,
) -> Result<Outcome, NotTaken> {
    let outcome = timeout(OUTCOME_TIMEOUT, connection.outcome_at_end()).await;
    outcome.ok().flatten().ok_or(failure.into())
}

impl<W: Write> Taking<'_, W> {
    async fn run(
        mut self,
        connection: &mut Connection<impl AsyncRead + AsyncWrite + Unpin>,
    ) -> Result<Facts, NotTaken> {
        let flags = if self.wish.texts { Request::TEXTS } else { 0 }
            | if self.wish.induce { Request::INDUCE } else { 0 }
            | if self.wish.way == Way::InPause { Request::IN_PAUSE } else { 0 };
        let deadline_ms = u32::try_from(self.wish.deadline.as_millis()).unwrap_or(u32::MAX);
        connection.request(&Request { flags, deadline_ms }).await.map_err(|e| ended(&e))?;
        let outcome = self.walk(connection).await?;
        self.judge(&outcome)?;
        (self.progress)(Progress::Naming);
        let named = timeout(NAMES_TIMEOUT, self.name(connection)).await;
        // A process that ends now still has its graph; only names are missing.
        self.facts.names_missing = !matches!(named, Ok(Ok(())));
        self.write_names()?;
        self.facts.end = self.end.unwrap_or_default();
        Ok(self.facts)
    }

    /// The copy, as the system shows it.
    fn copy(&self) -> Option<CopyProcess> {
        self.pid.and_then(CopyProcess::of)
    }

    /// Reads what the copy sends, to its end.
    async fn walk(
        &mut self,
        connection: &mut Connection<impl AsyncRead + AsyncWrite + Unpin>,
    ) -> Result<Outcome, NotTaken> {
        let waiting_since = Instant::now();
        let give_up = self.wish.within.map(|within| waiting_since + within);
        let mut heartbeat = interval(HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut began = None;
        (self.progress)(Progress::Waiting);
        loop {
            tokio::select! {
                biased;
                _ = heartbeat.tick() => {
                    (self.beat)();
                    // A copy that was stopped at once has sent nothing, but its time runs.
                    if began.is_none() && self.copy().is_some() {
                        began = Some(Instant::now());
                    }
                    if began.is_some() {
                        self.show_progress();
                    }
                }
                () = sleep_until(give_up.unwrap_or(waiting_since)), if began.is_none() && give_up.is_some() => {
                    match self.copy() {
                        Some(_) => began = Some(Instant::now()),
                        None => return Err(NotTaken::NoCollection),
                    }
                }
                // The copy ends itself at its deadline, unless it is stopped, or another program than it says.
                () = sleep_until(began.unwrap_or(waiting_since) + self.wish.deadline + GRACE), if began.is_some() => {
                    return Err(overdue(self.copy()).into());
                }
                message = connection.next() => {
                    let message = message.and_then(|kind| kind.ok_or(io::ErrorKind::UnexpectedEof.into()));
                    let message = match message {
                        Ok(message) => message,
                        Err(e) => return at_end(connection, self.broken(&e)).await,
                    };
                    if began.is_none() {
                        began = Some(Instant::now());
                        self.show_progress();
                    }
                    match self.message(message, connection.payload())? {
                        Step::Outcome(outcome) => return Ok(outcome),
                        Step::Unknown => return at_end(connection, unknown()).await,
                        Step::GoOn | Step::Answered => {}
                    }
                }
            }
        }
    }

    /// The connection has ended before the graph was whole.
    fn broken(&self, e: &io::Error) -> Failure {
        // Before that, the profiler has said which process it is.
        if self.wish.way == Way::Fork
            || e.kind() == io::ErrorKind::InvalidData
            || self.facts.generation.is_none()
        {
            return ended(e);
        }
        let what = "the walk of the heap was given up, and the program goes on: it took longer than expected, or \
                    gcwatch did not read";
        Failure::new(Code::INCOMPLETE, what).remedy("try again, when the machine has less to do")
    }

    fn show_progress(&mut self) {
        (self.progress)(Progress::Walking { objects: self.objects, bytes: self.bytes });
    }

    /// Takes in what was sent. A process can send anything, as much as it likes, also when it is asked for names.
    ///
    /// # Errors
    /// It is more than its memory could hold.
    fn bound(&mut self, message: u8, payload: &[u8]) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(FRAME_HEAD_BYTES).saturating_add(payload.len() as u64);
        if message == kind::OBJECTS {
            self.objects = self.objects.saturating_add(count(payload));
        }
        let least = self.objects.saturating_mul(MIN_OBJECT_BYTES);
        match self.bytes.max(least) > self.wish.max_bytes {
            true => Err(not_a_graph("it sends more than its memory could hold")),
            false => Ok(()),
        }
    }

    fn message(&mut self, message: u8, payload: &[u8]) -> Result<Step, NotTaken> {
        self.bound(message, payload)?;
        match message {
            kind::TAKEN => {
                if let Ok(taken) = graph::read::<Taken>(payload) {
                    self.facts.gc_number = Some(taken.gc_number).filter(|number| *number != 0);
                    // A collection of gen2 collects large and pinned objects, too, which are generations 3 and 4.
                    self.facts.generation = taken.collected.checked_ilog2().map(|oldest| oldest.min(2));
                    (self.progress)(Progress::Copied { gc_number: self.facts.gc_number });
                }
            }
            kind::COPY_COST => {
                if let Ok(cost) = graph::read::<CopyCost>(payload) {
                    self.facts.cost.copy_ns = cost.lived_ns;
                    self.facts.cost.copied_bytes = Some(cost.unshared_bytes).filter(|bytes| *bytes != 0);
                }
            }
            kind::OUTCOME => return Ok(graph::read(payload).map_or(Step::GoOn, Step::Outcome)),
            kind::ANSWERED => return Ok(Step::Answered),
            kind::CLASS_FACTS => self.naming.class(payload),
            kind::METHOD_FACTS => self.naming.method(payload),
            kind::LAYOUT => self.naming.layout(payload),
            kind::MODULE => self.naming.answer(Module::ID, payload),
            kind::TYPE_DEF => self.naming.answer(TypeDef::ID, payload),
            kind::METHOD_DEF => self.naming.answer(MethodDef::ID, payload),
            kind::FIELD_NAME => self.naming.field_name(payload),
            kind::STATIC => self.naming.answer(FieldDef::ID, payload),
            file => {
                if file == kind::END {
                    self.end = EndRecord::decode(payload).ok();
                }
                if OF_THE_FILE.contains(&file) {
                    self.writer.write_frame(FrameKind(file), payload).map_err(NotTaken::NotWritten)?;
                } else if file != kind::END {
                    return Ok(Step::Unknown);
                }
            }
        }
        Ok(Step::GoOn)
    }

    /// What the end of the copy means.
    fn judge(&mut self, outcome: &Outcome) -> Result<(), NotTaken> {
        self.facts.cost.fork_ns = outcome.fork_ns;
        self.facts.cost.pause_ns = outcome.fork_ns.saturating_add(outcome.roots_ns);
        self.facts.cost.copy_cpu_ns = outcome.cpu_ns;
        match outcome.code {
            Outcome::TAKEN if self.end.is_some() => Ok(()),
            Outcome::TAKEN => Err(cut_short(outcome.status).into()),
            Outcome::FORK_FAILED => {
                let error = io::Error::from_raw_os_error(outcome.status);
                let what = format!("the process cannot be copied: {error}");
                let failure = Failure::new(Code::UNSUPPORTED, what)
                    .remedy("give it or its container more memory or a higher limit of processes (pids.max)")
                    .remedy("if a filter of system calls refuses fork (seccomp), use another filter");
                Err(NotTaken::NotForked(failure.remedy(PAUSE_OK)))
            }
            Outcome::NO_MEMORY => {
                let what = "the process has no memory left to keep its roots";
                Err(Failure::new(Code::UNSUPPORTED, what)
                    .remedy("give it or its container more memory")
                    .into())
            }
            _ => Err(Failure::new(Code::UNSUPPORTED, "this system cannot copy a running process")
                .remedy("graphs can be taken on Linux only; elsewhere, bring one of dotnet-gcdump")
                .into()),
        }
    }

    fn write_names(&mut self) -> Result<(), NotTaken> {
        /// So many fit into a frame, however long they are.
        const NAMES: usize = 500;
        let Names { classes, methods, statics } = self.naming.names();
        let classes = classes.chunks(NAMES).map(|some| Names { classes: some.to_vec(), ..Names::default() });
        let methods = methods.chunks(NAMES).map(|some| Names { methods: some.to_vec(), ..Names::default() });
        let statics = statics.chunks(NAMES).map(|some| Names { statics: some.to_vec(), ..Names::default() });
        for names in classes.chain(methods).chain(statics) {
            let json = serde_json::to_vec(&names).map_err(|e| Failure::from(io::Error::from(e)))?;
            self.writer.write_frame(FrameKind::NAMES, &json).map_err(NotTaken::NotWritten)?;
        }
        Ok(())
    }

    /// Asks for names until nothing is left to ask.
    async fn name(
        &mut self,
        connection: &mut Connection<impl AsyncRead + AsyncWrite + Unpin>,
    ) -> Result<(), NotTaken> {
        const DONE: Ask = Ask { kind: Ask::DONE, token: 0, module_id: 0, class_id: 0 };
        const STATICS: Ask = Ask { kind: Ask::STATICS, ..DONE };
        let mut questions = self.naming.questions();
        questions.extend(self.naming.classes_with_statics());
        questions.push(STATICS);
        while !questions.is_empty() {
            for some in questions.chunks(QUESTIONS) {
                (self.beat)();
                connection.ask(&[some, &[DONE]].concat()).await.map_err(|e| ended(&e))?;
                loop {
                    let message = connection.next().await.map_err(|e| ended(&e))?;
                    let message = message.ok_or_else(|| ended(&io::ErrorKind::UnexpectedEof.into()))?;
                    match self.message(message, connection.payload())? {
                        Step::Answered => break,
                        Step::Unknown => return Err(unknown().into()),
                        Step::GoOn | Step::Outcome(_) => {}
                    }
                }
            }
            questions = self.naming.questions();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
