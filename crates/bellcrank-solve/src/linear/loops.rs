//! Closed loops: joints on a spanning tree, and those that close the rest.
//!
//! ```text
//!     M v̇ + Gᵀλ + Dᵀμ = f        G: the joints of the tree, and bodies' own equations
//!     G v̇ = γ,  D v̇ = δ          D: the joints that close loops
//! ```
//!
//! G has full rank whatever the position: each joint of the tree adds a body of its own. So the system without D is regular,
//! and one sweep from the leaves to the roots and one back solve it in O(n) [Ascher & Lin 2000, §2.2]. What D leaves to do is
//! a system of the loops alone, with P = M⁻¹ − M⁻¹Gᵀ(GM⁻¹Gᵀ)⁻¹GM⁻¹ the mobility of the tree:
//!
//! ```text
//!     S μ = D a + …,   S = D P Dᵀ,   a: the acceleration of the tree without its loops
//! ```

use super::spanning::{SpanningTree, span};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::solver::{LinearError, LinearSolver};
use bellcrank_math::linear::tree::TreeLu;
use bellcrank_math::random::Xorshift;
use bellcrank_model::dynamics::{Layout, Targets};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};
use std::ops::Range;
use std::sync::Arc;

/// A block of Gᵀ or Dᵀ as it is emitted: a body's rows by a constraint's columns.
#[derive(Clone, Debug)]
struct EmittedBlock {
    body: Range<usize>,
    rows: Range<usize>,
    at: usize,
    /// Offsets of the block and of its transpose in the matrix of the tree; none for a block of a loop.
    tree: Option<[usize; 2]>,
}

/// All blocks of Gᵀ and Dᵀ at a point, one after the other.
struct LoopGradients {
    pairs: Vec<(u32, u32)>,
    offsets: Vec<u32>,
    values: Vec<f64>,
}

impl LoopGradients {
    fn new(dynamics: &dyn Dynamics) -> LoopGradients {
        let (layout, pairs) = (dynamics.layout(), dynamics.pattern(Piece::GtLambda, Unknown::Lambda));
        let (mut offsets, mut size) = (Vec::with_capacity(pairs.len()), 0);
        for &(b, k) in &pairs {
            offsets.push(size as u32);
            size += layout.bodies[b as usize].len() * layout.constraints[k as usize].len();
        }
        LoopGradients { pairs, offsets, values: vec![0.0; size] }
    }

    /// Evaluates them at a realized point.
    fn evaluate(&mut self, dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) {
        self.values.fill(0.0);
        let mut out = Targets::new(&mut self.values, &self.offsets);
        dynamics.add_derivative(1.0, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, &mut out);
    }

    /// The spanning tree that they choose.
    fn span(&self, dynamics: &dyn Dynamics) -> SpanningTree {
        let layout = dynamics.layout();
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); layout.constraints.len()];
        let mut emitted: Vec<Vec<usize>> = vec![Vec::new(); layout.constraints.len()];
        for (e, &(b, k)) in self.pairs.iter().enumerate() {
            emitted[k as usize].push(e);
            if !ends[k as usize].contains(&(b as usize)) {
                ends[k as usize].push(b as usize);
            }
        }
        let rows = |k: usize, b: usize| {
            let (n, m) = (layout.bodies[b].len(), layout.constraints[k].len());
            let mut rows = vec![vec![0.0; n]; m];
            for &e in emitted[k].iter().filter(|&&e| self.pairs[e].0 as usize == b) {
                let block = &self.values[self.offsets[e] as usize..][..n * m];
                (0..n * m).for_each(|i| rows[i % m][i / m] += block[i]);
            }
            rows
        };
        span(dynamics, &ends, &rows)
    }
}

/// Where coordinates and constraint rows stand in the matrix of the tree, and in μ.
struct Numbering {
    coordinate: Vec<u32>,
    /// The row of each constraint row; none for a row of a loop.
    row: Vec<Option<u32>>,
    /// The rows of loops among all constraint rows, in the order of μ.
    loop_rows: Vec<usize>,
    /// The place of each constraint row in μ; [`NO_PLACE`] for a row of the tree.
    place: Vec<u32>,
}

