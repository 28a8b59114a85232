//! A simulation's summary as JSON.

use super::{NamedValues, entries};
use bellcrank_solve::Summary;
use bellcrank_solve::engines::{LoopReport, SplitReport};
use bellcrank_solve::events::Event;
use bellcrank_solve::history::Culprit;
use bellcrank_solve::proof::{Proof, Sizes};
use bellcrank_solve::record::{Ended, RunReport};
use bellcrank_solve::run::{Excess, Names, OutputSummary};
use serde::Serialize;
use serde_json::{Map, Value};

/// Events in a summary; `events.csv` has all of them.
const EVENTS: usize = 1000;

/// The entries of a simulation's summary, without its final values.
pub fn run(summary: &Summary) -> Map<String, Value> {
    entries(&RunJson::of(summary))
}

/// An output by its name: what can be asked of it, with the times of its extremes.
fn output(of: &OutputSummary) -> (String, Value) {
    let mut told = Map::new();
    told.insert("unit".into(), of.unit.into());
    for name in OutputSummary::MEASURES {
        told.insert(name.into(), of.measure(name).into());
    }
    told.insert("max_at".into(), of.max_at.into());
    told.insert("min_at".into(), of.min_at.into());
    (of.name.clone(), Value::Object(told))
}

// One field is one key: its many fields are the format.
#[derive(Serialize)]
struct RunJson<'a> {
    model: &'a str,
    status: &'static str,
    method: &'static str,
    formulation: &'static str,
    iteration: &'static str,
    steps: usize,
    rejected: usize,
    error_test_failures: usize,
    convergence_failures: usize,
    residual_evaluations: usize,
    jacobian_evaluations: usize,
    factorizations: usize,
    iterations: usize,
    wall_seconds: f64,
    degrees_of_freedom: usize,
    redundant_equations: usize,
    reactions_unique: bool,
    reactions_not_unique: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beyond: Vec<ExcessJson<'a>>,
    event_count: usize,
    events: Vec<EventJson<'a>>,
    doubts: Vec<DoubtJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_estimate: Option<&'a str>,
    drift: DriftJson,
    energy: EnergyJson,
    #[serde(skip_serializing_if = "Map::is_empty")]
    outputs: Map<String, Value>,
    choices: &'a [String],
    plan: Map<String, Value>,
    solver: Option<&'a str>,
    refused: Vec<RefusedJson<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    cut_joints: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<ProofJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<SplitJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loops: Option<LoopsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct DoubtJson<'a> {
    kind: &'static str,
    message: &'a str,
    help: &'static str,
}

#[derive(Serialize)]
struct ExcessJson<'a> {
    name: &'a str,
    limit: &'static str,
    worst: f64,
    bound: f64,
    since: f64,
    message: String,
}

