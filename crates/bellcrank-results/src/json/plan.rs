//! The plan of a run as JSON: one entry for every decision, and the list of its revisions.

use bellcrank_solve::plan::{Plan, Reason, Revision};
use serde_json::{Map, Value, json};

/// Every decision under its key (`method`, `coordinates` …) with its value, whether it was asked for, and why; what was
/// decided during the run as `revisions`.
pub fn plan(plan: &Plan) -> Map<String, Value> {
    let reason = |r: &Reason| {
        let mut entry = json!({ "value": r.value, "origin": r.origin.name() });
        if !r.why.is_empty() {
            entry["why"] = json!(r.why);
        }
        (r.what.to_string(), entry)
    };
    let revision = |r: &Revision| json!({ "t": r.t(), "what": r.name(), "why": r.to_string() });
    let mut map: Map<String, Value> = plan.reasons.iter().map(reason).collect();
    map.insert("revisions".into(), plan.revisions.iter().map(revision).collect());
    map
}