const NO_PLACE: u32 = u32::MAX;

impl Numbering {
    fn new(layout: &Layout, pattern: &BlockPattern, span: &SpanningTree, cut: &[usize]) -> Numbering {
        let (n, m, bodies) = (layout.n(), layout.m(), span.order.len());
        let mut coordinate = vec![0; n];
        for (i, &b) in span.order.iter().enumerate() {
            pattern.range(i).zip(layout.bodies[b].clone()).for_each(|(to, from)| coordinate[from] = to as u32);
        }
        let (mut row, mut place, mut loop_rows) = (vec![None; m], vec![NO_PLACE; m], Vec::new());
        for (i, &k) in span.tree.iter().enumerate() {
            let rows = pattern.range(bodies + i).zip(layout.constraints[k].clone());
            rows.for_each(|(to, from)| row[from] = Some(to as u32));
        }
        for from in cut.iter().flat_map(|&k| layout.constraints[k].clone()) {
            place[from] = loop_rows.len() as u32;
            loop_rows.push(from);
        }
        Numbering { coordinate, row, loop_rows, place }
    }
}

/// The equations of motion in a spanning tree and its loops, factored at a point.
/// Its fields are the tree, what closes it, and where both stand in the matrix.
pub struct Loops {
    dynamics: Arc<dyn Dynamics>,
    /// Constraint blocks of the tree.
    pub tree: Vec<usize>,
    /// Constraint blocks that close loops.
    pub cut: Vec<usize>,
    order: Vec<usize>,
    linear: TreeLu,
    matrix: BlockMatrix,
    mass: Vec<u32>,
    blocks: Vec<EmittedBlock>,
    gradients: LoopGradients,
    numbering: Numbering,
    /// Places in μ of redundant equations, which are left out: D has no such rows.
    left_out: Vec<usize>,
    /// Whether nothing is left out.
    pub keeps_redundant: bool,
    x: Vec<f64>,
    /// Sweeps over the tree so far.
    pub sweeps: Sweeps,
}

/// Sweeps over a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sweeps {
    /// Factorizations.
    pub factorizations: usize,
    /// Solutions.
    pub solutions: usize,
}

impl Loops {
    /// A spanning tree chosen at a point; none where the equations are not those of bodies with masses of their own.
    pub fn new(dynamics: Arc<dyn Dynamics>, at: &Point) -> Option<Loops> {
        Loops::with(dynamics, at, |gradients, dynamics| gradients.span(dynamics))
    }

    /// No tree at all: every constraint counts as a loop, and M alone is inverted.
    pub fn all(dynamics: Arc<dyn Dynamics>, at: &Point) -> Option<Loops> {
        Loops::with(dynamics, at, |_, dynamics| SpanningTree {
            order: (0..dynamics.layout().bodies.len()).collect(),
            tree: Vec::new(),
        })
    }