impl<'a> ExcessJson<'a> {
    fn of(e: &'a Excess) -> ExcessJson<'a> {
        let (limit, bound) = (e.limit.word(), e.limit.bound());
        ExcessJson { name: &e.name, limit, worst: e.worst, bound, since: e.since, message: e.to_string() }
    }
}

impl<'a> RunJson<'a> {
    fn of(s: &'a Summary) -> RunJson<'a> {
        let (ended, n) = (s.ended(), &s.statistics);
        let Names { method, formulation, iteration } = s.names;
        RunJson {
            model: &s.model,
            status: ended.word(),
            method,
            formulation,
            iteration,
            steps: n.steps,
            rejected: n.error_test_failures + n.convergence_failures,
            error_test_failures: n.error_test_failures,
            convergence_failures: n.convergence_failures,
            residual_evaluations: n.residual_evaluations,
            jacobian_evaluations: n.jacobian_evaluations,
            factorizations: n.factorizations,
            iterations: n.iterations,
            wall_seconds: s.wall_seconds,
            degrees_of_freedom: s.assembly.degrees_of_freedom,
            redundant_equations: s.assembly.redundant,
            reactions_unique: s.not_unique.is_empty(),
            reactions_not_unique: &s.not_unique,
            beyond: s.beyond.iter().map(ExcessJson::of).collect(),
            event_count: s.events.len(),
            events: s.events.iter().take(EVENTS).map(EventJson::of).collect(),
            doubts: s.doubts.iter().map(|d| DoubtJson { kind: d.kind, message: &d.message, help: d.help }).collect(),
            estimated_error: s.error,
            no_estimate: s.no_estimate.as_deref(),
            drift: DriftJson { position: s.drift.position, velocity: s.drift.velocity },
            energy: EnergyJson { initial: s.energy.initial, last: s.energy.last, max_error: s.energy.largest_error },
            outputs: s.outputs.iter().map(output).collect(),
            choices: &s.choices,
            plan: super::plan(&s.plan),
            solver: s.solver.as_deref(),
            refused: s.refused.iter().map(|(name, c)| RefusedJson::of(name, c)).collect(),
            cut_joints: &s.cut,
            proof: s.proof.as_deref().map(ProofJson::of),
            split: s.split.as_ref().map(SplitJson::of),
            loops: s.loops.as_ref().map(LoopsJson::of),
            error: match ended {
                Ended::Failed(why) => Some(why),
                _ => None,
            },
        }
    }
}

#[derive(Serialize)]
struct EventJson<'a> {
    t: f64,
    name: &'a str,
    what: &'a str,
}

impl<'a> EventJson<'a> {
    fn of(e: &'a Event) -> EventJson<'a> {
        EventJson { t: e.t, name: &e.name, what: &e.what }
    }
}

#[derive(Serialize)]
struct DriftJson {
    position: f64,
    velocity: f64,
}

#[derive(Serialize)]
struct EnergyJson {
    initial: f64,
    #[serde(rename = "final")]
    last: f64,
    max_error: f64,
}

#[derive(Serialize)]
struct RefusedJson<'a> {
    culprit: &'a str,
    error_test: usize,
    convergence: usize,
    from: f64,
    to: f64,
    smallest_step: f64,
}

impl<'a> RefusedJson<'a> {
    fn of(name: &'a str, c: &Culprit) -> RefusedJson<'a> {
        RefusedJson {
            culprit: name,
            error_test: c.errors,
            convergence: c.convergence,
            from: c.times.0,
            to: c.times.1,
            smallest_step: c.least,
        }
    }
}

#[derive(Serialize)]
struct ProofJson<'a> {
    acceleration_residual: f64,
    seconds: NamedValues<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    momentum: Option<MomentumJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reactions: Option<ReactionsJson>,
}

/// Linear and angular where there are two, components x, y, z of both where there are six.
#[derive(Serialize)]
struct MomentumJson<'a> {
    initial: &'a [f64; 6],
    #[serde(rename = "final")]
    last: &'a [f64; 6],
    largest: [f64; 2],
    error: [f64; 2],
    conserved: &'a [Option<f64>; 6],
}

/// Force and moment.
#[derive(Serialize)]
struct ReactionsJson {
    error: [f64; 2],
    largest: [f64; 2],
}

impl<'a> ProofJson<'a> {
    fn of(p: &'a Proof) -> ProofJson<'a> {
        let pair = |s: Sizes| [s.linear, s.angular];
        ProofJson {
            acceleration_residual: p.acceleration,
            seconds: NamedValues(p.seconds.iter().map(|(phase, s)| (phase.replace(' ', "_"), *s)).collect()),
            momentum: p.known.then(|| MomentumJson {
                initial: &p.momentum.0,
                last: &p.momentum.1,
                largest: pair(p.largest_momentum),
                error: pair(p.impulse_error),
                conserved: &p.conserved,
            }),
            reactions: p.known.then(|| ReactionsJson { error: pair(p.reaction_error), largest: pair(p.largest_load) }),
        }
    }
}

#[derive(Serialize)]
struct SplitJson<'a> {
    independent: usize,
    dependent: usize,
    largest: f64,
    worst: f64,
    changes: usize,
    redundant: &'a [String],
}

impl<'a> SplitJson<'a> {
    fn of(s: &'a SplitReport) -> SplitJson<'a> {
        SplitJson {
            independent: s.independent,
            dependent: s.dependent,
            largest: s.largest,
            worst: s.worst,
            changes: s.changes,
            redundant: &s.redundant,
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum LoopsJson {
    Regularized { solver: &'static str, equations: usize, epsilon: f64, limit: f64, iterates: Vec<IterateJson> },
    Iterated { solver: &'static str, equations: usize, solves: usize, iterations: usize, renewals: usize },
}

#[derive(Serialize)]
struct IterateJson {
    loops: f64,
    tree: f64,
}

impl LoopsJson {
    fn of(l: &LoopReport) -> LoopsJson {
        let (solver, equations) = (l.solver, l.equations);
        match l.epsilon {
            Some((epsilon, limit)) => {
                let iterates = l.drift.iter().map(|(loops, tree)| IterateJson { loops: *loops, tree: *tree }).collect();
                LoopsJson::Regularized { solver, equations, epsilon, limit, iterates }
            }
            None => LoopsJson::Iterated {
                solver,
                equations,
                solves: l.solves,
                iterations: l.iterations,
                renewals: l.renewals,
            },
        }
    }
}
