//! The equations of motion, linearized about a state on the manifold of the constraints.
//!
//! Displacements δ and velocities ν of the perturbed motion fulfil G_h δ = 0 (holonomic rows) and
//! G ν + (G v)_q δ = 0 (all rows), so that
//!
//! ```text
//!     δ = S y,   ν = S_v u + P y,      SᵀMS = 1,  S_vᵀMS_v = 1,  S_vᵀMP = 0
//!     y′ = SᵀMν − K y
//!     u′ = S_vᵀ[(f_q − (Gᵀλ)_q)δ + (f_v + MC)ν + f_z ζ] − K_v u + (P_vᵀMP + S_vᵀṀP) y
//!     ζ′ = φ_q δ + φ_v ν + φ_z ζ
//! ```
//!
//! S and S_v span the null spaces of G_h and of G; where no row is nonholonomic they are the same (a drive of
//! a rate leaves no freedom: its coordinate is taken as given). The
//! primes are rates seen from the world: rotations are perturbed in the body's frame, where δ̇ = ν − Cδ
//! with Cδ = ω × δ, and so the whirl of a shaft comes out as an observer beside it counts it. The bases
//! follow the motion without turning in their own span (DS = P + S K with K = −½SᵀṀS). The matrix is
//! constant, and its eigenvalues are exact, about a state at rest and about a steady motion that looks
//! the same at all times from the world (shafts, wheels); about any other motion it is that of the instant.
//!
//! Redundant rows are harmless: only the null space of G enters, and the curvature (Gᵀλ)_q on it is the
//! same for every choice of the multipliers.

use bellcrank_math::linear::matrix::{Eigenpair, Matrix};
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::dynamics::{Scale, Targets};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};
use std::fmt;

/// The matrices are dense: more coordinates than this take too long, and too much memory.
pub const MOST_COORDINATES: usize = 4000;

/// Rows of G below this part of the largest, after scaling, are redundant.
const REDUNDANT: f64 = 1e-9;

/// A mass below this part of the largest is none.
const MASSLESS: f64 = 1e-13;

/// Why a model cannot be linearized.
#[derive(Clone, Debug, PartialEq)]
pub enum LinearizationError {
    /// It has too many coordinates for dense matrices.
    TooLarge {
        /// How many it has.
        coordinates: usize,
    },
    /// A free motion without inertia.
    Massless {
        /// The body that moves most in it.
        name: String,
    },
    /// A load follows multipliers, which the perturbed motion changes in a way that is not looked at.
    Follows {
        /// Whose load it is.
        name: String,
    },
    /// The algebra failed.
    Linear(LinearError),
}

impl fmt::Display for LinearizationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinearizationError::TooLarge { coordinates } => write!(
                f,
                "the model has {coordinates} coordinates; modes are computed with dense matrices, for up to \
                 {MOST_COORDINATES}\nhelp: take a part of the model, or look at a run (bellcrank run) in frequency"
            ),
            LinearizationError::Massless { name } => write!(
                f,
                "a degree of freedom has no mass: {name} moves in it\n\
                 help: give it a mass and an inertia, or hold it by a joint"
            ),
            LinearizationError::Follows { name } => write!(
                f,
                "{name} has friction that follows a reaction, and slides: the equations about such a motion are not linearized\n\
                 help: look at a state at rest, or give the level of the friction"
            ),
            LinearizationError::Linear(e) => write!(f, "the linearization failed: {e}"),
        }
    }
}

impl std::error::Error for LinearizationError {}

impl From<LinearError> for LinearizationError {
    fn from(e: LinearError) -> LinearizationError {
        LinearizationError::Linear(e)
    }
}

/// The equations of motion about a state, in the least number of unknowns.
#[derive(Clone, Debug)]
pub struct Linearization {
    /// S: the directions of the displacements, by columns.
    pub directions: Matrix,
    /// S_v: the directions of the velocities, by columns.
    pub velocities: Matrix,
    /// P: the velocities that a displacement of a moving state takes along.
    pub transport: Matrix,
    /// −Sᵀ(f_q − (Gᵀλ)_q)S, mass-normalized: its eigenvalues are the squares of the frequencies where nothing damps.
    pub stiffness: Matrix,
    /// (y, u, ζ)′ = A (y, u, ζ).
    pub matrix: Matrix,
    /// Freedoms of displacement, freedoms of velocity, first-order states.
    pub counts: (usize, usize, usize),
    /// Whether `stiffness` says it all: at rest, undamped, conservative.
    pub conservative: bool,
    /// Whether nothing moves.
    pub at_rest: bool,
}

