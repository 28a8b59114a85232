//! One KKT system for several users that take turns.

use super::kkt::Kkt;
use super::plan::LinearPlan;
use bellcrank_math::tape::Tape;
use bellcrank_model::Dynamics;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

/// One system for several users in turn, each of which factors it before it solves; it is analyzed when it is first
/// needed.
#[derive(Clone)]
pub struct SharedKkt {
    dynamics: Arc<dyn Dynamics>,
    plan: LinearPlan,
    kkt: Arc<Mutex<Option<Kkt>>>,
}

impl SharedKkt {
    /// The system of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>) -> SharedKkt {
        SharedKkt::planned(dynamics, LinearPlan::Cheapest)
    }

    /// The same, solved as planned.
    pub fn planned(dynamics: Arc<dyn Dynamics>, plan: LinearPlan) -> SharedKkt {
        SharedKkt { dynamics, plan, kkt: Arc::default() }
    }

    /// Whether it is solved by dense LU.
    pub fn is_dense(&self) -> bool {
        self.plan == LinearPlan::Dense
    }

    /// The system of other equations, solved in the same way.
    pub fn of(&self, dynamics: Arc<dyn Dynamics>) -> SharedKkt {
        SharedKkt::planned(dynamics, self.plan)
    }

    /// Tells a tape what one factorization leaves to the next.
    pub(crate) fn keep(&self, tape: &mut Tape) {
        let mut guard = self.kkt.lock().unwrap_or_else(|e| e.into_inner());
        tape.option(&mut guard, || Some(Kkt::planned(self.dynamics.clone(), self.plan)));
        if let Some(kkt) = &mut *guard {
            kkt.keep(tape, false);
        }
    }

    /// The system, for as long as the guard lives.
    pub fn lock(&self) -> KktGuard<'_> {
        let mut guard = self.kkt.lock().unwrap_or_else(|e| e.into_inner());
        guard.get_or_insert_with(|| Kkt::planned(self.dynamics.clone(), self.plan));
        KktGuard(guard)
    }
}

/// A [`SharedKkt`] in use.
pub struct KktGuard<'a>(MutexGuard<'a, Option<Kkt>>);

impl Deref for KktGuard<'_> {
    type Target = Kkt;
    fn deref(&self) -> &Kkt {
        self.0.as_ref().unwrap_or_else(|| unreachable!("made when it was locked"))
    }
}

impl DerefMut for KktGuard<'_> {
    fn deref_mut(&mut self) -> &mut Kkt {
        self.0.as_mut().unwrap_or_else(|| unreachable!("made when it was locked"))
    }
}
