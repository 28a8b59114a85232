//! An FMU as a part: it is given the loads of its ports, holds them over a window, and tells how its ports moved.
//!
//! One that can go back to a state tries a window as often as it takes. One that cannot crosses it once.

use crate::fmu_port::{FmuPort, FmuPorts, SaidPort, channels};
use crate::port::{PortMotion, WIDTH, displacement, twist};
use crate::subdomain::{Admittance, Description, PartError, PartResponse, Subdomain, Window};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::fmu::wire::Setting;
use bellcrank_model::fmu::{Archive, Causality, Description as Fmu};
use bellcrank_model::model::Space;
use bellcrank_model::read::lasting_unit;
use bellcrank_model::snapshot;
use bellcrank_solve::guest::{Guest, GuestSetup};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Size of a finite difference, as a fraction of the load, as for parts with their own solvers.
const DIFFERENCE: f64 = 1e-2;

/// The window in which accelerations are measured that an FMU does not tell, in s.
const GLANCE: f64 = 1e-5;

/// Steps that differ by less, as a fraction of themselves, are the same.
const SAME: f64 = 1e-9;

/// An FMU that was opened, with its ports, before it runs.
#[derive(Clone)]
pub struct FmuFile {
    setup: GuestSetup,
    ports: FmuPorts,
    space: Space,
}

/// What an assembly says of an FMU.
#[derive(Clone, Debug, Default)]
pub(crate) struct FmuEntry {
    pub ports: Vec<SaidPort>,
    pub set: Vec<(String, Setting)>,
    pub patience: f64,
    pub memory: u64,
}

impl FmuFile {
    /// Opens the file of a part.
    pub(crate) fn open(name: &str, path: &Path, entry: FmuEntry) -> Result<FmuFile, String> {
        let shown = path.display();
        let told = |why: String| format!("part `{name}`: `{shown}` {why}");
        let bytes = bellcrank_model::file::bounded::read(path, bellcrank_model::file::bounded::LARGEST)
            .map_err(|e| format!("part `{name}`: cannot read `{shown}`: {e}"))?;
        let archive = Archive::new(bytes).map_err(told)?;
        let description = Fmu::of(&archive).map_err(told)?;
        let (mut ports, space) = FmuPorts::of(&description, entry.ports).map_err(told)?;
        // all that it tells is recorded
        for number in channels(&description) {
            if !ports.outputs.contains(&number) {
                ports.outputs.push(number);
            }
        }
        let mut set = Vec::new();
        for (key, value) in entry.set {
            let number = description.find(&key, Causality::Parameter).map_err(|(why, near)| {
                told(format!("{why}{}", near.map_or(String::new(), |n| format!("\nhelp: {n}"))))
            })?;
            set.push((number, value));
        }
        let setup = GuestSetup {
            name: name.to_string(),
            archive: Arc::new(archive),
            description: Arc::new(description),
            inputs: ports.inputs.clone(),
            outputs: ports.outputs.clone(),
            set,
            patience: entry.patience,
            memory: entry.memory,
        };
        Ok(FmuFile { setup, ports, space })
    }

    /// Plane or space.
    pub fn space(&self) -> Space {
        self.space
    }

    /// Whether it can go back to a state.
    pub fn goes_back(&self) -> bool {
        self.setup.description.goes_back
    }

    /// Its ports, and where they are at the start.
    pub fn motions(&self) -> Result<Vec<(String, PortMotion)>, String> {
        let part = FmuPart::new(self.clone(), 1e-6).map_err(|e| e.to_string())?;
        let motions = part.motions(&part.values);
        Ok(self.ports.list.iter().map(|p| p.name.clone()).zip(motions).collect())
    }
}

/// An FMU that runs as a part.
pub struct FmuPart {
    description: Description,
    file: FmuFile,
    guest: Guest,
    channels: Vec<Channel>,
    /// The committed time.
    time: f64,
    /// The size of its windows, if they must not differ.
    step: Option<f64>,
    /// What it told last at the committed time, and at the end of the last attempt.
    values: Vec<f64>,
    tried: Option<(f64, Vec<f64>)>,
}

/// What an FMU needs to go on from a committed time.
#[derive(Serialize, Deserialize)]
struct Saved {
    time: f64,
    inputs: Vec<f64>,
    state: Vec<u8>,
}

