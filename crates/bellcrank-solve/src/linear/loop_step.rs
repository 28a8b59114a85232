//! The matrix of an implicit step by sweeps over a tree and conjugate gradients on its loops.
//!
//! A step of `index3` in fixed steps, with velocities condensed and without (Gᵀλ)_q, has the matrix of the equations of motion
//! with another mass, in which bodies are coupled by constraints alone:
//!
//! ```text
//!     [ B   Gᵀ  Dᵀ ] [ δq ]        B = α_q α_v M − f_q − α_q f_v, a block for each body
//!     [ G          ] [ δλ ]
//!     [ D          ] [ δμ ]        S δμ = D δq₀ − r,   S = D P Dᵀ,   P: the mobility of the tree with the mass B
//! ```
//!
//! What is not symmetric in B is of the size h ω and is left to Newton's iteration. No factors of the whole are needed, and they
//! are made only where the iterations that they would have spared have cost as much ([`super::loop_cg`]): that pays where loops
//! close in all three directions of space, and elimination fills in.

use super::loop_cg::{CORRECTION, Cg, LoopSystem};
use super::loops::Loops;
use crate::unknowns::Unknowns;
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::solver::{self, Flops, LinearError, LinearSolver};
use bellcrank_math::linear::tree::TreeLu;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Unknown};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A block on its way from the matrix of a step to that of its tree; those of bodies are made symmetric.
struct TreeCopy {
    from: u32,
    to: u32,
    entries: u32,
    body: u32,
}

/// What an equation of a loop has of a body: Dᵀ and D in the matrix of the step.
struct LoopBlock {
    body: usize,
    n: usize,
    first: usize,
    m: usize,
    pull: usize,
    close: usize,
}

/// Counts of the work done so far, for reports.
#[derive(Default)]
pub struct LoopCounts {
    /// Equations that close loops.
    pub equations: usize,
    /// Systems of loops solved.
    pub solves: AtomicUsize,
    /// Iterations of all of them.
    pub iterations: AtomicUsize,
    /// Factorizations of the whole matrix.
    pub renewals: AtomicUsize,
}

/// Its fields are a tree, what closes its loops, and room to solve both.
struct TreeAndLoops {
    tree: TreeLu,
    swept: BlockMatrix,
    copies: Vec<TreeCopy>,
    closings: Vec<LoopBlock>,
    /// The last matrix of a step.
    matrix: BlockMatrix,
    /// The row of the step for every row of the tree, bodies first, and for every μ.
    rows: Vec<u32>,
    loop_rows: Vec<u32>,
    /// Rows of the step that are left out, and the places of those in μ.
    left_out: (Option<Vec<usize>>, Vec<usize>),
    bodies: usize,
    x: Vec<f64>,
    whole: Option<Box<dyn LinearSolver>>,
    made: bool,
    right: Vec<f64>,
}

/// A linear solver for the matrices of implicit steps of machines with many loops.
pub struct LoopStep {
    parts: TreeAndLoops,
    /// The iteration, and its counts.
    pub cg: Cg,
    counts: Arc<LoopCounts>,
    flops: Flops,
}

impl TreeAndLoops {
    /// x of the bodies −= c Dᵀμ.
    fn pull(&mut self, c: f64, mu: &[f64]) {
        for k in &self.closings {
            let block = self.matrix.values[k.pull..].chunks_exact(k.m);
            for (x, g) in self.x[k.body..k.body + k.n].iter_mut().zip(block) {
                *x -= c * g.iter().zip(&mu[k.first..]).map(|(g, l)| g * l).sum::<f64>();
            }
        }
    }

    /// out += D x; zero where an equation is left out.
    fn close(&self, out: &mut [f64]) {
        for k in &self.closings {
            let block = self.matrix.values[k.close..].chunks_exact(k.n);
            for (o, g) in out[k.first..k.first + k.m].iter_mut().zip(block) {
                *o += g.iter().zip(&self.x[k.body..]).map(|(g, x)| g * x).sum::<f64>();
            }
        }
        self.left_out.1.iter().for_each(|&i| out[i] = 0.0);
    }

