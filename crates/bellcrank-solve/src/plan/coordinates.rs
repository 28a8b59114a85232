//! In which coordinates a machine moves.

use super::{DecidedBy, Reason, method, scale};
use crate::choices::{ChoiceError, Coordinates, MethodName, Options, Solver, Suggestion};
use crate::machine::{Machine, Start, StartError};
use crate::start::{self, Assembly};
use bellcrank_model::System;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::relative::Relative;
use std::sync::Arc;

/// A machine in the coordinates that were asked for, at its consistent start.
pub struct Posed {
    /// The equations of motion.
    pub dynamics: Arc<dyn Dynamics>,
    /// Where they start.
    pub start: Start,
    /// The joints that are not in the tree of relative coordinates, and stay equations.
    pub cut: Vec<String>,
    /// What was decided, and why.
    pub(super) reasons: Vec<Reason>,
    /// The coordinates.
    pub(super) coordinates: Coordinates,
    /// Whether `auto` cannot become implicit, for the matrix would be too large.
    pub(super) stays_explicit: bool,
}

impl Posed {
    /// Takes an assembled machine to the coordinates of the options. The start is assembled in Cartesian coordinates
    /// in any case, so that all coordinates start alike.
    pub fn new(machine: &Machine, start: Start, options: &Options) -> Result<Posed, StartError> {
        let recursion = options.solver == Solver::Recursion;
        let wants_tree = options.coordinates == Coordinates::Relative || recursion;
        match machine {
            Machine::Model(system) if wants_tree => relative(system, start, options),
            Machine::Equations { .. } if wants_tree => Err(not_a_model(options)),
            _ => Ok(Posed {
                dynamics: machine.dynamics(),
                start,
                cut: Vec::new(),
                reasons: vec![Reason::new("coordinates", "cartesian", DecidedBy::Default)],
                coordinates: Coordinates::Cartesian,
                stays_explicit: false,
            }),
        }
    }
}

/// Refuses relative coordinates, or the recursion that runs in them, whichever was asked for.
fn no_tree(options: &Options, reason: String) -> StartError {
    let (key, reason) = match options.coordinates {
        Coordinates::Relative => ("coordinates", reason),
        Coordinates::Cartesian => ("solver", format!("recursion runs in relative coordinates; {reason}")),
    };
    ChoiceError::new(key, reason).try_without(key).into()
}

fn not_a_model(options: &Options) -> StartError {
    let reason = "relative coordinates are made from the joints of a model, and these equations have coordinates of \
                  their own";
    no_tree(options, reason.into())
}

fn relative(system: &Arc<System>, start: Start, options: &Options) -> Result<Posed, StartError> {
    let relative = Arc::new(system.relative(&start.point));
    if options.solver == Solver::Recursion && !relative.recursive() {
        let reason = "recursion alone is for open trees, and there are loops, or joints that a tree cannot have";
        return Err(ChoiceError::new("solver", reason).try_without("solver").try_with("solver", "loop-cg").into());
    }
    let vast = refuse_vast(&relative, start.assembly.degrees_of_freedom, options)?;
    let joints = relative.cartesian().model.joints.iter().zip(&relative.tree.has_joint);
    let cut: Vec<String> = joints.filter(|(_, inside)| !**inside).map(|(joint, _)| joint.name.clone()).collect();
    let mut reasons = vec![reason(&relative, &cut, options)];
    let stays_explicit = vast && options.method == MethodName::Auto;
    if stays_explicit {
        let blocks = relative.matrix_blocks();
        let why = format!("explicit to the end: the matrix of bdf would have {blocks} blocks");
        reasons.push(Reason::new("stiffness", "not watched", DecidedBy::Chosen).because(why));
    }
    let state = relative.initial_state();
    let dynamics: Arc<dyn Dynamics> = relative;
    // the Cartesian start is on the constraints, and so is what the tree makes of it
    let (point, inside) = start::complete(&dynamics, &state).map_err(StartError::Assembly)?;
    let Assembly { iterations, residual, velocity_residual, moved, gaps, .. } = start.assembly;
    let assembly = Assembly { iterations, residual, velocity_residual, moved, gaps, ..inside };
    let start = Start { point, assembly, seconds: start.seconds };
    Ok(Posed { dynamics, start, cut, reasons, coordinates: Coordinates::Relative, stays_explicit })
}

/// Whether a matrix would be too large; an error where one is needed.
fn refuse_vast(relative: &Relative, degrees_of_freedom: usize, options: &Options) -> Result<bool, StartError> {
    let blocks = relative.matrix_blocks();
    if blocks <= scale::MOST_BLOCKS {
        return Ok(false);
    }
    let (method, _) = method::choose(options, degrees_of_freedom);
    let asked = matches!(options.solver, Solver::Direct | Solver::Dense);
    if relative.recursive() && !asked && method.is_none_or(MethodName::explicit) {
        return Ok(true);
    }
    let explicit = || Suggestion::to("method", "dopri5").note(", which is explicit");
    let (why, else_try) = match (relative.recursive(), asked) {
        (true, true) => (options.solver.name(), Some(Suggestion::without("solver"))),
        (true, false) => (method.unwrap_or(options.method).name(), Some(explicit())),
        (false, _) => ("loops or impacts", None),
    };
    let most = scale::MOST_BLOCKS;
    let reason = format!(
        "in relative coordinates {why} would need a matrix that is full along every branch of the tree: {blocks} \
         blocks, of {most} at most"
    );
    let error = ChoiceError::new("coordinates", reason).try_with("coordinates", "cartesian");
    Err(else_try.into_iter().fold(error, ChoiceError::instead).into())
}

fn reason(relative: &Relative, cut: &[String], options: &Options) -> Reason {
    let (n, m) = relative.size();
    let equations = if m == 1 { "equation of loops" } else { "equations of loops" };
    let why = format!("relative coordinates: {n} of joints, {m} {equations}{}", list_cut(cut));
    let asked = options.coordinates == Coordinates::Relative;
    Reason::new("coordinates", "relative", if asked { DecidedBy::Asked } else { DecidedBy::Chosen }).because(why)
}

/// Most joints outside the tree that are named.
const MOST_NAMED: usize = 5;

/// The joints that are not in the tree, for people: the first of them, and how many there are.
fn list_cut(cut: &[String]) -> String {
    let named: Vec<String> = cut.iter().take(MOST_NAMED).map(|name| format!("`{name}`")).collect();
    match cut.len() {
        0 => String::new(),
        n if n > MOST_NAMED => {
            format!("; {n} joints are not in the tree: {} and {} more", named.join(", "), n - MOST_NAMED)
        }
        1 => format!("; not in the tree: joint {}", named[0]),
        _ => format!("; not in the tree: joints {}", named.join(", ")),
    }
}
