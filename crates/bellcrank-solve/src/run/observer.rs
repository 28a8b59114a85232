//! Looks at states: accelerations, reactions, channels, energy.

use crate::engines::{Engine, StepError};
use crate::linear::kkt::Kkt;
use crate::linear::projection::Projection;
use crate::linear::scales::RowScales;
use crate::linear::shared::SharedKkt;
use crate::plan::scale::LARGE;
use crate::start::AssemblyError;
use crate::wedge::{CLOSE, Wedge};
use bellcrank_math::tape::Tape;
use bellcrank_model::channel::Selection;
use bellcrank_model::dynamics::LeftOut;
use bellcrank_model::{Dynamics, Piece, Point, State, Unknown, Workspace};
use std::sync::Arc;

/// What the equations say at a state. It has a point and a workspace of its own, so that no look disturbs the engine.
/// Its fields are the equations, what solves them, and the last look.
pub(crate) struct Observer {
    /// The equations while no mode holds a motion.
    pub base: Arc<dyn Dynamics>,
    pub dynamics: Arc<dyn Dynamics>,
    /// Lent to explicit engines, which are done with it between steps.
    pub kkt: SharedKkt,
    pub point: Point,
    pub w: Workspace,
    /// What is looked at.
    pub state: State,
    /// The channels of the last look.
    pub values: Vec<f64>,
    min_norm: Option<MinNorm>,
    /// Puts a state back onto the constraints after an event.
    pub(super) projection: Option<Projection>,
    /// The system of the equations while no mode holds a motion, for what happens at an event.
    pub(super) free: Option<(SharedKkt, Workspace)>,
    /// The joints with reactions that are not unique.
    pub not_unique: Vec<String>,
    /// Whether sweeps over a spanning tree find accelerations: its rows are never left out.
    pub sweeps: bool,
    /// The rows of that tree, where some rows are redundant.
    pub(super) of_tree: Vec<bool>,
}

/// Reactions of least size among those that pull alike, where equations are redundant.
struct MinNorm {
    /// A system with blocks for the multipliers; large models do without.
    kkt: Option<Kkt>,
    scales: RowScales,
}

impl MinNorm {
    fn new(dynamics: &Arc<dyn Dynamics>, kkt: &SharedKkt, at: &Point, w: &mut Workspace) -> MinNorm {
        let separate = dynamics.layout().bodies.len() < LARGE || kkt.is_dense();
        MinNorm { kkt: separate.then(|| Kkt::proximal(dynamics.clone())), scales: RowScales::new(&**dynamics, at, w) }
    }
}

impl Observer {
    pub fn new(dynamics: Arc<dyn Dynamics>, kkt: SharedKkt, start: &Point, redundant: usize, sweeps: bool) -> Observer {
        let mut state = State::default();
        start.store(&mut state);
        let mut observer = Observer {
            kkt,
            point: start.clone(),
            w: dynamics.workspace(),
            state,
            values: Vec::new(),
            min_norm: None,
            projection: None,
            free: None,
            not_unique: Vec::new(),
            sweeps,
            of_tree: Vec::new(),
            base: dynamics.clone(),
            dynamics,
        };
        if redundant > 0 {
            observer.find_not_unique();
        }
        observer
    }

    /// Tells a tape what one look leaves to the next. The equations are those of the modes already.
    pub(super) fn keep(&mut self, tape: &mut Tape) {
        self.kkt.keep(tape);
        tape.plain(&mut self.point);
        tape.plain(&mut self.state);
        tape.numbers(&mut self.values);
        self.w.invalidate();
        let (dynamics, kkt, point, w) = (&self.dynamics, &self.kkt, &self.point, &mut self.w);
        tape.option(&mut self.min_norm, || {
            dynamics.realize(point, w);
            Some(MinNorm::new(dynamics, kkt, point, w))
        });
        if let Some(MinNorm { kkt, scales }) = &mut self.min_norm {
            tape.plain(scales);
            if let Some(kkt) = kkt {
                kkt.keep(tape, false);
            }
        }
        tape.option(&mut self.projection, || Some(Projection::new(dynamics.clone())));
        if let Some(projection) = &mut self.projection {
            projection.keep(tape);
        }
        let base = &self.base;
        tape.option(&mut self.free, || Some((kkt.of(base.clone()), base.workspace())));
        if let Some((kkt, w)) = &mut self.free {
            kkt.keep(tape);
            w.invalidate();
        }
        tape.plain(&mut self.not_unique);
        tape.plain(&mut self.of_tree);
    }

    /// Goes over to other equations of the same coordinates, at the present state.
    pub(super) fn take(&mut self, dynamics: Arc<dyn Dynamics>) {
        self.kkt = self.kkt.of(dynamics.clone());
        self.point = Point::at(&self.state, dynamics.layout());
        self.w = dynamics.workspace();
        (self.min_norm, self.projection) = (None, None);
        self.state.charts.left_out = LeftOut::default();
        self.of_tree.clear();
        self.dynamics = dynamics;
    }

    /// The joints with multipliers that can be changed without any effect.
    fn find_not_unique(&mut self) {
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        let make = || MinNorm::new(&self.dynamics, &self.kkt, &self.point, &mut self.w);
        let MinNorm { kkt, scales } = self.min_norm.get_or_insert_with(make);
        let blocks = match kkt {
            Some(kkt) => kkt.not_unique(scales, &self.point, &mut self.w),
            None => {
                let mut kkt = self.kkt.lock();
                kkt.factor(&self.point, &mut self.w).and_then(|()| kkt.taking_part(scales))
            }
        };
        let blocks = blocks.unwrap_or_default();
        self.not_unique = blocks.iter().map(|k| self.dynamics.name(Unknown::Lambda, *k)).collect();
        self.not_unique.dedup();
    }