    fn with(
        dynamics: Arc<dyn Dynamics>,
        at: &Point,
        choose: impl FnOnce(&LoopGradients, &dyn Dynamics) -> SpanningTree,
    ) -> Option<Loops> {
        if dynamics.recursive() {
            return None; // their mass matrix, which nobody needs, would be full along every branch
        }
        let mass_pairs = dynamics.pattern(Piece::MassAccel, Unknown::V);
        if mass_pairs.iter().any(|(a, b)| a != b) {
            return None;
        }
        let mut gradients = LoopGradients::new(&*dynamics);
        let mut w = dynamics.workspace();
        dynamics.realize(at, &mut w);
        gradients.evaluate(&*dynamics, at, &mut w);
        let span = choose(&gradients, &*dynamics);
        let layout = dynamics.layout();
        let inside = |k: usize| span.tree.binary_search(&k);
        let cut: Vec<usize> = (0..layout.constraints.len()).filter(|&k| inside(k).is_err()).collect();
        let bodies = span.order.len();
        let mut block_of = vec![0; bodies];
        span.order.iter().enumerate().for_each(|(i, &b)| block_of[b] = i as u32);
        let column = |k: usize| inside(k).ok().map(|i| (bodies + i) as u32);
        let pattern = tree_pattern(layout, &span, &gradients.pairs, |b| block_of[b as usize], &column);
        let linear = TreeLu::for_pattern(&pattern)?;
        let find = |r: u32, c: u32| pattern.offset(r as usize, c as usize).map(|o| o as usize);
        let block = |(&(b, k), &at): (&(u32, u32), &u32)| {
            let (b, k) = (b as usize, k as usize);
            let tree = column(k).and_then(|c| Some([find(block_of[b], c)?, find(c, block_of[b])?]));
            EmittedBlock { body: layout.bodies[b].clone(), rows: layout.constraints[k].clone(), at: at as usize, tree }
        };
        let blocks = gradients.pairs.iter().zip(&gradients.offsets).map(block).collect();
        let place = |b: &u32| block_of[*b as usize] as usize;
        let mass = mass_pairs.iter().filter_map(|(b, _)| pattern.offset(place(b), place(b))).collect();
        Some(Loops {
            numbering: Numbering::new(layout, &pattern, &span, &cut),
            left_out: Vec::new(),
            keeps_redundant: false,
            x: vec![0.0; pattern.dimension()],
            matrix: BlockMatrix::new(pattern),
            tree: span.tree,
            order: span.order,
            cut,
            linear,
            mass,
            blocks,
            gradients,
            sweeps: Sweeps::default(),
            dynamics: dynamics.clone(),
        })
    }

    /// The bodies, each after the one that carries it.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Number of equations that close loops.
    pub fn size(&self) -> usize {
        self.numbering.loop_rows.len()
    }

    /// The equations that close loops among all constraint rows.
    pub fn rows(&self) -> &[usize] {
        &self.numbering.loop_rows
    }

    /// Where a constraint row stands among those that close loops.
    pub fn place(&self, row: usize) -> Option<usize> {
        (self.numbering.place[row] != NO_PLACE).then_some(self.numbering.place[row] as usize)
    }

    /// Numbers in the factors of the tree.
    pub fn factor_entries(&self) -> usize {
        self.linear.factor_entries()
    }

    /// The places in μ of the equations that are left out: nothing is open there, and no multiplier pulls.
    pub fn left_out(&self) -> &[usize] {
        &self.left_out
    }

