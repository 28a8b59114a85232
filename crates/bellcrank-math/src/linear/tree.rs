//! Block elimination along a tree, from the leaves to the root: the recursion in descriptor form.
//!
//! A body k forms one node with its own multipliers and those of its joint to its parent f,
//!
//! ```text
//!     D_k = [ M̂_k  G_kᵀ ]        M̂_f ← M̂_f − R_k D_k⁻¹ C_k = M̂_f + G_kfᵀ S⁻¹ G_kf,   S = G_k M̂_k⁻¹ G_kᵀ
//!           [ G_k    0  ]
//! ```
//!
//! with C_k and R_k its couplings to the parent [Ascher & Lin 2000, §2.2]. There is no fill: the factors D⁻¹, D⁻¹C and R D⁻¹
//! have the sizes of the nodes and their couplings, whatever the tree.

use super::blocks::{BlockMatrix, BlockPattern, Class};
use super::interface::{LinearError, LinearSolver};
use crate::numbers::dot;
use crate::tape::Tape;
use std::ops::Range;
use std::sync::Arc;

/// A body with its multipliers.
#[derive(Clone, Debug)]
struct TreeNode {
    /// The blocks, the body first.
    blocks: Range<usize>,
    /// Dimension of the node, and of its body.
    size: usize,
    body: usize,
    /// The scalar row where its body begins.
    first: usize,
    /// The parent's node.
    parent: Option<usize>,
    /// Offset of its factors: D⁻¹, then D⁻¹C and R D⁻¹.
    values: usize,
}

/// Where a block of the matrix goes in a node.
#[derive(Clone, Copy, Debug)]
struct NodeCopy {
    from: u32,
    to: u32,
    rows: u16,
    columns: u16,
    stride: u16,
}

/// Elimination from the leaves to the root, for matrices of bodies and multipliers whose joints form a forest.
#[derive(Clone, Debug, Default)]
pub struct TreeLu {
    nodes: Vec<TreeNode>,
    /// The blocks of the nodes: their first scalar row, their first row in the node, and their size.
    blocks: Vec<(usize, usize, usize)>,
    copies: Vec<NodeCopy>,
    values: Vec<f64>,
    dimension: usize,
    /// Number of values of a matrix.
    entries: usize,
    /// Room for a node: a vector, and a matrix with its columns to the parent.
    x: Vec<f64>,
    y: Vec<f64>,
}

