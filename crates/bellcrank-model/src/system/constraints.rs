//! The equations of joints in the coordinates of bodies: G, its products, and the derivatives of both.

use super::derivatives::At;
use super::*;
use bellcrank_math::Vec3;

/// Bodies of so few coordinates need no room for many.
pub(super) const FEW: usize = 6;

/// The most coordinates of a body with a constraint within it.
const INTERNAL_WIDTH: usize = 6;

/// (G u)_q of one constraint at the level of frames: the rows of G, and how they bend along u.
pub(super) struct Drift {
    rows: [Row; MAX_ROWS],
    bend: [Row; MAX_ROWS],
}

impl System {
    /// The rows of a joint at the level of frames.
    pub(super) fn rows_of(&self, c: &Constraint, at: &Frames) -> [Row; MAX_ROWS] {
        let mut rows = [Row::default(); MAX_ROWS];
        let mut first = 0;
        for e in &c.equations {
            e.jacobian(at, &mut rows[first..first + e.rows()]);
            first += e.rows();
        }
        rows
    }

    /// G of one constraint, by way of frames.
    pub(super) fn realize_constraint(&self, c: &Constraint, at: &Point, w: &Realized, out: &mut tables::RealizedRows) {
        if c.equations.is_empty() {
            let range = self.layout.bodies[c.ends[0].body as usize].clone();
            let block = out.block(c.ends[0].jacobian, range.len());
            block.fill(0.0);
            each!(&self.bodies[c.ends[0].body as usize], body => body.internal_gradient(&at.q[range], 1.0, block));
            return;
        }
        let frames = self.frames(&c.ends, w, None);
        let at = Frames { t: at.t, ends: &frames[..c.ends.len()], near: Self::near(c.angle, w) };
        let rows = self.rows_of(c, &at);
        for (k, end) in c.ends.iter().enumerate() {
            if end.body == GROUND {
                continue;
            }
            let b = end.body as usize;
            let width = self.width(end.body);
            let block = out.block(end.jacobian, c.rows * width);
            block.fill(0.0);
            for (row, out) in rows.iter().zip(block.chunks_exact_mut(width)) {
                each!(&self.bodies[b], body => body.pull(&w.bodies[b], &end.on, row[k], 1.0, out));
            }
        }
    }

    /// (G u)_q at fixed u, at the level of frames.
    pub(super) fn drift(&self, c: &Constraint, at: &Point, w: &Realized, u: &[f64]) -> Drift {
        if let [Some(Plain::Coincide(d)), None, ..] = c.plain {
            // p₂ − p₁: rows ∓1, which nothing bends
            let mut rows = [Row::default(); MAX_ROWS];
            for (i, row) in rows[..d].iter_mut().enumerate() {
                (row[0].lin[i], row[1].lin[i]) = (-1.0, 1.0);
            }
            return Drift { rows, bend: [Row::default(); MAX_ROWS] };
        }
        let frames = self.frames(&c.ends, w, Some(u));
        let at = Frames { t: at.t, ends: &frames[..c.ends.len()], near: Self::near(c.angle, w) };
        let rows = self.rows_of(c, &at);
        let mut bend = [Row::default(); MAX_ROWS];
        if !c.straight {
            let mut k = Stiffness::default();
            let mut first = 0;
            for e in &c.equations {
                for r in 0..e.rows() {
                    let mut unit = [0.0; MAX_ROWS];
                    unit[r] = 1.0;
                    k.clear();
                    e.stiffness(&at, &unit[..e.rows()], &mut k);
                    bend[first + r] = k.contract(at.ends);
                }
                first += e.rows();
            }
        }
        Drift { rows, bend }
    }

    /// out += f (G u)_q, row `r` on the coordinates of end `k`.
    pub(super) fn add_drift(
        &self,
        f: f64,
        c: &Constraint,
        drift: &Drift,
        (r, k): (usize, usize),
        u: &[f64],
        w: &Realized,
        out: &mut [f64],
    ) {
        let b = c.ends[k].body as usize;
        let (u, frame, on) = (&u[self.layout.bodies[b].clone()], &w.bodies[b], &c.ends[k].on);
        if c.equations.is_empty() {
            let mut block = [0.0; INTERNAL_WIDTH * INTERNAL_WIDTH];
            each!(&self.bodies[b], body => body.internal_stiffness(f, &mut block[..u.len() * u.len()]));
            for (u, row) in u.iter().zip(block.chunks_exact(u.len())) {
                out.iter_mut().zip(row).for_each(|(o, k)| *o += u * k);
            }
            return;
        }
        each!(&self.bodies[b], body => {
            body.twist_stiffness(frame, on, u, drift.rows[r][k], f, out);
            if !c.straight {
                body.pull(frame, on, drift.bend[r][k], f, out);
            }
        });
    }

