//! Which linear solver, and which matrix: decided by counts, once, before anything is built.

use crate::formulation::Formulation;
use crate::newton::Iteration;
use bellcrank_math::linear::solver::Flops;

/// From this many bodies on velocities are condensed in steps of index 3, the matrices of fixed steps leave (Gᵀλ)_q out, since
/// it costs more in the factors than the iterations it saves, and KKT systems are eliminated symmetrically, which spares half of
/// the memory. Near singular positions the latter is less exact (square chain, pivots below 1e-6: the residual calls for
/// pivoting, which knows no pivots of multipliers).
pub const LARGE: usize = 64;

/// Most blocks of a matrix in relative coordinates, each of about half a kilobyte with its factors.
pub const MOST_BLOCKS: usize = 4_000_000;

/// From this many bodies on loop-CG is considered, by count; smaller machines are watched for singular positions from the first
/// step on, and factored at once where loop-CG was asked for.
pub const MANY_BODIES: usize = 2000;

/// An operation of a factorization, which works on dense blocks, costs this fraction of one of a sweep or a solution. Measured
/// (bench `closed_loops implicit`, ns each): net of 10011 rods .14 of 1.6 (solution .7), lattices of 4896 and 11776 rods
/// .13 and .14 of 1.7 and 1.8 (solution 1.1 and .73).
pub(crate) const FACTOR_COST: f64 = 0.1;

/// Iterations of loop-CG for one evaluation, as they are in runs.
const ITERATIONS_OF_AN_EVALUATION: f64 = 4.0;

/// Factorizations of loop-CG's preconditioner for one evaluation, as they are in runs.
const RENEWALS_OF_AN_EVALUATION: f64 = 0.1;

/// Corrections of a step of a large machine (`book/src/large-models.md`).
const CORRECTIONS_OF_A_STEP: f64 = 2.0;

/// Steps that factors serve (`book/src/large-models.md`).
const STEPS_OF_FACTORS: f64 = 10.0;

/// A trial of loop-CG is worth its cost only where factors cost at least this many times the corrections of a step.
const WORTH_A_TRIAL: f64 = 5.0;

/// What solves linear systems: those of accelerations and projections, and those of implicit steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinearPlan {
    /// The solver of fewest operations, by count: a recursion where the equations have one, else elimination, or loop-CG on
    /// machines with many loops.
    #[default]
    Cheapest,
    /// Block elimination.
    Elimination,
    /// Dense LU.
    Dense,
    /// LU with pivoting across the whole matrix, dense or sparse: elimination by blocks begins with the masses of the bodies,
    /// and takes rows for redundant where a body has none.
    Pivoting,
    /// A recursion over the tree, for accelerations in relative coordinates.
    Recursion,
    /// Conjugate gradients on the loops of a spanning tree.
    LoopCg,
}

impl LinearPlan {
    /// The solver of accelerations for equations with or without a recursion.
    pub fn of_accelerations(self, has_recursion: bool) -> LinearPlan {
        match self {
            LinearPlan::Dense => LinearPlan::Dense,
            LinearPlan::Cheapest | LinearPlan::Recursion if has_recursion => LinearPlan::Recursion,
            _ => LinearPlan::Elimination,
        }
    }

    /// Whether accelerations of a machine of this size are solved in the space of its constraints, by a list of small products,
    /// wherever masses are constant and pivots good.
    pub fn by_range_space(self, bodies: usize) -> bool {
        self == LinearPlan::Cheapest && bodies < LARGE
    }
}

/// The matrix of an implicit step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixPlan {
    /// Velocities are no unknowns: v = T q̇ follows q, where the formulation condenses.
    pub condensed: bool,
    /// (Gᵀλ)_q is left out, and that charts bend T q̇: bodies are coupled by constraints alone, and the matrix is
    /// much sparser. The iteration contracts by about h ω.
    pub lean: bool,
    /// It is taken for symmetric.
    pub symmetric: bool,
    /// Two systems of half the size stand for it while that converges.
    pub decoupled: bool,
    /// It serves several corrections and steps, while they leave nothing above rounding.
    pub kept: bool,
}

/// What a [`MatrixPlan`] depends on.
#[derive(Clone, Copy)]
pub struct MatrixNeeds<'a> {
    /// The formulation.
    pub formulation: &'a Formulation,
    /// Number of bodies.
    pub bodies: usize,
    /// Whether there are constraints.
    pub constrained: bool,
    /// Newton's iteration.
    pub iteration: Iteration,
    /// Whether the user asked for it.
    pub asked: bool,
    /// Whether steps are fixed.
    pub fixed: bool,
    /// The linear solver.
    pub linear: LinearPlan,
}

/// The matrix of the steps of a run.
pub fn matrix_plan(needs: MatrixNeeds) -> MatrixPlan {
    let MatrixNeeds { formulation, bodies, constrained, iteration, asked, fixed, linear } = needs;
    let loops = linear == LinearPlan::LoopCg && formulation.condenses();
    let sparse = formulation.condenses() || formulation.splits();
    let condensed = bodies >= LARGE || loops;
    let pivots = matches!(linear, LinearPlan::Dense | LinearPlan::Pivoting);
    let full = fixed && !pivots && iteration == Iteration::Full;
    let lean = full && condensed && sparse;
    let kept = full && !lean && !asked && bodies < LARGE && formulation.index > 1 && formulation.additive.is_none();
    MatrixPlan {
        condensed,
        lean,
        symmetric: lean && !formulation.splits(),
        // where factors are kept, what one system of two leaves to the next correction costs more than the whole matrix
        decoupled: formulation.splits() && constrained && !kept,
        kept,
    }
}

