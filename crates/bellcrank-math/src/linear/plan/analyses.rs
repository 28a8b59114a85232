//! Analyses that are in use, so that equal patterns are analyzed once.

use super::{Outline, PartPlan, build::plans};
use crate::linear::{blocks::BlockPattern, interface::LinearError};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// All that the numeric phases need to know of a pattern; they never change it.
#[derive(Default)]
pub struct Analysis {
    pub outline: Outline,
    /// One plan per part; the last part is eliminated after all others.
    pub plans: Vec<Arc<PartPlan>>,
}

/// Analyses in use, found by their pattern. It holds weak references alone: an analysis lives as long as a solver uses it.
pub struct Analyses(Mutex<Vec<Entry>>);

struct Entry {
    pattern: Weak<BlockPattern>,
    symmetric: bool,
    parted: bool,
    analysis: Weak<Analysis>,
}

/// The analyses of this process. Solvers are made in many places (steps, projections, starts) that know nothing of each other,
/// and several systems of one model mostly have one structure; hence the one table behind a lock. It affects time and memory
/// alone, never results: an analysis depends on nothing but the pattern.
pub static SHARED: Analyses = Analyses::new();

impl Analyses {
    /// An empty table.
    pub const fn new() -> Analyses {
        Analyses(Mutex::new(Vec::new()))
    }

    /// The analysis of a pattern: one in use for an equal pattern, or a new one.
    pub fn of(&self, pattern: &Arc<BlockPattern>, symmetric: bool, parted: bool) -> Result<Arc<Analysis>, LinearError> {
        let entries = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |e: &Entry| {
            (e.symmetric, e.parted) == (symmetric, parted) && e.pattern.upgrade().is_some_and(|p| p == *pattern)
        };
        if let Some(found) = entries().iter().filter(|e| fits(e)).find_map(|e| e.analysis.upgrade()) {
            return Ok(found);
        }
        // without the lock: other threads may analyze other patterns in the meantime
        let (outline, plans) = plans(pattern, symmetric, parted)?;
        let made = Arc::new(Analysis { outline, plans: plans.into_iter().map(Arc::new).collect() });
        let mut entries = entries();
        entries.retain(|e| e.analysis.strong_count() > 0);
        let (pattern, analysis) = (Arc::downgrade(pattern), Arc::downgrade(&made));
        entries.push(Entry { pattern, symmetric, parted, analysis });
        Ok(made)
    }
}
