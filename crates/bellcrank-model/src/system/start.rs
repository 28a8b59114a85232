//! The start of a model, as its file describes it.

use super::*;
use crate::model::End;
use crate::relative::Relative;
use crate::subject::Place;
use crate::subject::Subject;
use bellcrank_math::Vec3;

impl System {
    /// The state the model file describes: not yet assembled.
    pub fn initial_state(&self) -> State {
        let n = self.layout.n();
        let own = self.model.states.iter().map(|state| state.start);
        let z = self.forces.iter().flat_map(|f| f.force.initial()).chain(own).collect();
        let mut s = State { t: 0.0, q: vec![0.0; n], v: vec![0.0; n], z, charts: Charts::default() };
        for (b, entry) in self.model.bodies.iter().enumerate() {
            let range = self.layout.bodies[b].clone();
            let q = &mut s.q[range.clone()];
            each!(&self.bodies[b], body => body.coordinates(entry.at, entry.rotation, q));
            if let Some(k) = each!(&self.bodies[b], body => body.plane_angle()) {
                q[k] = entry.angle;
            }
            if self.charts.of_body[b] != NO_CHART {
                s.charts.centres.push(entry.rotation);
            }
            let mut frame = BodyFrame::default();
            each!(&self.bodies[b], body => {
                body.locate(&s.q[range.clone()], entry.rotation, &mut frame);
                let (v, w) = (entry.velocity.unwrap_or_default(), entry.angular_velocity.unwrap_or_default());
                body.velocities(&frame, v, w, &mut s.v[range])
            });
        }
        // in the plane the angles of the bodies count turns from the start
        let turn = |e: &End| match e.body {
            _ if self.model.space != Space::Plane => 0.0,
            None => angle_of(&e.on.axes),
            Some(b) => self.model.bodies[b].angle + angle_of(&e.on.axes),
        };
        let from_start = |a: &turns::Angle| match a.of {
            turns::Owner::Force(f) => self.forces[f as usize].force.counts_from_start(),
            turns::Owner::Joint(_) => false,
        };
        let turned = |a: &turns::Angle| {
            if from_start(a) {
                return 0.0;
            }
            let [first, second] = self.ends_of(a).map(turn);
            second - first
        };
        s.charts.angles = self.turns.angles.iter().map(turned).collect();
        s.charts.inputs = self.model.inputs.iter().map(|input| input.start).collect();
        self.count_turns(&mut s, &mut self.workspace());
        s
    }

    /// Copies the coordinates, velocities and chart of a body out of a point of another system.
    pub fn copy_body(&self, body: usize, state: &mut State, from: &System, other: usize, source: &Point) {
        let (to, range) = (self.layout.bodies[body].clone(), from.layout.bodies[other].clone());
        state.q[to.clone()].copy_from_slice(&source.q[range.clone()]);
        state.v[to].copy_from_slice(&source.v[range]);
        if let (Some(to), Some(centre)) = (
            state.charts.centres.get_mut(self.charts.of_body[body] as usize),
            source.charts.centres.get(from.charts.of_body[other] as usize),
        ) {
            *to = *centre;
        }
    }
}

impl System {
    /// A key of a body, as messages name it.
    fn key_of(&self, key: &str, body: usize) -> Subject {
        let place = Place::Body(body);
        Subject { words: format!("`{key}` of {}", self.model.subject(place)), place: Some(place) }
    }

    /// The velocity or the angular velocity of a thin rod, where one of them is given.
    fn given_by_rows(&self, body: usize) -> Vec<StartRow> {
        let entry = &self.model.bodies[body];
        let row = |given: fn(usize, usize) -> StartGiven, key: &str, axes: std::ops::Range<usize>, x: Vec3| {
            let subject = self.key_of(key, body);
            let one = |i| StartRow { given: given(body, i), value: None, rate: Some(x[i]), subject: subject.clone() };
            axes.map(one).collect()
        };
        let space = self.model.space;
        match (entry.velocity, entry.angular_velocity) {
            (Some(v), None) => row(StartGiven::Velocity, "velocity", 0..space.dimension(), v),
            (None, Some(w)) => {
                // a thin rod in space has no spin about itself
                let along = entry.rotation.matrix().column(0);
                let turn = w - along * along.dot(w);
                row(StartGiven::Spin, "angular_velocity", if space == Space::Plane { 2..3 } else { 0..3 }, turn)
            }
            _ => Vec::new(),
        }
    }
}

impl StartRules for System {
    fn start(&self) -> Vec<StartRow> {
        let mut rows: Vec<StartRow> = Vec::new();
        for s in &self.model.start {
            let mut of_joint = self.coordinates.iter().enumerate().filter(|(_, c)| c.joint == s.joint);
            let Some((coordinate, _)) = of_joint.nth(s.motion) else { continue };
            let given = StartGiven::Joint(coordinate);
            match rows.iter_mut().find(|r| r.given == given) {
                Some(row) => {
                    row.value = row.value.or(s.value);
                    row.rate = row.rate.or(s.rate);
                }
                None => rows.push(StartRow {
                    given,
                    value: s.value,
                    rate: s.rate,
                    subject: self.model.subject(Place::Start(s.joint)),
                }),
            }
        }
        rows.extend(
            (0..self.bodies.len())
                .filter(|b| self.bodies[*b].coordinates().is_link())
                .flat_map(|b| self.given_by_rows(b)),
        );
        rows
    }

