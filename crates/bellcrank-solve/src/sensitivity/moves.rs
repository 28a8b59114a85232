//! What a run did, for a way back over it: its accepted states, its events, and where rows were recorded.

use crate::methods::tableau::Tableau;
use bellcrank_model::dynamics::Break;
use bellcrank_model::{Dynamics, State};
use std::sync::Arc;

/// One thing after the other.
pub(super) enum Move {
    /// A smooth step.
    Step(Smooth),
    /// A way through events.
    Cross(Crossing),
    /// A row was recorded, by its number.
    Row(usize),
    /// The next move begins where the first so many led, and not where the last one ended.
    Back(usize),
}

/// A smooth step.
pub(super) struct Smooth {
    pub from: State,
    pub to: State,
    /// The order of implicit methods.
    pub order: usize,
    /// The tableau of explicit ones.
    pub tableau: Option<&'static Tableau>,
    /// Whether a law through past points begins here.
    pub fresh: bool,
    pub dynamics: Arc<dyn Dynamics>,
}

/// From a state before events to one behind them.
pub(super) struct Crossing {
    pub from: State,
    pub to: State,
    /// The names of the events.
    pub events: Vec<String>,
}

/// The notes.
pub(super) struct Notes {
    pub moves: Vec<Move>,
    /// Breakpoints in time that move with a parameter.
    pub moving: Vec<Break>,
    /// The equations of the law that goes on, and whether it is a tableau.
    going_on: Option<(Arc<dyn Dynamics>, bool)>,
    rows: usize,
}

impl Notes {
    /// None yet.
    pub fn new(moving: Vec<Break>) -> Notes {
        Notes { moves: Vec::new(), moving, going_on: None, rows: 0 }
    }

    /// What comes next knows nothing of the past.
    pub fn begin_route(&mut self) {
        self.going_on = None;
    }

    /// Notes a step, and whether its law goes on.
    pub fn step(&mut self, step: Smooth) {
        let explicit = step.tableau.is_some();
        let goes_on =
            |(dynamics, kind): &(Arc<dyn Dynamics>, bool)| Arc::ptr_eq(dynamics, &step.dynamics) && *kind == explicit;
        let fresh = !self.going_on.as_ref().is_some_and(goes_on);
        self.going_on = Some((step.dynamics.clone(), explicit));
        self.moves.push(Move::Step(Smooth { fresh, ..step }));
    }

    /// Notes a row and gives its number.
    pub fn row(&mut self) -> usize {
        self.moves.push(Move::Row(self.rows));
        self.rows += 1;
        self.rows - 1
    }

    /// What comes next begins where the first so many moves led.
    pub fn go_back(&mut self, moves: usize) {
        if moves < self.moves.len() {
            self.moves.push(Move::Back(moves));
        }
    }
}
