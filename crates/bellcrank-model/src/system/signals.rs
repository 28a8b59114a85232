//! Signals: numbers that are computed from the state, for forces and for states of the user.
//!
//! A signal is s = f(t, u, x(q), ẋ(q, v), z) with sensors x. Forces know it as one more input, and tell how their loads change with it;
//! here its gradients are joined to that:
//!
//! ```text
//! ∂F/∂q += ∂F/∂s · Σ ∂f/∂x ∂x/∂q        ∂F/∂z += ∂F/∂s · ∂f/∂z
//! ```

use super::guests::{PlacedGuest, SignalTurn, Through, ThroughSlopes};
use super::*;
use crate::file::Jet;
use crate::file::expression::{Bends, Branches};
use crate::forces::MAX_STATES;
use crate::frames::angle_of;
use crate::model::{Sense, Sensor};
use crate::subject::Place;
use bellcrank_math::Vec3;

/// The most sensors and states of one signal.
pub const MOST_SENSED: usize = 32;

/// A signal in its places.
pub(super) struct PlacedSignal {
    value: crate::file::Expression,
    bends: Bends,
    pub sensors: Vec<PlacedSensor>,
    /// The user's states in it.
    pub states: Vec<usize>,
    /// Values of FMUs in it, among those of all.
    pub guests: Vec<usize>,
    /// What it depends on through these.
    pub through: Through,
    /// The bodies that it measures, and those of whose velocities it knows.
    pub bodies: Vec<u32>,
    pub fast: Vec<u32>,
    /// Its place among the modes, if it bends.
    pub slot: Option<usize>,
    pub of: Place,
}

#[derive(Clone, Copy)]
pub(super) struct PlacedSensor {
    pub sensor: Sensor,
    pub ends: [SystemEnd; 2],
    motion: Motion,
    angle: u32,
}

/// The signals of a system, and who uses them.
#[derive(Default)]
pub(super) struct Signals {
    pub list: Vec<PlacedSignal>,
    /// Force and signal, for each that a force uses.
    pub uses: Vec<(u32, u32)>,
    /// The first block of the user's states among all.
    pub first_block: usize,
    /// How many inputs come before the signals.
    pub inputs: usize,
    /// FMUs whose equations are part of the machine, and how many values they have.
    pub guests: Vec<PlacedGuest>,
    pub values: usize,
    /// The order in which all of this is computed.
    pub turns: Vec<SignalTurn>,
}

/// What a sensor shows, with its derivatives as forms on the motion of its ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Sensed {
    value: f64,
    by_displacement: [Covector; 2],
    by_twist: [Covector; 2],
}

/// What all sensors of a signal show, and ∂f/∂ of these, of the states and of the values of FMUs; then the same through FMUs.
pub(super) struct SensorSlopes {
    pub sensed: [Sensed; MOST_SENSED],
    pub slopes: [f64; MOST_SENSED],
    pub through: ThroughSlopes,
}

impl PlacedSignal {
    /// The bodies whose coordinates or velocities it depends on.
    fn bodies(&self, wrt: Unknown) -> &[u32] {
        if wrt == Unknown::V { &self.fast } else { &self.bodies }
    }

    /// How many variables it has: time, inputs, sensors, states and values of FMUs.
    pub fn variables(&self, inputs: usize) -> usize {
        1 + inputs + self.sensors.len() + self.states.len() + self.guests.len()
    }

    /// All sensors and states that it depends on, also through FMUs.
    fn all_sensors(&self) -> impl Iterator<Item = &PlacedSensor> {
        self.sensors.iter().chain(&self.through.sensors)
    }

    fn all_states(&self) -> impl Iterator<Item = &usize> {
        self.states.iter().chain(&self.through.states)
    }

    /// The bodies that it depends on; only those on whose velocities.
    pub fn touched(&self, fast: bool) -> Vec<u32> {
        let chosen = self.all_sensors().filter(|s| !fast || s.sensor.rate);
        let mut bodies: Vec<u32> = chosen.flat_map(|s| s.ends).map(|e| e.body).filter(|b| *b != GROUND).collect();
        bodies.sort_unstable();
        bodies.dedup();
        bodies
    }

    /// What it is computed by; its first variables are time and inputs.
    pub fn value(&self) -> &crate::file::Expression {
        &self.value
    }

    /// Its branches in a mode.
    fn branches(mode: Mode) -> Option<Branches> {
        mode.checked_sub(1)
    }
}

