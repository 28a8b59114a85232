//! FMUs whose equations are part of the machine: ẋ = f(t, x, u), y = h(t, x, u), with their states x among z.
//!
//! Their inputs u are signals, and y are variables of signals. So a signal s(…, y) depends on the state through FMUs too:
//!
//! ```text
//! ∂s/∂z += ∂s/∂y · (∂h/∂x + ∂h/∂u ∂u/∂z)        ∂s/∂q += ∂s/∂y · ∂h/∂u · ∂u/∂q
//! ```
//!
//! An indicator keeps its sign during a step, which is the mode of its slot. Where it falls through zero is an event; who runs the FMU
//! lets it do what it does there.

use super::signals::{PlacedSensor, PlacedSignal, Sensed};
use super::*;
use crate::fmu::{ABOVE, BELOW, FmuEquations, side_of_indicator};
use crate::model::Place;

/// What is computed next: a signal, or the values of an FMU.
#[derive(Clone, Copy)]
pub(super) enum SignalTurn {
    Signal(usize),
    Guest(usize),
    /// Its outputs that depend on no input, which are needed to know inputs.
    Early(usize),
}

/// What a signal depends on through FMUs.
#[derive(Clone, Default)]
pub(super) struct Through {
    /// The FMUs whose values it has, each once; whether it depends on their inputs.
    guests: Vec<(usize, bool)>,
    pub sensors: Vec<PlacedSensor>,
    pub states: Vec<usize>,
}

/// What these sensors show, and the derivatives by them and by these states.
#[derive(Default)]
pub(super) struct ThroughSlopes {
    pub sensed: Vec<Sensed>,
    pub by_sensor: Vec<f64>,
    pub by_state: Vec<f64>,
}

/// An FMU in its place.
pub(super) struct PlacedGuest {
    /// Its number in the model.
    fmu: usize,
    /// Its states among z.
    z: std::ops::Range<usize>,
    /// The signals that it is given.
    inputs: Vec<usize>,
    /// Its values among those of all: rates, outputs, indicators.
    values: std::ops::Range<usize>,
    outputs: usize,
    indicators: usize,
    /// The place of its first indicator among the modes.
    slot: usize,
    process: Option<Arc<dyn FmuEquations>>,
    /// Its values while nothing runs.
    idle: Vec<f64>,
    /// Its values that depend on no input, and inputs to ask for them with.
    free: Vec<usize>,
    starts: Vec<f64>,
}

impl PlacedGuest {
    /// Its inputs, from the values of all signals.
    fn given(&self, signals: &[f64]) -> Vec<f64> {
        self.inputs.iter().map(|k| signals[*k]).collect()
    }

    pub fn evaluate(&self, at: &Point, signals: &[f64], values: &mut [f64]) {
        let out = &mut values[self.values.clone()];
        match &self.process {
            Some(process) => process.values(at.t, &at.z[self.z.clone()], &self.given(signals), out),
            None => out.copy_from_slice(&self.idle),
        }
    }

    /// Its outputs that depend on no input.
    pub fn evaluate_early(&self, at: &Point, values: &mut [f64]) {
        let mut all = self.idle.clone();
        if let Some(process) = &self.process {
            process.values(at.t, &at.z[self.z.clone()], &self.starts, &mut all);
        }
        let out = &mut values[self.values.clone()];
        self.free.iter().for_each(|k| out[*k] = all[*k]);
    }

    /// The derivatives of rates and outputs by states and inputs.
    fn slopes(&self, at: &Point, signals: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; (self.z.len() + self.outputs) * (self.z.len() + self.inputs.len())];
        if let Some(process) = &self.process {
            process.slopes(at.t, &at.z[self.z.clone()], &self.given(signals), &mut out);
        }
        out
    }

    fn first_indicator(&self) -> usize {
        self.values.end - self.indicators
    }
}

impl Model {
    /// The first value of an FMU among those of all whose equations are part of the model.
    pub(crate) fn first_value(&self, fmu: usize) -> usize {
        self.fmus[..fmu].iter().filter_map(|f| f.resident.as_ref()).map(crate::fmu::Resident::values).sum()
    }
}

