//! The one linear system behind accelerations, reactions and projections:
//!
//! ```text
//!     [ M  Gᵀ ] [ a ]   [ f ]
//!     [ G  0  ] [ λ ] = [ γ ]
//! ```

use super::partition::{Partition, SparseRow};
use super::plan::{LARGE, LinearPlan};
use super::quick::Quick;
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::dense::DenseLu;
use bellcrank_math::linear::range_space::{Of, RangeSpace};
use bellcrank_math::linear::solver::{self, Flops, LinearError, LinearSolver};
use bellcrank_math::tape::Tape;
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Subject, Unknown, Workspace};
use std::sync::Arc;

/// M, G and their factors at a point. Its fields are one linear system: matrix, solvers, what is left out, and right-hand side.
pub struct Kkt {
    pub(super) dynamics: Arc<dyn Dynamics>,
    pub(super) matrix: BlockMatrix,
    pub(super) linear: Box<dyn LinearSolver>,
    /// Stands for it where the machine is small and its position regular.
    quick: Quick,
    mass: Vec<u32>,
    /// Where Gᵀ goes.
    columns: Vec<u32>,
    /// Its blocks, with their transposes in G.
    mirrored: Vec<Mirrored>,
    pub(super) rhs: Vec<f64>,
    pub(super) n: usize,
    /// Whether the equations are those of a tree, and a recursion stands for the matrix.
    recursive: bool,
    /// In the place of M: one for independent coordinates, zero for dependent ones.
    independent: Option<Vec<f64>>,
    /// The rows that the solver was told to leave out.
    left_out: Option<Vec<usize>>,
    /// Factorizations so far.
    pub factorizations: usize,
}

/// A block of Gᵀ and its transpose, by offsets.
struct Mirrored {
    from: u32,
    to: u32,
    rows: usize,
    columns: usize,
}

/// Up to this dimension the system of a partition is solved with pivoting on the dense matrix, to round-off.
const SMALL: usize = 300;

/// Above it dependent coordinates have this weight instead of none, and the multipliers are as exact.
const LIGHT: f64 = 1e-9;

impl Kkt {
    /// The system of some equations of motion, solved in the cheapest way.
    pub fn new(dynamics: Arc<dyn Dynamics>) -> Kkt {
        Kkt::planned(dynamics, LinearPlan::Cheapest)
    }

    /// The same, solved as planned.
    pub fn planned(dynamics: Arc<dyn Dynamics>, plan: LinearPlan) -> Kkt {
        match plan.of_accelerations(dynamics.recursive()) {
            LinearPlan::Recursion => Kkt::build(dynamics, true, false),
            LinearPlan::Dense => Kkt::dense(dynamics),
            _ => Kkt { quick: Quick::planned(plan, &*dynamics), ..Kkt::build(dynamics, false, false) },
        }
    }

    /// The system for [`Self::least_multipliers`] and [`Self::factor_holonomic`], with blocks for the multipliers on the diagonal too.
    pub fn proximal(dynamics: Arc<dyn Dynamics>) -> Kkt {
        let recursive = dynamics.recursive();
        Kkt::build(dynamics, recursive, true)
    }

    fn build(dynamics: Arc<dyn Dynamics>, recursive: bool, whole_diagonal: bool) -> Kkt {
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
        let mirrored = column_pairs
            .iter()
            .zip(&columns)
            .filter_map(|(&(b, k), &from)| {
                let to = pattern.offset(k as usize, b as usize)?;
                Some(Mirrored { from, to, rows: pattern.size(b as usize), columns: pattern.size(k as usize) })
            })
            .collect();
        let linear =
            if layout.bodies.len() < LARGE { solver::choose(&pattern) } else { solver::choose_symmetric(&pattern) };
        let rhs = vec![0.0; pattern.dimension()];
        let n = layout.n();
        let matrix = BlockMatrix::new(pattern);
        Kkt {
            matrix,
            linear,
            quick: Quick::No,
            mass,
            columns,
            mirrored,
            rhs,
            n,
            recursive,
            independent: None,
            left_out: None,
            factorizations: 0,
            dynamics,
        }
    }

    /// Tells a tape what one factorization leaves to the next; with `factors`, those too.
    pub(crate) fn keep(&mut self, tape: &mut Tape, factors: bool) {
        self.quick.keep(tape, factors, &*self.dynamics);
        let factors = factors && self.quick.held().is_none();
        self.linear.keep(tape, factors);
        tape.count(&mut self.factorizations);
        tape.plain(&mut self.independent);
        if factors {
            tape.fixed(&mut self.matrix.values);
        }
    }

