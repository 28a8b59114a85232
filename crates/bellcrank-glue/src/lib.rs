//! Gluing: parts that keep their own model and their own solver, joined at their joints.
//!
//! A part is a [`Subdomain`]: it takes loads on its ports, tries a window of time from its last commit, and answers
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
mod compare;
mod coordinator;
mod cut;
mod fmu_part;
mod fmu_port;
mod foresee;
mod gauss_part;
mod in_step;
mod interface;
mod options;
mod own_solver;
mod part_system;
mod port;
mod run;
mod sampling;
mod subdomain;
mod summary;

pub use assembly::{
    Assembly, Part, PartSource, Remote, RemoteEntry, parts_of, read_assembly, read_assembly_at, read_assembly_with,
    read_part_model,
};
pub use checkpoint::{Checkpoints, PARTS_FILE, Watch};
pub use compare::{CutRun, CutRunError, Difference, run_cut, run_cut_within};
pub use coordinator::{Coordinator, INTERFACE_FILE};
pub use cut::{Cut, CutError, PartModel, Solver, cut};
pub use fmu_part::{FmuFile, FmuPart};
pub use gauss_part::GaussPart;
pub use in_step::InStep;
pub use interface::Interface;
pub use options::{
    COUPLINGS, Coupling, GlueError, GlueOptions, GlueReport, GluedRunError, INSIDE, Lag, Levels, Relaxed,
};
pub use own_solver::OwnSolver;
pub use port::{Port, PortMotion, WIDTH};

pub use run::{GluedProgress, GluedSimulation};
pub use subdomain::{
    Admittance, Corrected, Correction, Description, PartError, PartResponse, Subdomain, Traffic, Upcoming, Window,
    write_whole,
};
pub use summary::{ExchangeCounts, GluedStatus, GluedSummary, NetworkSummary, PartSummary};
