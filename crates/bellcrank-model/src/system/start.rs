//! The start of a model, as its file describes it.

use super::*;

impl System {
    /// The state the model file describes: not yet assembled.
    pub fn initial_state(&self) -> State {
        let n = self.layout.n();
        let z = self.forces.iter().flat_map(|f| f.force.initial()).collect();
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
        let turn = |e: SystemEnd| match e.body {
            GROUND => 0.0,
            b if self.model.space == Space::Plane => self.model.bodies[b as usize].angle,
            _ => 0.0,
        };
        let turned = |a: &turns::Angle| {
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

impl StartRules for System {
    fn start(&self) -> Vec<StartRow> {
        let mut rows: Vec<StartRow> = Vec::new();
        for s in &self.model.start {
            let mut of_joint = self.coordinates.iter().enumerate().filter(|(_, c)| c.joint == s.joint);
            let Some((coordinate, _)) = of_joint.nth(s.motion) else { continue };
            match rows.iter_mut().find(|r| r.coordinate == coordinate) {
                Some(row) => {
                    row.value = row.value.or(s.value);
                    row.rate = row.rate.or(s.rate);
                }
                None => rows.push(StartRow {
                    coordinate,
                    value: s.value,
                    rate: s.rate,
                    name: self.model.joints[s.joint].name.clone(),
                }),
            }
        }
        rows
    }

    fn start_row(&self, row: &StartRow, at: &Point, w: &Workspace) -> (f64, f64, Vec<(usize, Vec<f64>)>) {
        let c = &self.coordinates[row.coordinate];
        let (value, rate) = self.coordinate(c, at, w);
        let target = row.value.unwrap_or(value);
        let turn = c.motion.turns();
        // an angle is reached the short way, whatever turn it is on
        let off = if turn { nearest_turn(value - target, 0.0) } else { value - target };
        (off, rate - row.rate.unwrap_or(rate), self.coordinate_gradient(c, at, w))
    }

    fn velocity_given(&self, i: usize) -> bool {
        let b = self.layout.bodies.partition_point(|r| r.end <= i);
        let entry = &self.model.bodies[b];
        match each!(&self.bodies[b], body => body.scale(i - self.layout.bodies[b].start)) {
            _ if self.elastic(i) => true,
            Scale::Angle => entry.angular_velocity.is_some(),
            _ => entry.velocity.is_some(),
        }
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
