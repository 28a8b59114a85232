//! The geometry of joint coordinates: rotation charts of balls and of bodies that keep their coordinates.

use super::Relative;
use super::tree::JointStep;
use crate::bodies::{Coordinates, each};
use crate::dynamics::*;
use crate::parallel::add_scaled;
use bellcrank_math::{Quat, Vec3, rotation};

impl Geometry for Relative {
    fn retract(&self, c: f64, q: &mut [f64], delta: &[f64]) {
        for i in self.charts() {
            let (phi, delta) = (Vec3::from_slice(&q[i..i + 3]), Vec3::from_slice(&delta[i..i + 3]) * c);
            let step = rotation::inverse_tangent(phi) * delta;
            (0..3).for_each(|k| q[i + k] += step[k] - delta[k]);
        }
        add_scaled(c, delta, q);
    }

    fn rates(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        qdot.copy_from_slice(v);
        for i in self.charts() {
            let n = rotation::inverse_tangent(Vec3::from_slice(&q[i..i + 3]));
            qdot[i..i + 3].copy_from_slice(&(n * Vec3::from_slice(&v[i..i + 3])).0);
        }
    }

    fn velocities(&self, q: &[f64], qdot: &[f64], v: &mut [f64]) {
        v.copy_from_slice(qdot);
        for i in self.charts() {
            let t = rotation::tangent(Vec3::from_slice(&q[i..i + 3]));
            v[i..i + 3].copy_from_slice(&(t * Vec3::from_slice(&qdot[i..i + 3])).0);
        }
    }

    fn settle_past(&self, limit: f64, state: &mut State, w: &mut Workspace) -> bool {
        w.invalidate();
        self.count_turns(state, w);
        w.recentred.moves.clear();
        for (chart, i) in self.charts().enumerate() {
            let phi = Vec3::from_slice(&state.q[i..i + 3]);
            if phi.norm() > limit {
                let centre = &mut state.charts.centres[chart];
                *centre = centre.then(Quat::exp(phi));
                state.q[i..i + 3].fill(0.0);
                w.recentred.moves.push(ChartMove::to(i, phi));
            }
        }
        !w.recentred.moves.is_empty()
    }

    fn differ(&self, from: &State, to: &State, delta: &mut [f64]) {
        from.turn_between(to, self.charts(), delta);
    }

    fn flat(&self) -> bool {
        self.charts().next().is_none()
    }

    fn scales(&self) -> Vec<Scale> {
        let mut out = Vec::with_capacity(self.tree.n);
        for node in &self.tree.nodes {
            if node.is_cartesian && !node.is_geared() {
                each!(&self.cartesian.model.bodies[node.body].body, b => out.extend((0..b.width()).map(|i| b.scale(i))));
            }
            for step in &self.tree.steps[node.steps.clone()] {
                let scale = if let JointStep::Slide(_) = step { Scale::Length } else { Scale::Angle };
                out.extend(std::iter::repeat_n(scale, step.width()));
            }
            let body = &self.cartesian.model.bodies[node.body].body;
            each!(body, b => out.extend((0..node.flex.modes.len()).map(|i| b.scale(b.rigid_width() + i))));
        }
        out
    }

    fn length(&self) -> f64 {
        self.cartesian.length()
    }
}

impl Relative {
    /// The number of the first chart of a node.
    pub(super) fn chart_of(&self, node: usize) -> usize {
        let first = self.tree.nodes[node].columns.start;
        self.charts().take_while(|i| *i < first).count()
    }

    /// Where the coordinates of each rotation chart begin, in the order of the charts.
    pub(super) fn charts(&self) -> impl Iterator<Item = usize> + '_ {
        self.tree.nodes.iter().flat_map(|node| {
            let mut k = node.columns.start;
            let chart = each!(&self.cartesian.model.bodies[node.body].body, b => b.chart());
            let chart = chart.filter(|_| node.is_cartesian).map(|c| node.columns.start + c);
            let balls = self.tree.steps[node.steps.clone()].iter().filter_map(move |s| {
                k += s.width();
                matches!(s, JointStep::Ball(_)).then(|| k - 3)
            });
            chart.into_iter().chain(balls)
        })
    }
}