    fn gather(&mut self, b: &[f64]) {
        self.x.iter_mut().zip(&self.rows).for_each(|(x, r)| *x = b[*r as usize]);
    }

    /// A row of the tree as a row of the step.
    fn renamed(&self, e: LinearError) -> LinearError {
        match e {
            LinearError::Singular { row } => LinearError::Singular { row: self.rows[row] as usize },
            LinearError::NotFinite { row } => LinearError::NotFinite { row: self.rows[row] as usize },
            other => other,
        }
    }
}

impl LoopSystem for TreeAndLoops {
    fn product(&mut self, p: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
        self.x[..self.bodies].fill(0.0);
        self.pull(-1.0, p);
        self.tree.respond(&mut self.x[..self.bodies]);
        out.fill(0.0);
        self.close(out);
        Ok(())
    }

    fn precondition(&mut self, r: &[f64], z: &mut [f64]) -> Result<(), LinearError> {
        let (Some(whole), true) = (&mut self.whole, self.made) else {
            z.copy_from_slice(r);
            return Ok(());
        };
        self.right.fill(0.0);
        self.loop_rows.iter().zip(r).for_each(|(k, r)| self.right[*k as usize] = -r);
        whole.solve(&mut self.right)?;
        self.loop_rows.iter().zip(z).for_each(|(k, z)| *z = self.right[*k as usize]);
        Ok(())
    }

    fn sweep(&self) -> f64 {
        2.0 * self.tree.factor_entries() as f64
    }

    fn whole(&self) -> Option<Flops> {
        self.whole.as_ref().map(|w| w.flops())
    }

    fn learn(&mut self) {
        if self.whole.is_none() {
            let mut whole = solver::choose_nearly_symmetric(self.matrix.pattern());
            whole.leave_out(self.left_out.0.as_deref());
            self.whole = Some(whole);
        }
    }

    fn renew(&mut self) -> Result<(), LinearError> {
        self.learn();
        if let Some(whole) = &mut self.whole {
            whole.factor(&self.matrix)?;
        }
        self.made = true;
        Ok(())
    }

    fn pivot(&self) -> f64 {
        f64::INFINITY
    }
}

/// What closes loops, given the blocks of their rows and where a body stands in the tree; and these rows.
fn closings(
    pattern: &BlockPattern,
    cut: impl Iterator<Item = usize>,
    place: impl Fn(usize) -> Range<usize>,
) -> Option<(Vec<LoopBlock>, Vec<u32>)> {
    let (mut closings, mut loop_rows) = (Vec::new(), Vec::new());
    for block in cut {
        let (first, m) = (loop_rows.len(), pattern.size(block));
        loop_rows.extend(pattern.range(block).map(|r| r as u32));
        for (body, close) in pattern.row(block).filter(|(c, _)| pattern.class(*c) == Class::Body) {
            let (pull, at) = (pattern.offset(body, block)? as usize, place(body));
            closings.push(LoopBlock { body: at.start, n: at.len(), first, m, pull, close });
        }
    }
    Some((closings, loop_rows))
}

