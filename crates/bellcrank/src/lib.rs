//! Multibody dynamics: describe bodies, joints and forces, and get the motion with the evidence that it is right.
//!
//! This crate is the library's front door, and with the feature `cli` (on by default) the program `bellcrank`. A library user
//! who wants the solver alone leaves the default features out.
//!
//! # A pendulum
//!
//! ```
//! use bellcrank::{Body, GROUND, Model, Options, Silent, Simulation, joints::Distance};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut m = Model::planar("pendulum").gravity([0.0, -9.81]);
//! let bob = m.body("bob", Body::new().mass(1.5).at([0.8, 0.0]));
//! m.joint("rod", Distance::new([GROUND, bob]).at([[0.0, 0.0], [0.8, 0.0]]));
//!
//! let mut simulation = Simulation::new(m.read()?, Options { until: 10.0, rtol: 1e-8, ..Options::default() })?;
//! let summary = simulation.run(&mut Silent);
//! println!("x = {:?} m after {} steps", summary.last.get("bob.x"), summary.statistics.steps);
//! assert!(summary.drift.position < 1e-12 && summary.energy.largest_error < 1e-4);
//! # Ok(()) }
//! ```
//!
//! # A controller in the loop
//!
//! A named input is a number that forces and drives may use, and that can be set while the run goes on. Channels are read by
//! handle.
//!
//! ```
//! use bellcrank::{Body, GROUND, Model, Options, Rod, Simulation, Start, forces, joints::Revolute};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut m = Model::planar("arm").gravity([0.0, -9.81]);
//! let torque = m.input("torque", 0.0);
//! let arm = m.body("arm", Body::new().rod(Rod::new([0.0, 0.0], [1.0, 0.0]).mass(2.0)));
//! let pin = m.joint("pin", Revolute::new((GROUND, &arm)).at([0.0, 0.0]));
//! m.force("motor", forces::JointActuator::new(&pin, torque));
//! m.start(&pin, Start::new().angle(-0.5));
//!
//! let mut run = Simulation::new(m.read()?, Options { until: 3.0, ..Options::default() })?;
//! let (angle, rate) = (run.channel("pin.angle").unwrap(), run.channel("pin.rate").unwrap());
//! let motor = run.input("torque").unwrap();
//! for k in 1..=3000 {
//!     let (angle, rate) = (run.value(angle)?, run.value(rate)?);
//!     run.set_input(motor, 9.81 * angle.cos() - 40.0 * angle - 10.0 * rate)?;
//!     run.advance_to(1e-3 * f64::from(k))?;
//! }
//! assert!(run.value(angle)?.abs() < 1e-3);
//! # Ok(()) }
//! ```
//!
//! # Where things are
//!
//! | to | use |
//! |---|---|
//! | describe a machine | [`Model`] with [`bodies`], [`joints`], [`forces`]; or a file: [`read_model`], [`read_text`] |
//! | begin elsewhere than drawn | [`begin`]: in an equilibrium, or where another run ended |
//! | run it | [`Simulation::run`] with a [`Recorder`]: [`Memory`], [`ColumnMemory`], [`results::Folder`], or your own |
//! | step it | [`Simulation::step`], [`Simulation::advance_to`], [`Simulation::set_input`], [`Simulation::exchange`] |
//! | go back | [`Simulation::save`], [`Simulation::restore`] |
//! | ask it | [`Simulation::value`], [`Simulation::accelerations`], [`Simulation::mass_matrix`], [`Simulation::reactions`] |
//! | choose how | [`Options`], and [`choices`] for all that can be chosen; [`Simulation::plan`] tells what was decided and why |
//! | bring equations of your own | [`Equations`] and [`HandWritten`], or [`Dynamics`] |
//! | analyse | [`analyses`]: equilibria, modes, inverse dynamics; [`check`] |
//! | run it many times, with other values | [`study`] |
//! | join models that others own | [`glue`] |
//! | read URDF, MJCF or SDF | [`robots`] |
//! | run an FMU of another tool beside a model | `[fmu.NAME]` of a model file; [`set_fmu_host`] names the program it runs in |
//!
//! Quantities are in SI units. Errors tell what is wrong, where (the element and key that you wrote) and what to try.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod fmu;
pub mod places;

pub use bellcrank_glue as glue;
pub use bellcrank_results as results;
pub use bellcrank_robots as robots;
pub use bellcrank_study as study;

pub use bellcrank_model::build::bodies::{Body, Rod, Start};
pub use bellcrank_model::build::{GROUND, Model, bodies, forces, joints};
pub use bellcrank_model::dynamics::{Dynamics, Point, State};
pub use bellcrank_model::file::Report;
pub use bellcrank_model::hand_written::{Equations, HandWritten};
pub use bellcrank_model::read::{Read, read_model, read_text};
pub use bellcrank_model::system::System;

pub use bellcrank_solve::choices::{self, ChoiceError, FormulationKind, MethodName, Options};
pub use bellcrank_solve::engines::StepError;
pub use bellcrank_solve::guest::set_host as set_fmu_host;
pub use bellcrank_solve::plan::Plan;
pub use bellcrank_solve::record::{ColumnMemory, Header, Memory, Recorder, RunReport, Silent, Tee};
pub use bellcrank_solve::run::{ChannelId, InputId, Machine, SavedState, Simulation, StartError, StepTaken, Summary};
pub use bellcrank_solve::{analyses, begin, check};
