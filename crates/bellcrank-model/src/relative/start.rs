//! The start of a model on its joints: what is given moves, other joints stay as drawn and at rest.
//!
//! The equations of a start are those of any other point: given joint coordinates and loops. In the coordinates of the
//! joints a change of least size leaves alone whatever neither of them needs, which in Cartesian coordinates it does not: a
//! pendulum that hangs on an arm would keep its place rather than go along.

use super::tree::JointStep;
use super::{Relative, space};
use crate::bodies::{Body, BodyFrame, Coordinates, each};
use crate::dynamics::*;
use crate::frames::{Attachment, RIGIDLY};
use crate::model::{End, Model};
use crate::system::System;
use bellcrank_math::Quat;

impl StartRules for Relative {
    fn integrable(&self, constraint: usize) -> bool {
        self.cartesian.integrable(constraint)
    }

    fn prescribed(&self, constraint: usize) -> bool {
        self.cartesian.prescribed(constraint)
    }

    fn start(&self) -> Vec<StartRow> {
        self.cartesian.start()
    }

    fn start_row(&self, row: &StartRow, at: &Point, w: &mut Workspace) -> (f64, f64, Vec<(usize, Vec<f64>)>) {
        let t = space(w);
        self.fill(at, t);
        let (value, rate, gradient) = self.cartesian.start_row(row, &t.point, &mut t.cartesian);
        let mut y = vec![0.0; self.cartesian.layout().n()];
        for (b, form) in &gradient {
            y[self.cartesian.layout().bodies[*b].clone()].copy_from_slice(form);
        }
        let mut x = vec![0.0; self.tree.n];
        self.pull(1.0, &y, t, &mut x);
        let nodes = self.nodes_between(row, &gradient);
        let blocks = nodes.into_iter().map(|i| &self.tree.nodes[i]).filter(|n| !n.columns.is_empty());
        (value, rate, blocks.map(|n| (n.block as usize, x[n.columns.clone()].to_vec())).collect())
    }

    fn elastic(&self, i: usize) -> bool {
        self.tree.bends() && self.tree.nodes.iter().any(|n| n.flex.modes.contains(&i))
    }

    fn largest_turn(&self, delta: &[f64]) -> Option<f64> {
        let mut turned = vec![0.0; self.tree.nodes.len()];
        for (i, node) in self.tree.nodes.iter().enumerate().filter(|(_, n)| !n.is_cartesian) {
            let mut sum = turned.get(node.parent as usize).copied().unwrap_or(0.0);
            let mut k = node.columns.start;
            for step in &self.tree.steps[node.steps.clone()] {
                sum += match step {
                    JointStep::Slide(_) => 0.0,
                    _ => delta[k..k + step.width()].iter().map(|d| d * d).sum::<f64>().sqrt(),
                };
                k += step.width();
            }
            turned[i] = sum;
        }
        Some(turned.into_iter().fold(0.0, f64::max))
    }
}

impl Relative {
    /// The nodes whose coordinates a start row depends on: that of a joint of the tree alone, else those on the way from
    /// one of its bodies to the other.
    fn nodes_between(&self, row: &StartRow, gradient: &[(usize, Vec<f64>)]) -> Vec<usize> {
        if let StartGiven::Joint(k) = row.given {
            let joint = self.cartesian.coordinates()[k].joint;
            if self.tree.has_joint[joint] {
                return vec![self.tree.node_of_joint[joint] as usize];
            }
        }
        let mut nodes: Vec<usize> = Vec::new();
        for (b, _) in gradient {
            for i in self.tree.ancestors(self.tree.node_of[*b]) {
                match nodes.iter().position(|other| *other == i) {
                    Some(both) => _ = nodes.swap_remove(both),
                    None => nodes.push(i),
                }
            }
        }
        nodes.sort_unstable();
        nodes
    }
}

impl System {
    /// The machine at a point with closed joints in the coordinates of its joints. Bodies that bend are rigid in the shape
    /// they have there.
    pub(crate) fn rigid_on_joints(&self, at: &Point) -> Relative {
        if !self.model.bodies.iter().any(|b| b.body.bends()) {
            return self.relative_with_loops(at, &[]);
        }
        let twin = self.frozen_model(at).into_system();
        let state = twin.initial_state();
        let mut point = Point::at(&state, twin.layout());
        (point.t, point.z) = (at.t, at.z.clone());
        for (b, range) in twin.layout().bodies.iter().enumerate() {
            let from = self.layout().bodies[b].start..self.layout().bodies[b].start + range.len();
            point.q[range.clone()].copy_from_slice(&at.q[from.clone()]);
            point.v[range.clone()].copy_from_slice(&at.v[from]);
        }
        point.charts = at.charts.clone();
        twin.relative_with_loops(&point, &[])
    }

