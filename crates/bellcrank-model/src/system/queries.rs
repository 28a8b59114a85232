//! What can be asked of a system at a realized point: joint coordinates, frames, reactions, poses.

use super::*;
use bellcrank_math::{Quat, Vec3};
use std::cell::OnceCell;

impl System {
    /// Joint coordinates: their measures, in the order of the model's joints.
    pub fn coordinates(&self) -> &[Coordinate] {
        &self.coordinates
    }

    /// The places a joint coordinate is measured between.
    pub(super) fn places(&self, c: &Coordinate) -> [SystemEnd; 2] {
        let ends = &self.model.joints[c.joint].ends;
        [place(&ends[0]), place(&ends[1])]
    }

    /// The value of a joint coordinate and its rate.
    pub fn coordinate(&self, c: &Coordinate, at: &Point, w: &Workspace) -> (f64, f64) {
        let (w, ends) = (&realized(w), &self.model.joints[c.joint].ends);
        let ends = [self.frame_at(&ends[0], w, Some(&at.v)), self.frame_at(&ends[1], w, Some(&at.v))];
        let seen = Frames { t: at.t, ends: &ends, near: &[] };
        c.motion.between().value_and_rate(&seen, |rate| {
            let (angle, before) = match c.angle {
                NO_ANGLE => (0.0, 0.0),
                k => (at.charts.angles[k as usize], at.charts.rates[k as usize]),
            };
            angle + 0.5 * (at.t - at.charts.time) * (before + rate)
        })
    }

    /// The gradient of a joint coordinate, as (body, row) for each end that is not the ground.
    pub fn coordinate_gradient(&self, c: &Coordinate, at: &Point, w: &Workspace) -> Vec<(usize, Vec<f64>)> {
        let w = &realized(w);
        let places = self.places(c);
        let ends = places.map(|e| self.frame(&e, w, None));
        let seen = Frames { t: at.t, ends: &ends, near: Self::near(c.angle, w) };
        let gradient = c.motion.gradient(&seen);
        let mut out = Vec::new();
        for (end, form) in places.iter().zip(gradient).filter(|(e, _)| e.body != GROUND) {
            let mut row = vec![0.0; self.width(end.body)];
            self.pull(end, w, form, 1.0, &mut row);
            out.push((end.body as usize, row));
        }
        out
    }

    /// A frame of a model's end with its twist under the velocities `v`.
    pub fn look(&self, end: &crate::model::End, w: &Workspace, v: &[f64]) -> Frame {
        self.frame_at(end, &realized(w), Some(v))
    }

    /// The acceleration of a point of a model's end.
    pub fn acceleration(&self, end: &crate::model::End, at: &Point, w: &Workspace) -> Vec3 {
        self.twist_rate(end, at, w).0
    }

    /// The acceleration and the angular acceleration of a frame: B v̇ + ∂(B v)/∂q v.
    pub fn twist_rate(&self, end: &crate::model::End, at: &Point, w: &Workspace) -> (Vec3, Vec3) {
        let (end, w) = (place(end), realized(w));
        if end.body == GROUND {
            return (Vec3::ZERO, Vec3::ZERO);
        }
        let b = end.body as usize;
        let (range, frame) = (self.layout.bodies[b].clone(), &w.bodies[b]);
        each!(&self.bodies[b], body => {
            let v = &at.v[range.clone()];
            let (a, alpha) = body.twist(frame, &end.on, &at.vdot[range]);
            (a + body.point_bias(frame, &end.on, v), alpha + body.turn_bias(frame, &end.on, v))
        })
    }

    /// How the twist of a frame changes with a displacement δ, the velocities being what they are: ∂(B v)/∂q δ.
    pub fn twist_change(&self, end: &crate::model::End, w: &Workspace, v: &[f64], delta: &[f64]) -> (Vec3, Vec3) {
        let (end, w) = (place(end), realized(w));
        if end.body == GROUND {
            return (Vec3::ZERO, Vec3::ZERO);
        }
        let b = end.body as usize;
        let range = self.layout.bodies[b].clone();
        // in the plane nothing moves out of it
        let plane = self.model.space == Space::Plane;
        let mut row = [0.0; MAX_WIDTH];
        let row = &mut row[..range.len()];
        each!(&self.bodies[b], body => {
            let mut along = |form: Covector| {
                row.fill(0.0);
                body.twist_stiffness(&w.bodies[b], &end.on, &v[range.clone()], form, 1.0, row);
                row.iter().zip(&delta[range.clone()]).map(|(r, d)| r * d).sum::<f64>()
            };
            let mut parts = |form: fn(Vec3) -> Covector, axes: [bool; 3]| {
                Vec3([0, 1, 2].map(|i| if axes[i] { along(form(Vec3::unit(i))) } else { 0.0 }))
            };
            (
                parts(|e| Covector::new(e, Vec3::ZERO), [true, true, !plane]),
                parts(|e| Covector::new(Vec3::ZERO, e), [!plane, !plane, true]),
            )
        })
    }

