//! Back through events: the map from the state before them to the one behind, by tight runs along all admissible directions.

use super::super::moves::Crossing;
use super::super::neighbours::SIGNS;
use super::super::tangent::{APART, Tangent, add};
use super::super::{SensitivityError, unsolved};
use super::equations::Equations;
use super::families::Siblings;
use super::{Back, refused};
use crate::analyses::begin;
use crate::run::Simulation;
use bellcrank_model::State;
use std::sync::Arc;

/// What is left of a direction that others span already, or not.
const NEW: f64 = 1e-6;

/// How a way through events ends.
struct CrossedEnd {
    /// The derivative of the state.
    state: Tangent,
    /// Those of ∫ u dt and ∫ u² dt/2 of the outputs on the way.
    integrals: Vec<[f64; 2]>,
}

impl Back<'_> {
    /// Back from behind events to the state before them.
    pub(super) fn cross(&mut self, crossing: &Crossing) -> Result<(), SensitivityError> {
        let from = &crossing.from;
        self.stand(from)?;
        let dynamics = self.seen.run.equations().clone();
        let mut equations = Equations::new(&dynamics, from);
        equations.stand(from).map_err(|e| unsolved(from.t, e))?;
        let none = self.none(from);
        let behind = std::mem::replace(&mut self.ahead[0], none);
        self.ahead.truncate(1);
        let mut beside = match self.beside.take() {
            Some(runs) => runs,
            None => {
                let made = || begin::simulation(self.system, super::super::neighbours::tight(&self.options));
                [made()?, made()?]
            }
        };
        let width = APART * dynamics.length().min(1.0);
        for direction in basis(&mut equations, from)? {
            let ends = self.through(beside.each_mut(), crossing, &direction, width, None)?;
            for (m, behind) in behind.iter().enumerate() {
                let along = behind.dot(&ends.state) + self.of_integrals(m, &ends);
                let to = &mut self.ahead[0][m];
                add(along, &direction.q, &mut to.q);
                add(along, &direction.v, &mut to.v);
                add(along, &direction.z, &mut to.z);
            }
        }
        self.beside = Some(beside);
        let mut families = std::mem::take(&mut self.families);
        // through events each parameter goes alone
        for Siblings { pair, members } in &mut families {
            let mut own = self.none(from).swap_remove(0);
            let of = std::slice::from_mut(pair);
            let mut route = super::OneStep::new(&dynamics, from);
            route.project(from, of, std::slice::from_mut(&mut own)).map_err(|e| unsolved(from.t, e))?;
            let runs = pair.far.each_mut().map(|side| &mut side.run);
            let ends = self.through(runs, crossing, &own, pair.reach, Some(&pair.name))?;
            pair.far.iter_mut().try_for_each(|side| side.restart(from))?;
            for (m, behind) in behind.iter().enumerate() {
                let change = behind.dot(&ends.state) + self.of_integrals(m, &ends);
                self.gradients[m][members[0].number] += change - self.ahead[0][m].dot(&own);
            }
        }
        self.families = families;
        Ok(())
    }

    /// What integrals on the way give to a measure.
    fn of_integrals(&self, measure: usize, ends: &CrossedEnd) -> f64 {
        let [sum, squares] = ends.integrals[self.places[measure]];
        let [by_sum, by_squares] = self.functionals[measure].through;
        by_sum * sum + by_squares * squares
    }

    /// The derivative along a direction of what is behind events; of neighbours, by their parameter too.
    fn through(
        &self,
        mut runs: [&mut Simulation; 2],
        crossing: &Crossing,
        direction: &Tangent,
        width: f64,
        parameter: Option<&str>,
    ) -> Result<CrossedEnd, SensitivityError> {
        let mut integrals = vec![[0.0; 2]; self.of_model.len()];
        for (run, sign) in runs.iter_mut().zip(SIGNS) {
            run.restart(&crossing.from)?;
            let moved = direction.moved(&**run.equations(), sign * width, &crossing.from);
            run.restart(&moved)?;
            let (events, then) = (run.events().len(), run.output_integrals());
            run.advance_to(crossing.to.t)?;
            let met = run.events()[events..].iter().map(|e| e.name.as_str());
            if !met.eq(crossing.events.iter().map(String::as_str))
                || run.state().charts.modes != crossing.to.charts.modes
            {
                return Err(not_the_same(crossing, parameter));
            }
            let now = run.output_integrals();
            for (to, place) in integrals.iter_mut().zip(&self.of_model) {
                let at = |from: &[[f64; 2]]| from.get(*place).copied().unwrap_or_default();
                let ([sum, squares], [sum0, squares0]) = (at(&now), at(&then));
                to[0] += sign / (2.0 * width) * (sum - sum0);
                // u u_p is half the derivative of u²
                to[1] += sign / (4.0 * width) * (squares - squares0);
            }
        }
        let dynamics = Arc::clone(runs[0].equations());
        let state = Tangent::between(&*dynamics, runs[0].state(), runs[1].state(), 2.0 * width);
        Ok(CrossedEnd { state, integrals })
    }
}

fn not_the_same(crossing: &Crossing, parameter: Option<&str>) -> SensitivityError {
    let what = match crossing.events.first() {
        Some(name) => format!("the event of `{name}` before t = {:.6} s", crossing.to.t),
        None => format!("the breakpoint before t = {:.6} s", crossing.to.t),
    };
    match parameter {
        Some(name) => {
            refused(name, format!("with a little more or less the run does not meet the same events: {what}"))
        }
        None => SensitivityError::Events { what },
    }
}

/// Orthonormal directions that span what the constraints admit at a state, at which the equations stand.
fn basis(equations: &mut Equations, at: &State) -> Result<Vec<Tangent>, SensitivityError> {
    let zero = Tangent { q: vec![0.0; at.q.len()], v: vec![0.0; at.v.len()], z: vec![0.0; at.z.len()] };
    let mut found: Vec<Tangent> = Vec::new();
    let places = [at.q.len(), at.v.len(), at.z.len()];
    for (part, place) in places.into_iter().enumerate().flat_map(|(part, n)| (0..n).map(move |k| (part, k))) {
        let mut s = zero.clone();
        *super::part_of(&mut s, part, place) = 1.0;
        equations.admit(&mut s).map_err(|e| unsolved(at.t, e))?;
        let whole = s.dot(&s).sqrt();
        // twice is enough for rounding
        for other in found.iter().chain(&found) {
            super::stages::add_to(-other.dot(&s), other, &mut s);
        }
        let size = s.dot(&s).sqrt();
        if size > NEW * whole.max(1.0) {
            [&mut s.q, &mut s.v, &mut s.z].into_iter().flatten().for_each(|x| *x /= size);
            found.push(s);
        }
    }
    Ok(found)
}
