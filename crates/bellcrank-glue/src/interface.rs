//! The interface: a model whose bodies are ports.

use crate::port::{PortMotion, WIDTH};
use bellcrank_math::Vec3;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::bodies::{Body, Planar, Rigid};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::dynamics::{Break, Channel};
use bellcrank_model::frames::nearest_turn;
use bellcrank_model::model::{BodyEntry, Model, Shape, Space};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, State, System, Unknown, Workspace};
use bellcrank_solve::linear::derivatives;
use bellcrank_solve::run::Timetable;
use std::sync::Arc;

/// Where a body of the interface lives: a part and one of its ports.
pub type Site = (usize, usize);

/// Joints and forces between ports, evaluated from the motion of the ports alone.
pub struct Interface {
    system: Arc<System>,
    /// The part and the port of each body.
    pub sites: Vec<Site>,
    point: Point,
    kept: Option<Point>,
    w: Workspace,
    timetable: Timetable,
}

/// The interface linearized at a point: rows of constraints and loads by displacements δ and twists τ of the ports.
pub struct Linear {
    /// ∂Φ/∂δ.
    pub position: Matrix,
    /// ∂Φ/∂τ: other than zero for nonholonomic rows alone.
    pub position_by_twist: Matrix,
    /// ∂Φ̇/∂δ.
    pub velocity: Matrix,
    /// ∂Φ̇/∂τ.
    pub velocity_by_twist: Matrix,
    /// Γᵀ: the pull of the multipliers.
    pub pull: Matrix,
    /// ∂(F − Γᵀλ)/∂δ.
    pub stiffness: Matrix,
    /// ∂F/∂τ.
    pub damping: Matrix,
}

/// A body of an interface: a frame with a mass of no meaning.
pub fn port_body(name: &str, space: Space, at: &PortMotion) -> BodyEntry {
    let body = match space {
        Space::Plane => Body::Planar(Planar::new(1.0, 1.0)),
        Space::Space => Body::Rigid(Rigid::new(1.0, bellcrank_math::Mat3::IDENTITY)),
    };
    BodyEntry {
        name: name.to_string(),
        body,
        at: at.place,
        rotation: at.rotation,
        angle: at.rotation.log()[2],
        velocity: Some(at.velocity),
        angular_velocity: Some(at.spin),
        fixed: false,
        shape: Shape::Unknown,
        solids: Vec::new(),
        appearance: Default::default(),
        hidden: false,
    }
}

impl Interface {
    /// The interface of a model whose bodies are ports, each of one site; gravity does not act on it.
    pub fn new(mut model: Model, sites: Vec<Site>) -> Interface {
        model.gravity = Vec3::ZERO;
        let system = Arc::new(model.compile());
        let state = system.initial_state();
        let point = Point::at(&state, system.layout());
        let w = system.workspace();
        let timetable = Timetable::new(system.courses());
        Interface { system, sites, point, kept: None, w, timetable }
    }

    fn state(&self) -> State {
        let mut state = self.system.initial_state();
        self.point.store(&mut state);
        state
    }

    /// The time that a window of some length must not pass: the end of the run, or the next breakpoint of its own forces and drives.
    pub fn stop(&mut self, until: f64, length: f64) -> f64 {
        self.timetable.stop(&self.state(), until, length, true)
    }

    /// The breakpoint that it has come to; it is told once.
    pub fn due(&mut self, until: f64) -> Option<Break> {
        self.timetable.due(&self.state(), until)
    }

    /// Its equations.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// A length that is typical of it.
    pub fn system_length(&self) -> f64 {
        self.system.length()
    }

    /// Number of constraint rows, and of velocity rows.
    pub fn rows(&self) -> (usize, usize) {
        (self.system.layout().m(), self.system.layout().m_rates())
    }

    /// Number of coordinates.
    pub fn width(&self) -> usize {
        self.system.layout().n()
    }

