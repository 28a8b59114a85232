//! Ports: the frames of a part that the outside sees and pushes.

use bellcrank_math::linear::matrix::Matrix;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::{Quat, Vec3};
use bellcrank_model::bodies::Orientation;
use bellcrank_model::forces::{Force, Seen};
use bellcrank_model::frames::{Covector, Frame, Stiffness};
use bellcrank_model::model::{End, ForceEntry, Model};
use bellcrank_model::{Point, System, Workspace};
use bellcrank_solve::linear::kkt::Kkt;
use std::sync::{Arc, RwLock};

/// Numbers of a load or of a displacement of one port: three along the axes of the world, three about them.
pub const WIDTH: usize = 6;

/// Where a port is and how it moves, in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PortMotion {
    /// The origin of its frame.
    pub place: Vec3,
    /// The rotation of its frame, frame to world.
    pub rotation: Quat,
    /// The velocity of the origin.
    pub velocity: Vec3,
    /// The angular velocity.
    pub spin: Vec3,
    /// The acceleration of the origin.
    pub acceleration: Vec3,
    /// The angular acceleration.
    pub spin_rate: Vec3,
}

impl PortMotion {
    /// That of a frame, with the accelerations of its origin and of its axes.
    pub fn of(frame: &Frame, (acceleration, spin_rate): (Vec3, Vec3)) -> PortMotion {
        let rotation = Quat::from_matrix(&frame.r);
        PortMotion { place: frame.p, rotation, velocity: frame.v, spin: frame.w, acceleration, spin_rate }
    }

    /// Where it will be a time h later, if accelerations go on changing as they did in the time `passed` since another
    /// motion.
    pub fn after(&self, h: f64, before: &PortMotion, passed: f64) -> PortMotion {
        let r = h / passed;
        let step = |now: Vec3, then: Vec3| (now - then) * r;
        let (jump, twist) = (step(self.acceleration, before.acceleration), step(self.spin_rate, before.spin_rate));
        let turn = (self.spin + (self.spin_rate + twist * (1.0 / 3.0)) * (0.5 * h)) * h;
        PortMotion {
            place: self.place + (self.velocity + (self.acceleration + jump * (1.0 / 3.0)) * (0.5 * h)) * h,
            rotation: Quat::exp(turn).then(self.rotation),
            velocity: self.velocity + (self.acceleration + jump * 0.5) * h,
            spin: self.spin + (self.spin_rate + twist * 0.5) * h,
            ..*self
        }
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        let vectors = [self.place, self.velocity, self.spin, self.acceleration, self.spin_rate];
        vectors.iter().all(|x| x.0.iter().all(|x| x.is_finite())) && self.rotation.0.iter().all(|x| x.is_finite())
    }
}

/// A frame on a body of a part, with the load the outside puts on it.
pub struct Port {
    /// The name the outside knows it by.
    pub name: String,
    /// The place.
    pub end: End,
    load: Arc<Load>,
}

/// A load whose value is set from outside: force and torque at the port, in the world.
struct Load {
    value: RwLock<Covector>,
    rotational: bool,
}

impl Load {
    fn get(&self) -> Covector {
        self.value.read().map(|l| *l).unwrap_or_default()
    }
}

impl Force for Load {
    fn load(&self, _: &Seen, out: &mut [Covector]) {
        let load = self.get();
        out[0].lin += load.lin;
        out[0].ang += load.ang;
    }
    fn stiffness(&self, _: &Seen, _: &mut Stiffness, _: &mut Stiffness) {}
    fn power(&self, at: &Seen) -> f64 {
        self.get().on(&at.ends[0])
    }
    fn has_power(&self) -> bool {
        true
    }
    fn rotational(&self, _end: usize) -> bool {
        self.rotational
    }
}

impl Port {
    /// Opens a port in a model: the load becomes one of its forces.
    pub fn open(model: &mut Model, name: &str, end: End) -> Port {
        let is_point = end.body.is_some_and(|b| model.bodies[b].body.coordinates().orientation() == Orientation::None);
        let load = Arc::new(Load { value: RwLock::default(), rotational: !is_point });
        model.forces.push(ForceEntry {
            name: format!("port {name}"),
            kind: "port",
            force: load.clone(),
            ends: vec![end],
        });
        Port { name: name.to_string(), end, load }
    }

