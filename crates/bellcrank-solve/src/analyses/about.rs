//! The state about which a model is linearized.

use super::statics::{StaticsError, equilibrium, refuse_fmus};
use crate::choices::Options;
use crate::linear::kkt::Kkt;
use crate::linearization::moves;
use crate::machine::{Machine, StartError};
use crate::record::Silent;
use crate::run::Status;
use crate::start::AssemblyError;
use bellcrank_model::{Dynamics, Point, System};
use std::fmt;
use std::sync::Arc;

/// Which state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum About {
    /// Where all forces balance.
    Equilibrium,
    /// The assembled start.
    Start,
    /// What a run reaches at a time, in s.
    Time(f64),
}

impl About {
    /// `equilibrium`, `start`, or a time such as `2.5` or `t=2.5`.
    pub fn parse(word: &str) -> Option<About> {
        match word {
            "equilibrium" => Some(About::Equilibrium),
            "start" => Some(About::Start),
            word => {
                let t = word.trim_start_matches("t=").parse::<f64>().ok();
                t.filter(|t| *t >= 0.0 && t.is_finite()).map(About::Time)
            }
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            About::Equilibrium => f.write_str("the equilibrium"),
            About::Start => f.write_str("the start"),
            About::Time(t) => write!(f, "t = {t} s"),
        }
    }
}

/// Why the state is not reached.
#[derive(Clone, Debug, PartialEq)]
pub enum AboutError {
    /// The model cannot be assembled.
    Assembly(AssemblyError),
    /// It does not come to rest.
    Statics(StaticsError),
    /// The run does not start, or does not get there.
    Run(StartError),
}

impl fmt::Display for AboutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AboutError::Assembly(e) => write!(f, "{e}"),
            AboutError::Statics(e) => write!(f, "{e}"),
            AboutError::Run(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for AboutError {}

/// The state with its accelerations and reactions, and which it is: unless it is said, the start if it moves, else the
/// equilibrium. A time is reached with these options.
pub fn operating_point(
    system: &Arc<System>,
    about: Option<About>,
    options: &Options,
) -> Result<(Point, About), AboutError> {
    refuse_fmus(system).map_err(AboutError::Statics)?;
    let start = || Machine::from(system).assemble().map(|start| start.point).map_err(AboutError::Assembly);
    if let Some(About::Time(t)) = about.filter(|about| *about != About::Time(0.0)) {
        return Ok((reached(system, options, t)?, About::Time(t)));
    }
    let start = start()?;
    let about = about.unwrap_or(match moves(&**system, &start) {
        true => About::Start,
        false => About::Equilibrium,
    });
    if about != About::Equilibrium {
        return Ok((start, about));
    }
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let found = equilibrium(&dynamics, &start).map_err(AboutError::Statics)?;
    Ok((found.point, about))
}

/// The state that a run with these options reaches.
fn reached(system: &Arc<System>, options: &Options, t: f64) -> Result<Point, AboutError> {
    let options = Options { until: t, ..options.clone() };
    let mut simulation = super::begin::simulation(system, options).map_err(AboutError::Run)?;
    if let Status::Failed(e) = simulation.run(&mut Silent).status {
        return Err(AboutError::Run(e.into()));
    }
    let mut point = Point::at(simulation.state(), system.layout());
    let mut w = system.workspace();
    let failed = |_| AboutError::Run(crate::engines::StepError::Singular { t, culprit: "the model".into() }.into());
    Kkt::new(system.clone()).complete(&mut point, &mut w).map_err(failed)?;
    Ok(point)
}
