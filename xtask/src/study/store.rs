//! Keeps what was measured: a line of JSON for each run, and the documents.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::plan::{Key, Side};

/// A run that was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(flatten)]
    pub(super) key: Key,
    /// The load average when it began.
    pub(super) load: Option<f64>,
    /// From the start of gcwatch to its end.
    pub(super) wall_ms: f64,
    /// What the program says of itself at its end.
    pub(super) own: BTreeMap<String, f64>,
    /// The metrics, as gcwatch says them. Null: no data.
    pub(super) metrics: BTreeMap<String, Option<f64>>,
}

/// All runs that were made.
#[derive(Debug)]
pub(super) struct Store {
    dir: PathBuf,
    file: File,
    records: BTreeMap<Key, Record>,
}

impl Store {
    /// Reads the runs of a study that was stopped, or begins with none.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("runs.ndjson");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut store = Self { dir: dir.to_owned(), file: File::create(path)?, records: BTreeMap::new() };
        for line in text.lines() {
            // The last line of a study that was stopped can be incomplete.
            let Ok(record) = serde_json::from_str::<Record>(line) else { continue };
            if store.document(&record).is_file() {
                store.keep(line, record)?;
            }
        }
        Ok(store)
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.records.contains_key(key)
    }

    pub(super) fn add(&mut self, record: Record) -> Result<()> {
        let line = serde_json::to_string(&record)?;
        self.keep(&line, record)
    }

    fn keep(&mut self, line: &str, record: Record) -> Result<()> {
        writeln!(self.file, "{line}")?;
        self.records.insert(record.key.clone(), record);
        Ok(())
    }

    /// The runs of one side of a pair, in their order.
    pub(super) fn side(&self, case: &str, pair: usize, side: Side) -> Vec<&Record> {
        let of = |key: &Key| key.case == case && key.pair == pair && key.side == side;
        self.records.values().filter(|record| of(&record.key)).collect()
    }

    pub(super) fn document(&self, record: &Record) -> PathBuf {
        document(&self.dir, &record.key)
    }

    /// The lowest, the median and the highest load average at the starts of the runs. Empty: it is not known.
    pub(super) fn loads(&self) -> Vec<f64> {
        let mut loads: Vec<f64> = self.records.values().filter_map(|record| record.load).collect();
        loads.sort_by(f64::total_cmp);
        let at = |place: usize| loads.get(place).copied();
        [at(0), at(loads.len() / 2), loads.last().copied()].into_iter().flatten().collect()
    }
}

/// The file of a run's document.
pub(super) fn document(dir: &Path, key: &Key) -> PathBuf {
    dir.join("documents").join(format!("{key}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_study_keeps_its_complete_runs() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("documents")).unwrap();
        let key = |run| Key { case: "more".to_owned(), pair: 3, side: Side::After, run };
        let own = BTreeMap::from([("allocated".to_owned(), 5.0)]);
        let record = |run| Record {
            key: key(run),
            load: Some(run as f64),
            wall_ms: 1.0,
            own: own.clone(),
            metrics: BTreeMap::from([("pause.max".to_owned(), None)]),
        };
        let mut store = Store::open(dir.path()).unwrap();
        for run in 0..3 {
            store.add(record(run)).unwrap();
        }
        // The document of one run is missing, and the line of another one is cut off.
        for run in 0..2 {
            fs::write(document(dir.path(), &key(run)), "{}").unwrap();
        }
        drop(store);
        let path = dir.path().join("runs.ndjson");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{}", &text[..40])).unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert!(store.has(&key(0)) && store.has(&key(1)) && !store.has(&key(2)));
        let side = store.side("more", 3, Side::After);
        assert_eq!(side.iter().map(|record| record.key.run).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((side[0].own["allocated"], store.loads()), (5.0, vec![0.0, 1.0, 1.0]));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    }
}
