//! `--keep-recording`: takes the files around a collection out of the rotation, by giving them names that no rotation
//! uses.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) number: u32,
    /// The time of the sequence point that it begins with, ns since the watch began.
    pub(super) begins_ns: u64,
    pub(super) path: PathBuf,
}

/// Kept files whose names are remembered, for later messages.
const MAX_REMEMBERED: usize = 8;

/// Which files are kept.
#[derive(Debug)]
pub(super) struct Keeper {
    /// How many times files are kept, so that a disk can hold them.
    limit: u32,
    times: u32,
    /// The limit was reached, and said.
    is_over: bool,
    /// The file that was being written when files were kept last.
    last: Option<u32>,
    /// Files that are not complete yet, and will be kept under these paths.
    planned: Vec<(u32, PathBuf)>,
    /// Files that were kept last.
    kept: VecDeque<(u32, PathBuf)>,
    /// Lines for the user.
    pub(super) notices: Vec<String>,
}

impl Keeper {
    pub(super) fn new(limit: u32) -> Keeper {
        Keeper {
            limit,
            times: 0,
            is_over: false,
            last: None,
            planned: Vec::new(),
            kept: VecDeque::new(),
            notices: Vec::new(),
        }
    }

    /// Keeps the files with a collection that began at `at_ns`, the one before them and the next one. `why` begins the
    /// line that says so. `next` is the path of the file after `current`.
    pub(super) fn keep(
        &mut self,
        why: &str,
        at_ns: u64,
        older: &mut VecDeque<Part>,
        current: &Part,
        next: &Path,
    ) {
        // The files around this one are kept already.
        if self.last == Some(current.number) || self.is_over {
            return;
        }
        if self.times == self.limit {
            self.is_over = true;
            let times = if self.limit == 1 { "once".to_owned() } else { format!("{} times", self.limit) };
            self.notices.push(format!(
                "{why}, but files were kept {times} already: the rotation removes those of later collections \
                 (--keep-recording=N keeps more)"
            ));
            return;
        }
        self.times += 1;
        self.last = Some(current.number);
        let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let parts = || older.iter().rev().chain([current]);
        let holds = |part: &&Part| part.begins_ns <= at_ns;
        let first = parts().filter(holds).map(|part| part.number).max().unwrap_or(0);
        let from = first.saturating_sub(1);
        let at = older.iter().position(|part| part.number >= from).unwrap_or(older.len());
        for part in older.split_off(at) {
            let path = kept_path(&part.path, &stamp);
            self.take(part, path, older);
        }
        self.plan(current.number, &current.path, &stamp);
        self.plan(current.number.saturating_add(1), next, &stamp);
        self.kept.make_contiguous().sort();
        let all = self.kept.iter().chain(&self.planned).filter(|(number, _)| *number >= from);
        let names: Vec<String> = all.map(|(_, path)| path.display().to_string()).collect();
        self.notices.push(format!("{why}: keeping {}", names.join(", ")));
    }

    /// A file is complete: it is kept, or becomes one of the rotation's older files.
    pub(super) fn completed(&mut self, part: Part, older: &mut VecDeque<Part>) {
        match self.planned.iter().position(|(number, _)| *number == part.number) {
            Some(at) => {
                let (_, path) = self.planned.remove(at);
                self.take(part, path, older);
            }
            None => older.push_back(part),
        }
    }

    fn plan(&mut self, number: u32, path: &Path, stamp: &str) {
        if self.planned.iter().all(|(planned, _)| *planned != number) {
            self.planned.push((number, kept_path(path, stamp)));
        }
    }

    /// Renames a file. One that cannot be renamed stays in the rotation.
    fn take(&mut self, part: Part, path: PathBuf, older: &mut VecDeque<Part>) {
        match fs::rename(&part.path, &path) {
            Ok(()) => {
                self.kept.push_back((part.number, path));
                if self.kept.len() > MAX_REMEMBERED {
                    self.kept.pop_front();
                }
            }
            Err(e) => {
                let (from, to) = (part.path.display(), path.display());
                self.notices.push(format!("cannot keep {from} as {to}: {e}"));
                older.push_back(part);
            }
        }
    }
}

/// `app.003.nettrace` becomes `kept-20261123T013501Z-app.003.nettrace`: the names of one time stand together, in order.
fn kept_path(path: &Path, stamp: &str) -> PathBuf {
    let mut name = OsString::from(format!("kept-{stamp}-"));
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}
