//! The one linear system behind accelerations, reactions and projections:
//!
//! ```text
//!     [ M  Gᵀ ] [ a ]   [ f ]
//!     [ G  0  ] [ λ ] = [ γ ]
//! ```

use crate::splitting::{SparseRow, Split};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::dense::DenseLu;
use bellcrank_math::linear::solver::{self, Flops, LinearError, LinearSolver};
use bellcrank_math::random::Xorshift;
use bellcrank_model::dynamics::{Scale, Targets};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

/// M, G and their factors at a point.
pub struct Kkt {
    dynamics: Arc<dyn Dynamics>,
    matrix: BlockMatrix,
    linear: Box<dyn LinearSolver>,
    mass: Vec<u32>,
    /// Where Gᵀ goes, and where its transpose.
    columns: Vec<u32>,
    rows: Vec<(u32, u32, u32, u32)>,
    rhs: Vec<f64>,
    n: usize,
    /// Whether the equations are those of a tree, and a recursion stands for the matrix.
    recursive: bool,
    /// In the place of M: one for independent coordinates, zero for dependent ones.
    independent: Option<Vec<f64>>,
    /// Factorizations so far.
    pub factorizations: usize,
}

/// What solves a system of accelerations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// A recursion where the equations have one, else elimination.
    #[default]
    Cheapest,
    /// Elimination of the matrix.
    Elimination,
    /// Dense LU of the matrix.
    Dense,
}

/// One system for several who use it in turn, each from factors of its own to the end; it is analyzed when it is first
/// needed.
#[derive(Clone)]
pub struct SharedKkt {
    dynamics: Arc<dyn Dynamics>,
    by: By,
    kkt: Arc<Mutex<Option<Kkt>>>,
}

impl SharedKkt {
    /// The system of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>) -> SharedKkt {
        SharedKkt::by(dynamics, By::Cheapest)
    }

    /// The same, solved as asked.
    pub fn by(dynamics: Arc<dyn Dynamics>, by: By) -> SharedKkt {
        SharedKkt { dynamics, by, kkt: Arc::default() }
    }

    /// Whether it is solved by dense LU.
    pub fn is_dense(&self) -> bool {
        self.by == By::Dense
    }

    /// The system of other equations, solved in the same way.
    pub fn of(&self, dynamics: Arc<dyn Dynamics>) -> SharedKkt {
        SharedKkt::by(dynamics, self.by)
    }

    /// The system, until the guard is gone.
    pub fn lock(&self) -> KktGuard<'_> {
        let mut guard = self.kkt.lock().unwrap_or_else(|e| e.into_inner());
        guard.get_or_insert_with(|| match self.by {
            By::Cheapest => Kkt::new(self.dynamics.clone()),
            By::Elimination => Kkt::made(self.dynamics.clone(), false, false),
            By::Dense => Kkt::dense(self.dynamics.clone()),
        });
        KktGuard(guard)
    }
}

/// A [`SharedKkt`] in use.
pub struct KktGuard<'a>(MutexGuard<'a, Option<Kkt>>);

impl Deref for KktGuard<'_> {
    type Target = Kkt;
    fn deref(&self) -> &Kkt {
        self.0.as_ref().unwrap_or_else(|| unreachable!("made when it was locked"))
    }
}

impl DerefMut for KktGuard<'_> {
    fn deref_mut(&mut self) -> &mut Kkt {
        self.0.as_mut().unwrap_or_else(|| unreachable!("made when it was locked"))
    }
}

/// From so many bodies on symmetric elimination spares half of the memory. Close to singular positions it is less exact
/// (square chain, pivots below 1e-6: the residual calls for pivoting, which knows no pivots of multipliers).
const LARGE: u32 = 64;

/// Up to this dimension the system of a split is solved with pivoting on the dense matrix, to round-off.
const SMALL: usize = 300;

/// Above, dependent coordinates weigh this much, and the multipliers are as exact.
const LIGHT: f64 = 1e-9;

