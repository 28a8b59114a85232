//! From a model to its equations: where everything stands, and how large it is.

use super::tables::{GradientBlock, Pulls};
use super::turns::{Angle, Owner};
use super::*;
use bellcrank_math::Vec3;

impl Model {
    /// Compiles the model into equations in Cartesian coordinates. Does not check its meaning.
    pub fn compile(&self) -> System {
        self.clone().into_system()
    }

    /// [`compile`](Model::compile) without a copy of the model, which becomes part of the system.
    pub fn into_system(self) -> System {
        System::new(self, &[])
    }
}

impl System {
    /// The equations of a model, with the motions held that the modes hold.
    pub(super) fn new(mut model: Model, modes: &[Mode]) -> System {
        model.find_stations();
        let mut layout = Layout::default();
        let bodies: Vec<Body> = model.bodies.iter().map(|b| b.body.clone()).collect();
        let mut charts = ChartIndex::default();
        let mut n = 0;
        for b in &bodies {
            let width = each!(b, b => b.width());
            layout.bodies.push(n..n + width);
            let chart = each!(b, b => b.chart()).map(|k| (n + k) as u32);
            charts.of_body.push(chart.map_or(NO_CHART, |_| charts.first.len() as u32));
            charts.first.extend(chart);
            n += width;
        }
        let mut s = System {
            layout,
            bodies,
            charts,
            constraints: Vec::new(),
            joint_blocks: Vec::new(),
            forces: Vec::new(),
            signals: Default::default(),
            turns: Turns::default(),
            coordinates: Vec::new(),
            length: 1.0,
            gradients: Gradients::default(),
            tables: Tables::default(),
            model,
        };
        s.add_internal_constraints();
        s.add_joints();
        s.add_forces(modes);
        s.gradients.pulls = Pulls::new(s.bodies.len(), &s.gradients.blocks, &s.layout.bodies);
        s.shrink();
        s.length = s.typical_length();
        s
    }

    /// Returns unused memory of the lists.
    fn shrink(&mut self) {
        self.layout.constraints.shrink_to_fit();
        self.layout.rates.shrink_to_fit();
        self.constraints.shrink_to_fit();
        self.joint_blocks.shrink_to_fit();
        self.turns.angles.shrink_to_fit();
        self.coordinates.shrink_to_fit();
        self.gradients.blocks.shrink_to_fit();
        self.tables.shrink();
    }

    pub(super) fn add_internal_constraints(&mut self) {
        for b in 0..self.bodies.len() {
            if each!(&self.bodies[b], b => b.internal_rows()) > 0 {
                let end = SystemEnd { body: b as u32, on: Attachment::CENTRE, jacobian: 0, width: 0 };
                self.push_constraint(Vec::new(), vec![end], None, None, NO_ANGLE);
            }
        }
    }

    pub(super) fn add_joints(&mut self) {
        let space = self.model.space;
        for number in 0..self.model.joints.len() {
            let entry = &self.model.joints[number];
            let ends: Vec<SystemEnd> = entry.ends.iter().map(place).collect();
            let (equations, motions) = (entry.joint.equations(space), entry.joint.motions(space));
            for motion in motions {
                let angle = self.push_angle(Owner::Joint(number as u32), [0, 1], motion, false);
                self.coordinates.push(Coordinate { joint: number, motion, angle });
            }
            let first = self.constraints.len();
            // position rows and velocity rows stand in different places of a formulation
            let (holonomic, others): (Vec<_>, Vec<_>) = equations.into_iter().partition(|e| e.holonomic());
            for block in [holonomic, others].into_iter().filter(|b| !b.is_empty()) {
                let first_angle = self.turns.angles.len() as u32;
                let angles: Vec<_> = block.iter().flat_map(|e| e.angles()).collect();
                for m in &angles {
                    self.push_angle(Owner::Joint(number as u32), m.ends.map(|e| e as u8), m.motion, true);
                }
                let angle = if angles.is_empty() { NO_ANGLE } else { first_angle };
                self.push_constraint(block, ends.clone(), Some(number), None, angle);
            }
            self.joint_blocks.push(first..self.constraints.len());
        }
    }

