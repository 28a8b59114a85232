//! Cutting a whole model at named joints and forces.

use crate::gauss_part::GaussPart;
use crate::in_step::InStep;
use crate::interface::{Interface, Site, port_body};
use crate::options::Coupling;
use crate::own_solver::OwnSolver;
use crate::port::PortMotion;
use crate::subdomain::{PartError, Subdomain};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::frames::{Attachment, nearest_turn};
use bellcrank_model::model::{End, Model};
use bellcrank_model::{Dynamics, Point, State, System, Workspace};
use bellcrank_solve::choices::{Said, Voice, understood};
use bellcrank_solve::methods::alpha::AlphaParameters;
use bellcrank_solve::{Options, formulation};
use std::fmt;

/// The model of a part, with its ports and its start: a part before it has a solver.
#[derive(Clone)]
pub struct PartModel {
    /// Its name.
    pub name: String,
    /// Its model.
    pub model: Model,
    /// Its ports.
    pub ports: Vec<(String, End)>,
    /// The state it starts from.
    pub state: State,
}

/// The solver a part is to have.
#[derive(Clone, Debug, PartialEq)]
pub struct Solver {
    /// The coupling: in step with the others, or with a method of its own.
    pub coupling: Coupling,
    /// The damping ρ of generalized-α, in step.
    pub rho: f64,
    /// Its own method; `auto` if none is named.
    pub method: Option<String>,
    /// The relative tolerance of that method.
    pub rtol: f64,
    /// Its fixed step.
    pub step: Option<f64>,
}

impl PartModel {
    /// The part with a solver.
    pub fn start(self, how: &Solver) -> Result<Box<dyn Subdomain>, PartError> {
        if !matches!(how.coupling, Coupling::Windows | Coupling::Explicit) {
            return self.in_step(how.coupling, how.rho);
        }
        let word = how.method.as_deref().unwrap_or("auto");
        let options = match understood(&[Said::argument("method", word)]) {
            Ok(options) => options,
            Err(e) => {
                let why = format!("{}\nhelp: {}", e.reason(Voice::File), e.help(Voice::File).join("; "));
                return Err(PartError { part: self.name, why });
            }
        };
        self.with_own_solver(Options { rtol: how.rtol, step: how.step, ..options })
    }

    /// Position and motion of its ports at the start.
    pub fn motions(&self) -> Vec<(String, PortMotion)> {
        let system = self.model.compile();
        let point = Point::at(&self.state, system.layout());
        let mut w = system.workspace();
        system.realize(&point, &mut w);
        let of = |end| PortMotion::of(&system.look(end, &w, &point.v), Default::default());
        self.ports.iter().map(|(port, end)| (port.clone(), of(end))).collect()
    }

    /// A part that steps with the others; the coupling says how joints are held.
    pub fn in_step(self, coupling: Coupling, rho: f64) -> Result<Box<dyn Subdomain>, PartError> {
        if coupling.corrects() {
            let naive = coupling == Coupling::Naive;
            return Ok(Box::new(GaussPart::new(&self.name, self.model, &self.ports, Some(&self.state), naive)?));
        }
        let by_position = matches!(coupling, Coupling::Position | Coupling::Relaxation);
        let form = if by_position { formulation::index3() } else { formulation::si2() };
        let alpha = AlphaParameters::from_rho(rho);
        Ok(Box::new(InStep::new(&self.name, self.model, &self.ports, Some(&self.state), form, alpha)?))
    }

    /// A part with a solver of its own.
    pub fn with_own_solver(self, options: Options) -> Result<Box<dyn Subdomain>, PartError> {
        Ok(Box::new(OwnSolver::new(&self.name, self.model, &self.ports, Some(&self.state), options)?))
    }
}

/// A model cut into parts, and the interface between them.
pub struct Cut {
    /// The parts.
    pub parts: Vec<PartModel>,
    /// What joins them.
    pub interface: Interface,
}

/// Why a model cannot be cut.
#[derive(Clone, Debug, PartialEq)]
pub enum CutError {
    /// There is no joint or force of this name.
    Unknown {
        /// The name that was given.
        name: String,
        /// All joints and forces.
        known: Vec<String>,
    },
    /// A force with states of its own cannot stand in an interface.
    States(String),
    /// A probe is seen from a body of another part.
    Probe(String),
    /// Something is computed from the state, which may be that of another part.
    Laws(String),
    /// No name was given.
    Nothing,
}

