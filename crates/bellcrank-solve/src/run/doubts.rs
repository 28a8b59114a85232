//! Why a run cannot vouch for its result.
//!
//! A run that reaches its end is not always right: joints may have come apart, energy may be missing, reactions may be one
//! choice among many. All of that is collected here, once, for people, JSON, reports and exit statuses.

use super::summary::Summary;
use crate::choices::{ErrorBudget, Options};
use crate::start::Gap;
use crate::verdict::{Bounds, Verdict};
use bellcrank_model::Place;
use bellcrank_model::dynamics::Limit;
use std::fmt;

/// A start is another one than was drawn if a joint was open by more than this, in lengths of the machine (or in rad).
const OPEN: f64 = 0.01;

/// An error that is estimated to be more than this many times the requested accuracy is told.
const BEYOND: f64 = 10.0;

/// A machine is far from the origin if it is so many of its sizes away.
const FAR: f64 = 1e3;

/// Something that a run cannot vouch for.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    /// What it is about: `accuracy`, `drift`, `energy`, `start`, `theory` or `reactions`.
    pub kind: &'static str,
    /// How grave it is, for colours and heads: numbers may be wrong, or are right for what was computed.
    pub verdict: Verdict,
    /// What was found, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

/// How far positions are from the origin, and what that leaves unknown of velocities, if it is more than the tolerance: on index 3 they
/// are differences of positions, which Newton's iteration knows to a hundred roundings.
fn blurred(summary: &Summary, options: &Options) -> Option<[f64; 2]> {
    let far = summary.state.q.iter().fold(0.0f64, |m, q| m.max(q.abs()));
    let steps = summary.statistics.steps as f64;
    let controlled = options.step.is_none() && summary.names.formulation == "index3" && steps > 0.0;
    let rate = 100.0 * f64::EPSILON * far * steps / summary.t;
    let beyond = far > FAR * summary.drift.length && rate > options.rtol * summary.drift.speed;
    (controlled && beyond).then_some([far, rate])
}

/// That the errors of steps, each within the tolerance, have become a much larger one.
fn added_up((error, times): (f64, f64), options: &Options) -> Option<Doubt> {
    let message = format!(
        "the errors of the steps have added up to about {times:.0} tolerances ({error:.1e} of the machine's size)"
    );
    let help = "`errors = run` limits the error at the end, and `verify` measures it";
    let told = options.testing.budget == ErrorBudget::Told;
    told.then_some(Doubt { kind: "accuracy", verdict: Verdict::Doubtful, message, help })
}

/// All doubts about a run, the gravest first.
pub fn of(summary: &Summary, options: &Options) -> Vec<Doubt> {
    let bounds = Bounds::of(options);
    let beyond = summary.error.filter(|e| *e > BEYOND * options.rtol).map(|e| (e, e / options.rtol));
    let mut doubts: Vec<Doubt> = beyond.and_then(|beyond| added_up(beyond, options)).into_iter().collect();
    let mut doubt = |kind, message, help| {
        let verdict = if matches!(kind, "start" | "reactions") { Verdict::Doubtful } else { Verdict::Bad };
        doubts.push(Doubt { kind, verdict, message, help });
    };
    let [position, velocity] = summary.drift.judged(bounds);
    let finer = "use a smaller tolerance or step, or another method";
    if let (ErrorBudget::Run, Some((error, times))) = (options.testing.budget, beyond) {
        let message = format!(
            "the error is estimated at {error:.1e} of the machine's size, {times:.0} times the requested accuracy"
        );
        doubt("accuracy", message, finer);
    }
    if let Some(blur) = blurred(summary, options) {
        let [far, rate] = blur;
        let message = format!(
            "positions are up to {far:.1e} m from the origin; their rounding makes velocities of index 3 uncertain by {rate:.1e} m/s, \
             more than the tolerance"
        );
        doubt("accuracy", message, "move the model to the origin, or use another formulation, such as `ggl`");
    }
    if position.verdict == Verdict::Bad {
        let (size, part) = (position.size, position.relative());
        doubt("drift", format!("joints came apart by {size:.2e} m ({part:.1e} of the machine's size)"), finer);
    }
    if velocity.verdict == Verdict::Bad {
        let (size, part) = (velocity.size, velocity.relative());
        let message = format!("velocities violate the joints by {size:.2e} m/s ({part:.1e} of the largest speed)");
        doubt("drift", message, finer);
    }
    let energy = summary.energy.judged(bounds);
    if energy.verdict == Verdict::Bad {
        let (size, part) = (energy.size, energy.relative());
        let message = format!("the energy balance is off by {size:.2e} J ({part:.1e} of the energy in motion)");
        doubt("energy", message, finer);
    }
    let length = summary.drift.length.max(f64::MIN_POSITIVE);
    // a body that moves to a given start value does as it was told
    let told = |gap: &&Gap| matches!(gap.of.place, Some(Place::Start(_)));
    let mut open = summary.assembly.gaps.iter().filter(|gap| gap.before > OPEN * length && !told(gap));
    if let Some(first) = open.next() {
        let more = match open.count() {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        let message = format!("the start is not as drawn: {} was open by {:.2e} m{more}", first.of, first.before);
        doubt("start", message, "correct the points or lengths that do not fit");
    }
    for excess in &summary.beyond {
        let help = match excess.limit {
            Limit::Deflection => "reduce the load, or divide the beam into several that are joined end to end",
            Limit::Spin => "reduce the speed, or divide the beam into several that are joined end to end",
            Limit::Turn => "use a joint for full turns, with a `torsional-spring-damper` where one is needed",
            Limit::Range => "extend the `range` or the `points` of the curve, or limit the motion with a `stop`",
            Limit::Parallel => {
                "shape or place the curves so that they always cross, or use a contact of spheres or planes there"
            }
            Limit::Wrap => "leave the pulley out where the rope is off it, or limit the motion with a `stop`",
            Limit::Depth => "use a stiffer contact, or a slower approach",
        };
        doubt("theory", excess.to_string(), help);
    }
    for (output, t) in summary.outputs.iter().filter_map(|output| Some((output, output.lost_at?))) {
        let message = format!("output `{}` changes faster than steps follow, first at t = {t:.6} s", output.name);
        doubt("accuracy", message, "its mean, rms, extremes and filter are uncertain: use a smaller `max_step`");
    }
    if !summary.not_unique.is_empty() {
        const SHOWN: usize = 6;
        let mut joints = summary.not_unique.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        if let Some(more @ 1..) = summary.not_unique.len().checked_sub(SHOWN) {
            joints += &format!(" and {more} more");
        }
        let message = format!("the reactions are not unique at {joints}; those of minimum norm are reported");
        doubt("reactions", message, "`bellcrank check` says which joints to change");
    }
    doubts
}
