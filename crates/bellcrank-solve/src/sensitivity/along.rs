//! The run, and its tangents beside it; or notes of what it did, for a way back over it.

use super::moves::{Crossing, Move, Notes, Smooth};
use super::multi_step::MultiStep;
use super::neighbours::{Pair, SIGNS, Side, refused};
use super::one_step::OneStep;
use super::tangent::{Tangent, reach};
use super::{ASIDE, Asked, Members, Row, Sensitivities, SensitivityError, unsolved};
use crate::analyses::begin;
use crate::choices::{MethodName, Options};
use crate::methods::tableau::{DORMAND_PRINCE_8, Tableau};
use crate::plan::EnginePlan;
use crate::run::Simulation;
use bellcrank_model::dynamics::{Ahead, Break};
use bellcrank_model::{Dynamics, State, System};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Behind an event, neighbours run on for this part of the run: then both have met theirs.
const BEHIND: f64 = 1e-4;

/// Steps of implicit methods that are shorter than this part of the run are taken together: rates are differences of tangents, in which
/// rounding over the step would show. The first step of such a law errs by its square.
const SHORTEST: f64 = 1e-7;

/// Neighbours that have not met the same events after this part of the run will not.
const APART: f64 = 0.02;

/// What carries tangents over smooth steps.
enum Route {
    OneStep(Box<OneStep>),
    MultiStep(Box<MultiStep>),
}

impl Route {
    fn dynamics(&self) -> &Arc<dyn Dynamics> {
        match self {
            Route::OneStep(route) => &route.dynamics,
            Route::MultiStep(route) => &route.dynamics,
        }
    }
}

/// A run with tangents. Its fourteen fields are what is asked, the run, its neighbours, and where it stands.
pub(super) struct Along<'a> {
    asked: &'a Asked,
    options: Options,
    nominal: Simulation,
    /// The places of the outputs among those of the model.
    places: Vec<usize>,
    pairs: Vec<Pair<'a>>,
    tangents: Vec<Tangent>,
    route: Option<Route>,
    /// Where the tangents were known last, the latest at the end; the first is a moment before it.
    bases: VecDeque<Base>,
    /// When the run began.
    begun: f64,
    /// The order of the step that is taken.
    order: usize,
    /// Smooth stretches behind it.
    stretch: usize,
    /// Samples so far.
    samples: usize,
    /// In the place of tangents.
    notes: Option<Notes>,
    found: Sensitivities,
}

/// A state with its tangents, and how many moves led to it.
type Base = (State, Vec<Tangent>, usize);

/// Where a neighbour began to run itself: its events and its integrals so far.
type Begun = (usize, Vec<[f64; 2]>);

/// Where a step has to end.
#[derive(Clone, Copy)]
struct Limit {
    t: f64,
    /// Whether it is one of the samples, or the end of the run.
    sample: bool,
}

/// What a step may have met.
struct Met {
    events: usize,
    gap: Option<Break>,
}