impl Kkt {
    /// The system of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>) -> Kkt {
        let recursive = dynamics.recursive();
        Kkt::made(dynamics, false, recursive)
    }

    /// The system for [`Self::least_multipliers`], with blocks for the multipliers on the diagonal too.
    pub fn proximal(dynamics: Arc<dyn Dynamics>) -> Kkt {
        let recursive = dynamics.recursive();
        Kkt::made(dynamics, true, recursive)
    }

    fn made(dynamics: Arc<dyn Dynamics>, whole_diagonal: bool, recursive: bool) -> Kkt {
        let layout = dynamics.layout();
        let bodies = layout.bodies.len() as u32;
        let sizes: Vec<usize> = layout.bodies.iter().chain(&layout.constraints).map(|r| r.len()).collect();
        let classes = (0..sizes.len()).map(|i| if i < bodies as usize { Class::Body } else { Class::Multiplier });
        let mass_pairs = if recursive { Vec::new() } else { dynamics.pattern(Piece::MassAccel, Unknown::V) };
        let column_pairs: Vec<(u32, u32)> =
            dynamics.pattern(Piece::GtLambda, Unknown::Lambda).into_iter().map(|(b, k)| (b, bodies + k)).collect();
        let last = if whole_diagonal { sizes.len() as u32 } else { bodies };
        let diagonal = (0..last).map(|i| (i, i));
        let transposed = column_pairs.iter().map(|&(b, k)| (k, b));
        let entries = mass_pairs.iter().copied().chain(column_pairs.iter().copied()).chain(transposed).chain(diagonal);
        let pattern = Arc::new(BlockPattern::new(sizes, classes.collect(), entries.collect()));
        let offset = |&(r, c): &(u32, u32)| pattern.offset(r as usize, c as usize);
        let mass = mass_pairs.iter().filter_map(offset).collect();
        let columns: Vec<u32> = column_pairs.iter().filter_map(offset).collect();
        let rows = column_pairs
            .iter()
            .zip(&columns)
            .filter_map(|(&(b, k), &from)| {
                let to = pattern.offset(k as usize, b as usize)?;
                Some((from, to, pattern.size(b as usize) as u32, pattern.size(k as usize) as u32))
            })
            .collect();
        let linear = if bodies < LARGE { solver::choose(&pattern) } else { solver::choose_symmetric(&pattern) };
        let rhs = vec![0.0; pattern.dimension()];
        let n = layout.n();
        let matrix = BlockMatrix::new(pattern);
        Kkt { matrix, linear, mass, columns, rows, rhs, n, recursive, independent: None, factorizations: 0, dynamics }
    }

    /// How its systems are solved and why, for people.
    pub fn explain(&self) -> String {
        match self.recursive {
            true => "recursion from the leaves of the tree to its root (no loops)".into(),
            false => self.linear.explain(),
        }
    }

    /// The system, solved by dense LU.
    pub fn dense(dynamics: Arc<dyn Dynamics>) -> Kkt {
        let mut kkt = Kkt::made(dynamics, false, false);
        let mut dense = DenseLu::new();
        if dense.analyze(kkt.matrix.pattern()).is_ok() {
            kkt.linear = Box::new(dense);
        }
        kkt
    }

    /// The system with XXᵀ in the place of M: its multipliers are those of the split, (GY)ᵀλ = Yᵀf.
    pub fn split(dynamics: Arc<dyn Dynamics>) -> Kkt {
        let mut kkt = Kkt::new(dynamics);
        if kkt.is_small() {
            kkt = Kkt::dense(kkt.dynamics);
        }
        kkt.independent = Some(vec![1.0; kkt.n]);
        kkt
    }

    /// The system with diagonal weights in the place of M.
    pub fn weighted(dynamics: Arc<dyn Dynamics>, weights: Vec<f64>) -> Kkt {
        Kkt { independent: Some(weights), ..Kkt::new(dynamics) }
    }

    fn is_small(&self) -> bool {
        self.rhs.len() <= SMALL
    }

    /// Which coordinates are independent from now on.
    pub fn set_split(&mut self, split: &Split) {
        let light = if self.is_small() { 0.0 } else { LIGHT };
        self.independent = Some(split.independent.iter().map(|x| if *x { 1.0 } else { light }).collect());
    }

    /// Forms and factors the matrix at a realized point.
    pub fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        if self.recursive {
            return Ok(());
        }
        self.form(at, w);
        self.factorizations += 1;
        self.linear.factor(&self.matrix)
    }

    /// Forms and factors the matrix at a realized point, with diagonal weights added to M.
    pub fn factor_heavier(&mut self, weights: &[f64], at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        if self.recursive {
            return Ok(());
        }
        self.form(at, w);
        for (b, range) in self.dynamics.layout().bodies.iter().enumerate() {
            let n = range.len();
            if let Some(block) = self.matrix.block_mut(b, b) {
                range.clone().enumerate().for_each(|(i, k)| block[i * n + i] += weights[k]);
            }
        }
        self.factorizations += 1;
        self.linear.factor(&self.matrix)
    }

    /// The whole matrix: G and Gᵀ with M, or with the independent coordinates of a split in its place.
    fn form(&mut self, at: &Point, w: &mut Workspace) {
        self.fill_constraints(at, w);
        let Some(x) = &self.independent else {
            let slopes = Slopes { q: 0.0, v: 1.0, z: 0.0 };
            let mut out = Targets::new(&mut self.matrix.values, &self.mass);
            return self.dynamics.add_derivative(1.0, Piece::MassAccel, Unknown::V, slopes, at, w, &mut out);
        };
        for (b, range) in self.dynamics.layout().bodies.iter().enumerate() {
            let n = range.len();
            if let Some(block) = self.matrix.block_mut(b, b) {
                range.clone().enumerate().for_each(|(i, k)| block[i * n + i] = x[k]);
            }
        }
    }

    /// The matrix with G and Gᵀ, and nothing else.
    fn fill_constraints(&mut self, at: &Point, w: &mut Workspace) {
        self.matrix.clear();
        let mut out = Targets::new(&mut self.matrix.values, &self.columns);
        self.dynamics.add_derivative(1.0, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, &mut out);
        // a pair may occur more than once, so the transposes are set, not added
        for &(from, to, n, m) in &self.rows {
            for i in 0..n as usize {
                for j in 0..m as usize {
                    self.matrix.values[to as usize + j * n as usize + i] =
                        self.matrix.values[from as usize + i * m as usize + j];
                }
            }
        }
    }

    /// The multipliers with Gᵀλ = r as far as can be: by least squares in the norm of M⁻¹, or on the
    /// dependent coordinates of a split; with the factors at hand.
    pub fn multipliers(&mut self, r: &[f64], lambda: &mut [f64]) -> Result<(), LinearError> {
        self.rhs.fill(0.0);
        if self.recursive {
            return Ok(());
        }
        match &self.independent {
            None => self.rhs[..self.n].copy_from_slice(r),
            Some(x) => (0..self.n).filter(|i| x[*i] < 0.5).for_each(|i| self.rhs[i] = r[i]),
        }
        self.linear.solve(&mut self.rhs)?;
        lambda.copy_from_slice(&self.rhs[self.n..]);
        Ok(())
    }

    /// The rows of G at a realized point, as (column, value) pairs.
    pub fn constraint_rows(&mut self, at: &Point, w: &mut Workspace) -> Vec<SparseRow> {
        self.form(at, w);
        let layout = self.dynamics.layout();
        let mut rows = vec![Vec::new(); layout.m()];
        for (&(b, k), &at) in self.dynamics.pattern(Piece::GtLambda, Unknown::Lambda).iter().zip(&self.columns) {
            let (body, constraint) = (&layout.bodies[b as usize], &layout.constraints[k as usize]);
            let (n, m) = (body.len(), constraint.len());
            for i in 0..n {
                for j in 0..m {
                    let value = self.matrix.values[at as usize + i * m + j];
                    let row: &mut SparseRow = &mut rows[constraint.start + j];
                    // a pair that occurs twice was added up already
                    if value != 0.0 && row.iter().all(|(c, _)| *c != body.start + i) {
                        row.push((body.start + i, value));
                    }
                }
            }
        }
        rows
    }

    /// All rates and λ of a point whose q, v and z are given.
    pub fn complete(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        w.invalidate();
        self.dynamics.rates(&at.q, &at.v, &mut at.qdot);
        self.dynamics.realize(at, w);
        let mut zdot = std::mem::take(&mut at.zdot);
        zdot.fill(0.0);
        self.dynamics.add(1.0, Piece::Flow, at, w, &mut zdot);
        at.zdot = zdot;
        self.accelerate(at, w)
    }

    /// v̇ and λ at a realized point: forms and factors the matrix too.
    pub fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        if self.recursive {
            return self.dynamics.recursion(at, w).map_err(|block| {
                let row = self.dynamics.layout().bodies[block].start;
                match at.q.iter().chain(&at.v).all(|x| x.is_finite()) {
                    true => LinearError::Singular { row },
                    false => LinearError::NotFinite { row },
                }
            });
        }
        self.factor(at, w)?;
        at.vdot.fill(0.0);
        self.rhs.fill(0.0);
        let (top, bottom) = self.rhs.split_at_mut(self.n);
        self.dynamics.add(1.0, Piece::Force, at, w, top);
        self.dynamics.add(-1.0, Piece::Acceleration, at, w, bottom);
        self.linear.solve(&mut self.rhs)?;
        at.vdot.copy_from_slice(&self.rhs[..self.n]);
        at.lambda.copy_from_slice(&self.rhs[self.n..]);
        Ok(())
    }

    /// The acceleration M̂⁻¹f that a load f causes where the constraints hold, G v̇ = 0, and so the jump of the
    /// velocities by an impulse; with the factors at hand.
    pub fn respond(&mut self, load: &[f64]) -> Result<&[f64], LinearError> {
        self.rhs.fill(0.0);
        self.rhs[..self.n].copy_from_slice(load);
        self.linear.solve(&mut self.rhs)?;
        Ok(&self.rhs[..self.n])
    }

    /// The least change δ of the velocities (in the norm of the mass) with G δ = −r, r given over all
    /// constraint rows; with the factors at hand.
    pub fn project(&mut self, fill: impl FnOnce(&mut [f64])) -> Result<&[f64], LinearError> {
        self.rhs.fill(0.0);
        if self.recursive {
            return Ok(&self.rhs[..self.n]);
        }
        fill(&mut self.rhs[self.n..]);
        self.linear.solve(&mut self.rhs)?;
        Ok(&self.rhs[..self.n])
    }

    /// The multipliers of the least change δ with G δ = −r, r given over all constraint rows; with the factors at hand.
    pub fn close(&mut self, fill: impl FnOnce(&mut [f64])) -> Result<&[f64], LinearError> {
        self.rhs.fill(0.0);
        fill(&mut self.rhs[self.n..]);
        self.linear.solve(&mut self.rhs)?;
        Ok(&self.rhs[self.n..])
    }

    /// What a factorization and a solution cost; zero where it is not counted.
    pub fn flops(&self) -> Flops {
        self.linear.flops()
    }

    /// The multipliers of least size that pull like λ: the least Σ (dₖ λ'ₖ)² with Gᵀλ' = Gᵀλ, at a realized
    /// point; with λ' = λ where no row is redundant. A proximal iteration on
    ///
    /// ```text
    ///     [ ε W  Gᵀ  ] [ y  ]   [ Gᵀ(λ − λ') ]
    ///     [ G   −d²  ] [ Δλ'] = [     0      ]
    /// ```
    ///
    /// whose error falls by ε/(ε + σ²) each time, σ the singular values of d⁻¹G W^(−1/2); of a [`Self::proximal`] system.
    pub fn least_multipliers(
        &mut self,
        scales: &RowScales,
        at: &Point,
        w: &mut Workspace,
        lambda: &mut [f64],
    ) -> Result<(), LinearError> {
        self.fill_constraints(at, w);
        let bodies = self.dynamics.layout().bodies.len();
        let (mut column, mut row) = (0, 0);
        for k in 0..self.matrix.pattern().blocks() {
            let size = self.matrix.pattern().size(k);
            let first = self.matrix.pattern().range(k).start;
            let block = self.matrix.block_mut(k, k).ok_or(LinearError::Singular { row: first })?;
            for i in 0..size {
                block[i * size + i] = match k < bodies {
                    true => PROXIMAL * scales.columns[column + i],
                    false => -scales.rows[row + i].powi(2),
                };
            }
            if k < bodies { column += size } else { row += size }
        }
        self.factorizations += 1;
        self.linear.factor(&self.matrix)?;
        let mut wanted = vec![0.0; self.n];
        self.add_pull(1.0, lambda, &mut wanted);
        let size = wanted.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        lambda.fill(0.0);
        for _ in 0..12 {
            self.rhs.fill(0.0);
            self.rhs[..self.n].copy_from_slice(&wanted);
            let mut rest = std::mem::take(&mut self.rhs);
            self.add_pull(-1.0, lambda, &mut rest[..self.n]);
            let left = rest[..self.n].iter().fold(0.0f64, |m, x| m.max(x.abs()));
            self.rhs = rest;
            if left <= 1e-13 * size {
                break;
            }
            self.linear.solve(&mut self.rhs)?;
            lambda.iter_mut().zip(&self.rhs[self.n..]).for_each(|(l, d)| *l += d);
        }
        Ok(())
    }

    /// The constraint blocks whose multipliers can change without any effect at a realized point: random
    /// ones lose that part of themselves when they are made least; of a [`Self::proximal`] system.
    pub fn not_unique(&mut self, scales: &RowScales, at: &Point, w: &mut Workspace) -> Result<Vec<usize>, LinearError> {
        let mut random = Xorshift(11);
        let any: Vec<f64> = (0..self.dynamics.layout().m()).map(|_| random.number()).collect();
        let mut least = any.clone();
        self.least_multipliers(scales, at, w, &mut least)?;
        let blocks = self.dynamics.layout().constraints.iter().enumerate();
        let free = |r: &std::ops::Range<usize>| r.clone().any(|i| (any[i] - least[i]).abs() > 1e-4);
        Ok(blocks.filter(|(_, r)| free(r)).map(|(k, _)| k).collect())
    }

    /// The multipliers of least size that pull like λ, with the factors at hand: λ − Z y with the least Σ (dₖ λ'ₖ)², by
    /// conjugate gradients [Hestenes & Stiefel 1952]. Z makes of any multipliers y of dropped rows some that pull nothing, with
    /// those of kept rows that take the pull of y back. What is unique does not change, however far the iteration comes:
    /// [`Self::least_multipliers`] errs by a hundredth in ladders of 200 bodies and by a half in those of 1000, as its iterations grow with their length.
    pub fn least_at_hand(&mut self, scales: &RowScales, lambda: &mut [f64]) -> Result<(), LinearError> {
        let dropped = self.dropped_rows();
        let d = &scales.rows;
        let dot = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let mut rest: Vec<f64> = lambda.iter().zip(d).map(|(l, d)| d * l).collect();
        let (mut image, mut gradient) = (vec![0.0; lambda.len()], vec![0.0; dropped.len()]);
        self.add_to_dropped(d, &dropped, &rest, &mut gradient)?;
        let mut direction = gradient.clone();
        let first = dot(&gradient);
        let mut size = first;
        for _ in 0..LEAST_ITERATIONS {
            if size <= 1e-20 * first {
                break;
            }
            self.pull_nothing(d, &dropped, &direction, &mut image)?;
            let step = size / dot(&image);
            if !step.is_finite() {
                break;
            }
            rest.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
            gradient.fill(0.0);
            self.add_to_dropped(d, &dropped, &rest, &mut gradient)?;
            let before = std::mem::replace(&mut size, dot(&gradient));
            // what grows from here on is rounding
            if size >= before && size <= 1e-10 * first {
                break;
            }
            direction.iter_mut().zip(&gradient).for_each(|(p, g)| *p = g + size / before * *p);
        }
        lambda.iter_mut().zip(&rest).zip(d).for_each(|((l, r), d)| *l = r / d);
        Ok(())
    }

    /// out = D Z D⁻¹ y for a y over the dropped rows.
    fn pull_nothing(&mut self, d: &[f64], dropped: &[usize], y: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
        out.fill(0.0);
        dropped.iter().zip(y).for_each(|(&r, y)| out[r] = y / d[r]);
        let mut pull = std::mem::take(&mut self.rhs);
        pull.fill(0.0);
        self.add_pull(1.0, out, &mut pull[..self.n]);
        let solved = self.linear.solve(&mut pull);
        out.iter_mut().zip(&pull[self.n..]).for_each(|(o, l)| *o -= l);
        dropped.iter().zip(y).for_each(|(&r, y)| out[r] = y / d[r]);
        out.iter_mut().zip(d).for_each(|(o, d)| *o *= d);
        self.rhs = pull;
        solved
    }

    /// out += D⁻¹ Zᵀ D u, over the dropped rows.
    fn add_to_dropped(&mut self, d: &[f64], dropped: &[usize], u: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
        let mut change = std::mem::take(&mut self.rhs);
        change.fill(0.0);
        change[self.n..].iter_mut().zip(u).zip(d).for_each(|((c, u), d)| *c = d * u);
        dropped.iter().for_each(|&r| change[self.n + r] = 0.0);
        let solved = self.linear.solve(&mut change);
        let mut rates = vec![0.0; u.len()];
        self.add_rates(1.0, &change[..self.n], &mut rates);
        out.iter_mut().zip(dropped).for_each(|(o, &r)| *o += u[r] - rates[r] / d[r]);
        self.rhs = change;
        solved
    }

    /// The constraint blocks with redundant rows, and those that hold what these hold: with the factors at hand, the kept
    /// rows that pull like a random pull of the dropped ones. Also for long chains, where [`Self::not_unique`] needs more
    /// and more iterations.
    pub fn taking_part(&mut self, scales: &RowScales) -> Result<Vec<usize>, LinearError> {
        let mut random = Xorshift(11);
        let (m, dropped) = (self.dynamics.layout().m(), self.dropped_rows());
        let mut pull = vec![0.0; m];
        // what sums up along a chain is rounded least where a torque counts like a force on the arms that it has
        let d = |i: usize| if scales.rows[i] == 1.0 { 1.0 } else { 1.0 / scales.turn };
        dropped.iter().for_each(|&r| pull[r] = random.number() / d(r));
        let mut lambda = vec![0.0; m];
        let mut largest = 0.0;
        // what rounding left is solved for again
        for _ in 0..6 {
            let mut rest = std::mem::take(&mut self.rhs);
            rest.fill(0.0);
            self.add_pull(1.0, &pull, &mut rest[..self.n]);
            self.add_pull(-1.0, &lambda, &mut rest[..self.n]);
            let left = rest.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            self.rhs = rest;
            largest = left.max(largest);
            if left <= 1e-14 * largest {
                break;
            }
            self.linear.solve(&mut self.rhs)?;
            lambda.iter_mut().zip(&self.rhs[self.n..]).for_each(|(l, d)| *l += d);
        }
        dropped.iter().for_each(|&r| lambda[r] = pull[r]);
        let pulls = |r: &std::ops::Range<usize>| r.clone().any(|i| (lambda[i] * d(i)).abs() > 1e-4);
        let blocks = self.dynamics.layout().constraints.iter().enumerate();
        Ok(blocks.filter(|(_, r)| pulls(r)).map(|(k, _)| k).collect())
    }

    /// out += c Gᵀλ with the G of the matrix.
    fn add_pull(&self, c: f64, lambda: &[f64], out: &mut [f64]) {
        let pattern = self.matrix.pattern();
        for b in 0..self.dynamics.layout().bodies.len() {
            let rows = pattern.range(b);
            for (k, offset) in pattern.row(b).filter(|(k, _)| pattern.range(*k).start >= self.n) {
                let columns = pattern.range(k);
                let block = self.matrix.values[offset..].chunks_exact(columns.len());
                for (i, g) in rows.clone().zip(block) {
                    let l = &lambda[columns.start - self.n..columns.end - self.n];
                    out[i] += c * g.iter().zip(l).map(|(g, l)| g * l).sum::<f64>();
                }
            }
        }
    }

    /// out += c G v with the G of the matrix.
    pub fn add_rates(&self, c: f64, v: &[f64], out: &mut [f64]) {
        let pattern = self.matrix.pattern();
        for b in 0..self.dynamics.layout().bodies.len() {
            for (k, offset) in pattern.row(b).filter(|(k, _)| pattern.range(*k).start >= self.n) {
                let columns = pattern.range(k);
                let block = self.matrix.values[offset..].chunks_exact(columns.len().max(1));
                let out = &mut out[columns.start - self.n..columns.end - self.n];
                for (v, g) in v[pattern.range(b)].iter().zip(block) {
                    out.iter_mut().zip(g).for_each(|(o, g)| *o += c * g * v);
                }
            }
        }
    }

    /// The matrix that was factored last.
    pub fn matrix(&self) -> &BlockMatrix {
        &self.matrix
    }

    /// How many constraint rows the last factorization found redundant.
    pub fn dropped(&self) -> usize {
        self.linear.dropped().len()
    }

    /// Whether the last factorization looked for redundant rows.
    pub fn reveals_rank(&self) -> bool {
        self.linear.reveals_rank()
    }

    /// The constraint rows that the last factorization found redundant.
    pub fn dropped_rows(&self) -> Vec<usize> {
        self.linear.dropped().iter().map(|r| r - self.n).collect()
    }

    /// The smallest relative pivot of a constraint that was kept; infinite where there is none.
    pub fn smallest_pivot(&self) -> f64 {
        if self.recursive { f64::INFINITY } else { self.linear.smallest_multiplier_pivot() }
    }

    /// The body or constraint that a scalar row of the matrix belongs to.
    pub fn owner(&self, row: usize) -> (Unknown, usize) {
        let block = self.matrix.pattern().block_of(row);
        let bodies = self.dynamics.layout().bodies.len();
        if block < bodies { (Unknown::Q, block) } else { (Unknown::Lambda, block - bodies) }
    }

    /// The user's name of the block a scalar row of the matrix belongs to.
    pub fn owner_of_row(&self, row: usize) -> String {
        let (unknown, block) = self.owner(row);
        self.dynamics.name(unknown, block)
    }
}