    /// The model with bodies that bend made rigid, in the shape they have at a point.
    fn frozen_model(&self, at: &Point) -> Model {
        let mut w = self.workspace();
        self.realize(at, &mut w);
        let mut model = self.model.clone();
        let frame = |b: usize| self.look(&End { body: Some(b), on: Attachment::CENTRE }, &w, &at.v);
        let joints = model.joints.iter_mut().flat_map(|j| &mut j.ends);
        let forces = model.forces.iter_mut().flat_map(|f| &mut f.ends);
        for end in joints.chain(forces).chain(model.probes.iter_mut().map(|p| &mut p.end)) {
            let Some(b) = end.body.filter(|b| self.model.bodies[*b].body.bends()) else { continue };
            let (here, body) = (self.look(end, &w, &at.v), frame(b));
            let (point, axes) = (body.r.transpose_times(here.p - body.p), body.r.transpose() * here.r);
            end.on = Attachment { point, axes, node: RIGIDLY };
        }
        for entry in model.bodies.iter_mut().filter(|b| b.body.bends()) {
            entry.body = Body::rigid(model.space);
        }
        model
    }

    /// Sets the poses of the bodies from those on the joints; deformations and chart centres stay.
    pub(crate) fn poses_from(&self, from: &Relative, point: &Point, to: &mut Point) {
        let mut w = from.workspace();
        let t = space(&mut w);
        from.ready(point, t);
        for (b, range) in self.layout().bodies.iter().enumerate() {
            let (i, node) = from.node(b);
            let q = &mut to.q[range.clone()];
            if node.is_cartesian {
                q.copy_from_slice(&t.point.q[from.cartesian.layout().bodies[b].clone()]);
                continue;
            }
            let rotation = Quat::from_matrix(&t.r[i]);
            each!(&self.model.bodies[b].body, body => {
                let deformation = q[body.rigid_width()..].to_vec();
                body.coordinates(t.p[i], rotation, q);
                q[body.rigid_width()..].copy_from_slice(&deformation);
                if let Some(k) = body.plane_angle() {
                    q[k] = from.angles[b] + t.turned[i];
                }
                if let Some(k) = body.chart() {
                    let centre = to.charts.centres[self.chart(b)];
                    q[k..k + 3].copy_from_slice(&centre.conjugate().then(rotation).log().0);
                }
            });
        }
        if to.charts.angles.len() == point.charts.angles.len() {
            to.charts.angles.clone_from(&point.charts.angles);
        }
    }

    /// Sets the velocities of the bodies from those on the joints; rates of deformation stay.
    pub(crate) fn velocities_from(&self, from: &Relative, point: &Point, to: &mut Point) {
        let mut w = from.workspace();
        let t = space(&mut w);
        from.fill(point, t);
        let mut frame = BodyFrame::default();
        for (b, range) in self.layout().bodies.iter().enumerate() {
            let (i, node) = from.node(b);
            let v = &mut to.v[range.clone()];
            if node.is_cartesian {
                v.copy_from_slice(&t.point.v[from.cartesian.layout().bodies[b].clone()]);
                continue;
            }
            let centre = self.centre(b, &to.charts);
            each!(&self.model.bodies[b].body, body => {
                body.locate(&to.q[range.clone()], centre, &mut frame);
                let rates = v[body.rigid_width()..].to_vec();
                body.velocities(&frame, t.twist[i].v, t.twist[i].w, v);
                v[body.rigid_width()..].copy_from_slice(&rates);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellcrank_math::Vec3;

    #[test]
    fn poses_and_velocities_go_to_the_joints_and_back() {
        let text = r#"
[body]
a = { rod = { from = [0, 0, 0], to = [1, 0.2, 0], mass = 1, radius = 0.02 }, angular_velocity = [0, 0, 2], velocity = [-0.2, 1, 0] }
b = { mass = 1, inertia = [1, 1, 1], at = [1, 1, 0.5], orientation = { axis = [0, 1, 1], angle = 0.3 } }
[joint]
p = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 0, 1] }
q = { type = "spherical", between = ["a", "b"], at = [1, 0.2, 0] }
"#;
        let system = crate::read::read_text("m.toml", text, &[]).map(|r| r.model.into_system());
        let system = system.unwrap_or_else(|e| panic!("{e}"));
        let state = system.initial_state();
        let mut point = Point::at(&state, system.layout());
        let relative = system.rigid_on_joints(&point);
        let on_joints = Point::at(&relative.initial_state(), relative.layout());
        point.v.fill(9.0);
        system.poses_from(&relative, &on_joints, &mut point);
        system.velocities_from(&relative, &on_joints, &mut point);
        let off = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(off(&point.q, &state.q) < 1e-14, "{:?}", point.q);
        // b is carried along by its joint: what it does against a is a turn of the ball
        assert!(off(&point.v[..6], &state.v[..6]) < 1e-14, "{:?}", point.v);
        assert!((Vec3::from_slice(&point.v[9..12]).norm()).abs() < 1e-14, "{:?}", point.v);
    }
}
