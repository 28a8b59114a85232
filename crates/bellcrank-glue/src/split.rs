//! Cutting a whole model at named joints and forces.

use crate::in_step::InStep;
use crate::interface::{Interface, Site, port_body};
use crate::options::Coupling;
use crate::own_solver::OwnSolver;
use crate::port::Motion;
use crate::subdomain::{PartError, Subdomain};
use bellcrank_model::bodies::Body;
use bellcrank_model::file::suggest;
use bellcrank_model::frames::{Attachment, nearest_turn};
use bellcrank_model::model::{End, Model};
use bellcrank_model::{Dynamics, Point, State, System};
use bellcrank_solve::methods::alpha::AlphaParameters;
use bellcrank_solve::options::MethodName;
use bellcrank_solve::{Options, formulation};
use std::fmt;

/// A part before it has a solver.
#[derive(Clone)]
pub struct Piece {
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
    /// How it is coupled with the others: in step, or with a method of its own.
    pub coupling: Coupling,
    /// The damping ρ of generalized-α, in step.
    pub rho: f64,
    /// The method of its own; `auto` if none is named.
    pub method: Option<String>,
    /// The relative tolerance of that method.
    pub rtol: f64,
    /// Its fixed step.
    pub step: Option<f64>,
}

impl Piece {
    /// The part with a solver.
    pub fn start(self, how: &Solver) -> Result<Box<dyn Subdomain>, PartError> {
        if !matches!(how.coupling, Coupling::Windows | Coupling::Explicit) {
            return self.in_step(how.coupling, how.rho);
        }
        let word = how.method.as_deref().unwrap_or("auto");
        let Some(method) = MethodName::by_name(word) else {
            let names = MethodName::names().join(", ");
            let why = format!("unknown method {}\nhelp: methods are {names}", suggest::quoted(word));
            return Err(PartError { part: self.name, why });
        };
        self.with_own_solver(Options { method, rtol: how.rtol, step: how.step, ..Options::default() })
    }

    /// Where its ports are at the start, and how they move.
    pub fn motions(&self) -> Vec<(String, Motion)> {
        let system = self.model.compile();
        let point = Point::at(&self.state, system.layout());
        let mut w = system.workspace();
        system.realize(&point, &mut w);
        let of = |end| Motion::of(&system.look(end, &w, &point.v), Default::default());
        self.ports.iter().map(|(port, end)| (port.clone(), of(end))).collect()
    }

    /// A part that steps with the others, joints held as the coupling says.
    pub fn in_step(self, coupling: Coupling, rho: f64) -> Result<Box<dyn Subdomain>, PartError> {
        let form = if coupling == Coupling::Position { formulation::index3() } else { formulation::si2() };
        let alpha = AlphaParameters::from_rho(rho);
        Ok(Box::new(InStep::new(&self.name, self.model, &self.ports, Some(&self.state), form, alpha)?))
    }

    /// A part with a solver of its own.
    pub fn with_own_solver(self, options: Options) -> Result<Box<dyn Subdomain>, PartError> {
        Ok(Box::new(OwnSolver::new(&self.name, self.model, &self.ports, Some(&self.state), options)?))
    }
}

/// A model in parts: each with its ports and its state, and the interface between them.
pub struct Cut {
    /// The parts.
    pub parts: Vec<Piece>,
    /// What joins them.
    pub interface: Interface,
}

/// Why a model cannot be cut.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitError {
    /// There is no joint or force of this name.
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A force with states of its own cannot stand in an interface.
    States(String),
    /// Nothing to cut.
    Nothing,
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SplitError::Unknown { name, known } => {
                write!(f, "there is no joint or force `{name}` to cut at\nhelp: there are {}", known.join(", "))
            }
            SplitError::States(name) => {
                write!(
                    f,
                    "the force `{name}` has states of its own and cannot stand between parts\nhelp: cut elsewhere"
                )
            }
            SplitError::Nothing => write!(f, "no joint was named to cut at"),
        }
    }
}

impl std::error::Error for SplitError {}

