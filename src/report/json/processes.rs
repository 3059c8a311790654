//! One JSON document of several processes. Those that run at the same time are written side by side,
//! each to a place of its own, and copied in when they end: nothing is kept in memory but small ones.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Seek, SeekFrom, Write};
use std::rc::Rc;

use serde::Serialize;
use tempfile::SpooledTempFile;

use super::convert::{Convert, exit, tool};
use super::overall::overall;
use super::types as wire;
use super::writer::JsonReport;
use crate::gc::facts::{Exit, Target};
use crate::gc::record::Gc;
use crate::report::overall::Overall;
use crate::report::together::Format;
use crate::report::{End, Facts, LiveState, Report};
use crate::visible::to_json;

/// What is larger goes to a temporary file without a name.
const IN_MEMORY: usize = 256 << 10;

/// `{schema, tool, processes[], summary, exit}`. It is valid JSON after any end: what was not ended is
/// closed when it is dropped, each process and the whole.
pub(crate) struct JsonProcesses<W: Write> {
    whole: Rc<RefCell<Whole<W>>>,
}

impl<W: Write> fmt::Debug for JsonProcesses<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonProcesses").finish_non_exhaustive()
    }
}

impl<W: Write> JsonProcesses<W> {
    /// A document that goes to `out`.
    pub(crate) fn new(out: W) -> JsonProcesses<W> {
        JsonProcesses { whole: Rc::new(RefCell::new(Whole { out, state: State::New })) }
    }
}

impl<W: Write + 'static> Format for JsonProcesses<W> {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        let spool = Spool(Rc::new(RefCell::new(tempfile::spooled_tempfile(IN_MEMORY))));
        let report = Some(JsonReport::one_of_several(spool.clone()));
        Box::new(Element { report, spool, whole: Rc::clone(&self.whole) })
    }

    fn end(&mut self, all: &Overall, how: &Exit) -> io::Result<()> {
        self.whole.borrow_mut().end(Some(all), exit(how))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is written.
    New,
    /// Within `processes`; whether there is one already.
    Within(bool),
    Closed,
    /// A write failed: what is out cannot be completed.
    Broken,
}

struct Whole<W: Write> {
    out: W,
    state: State,
}

impl<W: Write> Whole<W> {
    fn attempt(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if matches!(self.state, State::Closed | State::Broken) {
            return Ok(());
        }
        let result = write(self).and_then(|()| self.out.flush());
        if result.is_err() {
            self.state = State::Broken;
        }
        result
    }

    fn put(&mut self, before: &str, value: &impl Serialize, after: &str) -> io::Result<()> {
        let text = to_json(value)?;
        write!(self.out, "{before}{text}{after}")
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.state == State::New {
            self.put("{\"schema\":", &wire::SCHEMA, ",\n")?;
            self.put("\"tool\":", &tool(), ",\n\"processes\":[")?;
            self.state = State::Within(false);
        }
        Ok(())
    }

    /// Copies a whole document in.
    fn add(&mut self, document: &mut SpooledTempFile) -> io::Result<()> {
        self.attempt(|whole| {
            whole.begin()?;
            let separator = if whole.state == State::Within(true) { "," } else { "\n" };
            whole.out.write_all(separator.as_bytes())?;
            document.seek(SeekFrom::Start(0))?;
            io::copy(document, &mut whole.out)?;
            whole.state = State::Within(true);
            Ok(())
        })
    }

    fn end(&mut self, all: Option<&Overall>, exit: wire::Exit) -> io::Result<()> {
        self.attempt(|whole| {
            whole.begin()?;
            let summary = all.map(|all| overall(&mut Convert::default(), all));
            whole.put("],\n\"summary\":", &summary, ",\n")?;
            whole.put("\"exit\":", &exit, "}\n")?;
            whole.state = State::Closed;
            Ok(())
        })
    }
}

impl<W: Write> Drop for Whole<W> {
    fn drop(&mut self) {
        let cut = wire::Exit { gcwatch: None, child: None, reason: "interrupted" };
        // Nobody is left to tell of a failure.
        let _ = self.end(None, cut);
    }
}

/// Where the document of one process is written until it ends.
#[derive(Debug, Clone)]
struct Spool(Rc<RefCell<SpooledTempFile>>);

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

/// The document of one process.
struct Element<W: Write> {
    /// `None`: it was copied in.
    report: Option<JsonReport<Spool>>,
    spool: Spool,
    whole: Rc<RefCell<Whole<W>>>,
}

