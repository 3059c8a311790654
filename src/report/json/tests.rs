use std::io;

use jsonschema::Validator;
use serde_json::Value;

use super::ndjson::NdjsonReport;
use super::schema;
use super::writer::JsonReport;
use crate::gc::facts::Lost;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Incomplete, Level};
use crate::report::model::{Facts, Filter, Report};
use crate::report::sample::{NOTHING_LOST, end, facts, quiet_run, tiny};

pub(super) fn validator(of: &str) -> Validator {
    let mut schema = serde_json::to_value(schema()).expect("a schema is JSON");
    if of != "#" {
        let definitions = schema["$defs"].clone();
        schema = serde_json::json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": of, "$defs": definitions
        });
    }
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

pub(super) fn problems(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

fn write(report: &mut dyn Report, facts: &Facts, gcs: &[Gc], lost: &Lost) {
    report.start(facts).expect("memory takes it");
    gcs.iter().for_each(|gc| report.gc(facts, gc).expect("memory takes it"));
    end(report, facts, gcs, lost);
}

fn document(facts: &Facts, gcs: &[Gc]) -> String {
    let mut out = Vec::new();
    write(&mut JsonReport::new(&mut out), facts, gcs, &NOTHING_LOST);
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[test]
fn a_tiny_document() {
    let text = document(&facts(), &[tiny(), Gc::unknown(Level::Basic)]);
    insta::assert_snapshot!(text);
    let value: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(problems(&validator("#"), &value), [] as [&str; 0]);
}

#[test]
fn documents_keep_to_the_schema_and_its_objects_are_closed() {
    let schema = validator("#");
    for gcs in [vec![], quiet_run(), vec![tiny(), Gc::unknown(Level::Moves)]] {
        for facts in [facts(), Facts::default()] {
            let mut value: Value = serde_json::from_str(&document(&facts, &gcs)).expect("it is JSON");
            assert_eq!(problems(&schema, &value), [] as [&str; 0]);
            assert_eq!(value["gcs"].as_array().map(Vec::len), Some(gcs.len()));
            // A key too many or too few is seen, at any depth.
            value["summary"]["surprise"] = 1.into();
            assert!(!schema.is_valid(&value));
            value["summary"].as_object_mut().expect("an object").remove("surprise");
            value["target"]["gc"].as_object_mut().expect("an object").remove("heaps");
            assert!(!schema.is_valid(&value));
        }
    }
}

#[test]
fn lines_keep_to_the_schema() {
    let mut out = Vec::new();
    let gcs = quiet_run();
    write(&mut NdjsonReport::new(&mut out, Filter::default()), &facts(), &gcs, &NOTHING_LOST);
    let lines: Vec<Value> = String::from_utf8(out)
        .expect("JSON is UTF-8")
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let schema = validator("#/$defs/Line");
    for line in &lines {
        assert_eq!(problems(&schema, line), [] as [&str; 0]);
        assert_eq!(line["pid"], 4242);
    }
    assert_eq!(lines.len(), gcs.len() + 2);
    assert_eq!((&lines[0]["type"], &lines[1]["type"]), (&"start".into(), &"gc".into()));
    let end = lines.last().expect("there are lines");
    assert_eq!((&end["type"], &end["exit"]["reason"]), (&"end".into(), &"target-ended".into()));
    let mut odd = lines[1].clone();
    odd["surprise"] = 1.into();
    assert!(!schema.is_valid(&odd));
    // The same record as in the document.
    let mut line = lines[2].clone();
    let object = line.as_object_mut().expect("an object");
    object.remove("type");
    object.remove("pid");
    let value: Value = serde_json::from_str(&document(&facts(), &gcs)).expect("it is JSON");
    assert_eq!(value["gcs"][1], line);
}

#[test]
fn a_filter_hides_lines_but_not_what_is_unknown() {
    let mut out = Vec::new();
    let filter = Filter { min_pause_ns: Some(17_000_000), generations: vec![Generation::GEN2] };
    let mut gcs = quiet_run();
    let long = gcs.iter().filter(|gc| gc.generation == Some(Generation::GEN2)).count();
    gcs.push(Gc { incomplete: Some(Incomplete::Lost), ..Gc::unknown(Level::Basic) });
    write(&mut NdjsonReport::new(&mut out, filter), &facts(), &gcs, &NOTHING_LOST);
    assert_eq!(String::from_utf8_lossy(&out).lines().count(), 2 + long + 1);
}

#[test]
fn integers_saturate_and_lost_says_so() {
    let mut gc = tiny();
    gc.promoted_bytes = Some(1 << 53);
    gc.heap_before_bytes = Some((1 << 53) - 1);
    let text = document(&facts(), &[gc]);
    let value: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(value["gcs"][0]["promoted_bytes"], 9_007_199_254_740_991_u64);
    assert_eq!(value["gcs"][0]["heap_before_bytes"], 9_007_199_254_740_991_u64);
    assert_eq!(value["lost"]["saturated"], 1);
    assert_eq!(value["gcs"][0]["roots"]["list"][0]["id"], "0xffffffffffffffff");
}

#[test]
fn a_document_that_is_dropped_is_closed() {
    let schema = validator("#");
    for gcs in [0, 1, 2] {
        for started in [false, true] {
            let mut out = Vec::new();
            let mut report = JsonReport::new(&mut out);
            if started {
                report.start(&facts()).expect("memory takes it");
            }
            for _ in 0..gcs {
                report.gc(&facts(), &tiny()).expect("memory takes it");
            }
            drop(report);
            let value: Value = serde_json::from_slice(&out).expect("it is JSON");
            assert_eq!(problems(&schema, &value), [] as [&str; 0]);
            assert_eq!(value["exit"]["reason"], "interrupted");
            assert_eq!((&value["summary"], &value["exit"]["gcwatch"]), (&Value::Null, &Value::Null));
        }
    }
}

#[test]
fn roots_are_null_only_where_nothing_of_them_was_seen() {
    let mut gc = Gc::unknown(Level::Basic);
    let roots = |gc: &Gc| {
        let value: Value = serde_json::from_str(&document(&facts(), std::slice::from_ref(gc))).expect("JSON");
        value["gcs"][0]["roots"].clone()
    };
    assert_eq!(roots(&gc), Value::Null);
    gc.promoted_by[2] = Some(64);
    let seen = roots(&gc);
    assert_eq!((&seen["total"], &seen["by_kind"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&seen["promoted_bytes"]["handle"], &seen["promoted_bytes"]["stack"]),
        (&64.into(), &Value::Null)
    );
}

/// Takes a number of bytes, then fails.
#[derive(Debug)]
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failing_writer_is_an_error_once_and_then_left_alone() {
    let mut report = JsonReport::new(Full(400));
    report.start(&facts()).expect("there is room for the start");
    let error = report.gc(&facts(), &tiny()).expect_err("there is no room for this");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    report.close().expect("a broken document is not touched again");
}

#[test]
fn the_schema_says_what_a_recording_cannot_tell() {
    let text = serde_json::to_string(&schema()).expect("a schema is JSON");
    assert_eq!(text.matches("A recording cannot tell this.").count(), 11);
    assert!(text.contains("https://json-schema.org/draft/2020-12/schema"));
}
