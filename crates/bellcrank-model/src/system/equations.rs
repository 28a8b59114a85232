//! The pieces of the equations of motion.

use super::*;
use crate::forces::{MAX_STATES, Seen};
use crate::parallel::{MIN_BLOCKS, add_scaled, set_each_block};
use bellcrank_math::threads::team;
use bellcrank_math::{Vec3, rotation};

/// out += c x.
#[inline]
fn add(c: f64, x: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x);
}

impl System {
    /// `out += c · piece`.
    pub(super) fn add_piece(
        &self,
        c: f64,
        piece: Piece,
        at: &Point,
        w: &Realized,
        scratch: &mut Vec<f64>,
        out: &mut [f64],
    ) {
        match piece {
            Piece::GtLambda if self.has_few_constraints() => self.add_all_multipliers(c, Unknown::Lambda, at, w, out),
            Piece::GtMu if self.has_few_constraints() => self.add_all_multipliers(c, Unknown::Mu, at, w, out),
            Piece::Rate if self.flat() => add_scaled(c, &at.qdot, out),
            Piece::Rate | Piece::GtMu | Piece::GtLambda | Piece::MassAccel => {
                each_block(&self.layout.bodies, out, |b, out| self.add_to_body(b, c, piece, at, w, out))
            }
            Piece::Speed => add_scaled(c, &at.v, out),
            Piece::MinvGtMu => {
                self.projected_multipliers(at, w, scratch);
                add(c, scratch, out);
            }
            Piece::Force => {
                each_block(&self.layout.bodies, out, |b, out| self.add_to_body(b, c, piece, at, w, out));
                self.add_forces_to(c, at, w, out);
            }
            Piece::Position if !self.tables.mixed => add_scaled(c, w.gap, out),
            Piece::Position => each_block(&self.layout.constraints, out, |k, out| self.add_position(c, k, at, w, out)),
            Piece::Velocity if self.gradients.holonomic && self.has_few_constraints() => {
                self.add_velocities(c, at, w, out)
            }
            Piece::Velocity => each_block(&self.layout.rates, out, |k, out| {
                if !out.is_empty() {
                    self.add_velocity(c, k, at, w, out);
                }
            }),
            Piece::Acceleration => each_block(&self.layout.constraints, out, |k, out| {
                self.add_times(c, k, &at.vdot, w, out);
                self.add_bias_of(c, k, at, w, out);
            }),
            Piece::ZDot => add(c, &at.zdot, out),
            Piece::Flow => self.add_flow(c, at, w, out),
        }
    }

    /// `out ← Σ c · piece`. The balance of forces takes one pass over the bodies, because those of large models come
    /// from memory at every pass.
    pub(super) fn set_row_of_pieces(&self, terms: &[(f64, Piece)], at: &Point, w: &mut Workspace, out: &mut [f64]) {
        if let ([(c, Piece::Position)], false) = (terms, self.tables.mixed) {
            let gap = realized(w).gap;
            return team::fill([out], |range, [out]| {
                out.iter_mut().zip(&gap[range]).for_each(|(o, g)| *o = c * g);
            });
        }
        if !terms.iter().any(|t| t.1 == Piece::MassAccel) {
            return set_by_pieces(self, terms, at, w, out);
        }
        let factor = |piece: Piece| terms.iter().filter(|t| t.1 == piece).map(|t| t.0).sum::<f64>();
        let [mass, force, reactions] = [Piece::MassAccel, Piece::Force, Piece::GtLambda].map(factor);
        let (w, scratch) = realized_with_scratch(w);
        if self.has_few_constraints() {
            set_each_block(&self.layout.bodies, out, |b, out| self.add_own_balance(b, mass, force, at, &w, out));
            self.add_all_multipliers(reactions, Unknown::Lambda, at, &w, out);
        } else {
            set_each_block(&self.layout.bodies, out, |b, out| {
                self.add_own_balance(b, mass, force, at, &w, out);
                self.add_multipliers(b, reactions, Unknown::Lambda, &at.lambda, &w, out);
            });
        }
        for &(c, piece) in terms {
            match piece {
                Piece::MassAccel | Piece::GtLambda => {}
                Piece::Force => self.add_forces_to(c, at, &w, out),
                _ => self.add_piece(c, piece, at, &w, scratch, out),
            }
        }
    }

    /// out += m M v̇ + c f of one body, with the forces of the body itself.
    #[inline(always)]
    fn add_own_balance(&self, b: usize, mass: f64, force: f64, at: &Point, w: &Realized, out: &mut [f64]) {
        let (range, frame) = (self.layout.bodies[b].clone(), &w.bodies[b]);
        each!(&self.bodies[b], body => {
            body.add_mass_times(frame, mass, &at.vdot[range.clone()], out);
            body.add_weight(frame, self.model.gravity, force, out);
            body.add_inner(frame, force, &at.v[range], out);
        });
    }

    /// Whether there are so few constraints that threads are of no use, and one pass over all of them costs least.
    pub(super) fn has_few_constraints(&self) -> bool {
        self.constraints.len() < 2 * MIN_BLOCKS
    }