impl<W: Write> fmt::Debug for Element<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Element").field("report", &self.report).finish_non_exhaustive()
    }
}

impl<W: Write> Element<W> {
    fn tell(&mut self, what: impl FnOnce(&mut JsonReport<Spool>) -> io::Result<()>) -> io::Result<()> {
        self.report.as_mut().map_or(Ok(()), what)
    }

    fn copy_in(&mut self) -> io::Result<()> {
        let Some(mut report) = self.report.take() else { return Ok(()) };
        report.close()?;
        // Half a document would break the whole one.
        if !report.is_closed() {
            return Ok(());
        }
        self.whole.borrow_mut().add(&mut self.spool.0.borrow_mut())
    }
}

impl<W: Write> Report for Element<W> {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.tell(|report| report.start(facts))
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.tell(|report| report.gc(facts, gc))
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        self.tell(|report| report.tick(state))
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.tell(|report| report.end(facts, end))?;
        self.copy_in()
    }
}

impl<W: Write> Drop for Element<W> {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure.
        let _ = self.copy_in();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::json::schema;
    use crate::report::sample::{NOTHING_LOST, facts, quiet_run, summed, tiny};
    use crate::report::together::Together;

    #[derive(Debug, Clone, Default)]
    struct Memory(Rc<RefCell<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Memory {
        fn document(&self) -> Value {
            let document: Value = serde_json::from_slice(&self.0.borrow()).expect("it is JSON");
            let all = serde_json::to_value(schema()).expect("a schema is JSON");
            let schema = serde_json::json!({
                "$schema": all["$schema"], "$ref": "#/$defs/Processes", "$defs": all["$defs"]
            });
            let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
            let wrong: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
            assert_eq!(wrong, [] as [String; 0]);
            document
        }
    }

    const EXIT: Exit = Exit { gcwatch: 0, child: Some(0), reason: "target-ended" };

    #[test]
    fn processes_side_by_side_stand_in_the_order_of_their_ends() {
        let memory = Memory::default();
        let mut together = Together::new(Box::new(JsonProcesses::new(memory.clone())));
        let (mut first, mut second) = (facts(), facts());
        (first.target.pid, second.target.pid) = (Some(1), Some(2));
        second.target.parent_pid = Some(1);
        let (mut a, mut b) = (together.process(&first.target), together.process(&second.target));
        a.start(&first).expect("memory takes it");
        b.start(&second).expect("memory takes it");
        for gc in quiet_run() {
            a.gc(&first, &gc).expect("memory takes it");
        }
        b.gc(&second, &tiny()).expect("memory takes it");
        let end = |gcs: &[Gc], report: &mut dyn Report, facts: &Facts| {
            let summary = summed(gcs);
            let end = End { summary: &summary, lost: &NOTHING_LOST, verdicts: &[], exit: &EXIT };
            report.end(facts, &end).expect("memory takes it");
        };
        end(&[tiny()], b.as_mut(), &second);
        end(&quiet_run(), a.as_mut(), &first);
        let why = "it ended before it could be watched";
        together
            .not_watched(Target { pid: Some(3), ..Target::default() }, why, &[], &EXIT)
            .expect("memory takes it");
        together.end(&EXIT).expect("memory takes it");
        let document = memory.document();
        let list = document["processes"].as_array().expect("a list");
        let pids: Vec<_> = list.iter().map(|p| p["target"]["pid"].as_u64()).collect();
        assert_eq!(pids, [Some(2), Some(1), Some(3)]);
        assert_eq!((&list[0]["parent_pid"], &list[2]["watch"]["level_reason"]), (&1.into(), &why.into()));
        assert_eq!(list[1]["gcs"].as_array().map(Vec::len), Some(quiet_run().len()));
        assert_eq!(
            (&document["summary"]["processes"], &document["summary"]["not_watched"]),
            (&3.into(), &1.into())
        );
    }

    #[test]
    fn it_is_whole_wherever_it_is_dropped() {
        for processes in 0..3 {
            let memory = Memory::default();
            let mut together = Together::new(Box::new(JsonProcesses::new(memory.clone())));
            let mut open: Vec<_> = (0..processes).map(|_| together.process(&facts().target)).collect();
            for report in &mut open {
                report.start(&facts()).expect("memory takes it");
                report.gc(&facts(), &tiny()).expect("memory takes it");
            }
            drop(together);
            drop(open);
            let document = memory.document();
            assert_eq!(document["processes"].as_array().map(Vec::len), Some(processes));
            assert_eq!(document["exit"]["reason"], "interrupted");
        }
    }
}
