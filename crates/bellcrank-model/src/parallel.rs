//! Loops over bodies and constraints that a [team](bellcrank_math::threads::team) of threads divides. Every item writes to its own
//! place, so results do not depend on the number of threads.

use bellcrank_math::threads::team;
use std::ops::Range;

/// The fewest bodies or constraints that are worth a thread.
pub(crate) const MIN_BLOCKS: usize = 100;

/// The fewest numbers that are worth a thread.
const MIN_NUMBERS: usize = 1000;

/// Blocks that are cleared together, few enough to be still in the cache when they are filled.
const GROUP: usize = 64;

/// The numbers that belong to consecutive blocks.
pub(crate) fn span(ranges: &[Range<usize>]) -> Range<usize> {
    match ranges {
        [] => 0..0,
        [first, .., last] => first.start..last.end,
        [only] => only.clone(),
    }
}

/// Calls `work` for every block of `out`; the blocks are consecutive.
pub(crate) fn each_block(ranges: &[Range<usize>], out: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync) {
    in_groups(ranges, out, |_| (), work);
}

/// [`each_block`] with blocks that are cleared first.
pub(crate) fn set_each_block(ranges: &[Range<usize>], out: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync) {
    in_groups(ranges, out, |group| group.fill(0.0), work);
}

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
        MIN_BLOCKS,
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
        MIN_NUMBERS,
        |range| (team::cut(&mut rest, range.len()), &x[range]),
        |(out, x)| out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x),
    );
}
