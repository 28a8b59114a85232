//! Model exchange: the importer integrates q, v and z; charts, turns and modes of forces are kept here, and change when the
//! importer accepts a step or is in event mode.

use super::said;
use bellcrank_model::State;
use bellcrank_model::dynamics::{Ahead, Scale};
use bellcrank_solve::run::Simulation;

/// A rotation chart gets another centre beyond this angle, in rad. Each is an event for the importer, and N(φ) is singular
/// at 2π only.
const CHART_LIMIT: f64 = 3.0;

/// A switch function counts as fallen below this part of its size so far; and below this.
const NOISE: f64 = 1e-10;
const NOTHING: f64 = 1e-13;

/// Events at one time, beside one for each switch function.
const MOST_AT_ONCE: usize = 100;

/// Constraints may drift by this many tolerances of a length before the state is put back onto them.
const DRIFT: f64 = 1.0;

/// What is reported for a switch function that is not below zero: CVODE and others do not see a root in a function that
/// starts at zero, or a little beyond it.
const ABOVE: f64 = 1e-14;

/// An infinite switch function is not in use.
pub fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 1.0 }
}

/// Nominal values of q, v and z.
pub fn nominals(simulation: &Simulation) -> Vec<f64> {
    let (scales, length) = simulation.scales();
    let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
    let q: Vec<f64> = scales.iter().map(|scale| if *scale == Scale::Length { length } else { 1.0 }).collect();
    let z = vec![1.0; simulation.sizes().nz];
    [&q[..], &q, &z].concat()
}

/// What an importer can go back to.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub struct SavedExchange {
    state: State,
    time: f64,
    earliest: f64,
    latest: f64,
    size: Vec<f64>,
    low: Vec<f64>,
}

/// The state of an importer.
pub struct Exchange {
    /// Its time lies on this side of a breakpoint until event mode.
    now: SavedExchange,
    /// Residuals of constraints that are too large.
    drift: f64,
    /// Where the run ends, as far as is known.
    until: f64,
    values: Vec<f64>,
}

impl Exchange {
    /// A motion that begins where a simulation is.
    pub fn new(simulation: &Simulation, tolerance: f64, until: f64) -> Exchange {
        let state = simulation.state().clone();
        let (time, switches) = (state.t, simulation.sizes().switches);
        let (size, low) = (vec![0.0; switches], vec![0.0; switches]);
        let (_, length) = simulation.scales();
        let now = SavedExchange { state, time, earliest: f64::NEG_INFINITY, latest: f64::INFINITY, size, low };
        Exchange { now, drift: DRIFT * tolerance * length.max(f64::MIN_POSITIVE), until, values: Vec::new() }
    }

    pub fn time(&self) -> f64 {
        self.now.time
    }

    pub fn state(&self) -> &State {
        &self.now.state
    }

    pub fn set_input(&mut self, k: usize, value: f64) {
        self.now.state.charts.inputs[k] = value;
    }

    /// Sets the time. Functions of time stay on their branch until event mode: an importer may look beyond a breakpoint.
    pub fn set_time(&mut self, t: f64) -> Result<(), String> {
        if !t.is_finite() {
            return Err(format!("the time cannot be {t}"));
        }
        let now = &mut self.now;
        (now.time, now.state.t) = (t, t.min(now.latest).max(now.earliest));
        Ok(())
    }

    pub fn set_states(&mut self, states: &[f64]) -> Result<(), String> {
        let State { q, v, z, .. } = &mut self.now.state;
        if states.len() != q.len() + v.len() + z.len() {
            return Err(format!("{} states were given for {}", states.len(), q.len() + v.len() + z.len()));
        }
        if let Some(bad) = states.iter().find(|x| !x.is_finite()) {
            return Err(format!("a state cannot be {bad}"));
        }
        let (positions, rest) = states.split_at(q.len());
        let (velocities, others) = rest.split_at(v.len());
        q.copy_from_slice(positions);
        v.copy_from_slice(velocities);
        z.copy_from_slice(others);
        Ok(())
    }

    fn noise(&self, k: usize) -> f64 {
        NOTHING.max(NOISE * self.now.size[k])
    }

    fn look(&mut self, simulation: &mut Simulation) -> Result<(), String> {
        simulation.switch_values_at(&self.now.state, &mut self.values).map_err(said)
    }

