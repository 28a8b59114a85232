//! What is decided anew while a run goes on.

use crate::choices::FormulationKind;
use std::fmt;

/// A decision that fell during a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Revision {
    /// The explicit method that `auto` began with found the problem stiff.
    Stiff {
        /// When.
        t: f64,
        /// The formulation that BDF goes on with.
        formulation: FormulationKind,
    },
    /// Loop-CG was asked for, and BDF eliminates its matrices.
    NoLoopCg {
        /// When.
        t: f64,
    },
    /// A mode that holds a motion began or ended: the constraints are others from here on. Only the last is kept.
    OtherEquations {
        /// When.
        t: f64,
        /// Constraint rows from here on.
        rows: usize,
    },
    /// (Gᵀλ)_q went back into the matrix: without it Newton's iteration converged too slowly.
    WholeMatrix {
        /// When.
        t: f64,
    },
    /// Something fast dies out within the first fixed step: the first steps were taken with damping.
    SoftStart {
        /// When.
        t: f64,
    },
    /// Rows that follow the motion would take too much memory: they are recorded at equal intervals.
    EvenRows {
        /// When.
        t: f64,
        /// Recorded channels.
        channels: usize,
    },
}

impl Revision {
    /// When it fell.
    pub fn t(&self) -> f64 {
        match self {
            Revision::Stiff { t, .. }
            | Revision::NoLoopCg { t }
            | Revision::OtherEquations { t, .. }
            | Revision::WholeMatrix { t }
            | Revision::SoftStart { t }
            | Revision::EvenRows { t, .. } => *t,
        }
    }

    /// Its name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Revision::Stiff { .. } => "stiff",
            Revision::NoLoopCg { .. } => "no loop-cg",
            Revision::OtherEquations { .. } => "other equations",
            Revision::WholeMatrix { .. } => "whole matrix",
            Revision::SoftStart { .. } => "soft start",
            Revision::EvenRows { .. } => "even rows",
        }
    }

    /// Whether it is one of the choices that every summary lists. Modes change often, and are listed as events.
    pub fn is_choice(&self) -> bool {
        matches!(self, Revision::Stiff { .. } | Revision::NoLoopCg { .. } | Revision::EvenRows { .. })
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Revision::Stiff { t, formulation } => {
                write!(f, "stiff at t = {t:.6} s: continued with bdf on {}", formulation.name())
            }
            Revision::NoLoopCg { .. } => write!(f, "bdf does not use loop-cg: its matrices are factored directly"),
            Revision::OtherEquations { t, rows } => write!(f, "from t = {t:.6} s on {rows} constraint rows"),
            Revision::WholeMatrix { t } => {
                write!(f, "from t = {t:.6} s on with (Gᵀλ)_q in the matrix: the iteration was slow without it")
            }
            Revision::SoftStart { t } => {
                write!(
                    f,
                    "at t = {t:.6} s two damped steps (backward Euler): a fast transient dies out within one step"
                )
            }
            Revision::EvenRows { channels, .. } => write!(
                f,
                "recorded at 200 equal intervals, for {channels} channels are too many to follow the motion: peaks between \
                 rows are not recorded (fewer channels by `record`, shorter intervals by `sample`)"
            ),
        }
    }
}
