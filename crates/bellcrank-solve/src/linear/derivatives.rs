//! Derivatives of the pieces of the equations of motion as blocks, or as a dense matrix.

use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};

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