impl LoopStep {
    /// For matrices of a step with the unknowns q and λ alone; none where bodies are coupled by more than constraints, or
    /// where the equations have no tree.
    pub fn new(
        dynamics: &Arc<dyn Dynamics>,
        at: &Point,
        pattern: &Arc<BlockPattern>,
        unknowns: &Unknowns,
    ) -> Option<LoopStep> {
        let loops = Loops::new(dynamics.clone(), at)?;
        let layout = dynamics.layout();
        let mut block_of = [vec![usize::MAX; layout.bodies.len()], vec![usize::MAX; layout.constraints.len()]];
        for block in 0..pattern.blocks() {
            match unknowns.owner(block) {
                (Unknown::Q, b) => block_of[0][b] = block,
                (Unknown::Lambda, k) => block_of[1][k] = block,
                _ => return None,
            }
        }
        let [body_block, row_block] = block_of;
        let (order, tree) = (loops.order(), &loops.tree);
        if order.iter().any(|&b| body_block[b] == usize::MAX) || row_block.contains(&usize::MAX) {
            return None;
        }
        let chosen: Vec<usize> =
            order.iter().map(|&b| body_block[b]).chain(tree.iter().map(|&k| row_block[k])).collect();
        let mut number = vec![u32::MAX; pattern.blocks()];
        chosen.iter().enumerate().for_each(|(i, &b)| number[b] = i as u32);
        let is_body = |b: usize| pattern.class(b) == Class::Body;
        let mut entries = Vec::new();
        for &row in &chosen {
            for (column, _) in pattern.row(row) {
                if row != column && is_body(row) && is_body(column) {
                    return None;
                }
                if number[column] != u32::MAX {
                    entries.push((number[row], number[column]));
                }
            }
        }
        let sizes = chosen.iter().map(|&b| pattern.size(b)).collect();
        let classes = chosen.iter().map(|&b| pattern.class(b)).collect();
        let own = Arc::new(BlockPattern::new(sizes, classes, entries));
        let linear = TreeLu::for_pattern(&own)?;
        let mut copies = Vec::new();
        for (i, &row) in chosen.iter().enumerate() {
            for (column, from) in pattern.row(row).filter(|(c, _)| number[*c] != u32::MAX) {
                let to = own.offset(i, number[column] as usize)?;
                let entries = (pattern.size(row) * pattern.size(column)) as u32;
                let body = if row == column && is_body(row) { pattern.size(row) as u32 } else { 0 };
                copies.push(TreeCopy { from: from as u32, to, entries, body });
            }
        }
        let cut = loops.cut.iter().map(|&k| row_block[k]);
        let (closings, loop_rows) = closings(pattern, cut, |body| own.range(number[body] as usize))?;
        let rows = chosen.iter().flat_map(|&b| pattern.range(b)).map(|r| r as u32).collect();
        let counts = Arc::new(LoopCounts { equations: loop_rows.len(), ..LoopCounts::default() });
        Some(LoopStep {
            cg: Cg::new(loop_rows.len(), 0.0),
            counts,
            flops: Flops::default(),
            parts: TreeAndLoops {
                tree: linear,
                copies,
                closings,
                matrix: BlockMatrix::new(pattern.clone()),
                rows,
                loop_rows,
                left_out: (None, Vec::new()),
                bodies: layout.n(),
                x: vec![0.0; own.dimension()],
                swept: BlockMatrix::new(own),
                whole: None,
                made: false,
                right: vec![0.0; pattern.dimension()],
            },
        })
    }

    /// What it did so far, readable after the solver was handed over.
    pub fn counts(&self) -> Arc<LoopCounts> {
        self.counts.clone()
    }

    /// Makes the factors of the whole matrix that was factored last: the preconditioner of what follows.
    pub fn renew(&mut self) -> Result<(), LinearError> {
        self.cg.renew(&mut self.parts)
    }

    /// Operations of a sweep over the tree.
    pub fn sweep(&self) -> f64 {
        self.parts.sweep()
    }

    /// What a factorization of the whole matrix would cost.
    pub fn of_whole(&mut self) -> Flops {
        self.parts.learn();
        self.parts.whole().unwrap_or_default()
    }
}

