//! Loops over bodies and constraints that a team of threads divides ([`bellcrank_math::threads::team`]): every item writes to a place
//! of its own, so that results do not depend on who works.

use bellcrank_math::threads::team;
use std::ops::Range;

/// Fewer bodies or constraints than this are not worth a thread.
pub(crate) const LEAST: usize = 100;

/// Fewer numbers than this are not worth a thread.
const LEAST_NUMBERS: usize = 1000;

/// The numbers that belong to a range of blocks, which follow each other.
pub(crate) fn span(ranges: &[Range<usize>]) -> Range<usize> {
    match ranges {
        [] => 0..0,
        [first, .., last] => first.start..last.end,
        [only] => only.clone(),
    }
}

/// Does something with every block of `out`; the blocks follow each other.
pub(crate) fn each_block(ranges: &[Range<usize>], out: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync) {
    in_groups(ranges, out, |_| (), work);
}

/// The same with blocks of zeros.
pub(crate) fn set_each_block(ranges: &[Range<usize>], out: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync) {
    in_groups(ranges, out, |group| group.fill(0.0), work);
}

/// So many blocks are made ready at once, and are still at hand when their turn comes.
const GROUP: usize = 64;

#[inline(always)]
fn in_groups(
    ranges: &[Range<usize>],
    out: &mut [f64],
    ready: impl Fn(&mut [f64]) + Sync,
    work: impl Fn(usize, &mut [f64]) + Sync,
) {
    let mut rest = out;
    team::divided(
        ranges.len(),
        LEAST,
        |blocks| (blocks.clone(), team::cut(&mut rest, span(&ranges[blocks]).len())),
        |(blocks, mut out)| {
            for from in blocks.clone().step_by(GROUP) {
                let group = from..blocks.end.min(from + GROUP);
                let mut out = team::cut(&mut out, span(&ranges[group.clone()]).len());
                ready(out);
                group.for_each(|k| work(k, team::cut(&mut out, ranges[k].len())));
            }
        },
    );
}

/// out += c x.
pub(crate) fn add_scaled(c: f64, x: &[f64], out: &mut [f64]) {
    let n = x.len().min(out.len());
    let mut rest = &mut out[..n];
    team::divided(
        n,
        LEAST_NUMBERS,
        |range| (team::cut(&mut rest, range.len()), &x[range]),
        |(out, x)| out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x),
    );
}
