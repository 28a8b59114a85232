//! In which coordinates a machine moves.

use super::{Origin, Reason, method, scale};
use crate::machine::{Machine, Start, StartError};
use crate::options::{Coordinates, MethodName, OptionError, Options, Solver};
use crate::start::{self, Assembly};
use bellcrank_model::bodies::Body;
use bellcrank_model::relative::Relative;
use bellcrank_model::{Dynamics, System};
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
                reasons: vec![Reason::new("coordinates", "cartesian", Origin::Default)],
                coordinates: Coordinates::Cartesian,
                stays_explicit: false,
            }),
        }
    }
}

fn refuse(option: &'static str, message: impl Into<String>, help: impl Into<String>) -> StartError {
    StartError::Option(OptionError { option, message: message.into(), help: help.into() })
}

fn not_a_model(options: &Options) -> StartError {
    let message = "relative coordinates are made from the joints of a model, and these equations have coordinates of \
                   their own";
    match options.coordinates {
        Coordinates::Relative => refuse("--coordinates", message, "leave --coordinates out"),
        Coordinates::Cartesian => {
            refuse("--solver", format!("recursion runs in relative coordinates; {message}"), "leave --solver out")
        }
    }
}

fn relative(system: &Arc<System>, start: Start, options: &Options) -> Result<Posed, StartError> {
    refuse_flexible(system, options)?;
    let relative = Arc::new(system.relative(&start.point));
    if options.solver == Solver::Recursion && !relative.recursive() {
        let message = "recursion alone is for open trees, and there are loops, or joints that a tree cannot have";
        return Err(refuse("--solver", message, "leave --solver out, or use --solver loop-cg"));
    }
    let vast = refuse_vast(&relative, start.assembly.degrees_of_freedom, options)?;
    let joints = relative.cartesian().model.joints.iter().zip(&relative.tree.has_joint);
    let cut: Vec<String> = joints.filter(|(_, inside)| !**inside).map(|(joint, _)| joint.name.clone()).collect();
    let mut reasons = vec![reason(&relative, &cut, options)];
    let stays_explicit = vast && options.method == MethodName::Auto;
    if stays_explicit {
        let blocks = relative.matrix_blocks();
        let why = format!("explicit to the end: the matrix of bdf would have {blocks} blocks");
        reasons.push(Reason::new("stiffness", "not watched", Origin::Chosen).because(why));
    }
    let state = relative.initial_state();
    let dynamics: Arc<dyn Dynamics> = relative;
    let (point, inside) = start::assemble(&dynamics, &state).map_err(StartError::Assembly)?;
    let Assembly { iterations, residual, velocity_residual, moved, gaps, .. } = start.assembly;
    let assembly = Assembly { iterations, residual, velocity_residual, moved, gaps, ..inside };
    let start = Start { point, assembly, seconds: start.seconds };
    Ok(Posed { dynamics, start, cut, reasons, coordinates: Coordinates::Relative, stays_explicit })
}

fn refuse_flexible(system: &System, options: &Options) -> Result<(), StartError> {
    let Some(body) = system.model.bodies.iter().find(|b| matches!(b.body, Body::Flexible(_))) else { return Ok(()) };
    let message = format!("relative coordinates are for rigid bodies, and `{}` bends", body.name);
    Err(match options.coordinates {
        Coordinates::Relative => refuse("--coordinates", message, "leave --coordinates out"),
        Coordinates::Cartesian => {
            refuse("--solver", format!("recursion runs in relative coordinates; {message}"), "leave --solver out")
        }
    })
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
    let (why, else_try) = match (relative.recursive(), asked) {
        (true, true) => (options.solver.name(), ", or leave --solver out"),
        (true, false) => (method.unwrap_or(options.method).name(), ", or an explicit method such as dopri5"),
        (false, _) => ("loops or impacts", ""),
    };
    let most = scale::MOST_BLOCKS;
    let message = format!(
        "in relative coordinates {why} would need a matrix that is full along every branch of the tree: {blocks} \
         blocks, of {most} at most"
    );
    Err(refuse("--coordinates", message, format!("use --coordinates cartesian{else_try}")))
}

fn reason(relative: &Relative, cut: &[String], options: &Options) -> Reason {
    let (n, m) = relative.size();
    let equations = if m == 1 { "equation of loops" } else { "equations of loops" };
    let why = format!("relative coordinates: {n} of joints, {m} {equations}{}", list_cut(cut));
    let asked = options.coordinates == Coordinates::Relative;
    Reason::new("coordinates", "relative", if asked { Origin::Asked } else { Origin::Chosen }).because(why)
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