impl TreeLu {
    /// A solver for matrices of this pattern; `None` where joints close loops between bodies.
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
        let mut tree = TreeLu { dimension: pattern.dimension(), entries: pattern.values(), ..TreeLu::default() };
        // parents before children; a second path to a body is a loop
        let mut seen = vec![false; blocks];
        for root in (0..blocks).filter(|&b| is_body(b)) {
            let mut queue = vec![(root, None, Vec::new())];
            if seen[root] {
                continue;
            }
            while let Some((b, parent, joints)) = queue.pop() {
                if std::mem::replace(&mut seen[b], true) {
                    return None;
                }
                let number = tree.push(pattern, b, parent, own[b].iter().chain(&joints));
                let mut children: Vec<(usize, Vec<usize>)> = Vec::new();
                for &(child, k) in joined[b].iter().filter(|(_, k)| !joints.contains(k)) {
                    match children.iter_mut().find(|(s, _)| *s == child) {
                        Some((_, list)) => list.push(k),
                        None => children.push((child, vec![k])),
                    }
                }
                queue.extend(children.into_iter().map(|(child, list)| (child, Some(number), list)));
            }
        }
        let bodies_joined = |b: usize| pattern.row(b).any(|(c, _)| c != b && is_body(c));
        if (0..blocks).any(|b| is_body(b) && bodies_joined(b)) {
            return None; // forces couple bodies directly
        }
        let largest = tree.nodes.iter().map(|n| n.size).max().unwrap_or(0);
        tree.x = vec![0.0; largest];
        tree.y = vec![0.0; largest * largest];
        Some(tree)
    }

    fn push<'a>(
        &mut self,
        pattern: &BlockPattern,
        body: usize,
        parent: Option<usize>,
        multipliers: impl Iterator<Item = &'a usize>,
    ) -> usize {
        let first = self.blocks.len();
        let list: Vec<usize> = std::iter::once(body).chain(multipliers.copied()).collect();
        let mut size = 0;
        for &b in &list {
            self.blocks.push((pattern.range(b).start, size, pattern.size(b)));
            size += pattern.size(b);
        }
        let across = parent.map_or(0, |f| self.nodes[f].body);
        let values = self.values.len();
        self.values.resize(values + size * (size + 2 * across), 0.0);
        // the parent's block, by its first row
        let above = parent.map(|f| pattern.block_of(self.nodes[f].first));
        let (c, r) = (values + size * size, values + size * (size + across));
        let mut copy = |row: usize, column: usize, to: usize, stride: usize| {
            if let Some(from) = pattern.offset(row, column) {
                let (rows, columns) = (pattern.size(row) as u16, pattern.size(column) as u16);
                self.copies.push(NodeCopy { from, to: to as u32, rows, columns, stride: stride as u16 });
            }
        };
        for (&row, &(_, i, _)) in list.iter().zip(&self.blocks[first..]) {
            for (&column, &(_, j, _)) in list.iter().zip(&self.blocks[first..]) {
                copy(row, column, values + i * size + j, size);
            }
            if let Some(f) = above {
                copy(row, f, c + i * across, across);
                copy(f, row, r + i, size);
            }
        }
        let blocks = first..self.blocks.len();
        let first = pattern.range(body).start;
        self.nodes.push(TreeNode { blocks, size, body: pattern.size(body), first, parent, values });
        self.nodes.len() - 1
    }

    /// The number of scalars stored in the factors.
    pub fn factor_entries(&self) -> usize {
        self.values.len()
    }

    /// b ← the bodies' components of A⁻¹ b, for a right-hand side that is zero on all multipliers; bodies come first in the
    /// matrix, and `b` holds their components alone. About a third of the work of `solve`.
    pub fn respond(&self, b: &mut [f64]) {
        for node in self.nodes.iter().rev() {
            let Some(f) = node.parent.map(|f| &self.nodes[f]) else { continue };
            let r = &self.values[node.values + node.size * (node.size + f.body)..];
            for i in 0..f.body {
                let sum = dot(&r[i * node.size..][..node.body], &b[node.first..node.first + node.body]);
                b[f.first + i] -= sum;
            }
        }
        let mut own = [0.0; 16];
        for node in &self.nodes {
            let n = node.body;
            let mut large = Vec::new();
            let own = if n <= own.len() {
                &mut own[..n]
            } else {
                large.resize(n, 0.0);
                &mut large[..]
            };
            own.copy_from_slice(&b[node.first..node.first + n]);
            let inverse = &self.values[node.values..];
            for i in 0..n {
                b[node.first + i] = dot(&inverse[i * node.size..][..n], own);
            }
            let Some(f) = node.parent.map(|f| &self.nodes[f]) else { continue };
            let c = &self.values[node.values + node.size * node.size..];
            for i in 0..n {
                let sum = dot(&c[i * f.body..][..f.body], &b[f.first..f.first + f.body]);
                b[node.first + i] -= sum;
            }
        }
    }
}

/// A ← A⁻¹ by Gauss–Jordan elimination with row pivoting; the error is the row without a pivot.
fn invert(a: &mut [f64], n: usize, swaps: &mut [f64]) -> Result<(), usize> {
    for k in 0..n {
        let mut at = k;
        for i in k + 1..n {
            if a[i * n + k].abs() > a[at * n + k].abs() {
                at = i;
            }
        }
        swaps[k] = at as f64;
        if at != k {
            let (above, below) = a.split_at_mut(at * n);
            above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
        }
        let pivot = a[k * n + k];
        if pivot == 0.0 || !pivot.is_finite() {
            return Err(k);
        }
        a[k * n + k] = 1.0;
        a[k * n..(k + 1) * n].iter_mut().for_each(|x| *x /= pivot);
        let (above, rest) = a.split_at_mut(k * n);
        let (row, below) = rest.split_at_mut(n);
        for other in above.chunks_exact_mut(n).chain(below.chunks_exact_mut(n)) {
            let f = std::mem::take(&mut other[k]);
            if f != 0.0 {
                other.iter_mut().zip(&*row).for_each(|(x, r)| *x -= f * r);
            }
        }
    }
    for k in (0..n).rev() {
        let at = swaps[k] as usize;
        if at != k {
            a.chunks_exact_mut(n).for_each(|row| row.swap(k, at));
        }
    }
    Ok(())
}