    /// Refuses loads that follow reactions which are not unique.
    pub fn refuse_ambiguous(&self) -> Result<(), AssemblyError> {
        for (block, culprit) in self.dynamics.followed_blocks() {
            let joint = self.dynamics.subject(Unknown::Lambda, block);
            if self.not_unique.contains(&joint.words) {
                return Err(AssemblyError::NotUnique { culprit, joint });
            }
        }
        Ok(())
    }

    /// The error of friction that wedges at the point that is looked at, if any does.
    pub fn wedged(&mut self, close: f64) -> Option<StepError> {
        let wedge = Wedge::find(&mut self.kkt.lock(), &*self.dynamics, (&self.point, &mut self.w), close)?;
        Some(StepError::Wedged { t: self.state.t, wedge: Box::new(wedge) })
    }

    /// Refuses friction by the reaction of a joint that slides and wedges: its motion would be one of several, or none.
    pub fn refuse_wedged(&mut self) -> Result<(), StepError> {
        if self.dynamics.followed_blocks().is_empty() {
            return Ok(());
        }
        let before = self.point.clone();
        let wedged = self.wedged(0.0);
        self.point = before;
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        wedged.map_or(Ok(()), Err)
    }

    pub fn singular(t: f64) -> StepError {
        StepError::Singular { t, culprit: "the model".into() }
    }

    /// Goes to a time in the last step of an engine.
    pub fn go_to(&mut self, t: f64, engine: &mut dyn Engine) -> Result<(), StepError> {
        if t == engine.state().t {
            self.state.clone_from(engine.state());
            return Ok(());
        }
        engine.interpolate(t, &mut self.state)
    }

    /// Poses at `self.state`.
    pub fn place(&mut self) {
        self.point.set(&self.state);
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
    }

    /// The same as far as the power needs them.
    pub fn pose(&mut self) {
        self.point.set(&self.state);
        self.w.invalidate();
        self.dynamics.place(&self.point, &mut self.w);
    }

    /// v̇ and λ at `self.state`.
    pub fn accelerate(&mut self) -> Result<(), StepError> {
        self.place();
        let t = self.state.t;
        let done = self.kkt.lock().accelerate(&mut self.point, &mut self.w);
        done.map_err(|_| self.wedged(CLOSE).unwrap_or_else(|| Observer::singular(t)))
    }

    /// λ of least size among those that pull alike.
    fn minimize_reactions(&mut self) -> Result<(), StepError> {
        let mut at_hand = self.kkt.lock();
        if at_hand.dropped() == 0 {
            return Ok(());
        }
        let make = || MinNorm::new(&self.dynamics, &self.kkt, &self.point, &mut self.w);
        let MinNorm { kkt, scales } = self.min_norm.get_or_insert_with(make);
        let mut lambda = std::mem::take(&mut self.point.lambda);
        let found = match kkt {
            Some(kkt) => kkt.least_multipliers(scales, &self.point, &mut self.w, &mut lambda),
            None => at_hand.least_at_hand(scales, &mut lambda),
        };
        self.point.lambda = lambda;
        found.map_err(|_| Observer::singular(self.state.t))
    }

    /// v̇ and λ at `self.state`, λ of least size where it is not unique.
    pub fn react(&mut self) -> Result<(), StepError> {
        self.accelerate()?;
        self.minimize_reactions()
    }

    /// Fills `values` with channels at `self.state`: with some, or with those that are recorded by default.
    pub fn observe(&mut self, some: Option<&Selection>) -> Result<(), StepError> {
        if some.is_none_or(|some| some.reactive) {
            self.react()?;
        } else {
            self.place();
        }
        self.see(some);
        Ok(())
    }

    /// Fills `values` with channels at the point that was looked at last, which has what they need.
    pub fn see(&mut self, some: Option<&Selection>) {
        match some {
            Some(some) => self.dynamics.observe_some(some, &self.point, &mut self.w, &mut self.values),
            None => self.dynamics.observe(&self.point, &mut self.w, &mut self.values),
        }
    }

    /// A state with its rates, accelerations and reactions; what is redundant is left out.
    pub fn complete(&mut self, state: &State) -> Result<Point, StepError> {
        self.state.clone_from(state);
        self.accelerate()?;
        if self.leave_out() {
            self.accelerate()?;
            if !self.dynamics.followed_blocks().is_empty() {
                self.find_not_unique();
                let open = |why| StepError::Open { t: state.t, why: Box::new(why) };
                self.refuse_ambiguous().map_err(open)?;
            }
        }
        self.refuse_wedged()?;
        self.point.charts.left_out.clone_from(&self.state.charts.left_out);
        self.dynamics.rates(&self.point.q, &self.point.v, &mut self.point.qdot);
        let mut zdot = std::mem::take(&mut self.point.zdot);
        zdot.fill(0.0);
        self.dynamics.add(1.0, Piece::Flow, &self.point, &mut self.w, &mut zdot);
        self.point.zdot = zdot;
        Ok(self.point.clone())
    }

    /// Gets the workspace ready for looks at another point.
    pub fn realize(&mut self, at: &Point) {
        self.w.invalidate();
        self.dynamics.realize(at, &mut self.w);
    }
}
