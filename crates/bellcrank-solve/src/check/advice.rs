//! Which joints to change so that nothing is redundant.

use super::redundancy::{RowsAtPoint, count};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::joints::equations::{Equation, coincide, hold, perpendicular};
use bellcrank_model::joints::{Joint, Motion, X, Y, Z};
use bellcrank_model::model::{Model, Space};
use bellcrank_model::{Dynamics, Point, System};
use std::sync::Arc;

/// A joint that holds less than the one it replaces.
struct Weaker(fn() -> Vec<Box<dyn Equation>>);

impl Joint for Weaker {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        (self.0)()
    }
}

type Kinds = &'static [(&'static str, fn() -> Vec<Box<dyn Equation>>)];

/// What a joint of some kind may be replaced by: the usual ones, and then others.
fn weaker(kind: &str, space: Space) -> [Kinds; 2] {
    fn coaxial() -> Vec<Box<dyn Equation>> {
        vec![hold(Motion::Translate(X)), hold(Motion::Translate(Y)), perpendicular(X, Z), perpendicular(Y, Z)]
    }
    fn bead() -> Vec<Box<dyn Equation>> {
        vec![hold(Motion::Translate(X)), hold(Motion::Translate(Y))]
    }
    fn ball() -> Vec<Box<dyn Equation>> {
        vec![coincide(3)]
    }
    fn hinge() -> Vec<Box<dyn Equation>> {
        vec![coincide(3), perpendicular(X, Z), perpendicular(Y, Z)]
    }
    const BEAD: Kinds = &[("point-on-line", bead)];
    match (space, kind) {
        (Space::Space, "revolute") => [&[("spherical", ball), ("cylindrical", coaxial)], BEAD],
        (Space::Space, "prismatic") => [&[("cylindrical", coaxial)], BEAD],
        (Space::Space, "fixed") => [&[("spherical", ball), ("revolute", hinge)], &[]],
        (Space::Space, "universal" | "constant-velocity") => [&[("spherical", ball)], &[]],
        (Space::Space, "cylindrical" | "spherical") => [&[], BEAD],
        (Space::Space, "planar") => [&[("point-on-plane", || vec![hold(Motion::Translate(Z))])], &[]],
        (Space::Plane, "fixed") => [&[("revolute", || vec![coincide(2)])], &[]],
        (Space::Plane, "prismatic") => [&[("point-on-line", || vec![hold(Motion::Translate(Y))])], &[]],
        (Space::Plane, "revolute") => [&[], &[("point-on-line", || vec![hold(Motion::Translate(Y))])]],
        _ => [&[], &[]],
    }
}

/// The redundant equations of a changed model in the same pose, if it has no more freedom than before.
fn redundancy_of(model: Model, at: &Point, freedom: usize) -> Option<usize> {
    let system = model.compile();
    let mut w = system.workspace();
    let mut state = system.initial_state();
    (state.t, state.q) = (at.t, at.q.clone());
    state.charts.centres.clone_from(&at.charts.centres);
    system.settle(&mut state, &mut w);
    let point = Point::at(&state, system.layout());
    let dynamics: Arc<dyn Dynamics> = Arc::new(system);
    let (d, redundant) = count(&dynamics, &point, &mut w)?;
    (d == freedom).then_some(redundant)
}

/// So many joints are tried in every order, more of them one by one.
const TRIED_IN_EVERY_ORDER: usize = 40;
/// So many coordinates times joints are tried.
const MOST_TRIALS: usize = 100_000;

