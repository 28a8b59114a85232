//! Block elimination along a tree, from the leaves to the root: the recursion in descriptor form.
//!
//! A body k stands with its own multipliers and those of its joint to its father f in one node,
//!
//! ```text
//!     D_k = [ M̂_k  G_kᵀ ]        M̂_f ← M̂_f − R_k D_k⁻¹ C_k = M̂_f + G_kfᵀ S⁻¹ G_kf,   S = G_k M̂_k⁻¹ G_kᵀ
//!           [ G_k    0  ]
//! ```
//!
//! with C_k and R_k what couples it to its father [Ascher & Lin 2000, §2.2]. Nothing fills in: the factors have as many
//! numbers as the nodes and their couplings, whatever the tree.

use crate::blocks::{BlockMatrix, BlockPattern, Class};
use crate::solver::{LinearError, LinearSolver};
use std::ops::Range;
use std::sync::Arc;

/// A body with its multipliers.
#[derive(Clone, Debug)]
struct Node {
    /// The blocks, the body first.
    blocks: Range<usize>,
    /// Dimension of the node, and of its body.
    size: usize,
    body: usize,
    /// The father's node, or none.
    father: Option<usize>,
    /// Where its numbers begin: D with D⁻¹C and R after it, the pivots, and its part of a vector.
    values: usize,
    pivots: usize,
}

/// Elimination from leaf to root, for matrices of bodies and multipliers whose joints form a forest.
#[derive(Clone, Debug, Default)]
pub struct TreeLu {
    nodes: Vec<Node>,
    /// The blocks of the nodes: their number, and their first row in the node.
    blocks: Vec<(usize, usize)>,
    values: Vec<f64>,
    pivots: Vec<usize>,
    dimension: usize,
    x: Vec<f64>,
    pattern: Option<Arc<BlockPattern>>,
}

impl TreeLu {
    /// A solver for matrices of this pattern; none where the joints close loops between bodies.
    pub fn for_pattern(pattern: &Arc<BlockPattern>) -> Option<TreeLu> {
        let blocks = pattern.blocks();
        let is_body = |b: usize| pattern.class(b) == Class::Body;
        if (0..blocks).any(|b| pattern.class(b) == Class::Velocity) {
            return None;
        }
        let mut joined: Vec<Vec<(usize, usize)>> = vec![Vec::new(); blocks];
        let mut own: Vec<Vec<usize>> = vec![Vec::new(); blocks];
        for k in 0..blocks {
            let bodies: Vec<usize> = pattern.row(k).map(|(c, _)| c).filter(|&c| c != k && is_body(c)).collect();
            let multipliers = pattern.row(k).any(|(c, _)| c != k && !is_body(c));
            match (is_body(k), &bodies[..]) {
                (true, _) => {}
                (false, [b]) if !multipliers => own[*b].push(k),
                (false, [a, b]) if !multipliers => {
                    joined[*a].push((*b, k));
                    joined[*b].push((*a, k));
                }
                _ => return None,
            }
        }
        let mut tree = TreeLu { dimension: pattern.dimension(), pattern: Some(pattern.clone()), ..TreeLu::default() };
        // fathers before sons; a second way to a body is a loop
        let mut seen = vec![false; blocks];
        for root in (0..blocks).filter(|&b| is_body(b)) {
            let mut queue = vec![(root, None, Vec::new())];
            if seen[root] {
                continue;
            }
            while let Some((b, father, joints)) = queue.pop() {
                if std::mem::replace(&mut seen[b], true) {
                    return None;
                }
                let number = tree.push(pattern, b, father, own[b].iter().chain(&joints));
                let mut sons: Vec<(usize, Vec<usize>)> = Vec::new();
                for &(son, k) in joined[b].iter().filter(|(_, k)| !joints.contains(k)) {
                    match sons.iter_mut().find(|(s, _)| *s == son) {
                        Some((_, list)) => list.push(k),
                        None => sons.push((son, vec![k])),
                    }
                }
                queue.extend(sons.into_iter().map(|(son, list)| (son, Some(number), list)));
            }
        }
        let bodies_joined = |b: usize| pattern.row(b).any(|(c, _)| c != b && is_body(c));
        if (0..blocks).any(|b| is_body(b) && bodies_joined(b)) {
            return None; // forces between bodies have no place here
        }
        tree.x = vec![0.0; tree.dimension];
        Some(tree)
    }

