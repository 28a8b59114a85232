//! One instance of an FMU: what its importer has said so far, and the model in motion once it begins.

use crate::interface::{Export, Interface, Variable, token};
use crate::run::{Experiment, Kind, Motion, SavedMotion};
use bellcrank_model::file::suggest::quoted;
use bellcrank_model::read::{Read, read_text};
use bellcrank_model::snapshot;
use std::path::{Path, PathBuf};

/// How far an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Stage {
    /// Made: start values may be set.
    Made,
    /// In initialization mode.
    Initializing,
    /// It moves.
    Running,
    /// It was terminated.
    Ended,
}

/// The resources of an FMU.
struct Resources {
    /// `model.toml`, as a path: files that the model reads lie beside it.
    path: PathBuf,
    text: String,
    export: Export,
}

impl Resources {
    fn open(folder: &Path, given: &str) -> Result<Resources, String> {
        let read = |name: &str| {
            let file = folder.join(name);
            std::fs::read_to_string(&file).map_err(|e| format!("cannot read {}: {e}", file.display()))
        };
        let (text, said) = (read("model.toml")?, read("fmu.txt")?);
        let export = Export::parse(&said).ok_or("fmu.txt of the resources is damaged")?;
        if token(&text, &export.to_string()) != given {
            return Err("the model in the resources is not the one that was described: the token differs".into());
        }
        Ok(Resources { path: folder.join("model.toml"), text, export })
    }

    fn read(&self, parameters: &[(String, f64)]) -> Result<Read, String> {
        let set: Vec<String> = parameters.iter().map(|(name, value)| format!("parameter.{name}={value:?}")).collect();
        read_text(&self.path.to_string_lossy(), &self.text, &set).map_err(|report| report.to_string())
    }
}

/// All that an importer can go back to.
#[derive(serde::Serialize, serde::Deserialize)]
struct Saved {
    stage: Stage,
    experiment: Experiment,
    parameters: Vec<f64>,
    inputs: Vec<f64>,
    motion: Option<SavedMotion>,
}

/// The name of saved instances among stored values.
const KIND: &str = "FMU state";

/// A model as its importer sees it.
pub struct Instance {
    kind: Kind,
    resources: Resources,
    pub interface: Interface,
    pub stage: Stage,
    pub experiment: Experiment,
    /// Parameters and inputs as they were set.
    parameters: Vec<f64>,
    inputs: Vec<f64>,
    /// Made when it is first needed, and again when parameters or the experiment are others.
    motion: Option<Motion>,
    /// What happened since the importer was told, in words.
    pub happened: Vec<String>,
}