/// The kind of its stored states, in messages.
const KIND: &str = "state of an FMU";

impl FmuPart {
    /// Starts the process of an FMU at t = 0, with a relative tolerance for its solver.
    pub fn new(file: FmuFile, tolerance: f64) -> Result<FmuPart, PartError> {
        let name = file.setup.name.clone();
        let failed = |why: String| PartError { part: name.clone(), why: format!("its FMU {why}") };
        let rest = vec![0.0; file.setup.inputs.len()];
        let (guest, values) = Guest::start(&file.setup, &rest, [0.0, 0.0], tolerance).map_err(failed)?;
        let description = Description {
            name: name.clone(),
            space: file.space,
            ports: file.ports.list.iter().map(|p| p.name.clone()).collect(),
            in_step: false,
        };
        let channel = |n: &usize| {
            let variable = &file.setup.description.variables[*n];
            Channel { name: variable.name.clone(), unit: lasting_unit(&variable.unit) }
        };
        let channels = file.setup.outputs.iter().map(channel).collect();
        let mut part = FmuPart { description, file, guest, channels, time: 0.0, step: None, values, tried: None };
        part.keep()?;
        Ok(part)
    }

    fn error(&self, why: impl ToString) -> PartError {
        PartError { part: self.description.name.clone(), why: format!("its FMU {}", why.to_string()) }
    }

    fn goes_back(&self) -> bool {
        self.file.goes_back()
    }

    fn keep(&mut self) -> Result<(), PartError> {
        if self.goes_back() { self.guest.keep().map_err(|why| self.error(why)) } else { Ok(()) }
    }

    /// The values of the inputs under loads of the ports.
    fn inputs(&self, loads: &[f64]) -> Result<Vec<f64>, PartError> {
        let ports = &self.file.ports.list;
        if loads.len() != WIDTH * ports.len() || loads.iter().any(|x| !x.is_finite()) {
            return Err(self.error(format!(
                "needs {} finite numbers as loads of its {} ports, found {}",
                WIDTH * ports.len(),
                ports.len(),
                loads.len()
            )));
        }
        let mut inputs = vec![0.0; self.file.ports.inputs.len()];
        let put = ports.iter().zip(loads.chunks_exact(WIDTH)).try_for_each(|(port, load)| port.put(load, &mut inputs));
        put.map_err(|why| self.error(why))?;
        Ok(inputs)
    }

    /// Crosses a time from the committed one under loads.
    fn cross(&mut self, h: f64, loads: &[f64]) -> Result<Vec<f64>, PartError> {
        let inputs = self.inputs(loads)?;
        let (t, back) = (self.time, self.goes_back());
        self.guest.cross(t, h, &inputs, back).map_err(|why| self.error(format!("at t = {t} s {why}")))
    }

    fn motions(&self, values: &[f64]) -> Vec<PortMotion> {
        self.file.ports.list.iter().map(|port| port.motion(values)).collect()
    }

    /// The motion at the committed time. Accelerations that are not told are means over a short time.
    fn look(&mut self, loads: &[f64]) -> Result<Vec<PortMotion>, PartError> {
        self.values = self.cross(0.0, loads)?;
        let mut now = self.motions(&self.values);
        if self.goes_back() && !self.file.ports.list.iter().all(FmuPort::accelerates) {
            let reached = self.cross(GLANCE, loads)?;
            for (now, then) in now.iter_mut().zip(self.motions(&reached)) {
                now.acceleration = (then.velocity - now.velocity) * (1.0 / GLANCE);
                now.spin_rate = (then.spin - now.spin) * (1.0 / GLANCE);
            }
        }
        Ok(now)
    }

    /// How the motion at the end of a window follows the held loads, by differences.
    fn admittance(&mut self, h: f64, loads: &[f64]) -> Result<Admittance, PartError> {
        let n = loads.len();
        let reached = self.cross(h, loads)?;
        let at = self.motions(&reached);
        let size = DIFFERENCE * (1.0 + loads.iter().fold(0.0f64, |m, x| m.max(x.abs())));
        let mut y = Admittance { velocity: Matrix::zeros(n, n), ..Admittance::of_accelerations(Matrix::zeros(n, n)) };
        let free: Vec<usize> = (0..n).filter(|j| self.file.ports.list[j / WIDTH].takes(j % WIDTH)).collect();
        for j in free {
            let mut changed = loads.to_vec();
            changed[j] += size;
            let reached = self.cross(h, &changed)?;
            let moved = self.motions(&reached);
            for (y, by) in [(&mut y.place, displacement(&moved, &at)), (&mut y.velocity, twist(&moved, &at))] {
                by.iter().enumerate().for_each(|(i, x)| *y.at_mut(i, j) = x / size);
            }
        }
        Ok(y)
    }

