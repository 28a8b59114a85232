//! The three phases of a linear solver.