/// Pieces of the equations at a point, as dense matrices.
struct DensePieces<'a> {
    dynamics: &'a dyn Dynamics,
    w: Workspace,
}

impl DensePieces<'_> {
    fn derivative(&mut self, piece: Piece, wrt: Unknown, slopes: Slopes, at: &Point) -> Matrix {
        let layout = self.dynamics.layout();
        let (rows, columns) = (layout.rows(piece), layout.columns(wrt));
        let pattern = self.dynamics.pattern(piece, wrt);
        let mut offsets = Vec::with_capacity(pattern.len());
        let mut size = 0;
        for &(r, c) in &pattern {
            offsets.push(size as u32);
            size += rows[r as usize].len() * columns[c as usize].len();
        }
        let mut buffer = vec![0.0; size];
        let mut out = Targets::new(&mut buffer, &offsets);
        self.dynamics.add_derivative(1.0, piece, wrt, slopes, at, &mut self.w, &mut out);
        let end = |ranges: &[std::ops::Range<usize>]| ranges.last().map_or(0, |r| r.end);
        let mut dense = Matrix::zeros(end(rows), end(columns));
        for (&(r, c), &at) in pattern.iter().zip(&offsets) {
            let (r, c) = (rows[r as usize].clone(), columns[c as usize].clone());
            for (i, row) in r.enumerate() {
                for (j, column) in c.clone().enumerate() {
                    *dense.at_mut(row, column) += buffer[at as usize + i * c.len() + j];
                }
            }
        }
        dense
    }

    fn at_once(&mut self, piece: Piece, wrt: Unknown, at: &Point) -> Matrix {
        self.derivative(piece, wrt, Slopes::default(), at)
    }

    /// (G v)_q for the v of the point, all rows.
    fn drift(&mut self, at: &Point) -> Matrix {
        let (positions, rates) = (
            self.at_once(Piece::Position, Unknown::Q, at), // of nonholonomic rows
            self.at_once(Piece::Velocity, Unknown::Q, at), // of holonomic ones
        );
        let layout = self.dynamics.layout();
        let mut out = positions;
        for (to, from) in layout.constraints.iter().zip(&layout.rates).filter(|(_, r)| !r.is_empty()) {
            for (i, k) in to.clone().zip(from.clone()) {
                let n = out.columns;
                out.values[i * n..(i + 1) * n].copy_from_slice(rates.row(k));
            }
        }
        out
    }

    /// C with δ̇ + Cδ = ν: T_q[Nδ]q̇ − T_q[q̇]Nδ, block by block.
    fn bracket(&mut self, at: &Point) -> Matrix {
        let bodies = self.dynamics.layout().bodies.clone();
        let mut out = self.at_once(Piece::Rate, Unknown::Q, at);
        let widest = bodies.iter().map(|b| b.len()).max().unwrap_or(0);
        let mut p = at.clone();
        for j in 0..widest {
            let mut unit = vec![0.0; at.q.len()];
            bodies.iter().filter(|b| j < b.len()).for_each(|b| unit[b.start + j] = 1.0);
            self.dynamics.rates(&at.q, &unit, &mut p.qdot);
            let back = self.at_once(Piece::Rate, Unknown::Q, &p);
            for b in bodies.iter().filter(|b| j < b.len()) {
                for i in b.clone() {
                    let turned: f64 = b.clone().map(|k| back.at(i, k) * at.v[k]).sum();
                    *out.at_mut(i, b.start + j) -= turned;
                }
            }
        }
        out
    }
}

/// What one unit of every coordinate weighs: angles by the length of the model.
pub(crate) fn units(dynamics: &dyn Dynamics) -> Vec<f64> {
    let length = dynamics.length();
    dynamics.scales().iter().map(|s| if *s == Scale::Angle { 1.0 / length } else { 1.0 }).collect()
}

/// Rates below this are rounding, in 1/s: of angles, and of lengths relative to that of the model.
const STILL: f64 = 1e-12;