    /// The load that a joint puts on its second body, at the joint, in the world: −Gᵀλ at the frame.
    pub fn reaction(&self, joint: usize, at: &Point, w: &Workspace) -> Covector {
        let w = &realized(w);
        let mut load = Covector::default();
        for number in self.joint_blocks[joint].clone() {
            let c = &self.constraints[number];
            let lambda = &at.lambda[self.layout.constraints[number].clone()];
            if let (Some(_), [first, second]) = (&c.plain[0], &c.ends[..]) {
                let ends = OnceCell::new();
                let seen = || ends.get_or_init(|| [self.frame(first, w, None), self.frame(second, w, None)]);
                let mut row = 0;
                for equation in c.plain.iter().flatten() {
                    let of = equation.load_on_second(seen, &lambda[row..]);
                    (load.lin, load.ang) = (load.lin + of.lin, load.ang + of.ang);
                    row += equation.rows();
                }
                continue;
            }
            let frames = self.frames(&c.ends, w, None);
            let seen = Frames { t: at.t, ends: &frames[..c.ends.len()], near: Self::near(c.angle, w) };
            let rows = self.rows_of(c, &seen);
            for (row, l) in rows.iter().zip(lambda) {
                load.lin -= row[1].lin * *l;
                load.ang -= row[1].ang * *l;
            }
        }
        load
    }

    /// Every load but weights with the point it acts at, in the world: reactions −Gᵀλ and forces, on bodies and on
    /// the ground (`None`).
    pub fn loads(&self, at: &Point, w: &Workspace, see: &mut dyn FnMut(Option<usize>, Vec3, Covector)) {
        let w = &realized(w);
        let body = |end: &SystemEnd| (end.body != GROUND).then_some(end.body as usize);
        for (c, range) in self.constraints.iter().zip(&self.layout.constraints) {
            if c.equations.is_empty() {
                continue; // within a body
            }
            let frames = self.frames(&c.ends, w, None);
            let rows =
                self.rows_of(c, &Frames { t: at.t, ends: &frames[..c.ends.len()], near: Self::near(c.angle, w) });
            for (k, end) in c.ends.iter().enumerate() {
                let mut load = Covector::default();
                for (row, l) in rows.iter().zip(&at.lambda[range.clone()]) {
                    load.lin -= row[k].lin * *l;
                    load.ang -= row[k].ang * *l;
                }
                see(body(end), frames[k].p, load);
            }
        }
        for f in &self.forces {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let mut loads = [Covector::default(); MAX_ENDS];
            f.force.load(&self.seen(f, at, &frames, w), &mut loads[..f.ends.len()]);
            f.ends.iter().zip(frames).zip(loads).for_each(|((end, frame), load)| see(body(end), frame.p, load));
        }
    }

    /// The second derivative of a joint coordinate x: ∂x/∂(displacement) · (rates of the twists) + the drift of ẋ. `room` is
    /// written over.
    pub fn coordinate_acceleration(&self, c: &Coordinate, at: &Point, w: &Workspace, room: &mut Stiffness) -> f64 {
        let ends = self.places(c).map(|e| self.frame(&e, &realized(w), Some(&at.v)));
        let seen = Frames { t: at.t, ends: &ends, near: &[] };
        let gradient = c.motion.gradient(&seen);
        room.clear();
        c.motion.curvature(&seen, 1.0, room);
        let drift = room.contract(&ends);
        let rates = self.model.joints[c.joint].ends[..2].iter().map(|end| self.twist_rate(end, at, w));
        let of_end = |(k, (a, alpha)): (usize, (Vec3, Vec3))| {
            gradient[k].lin.dot(a) + gradient[k].ang.dot(alpha) + drift[k].on(&ends[k])
        };
        rates.enumerate().map(of_end).sum()
    }

    /// What a force tells of itself, and the same as [`System::load_of_force`]: with one look at its frames.
    pub(super) fn force_seen(&self, force: usize, at: &Point, w: &Workspace, out: &mut [f64]) -> (Covector, f64) {
        self.with_force(force, at, w, |f, seen| {
            f.force.observe(seen, out);
            self.load_seen(f, seen, at, w)
        })
    }