    /// The event indicators: positive while the modes are right, negative beyond an event.
    pub fn indicators(&mut self, simulation: &mut Simulation) -> Result<Vec<f64>, String> {
        self.look(simulation)?;
        let shown = |k: usize| {
            let value = self.values[k] - self.now.low[k];
            if value < -self.noise(k) { value } else { finite(value).max(ABOVE) }
        };
        Ok((0..self.values.len()).map(shown).collect())
    }

    /// After an accepted step: turns are counted. True if the importer should enter event mode, because a rotation needs another
    /// centre or constraints have drifted.
    pub fn completed_step(&mut self, simulation: &mut Simulation) -> Result<bool, String> {
        let mut settled = self.now.state.clone();
        if simulation.settle_at(CHART_LIMIT, &mut settled) {
            return Ok(true);
        }
        self.now.state = settled;
        self.look(simulation)?;
        for k in 0..self.values.len() {
            let value = self.values[k];
            if value.is_finite() {
                self.now.size[k] = self.now.size[k].max(value.abs());
                if value > self.noise(k) {
                    self.now.low[k] = 0.0;
                }
            }
        }
        Ok(self.has_drifted(simulation))
    }

    fn has_drifted(&self, simulation: &mut Simulation) -> bool {
        simulation.sizes().m > 0 && simulation.drift_at(&self.now.state).iter().any(|x| *x > self.drift)
    }

    /// What happens in event mode: whether states changed, the next event in time, and what happened.
    pub fn update(&mut self, simulation: &mut Simulation) -> Result<(bool, Option<f64>, Vec<String>), String> {
        let mut changed = simulation.settle_at(CHART_LIMIT, &mut self.now.state);
        if self.has_drifted(simulation) {
            simulation.project_at(&mut self.now.state).map_err(said)?;
            changed = true;
        }
        let horizon = if self.now.time < self.until { self.until } else { self.now.time + self.until.abs().max(1.0) };
        simulation.forget_breaks();
        let before = self.now.state.v.clone();
        if simulation.cross_breaks_at(&mut self.now.state, horizon).map_err(said)? {
            self.now.earliest = self.now.state.t;
            changed |= before != self.now.state.v;
        }
        let mut happened = Vec::new();
        changed |= self.pass(simulation, &mut happened)?;
        let next = match simulation.breaks_ahead(&self.now.state, horizon) {
            Ahead::Break(b) => Some(b.before),
            Ahead::Clear(to) => simulation.watches_time().then_some(to),
        };
        self.now.latest = next.unwrap_or(f64::INFINITY);
        self.now.state.t = self.now.time.min(self.now.latest).max(self.now.earliest);
        Ok((changed, next, happened))
    }

    /// Passes all switch functions that have fallen.
    fn pass(&mut self, simulation: &mut Simulation, happened: &mut Vec<String>) -> Result<bool, String> {
        let mut changed = false;
        self.look(simulation)?;
        for _ in 0..MOST_AT_ONCE + self.values.len() {
            let fallen = |k: &usize| self.values[*k] - self.now.low[*k] < -0.5 * self.noise(*k);
            let Some(k) = (0..self.values.len()).find(fallen) else { return Ok(changed) };
            let (modes, v) = (self.now.state.charts.modes.clone(), self.now.state.v.clone());
            happened.extend(simulation.pass_at(k, &mut self.now.state).map_err(said)?);
            let passed = modes != self.now.state.charts.modes || v != self.now.state.v;
            changed |= passed;
            self.look(simulation)?;
            let value = self.values[k];
            // what has just happened starts a little beyond zero and should rise from there; so does a gap that opens
            if value.is_finite() && (!passed || value > -100.0 * self.noise(k)) {
                self.now.low[k] = value.min(0.0);
            } else {
                self.now.low[k] = 0.0;
            }
        }
        let t = self.now.time;
        Err(format!("forces switch without end at t = {t} s"))
    }

    pub fn save(&self) -> SavedExchange {
        self.now.clone()
    }

    pub fn restore(&mut self, saved: SavedExchange, simulation: &mut Simulation) -> Result<(), String> {
        // a state of another machine is refused there
        simulation.restart(&saved.state).map_err(said)?;
        if saved.size.len() != self.now.size.len() || saved.low.len() != self.now.low.len() {
            return Err("the FMU state belongs to another model".into());
        }
        self.now = saved;
        Ok(())
    }
}