/// Most iterations for least multipliers: loops are local, and take about ten.
const LEAST_ITERATIONS: usize = 60;

/// ε of the proximal iteration for the least multipliers.
const PROXIMAL: f64 = 1e-6;

/// What one unit of each coordinate and of each multiplier weighs.
pub struct RowScales {
    /// The length of a [`turn`].
    turn: f64,
    /// L² for an angle, 1 for a length.
    columns: Vec<f64>,
    /// 1/L for a torque, 1 for a force: a torque counts like the force that makes it with the length of the model.
    rows: Vec<f64>,
}

impl RowScales {
    /// The scales of some equations at a realized point.
    pub fn new(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> RowScales {
        let (length, scales) = (dynamics.length(), dynamics.scales());
        let angle = |i: usize| scales[i] == Scale::Angle;
        let turn = turn(dynamics, at, w);
        let columns = (0..scales.len()).map(|i| if angle(i) { length * length } else { 1.0 }).collect();
        let mut shifts = vec![false; dynamics.layout().m()];
        let layout = dynamics.layout();
        each_block(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, |b, k, block| {
            let (rows, columns) = (layout.bodies[b].clone(), layout.constraints[k].clone());
            for (_, values) in rows.zip(block.chunks_exact(columns.len())).filter(|(i, _)| !angle(*i)) {
                columns.clone().zip(values).for_each(|(k, g)| shifts[k] |= g.abs() > 1e-9);
            }
        });
        RowScales { turn, columns, rows: shifts.into_iter().map(|s| if s { 1.0 } else { 1.0 / length }).collect() }
    }
}

/// From so many coordinates on, the length of a model says nothing of its parts.
pub const MANY: usize = 3000;

/// The length that a turn by one radian counts like, at a realized point: that of the model, and above [`MANY`]
/// coordinates the arms of what holds its bodies, √(Σ|∂g/∂φ|² / Σ|∂g/∂x|²) over the rows that hold shifts.
///
/// With the length L of the model a loop of bars of length l has pivots of (l/L)², and in a model of 10⁵ bars they
/// look redundant.
pub fn turn(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> f64 {
    let (length, layout) = (dynamics.length(), dynamics.layout());
    if layout.n() <= MANY {
        return length;
    }
    let (scales, mut turns, mut shifts) = (dynamics.scales(), 0.0, 0.0);
    each_block(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, |b, k, block| {
        let m = layout.constraints[k].len();
        for j in 0..m {
            let (mut by_turn, mut by_shift) = (0.0, 0.0);
            for (g, i) in block.iter().skip(j).step_by(m).zip(layout.bodies[b].clone()) {
                *if scales[i] == Scale::Angle { &mut by_turn } else { &mut by_shift } += g * g;
            }
            if by_shift > 0.0 {
                (turns, shifts) = (turns + by_turn, shifts + by_shift);
            }
        }
    });
    match f64::sqrt(turns / shifts) {
        arm if arm > 0.0 => arm.min(length),
        _ => length,
    }
}

/// Hands every block of ∂piece/∂unknown, by rows, to `visit` with its row and column block.
pub fn each_block(
    dynamics: &dyn Dynamics,
    piece: Piece,
    wrt: Unknown,
    slopes: Slopes,
    at: &Point,
    w: &mut Workspace,
    mut visit: impl FnMut(usize, usize, &[f64]),
) {
    let layout = dynamics.layout();
    let pairs = dynamics.pattern(piece, wrt);
    let mut offsets = Vec::with_capacity(pairs.len());
    let mut size = 0;
    for &(r, c) in &pairs {
        offsets.push(size as u32);
        size += layout.rows(piece)[r as usize].len() * layout.columns(wrt)[c as usize].len();
    }
    let mut values = vec![0.0; size];
    dynamics.add_derivative(1.0, piece, wrt, slopes, at, w, &mut Targets::new(&mut values, &offsets));
    for (k, &(r, c)) in pairs.iter().enumerate() {
        let end = offsets.get(k + 1).map_or(size, |o| *o as usize);
        visit(r as usize, c as usize, &values[offsets[k] as usize..end]);
    }
}

/// ∂piece/∂unknown as a list of blocks, their values one after the other.
pub struct Blocks {
    places: Vec<(std::ops::Range<usize>, std::ops::Range<usize>)>,
    values: Vec<f64>,
}

impl Blocks {
    /// The blocks at a realized point; those that vanish are left out.
    pub fn new(
        dynamics: &dyn Dynamics,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
    ) -> Blocks {
        let (rows, columns) = (dynamics.layout().rows(piece), dynamics.layout().columns(wrt));
        let (mut places, mut values) = (Vec::new(), Vec::new());
        each_block(dynamics, piece, wrt, slopes, at, w, |r, c, block| {
            if block.iter().any(|x| *x != 0.0) {
                places.push((rows[r].clone(), columns[c].clone()));
                values.extend_from_slice(block);
            }
        });
        Blocks { places, values }
    }

    /// out += c · A x.
    pub fn add_times(&self, c: f64, x: &[f64], out: &mut [f64]) {
        let mut rest = &self.values[..];
        for (rows, columns) in &self.places {
            let (block, more) = rest.split_at(rows.len() * columns.len());
            rest = more;
            for (i, a) in rows.clone().zip(block.chunks_exact(columns.len())) {
                out[i] += c * a.iter().zip(&x[columns.clone()]).map(|(a, x)| a * x).sum::<f64>();
            }
        }
    }
}

/// ∂piece/∂unknown as a dense matrix by rows.
pub fn dense(
    dynamics: &dyn Dynamics,
    piece: Piece,
    wrt: Unknown,
    slopes: Slopes,
    at: &Point,
    w: &mut Workspace,
) -> Vec<f64> {
    let layout = dynamics.layout();
    let (rows, columns) = (layout.rows(piece), layout.columns(wrt));
    let last = |r: &[std::ops::Range<usize>]| r.last().map_or(0, |r| r.end);
    let width = last(columns);
    let mut out = vec![0.0; last(rows) * width];
    each_block(dynamics, piece, wrt, slopes, at, w, |r, c, block| {
        let (rows, columns) = (rows[r].clone(), columns[c].clone());
        for (i, values) in rows.zip(block.chunks_exact(columns.len().max(1))) {
            columns.clone().zip(values).for_each(|(j, x)| out[i * width + j] += x);
        }
    });
    out
}

/// Adds c times the velocity residual of every constraint row, nonholonomic ones included.
pub fn add_velocity_residual(dynamics: &dyn Dynamics, c: f64, at: &Point, w: &mut Workspace, out: &mut [f64]) {
    let layout = dynamics.layout();
    if layout.m() == layout.m_rates() {
        return dynamics.add(c, Piece::Velocity, at, w, out);
    }
    let (mut position, mut velocity) = (vec![0.0; layout.m()], vec![0.0; layout.m_rates()]);
    dynamics.add(c, Piece::Position, at, w, &mut position);
    dynamics.add(c, Piece::Velocity, at, w, &mut velocity);
    for (rows, rates) in layout.constraints.iter().zip(&layout.rates) {
        let source = if rates.is_empty() { &position[rows.clone()] } else { &velocity[rates.clone()] };
        out[rows.clone()].iter_mut().zip(source).for_each(|(o, s)| *o += s);
    }
}

/// Adds c times the position residual; rows without a position (nonholonomic) stay as they are.
pub fn add_position_residual(dynamics: &dyn Dynamics, c: f64, at: &Point, w: &mut Workspace, out: &mut [f64]) {
    dynamics.add(c, Piece::Position, at, w, out);
    let layout = dynamics.layout();
    for (rows, _) in layout.constraints.iter().zip(&layout.rates).filter(|(_, r)| r.is_empty()) {
        out[rows.clone()].fill(0.0);
    }
}