impl System {
    /// Puts the signals of the model in their places; forces and their states are there.
    pub(super) fn add_signals(&mut self, slots: usize) {
        let inputs = self.model.inputs.len();
        self.signals = Signals { inputs, first_block: self.layout.states.len(), ..Signals::default() };
        for _ in &self.model.states {
            let z = self.layout.nz();
            self.layout.states.push(z..z + 1);
        }
        let mut next = slots..; // behind those of the forces
        for number in 0..self.model.signals.len() {
            let signal = self.model.signals[number].clone();
            let sensors: Vec<PlacedSensor> = signal.sensors.iter().map(|s| self.place_sensor(*s)).collect();
            let slot = if signal.bends.count() > 0 { next.next() } else { None };
            let (value, bends, states, of) = (signal.value, signal.bends, signal.states, signal.of);
            let guests = signal.guests.iter().map(|[fmu, value]| self.model.first_value(*fmu) + value).collect();
            let (through, bodies, fast) = Default::default();
            self.signals.list.push(PlacedSignal {
                value,
                bends,
                sensors,
                states,
                guests,
                through,
                bodies,
                fast,
                slot,
                of,
            });
            let variable = 1 + inputs + number;
            let users =
                self.forces.iter().enumerate().filter(|(_, f)| f.force.courses().iter().any(|e| e.uses(variable)));
            let users: Vec<(u32, u32)> = users.map(|(f, _)| (f as u32, number as u32)).collect();
            self.signals.uses.extend(users);
        }
        self.add_guests(next.start);
    }

    fn place_sensor(&mut self, sensor: Sensor) -> PlacedSensor {
        let ends = sensor.ends.map(|end| place(&end));
        let (motion, angle) = match sensor.sense {
            Sense::Joint(joint, which) => {
                let coordinate = self.coordinates.iter().filter(|c| c.joint == joint).nth(which).copied();
                let coordinate = coordinate.expect("the reader measures coordinates that joints have");
                if let Some(angle) = self.turns.angles.get_mut(coordinate.angle as usize) {
                    angle.acts = true;
                    self.turns.act = true;
                }
                (coordinate.motion, coordinate.angle)
            }
            Sense::Along(axis) | Sense::Spin(axis) => (Motion::Translate(axis), NO_ANGLE),
            Sense::Angle => (Motion::Rotate(2), NO_ANGLE),
        };
        PlacedSensor { sensor, ends, motion, angle }
    }

    fn sense(&self, s: &PlacedSensor, at: &Point, w: &Realized, slopes: bool) -> Sensed {
        let ends = s.ends.map(|e| self.frame(&e, w, Some(&at.v)));
        let form = |axis: Vec3| [Covector::default(), Covector::new(Vec3::ZERO, axis)];
        match s.sensor.sense {
            // the first end is the ground, which may have axes of its own
            Sense::Spin(axis) => {
                let axis = ends[0].axis(axis);
                Sensed { value: axis.dot(ends[1].w), by_twist: form(axis), ..Sensed::default() }
            }
            Sense::Angle => {
                let coordinate = self.plane_angle(s.ends[1].body as usize).map_or(f64::NAN, |k| at.q[k]);
                let value = coordinate - angle_of(&ends[0].r);
                Sensed { value, by_displacement: form(Vec3::Z), ..Sensed::default() }
            }
            Sense::Joint(..) | Sense::Along(_) => {
                let seen = Frames { t: at.t, ends: &ends, near: Self::near(s.angle, w) };
                let gradient = s.motion.gradient(&seen);
                let pair = [gradient[0], gradient[1]];
                if !s.sensor.rate {
                    return Sensed { value: s.motion.value(&seen), by_displacement: pair, ..Sensed::default() };
                }
                let value = pair[0].on(&ends[0]) + pair[1].on(&ends[1]);
                let mut drift = [Covector::default(); 2];
                if slopes {
                    let mut unit = Stiffness::default();
                    s.motion.curvature(&seen, 1.0, &mut unit);
                    drift.copy_from_slice(&unit.contract(&ends)[..2]);
                }
                Sensed { value, by_displacement: drift, by_twist: pair }
            }
        }
    }

    /// The value of a signal on its branches; shows the distances from their ends.
    pub(super) fn signal_value(
        &self,
        s: &PlacedSignal,
        on: Option<Branches>,
        at: &Point,
        w: &Realized,
        see: impl FnMut(usize, Jet),
    ) -> f64 {
        let mut sensed = [0.0; MOST_SENSED];
        let shown = s
            .sensors
            .iter()
            .map(|x| self.sense(x, at, w, false).value)
            .chain(s.states.iter().map(|k| self.state(*k, at)))
            .chain(s.guests.iter().map(|k| w.guests.get(*k).copied().unwrap_or(f64::NAN)));
        sensed.iter_mut().zip(shown).for_each(|(x, shown)| *x = shown);
        let variable = |v: usize| self.variable(v, at, &sensed);
        s.value
            .follow(&s.bends, on, |v| if v == 0 { Jet::variable(at.t) } else { Jet::constant(variable(v)) }, see)
            .value
    }

