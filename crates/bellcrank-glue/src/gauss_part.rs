//! A part that is glued by the corrections of [Tseng & Hulbert 2001], section 3.
//!
//! Its window is one step of Newmark's law, δq = h v + h²/2 a and δv = h a with the acceleration of the start at first, which the
//! coordinator corrects:
//!
//! ```text
//!     GL-DYN     K̄ Δâ = −P∥(M a − Q)                K̄ = M + hγ ∂/∂v + h²β ∂/∂q of M a − Q
//!     GL-ACC     Δa = Δâ − M⁻¹Φ_qᵀ(Φ_q M⁻¹Φ_qᵀ)⁺ Φ̈(a + Δâ)
//!                Δq = h²β Δa,   Δv = hγ Δa
//!     GL-POS     Δq ← P∥Δq − Φ_q⁺Φ
//!     GL-VEL     Δv ← P∥Δv − Φ_q⁺Φ̇                P∥ = I − Φ_q⁺Φ_q
//! ```
//!
//! Φ are the constraints of the whole: G of the part itself, which it closes alone, and those of its ports. With Z an orthonormal
//! basis of the null space of G, what the ports feel of the projections is Z Zᵀ Bᵀ, Z (Zᵀ M Z)⁻¹ Zᵀ Bᵀ and Z (Zᵀ K̄ Z)⁻¹ Zᵀ Bᵀ.

use crate::part_system::{PartState, PartSystem, settle};
use crate::port::{WIDTH, twists};
use crate::subdomain::{Admittance, Corrected, Correction, Description, PartError, PartResponse, Subdomain, Window};
use bellcrank_math::linear::dense::svd;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::dynamics::{Break, Channel, Scale};
use bellcrank_model::model::{End, Model};
use bellcrank_model::{Piece, Point, Slopes, State, Unknown, Workspace};
use bellcrank_solve::constraints::{add_position_residual, add_velocity_residual};
use bellcrank_solve::linear::derivatives::dense;
use bellcrank_solve::linear::kkt::Kkt;
use std::sync::Arc;

/// Newmark's β and γ: the average acceleration.
pub(crate) const BETA: f64 = 0.25;
pub(crate) const GAMMA: f64 = 0.5;

/// Singular values below this fraction of the largest are zero: of G, redundant rows and what geometry that closes only as well as
/// its joints makes of them; of P∥Bᵀ, loads that nothing in the part can feel.
const REDUNDANT: f64 = 1e-6;
const UNFELT: f64 = 1e-9;

/// The part's own constraints are closed to this fraction of its length, in as many rounds at most.
const CLOSED: f64 = 1e-14;
const ROUNDS: usize = 4;

/// What the states of such parts are called where they are stored.
const KIND: &str = "state of a part glued by Gauss's principle";

/// A compiled model that steps by Newmark's law.
pub struct GaussPart {
    part: PartSystem,
    state: PartState<Accepted>,
    trial: Option<CorrectedPoint>,
    /// Whether accelerations are projected without the masses.
    naive: bool,
    kkt: Kkt,
    w: Workspace,
}

/// All that a committed part is.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Accepted {
    state: State,
    point: Point,
    /// The acceleration with which the next window begins: that of the point where a run begins anew.
    acceleration: Option<Vec<f64>>,
}

impl Accepted {
    /// Whether another one is of the same model.
    fn fits(&self, other: &Accepted) -> bool {
        let n = self.state.v.len();
        let accelerations = other.acceleration.as_ref().is_none_or(|a| a.len() == n);
        self.state.fits(&other.state) && self.point.fits(&other.point) && accelerations
    }
}

/// The point that corrections move, and its equations.
struct CorrectedPoint {
    window: Window,
    point: Point,
    /// Δâ.
    free: Vec<f64>,
    at: PointEquations,
}

/// The equations of a part linearized at a point.
struct PointEquations {
    /// The twists of the ports by the velocities.
    ports: Matrix,
    /// G⁺, and Z.
    inverse: Matrix,
    basis: Matrix,
    /// M and K̄.
    mass: Matrix,
    tangent: Matrix,
    /// How the part follows shifts and loads of its ports: by P∥, by M and by K̄.
    by_shift: Matrix,
    by_load: Matrix,
    by_tangent: Matrix,
    /// M a − Q without the loads of the ports.
    rest: Vec<f64>,
}