impl fmt::Display for CutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutError::Unknown { name, known } => {
                write!(f, "there is no joint or force `{name}` to cut at\nhelp: there are {}", known.join(", "))
            }
            CutError::States(name) => {
                write!(f, "the force `{name}` has states of its own and cannot act between parts\nhelp: cut elsewhere")
            }
            CutError::Probe(name) => {
                write!(
                    f,
                    "the probe `{name}` is seen from a body of another part\nhelp: cut elsewhere, or leave out its `relative_to`"
                )
            }
            CutError::Laws(name) => {
                write!(
                    f,
                    "{name} is a function of the state, and parts do not share their states\nhelp: run the model whole"
                )
            }
            CutError::Nothing => write!(f, "no joint was named to cut at"),
        }
    }
}

impl std::error::Error for CutError {}

/// Cuts a model at joints and forces. Bodies that still hang together are a part; what joins two parts is interface. The state
/// is that of the whole.
pub fn cut(system: &System, at: &Point, names: &[&str]) -> Result<Cut, CutError> {
    let model = &system.model;
    check_names(model, names)?;
    if let Some(signal) = model.signals.first() {
        return Err(CutError::Laws(model.subject(signal.of).words));
    }
    let is_cut = |name: &str| names.contains(&name);
    let mut cutter = Cutter::new(system, at, &is_cut);
    for joint in &model.joints {
        let mut copy = joint.clone();
        if is_cut(&joint.name) {
            copy.ends = cutter.outside(&joint.ends);
            cutter.between.joints.push(copy);
        } else if let Some(part) = cutter.part_of(&joint.ends) {
            copy.ends = cutter.inside(&joint.ends);
            cutter.parts[part].model.joints.push(copy);
        }
    }
    for force in &model.forces {
        let mut copy = force.clone();
        if is_cut(&force.name) {
            if !force.force.initial().is_empty() {
                return Err(CutError::States(force.name.clone()));
            }
            copy.ends = cutter.outside(&force.ends);
            cutter.between.forces.push(copy);
        } else if let Some(part) = cutter.part_of(&force.ends) {
            copy.ends = cutter.inside(&force.ends);
            cutter.parts[part].model.forces.push(copy);
        }
    }
    for probe in &model.probes {
        if let Some(body) = probe.end.body {
            let mut copy = probe.clone();
            copy.end.body = Some(cutter.number[body]);
            if let Some(from) = probe.relative_to {
                if cutter.group[from] != cutter.group[body] {
                    return Err(CutError::Probe(probe.name.clone()));
                }
                copy.relative_to = Some(cutter.number[from]);
            }
            cutter.parts[cutter.group[body]].model.probes.push(copy);
        }
    }
    Ok(cutter.finish())
}

fn check_names(model: &Model, names: &[&str]) -> Result<(), CutError> {
    if names.is_empty() {
        return Err(CutError::Nothing);
    }
    let known = || model.joints.iter().map(|j| &j.name).chain(model.forces.iter().map(|f| &f.name));
    match names.iter().find(|name| !known().any(|k| k == *name)) {
        Some(name) => Err(CutError::Unknown { name: name.to_string(), known: known().cloned().collect() }),
        None => Ok(()),
    }
}

/// A model on its way into parts.
struct Cutter<'a> {
    system: &'a System,
    at: &'a Point,
    w: Workspace,
    /// The part of each body, and its number there.
    group: Vec<usize>,
    number: Vec<usize>,
    parts: Vec<PartModel>,
    between: Model,
    sites: Vec<Site>,
    /// The body and the place of each site.
    places: Vec<(usize, Attachment)>,
}

