//! What the second derivatives of constraints have beside G v̇: the bias of acceleration rows.

use super::constraints::FEW;
use super::tables::{Hinge, PLAIN};
use super::*;
use bellcrank_math::Vec3;

impl System {
    /// out += c (g̈ − G v̇) of one constraint.
    pub(super) fn add_bias_of(&self, c: f64, k: usize, at: &Point, w: &Realized, out: &mut [f64]) {
        let constraint = &self.constraints[k];
        if constraint.plainly_biased {
            let bias = self.plain_bias(constraint, at, w);
            return out.iter_mut().zip(bias).for_each(|(o, b)| *o += c * b);
        }
        self.add_time(c, constraint, at.t, &at.charts.inputs, 2, out);
        let drift = self.drift(constraint, at, w, &at.v);
        for (r, o) in out.iter_mut().enumerate() {
            for (k, end) in constraint.ends.iter().enumerate().filter(|(_, e)| e.body != GROUND) {
                let v = &at.v[self.layout.bodies[end.body as usize].clone()];
                let along = |row: &mut [f64]| {
                    self.add_drift(1.0, constraint, &drift, (r, k), &at.v, w, row);
                    row.iter().zip(v).map(|(d, v)| d * v).sum::<f64>()
                };
                *o += c * match v.len() {
                    n @ ..=FEW => along(&mut [0.0; FEW][..n]),
                    n => along(&mut [0.0; MAX_WIDTH][..n]),
                };
            }
        }
    }

    /// What the second derivative of plain equations has beside G v̇: (G v)_q v.
    ///
    /// Of p₂ − p₁ that is the difference of the points' own; of d·d/2l it is (d·d̈ + ḋ·ḋ)/l; and of a·b and a·d, where axes turn with
    /// their bodies, ä·b + 2 ȧ·ḃ + a·b̈ with ä = ω × (ω × a), and the same with d.
    pub(super) fn plain_bias(&self, c: &Constraint, at: &Point, w: &Realized) -> [f64; MAX_ROWS] {
        let (mut out, mut row) = ([0.0; MAX_ROWS], 0);
        let [near, far] = [&c.ends[0], &c.ends[1]];
        for plain in c.plain.iter().flatten() {
            match *plain {
                Plain::Coincide(d) => {
                    let bias = self.point_bias(far, at, w) - self.point_bias(near, at, w);
                    out[row..row + d].copy_from_slice(&bias.0[..d]);
                    row += d;
                    continue;
                }
                Plain::Distance(length) => {
                    let d = self.point_of(far, w.bodies) - self.point_of(near, w.bodies);
                    let rate = self.twist_of(far, at, w).0 - self.twist_of(near, at, w).0;
                    let bias = self.point_bias(far, at, w) - self.point_bias(near, at, w);
                    out[row] = (d.dot(bias) + rate.dot(rate)) / length;
                }
                Plain::Perpendicular(i, j) => {
                    let (a, b) = (self.axis_of(near, i, w.bodies), self.axis_of(far, j, w.bodies));
                    let (u, v) = (self.twist_of(near, at, w).1, self.twist_of(far, at, w).1);
                    let (da, db) = (u.cross(a), v.cross(b));
                    out[row] = u.cross(da).dot(b) + 2.0 * da.dot(db) + a.dot(v.cross(db));
                }
                Plain::Along(i, _) => {
                    let (a, (p, u)) = (self.axis_of(near, i, w.bodies), self.twist_of(near, at, w));
                    let d = self.point_of(far, w.bodies) - self.point_of(near, w.bodies);
                    let bias = self.point_bias(far, at, w) - self.point_bias(near, at, w);
                    let (da, rate) = (u.cross(a), self.twist_of(far, at, w).0 - p);
                    out[row] = u.cross(da).dot(d) + 2.0 * da.dot(rate) + a.dot(bias);
                }
            }
            row += 1;
        }
        out
    }

