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

pub use spectrum::Spectrum;

use crate::choices::Options;
use crate::initial::{self, Assembly, AssemblyError};
use crate::linear::rank::DENSE;
use bellcrank_model::{Dynamics, System};
use std::sync::Arc;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The model cannot run.
    Error,
    /// It runs, but is probably not what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Level {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// Something the check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What it is: `redundant`, `conflicting`, `singular`, `massless`, `inertia`, `unconnected`, `units`, `locked`, `tree`.
    pub kind: &'static str,
    /// The user's names of the bodies, joints and forces it is about.
    pub names: Vec<String>,
    /// One or two sentences.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// Equations of one joint that others hold already.
#[derive(Clone, Debug, PartialEq)]
pub struct Redundancy {
    /// The joint, or the body whose own equation it is.
    pub name: String,
    /// What its redundant equations hold, in words.
    pub directions: Vec<String>,
}

/// All that a look at a model tells.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// The model's name.
    pub model: String,
    /// Numbers of bodies, joints and forces.
    pub counts: (usize, usize, usize),
    /// Coordinates of the bodies.
    pub coordinates: usize,
    /// Equations of the joints.
    pub equations: usize,
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
        self.findings.iter().all(|f| f.level != Level::Error)
    }

    fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.push((what.to_string(), why.to_string()));
    }

    fn push(&mut self, level: Level, kind: &'static str, names: Vec<String>, message: String, help: &str) {
        self.findings.push(Finding { level, kind, names, message, help: help.to_string() });
    }
}

/// Looks at a model: everything.
pub fn check(system: &Arc<System>, options: &Options) -> Check {
    look(system, options, true)
}

/// Looks at a model before it runs: what matters, quickly.
pub fn brief(system: &Arc<System>, options: &Options) -> Check {
    look(system, options, false)
}

fn look(system: &Arc<System>, options: &Options, thorough: bool) -> Check {
    let model = &system.model;
    let layout = system.layout();
    let mut c = Check {
        model: model.name.clone(),
        counts: (model.bodies.len(), model.joints.len(), model.forces.len()),
        coordinates: layout.n(),
        equations: layout.m(),
        large: layout.n().max(layout.m()) > DENSE,
        ..Check::default()
    };
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let start = system.initial_state();
    let mut w = system.workspace();
    let masses = inertia::masses(system, &start, &mut w);
    inertia::inertias(&mut c, system, &masses);
    scales::units(&mut c, system, &masses);
    connections::unconnected(&mut c, model);
    connections::wanted_in_vain(&mut c, model);
    if c.large && !thorough {
        c.findings.sort_by_key(|f| f.level);
        return c;
    }
    match initial::assemble(&dynamics, &start) {
        Ok((point, assembly)) => {
            redundancy::ranks(&mut c, system, &point, &mut w, thorough);
            if thorough {
                spectrum::look(&mut c, system, &point, &mut w);
            }
            c.assembly = Some(assembly);
        }
        Err(AssemblyError::Singular { name }) => inertia::massless(&mut c, system, &start, name, &mut w),
        Err(e) => conflicts::conflicting(&mut c, system, &e, thorough),
    }
    if c.degrees_of_freedom.is_some() {
        c.method = spectrum::method(&c, options);
    }
    c.findings.sort_by_key(|f| f.level);
    c
}
