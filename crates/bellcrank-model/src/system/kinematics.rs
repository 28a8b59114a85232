//! Poses, frames on bodies, and the charts of rotations.

use super::*;
use crate::model::End;
use crate::parallel::{MIN_BLOCKS, add_scaled};
use bellcrank_math::threads::team;
use bellcrank_math::{Quat, Vec3, rotation};

/// to ← from, which mostly has the same size, and often none.
fn keep<T: Copy>(from: &[T], to: &mut Vec<T>) {
    if to.len() != from.len() {
        to.clear();
        to.extend_from_slice(from);
    } else if !from.is_empty() {
        to.copy_from_slice(from);
    }
}

/// What the poses, g and G in a workspace belong to, where they are kept: the equations, by their address, and all of a point that they
/// depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    of: Option<usize>,
    t: f64,
    q: Vec<f64>,
    centres: Vec<Quat>,
    inputs: Vec<f64>,
}

impl Standing {
    /// Whether they belong to these equations at this point.
    pub fn is(&self, of: &System, at: &Point) -> bool {
        let same = self.q == at.q && self.t == at.t && self.of == Some(std::ptr::from_ref(of).addr());
        same && self.centres == at.charts.centres && self.inputs == at.charts.inputs
    }

    /// They do from now on.
    pub fn come(&mut self, of: &System, at: &Point) {
        (self.of, self.t) = (Some(std::ptr::from_ref(of).addr()), at.t);
        keep(&at.q, &mut self.q);
        keep(&at.charts.centres, &mut self.centres);
        keep(&at.charts.inputs, &mut self.inputs);
    }

    /// They are about to belong to something else.
    pub fn leave(&mut self) {
        self.of = None;
    }
}

impl System {
    /// The poses of all bodies.
    pub(super) fn locate(&self, q: &[f64], charts: &Charts, bodies: &mut [BodyFrame]) {
        let mut rest = bodies;
        team::divided(
            self.bodies.len(),
            MIN_BLOCKS,
            |range| (range.clone(), team::cut(&mut rest, range.len())),
            |(range, frames)| {
                for (b, frame) in range.zip(frames) {
                    let centre = match self.charts.of_body[b] {
                        NO_CHART => Quat::IDENTITY,
                        c => charts.centres[c as usize],
                    };
                    each!(&self.bodies[b], body => body.locate(&q[self.layout.bodies[b].clone()], centre, frame));
                }
            },
        );
    }

    /// A frame at one end, with its twist under the velocities `v` (none: at rest).
    #[inline]
    pub(super) fn frame(&self, end: &SystemEnd, w: &Realized, v: Option<&[f64]>) -> Frame {
        match end.body {
            GROUND => Frame { p: end.on.point, r: end.on.axes, ..Frame::default() },
            b => self.frame_on(b as usize, &end.on, w, v),
        }
    }

    /// The same at an end of the model.
    pub(super) fn frame_at(&self, end: &End, w: &Realized, v: Option<&[f64]>) -> Frame {
        match end.body {
            None => Frame { p: end.on.point, r: end.on.axes, ..Frame::default() },
            Some(b) => self.frame_on(b, &end.on, w, v),
        }
    }

    fn frame_on(&self, b: usize, on: &Attachment, w: &Realized, v: Option<&[f64]>) -> Frame {
        let mut frame = Frame::default();
        self.set_frame(b, on, w, v, &mut frame);
        frame
    }

    /// Sets a frame that is at rest: in its place, since it is large.
    fn set_frame(&self, b: usize, on: &Attachment, w: &Realized, v: Option<&[f64]>, out: &mut Frame) {
        let frame = &w.bodies[b];
        each!(&self.bodies[b], body => {
            (out.p, out.r) = (body.point(frame, on), body.rotation(frame, on));
            if let Some(v) = v {
                (out.v, out.w) = body.twist(frame, on, &v[self.layout.bodies[b].clone()]);
            }
        })
    }

    /// The frames at all ends of an element.
    #[inline]
    pub(super) fn frames(&self, ends: &[SystemEnd], w: &Realized, v: Option<&[f64]>) -> [Frame; MAX_ENDS] {
        let mut out = [Frame::default(); MAX_ENDS];
        for (f, end) in out.iter_mut().zip(ends) {
            match end.body {
                GROUND => (f.p, f.r) = (end.on.point, end.on.axes),
                b => self.set_frame(b as usize, &end.on, w, v, f),
            }
        }
        out
    }

