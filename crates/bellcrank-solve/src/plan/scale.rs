//! Every threshold that depends on the size of a model.

use crate::choices::Options;

/// From this number of bodies on a model is large: a look at drift and energy costs as much as a step, and matrices are
/// kept lean.
pub use crate::linear::plan::LARGE;

/// Most blocks of a matrix in relative coordinates.
pub use crate::linear::plan::MOST_BLOCKS;

/// Large models are looked at once in this many steps.
pub const CHECK_EVERY: usize = 16;

/// Most unknowns of dense LU: beyond it a factorization takes seconds.
pub const MOST_DENSE: usize = 1500;

/// Several threads pay from this number of bodies on, unless the user says otherwise.
pub const WORTH_THREADS: usize = 800;

/// More threads than this are used only where the user asks for them.
pub const MOST_THREADS: usize = 4;

/// Below this relative tolerance `auto` starts with the pair of order 8.
pub const HIGH_ORDER: f64 = 1e-7;

/// Steps between two looks at drift and energy.
pub fn check_every(bodies: usize) -> usize {
    if bodies < LARGE { 1 } else { CHECK_EVERY }
}

/// Threads that work on a model. On small models they cost more than they give; results do not depend on their number.
pub fn threads_for(options: &Options, bodies: usize) -> usize {
    let offered = || std::thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_THREADS);
    options.resources.threads.unwrap_or_else(|| if bodies < WORTH_THREADS { 1 } else { offered() })
}