impl System {
    /// Puts FMUs in their places, and finds the order of signals and FMUs; signals are there. Their slots begin at one.
    pub(super) fn add_guests(&mut self, slot: usize) {
        let mut slot = slot;
        for (fmu, entry) in self.model.fmus.iter().enumerate() {
            let Some(resident) = &entry.resident else { continue };
            let first = self.model.first_value(fmu);
            let state = |k: usize| self.layout.states.get(self.signals.first_block + k).map_or(0, |z| z.start);
            let start = state(resident.states.start);
            self.signals.guests.push(PlacedGuest {
                fmu,
                z: start..start + resident.states.len(),
                inputs: resident.given.iter().map(|(_, signal)| *signal).collect(),
                values: first..first + resident.values(),
                outputs: resident.outputs.len(),
                indicators: resident.indicators,
                slot,
                process: resident.process.clone(),
                idle: resident.idle(&entry.description.variables),
                free: (0..resident.values()).filter(|k| !resident.is_direct(*k)).collect(),
                starts: resident.given.iter().map(|(v, _)| entry.description.variables[*v].start).collect(),
            });
            slot += resident.indicators;
            self.signals.values = first + resident.values();
        }
        self.put_in_order();
        for turn in self.signals.turns.clone() {
            let SignalTurn::Signal(k) = turn else { continue };
            let through = self.through(&self.signals.list[k]);
            let s = &mut self.signals.list[k];
            s.through = through;
            (s.bodies, s.fast) = (s.touched(false), s.touched(true));
        }
    }

    /// Signals as soon as the FMUs in them are known, FMUs in an order in which their inputs are.
    fn put_in_order(&mut self) {
        // the reader refuses loops
        let order = self.model.order_of_residents().unwrap_or_else(|rest| rest);
        let given = self.signals.guests.iter().flat_map(|g| &g.inputs).flat_map(|s| &self.signals.list[*s].guests);
        let mut early: Vec<usize> = given.filter(|v| !self.is_direct(**v)).map(|v| self.guest_of_value(*v)).collect();
        early.sort_unstable();
        early.dedup();
        let known = |s: &PlacedSignal, done: &[usize]| {
            let is_known = |v: usize| {
                let guest = self.guest_of_value(v);
                done.contains(&guest) || early.contains(&guest) && !self.is_direct(v)
            };
            s.guests.iter().all(|v| is_known(*v))
        };
        let mut turns: Vec<SignalTurn> = early.iter().map(|k| SignalTurn::Early(*k)).collect();
        let mut done = Vec::new();
        let mut waiting: Vec<usize> = (0..self.signals.list.len()).collect();
        for next in order.iter().map(Some).chain([None]) {
            waiting.retain(|k| {
                let now = known(&self.signals.list[*k], &done);
                turns.extend(now.then_some(SignalTurn::Signal(*k)));
                !now
            });
            if let Some(guest) = next.and_then(|fmu| self.signals.guests.iter().position(|g| g.fmu == *fmu)) {
                turns.push(SignalTurn::Guest(guest));
                done.push(guest);
            }
        }
        self.signals.turns = turns;
    }

    fn guest_of_value(&self, value: usize) -> usize {
        self.signals.guests.iter().position(|g| g.values.contains(&value)).unwrap_or(usize::MAX)
    }

    /// Whether a value of an FMU follows its inputs at once.
    fn is_direct(&self, value: usize) -> bool {
        let guest = self.signals.guests.get(self.guest_of_value(value));
        guest.is_none_or(|g| !g.free.contains(&(value - g.values.start)))
    }

    /// What a signal depends on through FMUs, in the order of [`System::slopes_through`].
    fn through(&self, s: &PlacedSignal) -> Through {
        let mut through = Through::default();
        for value in &s.guests {
            let number = self.guest_of_value(*value);
            let Some(guest) = self.signals.guests.get(number) else { continue };
            if through.guests.iter().any(|(known, _)| *known == number) {
                continue;
            }
            let direct = s.guests.iter().any(|v| guest.values.contains(v) && self.is_direct(*v));
            through.guests.push((number, direct));
            if let Some(resident) = &self.model.fmus[guest.fmu].resident {
                through.states.extend(resident.states.clone());
            }
            for input in guest.inputs.iter().filter(|_| direct).map(|k| &self.signals.list[*k]) {
                through.sensors.extend(input.sensors.iter().chain(&input.through.sensors));
                through.states.extend(input.states.iter().chain(&input.through.states));
            }
        }
        through
    }