    /// Puts the bodies where the ports are, with the multipliers λ.
    pub fn place(&mut self, t: f64, motions: &[PortMotion], lambda: &[f64]) {
        let p = &mut self.point;
        p.t = t;
        p.lambda.copy_from_slice(lambda);
        let mut chart = 0;
        for (motion, range) in motions.iter().zip(&self.system.layout().bodies) {
            let (x, v, a) = (motion.place.0, motion.velocity.0, motion.acceleration.0);
            let at = range.start;
            match range.len() {
                3 => {
                    let angle = nearest_turn(2.0 * motion.rotation.0[3].atan2(motion.rotation.0[0]), p.q[at + 2]);
                    p.q[at..at + 3].copy_from_slice(&[x[0], x[1], angle]);
                    p.v[at..at + 3].copy_from_slice(&[v[0], v[1], motion.spin[2]]);
                    p.vdot[at..at + 3].copy_from_slice(&[a[0], a[1], motion.spin_rate[2]]);
                }
                _ => {
                    let r = motion.rotation.matrix();
                    p.charts.centres[chart] = motion.rotation;
                    chart += 1;
                    p.q[at..at + 3].copy_from_slice(&x);
                    p.q[at + 3..at + 6].fill(0.0);
                    p.v[at..at + 3].copy_from_slice(&v);
                    p.v[at + 3..at + 6].copy_from_slice(&r.transpose_times(motion.spin).0);
                    p.vdot[at..at + 3].copy_from_slice(&a);
                    p.vdot[at + 3..at + 6].copy_from_slice(&r.transpose_times(motion.spin_rate).0);
                }
            }
        }
        p.qdot.copy_from_slice(&p.v);
        self.w.invalidate();
        self.system.realize(&self.point, &mut self.w);
    }

    /// The map from world twists (six numbers for each body) to its own velocities; its transpose maps its loads to the world.
    pub fn to_own(&self) -> Matrix {
        let bodies = &self.system.layout().bodies;
        let mut out = Matrix::zeros(self.width(), WIDTH * bodies.len());
        let mut chart = 0;
        for (k, range) in bodies.iter().enumerate() {
            let (row, column) = (range.start, WIDTH * k);
            if range.len() == 3 {
                for (i, j) in [(0, 0), (1, 1), (2, 5)] {
                    *out.at_mut(row + i, column + j) = 1.0;
                }
                continue;
            }
            let r = self.point.charts.centres[chart].matrix();
            chart += 1;
            for i in 0..3 {
                *out.at_mut(row + i, column + i) = 1.0;
                (0..3).for_each(|j| *out.at_mut(row + 3 + i, column + 3 + j) = r.0[j][i]);
            }
        }
        out
    }

    /// Loads on its coordinates as forces: torques by an arm of one length.
    pub fn as_forces(&self, own: &[f64]) -> Vec<f64> {
        let (mut out, arm) = (own.to_vec(), self.system.length());
        for range in &self.system.layout().bodies {
            let turning = if range.len() == 3 { range.end - 1 } else { range.start + 3 };
            out[turning..range.end].iter_mut().for_each(|x| *x /= arm);
        }
        out
    }

    /// Twists that follow loads in the world, as rates in the frames of the bodies, which turn by a displacement δ that
    /// follows them too: ∂(Rᵀω) = Rᵀ∂ω − (Rᵀδ) × (Rᵀω).
    pub fn turn(&self, place: &Matrix, twist: &mut Matrix) {
        for range in self.system.layout().bodies.iter().filter(|r| r.len() == 6) {
            let at = range.start + 3;
            let rate = Vec3([0, 1, 2].map(|i| self.point.v[at + i]));
            for j in 0..twist.columns {
                let turned = Vec3([0, 1, 2].map(|i| place.at(at + i, j))).cross(rate);
                (0..3).for_each(|i| *twist.at_mut(at + i, j) -= turned[i]);
            }
        }
    }

    fn piece(&mut self, piece: Piece, size: usize) -> Vec<f64> {
        let mut out = vec![0.0; size];
        self.system.add(1.0, piece, &self.point, &mut self.w, &mut out);
        out
    }

    /// Φ.
    pub fn position(&mut self) -> Vec<f64> {
        self.piece(Piece::Position, self.rows().0)
    }