    fn push<'a>(
        &mut self,
        pattern: &BlockPattern,
        body: usize,
        father: Option<usize>,
        multipliers: impl Iterator<Item = &'a usize>,
    ) -> usize {
        let first = self.blocks.len();
        let mut size = 0;
        for b in std::iter::once(body).chain(multipliers.copied()) {
            self.blocks.push((b, size));
            size += pattern.size(b);
        }
        let across = father.map_or(0, |f| self.nodes[f].body);
        let (values, pivots) = (self.values.len(), self.pivots.len());
        self.values.resize(values + size * (size + 2 * across), 0.0);
        self.pivots.resize(pivots + size, 0);
        let blocks = first..self.blocks.len();
        self.nodes.push(Node { blocks, size, body: pattern.size(body), father, values, pivots });
        self.nodes.len() - 1
    }

    /// Numbers in the factors.
    pub fn factor_entries(&self) -> usize {
        self.values.len()
    }

    /// D, D⁻¹C and R of a node.
    fn parts(&self, k: usize) -> (Range<usize>, Range<usize>, Range<usize>) {
        let n = &self.nodes[k];
        let across = n.father.map_or(0, |f| self.nodes[f].body);
        let (d, c) = (n.values + n.size * n.size, n.size * across);
        (n.values..d, d..d + c, d + c..d + 2 * c)
    }
}

/// LU with row pivoting in place; or the row without a pivot.
fn factor(a: &mut [f64], pivots: &mut [usize]) -> Result<(), usize> {
    let n = pivots.len();
    for k in 0..n {
        let at = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        pivots[k] = at;
        if at != k {
            (0..n).for_each(|j| a.swap(at * n + j, k * n + j));
        }
        let pivot = a[k * n + k];
        if pivot == 0.0 || !pivot.is_finite() {
            return Err(k);
        }
        for i in k + 1..n {
            let f = a[i * n + k] / pivot;
            a[i * n + k] = f;
            (k + 1..n).for_each(|j| a[i * n + j] -= f * a[k * n + j]);
        }
    }
    Ok(())
}

/// x ← A⁻¹ x for `width` columns by rows.
fn divide(a: &[f64], pivots: &[usize], x: &mut [f64], width: usize) {
    let n = pivots.len();
    for k in 0..n {
        if pivots[k] != k {
            (0..width).for_each(|j| x.swap(pivots[k] * width + j, k * width + j));
        }
    }
    for i in 0..n {
        for k in 0..i {
            (0..width).for_each(|j| x[i * width + j] -= a[i * n + k] * x[k * width + j]);
        }
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            (0..width).for_each(|j| x[i * width + j] -= a[i * n + k] * x[k * width + j]);
        }
        (0..width).for_each(|j| x[i * width + j] /= a[i * n + i]);
    }
}