    fn variable(&self, v: usize, at: &Point, sensed: &[f64]) -> f64 {
        match v.checked_sub(1 + self.signals.inputs) {
            Some(k) => sensed.get(k).copied().unwrap_or(f64::NAN),
            None if v == 0 => at.t,
            None => at.charts.inputs.get(v - 1).copied().unwrap_or(f64::NAN),
        }
    }

    /// The values of all variables of a signal.
    pub(super) fn signal_variables(&self, s: &PlacedSignal, at: &Point, w: &Realized) -> impl Iterator<Item = f64> {
        let known = std::iter::once(at.t).chain((1..=self.signals.inputs).map(|v| self.variable(v, at, &[])));
        let sensed = s.sensors.iter().map(|x| self.sense(x, at, w, false).value);
        let guests = s.guests.iter().map(|k| w.guests.get(*k).copied().unwrap_or(f64::NAN));
        known.chain(sensed).chain(s.states.iter().map(|k| self.state(*k, at))).chain(guests)
    }

    /// The value of a state of the user.
    pub(super) fn state(&self, number: usize, at: &Point) -> f64 {
        at.z[self.layout.states[self.signals.first_block + number].start]
    }

    pub(super) fn signal_mode(&self, s: &PlacedSignal, at: &Point) -> Option<Branches> {
        let mode = s.slot.and_then(|slot| at.charts.modes.get(slot).copied());
        PlacedSignal::branches(mode.unwrap_or(BY_VALUE))
    }

    pub(super) fn signal_slopes(&self, s: &PlacedSignal, at: &Point, w: &Realized) -> SensorSlopes {
        let (sensed, slopes) = ([Sensed::default(); MOST_SENSED], [0.0; MOST_SENSED]);
        let mut out = SensorSlopes { sensed, slopes, through: ThroughSlopes::default() };
        for (sensed, sensor) in out.sensed.iter_mut().zip(&s.sensors) {
            *sensed = self.sense(sensor, at, w, true);
        }
        let mut values = out.sensed.map(|x| x.value);
        values.iter_mut().skip(s.sensors.len()).zip(&s.states).for_each(|(x, k)| *x = self.state(*k, at));
        let own = s.sensors.len() + s.states.len();
        values.iter_mut().skip(own).zip(&s.guests).for_each(|(x, k)| *x = w.guests[*k]);
        let on = self.signal_mode(s, at);
        for k in 0..own + s.guests.len() {
            let by = 1 + self.signals.inputs + k;
            let variable = |v: usize| {
                let x = self.variable(v, at, &values);
                if v == by { Jet::variable(x) } else { Jet::constant(x) }
            };
            out.slopes[k] = s.value.follow(&s.bends, on, variable, |_, _| {}).rate;
        }
        if !s.guests.is_empty() {
            out.through = self.slopes_through(s, &out.slopes[own..own + s.guests.len()], at, w);
        }
        out
    }

    /// row += c ∂s/∂q or ∂s/∂v of one body.
    fn add_signal_row(
        &self,
        c: f64,
        s: &PlacedSignal,
        known: &SensorSlopes,
        wrt: Unknown,
        body: u32,
        at: &Point,
        w: &Realized,
        row: &mut [f64],
    ) {
        let v = &at.v[self.layout.bodies[body as usize].clone()];
        let frame = &w.bodies[body as usize];
        let through = &known.through;
        let sensed = known.sensed[..s.sensors.len()].iter().chain(&through.sensed);
        let slopes = known.slopes[..s.sensors.len()].iter().chain(&through.by_sensor);
        for ((sensor, sensed), slope) in s.all_sensors().zip(sensed).zip(slopes.copied()) {
            for (k, end) in sensor.ends.iter().enumerate().filter(|(_, e)| e.body == body) {
                each!(&self.bodies[body as usize], b => if wrt == Unknown::V {
                    b.pull(frame, &end.on, sensed.by_twist[k], c * slope, row);
                } else {
                    b.pull(frame, &end.on, sensed.by_displacement[k], c * slope, row);
                    b.twist_stiffness(frame, &end.on, v, sensed.by_twist[k], c * slope, row);
                });
            }
        }
    }