impl MatrixPlan {
    /// The plan without what is lean.
    pub fn whole(self) -> MatrixPlan {
        MatrixPlan { lean: false, symmetric: false, kept: false, ..self }
    }

    /// Whether loop-CG can solve it: bodies of index-3 steps are coupled by constraints alone.
    pub fn suits_loops(&self, formulation: &Formulation) -> bool {
        self.lean && formulation.condenses()
    }
}

/// Whether an evaluation of accelerations costs less by loop-CG than by elimination of the whole system, given the operations of a
/// sweep over the tree.
pub fn loops_pay_for_accelerations(whole: Flops, sweep: f64) -> bool {
    let (factor, solve) = (FACTOR_COST * whole.factor as f64, whole.solve as f64);
    let iterated = RENEWALS_OF_AN_EVALUATION * factor + ITERATIONS_OF_AN_EVALUATION * (sweep + solve) + 3.0 * sweep;
    iterated < factor + solve
}

/// What a step costs by elimination, if that is so much that loop-CG may cost less.
pub(crate) fn worth_a_trial(whole: Flops) -> Option<f64> {
    let corrections = CORRECTIONS_OF_A_STEP * whole.solve as f64;
    let eliminated = FACTOR_COST * whole.factor as f64 / STEPS_OF_FACTORS + corrections;
    (eliminated >= WORTH_A_TRIAL * corrections).then_some(eliminated)
}

/// Whether a step costs less by loop-CG than `eliminated`, given the operations of a sweep and the iterations of a correction.
pub(crate) fn loops_pay_for_steps(eliminated: f64, sweep: f64, iterations: f64) -> bool {
    CORRECTIONS_OF_A_STEP * sweep * (iterations + 2.0) + 2.0 * sweep < eliminated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulation::{ggl, index3, si2};

    fn needs(formulation: &Formulation) -> MatrixNeeds<'_> {
        let (iteration, linear) = (Iteration::Full, LinearPlan::Cheapest);
        MatrixNeeds { formulation, bodies: LARGE, constrained: true, iteration, asked: false, fixed: true, linear }
    }

    #[test]
    fn only_fixed_full_steps_of_large_models_are_lean() {
        let table = index3();
        let large = needs(&table);
        let lean = matrix_plan(large);
        assert!(lean.condensed && lean.lean && lean.symmetric && !lean.decoupled && lean.suits_loops(&table));
        for other in [
            MatrixNeeds { bodies: LARGE - 1, ..large },
            MatrixNeeds { fixed: false, ..large },
            MatrixNeeds { iteration: Iteration::Auto, ..large },
            MatrixNeeds { linear: LinearPlan::Dense, ..large },
            MatrixNeeds { formulation: &ggl(), ..large },
        ] {
            let plan = matrix_plan(other);
            assert!(!plan.lean && !plan.symmetric, "{plan:?}");
            assert_eq!(plan.kept, other.bodies < LARGE);
            assert!(!matrix_plan(MatrixNeeds { asked: true, ..other }).kept);
        }
        let small_with_loops = MatrixNeeds { bodies: 2, linear: LinearPlan::LoopCg, ..large };
        assert_eq!(matrix_plan(small_with_loops), lean);
        let whole = lean.whole();
        assert!(whole.condensed && !whole.lean && !whole.symmetric);
    }

    #[test]
    fn two_systems_stand_for_one_where_there_are_constraints() {
        let table = si2();
        let plan = matrix_plan(needs(&table));
        assert!(plan.decoupled && plan.lean && !plan.symmetric && !plan.suits_loops(&table));
        assert!(!matrix_plan(MatrixNeeds { constrained: false, ..needs(&table) }).decoupled);
    }

    #[test]
    fn accelerations_are_solved_as_asked_or_by_recursion() {
        use LinearPlan::*;
        for (plan, with, without) in [
            (Cheapest, Recursion, Elimination),
            (Recursion, Recursion, Elimination),
            (Elimination, Elimination, Elimination),
            (Dense, Dense, Dense),
            (LoopCg, Elimination, Elimination),
        ] {
            assert_eq!([plan.of_accelerations(true), plan.of_accelerations(false)], [with, without]);
        }
    }

    #[test]
    fn loops_pay_where_factors_are_costly() {
        let costly = Flops { factor: 1_000_000, solve: 1000 };
        assert!(loops_pay_for_accelerations(costly, 1000.0));
        assert!(!loops_pay_for_accelerations(Flops { factor: 10_000, solve: 1000 }, 1000.0));
        let eliminated = worth_a_trial(costly).unwrap();
        assert_eq!(eliminated, 12_000.0);
        assert!(loops_pay_for_steps(eliminated, 1000.0, 2.0) && !loops_pay_for_steps(eliminated, 1000.0, 4.0));
        assert_eq!(worth_a_trial(Flops { factor: 100_000, solve: 1000 }), None);
    }
}