    fn start_row(&self, row: &StartRow, at: &Point, w: &mut Workspace) -> (f64, f64, Vec<(usize, Vec<f64>)>) {
        let (body, form) = match row.given {
            StartGiven::Joint(k) => {
                let c = &self.coordinates[k];
                let (value, rate) = self.coordinate(c, at, w);
                let off = (value - row.value.unwrap_or(value), rate - row.rate.unwrap_or(rate));
                return (off.0, off.1, self.coordinate_gradient(c, at, w));
            }
            StartGiven::Velocity(b, i) => (b, Covector::new(Vec3::unit(i), Vec3::ZERO)),
            StartGiven::Spin(b, i) => (b, Covector::new(Vec3::ZERO, Vec3::unit(i))),
        };
        let range = self.layout.bodies[body].clone();
        let mut gradient = vec![0.0; range.len()];
        let end = SystemEnd { body: body as u32, on: Attachment::CENTRE, jacobian: 0, width: 0 };
        self.pull(&end, &realized(w), form, 1.0, &mut gradient);
        let rate: f64 = gradient.iter().zip(&at.v[range]).map(|(g, v)| g * v).sum();
        (0.0, rate - row.rate.unwrap_or(rate), vec![(body, gradient)])
    }

    fn velocity_given(&self, i: usize) -> bool {
        let b = self.layout.bodies.partition_point(|r| r.end <= i);
        let entry = &self.model.bodies[b];
        let body = &self.bodies[b];
        match each!(body, body => body.scale(i - self.layout.bodies[b].start)) {
            _ if self.elastic(i) => each!(body, b => b.deformable()).is_some_and(|of| of.moves_at_start()),
            _ if self.bodies[b].coordinates().is_link() => entry.velocity.is_some() && entry.angular_velocity.is_some(),
            Scale::Angle => entry.angular_velocity.is_some(),
            _ => entry.velocity.is_some(),
        }
    }

    fn giver(&self, i: usize) -> Subject {
        let b = self.layout.bodies.partition_point(|r| r.end <= i);
        let key = match each!(&self.bodies[b], body => body.scale(i - self.layout.bodies[b].start)) {
            _ if self.elastic(i) => "deflection_rate",
            Scale::Angle => "angular_velocity",
            _ => "velocity",
        };
        self.key_of(key, b)
    }

    fn on_joints(&self, at: &Point) -> Option<Relative> {
        (!self.model.joints.is_empty()).then(|| self.rigid_on_joints(at))
    }

    fn take_poses(&self, from: &Relative, point: &Point, to: &mut Point) {
        self.poses_from(from, point, to);
    }

    fn take_velocities(&self, from: &Relative, point: &Point, to: &mut Point) {
        self.velocities_from(from, point, to);
    }

    fn not_given(&self, at: &Point, w: &Workspace) -> Vec<(String, f64, f64)> {
        let given: Vec<StartGiven> = self.start().iter().map(|row| row.given).collect();
        let is_driven = |c: &Coordinate| self.model.drives(&self.model.joints[c.joint].ends, c.motion);
        let mut out = Vec::new();
        for (k, c) in self
            .coordinates
            .iter()
            .enumerate()
            .filter(|(k, c)| !given.contains(&StartGiven::Joint(*k)) && !is_driven(c))
        {
            let first = self.coordinates[..k].iter().rev().take_while(|other| other.joint == c.joint).count();
            let joint = &self.model.joints[c.joint];
            let names = crate::joints::names(&joint.joint.motions(self.model.space));
            let Some(name) = names.get(first) else { continue };
            let (value, rate) = self.coordinate(c, at, w);
            out.push((format!("{}.{}", joint.name, name[0]), value, rate));
        }
        out
    }

    fn prescribed(&self, constraint: usize) -> bool {
        self.constraints[constraint].rheonomic
    }

    fn integrable(&self, constraint: usize) -> bool {
        self.constraints[constraint].equations.iter().all(|e| e.integrable())
    }

    fn held(&self, body: usize) -> bool {
        self.model.bodies[body].fixed
    }

    fn elastic(&self, i: usize) -> bool {
        let b = self.layout.bodies.partition_point(|r| r.end <= i);
        each!(&self.bodies[b], body => body.elastic(i - self.layout.bodies[b].start))
    }

    fn quasi_static(&self, body: usize) -> bool {
        each!(&self.bodies[body], b => b.deformable()).is_some_and(|of| of.quasi_static)
    }
}