    /// out += c (g̈ − G v̇) of all constraints: of pins and hinges from their tables.
    pub(super) fn add_bias_to(&self, c: f64, at: &Point, w: &Realized, out: &mut [f64]) {
        if !self.has_few_constraints() {
            return each_block(&self.layout.constraints, out, |k, out| self.add_bias_of(c, k, at, w, out));
        }
        for pin in &self.tables.pins {
            // G of a pin is ±(1, r × …): its column of turning holds r, and the bias is −ω² r
            let [row, next] = [pin.row as usize, pin.row as usize + 1];
            for k in 0..2 {
                let Some(range) = self.layout.bodies.get(pin.bodies[k] as usize) else { continue };
                let (omega, g) = (at.v[range.start + 2], &w.jacobian[pin.jacobian[k] as usize..][..6]);
                let c = c * omega * omega;
                out[row] -= c * g[5];
                out[next] += c * g[2];
            }
        }
        for hinge in &self.tables.hinges {
            hinge.add_bias(c, at, w, &self.layout, out);
        }
        let bars = self.tables.bars.iter().map(|bar| {
            let row = bar.row as usize;
            self.layout.constraints.partition_point(|range| range.end <= row)
        });
        for k in bars.chain(self.tables.others.iter().map(|k| *k as usize)) {
            self.add_bias_of(c, k, at, w, &mut out[self.layout.constraints[k].clone()]);
        }
    }

    /// Whether [`Self::plain_bias`] holds for a constraint: the directions of links turn in a way of their own.
    pub(super) fn is_plainly_biased(&self, plain: &[Option<Plain>; PLAIN], ends: &[SystemEnd]) -> bool {
        let turns = plain.iter().flatten().any(|p| matches!(p, Plain::Perpendicular(..) | Plain::Along(..)));
        let link = |e: &SystemEnd| e.body != GROUND && each!(&self.bodies[e.body as usize], body => body.is_link());
        plain[0].is_some() && !(turns && ends.iter().any(link))
    }

    /// ∂ṗ/∂q v of a point.
    #[inline]
    fn point_bias(&self, end: &SystemEnd, at: &Point, w: &Realized) -> Vec3 {
        match end.body {
            GROUND => Vec3::ZERO,
            b => {
                let (b, v) = (b as usize, &at.v[self.layout.bodies[b as usize].clone()]);
                each!(&self.bodies[b], body => body.point_bias(&w.bodies[b], &end.on, v))
            }
        }
    }

    /// The velocity and the angular velocity of an end.
    #[inline]
    fn twist_of(&self, end: &SystemEnd, at: &Point, w: &Realized) -> (Vec3, Vec3) {
        match end.body {
            GROUND => Default::default(),
            b => {
                let (b, v) = (b as usize, &at.v[self.layout.bodies[b as usize].clone()]);
                each!(&self.bodies[b], body => body.twist(&w.bodies[b], &end.on, v))
            }
        }
    }
}

impl Hinge {
    /// out += c (g̈ − G v̇), as [`System::plain_bias`] has it.
    #[inline]
    fn add_bias(&self, c: f64, at: &Point, w: &Realized, layout: &Layout, out: &mut [f64]) {
        let (mut turns, mut bias, mut axes) = ([Vec3::ZERO; 2], Vec3::ZERO, self.axes);
        for k in 0..2 {
            let b = self.bodies[k] as usize;
            let (Some(range), Some(frame)) = (layout.bodies.get(b), w.bodies.get(b)) else { continue };
            let omega = Vec3::from_slice(&at.v[range.start + 3..range.start + 6]);
            let own = frame.r * omega.cross(omega.cross(self.points[k]));
            bias = if k == 0 { bias - own } else { bias + own };
            turns[k] = frame.r * omega;
            axes.iter_mut().take(self.pairs as usize).for_each(|pair| pair[k] = frame.r * pair[k]);
        }
        let rows = &mut out[self.row as usize..][..3 + self.pairs as usize];
        rows.iter_mut().zip(bias.0).for_each(|(o, b)| *o += c * b);
        for (o, [a, b]) in rows[3..].iter_mut().zip(axes) {
            let (da, db) = (turns[0].cross(a), turns[1].cross(b));
            *o += c * (turns[0].cross(da).dot(b) + 2.0 * da.dot(db) + a.dot(turns[1].cross(db)));
        }
    }
}
