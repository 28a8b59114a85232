//! Verification, modes and inverse dynamics as JSON.

use super::{NamedValues, entries, value};
use bellcrank_solve::analyses::inverse::{Demand, Inverse};
use bellcrank_solve::analyses::modes::{Mode, Modes};
use bellcrank_solve::record::{Ended, RunReport};
use bellcrank_solve::verify::{Deviation, Verification};
use serde::Serialize;
use serde_json::{Map, Value};

/// How accurate a run was.
pub fn verification(v: &Verification) -> Value {
    value(&VerificationJson {
        against: &v.against,
        steps: &v.steps,
        converges: v.converges,
        agreement: v.agreement().word(),
        agrees_until: v.agrees_until,
        factor: v.factor,
        observed_order: v.order,
        worst: v.worst().map(DeviationJson::of),
        by_unit: v.by_unit().into_iter().map(DeviationJson::of).collect(),
        errors: NamedValues(v.channels.iter().map(|d| (d.name.clone(), d.error)).collect()),
    })
}

#[derive(Serialize)]
struct VerificationJson<'a> {
    against: &'a str,
    steps: &'a [usize],
    converges: bool,
    agreement: &'static str,
    agrees_until: Option<f64>,
    factor: Option<f64>,
    observed_order: Option<f64>,
    worst: Option<DeviationJson<'a>>,
    by_unit: Vec<DeviationJson<'a>>,
    errors: NamedValues<f64>,
}

#[derive(Serialize)]
struct DeviationJson<'a> {
    channel: &'a str,
    unit: &'a str,
    error: f64,
    at: f64,
    relative: f64,
}

impl<'a> DeviationJson<'a> {
    fn of(d: &'a Deviation) -> DeviationJson<'a> {
        DeviationJson { channel: &d.name, unit: d.unit, error: d.error, at: d.t, relative: d.relative() }
    }
}

/// Modes as `--json` prints them and `modes.json` holds them; `about` tells in words what they are modes about.
pub fn modes(modes: &Modes, model: &str, about: &str) -> Value {
    let (freedoms, velocity_freedoms, states) = modes.linearization.counts;
    value(&ModesJson {
        model,
        about,
        freedoms,
        velocity_freedoms,
        states,
        stable: !modes.modes.iter().any(Mode::grows),
        modes: modes.modes.iter().zip(&modes.shapes).map(|(m, shape)| ModeJson::of(m, shape, modes)).collect(),
    })
}

#[derive(Serialize)]
struct ModesJson<'a> {
    model: &'a str,
    about: &'a str,
    freedoms: usize,
    velocity_freedoms: usize,
    states: usize,
    stable: bool,
    modes: Vec<ModeJson>,
}

#[derive(Serialize)]
struct ModeJson {
    eigenvalue: [f64; 2],
    frequency: f64,
    undamped_frequency: f64,
    damping_ratio: f64,
    rigid: bool,
    grows: bool,
    /// Real and imaginary part of each component.
    shape: NamedValues<(f64, f64)>,
}

impl ModeJson {
    fn of(m: &Mode, shape: &[(f64, f64)], all: &Modes) -> ModeJson {
        ModeJson {
            eigenvalue: [m.eigenvalue.0, m.eigenvalue.1],
            frequency: m.frequency(),
            undamped_frequency: m.undamped_frequency(),
            damping_ratio: m.damping(),
            rigid: m.rigid,
            grows: m.grows(),
            shape: NamedValues(all.components.iter().zip(shape).map(|((name, _), x)| (name.clone(), *x)).collect()),
        }
    }
}

/// Inverse dynamics.
pub fn inverse(found: &Inverse) -> Map<String, Value> {
    let ended = found.ended();
    entries(&InverseJson {
        model: &found.model,
        status: ended.word(),
        from: found.span.0,
        until: found.span.1,
        samples: found.samples,
        redundant_equations: found.assembly.redundant,
        left_out: &found.left_out,
        drives: found.demands.iter().map(DemandJson::of).collect(),
        error: match ended {
            Ended::Failed(why) => Some(why),
            _ => None,
        },
    })
}

#[derive(Serialize)]
struct InverseJson<'a> {
    model: &'a str,
    status: &'static str,
    from: f64,
    until: f64,
    samples: usize,
    redundant_equations: usize,
    left_out: &'a [String],
    drives: Vec<DemandJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct DemandJson<'a> {
    effort: &'a str,
    unit: &'static str,
    peak: f64,
    peak_time: f64,
    rms: f64,
    peak_power: f64,
    peak_power_time: f64,
    peak_braking: f64,
    peak_braking_time: f64,
    work: f64,
}

impl<'a> DemandJson<'a> {
    fn of(d: &'a Demand) -> DemandJson<'a> {
        let ((peak, peak_time), (peak_power, peak_power_time)) = (d.peak, d.peak_power);
        let (peak_braking, peak_braking_time) = d.peak_braking;
        DemandJson {
            effort: &d.name,
            unit: d.unit,
            peak,
            peak_time,
            rms: d.rms,
            peak_power,
            peak_power_time,
            peak_braking,
            peak_braking_time,
            work: d.work,
        }
    }
}