    /// Refuses a window of another size than the first, and one that its inner steps do not fill.
    fn check_step(&mut self, h: f64) -> Result<(), PartError> {
        let description = &self.file.setup.description;
        let (inner, varies) = (description.inner_step, description.varies_step);
        let differs = |a: f64, b: f64| (a - b).abs() > SAME * b;
        if let Some(inner) = inner.filter(|inner| differs(h, (h / inner).round().max(1.0) * inner)) {
            return Err(self.error(format!(
                "takes steps of {inner} s inside, and a window of {h} s is no multiple\nhelp: choose --window so that it is"
            )));
        }
        match self.step {
            Some(step) if !varies && differs(h, step) => Err(self.error(format!(
                "takes steps of one size alone, and a window of {h} s follows one of {step} s\n\
                 help: use windows of one size, which fill the run, and no --rtol"
            ))),
            _ => {
                self.step.get_or_insert(h);
                Ok(())
            }
        }
    }
}

impl Subdomain for FmuPart {
    fn description(&self) -> &Description {
        &self.description
    }

    fn goes_back(&self) -> bool {
        self.file.goes_back()
    }

    fn accelerates(&self) -> bool {
        self.goes_back() || self.file.ports.list.iter().all(FmuPort::accelerates)
    }

    fn begin(&mut self, loads: &[f64]) -> Result<PartResponse, PartError> {
        let ports = self.look(loads)?;
        Ok(PartResponse { ports, admittance: None, error: 0.0, rough: false })
    }

    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        _: &[f64],
        admittance: bool,
    ) -> Result<PartResponse, PartError> {
        let h = window.to - self.time;
        self.check_step(h)?;
        if self.tried.is_some() && !self.goes_back() {
            return Err(self.error("cannot go back to the start of a window (`canGetAndSetFMUState`)"));
        }
        let admittance = match admittance && self.goes_back() {
            true => Some(self.admittance(h, loads)?),
            false => None,
        };
        let values = self.cross(h, loads)?;
        let ports = self.motions(&values);
        self.tried = Some((window.to, values));
        Ok(PartResponse { ports, admittance, error: 0.0, rough: false })
    }

    /// Its clock is its own: what is behind a breakpoint of others begins with its next window.
    fn commit(&mut self) -> Result<(), PartError> {
        (self.time, self.values) = self.tried.take().ok_or_else(|| self.error("has nothing to commit"))?;
        self.keep()
    }

    fn save(&mut self) -> Result<(), PartError> {
        Err(self.error("is saved as a stored state alone"))
    }

    fn restore(&mut self) -> Result<(), PartError> {
        Err(self.error("is saved as a stored state alone"))
    }

    fn channels(&self) -> Vec<Channel> {
        self.channels.clone()
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        out.extend(&self.values);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<u8>, PartError> {
        if !self.file.setup.description.keeps_state {
            return Err(self.error("cannot write its state (`canSerializeFMUState`)"));
        }
        // the inputs of the last look are part of what it saves
        let inputs = vec![0.0; self.file.ports.inputs.len()];
        self.guest.cross(self.time, 0.0, &inputs, true).map_err(|why| self.error(why))?;
        let state = self.guest.save().map_err(|why| self.error(why))?;
        Ok(snapshot::encode(KIND, &Saved { time: self.time, inputs, state }))
    }

    fn set_state(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        let found = snapshot::decode(KIND, bytes);
        let Saved { time, inputs, state } =
            found.map_err(|why| self.error(format!("has a stored state that {why}")))?;
        if inputs.len() != self.file.ports.inputs.len() {
            return Err(self.error("has a stored state that belongs to another one"));
        }
        self.guest.restore(&state, &inputs).map_err(|why| self.error(why))?;
        (self.time, self.tried) = (time, None);
        self.keep()
    }
}