    /// How the system is solved and why, in words.
    pub fn explain(&self) -> String {
        match self.recursive {
            true => "recursion from the leaves of the tree to its root (no loops)".into(),
            false if matches!(self.quick, Quick::Made(_)) => {
                format!(
                    "{}; accelerations in the space of the constraints while pivots are good",
                    self.linear.explain()
                )
            }
            false => self.linear.explain(),
        }
    }

    /// The system, solved by dense LU.
    pub fn dense(dynamics: Arc<dyn Dynamics>) -> Kkt {
        let mut kkt = Kkt::build(dynamics, false, false);
        let mut dense = DenseLu::new();
        if dense.analyze(kkt.matrix.pattern()).is_ok() {
            kkt.linear = Box::new(dense);
        }
        kkt
    }

    /// The system with XXᵀ in the place of M: its multipliers are those of the partition, (GY)ᵀλ = Yᵀf.
    pub fn partitioned(dynamics: Arc<dyn Dynamics>) -> Kkt {
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
    pub fn set_partition(&mut self, partition: &Partition) {
        let light = if self.is_small() { 0.0 } else { LIGHT };
        self.independent = Some(partition.independent.iter().map(|x| if *x { 1.0 } else { light }).collect());
    }

    /// Tells the solver to leave rows out, if it does not know.
    pub(super) fn leave_out(&mut self, rows: Option<&[usize]>) {
        if self.left_out.as_deref() != rows {
            self.left_out = rows.map(<[usize]>::to_vec);
            let own: Option<Vec<usize>> = rows.map(|rows| rows.iter().map(|r| self.n + r).collect());
            self.linear.leave_out(own.as_deref());
        }
    }

    /// Gets ready to solve at a realized point: as [`Self::factor`], but the matrix itself need not be formed.
    pub fn prepare(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        let all_rows = at.charts.left_out.chosen(self.rhs.len() - self.n).is_none_or(<[usize]>::is_empty);
        if all_rows && self.independent.is_none() {
            self.quick.make(&*self.dynamics);
            if self.quick.made().is_some_and(|quick| quick.factor(&w.jacobian)) {
                self.factorizations += 1;
                return Ok(());
            }
        }
        self.factor(at, w)
    }

    /// The right-hand side becomes the solution, with the factors at hand.
    pub(super) fn solve(&mut self, of: Of) -> Result<(), LinearError> {
        match self.quick.made().filter(|quick| quick.holds()) {
            Some(quick) => {
                quick.solve(&mut self.rhs, of);
                Ok(())
            }
            None => self.linear.solve(&mut self.rhs),
        }
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

    /// Forms and factors the matrix at a realized point without its nonholonomic rows, whose multipliers are then zero: these
    /// rows hold velocities, and positions may move along them. Of a [`Self::proximal`] system.
    pub fn factor_holonomic(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.form(at, w);
        let layout = self.dynamics.layout();
        let free = layout.rates.iter().enumerate().filter(|(_, r)| r.is_empty()).map(|(k, _)| layout.bodies.len() + k);
        for k in free.collect::<Vec<_>>() {
            self.release(k)?;
        }
        self.factorizations += 1;
        self.linear.factor(&self.matrix)
    }

    /// Takes the rows and columns of a constraint block out of the matrix that was formed: its multipliers become zero.
    pub(super) fn release(&mut self, k: usize) -> Result<(), LinearError> {
        let (n, pattern) = (self.matrix.pattern().size(k), self.matrix.pattern().clone());
        for (other, _) in pattern.row(k) {
            self.matrix.block_mut(k, other).into_iter().for_each(|block| block.fill(0.0));
            self.matrix.block_mut(other, k).into_iter().for_each(|block| block.fill(0.0));
        }
        let own = self.matrix.block_mut(k, k).ok_or(LinearError::Singular { row: self.n })?;
        (0..n).for_each(|i| own[i * n + i] = -1.0);
        Ok(())
    }

    /// The whole matrix: G and Gᵀ with M, or with the independent coordinates of a partition in its place.
    pub(super) fn form(&mut self, at: &Point, w: &mut Workspace) {
        self.quick.made().into_iter().for_each(RangeSpace::forget);
        self.leave_out(at.charts.left_out.chosen(self.rhs.len() - self.n));
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
    pub(super) fn fill_constraints(&mut self, at: &Point, w: &mut Workspace) {
        self.matrix.clear();
        let mut out = Targets::new(&mut self.matrix.values, &self.columns);
        self.dynamics.add_derivative(1.0, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, &mut out);
        // a pair may occur more than once, so the transposes are set, not added
        let values = &mut self.matrix.values;
        for &Mirrored { from, to, rows, columns } in &self.mirrored {
            for i in 0..rows {
                for j in 0..columns {
                    values[to as usize + j * rows + i] = values[from as usize + i * columns + j];
                }
            }
        }
    }

    /// The multipliers with Gᵀλ = r as far as can be: by least squares in the norm of M⁻¹, or on the
    /// dependent coordinates of a partition; with the present factors.
    pub fn multipliers(&mut self, r: &[f64], lambda: &mut [f64]) -> Result<(), LinearError> {
        if self.recursive {
            return Ok(());
        }
        let (top, bottom) = self.rhs.split_at_mut(self.n);
        bottom.fill(0.0);
        match &self.independent {
            None => top.copy_from_slice(r),
            Some(x) => top.iter_mut().zip(r).zip(x).for_each(|((t, r), x)| *t = if *x < 0.5 { *r } else { 0.0 }),
        }
        self.solve(Of::Multipliers)?;
        lambda.copy_from_slice(&self.rhs[self.n..]);
        Ok(())
    }

    /// out −= Gᵀλ, or Gᵀμ, at a realized point.
    pub fn take_reactions(&mut self, reaction: Piece, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let multipliers = if reaction == Piece::GtMu { &at.mu } else { &at.lambda };
        // only where all constraints are holonomic: both have the same rows
        if !self.quick.made().is_some_and(|quick| quick.take_pull(&w.jacobian, multipliers, out)) {
            self.dynamics.add(-1.0, reaction, at, w, out);
        }
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

    /// The same, those that are left out being empty.
    pub fn kept_rows(&mut self, at: &Point, w: &mut Workspace) -> Vec<SparseRow> {
        let mut rows = self.constraint_rows(at, w);
        at.charts.left_out.among(rows.len()).iter().for_each(|&r| rows[r].clear());
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
        self.accelerate_towards(at, w, |_, _, _| {})
    }

    /// The same with accelerations G v̇ = γ − s that bend back towards the constraints: `add` takes s off the rows.
    pub fn accelerate_towards(
        &mut self,
        at: &mut Point,
        w: &mut Workspace,
        add: impl FnOnce(&Point, &mut Workspace, &mut [f64]),
    ) -> Result<(), LinearError> {
        if self.recursive {
            return self.dynamics.recursion(at, w).map_err(|block| {
                let row = self.dynamics.layout().bodies[block].start;
                match at.q.iter().chain(&at.v).all(|x| x.is_finite()) {
                    true => LinearError::Singular { row },
                    false => LinearError::NotFinite { row },
                }
            });
        }
        self.prepare(at, w)?;
        // loads that follow λ are those of λ = 0 at first
        let followers = self.dynamics.followers(at, w);
        followers.iter().flat_map(|f| &f.slopes).for_each(|(row, _)| at.lambda[*row] = 0.0);
        self.rhs.fill(0.0);
        let (top, bottom) = self.rhs.split_at_mut(self.n);
        self.dynamics.add(1.0, Piece::Force, at, w, top);
        self.dynamics.add_bias(-1.0, at, w, bottom);
        add(at, w, bottom);
        let given = if followers.is_empty() { followers } else { self.dynamics.followers(at, w) };
        self.solve(Of::All)?;
        at.vdot.copy_from_slice(&self.rhs[..self.n]);
        at.lambda.copy_from_slice(&self.rhs[self.n..]);
        if given.is_empty() { Ok(()) } else { self.follow(&given, at, w) }
    }

    /// The acceleration M̂⁻¹f that a load f causes where the constraints hold, G v̇ = 0, and so the jump of the
    /// velocities by an impulse; with the present factors.
    pub fn respond(&mut self, load: &[f64]) -> Result<&[f64], LinearError> {
        self.rhs.fill(0.0);
        self.rhs[..self.n].copy_from_slice(load);
        self.solve(Of::All)?;
        Ok(&self.rhs[..self.n])
    }

    /// a and λ of M a + Gᵀλ = f, G a = γ for any f and γ, which are filled in; with the present factors.
    pub fn answer(&mut self, fill: impl FnOnce(&mut [f64], &mut [f64])) -> Result<(&[f64], &[f64]), LinearError> {
        self.rhs.fill(0.0);
        let (top, bottom) = self.rhs.split_at_mut(self.n);
        fill(top, bottom);
        self.solve(Of::All)?;
        Ok(self.rhs.split_at(self.n))
    }

    /// The least change δ of the velocities (in the norm of the mass) with G δ = −r, r given over all
    /// constraint rows; with the present factors.
    pub fn project(&mut self, fill: impl FnOnce(&mut [f64])) -> Result<&[f64], LinearError> {
        self.rhs.fill(0.0);
        if self.recursive {
            return Ok(&self.rhs[..self.n]);
        }
        fill(&mut self.rhs[self.n..]);
        self.solve(Of::Rows)?;
        Ok(&self.rhs[..self.n])
    }

    /// Takes the part across the constraints out of a displacement or a velocity: x ← x − M⁻¹Gᵀ(GM⁻¹Gᵀ)⁻¹G x; with the present
    /// factors.
    pub fn take_out_across(&mut self, x: &mut [f64]) -> Result<(), LinearError> {
        if self.recursive {
            return Ok(());
        }
        let mut open = vec![0.0; self.rhs.len() - self.n];
        self.add_rates(-1.0, x, &mut open);
        let change = self.project(|rows| rows.copy_from_slice(&open))?;
        x.iter_mut().zip(change).for_each(|(x, c)| *x += c);
        Ok(())
    }

    /// The multipliers of the least change δ with G δ = −r, r given over all constraint rows; with the present factors.
    pub fn close(&mut self, fill: impl FnOnce(&mut [f64])) -> Result<&[f64], LinearError> {
        self.rhs.fill(0.0);
        fill(&mut self.rhs[self.n..]);
        self.solve(Of::Rows)?;
        Ok(&self.rhs[self.n..])
    }

    /// Operations of a factorization and of a solution; zero where they are not counted.
    pub fn flops(&self) -> Flops {
        self.linear.flops()
    }

    /// out += c Gᵀλ with the G of the matrix.
    pub(super) fn add_pull(&self, c: f64, lambda: &[f64], out: &mut [f64]) {
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

    /// out ← Σ weight · G², row by row, with the G of the matrix.
    pub(crate) fn row_sizes(&self, weights: &[f64], out: &mut Vec<f64>) {
        let pattern = self.matrix.pattern();
        out.clear();
        out.resize(self.rhs.len() - self.n, 0.0);
        for b in 0..self.dynamics.layout().bodies.len() {
            for (k, offset) in pattern.row(b).filter(|(k, _)| pattern.range(*k).start >= self.n) {
                let columns = pattern.range(k);
                let block = self.matrix.values[offset..].chunks_exact(columns.len().max(1));
                let out = &mut out[columns.start - self.n..columns.end - self.n];
                for (weight, g) in weights[pattern.range(b)].iter().zip(block) {
                    out.iter_mut().zip(g).for_each(|(o, g)| *o += weight * g * g);
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
        if self.quick.held().is_some() { 0 } else { self.linear.dropped().len() }
    }

    /// Whether the last factorization looked for redundant rows.
    pub fn reveals_rank(&self) -> bool {
        self.quick.held().is_some() || self.linear.reveals_rank()
    }

    /// The constraint rows that the last factorization found redundant.
    pub fn dropped_rows(&self) -> Vec<usize> {
        let dropped = if self.quick.held().is_some() { &[] } else { self.linear.dropped() };
        dropped.iter().map(|r| r - self.n).collect()
    }

    /// The smallest relative pivot of a constraint that was kept; infinite where there is none.
    pub fn smallest_pivot(&self) -> f64 {
        match self.quick.held() {
            _ if self.recursive => f64::INFINITY,
            Some(quick) => quick.smallest_pivot(),
            None => self.linear.smallest_multiplier_pivot(),
        }
    }

    /// The body or constraint that a scalar row of the matrix belongs to.
    pub fn owner(&self, row: usize) -> (Unknown, usize) {
        let block = self.matrix.pattern().block_of(row);
        let bodies = self.dynamics.layout().bodies.len();
        if block < bodies { (Unknown::Q, block) } else { (Unknown::Lambda, block - bodies) }
    }

    /// The user's name of the block a scalar row of the matrix belongs to.
    pub fn owner_of_row(&self, row: usize) -> Subject {
        let (unknown, block) = self.owner(row);
        self.dynamics.subject(unknown, block)
    }
}