    /// The counted angles of an element, from its first one on.
    #[inline]
    pub(super) fn near<'a>(angle: u32, w: &Realized<'a>) -> &'a [f64] {
        if angle == NO_ANGLE { &[] } else { &w.near[angle as usize..] }
    }

    /// Adds Bᵀ(load) of one end into the forces on its body.
    #[inline]
    pub(super) fn pull(&self, end: &SystemEnd, w: &Realized, load: Covector, c: f64, out: &mut [f64]) {
        let b = end.body as usize;
        each!(&self.bodies[b], body => body.pull(&w.bodies[b], &end.on, load, c, out));
    }
}

impl Geometry for System {
    fn retract(&self, c: f64, q: &mut [f64], delta: &[f64]) {
        if self.flat() {
            return add_scaled(c, delta, q);
        }
        let add = |q: &mut [f64], d: &[f64]| q.iter_mut().zip(d).for_each(|(q, d)| *q += c * d);
        each_block(&self.layout.bodies, q, |b, q| {
            let delta = &delta[self.layout.bodies[b].clone()];
            let Some(k) = each!(&self.bodies[b], body => body.chart()) else { return add(q, delta) };
            add(&mut q[..k], &delta[..k]);
            let phi = Vec3::from_slice(&q[k..k + 3]);
            let step = rotation::inverse_tangent(phi) * (Vec3::from_slice(&delta[k..k + 3]) * c);
            q[k..k + 3].copy_from_slice(&(phi + step).0);
            add(&mut q[k + 3..], &delta[k + 3..]);
        });
    }

    fn rates(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        if self.flat() {
            return team::fill([qdot], |range, [qdot]| qdot.copy_from_slice(&v[range]));
        }
        each_block(&self.layout.bodies, qdot, |b, qdot| {
            let range = self.layout.bodies[b].clone();
            let (q, v) = (&q[range.clone()], &v[range]);
            qdot.copy_from_slice(v);
            if let Some(k) = each!(&self.bodies[b], body => body.chart()) {
                let n = rotation::inverse_tangent(Vec3::from_slice(&q[k..k + 3]));
                qdot[k..k + 3].copy_from_slice(&(n * Vec3::from_slice(&v[k..k + 3])).0);
            }
        });
    }

    fn velocities(&self, q: &[f64], qdot: &[f64], v: &mut [f64]) {
        each_block(&self.layout.bodies, v, |b, v| {
            let range = self.layout.bodies[b].clone();
            let (q, qdot) = (&q[range.clone()], &qdot[range]);
            v.copy_from_slice(qdot);
            if let Some(k) = each!(&self.bodies[b], body => body.chart()) {
                let t = rotation::tangent(Vec3::from_slice(&q[k..k + 3]));
                v[k..k + 3].copy_from_slice(&(t * Vec3::from_slice(&qdot[k..k + 3])).0);
            }
        });
    }

    fn settle_past(&self, limit: f64, state: &mut State, w: &mut Workspace) -> bool {
        w.invalidate();
        self.count_turns(state, w);
        w.recentred.moves.clear();
        for (&i, centre) in self.charts.first.iter().zip(&mut state.charts.centres) {
            let i = i as usize;
            let phi = Vec3::from_slice(&state.q[i..i + 3]);
            if phi.norm() > limit {
                let change = ChartMove::to(i, phi);
                *centre = centre.then(change.turn.conjugate());
                state.q[i..i + 3].fill(0.0);
                w.recentred.moves.push(change);
            }
        }
        !w.recentred.moves.is_empty()
    }

    fn differ(&self, from: &State, to: &State, delta: &mut [f64]) {
        from.turn_between(to, self.charts.first.iter().map(|i| *i as usize), delta);
    }

    fn flat(&self) -> bool {
        self.charts.first.is_empty()
    }

    fn scales(&self) -> Vec<Scale> {
        let scales = |b: &Body| -> Vec<Scale> { each!(b, b => (0..b.width()).map(|i| b.scale(i)).collect()) };
        self.bodies.iter().flat_map(scales).collect()
    }

    fn length(&self) -> f64 {
        self.length
    }
}