    /// The blocks of (Gᵀλ)_q of one constraint, in the order of its pairs of ends.
    pub(super) fn add_multiplier_stiffness(
        &self,
        c: f64,
        constraint: &Constraint,
        lambda: &[f64],
        at: &At,
        mut emit: impl FnMut(usize, &mut dyn FnMut(&mut [f64])),
    ) {
        let w = at.w;
        if constraint.equations.is_empty() {
            let b = constraint.ends[0].body as usize;
            emit(b, &mut |out| each!(&self.bodies[b], body => body.internal_stiffness(c * lambda[0], out)));
            return;
        }
        let ends = &constraint.ends;
        if let [Some(Plain::Coincide(d)), None, ..] = constraint.plain {
            let mut pull = Vec3::ZERO;
            pull.0[..d].copy_from_slice(&lambda[..d]);
            for (i, _) in constraint.bent_pairs() {
                let (b, load) = (ends[i].body as usize, Covector::new(if i == 0 { -pull } else { pull }, Vec3::ZERO));
                emit(
                    b,
                    &mut |out| each!(&self.bodies[b], body => body.load_stiffness(&w.bodies[b], &ends[i].on, load, c, out)),
                );
            }
            return;
        }
        let frames = self.frames(ends, w, None);
        let at = Frames { t: at.point.t, ends: &frames[..ends.len()], near: Self::near(constraint.angle, w) };
        let rows = self.rows_of(constraint, &at);
        let mut k = Stiffness::default();
        let mut first = 0;
        for e in &constraint.equations {
            e.stiffness(&at, &lambda[first..first + e.rows()], &mut k);
            first += e.rows();
        }
        for (i, j) in constraint.bent_pairs() {
            let b = ends[i].body as usize;
            emit(b, &mut |out| {
                self.add_pair(c, ends, (i, j), &k, None, w, out);
                if i == j {
                    let mut load = Covector::default();
                    for (row, l) in rows.iter().zip(lambda) {
                        load.lin += row[i].lin * *l;
                        load.ang += row[i].ang * *l;
                    }
                    each!(&self.bodies[b], body => body.load_stiffness(&w.bodies[b], &ends[i].on, load, c, out));
                }
            });
        }
    }

    /// out += c Bᵢᵀ(K Bⱼ + D ∂(Bⱼ v)/∂q).
    pub(super) fn add_pair(
        &self,
        c: f64,
        ends: &[SystemEnd],
        (i, j): (usize, usize),
        k: &Stiffness,
        d: Option<(&Stiffness, &[f64])>,
        w: &Realized,
        out: &mut [f64],
    ) {
        let d = d.filter(|(d, _)| d.has(i, j));
        if !k.has(i, j) && d.is_none() {
            return;
        }
        match self.width(ends[i].body).max(self.width(ends[j].body)) {
            ..=FEW => self.add_pair_within::<FEW>(c, ends, (i, j), k, d, w, out),
            _ => self.add_pair_within::<MAX_WIDTH>(c, ends, (i, j), k, d, w, out),
        }
    }

    /// The same for bodies of at most `MOST` coordinates.
    fn add_pair_within<const MOST: usize>(
        &self,
        c: f64,
        ends: &[SystemEnd],
        (i, j): (usize, usize),
        k: &Stiffness,
        d: Option<(&Stiffness, &[f64])>,
        w: &Realized,
        out: &mut [f64],
    ) {
        let (bi, bj) = (ends[i].body as usize, ends[j].body as usize);
        let range = self.layout.bodies[bj].clone();
        let width = range.len();
        let loads = each!(&self.bodies[bi], body => body.loads());
        let mut rows = [[0.0; MOST]; 6];
        each!(&self.bodies[bj], body => for &r in loads {
            let row = &mut rows[r][..width];
            if let Some(form) = k.row(i, j, r) {
                body.pull(&w.bodies[bj], &ends[j].on, form, 1.0, row);
            }
            if let Some((d, v)) = d && let Some(form) = d.row(i, j, r) {
                body.twist_stiffness(&w.bodies[bj], &ends[j].on, &v[range.clone()], form, 1.0, row);
            }
        });
        let height = self.layout.bodies[bi].len();
        each!(&self.bodies[bi], body => for col in 0..width {
            let column = |from: usize| Vec3([rows[from][col], rows[from + 1][col], rows[from + 2][col]]);
            let mut pulled = [0.0; MOST];
            body.pull(&w.bodies[bi], &ends[i].on, Covector::new(column(0), column(3)), c, &mut pulled[..height]);
            (0..height).for_each(|row| out[row * width + col] += pulled[row]);
        });
    }

    /// out += c (G v + g_t) for one constraint.
    pub(super) fn add_velocity(&self, c: f64, number: usize, at: &Point, w: &Realized, out: &mut [f64]) {
        self.add_times(c, number, &at.v, w, out);
        self.add_time(c, &self.constraints[number], at.t, &at.charts.inputs, 1, out);
    }

    /// out += c ∂g/∂t (`derivative` = 1) or c ∂²g/∂t² (2).
    pub(super) fn add_time(
        &self,
        c: f64,
        constraint: &Constraint,
        t: f64,
        inputs: &[f64],
        derivative: usize,
        out: &mut [f64],
    ) {
        let mut first = 0;
        for e in constraint.equations.iter().filter(|_| constraint.rheonomic) {
            let (mut g_t, mut g_tt) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            e.time(t, inputs, &mut g_t, &mut g_tt);
            let g = if derivative == 1 { g_t } else { g_tt };
            out[first..first + e.rows()].iter_mut().zip(g).for_each(|(o, g)| *o += c * g);
            first += e.rows();
        }
    }
}