    pub(super) fn add_forces(&mut self, modes: &[Mode]) {
        let mut slots = 0..;
        for number in 0..self.model.forces.len() {
            let entry = &self.model.forces[number];
            let ends: Vec<SystemEnd> = entry.ends.iter().map(place).collect();
            let force = entry.force.clone();
            let mut angle = NO_ANGLE;
            for m in force.angles() {
                let next = self.push_angle(Owner::Force(number as u32), m.ends.map(|e| e as u8), m.motion, true);
                angle = angle.min(next);
            }
            let mut states = NO_STATES;
            let n = force.initial().len();
            if n > 0 {
                let z = self.layout.nz();
                states = self.layout.states.len() as u32;
                self.layout.states.push(z..z + n);
            }
            let slot = if force.switches() > 0 { slots.next() } else { None };
            let mode = slot.and_then(|slot| modes.get(slot).copied()).unwrap_or(BY_VALUE);
            let first = self.constraints.len();
            for equation in force.holds(mode) {
                self.push_constraint(vec![equation], ends.clone(), None, Some(number), angle);
            }
            let blocks = first..self.constraints.len();
            let held = (!blocks.is_empty()).then_some((mode, blocks));
            let arguments = force.laws().iter().map(|(_, arguments)| *arguments as u32).sum();
            let follows = match force.follows(mode) {
                Some(Followed::Held) => held.as_ref().map(|(_, blocks)| blocks.start),
                // a joint whose reaction is followed has one block, and is not in a tree
                Some(Followed::Joint(joint)) => {
                    self.joint_blocks.get(joint).cloned().and_then(|mut blocks| blocks.next())
                }
                None => None,
            };
            self.forces.push(PlacedForce { force, ends, angle, states, arguments, slot, held, follows });
        }
        self.add_signals(slots.start);
    }

    fn push_angle(&mut self, of: Owner, ends: [u8; 2], motion: Motion, acts: bool) -> u32 {
        if !motion.turns() {
            return NO_ANGLE;
        }
        self.turns.angles.push(Angle { of, ends, motion, acts });
        self.turns.act |= acts;
        self.turns.angles.len() as u32 - 1
    }

    pub(super) fn push_constraint(
        &mut self,
        equations: Vec<Box<dyn Equation>>,
        mut ends: Vec<SystemEnd>,
        joint: Option<usize>,
        force: Option<usize>,
        angle: u32,
    ) {
        // an internal constraint of a body has one row
        let rows = if equations.is_empty() { 1 } else { equations.iter().map(|e| e.rows()).sum() };
        let mut order: [u8; MAX_ENDS] = std::array::from_fn(|k| k as u8);
        order.sort_by_key(|&k| ends.get(k as usize).map_or(GROUND, |end| end.body));
        for &k in &order {
            if let Some(end) = ends.get_mut(k as usize).filter(|end| end.body != GROUND) {
                end.jacobian = self.gradients.size as u32;
                end.width = self.width(end.body) as u32;
                self.gradients.size += rows * self.width(end.body);
            }
        }
        let holonomic = equations.iter().all(|e| e.holonomic());
        let straight = equations.iter().all(|e| e.straight());
        self.gradients.holonomic &= holonomic;
        let rheonomic = equations.iter().any(|e| e.rheonomic());
        let plain = self.plain_of(&equations, &ends);
        let plainly_biased = !rheonomic && self.is_plainly_biased(&plain, &ends);
        let (m, k) = (self.layout.m(), self.layout.m_rates());
        let places = order.iter().filter_map(|&k| ends.get(k as usize));
        for end in places.filter(|end| end.body != GROUND) {
            let (column, width) = (self.layout.bodies[end.body as usize].start as u32, end.width as u8);
            let (row, rate, jacobian, rows) = (m as u32, k as u32, end.jacobian, rows as u8);
            self.gradients.blocks.push(GradientBlock { row, rate, column, jacobian, rows, width, holonomic });
        }
        self.gradients.before.push(self.gradients.blocks.len() as u32);
        self.tabulate(self.constraints.len(), m, &plain, &ends);
        self.layout.constraints.push(m..m + rows);
        self.layout.rates.push(k..if holonomic { k + rows } else { k });
        self.constraints.push(Constraint {
            equations,
            plain,
            ends,
            order,
            rows,
            joint,
            force,
            holonomic,
            straight,
            rheonomic,
            plainly_biased,
            angle,
        });
    }

    /// The radius of the model's points about their middle, a length that does not depend on the
    /// origin; 1 m where there is nothing to measure.
    pub(super) fn typical_length(&self) -> f64 {
        let state = self.initial_state();
        let mut w = self.workspace();
        self.locate(&state.q, &state.charts, &mut w.cache_mut::<SystemCache>().bodies);
        let w = realized(&w);
        let mut points: Vec<Vec3> = Vec::new();
        let ends = self.constraints.iter().flat_map(|c| &c.ends).chain(self.forces.iter().flat_map(|f| &f.ends));
        points.extend(ends.map(|e| self.frame(e, &w, None).p));
        points.extend((0..self.bodies.len()).map(|b| self.body_point(b, &w)));
        let middle = points.iter().fold(Vec3::ZERO, |sum, p| sum + *p) * (1.0 / points.len().max(1) as f64);
        let radius = points.iter().map(|p| (*p - middle).norm()).fold(0.0, f64::max);
        if radius > 1e-9 { radius } else { 1.0 }
    }

    pub(super) fn body_point(&self, b: usize, w: &Realized) -> Vec3 {
        each!(&self.bodies[b], body => body.centre_of_mass(&w.bodies[b]))
    }
}