    /// Φ̇.
    pub fn velocity(&mut self) -> Vec<f64> {
        self.piece(Piece::Velocity, self.rows().1)
    }

    /// Φ̈.
    pub fn acceleration(&mut self) -> Vec<f64> {
        self.piece(Piece::Acceleration, self.rows().0)
    }

    /// F: what springs and bushings put on the ports.
    pub fn force(&mut self) -> Vec<f64> {
        self.piece(Piece::Force, self.width())
    }

    fn derivative(&mut self, piece: Piece, wrt: Unknown, rows: usize, columns: usize) -> Matrix {
        let values = derivatives::dense(&*self.system, piece, wrt, Slopes::default(), &self.point, &mut self.w);
        if values.len() == rows * columns { Matrix { rows, columns, values } } else { Matrix::zeros(rows, columns) }
    }

    /// Γᵀ.
    pub fn pull(&mut self) -> Matrix {
        let (n, m) = (self.width(), self.rows().0);
        self.derivative(Piece::GtLambda, Unknown::Lambda, n, m)
    }

    /// The derivatives at the present point.
    pub fn linearize(&mut self) -> Linear {
        let (n, (m, m_rates)) = (self.width(), self.rows());
        let stiffness = self.derivative(Piece::Force, Unknown::Q, n, n);
        Linear {
            position: self.derivative(Piece::Position, Unknown::Q, m, n),
            position_by_twist: self.derivative(Piece::Position, Unknown::V, m, n),
            velocity: self.derivative(Piece::Velocity, Unknown::Q, m_rates, n),
            velocity_by_twist: self.derivative(Piece::Velocity, Unknown::V, m_rates, n),
            pull: self.pull(),
            stiffness: stiffness.plus(-1.0, &self.derivative(Piece::GtLambda, Unknown::Q, n, n)),
            damping: self.derivative(Piece::Force, Unknown::V, n, n),
        }
    }

    /// The energy stored in its springs and bushings.
    pub fn stored(&mut self) -> f64 {
        self.system.energy(&self.point, &mut self.w).stored
    }

    /// The user's name of the joint a constraint row belongs to.
    pub fn owner(&self, row: usize) -> String {
        let blocks = &self.system.layout().constraints;
        let block = blocks.iter().position(|r| r.contains(&row)).unwrap_or(0);
        self.system.name(Unknown::Lambda, block)
    }

    /// Whether a point is one of this interface.
    pub fn fits(&self, point: &Point) -> bool {
        self.point.fits(point)
    }

    /// Where it is.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Puts it somewhere else.
    pub fn set_point(&mut self, point: Point) {
        self.timetable.forget();
        self.point = point;
        self.w.invalidate();
        self.system.realize(&self.point, &mut self.w);
    }

    /// Keeps where it is.
    pub fn save(&mut self) {
        self.kept = Some(self.point.clone());
    }

    /// Goes back to where it was kept.
    pub fn restore(&mut self) {
        self.timetable.forget();
        if let Some(kept) = &self.kept {
            self.point.clone_from(kept);
            self.w.invalidate();
        }
    }

    /// Counts the turns of its joints at an accepted window.
    pub fn settle(&mut self) {
        let mut state = self.state();
        self.system.settle(&mut state, &mut self.w);
        self.point.set(&state);
    }

    /// The channels of its joints, with their numbers among all of them.
    pub fn channels(&self) -> Vec<(usize, Channel)> {
        let joints = &self.system.model.joints;
        let own =
            |name: &str| joints.iter().any(|j| name.strip_prefix(&j.name).is_some_and(|rest| rest.starts_with('.')));
        self.system.channels().into_iter().enumerate().filter(|(_, c)| own(&c.name)).collect()
    }

    /// The values of all channels, those of the ports included.
    pub fn observe(&mut self) -> Vec<f64> {
        self.w.invalidate();
        self.system.realize(&self.point, &mut self.w);
        let mut values = Vec::new();
        self.system.observe(&self.point, &mut self.w, &mut values);
        values
    }
}