    /// Forms and factors the matrix of the tree at a realized point, without the loops that it leaves out.
    pub fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        let rows = if self.keeps_redundant { &[] } else { at.charts.left_out.among(self.numbering.place.len()) };
        let places = rows.iter().map(|&row| self.numbering.place[row]).filter(|place| *place != NO_PLACE);
        self.left_out.clear();
        self.left_out.extend(places.map(|place| place as usize));
        self.matrix.clear();
        let slopes = Slopes { q: 0.0, v: 1.0, z: 0.0 };
        let mut out = Targets::new(&mut self.matrix.values, &self.mass);
        self.dynamics.add_derivative(1.0, Piece::MassAccel, Unknown::V, slopes, at, w, &mut out);
        self.gradients.evaluate(&*self.dynamics, at, w);
        for block in &self.blocks {
            let Some([to, transposed]) = block.tree else { continue };
            let (n, m) = (block.body.len(), block.rows.len());
            for i in 0..n {
                for j in 0..m {
                    let g = self.gradients.values[block.at + i * m + j];
                    self.matrix.values[to + i * m + j] += g;
                    self.matrix.values[transposed + j * n + i] += g;
                }
            }
        }
        self.sweeps.factorizations += 1;
        self.linear.factor(&self.matrix).map_err(|e| self.renamed(e))
    }

    /// A row of the matrix of the tree as a row of all coordinates and constraints.
    fn renamed(&self, e: LinearError) -> LinearError {
        let find = |row: usize| {
            let row = row as u32;
            let coordinate = self.numbering.coordinate.iter().position(|c| *c == row);
            coordinate
                .or_else(|| {
                    self.numbering.row.iter().position(|r| *r == Some(row)).map(|r| self.dynamics.layout().n() + r)
                })
                .unwrap_or(0)
        };
        match e {
            LinearError::Singular { row } => LinearError::Singular { row: find(row) },
            LinearError::NotFinite { row } => LinearError::NotFinite { row: find(row) },
            other => other,
        }
    }

    /// a and λ of the tree: M a + Gᵀλ = f, G a = γ over the rows of the tree; γ is given over all constraint rows.
    pub fn solve(
        &mut self,
        f: &[f64],
        gamma: Option<&[f64]>,
        a: &mut [f64],
        lambda: Option<&mut [f64]>,
    ) -> Result<(), LinearError> {
        self.x.fill(0.0);
        self.numbering.coordinate.iter().zip(f).for_each(|(c, f)| self.x[*c as usize] = *f);
        if let Some(gamma) = gamma {
            let rows = self.numbering.row.iter().zip(gamma).filter_map(|(r, g)| r.map(|r| (r, g)));
            rows.for_each(|(r, g)| self.x[r as usize] = *g);
        }
        self.sweeps.solutions += 1;
        self.linear.solve(&mut self.x)?;
        self.numbering.coordinate.iter().zip(a).for_each(|(c, a)| *a = self.x[*c as usize]);
        if let Some(lambda) = lambda {
            let rows = self.numbering.row.iter().zip(lambda).filter_map(|(r, l)| r.map(|r| (r, l)));
            rows.for_each(|(r, l)| *l = self.x[r as usize]);
        }
        Ok(())
    }

    /// out += c Dᵀμ.
    pub fn add_pull(&self, c: f64, mu: &[f64], out: &mut [f64]) {
        for block in self.blocks.iter().filter(|b| b.tree.is_none()) {
            let m = block.rows.len();
            let first = self.numbering.place[block.rows.start] as usize;
            let mu = &mu[first..first + m];
            for (out, g) in out[block.body.clone()].iter_mut().zip(self.gradients.values[block.at..].chunks_exact(m)) {
                *out += c * g.iter().zip(mu).map(|(g, l)| g * l).sum::<f64>();
            }
        }
    }

    /// out += c D x; zero where an equation is left out.
    pub fn add_closing(&self, c: f64, x: &[f64], out: &mut [f64]) {
        for block in self.blocks.iter().filter(|b| b.tree.is_none()) {
            let m = block.rows.len();
            let first = self.numbering.place[block.rows.start] as usize;
            let out = &mut out[first..first + m];
            for (x, g) in x[block.body.clone()].iter().zip(self.gradients.values[block.at..].chunks_exact(m)) {
                out.iter_mut().zip(g).for_each(|(o, g)| *o += c * x * g);
            }
        }
        self.left_out.iter().for_each(|&i| out[i] = 0.0);
    }

    /// The rows of loops out of all constraint rows; zero where they are left out.
    pub fn pick(&self, rows: &[f64], out: &mut [f64]) {
        self.numbering.loop_rows.iter().zip(&mut *out).for_each(|(r, o)| *o = rows[*r]);
        self.left_out.iter().for_each(|&i| out[i] = 0.0);
    }

    /// out = S μ with S = D P Dᵀ; `scratch` has the size of the coordinates.
    pub fn mobility(&mut self, mu: &[f64], scratch: &mut [f64], out: &mut [f64]) -> Result<(), LinearError> {
        scratch.fill(0.0);
        self.add_pull(1.0, mu, scratch);
        // bodies stand first in the matrix of the tree
        let x = &mut self.x[..self.numbering.coordinate.len()];
        self.numbering.coordinate.iter().zip(&*scratch).for_each(|(c, f)| x[*c as usize] = *f);
        self.sweeps.solutions += 1;
        self.linear.respond(x);
        self.numbering.coordinate.iter().zip(&mut *scratch).for_each(|(c, a)| *a = x[*c as usize]);
        out.fill(0.0);
        self.add_closing(1.0, scratch, out);
        Ok(())
    }

    /// How easily each joint that closes a loop is moved by its own multipliers: the mean of the diagonal of its block of S,
    /// for every row of the block; one sweep for every row.
    pub fn own_mobilities(&mut self) -> Result<Vec<f64>, LinearError> {
        let mut out = vec![0.0; self.size()];
        let (mut unit, mut moved) = (out.clone(), out.clone());
        let mut scratch = vec![0.0; self.dynamics.layout().n()];
        let blocks: Vec<usize> = self.cut.iter().map(|&k| self.dynamics.layout().constraints[k].len()).collect();
        let mut first = 0;
        for size in blocks {
            let rows = first..first + size;
            let mut sum = 0.0;
            let kept: Vec<usize> = rows.clone().filter(|i| !self.left_out.contains(i)).collect();
            for &i in &kept {
                unit[i] = 1.0;
                self.mobility(&unit, &mut scratch, &mut moved)?;
                unit[i] = 0.0;
                sum += moved[i];
            }
            out[rows].fill(sum / kept.len().max(1) as f64);
            first += size;
        }
        Ok(out)
    }

    /// The largest eigenvalue of W⁻¹S, W the diagonal of some weights of the rows, by the power method: from below, to a
    /// percent where `most` steps allow.
    pub fn largest_mobility(&mut self, weights: &[f64], most: usize) -> Result<f64, LinearError> {
        let root: Vec<f64> = weights.iter().map(|w| 1.0 / w.sqrt()).collect();
        let mut random = Xorshift(7);
        let mut x: Vec<f64> = (0..self.size()).map(|_| random.number()).collect();
        let (mut y, mut scratch) = (vec![0.0; x.len()], vec![0.0; self.dynamics.layout().n()]);
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut lambda = 0.0;
        for step in 0..most {
            let size = norm(&x);
            if size == 0.0 {
                break;
            }
            x.iter_mut().for_each(|x| *x /= size);
            let scaled: Vec<f64> = x.iter().zip(&root).map(|(x, r)| r * x).collect();
            self.mobility(&scaled, &mut scratch, &mut y)?;
            y.iter_mut().zip(&root).for_each(|(y, r)| *y *= r);
            // Rayleigh's quotient, and the residual that bounds its error
            let next: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            let rest: f64 = x.iter().zip(&y).map(|(x, y)| (y - next * x).powi(2)).sum::<f64>().sqrt();
            lambda = next;
            std::mem::swap(&mut x, &mut y);
            if step > 3 && rest < 0.01 * next {
                break;
            }
        }
        Ok(lambda)
    }
}

/// The pattern of M and the G of a tree, bodies first.
fn tree_pattern(
    layout: &Layout,
    span: &SpanningTree,
    pairs: &[(u32, u32)],
    block_of: impl Fn(u32) -> u32,
    column: &dyn Fn(usize) -> Option<u32>,
) -> Arc<BlockPattern> {
    let (bodies, all) = (span.order.len(), span.order.len() + span.tree.len());
    let of_tree = span.tree.iter().map(|&k| layout.constraints[k].len());
    let sizes = span.order.iter().map(|&b| layout.bodies[b].len()).chain(of_tree).collect();
    let classes = (0..all).map(|i| if i < bodies { Class::Body } else { Class::Multiplier }).collect();
    let mut entries: Vec<(u32, u32)> = (0..all as u32).map(|i| (i, i)).collect();
    for &(b, k) in pairs {
        if let Some(c) = column(k as usize) {
            entries.extend([(block_of(b), c), (c, block_of(b))]);
        }
    }
    Arc::new(BlockPattern::new(sizes, classes, entries))
}