impl LinearSolver for LoopStep {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        let expected = self.parts.matrix.values.len();
        match pattern.values() == expected {
            true => Ok(()),
            false => Err(LinearError::Sizes { expected, found: pattern.values() }),
        }
    }

    /// Equations of loops; those of the tree are never redundant.
    fn leave_out(&mut self, rows: Option<&[usize]>) {
        let parts = &mut self.parts;
        let place = |row: &usize| parts.loop_rows.iter().position(|r| *r as usize == *row);
        let places = rows.unwrap_or_default().iter().filter_map(place).collect();
        parts.left_out = (rows.map(<[usize]>::to_vec), places);
        parts.whole.iter_mut().for_each(|whole| whole.leave_out(rows));
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        let parts = &mut self.parts;
        if a.values.len() != parts.matrix.values.len() {
            return Err(LinearError::Sizes { expected: parts.matrix.values.len(), found: a.values.len() });
        }
        parts.matrix.values.copy_from_slice(&a.values);
        for c in &parts.copies {
            let from = &a.values[c.from as usize..][..c.entries as usize];
            let to = &mut parts.swept.values[c.to as usize..][..c.entries as usize];
            let n = c.body as usize;
            match n {
                0 => to.copy_from_slice(from),
                _ => (0..n * n).for_each(|i| to[i] = 0.5 * (from[i] + from[i % n * n + i / n])),
            }
        }
        self.flops.factor = 3 * parts.tree.factor_entries();
        parts.tree.factor(&parts.swept).map_err(|e| self.parts.renamed(e))
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        let (parts, cg) = (&mut self.parts, &mut self.cg);
        if b.len() != parts.right.len() {
            return Err(LinearError::Sizes { expected: parts.right.len(), found: b.len() });
        }
        parts.gather(b);
        parts.tree.solve(&mut parts.x)?;
        cg.r.iter_mut().zip(&parts.loop_rows).for_each(|(r, k)| *r = -b[*k as usize]);
        parts.close(&mut cg.r);
        let open = cg.r.iter().fold(0.0f64, |m, r| m.max(r.abs()));
        cg.mu.fill(0.0);
        let before = (cg.iterations, cg.renewals);
        cg.iterate(parts, CORRECTION * open)?;
        parts.gather(b);
        parts.pull(1.0, &cg.mu);
        parts.tree.solve(&mut parts.x)?;
        parts.rows.iter().zip(&parts.x).for_each(|(r, x)| b[*r as usize] = *x);
        parts.loop_rows.iter().zip(&cg.mu).for_each(|(r, mu)| b[*r as usize] = *mu);
        let (sweep, whole) = (parts.sweep() as usize, parts.whole().filter(|_| parts.made).unwrap_or_default());
        let (taken, renewed) = (cg.iterations - before.0, cg.renewals - before.1);
        self.flops.solve = 2 * sweep + taken * (sweep + whole.solve) + renewed * whole.factor;
        for (count, now) in [
            (&self.counts.solves, cg.solves),
            (&self.counts.iterations, cg.iterations),
            (&self.counts.renewals, cg.renewals),
        ] {
            count.store(now, Relaxed);
        }
        Ok(())
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        let parts = &mut self.parts;
        parts.tree.keep(tape, factors);
        if factors {
            tape.fixed(&mut parts.swept.values);
            tape.fixed(&mut parts.matrix.values);
        }
        tape.flag(&mut parts.made);
        tape.option(&mut parts.whole, || Some(solver::choose_nearly_symmetric(parts.matrix.pattern())));
        if let Some(whole) = &mut parts.whole {
            if tape.reads() {
                whole.leave_out(parts.left_out.0.as_deref());
            }
            whole.keep(tape, parts.made);
        }
        self.cg.keep(tape);
        tape.count(&mut self.flops.factor);
        tape.count(&mut self.flops.solve);
        let cg = &self.cg;
        let (solves, iterations, renewals) = (cg.solves, cg.iterations, cg.renewals);
        for (count, now) in
            [(&self.counts.solves, solves), (&self.counts.iterations, iterations), (&self.counts.renewals, renewals)]
        {
            count.store(now, Relaxed);
        }
    }

    fn dropped(&self) -> &[usize] {
        &[]
    }

    fn smallest_kept_pivot(&self) -> f64 {
        1.0
    }

    fn reveals_rank(&self) -> bool {
        false
    }

    fn flops(&self) -> Flops {
        self.flops
    }

    fn name(&self) -> &'static str {
        "loop-cg"
    }
}