/// Whether anything moves at a point, beyond what rounding leaves of drives and tables that stand still.
pub fn moves(dynamics: &dyn Dynamics, at: &Point) -> bool {
    let units = units(dynamics);
    at.v.iter().zip(&units).any(|(v, unit)| v.abs() / unit > STILL * dynamics.length())
}

/// A basis of the null space of some rows of G, in coordinates of like weight, orthonormal there.
fn free_directions(g: &Matrix, units: &[f64], chosen: impl Fn(usize) -> bool) -> Result<Matrix, LinearError> {
    let mut rows: Vec<f64> = Vec::new();
    for i in (0..g.rows).filter(|i| chosen(*i)) {
        let row: Vec<f64> = g.row(i).iter().zip(units).map(|(g, u)| g * u).collect();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 0.0 {
            rows.extend(row.iter().map(|x| x / norm));
        }
    }
    let scaled = Matrix { rows: rows.len() / g.columns.max(1), columns: g.columns, values: rows };
    let mut basis = scaled.null_space(REDUNDANT)?;
    for i in 0..basis.rows {
        (0..basis.columns).for_each(|j| *basis.at_mut(i, j) *= units[i]);
    }
    Ok(basis)
}

/// S with SᵀMS = 1 in the span of a basis.
fn normalized(dynamics: &dyn Dynamics, mass: &Matrix, basis: &Matrix) -> Result<Matrix, LinearizationError> {
    let (values, vectors) = basis.transpose_times(&mass.times(basis)).symmetric_eigen()?;
    let largest = values.iter().fold(0.0f64, |m, x| m.max(*x));
    if let Some(k) = values.iter().position(|x| *x <= MASSLESS * largest || *x <= 0.0) {
        let direction = basis.apply(&vectors.column(k));
        let units = units(dynamics);
        let size = |b: &std::ops::Range<usize>| b.clone().map(|i| (direction[i] / units[i]).abs()).fold(0.0, f64::max);
        let bodies = &dynamics.layout().bodies;
        let worst = (0..bodies.len()).max_by(|a, b| size(&bodies[*a]).total_cmp(&size(&bodies[*b])));
        return Err(LinearizationError::Massless {
            name: worst.map_or_else(String::new, |b| dynamics.name(Unknown::Q, b)),
        });
    }
    let scaled = Matrix::from_fn(vectors.rows, vectors.columns, |i, j| vectors.at(i, j) / values[j].sqrt());
    Ok(basis.times(&scaled))
}

/// What a motion adds to a linearization: how mass and free directions change along it.
struct Transport {
    /// C with C w the change of v along w in charts that turn with the bodies.
    bracket: Matrix,
    /// Ṁ.
    mass_rate: Matrix,
    /// The velocities that displacements along S bring with them, M-orthogonal to the free ones.
    particular: Matrix,
    /// The same for velocities along S_v.
    transported: Matrix,
}

impl Transport {
    fn new(
        dense: &mut DensePieces,
        at: &Point,
        [g, mass, s, s_v]: [&Matrix; 4],
        plain: bool,
    ) -> Result<Transport, LinearizationError> {
        let bracket = dense.bracket(at);
        let mass_rate = bracket.times(mass).plus(1.0, &mass.times(&bracket.transpose()));
        // G x = b with x M-orthogonal to S_v
        let inverse = g.pseudo_inverse(REDUNDANT)?;
        let solve = |b: &Matrix| {
            let x = inverse.times(b);
            let inside = s_v.transpose_times(&mass.times(&x));
            Matrix::zeros(x.rows, b.columns).plus(-1.0, &x).plus(1.0, &s_v.times(&inside))
        };
        let particular = solve(&dense.drift(at).times(s));
        if plain {
            return Ok(Transport { transported: particular.clone(), bracket, mass_rate, particular });
        }
        // (Ġ − GC) S_v, column by column
        let turned = g.times(&bracket.times(s_v));
        let mut p = at.clone();
        let mut rates = Matrix::zeros(g.rows, s_v.columns);
        for j in 0..s_v.columns {
            p.v = s_v.column(j);
            let column = dense.drift(&p).apply(&at.v);
            (0..g.rows).for_each(|i| *rates.at_mut(i, j) = column[i] - turned.at(i, j));
        }
        Ok(Transport { transported: solve(&rates), bracket, mass_rate, particular })
    }
}