/// Which joints to change to which kind, so that no equation is redundant; or why that was not looked for.
pub(super) fn advice(system: &System, at: &Point, usual: &RowsAtPoint) -> Result<Vec<String>, String> {
    let joint_of = |k: usize| system.constraints()[k].joint;
    let mut suspects: Vec<usize> = Vec::new();
    let mut seen = vec![false; system.model.joints.len()];
    let blocks = usual.dependent.iter().rev().map(|r| system.layout().constraints.partition_point(|b| b.end <= *r));
    let involved = blocks.chain(usual.support.iter().copied());
    involved.filter_map(joint_of).for_each(|joint| {
        if !std::mem::replace(&mut seen[joint], true) {
            suspects.push(joint);
        }
    });
    let redundant = usual.dependent.len();
    let n = system.layout().n();
    if suspects.len() * n > MOST_TRIALS {
        let among = format!("of a model with {n} coordinates");
        return Err(match suspects.len() {
            many if many > TRIED_IN_EVERY_ORDER => format!("{many} joints take part, too many to try"),
            few => format!("{few} joints take part, {among}, too large to try; check a model of that part alone"),
        });
    }
    if suspects.len() > TRIED_IN_EVERY_ORDER {
        return weaken_one_by_one(system, at, usual.freedom, redundant, &suspects)
            .ok_or("weaker joints, tried one by one, leave redundant equations".into());
    }
    let weakened = weaken(system, at, usual.freedom, redundant, &suspects);
    let found = weakened.or_else(|| leave_out(system, at, usual.freedom, redundant, &suspects));
    found.ok_or("no weaker joint, and no joint less, would do".into())
}

/// Other joints stand on the ends of those that change, and start values on their motions.
fn without_start(system: &System) -> Model {
    let mut model = system.model.clone();
    model.start.clear();
    model
}

/// The model with one joint of the kinds offered instead, with the fewest redundant equations.
fn best_change(model: &Model, joint: usize, offers: Kinds, at: &Point, freedom: usize) -> Option<(usize, Model)> {
    let tried = offers.iter().filter_map(|(kind, equations)| {
        let mut changed = model.clone();
        changed.joints[joint].joint = Arc::new(Weaker(*equations));
        changed.joints[joint].kind = kind;
        Some((redundancy_of(changed.clone(), at, freedom)?, changed))
    });
    // the first of the best
    tried.fold(None, |best, next| match best {
        Some((r, _)) if r <= next.0 => best,
        _ => Some(next),
    })
}

fn told(model: &Model, system: &System) -> Vec<String> {
    let kinds = model.joints.iter().zip(&system.model.joints).filter(|(new, old)| new.kind != old.kind);
    kinds.map(|(new, _)| format!("make joint `{}` {}", new.name, new.kind)).collect()
}

/// Weakens the joint that helps most, time and again.
fn weaken(system: &System, at: &Point, freedom: usize, mut left: usize, suspects: &[usize]) -> Option<Vec<String>> {
    let mut model = without_start(system);
    for step in [0, 1] {
        while left > 0 {
            let mut best: Option<(usize, Model)> = None;
            for &j in suspects {
                let offers = weaker(model.joints[j].kind, model.space)[step];
                if let Some(found) = best_change(&model, j, offers, at, freedom)
                    && best.as_ref().map_or(left, |b| b.0) > found.0
                {
                    best = Some(found);
                }
            }
            let Some(better) = best else { break };
            (left, model) = better;
        }
    }
    (left == 0).then(|| told(&model, system))
}

/// Weakens one joint after the other.
fn weaken_one_by_one(
    system: &System,
    at: &Point,
    freedom: usize,
    mut left: usize,
    suspects: &[usize],
) -> Option<Vec<String>> {
    let mut model = without_start(system);
    for &j in suspects {
        if left == 0 {
            break;
        }
        for offers in weaker(model.joints[j].kind, model.space) {
            if let Some(found) = best_change(&model, j, offers, at, freedom)
                && found.0 < left
            {
                (left, model) = found;
                break;
            }
        }
    }
    (left == 0).then(|| told(&model, system))
}

/// Weaker joints do not do it: fewer may.
fn leave_out(system: &System, at: &Point, freedom: usize, mut left: usize, suspects: &[usize]) -> Option<Vec<String>> {
    let mut model = without_start(system);
    let mut out = Vec::new();
    while left > 0 {
        let (r, changed, words) = suspects.iter().find_map(|&j| {
            let mut changed = model.clone();
            changed.joints[j].joint = Arc::new(Weaker(Vec::new));
            let r = redundancy_of(changed.clone(), at, freedom)?;
            (r < left).then(|| (r, changed, format!("leave out joint `{}`", model.joints[j].name)))
        })?;
        (left, model) = (r, changed);
        out.push(words);
    }
    Some(out)
}
