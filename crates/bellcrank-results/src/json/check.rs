//! A check of a model as JSON.

use super::value;
use bellcrank_solve::check::{Check, Finding, Spectrum};
use bellcrank_solve::start::{Assembly, Followed};
use serde::Serialize;
use serde_json::Value;

/// What a check found.
pub fn check(c: &Check) -> Value {
    value(&CheckJson {
        model: &c.model,
        runs: c.runs(),
        bodies: c.counts.bodies,
        joints: c.counts.joints,
        forces: c.counts.forces,
        coordinates: c.counts.coordinates,
        equations: c.counts.equations,
        degrees_of_freedom: c.degrees_of_freedom,
        redundant_equations: c.redundant(),
        redundant: c
            .redundancies
            .iter()
            .map(|r| RedundancyJson { name: &r.of.words, directions: &r.directions })
            .collect(),
        reactions_unique: c.not_unique.is_empty(),
        reactions_not_unique: &c.not_unique,
        assembly: c.assembly.as_ref().map(AssemblyJson::of),
        findings: c.findings.iter().map(FindingJson::of).collect(),
        spectrum: c.spectrum.as_ref().map(SpectrumJson::of),
        method: &c.method,
        left_out: c.left_out.iter().map(|(what, why)| LeftOutJson { what, why }).collect(),
    })
}

// One field is one key: its many fields are the format.
#[derive(Serialize)]
struct CheckJson<'a> {
    model: &'a str,
    runs: bool,
    bodies: usize,
    joints: usize,
    forces: usize,
    coordinates: usize,
    equations: usize,
    degrees_of_freedom: Option<usize>,
    redundant_equations: usize,
    redundant: Vec<RedundancyJson<'a>>,
    reactions_unique: bool,
    reactions_not_unique: &'a [String],
    assembly: Option<AssemblyJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    spectrum: Option<SpectrumJson<'a>>,
    method: &'a str,
    left_out: Vec<LeftOutJson<'a>>,
}

#[derive(Serialize)]
struct RedundancyJson<'a> {
    name: &'a str,
    directions: &'a [String],
}

#[derive(Serialize)]
struct LeftOutJson<'a> {
    what: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    level: &'static str,
    kind: &'static str,
    names: Vec<&'a str>,
    message: &'a str,
    help: &'a str,
}

impl<'a> FindingJson<'a> {
    fn of(f: &'a Finding) -> FindingJson<'a> {
        FindingJson { level: f.severity.word(), kind: f.kind, names: f.names(), message: &f.message, help: &f.help }
    }
}

#[derive(Serialize)]
struct AssemblyJson<'a> {
    iterations: usize,
    residual: BeforeAfter,
    moved: Vec<MovedJson<'a>>,
    followed: Vec<FollowedJson<'a>>,
    gaps: Vec<GapJson<'a>>,
}

#[derive(Serialize)]
struct BeforeAfter {
    before: f64,
    after: f64,
}

#[derive(Serialize)]
struct FollowedJson<'a> {
    name: &'a str,
    change: f64,
    rate: f64,
}

impl<'a> FollowedJson<'a> {
    fn of(f: &'a Followed) -> FollowedJson<'a> {
        FollowedJson { name: &f.name, change: f.change, rate: f.rate }
    }
}

#[derive(Serialize)]
struct MovedJson<'a> {
    name: &'a str,
    distance: f64,
    angle: f64,
}

#[derive(Serialize)]
struct GapJson<'a> {
    name: &'a str,
    before: f64,
    after: f64,
}

impl<'a> AssemblyJson<'a> {
    fn of(a: &'a Assembly) -> AssemblyJson<'a> {
        AssemblyJson {
            iterations: a.iterations,
            residual: BeforeAfter { before: a.residual.0, after: a.residual.1 },
            moved: a.moved.iter().map(|m| MovedJson { name: &m.name, distance: m.distance, angle: m.angle }).collect(),
            followed: a.followed.iter().map(FollowedJson::of).collect(),
            gaps: a.gaps.iter().map(|g| GapJson { name: &g.of.words, before: g.before, after: g.after }).collect(),
        }
    }
}

#[derive(Serialize)]
struct SpectrumJson<'a> {
    frequencies: &'a [f64],
    falling: Option<f64>,
    decay: f64,
    fastest: f64,
    slowest: f64,
    only_fastest: bool,
}

impl<'a> SpectrumJson<'a> {
    fn of(s: &'a Spectrum) -> SpectrumJson<'a> {
        SpectrumJson {
            frequencies: &s.frequencies,
            falling: s.falling,
            decay: s.decay,
            fastest: s.fastest(),
            slowest: s.slowest(),
            only_fastest: s.only_fastest,
        }
    }
}
