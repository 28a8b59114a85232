//! Summaries as JSON.

use super::summary::{Status, Summary};
use crate::events::Event;
use crate::{history, record};
use serde_json::{Map, Value, json};

/// Most events in the summary of a run; `events.csv` has all of them.
const EVENTS_TOLD: usize = 1000;

impl Summary {
    /// The object that `--json` prints.
    pub fn to_json(&self) -> Value {
        let mut last = Map::new();
        last.insert("t".into(), json!(self.t));
        for (name, value) in &self.last {
            last.insert(name.clone(), json!(value));
        }
        let mut object = self.brief();
        object["final"] = last.into();
        object
    }

    /// The same as text, with other entries: the values of a million channels take a tenth of the memory.
    pub fn json_text(&self, object: &Value) -> String {
        let mut text = object.to_string();
        text.pop();
        text.push_str(",\"final\":");
        record::add_object(self.t, &self.last, "", "", &mut text);
        text.push('}');
        text
    }

    /// The same without the final values.
    pub fn brief(&self) -> Value {
        let s = &self.statistics;
        let (status, message) = match &self.status {
            Status::Finished => ("finished", None),
            Status::Interrupted => ("interrupted", None),
            Status::Failed(e) => ("failed", Some(e.to_string())),
        };
        let event = |e: &Event| json!({ "t": e.t, "name": e.name, "what": e.what });
        let events: Vec<Value> = self.events.iter().take(EVENTS_TOLD).map(event).collect();
        let mut object = json!({
            "model": self.model,
            "status": status,
            "method": self.names.method,
            "formulation": self.names.formulation,
            "iteration": self.names.iteration,
            "steps": s.steps,
            "rejected": s.error_test_failures + s.convergence_failures,
            "error_test_failures": s.error_test_failures,
            "convergence_failures": s.convergence_failures,
            "residual_evaluations": s.residual_evaluations,
            "jacobian_evaluations": s.jacobian_evaluations,
            "factorizations": s.factorizations,
            "iterations": s.iterations,
            "wall_seconds": self.wall_seconds,
            "degrees_of_freedom": self.assembly.degrees_of_freedom,
            "redundant_equations": self.assembly.redundant,
            "reactions_unique": self.not_unique.is_empty(),
            "reactions_not_unique": self.not_unique,
            "event_count": self.events.len(),
            "events": events,
            "drift": { "position": self.drift.position, "velocity": self.drift.velocity },
            "energy": { "initial": self.energy.initial, "final": self.energy.last, "max_error": self.energy.largest_error },
            "choices": self.choices,
            "solver": self.solver,
            "refused": history::refused_json(&self.refused),
        });
        if !self.cut.is_empty() {
            object["cut_joints"] = json!(self.cut);
        }
        if let (Some(proof), Some(map)) = (&self.proof, object.as_object_mut()) {
            map.insert("proof".into(), proof.to_json());
        }
        if let (Some(split), Some(map)) = (&self.split, object.as_object_mut()) {
            let numbers = json!({
                "independent": split.independent,
                "dependent": split.dependent,
                "largest": split.largest,
                "worst": split.worst,
                "changes": split.changes,
                "redundant": split.redundant,
            });
            map.insert("split".into(), numbers);
        }
        if let (Some(loops), Some(map)) = (&self.loops, object.as_object_mut()) {
            map.insert("loops".into(), loops.to_json());
        }
        if let (Some(message), Some(map)) = (message, object.as_object_mut()) {
            map.insert("error".into(), json!(message));
        }
        object
    }
}
