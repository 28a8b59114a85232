//! A comparison of methods as JSON.

use super::value;
use bellcrank_solve::evidence::compare::{Outcome, Precision, Reference};
use bellcrank_solve::record::{Ended, RunReport};
use bellcrank_solve::run::Names;
use serde::Serialize;
use serde_json::Value;

/// Runs against their reference, and with its reason what was not run.
pub fn comparison(reference: &Reference, outcomes: &[Outcome], skipped: &[(String, String)]) -> Value {
    value(&ComparisonJson {
        model: &reference.name,
        until: reference.base.until,
        size: reference.size,
        reference: ReferenceJson { method: reference.method, rtol: reference.rtol, doubt: reference.doubt },
        runs: outcomes.iter().map(OutcomeJson::of).collect(),
        skipped: skipped.iter().map(|(what, reason)| SkippedJson { what, reason }).collect(),
    })
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    model: &'a str,
    until: f64,
    size: f64,
    reference: ReferenceJson,
    runs: Vec<OutcomeJson>,
    skipped: Vec<SkippedJson<'a>>,
}

#[derive(Serialize)]
struct ReferenceJson {
    method: &'static str,
    rtol: f64,
    doubt: f64,
}

#[derive(Serialize)]
struct SkippedJson<'a> {
    what: &'a str,
    reason: &'a str,
}

// One field is one key: its many fields are the format.
#[derive(Serialize)]
struct OutcomeJson {
    method: &'static str,
    formulation: &'static str,
    iteration: &'static str,
    rtol: Option<f64>,
    step: Option<f64>,
    seconds: f64,
    error: f64,
    status: &'static str,
    steps: usize,
    rejected: usize,
    residual_evaluations: usize,
    jacobian_evaluations: usize,
    factorizations: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl OutcomeJson {
    fn of(o: &Outcome) -> OutcomeJson {
        let (s, ended) = (&o.summary.statistics, o.summary.ended());
        let Names { formulation, iteration, .. } = o.summary.names;
        let (rtol, step) = match o.precision {
            Precision::Tolerance(rtol) => (Some(rtol), None),
            Precision::Step(h) => (None, Some(h)),
        };
        OutcomeJson {
            method: o.combination.method.name(),
            formulation,
            iteration,
            rtol,
            step,
            seconds: o.seconds,
            error: o.error,
            status: ended.word(),
            steps: s.steps,
            rejected: s.error_test_failures + s.convergence_failures,
            residual_evaluations: s.residual_evaluations,
            jacobian_evaluations: s.jacobian_evaluations,
            factorizations: s.factorizations,
            message: match ended {
                Ended::Failed(why) => Some(why),
                _ => None,
            },
        }
    }
}
