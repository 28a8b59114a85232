//! A model in motion: by steps of its own for co-simulation, or by those of its importer ([`exchange`]).

pub mod exchange;

use crate::interface::{Export, Variable};
use bellcrank_model::read::Read;
use bellcrank_model::{Point, State};
use bellcrank_solve::choices::{Options, Voice};
use bellcrank_solve::engines::StepError;
use bellcrank_solve::run::{InputId, Machine, SavedState, Simulation, StartError, StepTaken};
use exchange::{Exchange, SavedExchange};

/// Times that differ by less, relative to their size, are the same: importers sum their steps.
const SAME_TIME: f64 = 1e-9;

/// The step of differences, in nominal values of what is changed. With a formula of fourth order truncation and rounding
/// are both about 1e-12.
const DIFFERENCE: f64 = 1e-3;

/// What the importer wants of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Steps.
    CoSimulation,
    /// Rates.
    ModelExchange,
}

/// What the importer says about its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Experiment {
    /// Where it begins, in s.
    pub start: f64,
    /// Where it ends, if that is known.
    pub stop: Option<f64>,
    /// The tolerance of the importer.
    pub tolerance: Option<f64>,
}

/// What a motion can go back to.
#[derive(serde::Serialize, serde::Deserialize)]
pub enum SavedMotion {
    /// Of co-simulation.
    Steps(Box<SavedState>),
    /// Of model exchange.
    Exchange(Box<SavedExchange>),
}

/// A model in motion.
pub struct Motion {
    simulation: Simulation,
    /// The channel of each output.
    channels: Vec<usize>,
    /// Inputs that were set since the last step; together they jump once.
    pending: Vec<(InputId, f64)>,
    /// Model exchange: the state is the importer's.
    exchange: Option<Exchange>,
    /// Outputs and rates of the importer's state, once they were asked for.
    values: Option<Vec<f64>>,
    rates: Option<Point>,
    /// How many events were told.
    told: usize,
}

/// An error of a step, in the words of a model file.
fn said(error: StepError) -> String {
    error.say(Voice::File)
}

fn not_started(error: StartError) -> String {
    match error {
        StartError::Step(e) => said(e),
        e => e.to_string(),
    }
}

fn options_of(read: &Read, export: &Export, experiment: Experiment) -> Result<Options, String> {
    let mut options = Options::from_settings(&read.settings).map_err(|e| e.to_string())?;
    options.coordinates = export.coordinates;
    // an importer has threads of its own, and maybe many instances
    options.resources.threads.get_or_insert(1);
    if let Some(tolerance) = experiment.tolerance.filter(|_| options.step.is_none()) {
        options.rtol = tolerance;
    }
    let end = experiment.start + options.until;
    options.until = experiment.stop.filter(|stop| stop.is_finite() && *stop > experiment.start).unwrap_or(end);
    Ok(options)
}

impl Motion {
    /// Assembles a model and gets it ready.
    pub fn new(read: Read, export: &Export, kind: Kind, experiment: Experiment) -> Result<Motion, String> {
        let options = options_of(&read, export, experiment)?;
        let (tolerance, until) = (options.rtol, options.until);
        let machine = Machine::from(read);
        let start = machine.assemble_at(experiment.start).map_err(|e| e.to_string())?;
        let simulation = Simulation::assembled(&machine, start, options).map_err(not_started)?;
        let header = simulation.header();
        let place = |name: &String| {
            let found = header.channels.iter().position(|channel| channel.name == *name);
            found.ok_or_else(|| format!("the model has no channel `{name}` with these parameters"))
        };
        let channels = export.outputs.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let sizes = simulation.sizes();
        let exchange = (kind == Kind::ModelExchange).then(|| Exchange::new(&simulation, tolerance, until));
        if kind == Kind::ModelExchange && (sizes.n, sizes.nz, sizes.switches) != (export.n, export.nz, export.switches)
        {
            return Err("the model has other states with these parameters".into());
        }
        let (pending, values, rates) = (Vec::new(), None, None);
        Ok(Motion { simulation, channels, pending, exchange, values, rates, told: 0 })
    }

    /// The present time.
    pub fn time(&self) -> f64 {
        self.exchange.as_ref().map_or_else(|| self.simulation.t(), Exchange::time)
    }

    /// Sets an input; it acts from the next look on.
    pub fn set_input(&mut self, k: usize, value: f64) {
        self.forget();
        match &mut self.exchange {
            Some(exchange) => exchange.set_input(k, value),
            None => self.pending.push((InputId(k), value)),
        }
    }