/// Cuts a model at joints and forces. What still hangs together is a part; what joins two parts is interface, named
/// or not. The state is that of the whole.
pub fn cut(system: &System, at: &Point, names: &[&str]) -> Result<Cut, SplitError> {
    let model = &system.model;
    if names.is_empty() {
        return Err(SplitError::Nothing);
    }
    for name in names {
        if !model.joints.iter().any(|j| j.name == *name) && !model.forces.iter().any(|f| f.name == *name) {
            let known = model.joints.iter().map(|j| j.name.clone()).chain(model.forces.iter().map(|f| f.name.clone()));
            return Err(SplitError::Unknown { name: name.to_string(), known: known.collect() });
        }
    }
    let named = |name: &str| names.contains(&name);
    // joints hold parts together; forces do not, unless nobody named a force
    let group = components(
        model.bodies.len(),
        model
            .joints
            .iter()
            .filter(|j| !named(&j.name))
            .map(|j| &j.ends[..])
            .chain(model.forces.iter().filter(|f| !named(&f.name)).map(|f| &f.ends[..])),
    );
    let count = group.iter().max().map_or(0, |g| g + 1);
    let mut parts: Vec<Piece> = Vec::new();
    let mut number = vec![0; model.bodies.len()];
    let mut w = system.workspace();
    system.realize(at, &mut w);
    for g in 0..count {
        let mut part =
            Model { name: format!("part {}", g + 1), space: model.space, gravity: model.gravity, ..Model::default() };
        for (b, body) in model.bodies.iter().enumerate().filter(|(b, _)| group[*b] == g) {
            number[b] = part.bodies.len();
            part.bodies.push(body.clone());
        }
        parts.push(Piece { name: part.name.clone(), model: part, ports: Vec::new(), state: State::default() });
    }
    let part_of = |ends: &[End]| ends.iter().find_map(|e| e.body).map(|b| group[b]);
    let mut between = Model { name: "interface".into(), space: model.space, ..Model::default() };
    let mut sites: Vec<Site> = Vec::new();
    let mut places: Vec<(usize, Attachment)> = Vec::new();
    let mut outside = |ends: &[End], between: &mut Model, parts: &mut Vec<Piece>| {
        let moved = ends.iter().map(|end| {
            let Some(body) = end.body else { return *end };
            // a port is the body's own frame, so that what stands on the body stands on the port; where a body bends,
            // every place has its own
            let bends = matches!(model.bodies[body].body, Body::Flexible(_));
            let (place, rest) = if bends { (end.on, Attachment::CENTRE) } else { (Attachment::CENTRE, end.on) };
            let site = places.iter().position(|p| *p == (body, place)).unwrap_or_else(|| {
                let port = End { body: Some(number[body]), on: place };
                let whole = End { body: Some(body), on: place };
                let frame = system.look(&whole, &w, &at.v);
                let motion = Motion::of(&frame, Default::default());
                let list = &mut parts[group[body]].ports;
                let name = match bends {
                    true => format!("{} {}", model.bodies[body].name, list.len() + 1),
                    false => model.bodies[body].name.clone(),
                };
                let mut entry = port_body(&name, model.space, &motion);
                // angles of joints count turns from those of the bodies
                entry.angle = nearest_turn(entry.angle, model.bodies[body].angle);
                between.bodies.push(entry);
                list.push((name, port));
                sites.push((group[body], list.len() - 1));
                places.push((body, place));
                places.len() - 1
            });
            End { body: Some(site), on: rest }
        });
        moved.collect::<Vec<End>>()
    };
    let inside =
        |ends: &[End]| -> Vec<End> { ends.iter().map(|e| End { body: e.body.map(|b| number[b]), on: e.on }).collect() };
    for joint in &model.joints {
        let mut copy = joint.clone();
        if named(&joint.name) {
            copy.ends = outside(&joint.ends, &mut between, &mut parts);
            between.joints.push(copy);
        } else if let Some(g) = part_of(&joint.ends) {
            copy.ends = inside(&joint.ends);
            parts[g].model.joints.push(copy);
        }
    }
    for force in &model.forces {
        let mut copy = force.clone();
        if named(&force.name) {
            if !force.force.initial().is_empty() {
                return Err(SplitError::States(force.name.clone()));
            }
            copy.ends = outside(&force.ends, &mut between, &mut parts);
            between.forces.push(copy);
        } else if let Some(g) = part_of(&force.ends) {
            copy.ends = inside(&force.ends);
            parts[g].model.forces.push(copy);
        }
    }
    for probe in &model.probes {
        if let Some(body) = probe.end.body {
            let mut copy = probe.clone();
            copy.end.body = Some(number[body]);
            parts[group[body]].model.probes.push(copy);
        }
    }
    for (g, Piece { model: part, state, .. }) in parts.iter_mut().enumerate() {
        let compiled = part.compile();
        *state = compiled.initial_state();
        state.t = at.t;
        for b in (0..model.bodies.len()).filter(|b| group[*b] == g) {
            compiled.copy_body(number[b], state, system, b, at);
        }
        compiled.settle(state, &mut compiled.workspace());
    }
    Ok(Cut { parts, interface: Interface::new(between, sites) })
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