    /// Sets the load: force and torque in the world, at the port.
    pub fn push(&self, load: &[f64]) {
        if let Ok(mut value) = self.load.value.write() {
            *value = Covector::new(Vec3::from_slice(&load[..3]), Vec3::from_slice(&load[3..6]));
        }
    }

    /// How it moves at a realized point.
    pub fn motion(&self, system: &System, at: &Point, w: &Workspace) -> PortMotion {
        PortMotion::of(&system.look(&self.end, w, &at.v), system.twist_rate(&self.end, at, w))
    }

    /// The twist of the port under some velocities, or its displacement under a displacement.
    pub fn twist(&self, system: &System, w: &Workspace, v: &[f64]) -> [f64; WIDTH] {
        let frame = system.look(&self.end, w, v);
        let ([a, b, c], [d, e, f]) = (frame.v.0, frame.w.0);
        [a, b, c, d, e, f]
    }
}

/// B: the map from the velocities of a part to the twists of all its ports.
pub fn twists(ports: &[Port], system: &System, w: &Workspace, n: usize) -> Matrix {
    by_columns(ports, system, n, |port, unit| port.twist(system, w, unit))
}

/// ∂(B v)/∂q: how the twists change with displacements, for ports turn with what they are on.
pub fn turnings(ports: &[Port], system: &System, w: &Workspace, v: &[f64]) -> Matrix {
    by_columns(ports, system, v.len(), |port, unit| {
        let (Vec3([a, b, c]), Vec3([d, e, f])) = system.twist_change(&port.end, w, v, unit);
        [a, b, c, d, e, f]
    })
}

fn by_columns(ports: &[Port], system: &System, n: usize, of: impl Fn(&Port, &[f64]) -> [f64; WIDTH]) -> Matrix {
    let mut out = Matrix::zeros(WIDTH * ports.len(), n);
    let mut unit = vec![0.0; n];
    for (k, port) in ports.iter().enumerate() {
        let Some(body) = port.end.body else { continue };
        for j in system.layout().bodies[body].clone() {
            unit[j] = 1.0;
            for (i, x) in of(port, &unit).into_iter().enumerate() {
                *out.at_mut(WIDTH * k + i, j) = x;
            }
            unit[j] = 0.0;
        }
    }
    out
}

/// M̂⁻¹Bᵀ, column by column, with the factors at hand; B is that of the same point.
pub fn responses(kkt: &mut Kkt, b: &Matrix) -> Result<Matrix, LinearError> {
    let mut out = Matrix::zeros(b.columns, b.rows);
    for k in 0..b.rows {
        let column = kkt.respond(b.row(k))?;
        (0..b.columns).for_each(|i| *out.at_mut(i, k) = column[i]);
    }
    Ok(out)
}

/// The difference of two motions of all ports at one level.
pub(crate) fn difference(a: &[PortMotion], b: &[PortMotion], level: fn(&PortMotion) -> (Vec3, Vec3)) -> Vec<f64> {
    let pairs = a.iter().zip(b).map(|(a, b)| (level(a), level(b)));
    pairs.flat_map(|(a, b)| [a.0 - b.0, a.1 - b.1]).flat_map(|x| x.0).collect()
}

/// The difference of the twists of all ports.
pub(crate) fn twist(a: &[PortMotion], b: &[PortMotion]) -> Vec<f64> {
    difference(a, b, |m| (m.velocity, m.spin))
}

/// The displacement between two motions of all ports.
pub(crate) fn displacement(a: &[PortMotion], b: &[PortMotion]) -> Vec<f64> {
    let pairs = a.iter().zip(b);
    pairs
        .flat_map(|(a, b)| [a.place - b.place, a.rotation.then(b.rotation.conjugate()).log()])
        .flat_map(|x| x.0)
        .collect()
}
