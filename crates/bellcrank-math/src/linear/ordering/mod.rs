//! The order of elimination, and the structure of the factors that it leads to.

mod dissection;
mod graph;
mod minimum_degree;
mod parts;

use self::dissection::stages;

use self::parts::{MORE_WORK, PARTS_OF_WIDE, SHARE_OF_REST, SMALL_REST, WORTH_PARTING};
use super::{
    blocks::{BlockPattern, Class},
    interface::LinearError,
};

pub(super) use self::graph::{Lists, graph};
pub(super) use self::minimum_degree::elimination_order;

/// Factors with more entries than this are left to other solvers: offsets must fit 32 bits, and factors memory.
const MOST_ENTRIES: usize = 1 << 29;

/// Block structure of the factors, in elimination order.
pub struct Symbolic {
    /// Block at every position.
    pub order: Vec<u32>,
    /// Positions below the diagonal of every block column, ascending.
    pub below: Vec<Vec<u32>>,
    /// The number of scalar entries of L, U and D.
    pub entries: usize,
    /// The work of the elimination, in squares of the columns' lengths.
    pub work: f64,
    /// Where nested dissection was tried: its work over that of minimum degree. The cheaper of the two was taken.
    pub dissection: Option<f64>,
    /// Ends of the parts that can be eliminated in parallel; the rest comes after all of them. Empty: there are no parts.
    pub parts: Vec<u32>,
    /// Whether the graph was cut to get parts.
    pub cut: bool,
}

/// Nested dissection is tried where a column of the factors is at least this long.
const WIDE: usize = 60;

/// The elimination order, postordered along the elimination tree, and the structure of the factors: by minimum degree, or for
/// wide graphs by nested dissection if that is less work. (A net of 100 × 100 then takes 0.92 of the work; a ladder would
/// take twice as much.)
///
/// `parted`: large graphs are divided into parts for several threads.
pub fn symbolic(pattern: &BlockPattern, parted: bool) -> Result<Symbolic, LinearError> {
    let graph = graph(pattern);
    let whole = best(pattern, &graph)?;
    let bodies = (0..pattern.blocks()).filter(|&i| pattern.class(i) != Class::Multiplier).count();
    if bodies < WORTH_PARTING || !parted {
        return Ok(whole);
    }
    let count = if whole.dissection.is_some_and(|ratio| ratio < 1.0) { PARTS_OF_WIDE } else { 2 };
    let share = if count > 2 { SHARE_OF_REST } else { SMALL_REST };
    if let Some(parted) = whole.parted(pattern, count, share) {
        return Ok(parted);
    }
    // a chain is eliminated from end to end: its tree is a path, and only a cut in the middle gives two parts
    let halves = stages(pattern, &graph, 1);
    let halved =
        halves.and_then(|stages| structure(pattern, &graph, elimination_order(pattern, &graph, Some(&stages))).ok());
    let parted = halved.filter(|h| h.work <= MORE_WORK * whole.work).and_then(|h| h.parted(pattern, 2, SHARE_OF_REST));
    Ok(match parted {
        Some(parted) => Symbolic { dissection: whole.dissection, cut: true, ..parted },
        None => whole,
    })
}

/// By minimum degree or by nested dissection, whichever is cheaper.
fn best(pattern: &BlockPattern, graph: &Lists) -> Result<Symbolic, LinearError> {
    let of = |stages: Option<&[u32]>| structure(pattern, graph, elimination_order(pattern, graph, stages));
    let by_degree = of(None);
    let length = |rows: &[u32], s: &Symbolic| rows.iter().map(|&j| pattern.size(s.order[j as usize] as usize)).sum();
    let wide = |s: &Symbolic| s.below.iter().any(|rows| rows.len() > 8 && WIDE <= length(rows, s));
    if by_degree.as_ref().is_ok_and(|s| !wide(s)) {
        return by_degree;
    }
    let dissected = stages(pattern, graph, u32::MAX).and_then(|stages| of(Some(&stages)).ok());
    let (mut taken, ratio) = match (by_degree, dissected) {
        (Ok(s), Some(d)) => {
            let ratio = d.work / s.work;
            (if ratio < 1.0 { d } else { s }, Some(ratio))
        }
        (Err(_), Some(d)) => (d, Some(0.0)),
        (s, None) => return s,
    };
    taken.dissection = ratio;
    Ok(taken)
}

