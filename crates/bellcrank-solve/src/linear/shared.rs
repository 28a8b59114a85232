//! One KKT system for several users that take turns.

use super::kkt::Kkt;
use bellcrank_model::Dynamics;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

/// What solves a system of accelerations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// A recursion where the equations have one, else elimination.
    #[default]
    Cheapest,
    /// Elimination of the matrix.
    Elimination,
    /// Dense LU of the matrix.
    Dense,
}

/// One system for several who use it in turn, each from factors of its own to the end; it is analyzed when it is first
/// needed.
#[derive(Clone)]
pub struct SharedKkt {
    dynamics: Arc<dyn Dynamics>,
    by: By,
    kkt: Arc<Mutex<Option<Kkt>>>,
}

impl SharedKkt {
    /// The system of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>) -> SharedKkt {
        SharedKkt::by(dynamics, By::Cheapest)
    }

    /// The same, solved as asked.
    pub fn by(dynamics: Arc<dyn Dynamics>, by: By) -> SharedKkt {
        SharedKkt { dynamics, by, kkt: Arc::default() }
    }

    /// Whether it is solved by dense LU.
    pub fn is_dense(&self) -> bool {
        self.by == By::Dense
    }

    /// The system of other equations, solved in the same way.
    pub fn of(&self, dynamics: Arc<dyn Dynamics>) -> SharedKkt {
        SharedKkt::by(dynamics, self.by)
    }

    /// The system, until the guard is gone.
    pub fn lock(&self) -> KktGuard<'_> {
        let mut guard = self.kkt.lock().unwrap_or_else(|e| e.into_inner());
        guard.get_or_insert_with(|| match self.by {
            By::Cheapest => Kkt::new(self.dynamics.clone()),
            By::Elimination => Kkt::made(self.dynamics.clone(), false, false),
            By::Dense => Kkt::dense(self.dynamics.clone()),
        });
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