impl<'a> Along<'a> {
    /// At the start.
    pub fn new(
        system: &Arc<System>,
        members: &'a Members<'a>,
        asked: &'a Asked,
        options: &Options,
    ) -> Result<Along<'a>, SensitivityError> {
        let varied = &members.list;
        let mut options = options.clone();
        options.record.clone_from(&asked.outputs);
        options.resources.threads = Some(1);
        let mut nominal = begin::simulation(system, options.clone())?;
        if !asked.over_time {
            nominal.leave_outputs();
        }
        let mut tangents = Vec::new();
        let mut pairs = Vec::new();
        for k in 0..varied.len() {
            let (mut pair, start) = Pair::new(members, &[k], &options, &nominal)?;
            if !asked.over_time {
                pair.far.iter_mut().for_each(|side| side.run.leave_outputs());
            }
            pairs.push(pair);
            tangents.push(start);
        }
        let model = &system.model.outputs;
        let places: Vec<usize> = (0..model.len()).filter(|k| asked.outputs.contains(&model[*k].name)).collect();
        let outputs = nominal.header().channels;
        let found = Sensitivities {
            parameters: varied.iter().map(|of| of.name.clone()).collect(),
            values: varied.iter().map(|of| of.value).collect(),
            rows: Vec::new(),
            method: nominal.plan().method().map_or("kinematic", MethodName::name),
            statistics: nominal.statistics(),
            events: 0,
            integrals: vec![[0.0; 2]; outputs.len()],
            through_events: vec![vec![[0.0; 2]; varied.len()]; outputs.len()],
            outputs,
        };
        let begun = nominal.t();
        Ok(Along {
            asked,
            options,
            begun,
            nominal,
            places,
            pairs,
            tangents,
            route: None,
            bases: VecDeque::new(),
            order: 1,
            stretch: 0,
            samples: 0,
            notes: None,
            found,
        })
    }

    /// With what it runs.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// To the end, with tangents.
    pub fn run(mut self) -> Result<Sensitivities, SensitivityError> {
        self.go()?;
        Ok(self.found)
    }

    /// To the end without tangents: the run, its rows, and what it did. Given are the breakpoints that move with a parameter.
    pub fn note(mut self, moving: Vec<Break>) -> Result<(Simulation, Sensitivities, Vec<Move>), SensitivityError> {
        self.notes = Some(Notes::new(moving));
        self.go()?;
        let moves = self.notes.map(|notes| notes.moves).unwrap_or_default();
        Ok((self.nominal, self.found, moves))
    }

    fn go(&mut self) -> Result<(), SensitivityError> {
        let mut route = OneStep::new(self.nominal.equations(), self.nominal.state());
        let start = self.nominal.state().clone();
        route.project(&start, &mut self.pairs, &mut self.tangents).map_err(|e| unsolved(start.t, e))?;
        self.note_base();
        self.row(true)?;
        while self.nominal.t() < self.options.until {
            if self.options.resources.interrupt.load(Ordering::Relaxed) {
                return Err(SensitivityError::Interrupted);
            }
            self.step()?;
        }
        if !self.asked.over_time {
            self.row(true)?;
        }
        let integrals = self.nominal.output_integrals();
        for (to, place) in self.found.integrals.iter_mut().zip(&self.places) {
            *to = integrals.get(*place).copied().unwrap_or_default();
        }
        self.found.statistics = self.nominal.statistics();
        self.found.events = self.nominal.events().len();
        Ok(())
    }

    /// The next sample or the end of the run, or where a row is due between them.
    fn limit(&self) -> Limit {
        let until = self.options.until;
        let at = |t: f64| Limit { t, sample: true };
        if !self.asked.over_time {
            return at(until);
        }
        if let Some(distance) = self.options.sample {
            let next = self.begun + (self.samples + 1) as f64 * distance;
            // the last one may miss the end by rounding
            return at(if next > until - 1e-9 * distance { until } else { next });
        }
        let parts = self.tableau().map_or(1.0, |tableau| (0.5 * tableau.order as f64).floor().max(1.0));
        let next = self.nominal.t() + self.nominal.next_step() / parts;
        if parts > 1.0 && next < until { Limit { t: next, sample: false } } else { at(until) }
    }

    fn met(&self) -> Met {
        Met { events: self.nominal.events().len(), gap: self.nominal.last_gap() }
    }

    /// One step of the run, with what it may meet.
    fn step(&mut self) -> Result<(), SensitivityError> {
        let (earlier, limit) = (self.met(), self.limit());
        self.order = self.nominal.order();
        self.nominal.step_within(limit.t)?;
        let gap = self.nominal.last_gap().filter(|gap| earlier.gap != Some(*gap));
        let events = self.nominal.events().len() > earlier.events;
        let Some(base) = self.bases.back().map(|base| base.0.clone()) else { return Ok(()) };
        if events || gap.is_some_and(|gap| self.breaks_move(&base, gap)) {
            return self.cross(&earlier);
        }
        let arrives = self.nominal.t() >= limit.t || gap.is_some();
        if !arrives && self.tableau().is_none() && self.nominal.t() - base.t < SHORTEST * self.span() {
            return Ok(());
        }
        self.follow(base, gap)?;
        self.note_base();
        if gap.is_some_and(|gap| gap.after >= self.nominal.t()) {
            self.begin_route();
        }
        self.arrive(limit)
    }

    /// What comes next knows nothing of the past.
    fn begin_route(&mut self) {
        self.route = None;
        self.notes.iter_mut().for_each(Notes::begin_route);
    }

    /// The length of the run.
    fn span(&self) -> f64 {
        self.options.until - self.begun
    }

    /// Remembers where the tangents are known.
    fn note_base(&mut self) {
        let moment = self.nominal.t() - BEHIND * self.span();
        let moves = self.notes.as_ref().map_or(0, |notes| notes.moves.len());
        self.bases.push_back((self.nominal.state().clone(), self.tangents.clone(), moves));
        while self.bases.get(1).is_some_and(|(state, ..)| state.t <= moment) {
            self.bases.pop_front();
        }
    }

    /// Goes back to a moment before something jumps, which in a neighbour may jump a little earlier.
    fn go_back(&mut self, earlier: &Met) -> State {
        let events = self.nominal.events()[earlier.events..].iter().map(|e| e.t);
        let gap = self.nominal.last_gap().filter(|gap| earlier.gap != Some(*gap)).map(|gap| gap.before);
        let jump = events.chain(gap).fold(f64::INFINITY, f64::min);
        let before = jump - BEHIND * self.span();
        while self.bases.len() > 1 && self.bases.back().is_some_and(|(state, ..)| state.t > before) {
            self.bases.pop_back();
        }
        let Some((state, tangents, moves)) = self.bases.pop_back() else { return self.nominal.state().clone() };
        self.tangents = tangents;
        self.notes.iter_mut().for_each(|notes| notes.go_back(moves));
        let rows = &mut self.found.rows;
        rows.retain(|row| row.sampled || row.t <= state.t);
        rows.iter_mut().filter(|row| row.t > state.t).for_each(|row| row.stretch = ASIDE);
        self.bases.clear();
        state
    }

    /// Counts a sample that was reached; whether one was.
    fn count(&mut self, limit: Limit) -> bool {
        let sampled = limit.sample && self.nominal.t() >= limit.t;
        self.samples += sampled as usize;
        sampled
    }

    /// Records what is due at the end of a step.
    fn arrive(&mut self, limit: Limit) -> Result<(), SensitivityError> {
        let sampled = self.count(limit);
        if self.asked.over_time { self.row(sampled) } else { Ok(()) }
    }

    /// Whether a breakpoint of the run stands elsewhere in one of the neighbours.
    fn breaks_move(&mut self, before: &State, gap: Break) -> bool {
        if let Some(notes) = &self.notes {
            return notes.moving.contains(&gap);
        }
        let until = self.options.until;
        self.pairs.iter_mut().flat_map(|pair| &mut pair.far).any(|side| {
            side.run.forget_breaks();
            // others, at which nothing jumps, may lie before it
            let mut at = before.clone();
            loop {
                match side.run.breaks_ahead(&at, until) {
                    Ahead::Break(b) if b.after < gap.before => at.t = b.after,
                    Ahead::Break(b) => return (b.before, b.after) != (gap.before, gap.after),
                    Ahead::Clear(to) if to > gap.after || to >= until || to <= at.t => return true,
                    Ahead::Clear(to) => at.t = to,
                }
            }
        })
    }

    /// The tableau along which tangents go.
    fn tableau(&self) -> Option<&'static Tableau> {
        match &self.nominal.plan().engine {
            EnginePlan::Explicit { method, .. } => method.tableau(),
            // what only its rate drives is integrated
            EnginePlan::Kinematic { .. } => Some(&DORMAND_PRINCE_8),
            _ => None,
        }
    }

    /// Carries the tangents over a smooth step, which may end or begin at a breakpoint.
    fn follow(&mut self, mut before: State, gap: Option<Break>) -> Result<(), SensitivityError> {
        let mut to = self.nominal.state().clone();
        match gap {
            // a step that begins at it
            Some(gap) if gap.before <= before.t => {
                before.t = gap.after;
                self.begin_route();
            }
            Some(gap) => to.t = gap.before,
            None => {}
        }
        if to.t <= before.t {
            return Ok(());
        }
        let tableau = self.tableau();
        let equations = self.nominal.equations();
        if let Some(notes) = &mut self.notes {
            notes.step(Smooth {
                from: before,
                to,
                order: self.order,
                tableau,
                fresh: true,
                dynamics: equations.clone(),
            });
            return Ok(());
        }
        let before = &before;
        let fits = |route: &Route| {
            Arc::ptr_eq(route.dynamics(), equations) && matches!(route, Route::OneStep(_)) == tableau.is_some()
        };
        let (pairs, tangents) = (&mut self.pairs, &mut self.tangents);
        let route = match self.route.take().filter(fits) {
            Some(route) => self.route.insert(route),
            None => self.route.insert(match tableau {
                Some(_) => Route::OneStep(Box::new(OneStep::new(equations, before))),
                None => Route::MultiStep(Box::new(MultiStep::new(equations, before, pairs, tangents))),
            }),
        };
        let moved = match (route, tableau) {
            (Route::OneStep(route), Some(tableau)) => route.advance(tableau, (before, to.t, &to), pairs, tangents),
            (Route::OneStep(_), None) => Ok(()),
            (Route::MultiStep(route), _) => route.advance(&to, self.order, pairs, tangents),
        };
        moved.map_err(|e| unsolved(to.t, e))
    }

    /// Crosses events: the neighbours run themselves, from the step before to a moment behind.
    fn cross(&mut self, earlier: &Met) -> Result<(), SensitivityError> {
        let (span, before) = (self.span(), &self.go_back(earlier));
        let mut begun = Vec::new();
        for (pair, tangent) in self.pairs.iter_mut().zip(&self.tangents) {
            for (Side { run, .. }, sign) in pair.far.iter_mut().zip(SIGNS) {
                let from = tangent.moved(&**run.equations(), sign * pair.reach, before);
                run.restart(&from)?;
                begun.push((run.events().len(), run.output_integrals()));
            }
        }
        loop {
            let t = self.nominal.t();
            for side in self.pairs.iter_mut().flat_map(|pair| &mut pair.far) {
                side.run.advance_to(t)?;
            }
            let last = self.last_jump(before, earlier, &begun);
            let apart = self.apart(earlier, &begun, before.t, BEHIND * span);
            if apart.is_none() && t >= (last + BEHIND * span).min(self.options.until) {
                break;
            }
            if let Some(name) = apart.filter(|_| t > last + APART * span || t >= self.options.until) {
                let first = self.nominal.events()[earlier.events..].first();
                let what = first.map_or(format!("the breakpoint at t = {last:.6} s"), |e| format!("{e}"));
                let why = format!("with a little more or less the run does not meet the same events: {what}");
                return Err(refused(&name, why));
            }
            self.count(self.limit());
            self.nominal.step_within(self.limit().t)?;
        }
        self.count(self.limit());
        if let Some(notes) = &mut self.notes {
            let events = self.nominal.events()[earlier.events..].iter().map(|e| e.name.clone()).collect();
            let to = self.nominal.state().clone();
            notes.moves.push(Move::Cross(Crossing { from: before.clone(), to, events }));
        }
        self.take_over(&begun)?;
        self.row_behind()
    }

    /// When something last jumped, in the run or beside it.
    fn last_jump(&self, before: &State, earlier: &Met, begun: &[Begun]) -> f64 {
        let of = |run: &Simulation, first: usize| {
            let events = run.events()[first..].iter().map(|e| e.t).fold(before.t, f64::max);
            run.last_gap().filter(|gap| gap.after > before.t).map_or(events, |gap| events.max(gap.after))
        };
        let sides =
            self.pairs.iter().flat_map(|pair| &pair.far).zip(begun).map(|(side, (first, _))| of(&side.run, *first));
        sides.fold(of(&self.nominal, earlier.events), f64::max)
    }

    /// A parameter whose neighbours have met other events than the run.
    fn apart(&self, earlier: &Met, begun: &[Begun], from: f64, near: f64) -> Option<String> {
        let names = |run: &Simulation, first: usize| -> Vec<String> {
            run.events()[first..].iter().map(|e| e.name.clone()).collect()
        };
        let jump = |run: &Simulation| run.last_gap().map(|gap| gap.after).filter(|t| *t > from);
        let (mine, modes) = (names(&self.nominal, earlier.events), &self.nominal.state().charts.modes);
        let of_side = |run: &Simulation, first: usize| {
            let met = match (jump(&self.nominal), jump(run)) {
                (Some(a), Some(b)) => (a - b).abs() <= near,
                (a, b) => a.is_some() == b.is_some(),
            };
            met && names(run, first) == mine && run.state().charts.modes == *modes
        };
        let same = |k: usize, pair: &Pair| (0..2).all(|i| of_side(&pair.far[i].run, begun[2 * k + i].0));
        self.pairs.iter().enumerate().find(|(k, pair)| !same(*k, pair)).map(|(_, pair)| pair.name.clone())
    }

    /// The tangents behind events are the differences of the neighbours; integrals have differed on the way.
    fn take_over(&mut self, begun: &[Begun]) -> Result<(), SensitivityError> {
        let state = self.nominal.state();
        for (k, (pair, tangent)) in self.pairs.iter_mut().zip(&mut self.tangents).enumerate() {
            let dynamics = &**self.nominal.equations();
            let ends = pair.far.each_ref().map(|side| side.run.state());
            *tangent = Tangent::between(dynamics, ends[0], ends[1], 2.0 * pair.reach);
            pair.far.iter_mut().for_each(Side::refresh);
            pair.restart_near(state)?;
            for (i, sign) in SIGNS.into_iter().enumerate() {
                let weight = sign / (2.0 * pair.reach);
                let (now, then) = (pair.far[i].run.output_integrals(), &begun[2 * k + i].1);
                for (out, place) in self.found.through_events.iter_mut().zip(&self.places) {
                    let [sum, squares] = now.get(*place).copied().unwrap_or_default();
                    let [sum0, squares0] = then.get(*place).copied().unwrap_or_default();
                    out[k][0] += weight * (sum - sum0);
                    // u u_p is half the derivative of u²
                    out[k][1] += 0.5 * weight * (squares - squares0);
                }
            }
        }
        self.begin_route();
        self.note_base();
        Ok(())
    }

    /// Records behind an event, where a new stretch begins.
    fn row_behind(&mut self) -> Result<(), SensitivityError> {
        if !self.asked.over_time {
            return Ok(());
        }
        self.stretch += 1;
        self.row(false)
    }

    /// Records the present state.
    fn row(&mut self, sampled: bool) -> Result<(), SensitivityError> {
        let state = self.nominal.state().clone();
        let values = self.nominal.observe_at(&state)?.to_vec();
        let mut derivatives = vec![vec![0.0; self.pairs.len()]; values.len()];
        let dynamics = self.nominal.equations().clone();
        for (k, (pair, tangent)) in self.pairs.iter_mut().zip(&self.tangents).enumerate() {
            // u_y s, with a step of its own: that of the parameter may be far too small for it
            let c = reach(&*dynamics, &state, tangent);
            for sign in SIGNS.into_iter().filter(|_| c.is_finite()) {
                let found = self.nominal.observe_at(&tangent.moved(&*dynamics, sign * c, &state))?;
                derivatives.iter_mut().zip(found).for_each(|(d, u)| d[k] += sign * u / (2.0 * c));
            }
            // u_p
            for (side, sign) in pair.far.iter_mut().zip(SIGNS) {
                let found = side.run.observe_at(&state)?;
                derivatives.iter_mut().zip(found).for_each(|(d, u)| d[k] += sign * u / (2.0 * pair.reach));
            }
        }
        let number = self.notes.as_mut().map_or(0, Notes::row);
        let stretch = self.stretch;
        self.found.rows.push(Row { t: state.t, values, derivatives, sampled, stretch, number });
        Ok(())
    }
}
