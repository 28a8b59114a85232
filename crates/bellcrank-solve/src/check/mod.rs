//! What a look at a model tells before it moves: freedom, redundant and contradicting equations,
//! singular positions, masses that cannot be, units that look wrong, and how stiff it is.
//!
//! Ranks are those of G with its rows scaled to one and its columns to the length of the model; they are
//! taken at the start and at poses nearby, each assembled: an equation is redundant if it is there too,
//! and the start is singular if the rank is larger there.
mod advice;
mod conflicts;
mod connections;
mod inertia;
mod redundancy;
mod scales;
mod spectrum;
mod text;

pub use bellcrank_model::file::diagnostic::Severity;
pub use spectrum::Spectrum;

use crate::choices::Options;
use crate::linear::rank::DENSE;
use crate::machine::{Machine, Start};
use crate::start::{Assembly, AssemblyError};
use bellcrank_model::model::Model;
use bellcrank_model::{Dynamics, Place, Subject, System};
use std::sync::Arc;

/// Something the check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is: `redundant`, `conflicting`, `singular`, `massless`, `inertia`, `unconnected`, `units`, `unstable`, `locked`,
    /// `tree`.
    pub kind: &'static str,
    /// The bodies, joints and forces it is about.
    pub about: Vec<Subject>,
    /// One or two sentences.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Finding {
    /// What it is about, in words.
    pub fn names(&self) -> Vec<&str> {
        self.about.iter().map(|subject| subject.words.as_str()).collect()
    }
}

/// Equations of one joint that others hold already.
#[derive(Clone, Debug, PartialEq)]
pub struct Redundancy {
    /// The joint, or the body whose own equation it is.
    pub of: Subject,
    /// What its redundant equations hold, in words.
    pub directions: Vec<String>,
}

/// How large a model is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelCounts {
    /// Bodies; the ground is none.
    pub bodies: usize,
    /// Joints.
    pub joints: usize,
    /// Forces.
    pub forces: usize,
    /// Coordinates of the bodies.
    pub coordinates: usize,
    /// Equations of the joints.
    pub equations: usize,
}

/// All that a look at a model tells.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// The model's name.
    pub model: String,
    /// How large it is.
    pub counts: ModelCounts,
    /// Degrees of freedom; `None` where the model cannot be assembled.
    pub degrees_of_freedom: Option<usize>,
    /// Equations that others hold already, by joint.
    pub redundancies: Vec<Redundancy>,
    /// The joints whose reactions are not unique.
    pub not_unique: Vec<String>,
    /// What it took to close the joints.
    pub assembly: Option<Assembly>,
    /// What is wrong, the worst first.
    pub findings: Vec<Finding>,
    /// Frequencies about the start.
    pub spectrum: Option<Spectrum>,
    /// The method that suits, and why.
    pub method: String,
    /// Whether ranks were found by elimination, as the model is large.
    pub large: bool,
    /// What the ranks cost: multiplications and additions of the factorizations for them, counted from patterns.
    pub work: usize,
    /// What was not looked at, and why.
    pub left_out: Vec<(String, String)>,
}

impl Check {
    /// How many equations are redundant.
    pub fn redundant(&self) -> usize {
        self.redundancies.iter().map(|r| r.directions.len()).sum()
    }

    /// Whether nothing keeps the model from running.
    pub fn runs(&self) -> bool {
        self.findings.iter().all(|f| f.severity != Severity::Error)
    }

    fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.push((what.to_string(), why.to_string()));
    }

    fn push(&mut self, severity: Severity, kind: &'static str, about: Vec<Subject>, message: String, help: &str) {
        self.findings.push(Finding { severity, kind, about, message, help: help.to_string() });
    }
}

/// Looks at a model: everything.
pub fn check(system: &Arc<System>, options: &Options) -> Check {
    look(system, options, None)
}

/// Looks at a model before it runs, from the start that it will run from: what matters, quickly.
pub fn brief(system: &Arc<System>, options: &Options, start: &Start) -> Check {
    look(system, options, Some(start))
}

/// Laws that feed energy in, or push away from rest.
fn unstable(c: &mut Check, model: &Model) {
    for (k, force) in model.forces.iter().enumerate() {
        if let Some(why) = force.force.unstable() {
            let name = model.subject(Place::Force(k));
            let message = format!("{name} {why}");
            c.push(Severity::Warning, "unstable", vec![name], message, "check its signs, unless this is meant");
        }
    }
}

/// Looks at a model: briefly where its start is assembled already, else thoroughly.
fn look(system: &Arc<System>, options: &Options, assembled: Option<&Start>) -> Check {
    let thorough = assembled.is_none();
    let model = &system.model;
    let layout = system.layout();
    let mut c = Check {
        model: model.name.clone(),
        counts: ModelCounts {
            bodies: model.bodies.iter().filter(|b| b.is_shown()).count(),
            joints: model.joints.len(),
            forces: model.forces.len(),
            coordinates: layout.n(),
            equations: layout.m(),
        },
        large: layout.n().max(layout.m()) > DENSE,
        ..Check::default()
    };
    let start = system.initial_state();
    let mut w = system.workspace();
    let masses = inertia::masses(system, &start, &mut w);
    inertia::inertias(&mut c, system, &masses);
    scales::units(&mut c, system, &masses);
    unstable(&mut c, model);
    connections::unconnected(&mut c, model);
    connections::wanted_in_vain(&mut c, model);
    if c.large && !thorough {
        c.findings.sort_by_key(|f| f.severity);
        return c;
    }
    let assembled = assembled.map_or_else(|| Machine::from(system).assemble(), |start| Ok(start.clone()));
    match assembled {
        Ok(Start { point, assembly, .. }) => {
            redundancy::ranks(&mut c, system, &point, &mut w, thorough);
            if thorough {
                spectrum::look(&mut c, system, &point, &mut w);
            }
            c.assembly = Some(assembly);
        }
        Err(AssemblyError::Singular { culprit }) => inertia::massless(&mut c, system, &start, culprit, &mut w),
        Err(e) => conflicts::conflicting(&mut c, system, &e, thorough),
    }
    if c.degrees_of_freedom.is_some() {
        c.method = spectrum::method(&c, options);
    }
    c.findings.sort_by_key(|f| f.severity);
    c
}
