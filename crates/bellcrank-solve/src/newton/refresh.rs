//! When to form a matrix anew.

/// DASSL: a matrix is useful while α/α₀ lies in [3/5, 5/3].
const REFRESH: f64 = 5.0 / 3.0;
/// Ours: beyond a tenth, the third iteration that an old slope takes costs more than a matrix (bushing ladder,
/// 56 runs: 30042 evaluations instead of 30967).
const REFRESH_EARLY: f64 = 1.1;
/// A matrix that converges at a rate above this is formed anew for the next step: one more factorization
/// costs less than the iterations it saves (seven-body at rtol 1e-8: 3.9 → 2.2 evaluations per step).
pub(super) const AGING: f64 = 0.005;
/// A matrix that is to serve a whole solve is formed anew where it contracts worse than this.
pub(super) const SERVES: f64 = 0.1;
/// Factors that cost more than this many solutions are kept for several solves (net of 100 × 100: 8.4 ms a step instead of
/// 14 ms).
const COSTLY: usize = 8;
/// With two systems in place of one half as many, since a solution counts double there and a residual does not.
const COSTLY_OF_TWO: usize = 4;
/// The number of solves that kept factors serve at most.
pub(super) const KEPT: usize = 10;

/// What a solve may take for granted about the ones before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Economy {
    /// Nothing: contraction is measured in each solve, and a matrix that contracts slowly is renewed.
    #[default]
    Careful,
    /// As DASSL: while matrix and step size are kept, the contraction of earlier steps is taken for granted, and one iteration
    /// may do; a matrix is kept however slowly it contracts. With constraints the multipliers hide the error (a pendulum
    /// at rtol 1e-4: 1153 steps to an error of 2e-2, against 190 steps to 1e-3): for the counts of the papers only.
    Dassl,
    /// Large models in fixed steps: a matrix of [`super::Iteration::Full`] serves a whole solve, costly factors several, and
    /// since one step resembles the next, a first correction may be the last. On small models this costs accuracy.
    Resembling,
    /// Small models in fixed steps: a matrix of [`super::Iteration::Full`] serves, across steps too, as long as it contracts so well
    /// that a few corrections leave nothing above rounding.
    Exact,
}

/// Factors that need more corrections than this to leave nothing above rounding cost more than new ones.
const MOST_CORRECTIONS: usize = 3;
/// After factors that did not last one more step, this many steps make their own; after those that did not last one step, this many
/// make new ones for every correction.
const DISCOURAGED: usize = 20;

/// The age of the present factors and the slope they were made for.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Refresh {
    formed_at: Option<f64>,
    /// The number of solves that the present factors have served.
    age: usize,
    /// Steps to come that make factors of their own, and those that make them for every correction.
    discouraged: usize,
    renewing: usize,
    /// The factors made in the present solve.
    made: usize,
}

/// What is known of factors, for the choice to keep them.
pub(super) struct Quality {
    pub(super) economy: Economy,
    /// The iterations of the last solve, and the contraction measured last.
    pub(super) iterations: usize,
    pub(super) contraction: f64,
    /// Operations of a factorization and of a solution.
    pub(super) factor: usize,
    pub(super) solve: usize,
    /// Whether two systems stand for the matrix.
    pub(super) of_two: bool,
}

impl Refresh {
    /// Whether there are factors.
    pub(super) fn has_factors(&self) -> bool {
        self.formed_at.is_some()
    }

    /// The matrix will be formed anew before it is used again.
    pub(super) fn forget(&mut self) {
        self.formed_at = None;
    }

    /// There are new factors.
    pub(super) fn formed(&mut self, slope: f64) {
        self.formed_at = Some(slope);
        self.made += 1;
    }

    /// Whether the factors are of an earlier solve.
    pub(super) fn is_kept(&self) -> bool {
        self.age > 0
    }

    /// How many factors were made in the present solve.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Whether factors are worth keeping for the next solve: costly ones that contract well.
    pub(super) fn keeps(&self, q: &Quality) -> bool {
        let young = self.age + 1 < KEPT;
        let costly = if q.of_two { COSTLY_OF_TWO } else { COSTLY };
        match q.economy {
            Economy::Resembling => young && q.contraction < SERVES && q.factor > costly * q.solve,
            Economy::Exact => young && q.iterations <= MOST_CORRECTIONS && self.discouraged == 0,
            Economy::Careful | Economy::Dassl => false,
        }
    }

    /// Takes notice of the iterations of a solve with these factors.
    pub(super) fn note(&mut self, iterations: usize) {
        let renewed = self.renews();
        self.renewing = self.renewing.saturating_sub(1);
        match self.age {
            0 if self.made > 1 && !renewed => (self.discouraged, self.renewing) = (DISCOURAGED, DISCOURAGED),
            0 => self.discouraged = self.discouraged.saturating_sub(1),
            1 if iterations > MOST_CORRECTIONS || self.made > 0 => self.discouraged = DISCOURAGED,
            _ => {}
        }
    }

    /// Whether every correction makes factors of its own, since those of others have not done.
    pub(super) fn renews(&self) -> bool {
        self.renewing > 0
    }

    /// Gives factors of too different a slope up, or all of them.
    pub(super) fn drop_stale(&mut self, slope: f64, economy: Economy, all: bool) {
        let limit = if economy == Economy::Dassl { REFRESH } else { REFRESH_EARLY };
        self.formed_at.take_if(|a| all || !(1.0 / limit..=limit).contains(&(slope / *a)));
    }

    /// A solve begins; tells whether it has to make factors.
    pub(super) fn begin(&mut self) -> bool {
        let fresh = self.formed_at.is_none();
        self.age = if fresh { 0 } else { self.age + 1 };
        self.made = 0;
        fresh
    }

    /// A matrix of another slope over- or undershoots by about this factor [Petzold 1982].
    pub(super) fn overshoot(&self, slope: f64) -> Option<f64> {
        self.formed_at.filter(|a| *a != slope).map(|a| 2.0 / (1.0 + slope / a))
    }
}