/// The structure that an order leads to, postordered.
fn structure(pattern: &BlockPattern, graph: &Lists, order: Vec<u32>) -> Result<Symbolic, LinearError> {
    let n = order.len();
    let mut position = vec![0; n];
    for (k, &i) in order.iter().enumerate() {
        position[i as usize] = k as u32;
    }
    let mut below: Vec<Vec<u32>> = Vec::with_capacity(n);
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut roots = Vec::new();
    let mut mark = vec![u32::MAX; n];
    let (mut entries, mut work) = (0, 0.0);
    for k in 0..n as u32 {
        let mut rows = Vec::new();
        let neighbours = graph.of(order[k as usize] as usize).iter().map(|&j| position[j as usize]);
        let filled = children[k as usize].iter().flat_map(|&c| below[c as usize].iter().copied());
        for j in neighbours.chain(filled) {
            if j > k && mark[j as usize] != k {
                mark[j as usize] = k;
                rows.push(j);
            }
        }
        rows.sort_unstable();
        let size = |k: u32| pattern.size(order[k as usize] as usize);
        let length = rows.iter().map(|&j| size(j)).sum::<usize>();
        entries += size(k) * (size(k) + 2 * length);
        work += size(k) as f64 * ((size(k) + length) as f64).powi(2);
        if entries > MOST_ENTRIES {
            return Err(LinearError::TooLarge { entries });
        }
        match rows.first() {
            Some(&parent) => children[parent as usize].push(k),
            None => roots.push(k),
        }
        below.push(rows);
    }
    // the child with the longest column last: it may share a node with its parent
    for list in &mut children {
        list.sort_by_key(|&c| (below[c as usize].len(), c));
    }
    let visited = postorder(&roots, &children);
    let mut renumbered = vec![0; n];
    for (new, &old) in visited.iter().enumerate() {
        renumbered[old as usize] = new as u32;
    }
    let below = visited
        .iter()
        .map(|&old| {
            let mut rows = std::mem::take(&mut below[old as usize]);
            rows.iter_mut().for_each(|j| *j = renumbered[*j as usize]);
            rows
        })
        .collect();
    Ok(Symbolic {
        order: visited.iter().map(|&old| order[old as usize]).collect(),
        below,
        entries,
        work,
        dissection: None,
        parts: Vec::new(),
        cut: false,
    })
}

/// The vertices of a forest, children before their parents.
fn postorder(roots: &[u32], children: &[Vec<u32>]) -> Vec<u32> {
    let mut visited = Vec::with_capacity(children.len());
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for &root in roots {
        stack.push((root, 0));
        while let Some((k, next)) = stack.last_mut() {
            if let Some(&child) = children[*k as usize].get(*next) {
                *next += 1;
                stack.push((child, 0));
            } else {
                visited.push(*k);
                stack.pop();
            }
        }
    }
    visited
}

/// The number of scalar entries of L, U and D.
pub fn fill(pattern: &BlockPattern) -> Result<usize, LinearError> {
    symbolic(pattern, false).map(|s| s.entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::samples::{Form, Sample, Shuffled};
    use crate::random::Random;

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn fill_grows_linearly() {
        type Make = fn(usize) -> Sample;
        let samples: [(&str, f64, Make); 3] = [
            ("chain", 1e4, |n| Sample::tree(&mut Random::new(1), &[3], n, 1)),
            ("tree", 1e4, |n| Sample::tree(&mut Random::new(2), &[3], n, n / 4)),
            ("ladder", 1e5, |n| Sample::ladder(n / 3)),
        ];
        for (form, part) in [(Form::Index3, 1.0), (Form::Ggl, 0.1)] {
            for (name, n, make) in samples {
                let n = n * part;
                let entries =
                    |n: f64| fill(make(n as usize).matrix(form, 1.0, &mut Random::new(1)).pattern()).unwrap() as f64;
                let exponent = (entries(n) / entries(100.0)).ln() / (n / 100.0).ln();
                assert!(exponent <= 1.05, "{name}: exponent {exponent}");
            }
        }
        let ladder = Sample::ladder(333).matrix(Form::Index3, 1.0, &mut Random::new(1));
        assert!(fill(ladder.pattern()).unwrap() <= 71 * 1000);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn a_shuffled_ladder_fills_no_more() {
        let a = Sample::ladder(300).matrix(Form::Index3, 1.0, &mut Random::new(1));
        let straight = fill(a.pattern()).unwrap();
        let shuffled = fill(a.shuffled(&mut Random::new(4)).pattern()).unwrap();
        assert!(shuffled as f64 <= 1.1 * straight as f64, "{straight} to {shuffled}");
    }

    #[test]
    fn classes_are_kept_in_order() {
        let mut rng = Random::new(8);
        let mut s = Sample::tree(&mut rng, &[3, 6], 40, 7);
        s.springs = vec![(0, 20), (5, 30), (3, 8)];
        s.random_joint(&mut rng, 2, &[1, 17, 33]);
        let a = s.matrix(Form::Ggl, 1.0, &mut rng);
        let pattern = a.pattern();
        let order = symbolic(pattern, true).unwrap().order;
        let position = |b: usize| order.iter().position(|&k| k as usize == b).unwrap();
        let n = s.bodies.len();
        for (j, joint) in s.joints.iter().enumerate() {
            let (lambda, mu) = (2 * n + 2 * j, 2 * n + 2 * j + 1);
            assert!(position(lambda) < position(mu));
            for &(b, _) in &joint.on {
                assert!(position(b) < position(n + b), "velocity, then coordinates");
                assert!(position(n + b) < position(lambda), "bodies, then their joints");
            }
        }
    }
}
