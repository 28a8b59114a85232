//! What gives explicit methods their accelerations and reactions, and puts them onto the constraints.

use crate::linear::forms::AccelerationForm;
use crate::linear::kkt::Kkt;
use crate::linear::loop_cg::LoopCg;
use crate::linear::projection::{project, project_with_factors};
use crate::linear::shared::SharedKkt;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Workspace};

/// What solves for v̇ and λ, and projects.
pub enum AccelerationSolver {
    /// The whole system, which others use between steps, and how often it was factored here.
    Whole {
        /// The system.
        kkt: SharedKkt,
        /// How often it was factored here.
        factored: usize,
    },
    /// Conjugate gradients on the loops of a tree.
    Loops(Box<LoopCg>),
    /// Another form of the equations.
    Form {
        /// The form.
        form: Box<dyn AccelerationForm>,
        /// Its name.
        name: &'static str,
    },
}

/// Does something with a shared system and counts its factorizations.
pub(super) fn counted<T>(kkt: &SharedKkt, factored: &mut usize, action: impl FnOnce(&mut Kkt) -> T) -> T {
    let mut kkt = kkt.lock();
    let before = kkt.factorizations;
    let result = action(&mut kkt);
    *factored += kkt.factorizations - before;
    result
}

impl AccelerationSolver {
    /// The whole system, or loops.
    pub fn of(loops: Option<LoopCg>, kkt: &SharedKkt) -> AccelerationSolver {
        match loops {
            Some(loops) => AccelerationSolver::Loops(Box::new(loops)),
            None => AccelerationSolver::Whole { kkt: kkt.clone(), factored: 0 },
        }
    }

    pub(super) fn accelerate(&mut self, p: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        match self {
            AccelerationSolver::Whole { kkt, factored } => counted(kkt, factored, |kkt| kkt.accelerate(p, w)),
            AccelerationSolver::Loops(loops) => loops.accelerate(p, w),
            AccelerationSolver::Form { form, .. } => form.accelerate(p, w),
        }
    }

    pub(super) fn project(
        &mut self,
        dynamics: &dyn Dynamics,
        p: &mut Point,
        w: &mut Workspace,
    ) -> Result<(), LinearError> {
        match self {
            AccelerationSolver::Whole { kkt, factored } => counted(kkt, factored, |kkt| project(kkt, dynamics, p, w)),
            AccelerationSolver::Loops(loops) => project(&mut **loops, dynamics, p, w),
            AccelerationSolver::Form { form, .. } => form.project(p, w),
        }
    }

    /// The same at the positions of the last evaluation, whose factors are at hand.
    pub(super) fn project_there(
        &mut self,
        dynamics: &dyn Dynamics,
        p: &mut Point,
        w: &mut Workspace,
    ) -> Result<(), LinearError> {
        match self {
            AccelerationSolver::Whole { kkt, .. } => project_with_factors(&mut *kkt.lock(), dynamics, p, w),
            _ => self.project(dynamics, p, w),
        }
    }

    pub(super) fn factorizations(&self) -> usize {
        match self {
            AccelerationSolver::Whole { factored, .. } => *factored,
            AccelerationSolver::Loops(loops) => loops.loops().sweeps.factorizations + loops.cg.renewals,
            AccelerationSolver::Form { form, .. } => form.factorizations(),
        }
    }

    /// Gets ready for a step from an accepted point.
    pub(super) fn begin(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        match self {
            AccelerationSolver::Form { form, .. } => form.begin(at, w),
            _ => Ok(()),
        }
    }

    /// Whether every stage is put onto the constraints.
    pub(super) fn keeps_stages(&self) -> bool {
        matches!(self, AccelerationSolver::Form { form, .. } if form.keeps_stages())
    }

    /// λ̇, where multipliers are integrated.
    pub(super) fn multiplier_rates(&self) -> Option<&[f64]> {
        match self {
            AccelerationSolver::Form { form, .. } => form.multiplier_rates(),
            _ => None,
        }
    }

    pub(super) fn integrates_multipliers(&self) -> bool {
        self.multiplier_rates().is_some()
    }

    /// The multipliers of a point, where they are integrated.
    pub(super) fn integrated<'p>(&self, at: &'p Point) -> &'p [f64] {
        if self.integrates_multipliers() { &at.lambda } else { &[] }
    }

    /// Redundant rows and smallest pivot of the last evaluation, where they are known.
    pub(super) fn rank(&self) -> Option<(usize, f64)> {
        match self {
            AccelerationSolver::Whole { kkt, factored } => {
                let kkt = kkt.lock();
                (*factored > 0).then(|| (kkt.dropped(), kkt.smallest_pivot()))
            }
            AccelerationSolver::Loops(loops) => loops.rank(),
            AccelerationSolver::Form { .. } => None,
        }
    }

    /// Tells a tape what one evaluation leaves to the next.
    pub(super) fn keep(&mut self, tape: &mut Tape) {
        match self {
            AccelerationSolver::Whole { factored, .. } => tape.count(factored),
            AccelerationSolver::Loops(loops) => loops.keep(tape),
            AccelerationSolver::Form { form, .. } => form.keep(tape),
        }
    }

    /// The name of the formulation.
    pub(super) fn formulation(&self) -> &'static str {
        match self {
            AccelerationSolver::Form { name, .. } => name,
            _ => "index1",
        }
    }

    pub(super) fn explain(&self) -> String {
        match self {
            AccelerationSolver::Whole { kkt, .. } => kkt.lock().explain(),
            AccelerationSolver::Loops(loops) => loops.explain(),
            AccelerationSolver::Form { form, .. } => form.explain(),
        }
    }
}