impl LinearSolver for TreeLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = TreeLu::for_pattern(pattern).ok_or(LinearError::TooLarge { entries: pattern.values() })?;
        Ok(())
    }

    /// Nothing: each joint of a tree adds a body of its own, and none of them is redundant.
    fn leave_out(&mut self, _: Option<&[usize]>) {}

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        if a.values.len() != self.entries {
            return Err(LinearError::Sizes { expected: self.entries, found: a.values.len() });
        }
        self.values.fill(0.0);
        for copy in &self.copies {
            let columns = copy.columns as usize;
            let block = a.values[copy.from as usize..].chunks_exact(columns).take(copy.rows as usize);
            for (i, values) in block.enumerate() {
                let to = copy.to as usize + i * copy.stride as usize;
                self.values[to..to + columns].copy_from_slice(values);
            }
        }
        for node in self.nodes.iter().rev() {
            let (before, own) = self.values.split_at_mut(node.values);
            let n = node.size;
            let (inverse, rest) = own.split_at_mut(n * n);
            invert(inverse, n, &mut self.x).map_err(|row| {
                let list = &self.blocks[node.blocks.clone()];
                let &(start, first, _) = list.iter().rfind(|(_, i, _)| *i <= row).unwrap_or(&(0, 0, 0));
                LinearError::Singular { row: start + row - first }
            })?;
            let Some(f) = node.parent.map(|f| &self.nodes[f]) else { continue };
            let across = f.body;
            let (c, rest) = rest.split_at_mut(n * across);
            let r = &mut rest[..n * across];
            // D⁻¹C in the place of C
            let old = &mut self.y[..n * across];
            old.copy_from_slice(c);
            for (c, inverse) in c.chunks_exact_mut(across).zip(inverse.chunks_exact(n)) {
                c.fill(0.0);
                for (x, old) in inverse.iter().zip(old.chunks_exact(across)) {
                    c.iter_mut().zip(old).for_each(|(c, o)| *c += x * o);
                }
            }
            // the parent −= R D⁻¹C
            let to = &mut before[f.values..];
            for (i, r) in r.chunks_exact(n).enumerate() {
                let to = &mut to[i * f.size..][..across];
                for (r, c) in r.iter().zip(c.chunks_exact(across)) {
                    to.iter_mut().zip(c).for_each(|(t, c)| *t -= r * c);
                }
            }
            // R D⁻¹ in the place of R
            old.copy_from_slice(r);
            for (r, old) in r.chunks_exact_mut(n).zip(old.chunks_exact(n)) {
                r.fill(0.0);
                for (x, inverse) in old.iter().zip(inverse.chunks_exact(n)) {
                    r.iter_mut().zip(inverse).for_each(|(r, i)| *r += x * i);
                }
            }
        }
        Ok(())
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        if b.len() != self.dimension {
            return Err(LinearError::Sizes { expected: self.dimension, found: b.len() });
        }
        for node in self.nodes.iter().rev() {
            let Some(f) = node.parent.map(|f| &self.nodes[f]) else { continue };
            let x = &mut self.x[..node.size];
            for &(from, i, size) in &self.blocks[node.blocks.clone()] {
                x[i..i + size].copy_from_slice(&b[from..from + size]);
            }
            let r = &self.values[node.values + node.size * (node.size + f.body)..];
            let rows = b[f.first..f.first + f.body].iter_mut().zip(r.chunks_exact(node.size));
            rows.for_each(|(b, r)| *b -= dot(r, x));
        }
        for node in &self.nodes {
            let x = &mut self.x[..node.size];
            let list = &self.blocks[node.blocks.clone()];
            for &(from, i, size) in list {
                x[i..i + size].copy_from_slice(&b[from..from + size]);
            }
            let y = &mut self.y[..node.size];
            let inverse = &self.values[node.values..];
            y.iter_mut().zip(inverse.chunks_exact(node.size)).for_each(|(y, row)| *y = dot(row, x));
            if let Some(f) = node.parent.map(|f| &self.nodes[f]) {
                let c = &self.values[node.values + node.size * node.size..];
                let above = &b[f.first..f.first + f.body];
                y.iter_mut().zip(c.chunks_exact(f.body)).for_each(|(y, row)| *y -= dot(row, above));
            }
            for &(to, i, size) in list {
                b[to..to + size].copy_from_slice(&y[i..i + size]);
            }
        }
        Ok(())
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        if factors {
            tape.fixed(&mut self.values);
        }
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
