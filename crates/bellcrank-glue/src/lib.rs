//! Gluing: parts that keep their own model and their own solver, joined at their joints.
//!
//! A part is a [`Subdomain`]: it takes loads on its ports, tries a window of time from its last commit, and tells
//! how its ports moved and how they would move under other loads. The [`Coordinator`] sees nothing else: it
//! finds the loads with which the joints between the ports hold [Tseng & Hulbert 2001], and commits the window.
//!
//! ```text
//!     parts         M v̇ = f − Gᵀλ + Bᵀℓ,   g = 0           each with its own solver
//!     interface     ℓ = F(q, v) − Γᵀλ,   Φ(q) = 0, Φ̇ = 0    q, v: the motion of the ports
//! ```
//!
//! The interface is a model like any other, with the ports as its bodies: every joint and every force of the
//! catalog can stand in it.

mod assembly;
mod checkpoint;
mod coordinator;
mod foresee;
mod in_step;
mod interface;
mod options;
mod own_solver;
mod port;
mod split;
mod subdomain;

pub use assembly::{Address, Assembly, Part, Remote, Source, read_assembly, read_assembly_with, read_piece};
pub use checkpoint::{Checkpoints, Watch};
pub use coordinator::Coordinator;
pub use in_step::InStep;
pub use interface::Interface;
pub use options::{COUPLINGS, Coupling, GlueError, GlueOptions, INSIDE, Levels, Report};
pub use own_solver::OwnSolver;
pub use port::{Motion, Port, WIDTH};
pub use split::{Cut, Piece, Solver, SplitError, cut};
pub use subdomain::{Admittance, Description, PartError, Response, Subdomain, Traffic, Upcoming, Window, write_whole};