impl Instance {
    /// An instance of the model in a folder of resources.
    pub fn open(folder: &Path, token: &str, kind: Kind) -> Result<Instance, String> {
        let resources = Resources::open(folder, token)?;
        let kinds = resources.export.kinds;
        let offered = if kind == Kind::CoSimulation { kinds.co_simulation } else { kinds.model_exchange };
        if !offered {
            return Err(format!("this FMU was exported for the kinds {kinds} alone"));
        }
        let interface = Interface::new(&resources.read(&[])?, &resources.export);
        let mut instance = Instance {
            kind,
            resources,
            interface,
            stage: Stage::Made,
            experiment: Experiment::default(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            motion: None,
            happened: Vec::new(),
        };
        instance.reset();
        Ok(instance)
    }

    /// As it was when it was made.
    pub fn reset(&mut self) {
        self.parameters = self.interface.parameters.iter().map(|p| p.start).collect();
        self.inputs = self.interface.inputs.iter().map(|p| p.start).collect();
        (self.stage, self.experiment, self.motion) = (Stage::Made, Experiment::default(), None);
        self.happened.clear();
    }

    /// Says where the run begins and ends; before it begins.
    pub fn set_up(&mut self, experiment: Experiment) -> Result<(), String> {
        let Experiment { start, stop, tolerance } = experiment;
        let positive = |x: Option<f64>| x.is_none_or(|x| x.is_finite() && x > 0.0);
        if !start.is_finite() || stop.is_some_and(|stop| stop.is_nan() || stop < start) || !positive(tolerance) {
            return Err(format!("a run from {start} to {stop:?} with the tolerance {tolerance:?} makes no sense"));
        }
        if self.experiment != experiment {
            (self.experiment, self.motion) = (experiment, None);
        }
        Ok(())
    }

    /// The model in motion.
    pub fn motion(&mut self) -> Result<&mut Motion, String> {
        if self.motion.is_none() {
            let named = self.interface.parameters.iter().zip(&self.parameters);
            let set = named.filter(|(p, value)| !p.calculated && p.start != **value);
            let set: Vec<(String, f64)> = set.map(|(p, value)| (p.name.clone(), *value)).collect();
            let read = self.resources.read(&set)?;
            // those that follow from others have other values now
            self.parameters = read.parameters.list().iter().map(|p| p.value).collect();
            let mut motion = Motion::new(read, &self.resources.export, self.kind, self.experiment)?;
            self.inputs.iter().enumerate().for_each(|(k, value)| motion.set_input(k, *value));
            self.motion = Some(motion);
        }
        Ok(self.motion.as_mut().expect("made above"))
    }

    fn find(&self, reference: u32) -> Result<Variable, String> {
        let none = || format!("there is no variable with the value reference {reference}");
        self.interface.find(reference).ok_or_else(none)
    }

    /// The value of a variable.
    pub fn get(&mut self, reference: u32) -> Result<f64, String> {
        match self.find(reference)? {
            Variable::Parameter(k) => {
                if self.interface.parameters[k].calculated {
                    self.motion()?;
                }
                Ok(self.parameters[k])
            }
            Variable::Input(k) => Ok(self.inputs[k]),
            variable => self.motion()?.get(variable),
        }
    }

    /// Sets a variable.
    pub fn set(&mut self, reference: u32, value: f64) -> Result<(), String> {
        let variable = self.find(reference)?;
        let name = quoted(&self.interface.name(variable));
        if !value.is_finite() {
            return Err(format!("{name} cannot be {value}"));
        }
        match variable {
            Variable::Parameter(k) if self.interface.parameters[k].calculated => {
                Err(format!("{name} follows from other parameters and cannot be set"))
            }
            Variable::Parameter(k) => {
                if self.parameters[k] == value {
                    return Ok(());
                }
                if self.stage == Stage::Running || self.stage == Stage::Ended {
                    return Err(format!("{name} is a fixed parameter: it can be set until initialization ends"));
                }
                (self.parameters[k], self.motion) = (value, None);
                Ok(())
            }
            Variable::Input(k) => {
                self.inputs[k] = value;
                if let Some(motion) = &mut self.motion {
                    motion.set_input(k, value);
                }
                Ok(())
            }
            Variable::State(k) if self.kind == Kind::ModelExchange => self.motion()?.set_state(k, value),
            _ => Err(format!("{name} is computed by the model and cannot be set")),
        }
    }

    /// ∂(unknowns)/∂(knowns) times a direction.
    pub fn directional(&mut self, unknowns: &[u32], knowns: &[u32], seed: &[f64]) -> Result<Vec<f64>, String> {
        let unknowns = unknowns.iter().map(|r| self.find(*r)).collect::<Result<Vec<_>, _>>()?;
        let knowns = knowns.iter().map(|r| self.find(*r)).collect::<Result<Vec<_>, _>>()?;
        self.motion()?.directional(&unknowns, &knowns, seed)
    }

    /// All that it takes to go back to here, as bytes.
    pub fn save(&mut self) -> Result<Vec<u8>, String> {
        let motion = self.motion.as_mut().map(Motion::save).transpose()?;
        let (stage, experiment) = (self.stage, self.experiment);
        let (parameters, inputs) = (self.parameters.clone(), self.inputs.clone());
        Ok(snapshot::encode(KIND, &Saved { stage, experiment, parameters, inputs, motion }))
    }

    /// Goes back to what an instance of the same FMU has saved.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), String> {
        let saved: Saved = snapshot::decode(KIND, bytes).map_err(|e| format!("the FMU state {e}"))?;
        let sizes = [saved.parameters.len(), saved.inputs.len()];
        if sizes != [self.parameters.len(), self.inputs.len()] {
            return Err("the FMU state belongs to another model".into());
        }
        if saved.parameters != self.parameters || saved.experiment != self.experiment || saved.motion.is_none() {
            self.motion = None;
        }
        (self.stage, self.experiment) = (saved.stage, saved.experiment);
        (self.parameters, self.inputs) = (saved.parameters, saved.inputs);
        match saved.motion {
            Some(saved) => self.motion()?.restore(saved),
            None => Ok(()),
        }
    }
}