impl<'a> Cutter<'a> {
    /// The parts with their bodies alone.
    fn new(system: &'a System, at: &'a Point, is_cut: &dyn Fn(&str) -> bool) -> Cutter<'a> {
        let model = &system.model;
        let joints = model.joints.iter().filter(|j| !is_cut(&j.name)).map(|j| &j.ends[..]);
        let forces = model.forces.iter().filter(|f| !is_cut(&f.name)).map(|f| &f.ends[..]);
        let group = components(model.bodies.len(), joints.chain(forces));
        let count = group.iter().max().map_or(0, |g| g + 1);
        let mut number = vec![0; model.bodies.len()];
        let mut parts = Vec::new();
        for g in 0..count {
            let name = format!("part {}", g + 1);
            let mut part = Model {
                name: name.clone(),
                space: model.space,
                gravity: model.gravity,
                inputs: model.inputs.clone(),
                ..Model::default()
            };
            for (b, body) in model.bodies.iter().enumerate().filter(|(b, _)| group[*b] == g) {
                number[b] = part.bodies.len();
                part.bodies.push(body.clone());
            }
            parts.push(PartModel { name, model: part, ports: Vec::new(), state: State::default() });
        }
        let inputs = model.inputs.clone();
        let between = Model { name: "interface".into(), space: model.space, inputs, ..Model::default() };
        let mut w = system.workspace();
        system.realize(at, &mut w);
        Cutter { system, at, w, group, number, parts, between, sites: Vec::new(), places: Vec::new() }
    }

    /// The part an element belongs to; none if it joins nothing but the ground.
    fn part_of(&self, ends: &[End]) -> Option<usize> {
        ends.iter().find_map(|e| e.body).map(|b| self.group[b])
    }

    /// The ends of an element inside a part.
    fn inside(&self, ends: &[End]) -> Vec<End> {
        ends.iter().map(|e| End { body: e.body.map(|b| self.number[b]), on: e.on }).collect()
    }

    /// The ends of an element of the interface, on ports that are made where there are none.
    fn outside(&mut self, ends: &[End]) -> Vec<End> {
        ends.iter().map(|end| self.port_of(end)).collect()
    }

    fn port_of(&mut self, end: &End) -> End {
        let Some(body) = end.body else { return *end };
        // a port is the body's own frame, so that what stands on the body stands on the port; on a body that bends, every
        // place has its own
        let bends = self.system.model.bodies[body].body.bends();
        let (place, rest) = if bends { (end.on, Attachment::CENTRE) } else { (Attachment::CENTRE, end.on) };
        let known = self.places.iter().position(|p| *p == (body, place));
        let site = known.unwrap_or_else(|| self.open_port(body, place, bends));
        End { body: Some(site), on: rest }
    }

    /// Opens a port on a body; returns the number of its site.
    fn open_port(&mut self, body: usize, place: Attachment, bends: bool) -> usize {
        let (model, group) = (&self.system.model, self.group[body]);
        let whole = End { body: Some(body), on: place };
        let motion = PortMotion::of(&self.system.look(&whole, &self.w, &self.at.v), Default::default());
        let ports = &mut self.parts[group].ports;
        let entry = &model.bodies[body];
        let name = if bends { format!("{} {}", entry.name, ports.len() + 1) } else { entry.name.clone() };
        let mut port = port_body(&name, model.space, &motion);
        // angles of joints count turns from those of the bodies
        port.angle = nearest_turn(port.angle, entry.angle);
        self.between.bodies.push(port);
        ports.push((name, End { body: Some(self.number[body]), on: place }));
        self.sites.push((group, ports.len() - 1));
        self.places.push((body, place));
        self.places.len() - 1
    }

    /// The parts, each at its share of the state of the whole.
    fn finish(mut self) -> Cut {
        for (g, PartModel { model: part, state, .. }) in self.parts.iter_mut().enumerate() {
            let compiled = part.compile();
            *state = compiled.initial_state();
            state.t = self.at.t;
            for b in (0..self.group.len()).filter(|b| self.group[*b] == g) {
                compiled.copy_body(self.number[b], state, self.system, b, self.at);
            }
            compiled.settle(state, &mut compiled.workspace());
        }
        Cut { parts: self.parts, interface: Interface::new(self.between, self.sites) }
    }
}

/// The connected groups of bodies, numbered in the order of their first body.
fn components<'a>(bodies: usize, links: impl Iterator<Item = &'a [End]>) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..bodies).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for ends in links {
        let mut linked = ends.iter().filter_map(|e| e.body);
        if let Some(first) = linked.next() {
            for other in linked {
                let (a, b) = (root(&mut parent, first), root(&mut parent, other));
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    let mut numbers = vec![usize::MAX; bodies];
    let mut next = 0;
    (0..bodies)
        .map(|i| {
            let r = root(&mut parent, i);
            if numbers[r] == usize::MAX {
                numbers[r] = next;
                next += 1;
            }
            numbers[r]
        })
        .collect()
}