/// Writes a block into a matrix.
fn set(matrix: &mut Matrix, row: usize, column: usize, block: &Matrix) {
    for i in 0..block.rows {
        for j in 0..block.columns {
            *matrix.at_mut(row + i, column + j) = block.at(i, j);
        }
    }
}

/// The linearization about a point with its v̇ and λ.
pub fn linearize(dynamics: &dyn Dynamics, at: &Point) -> Result<Linearization, LinearizationError> {
    if let Some(name) = dynamics.may_follow() {
        let mut dense = DensePieces { dynamics, w: dynamics.workspace() };
        dynamics.realize(at, &mut dense.w);
        if dense.at_once(Piece::Force, Unknown::Lambda, at).largest() > 0.0 {
            return Err(LinearizationError::Follows { name: name.to_string() });
        }
    }
    linearize_with_loads_as_they_are(dynamics, at)
}

/// The same with loads that follow multipliers as they are at the point: an estimate, where there are any.
pub(crate) fn linearize_with_loads_as_they_are(
    dynamics: &dyn Dynamics,
    at: &Point,
) -> Result<Linearization, LinearizationError> {
    let (layout, n) = (dynamics.layout(), dynamics.layout().n());
    if n > MOST_COORDINATES {
        return Err(LinearizationError::TooLarge { coordinates: n });
    }
    let mut dense = DensePieces { dynamics, w: dynamics.workspace() };
    dynamics.realize(at, &mut dense.w);
    let g = dense.at_once(Piece::GtLambda, Unknown::Lambda, at).transpose();
    let mass = dense.derivative(Piece::MassAccel, Unknown::V, Slopes { v: 1.0, ..Slopes::default() }, at);
    let stiff = dense
        .at_once(Piece::Force, Unknown::Q, at)
        .plus(-1.0, &dense.at_once(Piece::GtLambda, Unknown::Q, at))
        .plus(-1.0, &dense.at_once(Piece::MassAccel, Unknown::Q, at));
    let mut damping = dense.at_once(Piece::Force, Unknown::V, at);
    let units = units(dynamics);
    let mut holonomic = vec![true; layout.m()];
    for (_, rows) in layout.constraints.iter().enumerate().filter(|(k, _)| !dynamics.integrable(*k)) {
        holonomic[rows.clone()].fill(false);
    }
    let s = normalized(dynamics, &mass, &free_directions(&g, &units, |i| holonomic[i])?)?;
    let plain = holonomic.iter().all(|h| *h);
    let s_v = match plain {
        true => s.clone(),
        false => normalized(dynamics, &mass, &free_directions(&g, &units, |_| true)?)?,
    };
    let moving = moves(dynamics, at);
    let (d, d_v, nz) = (s.columns, s_v.columns, layout.nz());
    let stiff_s = stiff.times(&s);
    let stiffness = Matrix::zeros(d, d).plus(-1.0, &s.transpose_times(&stiff_s));

    // rows and columns of A: y, u, ζ
    let mut a = Matrix::zeros(d + d_v + nz, d + d_v + nz);
    let mass_s = mass.times(&s);
    set(&mut a, 0, d, &mass_s.transpose_times(&s_v));
    let mut by_y = s_v.transpose_times(&stiff_s);
    let mut particular = Matrix::zeros(n, d);
    let mut by_u_more = Matrix::zeros(d_v, d_v);
    if moving {
        let found = Transport::new(&mut dense, at, [&g, &mass, &s, &s_v], plain)?;
        damping = damping.plus(1.0, &mass.times(&found.bracket));
        by_y = by_y
            .plus(1.0, &found.transported.transpose_times(&mass.times(&found.particular)))
            .plus(1.0, &s_v.transpose_times(&found.mass_rate.times(&found.particular)))
            .plus(1.0, &s_v.transpose_times(&damping.times(&found.particular)));
        by_u_more = by_u_more.plus(0.5, &s_v.transpose_times(&found.mass_rate.times(&s_v)));
        let rate_s = s.transpose_times(&found.mass_rate.times(&s));
        set(&mut a, 0, 0, &mass_s.transpose_times(&found.particular).plus(0.5, &rate_s));
        particular = found.particular;
    }
    let by_u = s_v.transpose_times(&damping.times(&s_v)).plus(1.0, &by_u_more);
    set(&mut a, d, 0, &by_y);
    set(&mut a, d, d, &by_u);
    if nz > 0 {
        let flow_v = dense.at_once(Piece::Flow, Unknown::V, at);
        set(&mut a, d, d + d_v, &s_v.transpose_times(&dense.at_once(Piece::Force, Unknown::Z, at)));
        let by_y = dense.at_once(Piece::Flow, Unknown::Q, at).times(&s).plus(1.0, &flow_v.times(&particular));
        set(&mut a, d + d_v, 0, &by_y);
        set(&mut a, d + d_v, d, &flow_v.times(&s_v));
        set(&mut a, d + d_v, d + d_v, &dense.at_once(Piece::Flow, Unknown::Z, at));
    }
    let conservative = !moving
        && plain
        && nz == 0
        && by_u.largest() == 0.0
        && stiffness.asymmetry() <= SYMMETRIC * stiffness.largest();
    let (velocities, transport) = (s_v, particular);
    Ok(Linearization {
        directions: s,
        velocities,
        transport,
        stiffness,
        matrix: a,
        counts: (d, d_v, nz),
        conservative,
        at_rest: !moving,
    })
}