fn plus(a: &mut [f64], c: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += c * b);
}

/// Z (Zᵀ A Z)⁻¹ Zᵀ R.
fn within(basis: &Matrix, a: &Matrix, r: &Matrix) -> Result<Matrix, LinearError> {
    let reduced = basis.transpose_times(&a.times(basis));
    Ok(basis.times(&reduced.solve(&basis.transpose_times(r))?))
}

/// G⁺, and an orthonormal basis of the null space of G.
fn along_and_across(gradient: &Matrix) -> Result<(Matrix, Matrix), LinearError> {
    let (m, n) = (gradient.rows, gradient.columns);
    if m * n == 0 {
        return Ok((Matrix::zeros(n, m), Matrix::from_fn(n, n, |i, j| (i == j) as u8 as f64)));
    }
    let svd = svd(&gradient.values, m, n)?;
    let rank = svd.rank(REDUNDANT);
    let v = Matrix::from_fn(n, rank, |i, k| svd.right(k)[i] / svd.values[k]);
    let inverse = v.times(&Matrix::from_fn(rank, m, |k, j| svd.left(k)[j]));
    Ok((inverse, Matrix::from_fn(n, n - rank, |i, k| svd.right(rank + k)[i])))
}

fn column(x: Vec<f64>) -> Matrix {
    Matrix { rows: x.len(), columns: 1, values: x }
}

impl PointEquations {
    /// At a realized point, in a window of length h; the ports carry no load.
    fn new(part: &PartSystem, h: f64, at: &Point, w: &mut Workspace) -> Result<PointEquations, LinearError> {
        let system = &*part.system;
        let (n, m) = (system.layout().n(), system.layout().m());
        let mut by = |piece, wrt, v: f64| {
            let values = dense(system, piece, wrt, Slopes { q: 0.0, v, z: 0.0 }, at, w);
            let columns = if wrt == Unknown::Lambda { m } else { n };
            if values.len() == n * columns { Matrix { rows: n, columns, values } } else { Matrix::zeros(n, columns) }
        };
        // ∂/∂v̇ alone is M
        let mass = by(Piece::MassAccel, Unknown::V, 1.0).plus(-1.0, &by(Piece::MassAccel, Unknown::V, 0.0));
        let by_v = by(Piece::MassAccel, Unknown::V, 0.0).plus(-1.0, &by(Piece::Force, Unknown::V, 0.0));
        let by_q = by(Piece::MassAccel, Unknown::Q, 0.0).plus(-1.0, &by(Piece::Force, Unknown::Q, 0.0));
        let tangent = mass.clone().plus(h * GAMMA, &by_v).plus(h * h * BETA, &by_q);
        let gradient = by(Piece::GtLambda, Unknown::Lambda, 0.0).transpose();
        let (inverse, basis) = along_and_across(&gradient)?;
        let ports = twists(&part.ports, system, w, n);
        let pulls = ports.transpose();
        let by_shift = basis.times(&basis.transpose_times(&pulls));
        let (by_load, by_tangent) = (within(&basis, &mass, &pulls)?, within(&basis, &tangent, &pulls)?);
        let mut rest = vec![0.0; n];
        system.add(1.0, Piece::MassAccel, at, w, &mut rest);
        system.add(-1.0, Piece::Force, at, w, &mut rest);
        Ok(PointEquations { ports, inverse, basis, mass, tangent, by_shift, by_load, by_tangent, rest })
    }

    /// How the motion of the ports follows: by Gauss's principle, by K̄, and by P∥.
    fn admittance(&self) -> Admittance {
        let of = |columns: &Matrix| self.ports.times(columns);
        Admittance {
            velocity: of(&self.by_tangent),
            place_by_shift: of(&self.by_shift),
            ..Admittance::of_accelerations(of(&self.by_load))
        }
    }