    /// The derivatives of a signal through FMUs, from those by their values.
    pub(super) fn slopes_through(&self, s: &PlacedSignal, by_value: &[f64], at: &Point, w: &Realized) -> ThroughSlopes {
        let mut out = ThroughSlopes::default();
        for (guest, direct) in s.through.guests.iter().map(|(k, direct)| (&self.signals.guests[*k], *direct)) {
            let slopes = guest.slopes(at, &w.signals[self.signals.inputs..]);
            let (n, width) = (guest.z.len(), guest.z.len() + guest.inputs.len());
            let mut row = vec![0.0; width];
            for (value, by) in s.guests.iter().zip(by_value).filter(|(v, _)| guest.values.contains(v)) {
                let first = (value - guest.values.start) * width;
                let of_value = slopes.get(first..first + width).unwrap_or_default();
                row.iter_mut().zip(of_value).for_each(|(row, slope)| *row += by * slope);
            }
            out.by_state.extend_from_slice(&row[..n]);
            for (input, by) in guest.inputs.iter().zip(&row[n..]).filter(|_| direct) {
                let input = &self.signals.list[*input];
                let known = self.signal_slopes(input, at, w);
                let sensors = input.sensors.len();
                out.sensed.extend_from_slice(&known.sensed[..sensors]);
                out.sensed.extend_from_slice(&known.through.sensed);
                let by_sensor = known.slopes[..sensors].iter().chain(&known.through.by_sensor);
                out.by_sensor.extend(by_sensor.map(|x| by * x));
                let by_state = known.slopes[sensors..][..input.states.len()].iter().chain(&known.through.by_state);
                out.by_state.extend(by_state.map(|x| by * x));
            }
        }
        out
    }

    /// The outputs of an FMU.
    pub(super) fn outputs_of_guest<'a>(&self, fmu: usize, w: &Realized<'a>) -> &'a [f64] {
        let guest = self.signals.guests.iter().find(|g| g.fmu == fmu);
        let range = guest.map(|g| g.first_indicator() - g.outputs..g.first_indicator());
        range.and_then(|range| w.guests.get(range)).unwrap_or_default()
    }

    /// What an FMU is given at a realized point.
    pub(super) fn inputs_of_guest(&self, fmu: usize, at: &Point, w: &mut Workspace) -> Vec<f64> {
        self.refresh_signals(at, w);
        let guest = self.signals.guests.iter().find(|g| g.fmu == fmu);
        guest.map_or_else(Vec::new, |g| g.given(&realized(w).signals[self.signals.inputs..]))
    }

    /// The states of an FMU among z, and the places of its indicators among the modes.
    pub fn places_of_fmu(&self, fmu: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let guest = self.signals.guests.iter().find(|g| g.fmu == fmu);
        guest.map_or((0..0, 0..0), |g| (g.z.clone(), g.slot..g.slot + g.indicators))
    }

    /// Who a state of the user belongs to: an FMU, if it is one of its.
    pub(super) fn place_of_state(&self, state: usize) -> Place {
        let owns = |f: &crate::model::FmuEntry| f.resident.as_ref().is_some_and(|r| r.states.contains(&state));
        self.model.fmus.iter().position(owns).map_or(Place::State(state), Place::Fmu)
    }
}

/// Events: indicators.
impl System {
    /// How many indicators there are.
    pub(super) fn indicators(&self) -> usize {
        self.signals.guests.iter().map(|g| g.indicators).sum()
    }

    /// The indicators behind all other switch functions: their value, and their slot.
    fn all_indicators(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.signals.guests.iter().flat_map(|g| (0..g.indicators).map(|k| (g.first_indicator() + k, g.slot + k)))
    }

    pub(super) fn indicator_values(&self, at: &Point, w: &Realized, out: &mut [f64]) {
        let first = out.len().saturating_sub(self.indicators());
        for (out, (value, slot)) in out[first..].iter_mut().zip(self.all_indicators()) {
            let value = w.guests[value];
            *out = match at.charts.modes.get(slot).copied().unwrap_or(BY_VALUE) {
                ABOVE => value,
                BELOW => -value,
                _ => value.abs(),
            };
        }
    }

    pub(super) fn indicator_modes(&self, w: &Realized) -> Vec<Mode> {
        self.all_indicators().map(|(value, _)| side_of_indicator(w.guests[value])).collect()
    }

    /// The FMU and the slot of the indicator that is a switch function.
    pub(super) fn indicator(&self, switch: usize) -> Option<(usize, usize)> {
        let others = self.switches() - self.indicators();
        let (_, slot) = self.all_indicators().nth(switch.checked_sub(others)?)?;
        Some((self.guest_of_slot(slot)?, slot))
    }

    pub(super) fn guest_of_slot(&self, slot: usize) -> Option<usize> {
        let guest = self.signals.guests.iter().find(|g| (g.slot..g.slot + g.indicators).contains(&slot))?;
        Some(guest.fmu)
    }

    pub(super) fn cross_indicator(&self, fmu: usize, slot: usize, at: &Point) -> Crossing {
        let below = at.charts.modes.get(slot) == Some(&BELOW);
        let subject = self.model.subject(Place::Fmu(fmu));
        Crossing { slot, mode: if below { ABOVE } else { BELOW }, subject, what: "has an event" }
    }
}