    /// A force as it stands at a realized point.
    pub(super) fn with_force<T>(
        &self,
        force: usize,
        at: &Point,
        w: &Workspace,
        look: impl FnOnce(&PlacedForce, &crate::forces::Seen) -> T,
    ) -> T {
        let (f, w) = (&self.forces[force], realized(w));
        let frames = self.frames(&f.ends, &w, Some(&at.v));
        look(f, &self.seen(f, at, &frames, &w))
    }

    /// The load that a force puts on its last end, with what it holds by equations, and the power that it does on all
    /// bodies.
    pub fn load_of_force(&self, force: usize, at: &Point, w: &Workspace) -> (Covector, f64) {
        self.with_force(force, at, w, |f, seen| self.load_seen(f, seen, at, w))
    }

    fn load_seen(&self, f: &PlacedForce, seen: &crate::forces::Seen, at: &Point, w: &Workspace) -> (Covector, f64) {
        let mut loads = [Covector::default(); MAX_ENDS];
        f.force.load(seen, &mut loads[..f.ends.len()]);
        let w = realized(w);
        let holds = f.held.as_ref().filter(|(mode, _)| *mode == seen.mode);
        for number in holds.map_or(0..0, |(_, blocks)| blocks.clone()) {
            let c = &self.constraints[number];
            let rows = self.rows_of(c, &Frames { t: at.t, ends: seen.ends, near: Self::near(c.angle, &w) });
            for (row, l) in rows.iter().zip(&at.lambda[self.layout.constraints[number].clone()]) {
                for (load, form) in loads.iter_mut().zip(row) {
                    load.lin -= form.lin * *l;
                    load.ang -= form.ang * *l;
                }
            }
        }
        let power = loads.iter().zip(seen.ends).map(|(load, end)| load.on(end)).sum();
        (loads[f.ends.len() - 1], power)
    }

    /// ∂g/∂t of all constraint rows: the opposite of the rates that drives prescribe.
    pub fn drive_rates(&self, at: &Point) -> Vec<f64> {
        let mut out = vec![0.0; self.layout.m()];
        for (constraint, range) in self.constraints.iter().zip(&self.layout.constraints) {
            self.add_time(1.0, constraint, at.t, &at.charts.inputs, 1, &mut out[range.clone()]);
        }
        out
    }

    /// Whether the rows of a joint only turn its bodies: their multipliers are torques.
    pub fn only_turns(&self, joint: usize) -> bool {
        let state = self.initial_state();
        let mut w = self.workspace();
        self.locate(&state.q, &state.charts, &mut w.cache_mut::<SystemCache>().bodies);
        let w = realized(&w);
        self.joint_blocks[joint].clone().all(|number| {
            let c = &self.constraints[number];
            let frames = self.frames(&c.ends, &w, None);
            let seen = Frames { t: state.t, ends: &frames[..c.ends.len()], near: Self::near(c.angle, &w) };
            let rows = self.rows_of(c, &seen);
            rows[..c.rows].iter().flatten().all(|form| form.lin == Vec3::ZERO)
        })
    }

    /// The constraint blocks: first the bodies' own, then those of the joints.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// The constraint blocks of a joint: one for its holonomic equations and one for the others.
    pub fn blocks(&self, joint: usize) -> std::ops::Range<usize> {
        self.joint_blocks[joint].clone()
    }

    /// The number of the rotation chart of a body that has one.
    pub(crate) fn chart(&self, body: usize) -> usize {
        self.charts.of_body[body] as usize
    }

    /// The centre of a body's rotation chart.
    pub(crate) fn centre(&self, body: usize, charts: &Charts) -> Quat {
        charts.centres.get(self.chart(body)).copied().unwrap_or(Quat::IDENTITY)
    }

    /// The pose of a body: origin of its frame (the centre of mass) and rotation.
    pub fn pose(&self, body: usize, at: &Point) -> (Vec3, Quat) {
        let centre = self.centre(body, &at.charts);
        let mut frame = BodyFrame::default();
        let range = self.layout.bodies[body].clone();
        each!(&self.bodies[body], b => {
            b.locate(&at.q[range.clone()], centre, &mut frame);
            let p = b.point(&frame, &b.centre());
            let r = match b.chart() {
                Some(k) => centre.then(Quat::exp(Vec3::from_slice(&at.q[range.start + k..range.start + k + 3]))),
                None => Quat::from_matrix(&frame.r),
            };
            (p, r)
        })
    }
}