    /// The loads w of the ports that would come closest to balance, Z Zᵀ(M a − Q − Bᵀw) → 0, and what is left then.
    fn imbalance(&self) -> Result<(Vec<f64>, Vec<f64>), LinearError> {
        let load = self.by_shift.pseudo_inverse(UNFELT)?.apply(&self.rest);
        let mut left = self.rest.clone();
        plus(&mut left, -1.0, &self.ports.transpose().apply(&load));
        Ok((load, within(&self.basis, &self.mass, &column(left))?.values))
    }

    /// The x with G x = −s of A x = f along the constraints.
    fn solved(&self, a: &Matrix, f: &[f64], s: &[f64]) -> Result<Vec<f64>, LinearError> {
        let mut x: Vec<f64> = self.inverse.apply(s).iter().map(|x| -x).collect();
        let mut rest = f.to_vec();
        plus(&mut rest, -1.0, &a.apply(&x));
        plus(&mut x, 1.0, &within(&self.basis, a, &column(rest))?.values);
        Ok(x)
    }
}

impl GaussPart {
    /// A part from a model with ports, at a state that fulfils its own constraints.
    pub fn new(
        name: &str,
        model: Model,
        ports: &[(String, End)],
        state: Option<&State>,
        naive: bool,
    ) -> Result<GaussPart, PartError> {
        let mut part = PartSystem::new(name, model, ports, true)?;
        part.kind = KIND;
        let layout = part.system.layout();
        let help = "help: use --coupling stabilized";
        if layout.nz() > 0 {
            let why = "has states of its own (controllers, actuators or filters), of which gluing by Gauss's principle knows nothing";
            return Err(part.error(format!("{why}\n{help}")));
        }
        if let Some(k) = layout.rates.iter().position(|r| r.is_empty()) {
            let what = part.system.name(Unknown::Lambda, k);
            let why = "holds rates and no position, and gluing by Gauss's principle projects positions";
            return Err(part.error(format!("{what} {why}\n{help}")));
        }
        let mut start = part.start(state)?;
        let (mut state, mut w) = (State::default(), part.system.workspace());
        start.store(&mut state);
        settle(&part.system, 0.0, &mut state, &mut start, &mut w);
        let kkt = Kkt::new(part.system.clone() as Arc<dyn Dynamics>);
        let accepted = Accepted { state, point: start, acceleration: None };
        Ok(GaussPart { state: PartState::new(accepted), trial: None, naive, kkt, w, part })
    }

    fn realize(&mut self, point: &mut Point) {
        self.part.system.rates(&point.q, &point.v, &mut point.qdot);
        self.w.invalidate();
        self.part.system.realize(point, &mut self.w);
    }

    /// Newmark's law with the acceleration of the start.
    fn predicted(&mut self, window: &Window) -> Result<CorrectedPoint, PartError> {
        let Accepted { state, point, acceleration } = &self.state.committed;
        if (state.t - window.from).abs() > 1e-9 * window.length().abs() || window.length() <= 0.0 {
            let (from, to) = (window.from, window.to);
            return Err(self
                .part
                .error(format!("stands at t = {} s, the window goes from {from} s to {to} s", state.t)));
        }
        let (h, mut point) = (window.length(), point.clone());
        point.vdot.clone_from(acceleration.as_ref().unwrap_or(&point.vdot.clone()));
        let delta: Vec<f64> = state.v.iter().zip(&point.vdot).map(|(v, a)| h * (v + 0.5 * h * a)).collect();
        self.part.system.retract(1.0, &mut point.q, &delta);
        let acceleration = point.vdot.clone();
        plus(&mut point.v, h, &acceleration);
        point.t = window.to;
        self.part.push(&vec![0.0; WIDTH * self.part.ports.len()])?;
        self.realize(&mut point);
        let at = self.equations(window, &point)?;
        Ok(CorrectedPoint { window: *window, free: vec![0.0; point.v.len()], point, at })
    }

    fn equations(&mut self, window: &Window, at: &Point) -> Result<PointEquations, PartError> {
        PointEquations::new(&self.part, window.length(), at, &mut self.w).map_err(|e| self.part.error(e))
    }

