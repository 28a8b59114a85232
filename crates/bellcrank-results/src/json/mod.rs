//! Reports as JSON: what `--json` prints and `summary.json` holds.
//!
//! The solver's reports are plain data and know nothing of JSON. Each has a twin here that borrows it and fixes its keys
//! and their order, which other programs rely on.

mod analyses;
mod check;
mod compare;
mod plan;
mod run;

pub use analyses::{inverse, modes, verification};
pub use check::check;
pub use compare::comparison;
pub use plan::plan;
pub use run::run;

use bellcrank_solve::Summary;
use bellcrank_solve::analyses::inverse::Inverse;
use bellcrank_solve::record::{Ended, RunReport};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::io::{self, Write};

/// A report that is JSON already: of runs that the solver does not know, such as those of coupled parts.
pub struct Object(pub Map<String, Value>);

impl Object {
    /// From an object; anything else gives an empty one.
    pub fn new(value: Value) -> Object {
        match value {
            Value::Object(map) => Object(map),
            _ => Object(Map::new()),
        }
    }
}

impl RunReport for Object {
    fn ended(&self) -> Ended {
        match self.0.get("status").and_then(Value::as_str) {
            Some("failed") => Ended::Failed(self.0.get("error").and_then(Value::as_str).unwrap_or_default().into()),
            Some("interrupted") => Ended::Interrupted,
            _ => Ended::Finished,
        }
    }
}

/// The entries of a report; of a kind that is not known here only how it ended. Final values are left out: see [`write()`].
pub fn report(report: &dyn RunReport) -> Map<String, Value> {
    let any: &dyn Any = report;
    if let Some(summary) = any.downcast_ref::<Summary>() {
        run(summary)
    } else if let Some(found) = any.downcast_ref::<Inverse>() {
        inverse(found)
    } else if let Some(Object(map)) = any.downcast_ref() {
        map.clone()
    } else {
        let ended = report.ended();
        let mut map = Object::new(json!({ "status": ended.word() })).0;
        if let Ended::Failed(why) = ended {
            map.insert("error".into(), why.into());
        }
        map
    }
}

/// The values of all channels at a time, written one after the other: as a map, those of a million channels would take
/// ten times the memory.
#[derive(Clone, Copy, Default)]
pub struct FinalValues<'a> {
    /// The time.
    pub t: f64,
    /// Names and values.
    pub values: &'a [(String, f64)],
}

impl<'a> FinalValues<'a> {
    /// Those of a simulation; other reports have none.
    pub fn of(report: &'a dyn RunReport) -> Option<FinalValues<'a>> {
        let any: &dyn Any = report;
        any.downcast_ref::<Summary>().map(|s| FinalValues { t: s.t, values: &s.last })
    }
}

impl Serialize for FinalValues<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(self.values.len() + 1))?;
        map.serialize_entry("t", &self.t)?;
        self.values.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// Entries, and the final values behind them.
struct WithFinal<'a> {
    entries: &'a Map<String, Value>,
    last: Option<FinalValues<'a>>,
}

impl Serialize for WithFinal<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        self.entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        if let Some(last) = &self.last {
            map.serialize_entry("final", last)?;
        }
        map.end()
    }
}

/// Writes the entries of a report and behind them the final values, on one line.
pub fn write(entries: &Map<String, Value>, last: Option<FinalValues>, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(out, &WithFinal { entries, last })?)
}

/// The same over many lines, for people.
pub fn write_pretty(entries: &Map<String, Value>, last: Option<FinalValues>, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer_pretty(out, &WithFinal { entries, last })?)
}

/// The whole of a simulation's summary, final values included, as one value: for small models and tests.
pub fn whole(summary: &Summary) -> Value {
    let mut entries = run(summary);
    entries.insert("final".into(), value(&FinalValues { t: summary.t, values: &summary.last }));
    Value::Object(entries)
}

/// Plain data as a value: none of ours has keys that are not text, so that nothing can fail.
fn value(data: &impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}

/// The same for what is an object.
fn entries(data: &impl Serialize) -> Map<String, Value> {
    Object::new(value(data)).0
}

/// A list of named values as an object, in its order.
struct NamedValues<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for NamedValues<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_values_come_last_and_read_back() {
        let entries = Object::new(json!({"status": "finished", "n": 2, "list": []})).0;
        let named = [("a \"b\"".to_string(), f64::NAN), ("c".to_string(), 0.1)];
        let last = FinalValues { t: 2.0, values: &named };
        let mut text = Vec::new();
        write(&entries, Some(last), &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            r#"{"status":"finished","n":2,"list":[],"final":{"t":2.0,"a \"b\"":null,"c":0.1}}"#
        );
        let mut text = Vec::new();
        write_pretty(&entries, Some(last), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.ends_with("  \"final\": {\n    \"t\": 2.0,\n    \"a \\\"b\\\"\": null,\n    \"c\": 0.1\n  }\n}"),
            "{text}"
        );
        let mut text = Vec::new();
        write_pretty(&entries, None, &mut text).unwrap();
        assert_eq!(text, format!("{:#}", Value::Object(entries)).into_bytes());
    }

    #[test]
    fn an_unknown_report_tells_how_it_ended() {
        let failed = report(&Ended::Failed("it broke".into()));
        assert_eq!(Value::Object(failed), json!({"status": "failed", "error": "it broke"}));
        assert_eq!(Object::new(json!({"status": "interrupted"})).ended(), Ended::Interrupted);
        assert_eq!(Object::new(json!(3)).ended(), Ended::Finished);
    }
}