/// What rounding leaves of the symmetry of a stiffness.
const SYMMETRIC: f64 = 1e-10;

impl Linearization {
    /// Whether the signs of the stiffness decide on stability: at rest, without states or rolling, and symmetric.
    pub fn by_stiffness(&self) -> bool {
        let (d, d_v, nz) = self.counts;
        self.at_rest && nz == 0 && d == d_v && self.stiffness.asymmetry() <= SYMMETRIC * self.stiffness.largest()
    }

    /// The eigenvalues of the reduced stiffness, ascending; complex ones (of follower loads) by their real
    /// part, with `false` if there are any.
    pub fn stiffness_eigenvalues(&self) -> Result<(Vec<f64>, bool), LinearError> {
        if self.stiffness.asymmetry() <= SYMMETRIC * self.stiffness.largest() {
            return Ok((self.stiffness.symmetric_eigen()?.0, true));
        }
        let pairs = self.stiffness.eigen()?;
        let real = pairs.iter().all(|p| p.value.1 <= 1e-9 * (p.value.0.abs() + p.value.1));
        let mut values: Vec<f64> =
            pairs.iter().flat_map(|p| vec![p.value.0; if p.value.1 > 0.0 { 2 } else { 1 }]).collect();
        values.sort_by(f64::total_cmp);
        Ok((values, real))
    }

    /// Eigenvalues of A with the displacements y and states ζ of their eigenvectors, of conjugate pairs
    /// only one. The eigenvectors are those of (y, ζ).
    pub fn eigen(&self) -> Result<Vec<Eigenpair>, LinearError> {
        let (d, d_v, nz) = self.counts;
        if self.conservative {
            // ω² of the symmetric problem: a double zero stays one
            let (values, vectors) = self.stiffness.symmetric_eigen()?;
            let largest = values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let mut out = Vec::new();
            for (k, value) in values.into_iter().enumerate() {
                let (re, im) = (vectors.column(k), vec![0.0; d]);
                let mut push = |value| out.push(Eigenpair { value, re: re.clone(), im: im.clone() });
                match value {
                    x if x.abs() <= ZERO * largest => push((0.0, 0.0)),
                    x if x > 0.0 => push((0.0, x.sqrt())),
                    x => [1.0, -1.0].iter().for_each(|sign| push((sign * (-x).sqrt(), 0.0))),
                }
            }
            return Ok(out);
        }
        // u in units of a typical frequency, so that both halves of A are of one size
        let block = |row: usize, rows: usize| {
            (row..row + rows).flat_map(|i| self.matrix.row(i)[..d].iter()).fold(0.0f64, |m, x| m.max(x.abs()))
        };
        let omega = block(d, d_v).sqrt();
        let omega = if omega > 0.0 { omega.log2().round().exp2() } else { 1.0 };
        let size = d + d_v + nz;
        let mut units: Vec<f64> = (0..size).map(|i| if (d..d + d_v).contains(&i) { omega } else { 1.0 }).collect();
        balance_states(&self.matrix, d + d_v, &mut units);
        let scaled = Matrix::from_fn(size, size, |i, j| self.matrix.at(i, j) * units[j] / units[i]);
        let mut pairs = deflated(&scaled, true)?;
        for p in &mut pairs {
            for part in [&mut p.re, &mut p.im] {
                let states = part.split_off(d + d_v);
                part.truncate(d);
                part.extend(states.iter().zip(&units[d + d_v..]).map(|(x, unit)| x * unit));
            }
        }
        Ok(pairs)
    }
}