    /// Moves a point by corrections of positions and velocities, closes the part's own constraints and linearizes it again.
    fn moved(&mut self, trial: &mut CorrectedPoint, dq: &[f64], dv: &[f64]) -> Result<(), PartError> {
        let system = self.part.system.clone();
        let m = system.layout().m();
        system.retract(1.0, &mut trial.point.q, dq);
        plus(&mut trial.point.v, 1.0, dv);
        for _ in 0..if m > 0 { ROUNDS } else { 0 } {
            self.realize(&mut trial.point);
            let mut gaps = vec![0.0; m];
            add_position_residual(&*system, 1.0, &trial.point, &mut self.w, &mut gaps);
            if gaps.iter().all(|g| g.abs() <= CLOSED * system.length()) {
                break;
            }
            system.retract(-1.0, &mut trial.point.q, &trial.at.inverse.apply(&gaps));
        }
        self.realize(&mut trial.point);
        trial.at = self.equations(&trial.window, &trial.point)?;
        let mut rates = vec![0.0; m];
        add_velocity_residual(&*system, 1.0, &trial.point, &mut self.w, &mut rates);
        if rates.iter().any(|r| *r != 0.0) {
            plus(&mut trial.point.v, -1.0, &trial.at.inverse.apply(&rates));
            self.realize(&mut trial.point);
            trial.at = self.equations(&trial.window, &trial.point)?;
        }
        Ok(())
    }

    /// Φ̈ of the part's own constraints.
    fn own_accelerations(&mut self, point: &Point) -> Vec<f64> {
        let mut out = vec![0.0; self.part.system.layout().m()];
        self.part.system.add(1.0, Piece::Acceleration, point, &mut self.w, &mut out);
        out
    }

    /// GL-DYN: Δâ under these loads.
    fn free(&mut self, trial: &mut CorrectedPoint, loads: &[f64]) -> Result<(), PartError> {
        let opening = self.own_accelerations(&trial.point);
        let at = &trial.at;
        let mut f = at.ports.transpose().apply(loads);
        plus(&mut f, -1.0, &at.rest);
        trial.free = at.solved(&at.tangent, &f, &opening).map_err(|e| self.part.error(e))?;
        Ok(())
    }

    /// GL-ACC, and Δq and Δv that follow: the accelerations change by loads on the ports, through M and through K̄.
    fn accelerated(&mut self, trial: &mut CorrectedPoint, loads: &[f64], stiff: &[f64]) -> Result<(), PartError> {
        let mut change = std::mem::take(&mut trial.free);
        if change.iter().all(|x| *x == 0.0) {
            // nothing was out of balance: what the part itself misses is left to Gauss's principle
            let opening = self.own_accelerations(&trial.point);
            let at = &trial.at;
            change = at.solved(&at.mass, &vec![0.0; change.len()], &opening).map_err(|e| self.part.error(e))?;
        }
        let by = if self.naive { &trial.at.by_shift } else { &trial.at.by_load };
        plus(&mut change, 1.0, &by.apply(loads));
        plus(&mut change, 1.0, &trial.at.by_tangent.apply(stiff));
        trial.free = vec![0.0; change.len()];
        plus(&mut trial.point.vdot, 1.0, &change);
        let h = trial.window.length();
        let scaled = |c: f64| change.iter().map(|x| c * x).collect::<Vec<f64>>();
        self.moved(trial, &scaled(h * h * BETA), &scaled(h * GAMMA))
    }

    /// What the coordinator is told of a point; `whole` with how the ports follow.
    fn told(&mut self, trial: &CorrectedPoint, whole: bool) -> Result<Corrected, PartError> {
        let (mut point, system) = (trial.point.clone(), self.part.system.clone());
        plus(&mut point.vdot, 1.0, &trial.free);
        let ports = self.part.ports.iter().map(|p| p.motion(&system, &point, &self.w)).collect();
        let response = PartResponse { ports, admittance: None, error: 0.0, rough: false };
        if !whole {
            return Ok(Corrected { response, imbalance: Vec::new() });
        }
        let (imbalance, left) = trial.at.imbalance().map_err(|e| self.part.error(e))?;
        let (scales, length) = (system.scales(), system.length());
        let size = |(x, scale): (&f64, &Scale)| if *scale == Scale::Angle { length * x.abs() } else { x.abs() };
        let most = |x: &mut dyn Iterator<Item = f64>| x.fold(0.0f64, |m, x| if x.is_nan() { x } else { m.max(x) });
        let left = most(&mut left.iter().zip(&scales).map(size));
        let opening = most(&mut self.own_accelerations(&trial.point).iter().map(|x| x.abs()));
        let response = PartResponse { admittance: Some(trial.at.admittance()), error: left.max(opening), ..response };
        Ok(Corrected { response, imbalance })
    }
}

