//! One JSON document of several processes. Each process writes its own document to a temporary file, which is copied
//! into the common one when the process ends. Small documents stay in memory.

use std::cell::RefCell;
use std::io::{self, Seek, SeekFrom, Write};
use std::rc::Rc;

use tempfile::SpooledTempFile;

use super::types::document::{CUT_OFF, SCHEMA, TOOL};
use super::types::{document, processes};
use super::wire::Convert;
use super::writer::{JsonReport, State, put};
use crate::gc::facts::{Exit, Target};
use crate::report::model::{Forward, Report};
use crate::report::multi_process::model::{Format, Overall};

/// Larger documents go to a temporary file without a name, bytes.
const MAX_IN_MEMORY: usize = 256 << 10;

/// `{schema, tool, processes[], summary, exit}`. It is valid JSON after any end: what was not ended is
/// closed when it is dropped, each process and the whole.
pub(crate) struct JsonProcesses<W: Write> {
    whole: Rc<RefCell<Whole<W>>>,
}

impl<W: Write> JsonProcesses<W> {
    /// A document that goes to `out`.
    pub(crate) fn new(out: W) -> JsonProcesses<W> {
        JsonProcesses { whole: Rc::new(RefCell::new(Whole { out, state: State::New })) }
    }
}

impl<W: Write + 'static> Format for JsonProcesses<W> {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        let spool = Spool(Rc::new(RefCell::new(tempfile::spooled_tempfile(MAX_IN_MEMORY))));
        let mut report = JsonReport::new(spool.clone());
        report.one_of_several = true;
        Box::new(Element { report: Some(report), spool, whole: Rc::clone(&self.whole) })
    }

    fn end(&mut self, all: &Overall, how: &Exit) -> io::Result<()> {
        self.whole.borrow_mut().end(Some(all), Convert::default().wire(how))
    }
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

    fn begin(&mut self) -> io::Result<()> {
        if self.state == State::New {
            put(&mut self.out, "{\"schema\":", &SCHEMA, ",\n")?;
            put(&mut self.out, "\"tool\":", &TOOL, ",\n\"processes\":[")?;
            self.state = State::InList(false);
        }
        Ok(())
    }

    /// Copies a complete document in.
    fn add(&mut self, document: &mut SpooledTempFile) -> io::Result<()> {
        self.attempt(|whole| {
            whole.begin()?;
            let separator = if whole.state == State::InList(true) { "," } else { "\n" };
            whole.out.write_all(separator.as_bytes())?;
            document.seek(SeekFrom::Start(0))?;
            io::copy(document, &mut whole.out)?;
            whole.state = State::InList(true);
            Ok(())
        })
    }

    fn end(&mut self, all: Option<&Overall>, exit: document::Exit) -> io::Result<()> {
        self.attempt(|whole| {
            whole.begin()?;
            let summary: Option<processes::Overall> = all.map(|all| Convert::default().wire(all));
            put(&mut whole.out, "],\n\"summary\":", &summary, ",\n")?;
            put(&mut whole.out, "\"exit\":", &exit, "}\n")?;
            whole.state = State::Closed;
            Ok(())
        })
    }
}

impl<W: Write> Drop for Whole<W> {
    fn drop(&mut self) {
        // There is nobody to report a failure to.
        let _ = self.end(None, CUT_OFF);
    }
}

/// Contains the document of one process until the process ends.
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

impl<W: Write> Element<W> {
    fn copy_in(&mut self) -> io::Result<()> {
        let Some(mut report) = self.report.take() else { return Ok(()) };
        report.close()?;
        // Half a document would make the common one invalid.
        if !report.is_closed() {
            return Ok(());
        }
        self.whole.borrow_mut().add(&mut self.spool.0.borrow_mut())
    }
}

impl<W: Write> Forward for Element<W> {
    fn inner(&self) -> Option<&dyn Report> {
        self.report.as_ref().map(|report| report as &dyn Report)
    }

    fn forward(&mut self, call: &mut dyn FnMut(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        let Some(report) = &mut self.report else { return Ok(()) };
        call(report)?;
        if report.is_closed() { self.copy_in() } else { Ok(()) }
    }
}

impl<W: Write> Drop for Element<W> {
    fn drop(&mut self) {
        // There is nobody to report a failure to.
        let _ = self.copy_in();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::json::tests::{problems, validator};
    use crate::report::multi_process::MultiProcess;
    use crate::report::sample::{EXIT, Memory, NOTHING_LOST, end, facts, quiet_run, tiny};

    fn document(memory: &Memory) -> Value {
        let document: Value = serde_json::from_str(&memory.text()).expect("it is JSON");
        assert_eq!(problems(&validator("#/$defs/Processes"), &document), [] as [&str; 0]);
        document
    }

    #[test]
    fn processes_side_by_side_stand_in_the_order_of_their_ends() {
        let memory = Memory::default();
        let mut processes = MultiProcess::new(Box::new(JsonProcesses::new(memory.clone())));
        let (mut first, mut second) = (facts(), facts());
        (first.target.pid, second.target.pid) = (Some(1), Some(2));
        second.target.parent_pid = Some(1);
        let (mut a, mut b) = (processes.process(&first.target), processes.process(&second.target));
        a.start(&first).expect("memory takes it");
        b.start(&second).expect("memory takes it");
        for gc in quiet_run() {
            a.gc(&first, &gc).expect("memory takes it");
        }
        b.gc(&second, &tiny()).expect("memory takes it");
        end(b.as_mut(), &second, &[tiny()], &NOTHING_LOST);
        end(a.as_mut(), &first, &quiet_run(), &NOTHING_LOST);
        let why = "it ended before it could be watched";
        processes
            .not_watched(Target { pid: Some(3), ..Target::default() }, why, &[], &EXIT)
            .expect("memory takes it");
        processes.end(&EXIT).expect("memory takes it");
        let document = document(&memory);
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
        for number in 0..3 {
            let memory = Memory::default();
            let mut processes = MultiProcess::new(Box::new(JsonProcesses::new(memory.clone())));
            let mut open: Vec<_> = (0..number).map(|_| processes.process(&facts().target)).collect();
            for report in &mut open {
                report.start(&facts()).expect("memory takes it");
                report.gc(&facts(), &tiny()).expect("memory takes it");
            }
            drop(processes);
            drop(open);
            let document = document(&memory);
            assert_eq!(document["processes"].as_array().map(Vec::len), Some(number));
            assert_eq!(document["exit"]["reason"], "interrupted");
        }
    }
}