/// Units of the states in which each acts on the others as much as they act on it, as powers of two: a pressure in Pa would hide
/// all else behind its size [Parlett & Reinsch 1969].
fn balance_states(a: &Matrix, first: usize, units: &mut [f64]) {
    const PASSES: usize = 4;
    let size = units.len();
    for i in (0..PASSES).flat_map(|_| first..size) {
        let others = (0..size).filter(|j| *j != i);
        let sizes = others.map(|j| [a.at(i, j).abs() * units[j], a.at(j, i).abs() / units[j]]);
        let [feels, acts] = sizes.fold([0.0f64; 2], |m, s| [m[0].max(s[0]), m[1].max(s[1])]);
        if feels > 0.0 && acts > 0.0 {
            units[i] = (feels / acts).sqrt().log2().round().exp2();
        }
    }
}

/// An oscillation that loses less than this part of itself in a radian, −Re λ/|λ|, goes on and on: steps have to follow it.
pub const DAMPED: f64 = 0.05;

/// Eigenvalues of at least this part of the largest are among the fastest.
const FASTEST: f64 = 0.5;

/// The fastest motions about a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fastest {
    /// The largest |λ|, in 1/s.
    pub rate: f64,
    /// The largest −Re λ/|λ| among the fastest: 0 for an oscillation that nothing damps, 1 for what creeps to rest.
    pub damping: f64,
}

impl Linearization {
    /// The fastest motions, where anything moves.
    pub fn fastest(&self) -> Option<Fastest> {
        let values: Vec<(f64, f64)> = self.eigen().ok()?.into_iter().map(|p| p.value).collect();
        let size = |(re, im): (f64, f64)| re.hypot(im);
        let rate = values.iter().map(|v| size(*v)).fold(0.0, f64::max);
        let fast = values.into_iter().filter(|v| rate > 0.0 && size(*v) >= FASTEST * rate);
        fast.map(|v| -v.0 / size(v)).max_by(f64::total_cmp).map(|damping| Fastest { rate, damping })
    }
}

/// Below this part of the largest, rows and columns of A are zero.
const NOTHING: f64 = 1e-12;

/// Eigenvalues with the zero ones split off: A Z = 0, and the rest acts on the complement Q of Z as QᵀAQ.
/// So that cyclic coordinates, whose zeros are double or triple, come out as zeros and not as roots of the
/// rounding. A zero that is double because what moves freely keeps its speed is one motion, and told once.
fn deflated(a: &Matrix, first: bool) -> Result<Vec<Eigenpair>, LinearError> {
    let n = a.rows;
    let z = if n == 0 { Matrix::zeros(0, 0) } else { a.null_space(NOTHING)? };
    if z.columns == 0 {
        return a.eigen();
    }
    let zeros =
        (0..z.columns).filter(|_| first).map(|k| Eigenpair { value: (0.0, 0.0), re: z.column(k), im: vec![0.0; n] });
    if z.columns == n {
        return Ok(zeros.collect());
    }
    let q = z.transpose().null_space(NOTHING)?;
    let aq = a.times(&q);
    let coupling = z.transpose_times(&aq);
    let mut out: Vec<Eigenpair> = zeros.collect();
    for p in deflated(&q.transpose_times(&aq), false)? {
        let (mut re, mut im) = (q.apply(&p.re), q.apply(&p.im));
        let (x, y) = p.value;
        let size = x * x + y * y;
        if size > 0.0 {
            // the part along Z: ZᵀAQ x/λ
            let (a, b) = (coupling.apply(&p.re), coupling.apply(&p.im));
            let along: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a * x + b * y) / size).collect();
            let across: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (b * x - a * y) / size).collect();
            re.iter_mut().zip(z.apply(&along)).for_each(|(r, w)| *r += w);
            im.iter_mut().zip(z.apply(&across)).for_each(|(i, w)| *i += w);
        }
        out.push(Eigenpair { value: p.value, re, im });
    }
    Ok(out)
}

/// ω² below this part of the largest is that of a motion nothing drives back.
const ZERO: f64 = 1e-13;