    /// Computes all signals of a point, behind its inputs, and what FMUs make of them.
    pub(super) fn refresh_signals(&self, at: &Point, w: &mut Workspace) {
        if self.signals.turns.is_empty() {
            return;
        }
        let inputs = self.signals.inputs;
        let (SystemCache { bodies, near, gap, signals, guests, .. }, jacobian) = w.parts();
        signals.clear();
        signals.extend_from_slice(&at.charts.inputs);
        signals.resize(inputs + self.signals.list.len(), f64::NAN);
        guests.resize(self.signals.values, f64::NAN);
        for turn in &self.signals.turns {
            match *turn {
                SignalTurn::Signal(k) => {
                    let seen = Realized { bodies, near, gap, jacobian, signals: &[], guests };
                    let s = &self.signals.list[k];
                    signals[inputs + k] = self.signal_value(s, self.signal_mode(s, at), at, &seen, |_, _| {});
                }
                SignalTurn::Early(k) => self.signals.guests[k].evaluate_early(at, guests),
                SignalTurn::Guest(k) => self.signals.guests[k].evaluate(at, &signals[inputs..], guests),
            }
        }
    }

    /// out += c φ of the user's states.
    pub(super) fn add_flow_of_signals(&self, c: f64, w: &Realized, out: &mut [f64]) {
        for (k, state) in self.model.states.iter().enumerate() {
            let z = self.layout.states[self.signals.first_block + k].start;
            out[z] += c * w.signals[self.signals.inputs + state.rate];
        }
    }
}

/// Derivatives.
impl System {
    /// The forces that use signals.
    fn uses(&self) -> impl Iterator<Item = (&PlacedForce, usize)> {
        self.signals.uses.iter().map(|&(f, s)| (&self.forces[f as usize], s as usize))
    }

    fn block_of(&self, state: usize) -> u32 {
        (self.signals.first_block + state) as u32
    }

    /// The blocks that signals add to ∂piece/∂unknown.
    pub(super) fn signal_pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        let columns = |s: usize| -> Vec<u32> {
            let signal = &self.signals.list[s];
            match wrt {
                Unknown::Q | Unknown::V => signal.bodies(wrt).to_vec(),
                Unknown::Z => signal.all_states().map(|k| self.block_of(*k)).collect(),
                _ => Vec::new(),
            }
        };
        let rows: Vec<(u32, usize)> = match piece {
            Piece::Force => {
                let ends = |f: &PlacedForce| f.ends.iter().map(|e| e.body).filter(|b| *b != GROUND).collect::<Vec<_>>();
                self.uses().flat_map(|(f, s)| ends(f).into_iter().map(move |b| (b, s))).collect()
            }
            Piece::Flow => {
                let own = self.model.states.iter().enumerate().map(|(k, state)| (self.block_of(k), state.rate));
                let lagging = self.uses().filter(|(f, _)| f.states != NO_STATES).map(|(f, s)| (f.states, s));
                own.chain(lagging).collect()
            }
            _ => Vec::new(),
        };
        rows.into_iter().flat_map(|(row, s)| columns(s).into_iter().map(move |column| (row, column))).collect()
    }

    /// The values of these blocks.
    pub(super) fn add_signal_derivative(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        at: &derivatives::At,
        out: &mut Targets,
    ) {
        let (point, w) = (at.point, at.w);
        match piece {
            Piece::Force => {
                for (f, s) in self.uses() {
                    let known = self.signal_slopes(&self.signals.list[s], point, w);
                    let frames = self.frames(&f.ends, w, Some(&point.v));
                    let loads = f.force.load_by_input(&self.seen(f, point, &frames, w), 1 + self.signals.inputs + s);
                    for (end, load) in f.ends.iter().zip(loads).filter(|(e, _)| e.body != GROUND) {
                        let mut column = [0.0; MAX_WIDTH];
                        let rows = self.width(end.body);
                        self.pull(end, w, load, c, &mut column[..rows]);
                        self.emit_products(&column[..rows], s, &known, wrt, at, out);
                    }
                }
            }
            Piece::Flow => {
                for state in &self.model.states {
                    let known = self.signal_slopes(&self.signals.list[state.rate], point, w);
                    self.emit_products(&[c], state.rate, &known, wrt, at, out);
                }
                for (f, s) in self.uses().filter(|(f, _)| f.states != NO_STATES) {
                    let known = self.signal_slopes(&self.signals.list[s], point, w);
                    let frames = self.frames(&f.ends, w, Some(&point.v));
                    let flow = f.force.flow_by_input(&self.seen(f, point, &frames, w), 1 + self.signals.inputs + s);
                    let column: [f64; MAX_STATES] = flow.map(|x| c * x);
                    let n = self.layout.states[f.states as usize].len();
                    self.emit_products(&column[..n], s, &known, wrt, at, out);
                }
            }
            _ => {}
        }
    }

    /// Adds the products of a column with the gradient of a signal, block by block.
    fn emit_products(
        &self,
        column: &[f64],
        s: usize,
        known: &SensorSlopes,
        wrt: Unknown,
        at: &derivatives::At,
        out: &mut Targets,
    ) {
        let signal = &self.signals.list[s];
        if wrt == Unknown::Z {
            let own = &known.slopes[signal.sensors.len()..][..signal.states.len()];
            for slope in own.iter().chain(&known.through.by_state) {
                out.block(column.len(), 1).iter_mut().zip(column).for_each(|(o, x)| *o += x * slope);
            }
            return;
        }
        for &body in signal.bodies(wrt) {
            let width = self.width(body);
            let mut row = [0.0; MAX_WIDTH];
            self.add_signal_row(1.0, signal, known, wrt, body, at.point, at.w, &mut row[..width]);
            for (out, x) in out.block(column.len(), width).chunks_exact_mut(width).zip(column) {
                out.iter_mut().zip(&row).for_each(|(o, r)| *o += x * r);
            }
        }
    }
}