    fn forget(&mut self) {
        (self.values, self.rates) = (None, None);
    }

    /// Lets inputs act that were set.
    fn settle_inputs(&mut self) -> Result<(), String> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.forget();
        let pending = std::mem::take(&mut self.pending);
        self.simulation.set_inputs(&pending).map_err(said)
    }

    /// The state of the model, whoever moves it.
    fn state(&self) -> &State {
        self.exchange.as_ref().map_or_else(|| self.simulation.state(), Exchange::state)
    }

    /// The value of a variable that moves.
    pub fn get(&mut self, variable: Variable) -> Result<f64, String> {
        self.settle_inputs()?;
        let n = self.state().q.len();
        Ok(match variable {
            Variable::Output(k) => {
                let channel = self.channels[k];
                self.outputs()?[channel]
            }
            Variable::State(k) if k < n => self.state().q[k],
            Variable::State(k) if k < 2 * n => self.state().v[k - n],
            Variable::State(k) => self.state().z[k - 2 * n],
            Variable::Derivative(k) => {
                let rates = self.rates()?;
                [&rates.qdot, &rates.vdot, &rates.zdot].into_iter().flatten().nth(k).copied().unwrap_or(f64::NAN)
            }
            Variable::Indicator(k) => self.indicators()?[k],
            _ => self.time(),
        })
    }

    /// All channels.
    fn outputs(&mut self) -> Result<&[f64], String> {
        if self.values.is_none() {
            let values = match &self.exchange {
                Some(exchange) => self.simulation.observe_at(exchange.state()),
                None => self.simulation.observe(),
            };
            self.values = Some(values.map_err(said)?.to_vec());
        }
        Ok(self.values.as_deref().unwrap_or_default())
    }

    /// The state with its rates.
    pub fn rates(&mut self) -> Result<&Point, String> {
        self.settle_inputs()?;
        if self.rates.is_none() {
            let state = self.state().clone();
            self.rates = Some(self.simulation.rates_at(&state).map_err(said)?);
        }
        Ok(self.rates.as_ref().expect("made above"))
    }

    /// The states that an importer integrates: q, v, z.
    pub fn states(&self) -> Vec<f64> {
        let State { q, v, z, .. } = self.state();
        [&q[..], v, z].concat()
    }

    /// Their derivatives.
    pub fn derivatives(&mut self) -> Result<Vec<f64>, String> {
        let Point { qdot, vdot, zdot, .. } = self.rates()?;
        Ok([&qdot[..], vdot, zdot].concat())
    }

    fn exchange(&mut self) -> Result<(&mut Exchange, &mut Simulation), String> {
        (self.values, self.rates) = (None, None);
        let exchange = self.exchange.as_mut().ok_or("this instance was made for co-simulation: it steps itself")?;
        Ok((exchange, &mut self.simulation))
    }

    /// Sets one state.
    pub fn set_state(&mut self, k: usize, value: f64) -> Result<(), String> {
        let mut states = self.states();
        states[k] = value;
        self.set_states(&states)
    }

    /// Sets all states.
    pub fn set_states(&mut self, states: &[f64]) -> Result<(), String> {
        self.exchange()?.0.set_states(states)
    }

    /// Sets the time of the importer.
    pub fn set_time(&mut self, t: f64) -> Result<(), String> {
        self.exchange()?.0.set_time(t)
    }

    /// The event indicators.
    pub fn indicators(&mut self) -> Result<Vec<f64>, String> {
        match &mut self.exchange {
            Some(exchange) => exchange.indicators(&mut self.simulation),
            None => {
                let (state, mut values) = (self.simulation.state().clone(), Vec::new());
                self.simulation.switch_values_at(&state, &mut values).map_err(said)?;
                Ok(values.into_iter().map(exchange::finite).collect())
            }
        }
    }

    /// The importer accepted a step; whether it should enter event mode.
    pub fn completed_step(&mut self) -> Result<bool, String> {
        let (exchange, simulation) = self.exchange()?;
        exchange.completed_step(simulation)
    }

    /// What happens in event mode: whether states changed, the next event in time, and what happened.
    pub fn update(&mut self) -> Result<(bool, Option<f64>, Vec<String>), String> {
        match self.exchange {
            Some(_) => {
                let (exchange, simulation) = self.exchange()?;
                exchange.update(simulation)
            }
            // events of co-simulation are over when a step returns
            None => Ok((false, None, Vec::new())),
        }
    }

    /// Nominal values of the states.
    pub fn nominals(&self) -> Vec<f64> {
        exchange::nominals(&self.simulation)
    }

    /// Checks where a step begins, and lets inputs act.
    pub fn begin_step(&mut self, t: f64, h: f64) -> Result<f64, String> {
        if self.exchange.is_some() {
            return Err("this instance was made for model exchange: its importer integrates".into());
        }
        let now = self.simulation.t();
        if (t - now).abs() > SAME_TIME * (1.0 + t.abs()) || !t.is_finite() {
            return Err(format!("the step begins at {t} s, but the model is at {now} s"));
        }
        if !(h >= 0.0 && h.is_finite()) {
            return Err(format!("a step cannot have the size {h} s"));
        }
        self.settle_inputs()?;
        Ok(t + h)
    }

    /// One step of the solver that does not pass a time; none if it is reached.
    pub fn step(&mut self, to: f64) -> Result<Option<StepTaken>, String> {
        self.forget();
        self.simulation.step_within(to).map_err(said)
    }

    /// What happened since the last call, in words.
    pub fn tell(&mut self) -> Vec<String> {
        let events = self.simulation.events();
        let new = events.iter().skip(self.told).map(|event| event.to_string()).collect();
        self.told = events.len();
        new
    }

    /// All that it takes to go back to here. The method begins anew, so that going on from here and coming back give the
    /// same bits.
    pub fn save(&mut self) -> Result<SavedMotion, String> {
        self.settle_inputs()?;
        Ok(match &self.exchange {
            Some(exchange) => SavedMotion::Exchange(Box::new(exchange.save())),
            None => {
                self.forget();
                SavedMotion::Steps(Box::new(self.simulation.save().map_err(said)?))
            }
        })
    }

    /// Goes back.
    pub fn restore(&mut self, saved: SavedMotion) -> Result<(), String> {
        self.forget();
        self.pending.clear();
        match (saved, &mut self.exchange) {
            (SavedMotion::Steps(saved), None) => {
                self.simulation.restore(&saved).map_err(said)?;
                self.told = self.simulation.events().len();
                Ok(())
            }
            (SavedMotion::Exchange(saved), Some(exchange)) => exchange.restore(*saved, &mut self.simulation),
            _ => Err("the FMU state is of an instance of the other kind".into()),
        }
    }

    /// ∂(unknowns)/∂(knowns) · seed at the present state, by differences along the seed:
    /// (8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12 h.
    pub fn directional(
        &mut self,
        unknowns: &[Variable],
        knowns: &[Variable],
        seed: &[f64],
    ) -> Result<Vec<f64>, String> {
        self.settle_inputs()?;
        let base = self.state().clone();
        let (n, nominals) = (base.q.len(), self.nominals());
        let mut largest = 0.0f64;
        for (known, seed) in knowns.iter().zip(seed) {
            let nominal = match *known {
                Variable::State(k) => nominals[k],
                Variable::Input(k) => base.charts.inputs[k].abs().max(1.0),
                _ => return Err("derivatives are taken along states and inputs alone".into()),
            };
            largest = largest.max(seed.abs() / nominal);
        }
        let mut sum = vec![0.0; unknowns.len()];
        if largest == 0.0 {
            return Ok(sum);
        }
        let h = DIFFERENCE / largest;
        for (factor, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
            let mut state = base.clone();
            for (known, seed) in knowns.iter().zip(seed) {
                let change = factor * h * seed;
                match *known {
                    Variable::State(k) if k < n => state.q[k] += change,
                    Variable::State(k) if k < 2 * n => state.v[k - n] += change,
                    Variable::State(k) => state.z[k - 2 * n] += change,
                    Variable::Input(k) => state.charts.inputs[k] += change,
                    _ => {}
                }
            }
            let values = self.look(&state, unknowns)?;
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        self.forget();
        Ok(sum.into_iter().map(|sum| sum / (12.0 * h)).collect())
    }

    /// Outputs and derivatives at a state.
    fn look(&mut self, state: &State, variables: &[Variable]) -> Result<Vec<f64>, String> {
        let outputs = match variables.iter().any(|v| matches!(v, Variable::Output(_))) {
            true => self.simulation.observe_at(state).map_err(said)?.to_vec(),
            false => Vec::new(),
        };
        let Point { qdot, vdot, zdot, .. } = self.simulation.rates_at(state).map_err(said)?;
        let rates = [qdot, vdot, zdot].concat();
        let value = |v: &Variable| match *v {
            Variable::Output(k) => Ok(outputs[self.channels[k]]),
            Variable::Derivative(k) => Ok(rates[k]),
            _ => Err("there are derivatives of outputs and of derivatives alone".to_string()),
        };
        variables.iter().map(value).collect()
    }
}
