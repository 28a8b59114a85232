//! Newton's iteration on one equation in one unknown.

use super::*;
use bellcrank_math::linear::blocks::{BlockPattern, Class};
use bellcrank_math::linear::dense::DenseLu;
use bellcrank_math::linear::solver::LinearError;
use std::sync::Arc;

/// x³ = 8.
struct Cube {
    x: f64,
    rows: Vec<f64>,
}

impl Residual for Cube {
    fn residual(&mut self, r: &mut [f64]) {
        r[0] = self.x.powi(3) - 8.0;
    }
    fn jacobian<'m>(&'m mut self, _: Iteration, loan: &mut MatrixLoan<'m>) {
        loan.clear(SetParts::default());
        loan.matrix().values[0] += 3.0 * self.x * self.x;
    }
    fn correct(&mut self, dx: &[f64]) {
        self.x -= dx[0];
    }
    fn size(&self, dx: &[f64]) -> f64 {
        dx[0].abs() / 1e-9
    }
}

fn pattern() -> Arc<BlockPattern> {
    Arc::new(BlockPattern::new(vec![1], vec![Class::Body], vec![(0, 0)]))
}

fn dense() -> Box<dyn LinearSolver> {
    let mut dense = DenseLu::new();
    dense.analyze(&pattern()).unwrap();
    Box::new(dense)
}

/// A solver that fails, and counts how often it was asked.
struct Failing(Arc<std::sync::atomic::AtomicUsize>);

impl LinearSolver for Failing {
    fn analyze(&mut self, _: &Arc<BlockPattern>) -> Result<(), LinearError> {
        Ok(())
    }
    fn leave_out(&mut self, _: Option<&[usize]>) {}
    fn factor(&mut self, _: &BlockMatrix) -> Result<(), LinearError> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Err(LinearError::Singular { row: 0 })
    }
    fn solve(&mut self, _: &mut [f64]) -> Result<(), LinearError> {
        Err(LinearError::Singular { row: 0 })
    }
    fn dropped(&self) -> &[usize] {
        &[]
    }
    fn smallest_kept_pivot(&self) -> f64 {
        1.0
    }
    fn name(&self) -> &'static str {
        "failing"
    }
}

fn cube(x: f64) -> Cube {
    Cube { x, rows: Vec::new() }
}

#[test]
fn a_new_matrix_in_every_iteration_converges_quadratically() {
    let mut newton = Newton::with_solver(dense(), pattern(), Iteration::Full, 20);
    let mut of = cube(3.0);
    let took = newton.solve(&mut of, |c| c.x = 3.0).unwrap();
    assert!((of.x - 2.0).abs() < 1e-15 && took.iterations <= 7, "{took:?}");
    assert_eq!(newton.counts.jacobians, took.iterations);
}

#[test]
fn an_old_matrix_that_diverges_is_replaced_from_the_same_start() {
    // a matrix of x = 6 contracts by 0.89 near the solution, one of x = 2 throws x = 6 far away
    let mut newton = Newton::with_solver(dense(), pattern(), Iteration::Simplified, 400);
    assert!(newton.solve(&mut cube(2.001), |c| c.x = 2.001).is_ok());
    let (mut of, mut restarts) = (cube(6.0), 0);
    let solved = newton.solve(&mut of, |c| {
        c.x = 6.0;
        restarts += 1;
    });
    assert!(restarts == 1 && solved.is_ok() && (of.x - 2.0).abs() < 1e-8, "{solved:?} {}", of.x);
}

#[test]
fn the_robust_solver_takes_over_for_a_while() {
    let tries = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let asked = || tries.load(std::sync::atomic::Ordering::Relaxed);
    let mut newton = Newton::with_solver(dense(), pattern(), Iteration::Full, 20);
    newton.prefer(Box::new(Failing(tries.clone())));
    for solve in 1..50 {
        assert!(newton.solve(&mut cube(3.0), |c| c.x = 3.0).is_ok());
        // each solve decides the rank once, and the fiftieth decision is the cheap solver's again
        assert_eq!(asked(), 1, "solve {solve}");
    }
    assert!(newton.solve(&mut cube(3.0), |c| c.x = 3.0).is_ok());
    assert_eq!(asked(), 2);
}

#[test]
fn borrowed_rows_come_back_when_the_loan_ends() {
    let classes = vec![Class::Body, Class::Multiplier];
    let pattern = Arc::new(BlockPattern::new(vec![2, 1], classes, vec![(0, 0), (0, 1), (1, 0)]));
    let mut matrix = BlockMatrix::new(pattern);
    let mut lender = cube(0.0);
    lender.rows = vec![5.0, 6.0];
    let mut loan = MatrixLoan::new(&mut matrix, Wants { above: false, borrowed_rows: true });
    loan.borrow_rows(&mut lender.rows);
    assert!(loan.matrix().has_borrowed());
    drop(loan);
    assert!(!matrix.has_borrowed());
    assert_eq!(lender.rows, [5.0, 6.0]);
}