/// Events: where signals bend.
impl System {
    /// The signals that bend, each with the number of the first of its switch functions.
    fn bending(&self) -> impl Iterator<Item = (usize, &PlacedSignal)> {
        let first = self.forces.iter().filter(|f| f.slot.is_some()).map(|f| f.force.switches()).sum();
        self.signals.list.iter().filter(|s| s.slot.is_some()).scan(first, |next, s| {
            let first = *next;
            *next += s.bends.count();
            Some((first, s))
        })
    }

    /// How many switch functions signals have.
    pub(super) fn bends(&self) -> usize {
        self.signals.list.iter().map(|s| s.bends.count()).sum()
    }

    /// The distances of all signals from the ends of their branches.
    pub(super) fn bend_values(&self, at: &Point, w: &Realized, out: &mut [f64]) {
        for (first, s) in self.bending() {
            let on = self.signal_mode(s, at);
            self.signal_value(s, on, at, w, |k, d| {
                let negative = on.map_or(d.value < 0.0, |on| on >> k & 1 == 1);
                out[first + k] = if negative { -d.value } else { d.value };
            });
        }
    }

    /// How fast the bodies turn that a signal measures.
    pub(super) fn bend_approaches(&self, at: &Point, w: &Realized, out: &mut [Approach]) {
        for (first, s) in self.bending() {
            let ends = s.sensors.iter().flat_map(|x| x.ends);
            let turning = ends.map(|e| self.frame(&e, w, Some(&at.v)).w.norm()).sum();
            out[first..first + s.bends.count()].iter_mut().for_each(|out| out.turning = turning);
        }
    }

    /// The modes that fit the present values.
    pub(super) fn bend_modes(&self, at: &Point, w: &Realized) -> Vec<Mode> {
        let mode = |(_, s): (usize, &PlacedSignal)| {
            let mut on: Branches = 0;
            self.signal_value(s, None, at, w, |k, d| on |= u8::from(d.value < 0.0) << k);
            on + 1
        };
        self.bending().map(mode).collect()
    }

    /// The signal that a switch function belongs to, and the number of its bend.
    pub(super) fn bend(&self, k: usize) -> Option<(&PlacedSignal, usize)> {
        let (first, s) = self.bending().take_while(|(first, _)| *first <= k).last()?;
        Some((s, k - first))
    }

    /// What happens at a bend: it changes to the other branch, with all that are past theirs.
    pub(super) fn cross_bend(&self, k: usize, at: &Point, w: &Realized) -> Option<Crossing> {
        let (s, bend) = self.bend(k)?;
        let old = self.signal_mode(s, at).unwrap_or(0);
        let mut new = old ^ 1 << bend;
        self.signal_value(s, Some(old), at, w, |k, d| {
            let beyond = if old >> k & 1 == 1 { d.value > 0.0 } else { d.value < 0.0 };
            if k != bend && beyond {
                new ^= 1 << k;
            }
        });
        let slot = s.slot?;
        Some(Crossing { slot, mode: new + 1, subject: self.model.subject(s.of), what: "changes its branch" })
    }
}