    /// `out += c · piece` for one body; of the forces only those of the body itself: weight, gyroscopic and inner ones.
    #[inline(always)]
    fn add_to_body(&self, b: usize, c: f64, piece: Piece, at: &Point, w: &Realized, out: &mut [f64]) {
        let (range, frame) = (self.layout.bodies[b].clone(), &w.bodies[b]);
        match piece {
            Piece::MassAccel => each!(&self.bodies[b], body => body.add_mass_times(frame, c, &at.vdot[range], out)),
            Piece::Force => each!(&self.bodies[b], body => {
                body.add_weight(frame, self.model.gravity, c, out);
                body.add_inner(frame, c, &at.v[range], out);
            }),
            Piece::GtLambda => self.add_multipliers(b, c, Unknown::Lambda, &at.lambda, w, out),
            Piece::GtMu => self.add_multipliers(b, c, Unknown::Mu, &at.mu, w, out),
            Piece::Rate => {
                let (q, qdot) = (&at.q[range.clone()], &at.qdot[range]);
                match each!(&self.bodies[b], body => body.chart()) {
                    None => add(c, qdot, out),
                    Some(k) => {
                        add(c, &qdot[..k], &mut out[..k]);
                        let (phi, rate) = (Vec3::from_slice(&q[k..k + 3]), Vec3::from_slice(&qdot[k..k + 3]));
                        add(c, &(rotation::tangent(phi) * rate).0, &mut out[k..k + 3]);
                        add(c, &qdot[k + 3..], &mut out[k + 3..]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds the forces of the catalog.
    fn add_forces_to(&self, c: f64, at: &Point, w: &Realized, out: &mut [f64]) {
        for f in &self.forces {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let mut loads = [Covector::default(); MAX_ENDS];
            let seen = self.seen(f, at, &frames, w);
            f.force.load(&seen, &mut loads[..f.ends.len()]);
            for (end, load) in f.ends.iter().zip(loads).filter(|(e, _)| e.body != GROUND) {
                self.pull(end, w, load, c, &mut out[self.layout.bodies[end.body as usize].clone()]);
            }
        }
    }

    /// What a force sees at a point.
    pub(super) fn seen<'a>(
        &self,
        f: &PlacedForce,
        at: &'a Point,
        frames: &'a [Frame; MAX_ENDS],
        w: &Realized<'a>,
    ) -> Seen<'a> {
        let z = self.layout.states.get(f.states as usize).map_or(&[][..], |range| &at.z[range.clone()]);
        let mode = f.slot.and_then(|slot| at.charts.modes.get(slot).copied()).unwrap_or(BY_VALUE);
        // a multiplier that holds the force in another mode says nothing about this one
        let (mut lambda, mut across) = (0.0, [0.0; 2]);
        if let Some((_, blocks)) = f.held.as_ref().filter(|(held, _)| *held == mode) {
            let rows = blocks.clone().flat_map(|k| self.layout.constraints[k].clone());
            let places = [&mut lambda].into_iter().chain(&mut across);
            places.zip(rows).for_each(|(place, row)| *place = at.lambda[row]);
        }
        let rows = |block: usize| at.lambda.get(self.layout.constraints[block].clone()).unwrap_or_default();
        let reaction = f.follows.map_or(&[][..], rows);
        let inputs = if w.signals.is_empty() { &at.charts.inputs } else { w.signals };
        let (ends, near) = (&frames[..f.ends.len()], Self::near(f.angle, w));
        Seen { t: at.t, inputs, ends, near, z, mode, lambda, across, reaction }
    }

    /// x ← M⁻¹Gᵀμ.
    pub(super) fn projected_multipliers(&self, at: &Point, w: &Realized, x: &mut Vec<f64>) {
        x.clear();
        x.resize(self.layout.n(), 0.0);
        let few = self.has_few_constraints();
        if few {
            self.add_all_multipliers(1.0, Unknown::Mu, at, w, x);
        }
        each_block(&self.layout.bodies, x, |b, x| {
            if !few {
                self.add_multipliers(b, 1.0, Unknown::Mu, &at.mu, w, x);
            }
            each!(&self.bodies[b], body => body.divide_by_mass(&w.bodies[b], x));
        });
    }

    /// out += c g of one constraint; of a nonholonomic one its velocity row.
    fn add_position(&self, c: f64, k: usize, at: &Point, w: &Realized, out: &mut [f64]) {
        let constraint = &self.constraints[k];
        if constraint.plain[0].is_some() {
            return add(c, &w.gap[self.layout.constraints[k].clone()], out);
        }
        if !constraint.holonomic {
            return self.add_velocity(c, k, at, w, out);
        }
        if constraint.equations.is_empty() {
            let b = constraint.ends[0].body as usize;
            let q = &at.q[self.layout.bodies[b].clone()];
            out[0] += c * each!(&self.bodies[b], body => body.internal_value(q));
            return;
        }
        let frames = self.frames(&constraint.ends, w, None);
        let near = Self::near(constraint.angle, w);
        let seen = Frames { t: at.t, ends: &frames[..constraint.ends.len()], near };
        let mut g = [0.0; MAX_ROWS];
        let mut first = 0;
        for e in &constraint.equations {
            e.value(&seen, &mut g[first..first + e.rows()]);
            first += e.rows();
        }
        add(c, &g[..first], out);
    }

    /// The forces with states, each with its part of z.
    pub(super) fn stateful(&self) -> impl Iterator<Item = (&PlacedForce, std::ops::Range<usize>)> {
        let forces = self.forces.iter().filter(|f| f.states != NO_STATES);
        forces.map(|f| (f, self.layout.states[f.states as usize].clone()))
    }

    /// out += c φ.
    fn add_flow(&self, c: f64, at: &Point, w: &Realized, out: &mut [f64]) {
        for (f, range) in self.stateful() {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let mut flow = [0.0; MAX_STATES];
            f.force.flow(&self.seen(f, at, &frames, w), &mut flow[..range.len()]);
            out[range].iter_mut().zip(flow).for_each(|(o, x)| *o += c * x);
        }
        self.add_flow_of_signals(c, w, out);
    }
}