impl LinearSolver for TreeLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = TreeLu::for_pattern(pattern).ok_or(LinearError::TooLarge { entries: pattern.values() })?;
        Ok(())
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        let pattern = a.pattern();
        if pattern.dimension() != self.dimension {
            return Err(LinearError::Sizes { expected: self.dimension, found: pattern.dimension() });
        }
        self.values.fill(0.0);
        for k in 0..self.nodes.len() {
            let (d, c, r) = self.parts(k);
            let node = &self.nodes[k];
            let father = node.father.map(|f| self.blocks[self.nodes[f].blocks.start].0);
            let across = node.father.map_or(0, |f| self.nodes[f].body);
            for &(row, i) in &self.blocks[node.blocks.clone()] {
                let mut copy = |row: usize, column: usize, to: usize, stride: usize| {
                    if let Some(block) = a.block(row, column) {
                        let width = pattern.size(column);
                        for (i, values) in block.chunks_exact(width).enumerate() {
                            self.values[to + i * stride..to + i * stride + width].copy_from_slice(values);
                        }
                    }
                };
                for &(column, j) in &self.blocks[node.blocks.clone()] {
                    copy(row, column, d.start + i * node.size + j, node.size);
                }
                if let Some(f) = father {
                    copy(row, f, c.start + i * across, across);
                    copy(f, row, r.start + i, node.size);
                }
            }
        }
        for k in (0..self.nodes.len()).rev() {
            let (d, c, r) = self.parts(k);
            let node = self.nodes[k].clone();
            let (before, rest) = self.values.split_at_mut(node.values);
            let (d, rest) = rest.split_at_mut(d.len());
            let (c, rest) = rest.split_at_mut(c.len());
            let pivots = &mut self.pivots[node.pivots..node.pivots + node.size];
            factor(d, pivots).map_err(|row| {
                let &(block, first) =
                    self.blocks[node.blocks.clone()].iter().rfind(|(_, i)| *i <= row).unwrap_or(&(0, 0));
                LinearError::Singular { row: pattern.range(block).start + row - first }
            })?;
            let Some(f) = node.father else { continue };
            let (across, to) = (self.nodes[f].body, self.nodes[f].values);
            divide(d, pivots, c, across);
            for i in 0..across {
                for j in 0..across {
                    let sum: f64 = (0..node.size).map(|k| rest[..r.len()][i * node.size + k] * c[k * across + j]).sum();
                    before[to + i * self.nodes[f].size + j] -= sum;
                }
            }
        }
        Ok(())
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        let Some(pattern) = self.pattern.clone().filter(|_| b.len() == self.dimension) else {
            return Err(LinearError::Sizes { expected: self.dimension, found: b.len() });
        };
        let mut x = [0.0; 64];
        for k in (0..self.nodes.len()).rev() {
            let (d, _, r) = self.parts(k);
            let node = &self.nodes[k];
            let list = &self.blocks[node.blocks.clone()];
            let mut large = if node.size > x.len() { vec![0.0; node.size] } else { Vec::new() };
            let x = if node.size > x.len() { &mut large[..] } else { &mut x[..node.size] };
            for &(block, i) in list {
                x[i..i + pattern.size(block)].copy_from_slice(&b[pattern.range(block)]);
            }
            divide(&self.values[d], &self.pivots[node.pivots..node.pivots + node.size], x, 1);
            for &(block, i) in list {
                b[pattern.range(block)].copy_from_slice(&x[i..i + pattern.size(block)]);
            }
            if let Some(f) = node.father {
                let to = pattern.range(self.blocks[self.nodes[f].blocks.start].0);
                for (b, row) in b[to].iter_mut().zip(self.values[r].chunks_exact(node.size)) {
                    *b -= row.iter().zip(&*x).map(|(r, x)| r * x).sum::<f64>();
                }
            }
        }
        for k in 0..self.nodes.len() {
            let node = &self.nodes[k];
            let Some(f) = node.father else { continue };
            let from = pattern.range(self.blocks[self.nodes[f].blocks.start].0);
            let (_, c, _) = self.parts(k);
            let across = from.len();
            self.x[..across].copy_from_slice(&b[from]);
            for &(block, i) in &self.blocks[node.blocks.clone()] {
                for (row, b) in b[pattern.range(block)].iter_mut().enumerate() {
                    let c = &self.values[c.start + (i + row) * across..][..across];
                    *b -= c.iter().zip(&self.x).map(|(c, x)| c * x).sum::<f64>();
                }
            }
        }
        Ok(())
    }

    fn dropped(&self) -> &[usize] {
        &[]
    }

    fn smallest_kept_pivot(&self) -> f64 {
        1.0
    }

    fn name(&self) -> &'static str {
        "recursion"
    }
}