impl Subdomain for GaussPart {
    fn description(&self) -> &Description {
        &self.part.description
    }

    fn begin(&mut self, loads: &[f64]) -> Result<PartResponse, PartError> {
        self.trial = None;
        self.part.accelerate(loads, &mut self.kkt, &mut self.state.committed.point, &mut self.w)
    }

    fn attempt(&mut self, _: &Window, _: &[f64], _: &[f64], _: bool) -> Result<PartResponse, PartError> {
        Err(self.part.error("is glued by corrections of its trial, and a window cannot be tried at once"))
    }

    fn correct(
        &mut self,
        window: &Window,
        step: Correction,
        loads: &[f64],
        shifts: &[f64],
    ) -> Result<Corrected, PartError> {
        for numbers in [loads, shifts] {
            self.part.check_width(numbers)?;
        }
        let mut trial = match (step, self.trial.take()) {
            (Correction::Predict, _) => self.predicted(window)?,
            (_, Some(trial)) if trial.window == *window => trial,
            _ => return Err(self.part.error("was not asked to predict the window that it is to correct")),
        };
        match step {
            Correction::Predict => {}
            Correction::Dynamics => self.free(&mut trial, loads)?,
            Correction::Acceleration => self.accelerated(&mut trial, loads, shifts)?,
            Correction::Position => {
                let (dq, dv) = (trial.at.by_shift.apply(shifts), trial.at.by_shift.apply(loads));
                self.moved(&mut trial, &dq, &dv)?;
            }
        }
        let told = self.told(&trial, step != Correction::Dynamics);
        self.trial = Some(trial);
        told
    }

    fn stop(&mut self, until: f64, length: f64) -> f64 {
        self.part.stop(&self.state.committed.state, until, length)
    }

    fn due(&mut self, until: f64) -> Option<Break> {
        self.part.due(&self.state.committed.state, until)
    }

    fn jumps(&mut self, after: f64) -> Result<bool, PartError> {
        self.part.jumps(&self.state.committed.state, after, &mut self.kkt, &mut self.w)
    }

    fn pass(&mut self, after: f64, anew: bool) -> Result<(), PartError> {
        let c = &mut self.state.committed;
        (c.state.t, c.point.t) = (after, after);
        if anew {
            c.acceleration = None;
        }
        self.trial = None;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), PartError> {
        let Some(CorrectedPoint { mut point, .. }) = self.trial.take() else {
            return Err(self.part.error("has nothing to commit"));
        };
        let c = &mut self.state.committed;
        point.store(&mut c.state);
        settle(&self.part.system, 0.0, &mut c.state, &mut point, &mut self.w);
        c.acceleration = Some(point.vdot.clone());
        c.point = point;
        Ok(())
    }

    fn save(&mut self) -> Result<(), PartError> {
        self.state.save();
        Ok(())
    }

    fn restore(&mut self) -> Result<(), PartError> {
        self.trial = None;
        self.part.forget_breaks();
        self.state.restore(&self.part)
    }

    fn channels(&self) -> Vec<Channel> {
        self.part.system.channels()
    }

    fn state(&mut self) -> Result<Vec<u8>, PartError> {
        Ok(self.state.write(&self.part))
    }

    fn set_state(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        self.state.read(&self.part, bytes, Accepted::fits)?;
        self.part.forget_breaks();
        self.trial = None;
        Ok(())
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        self.part.observe(&self.state.committed.point, &mut self.w, out);
        Ok(())
    }
}
