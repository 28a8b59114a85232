//! FMI 2.0 and 3.0: models of Bellcrank as FMUs for other tools, and the process that FMUs of other tools run in.
//!
//! An FMU is an archive with a description (`modelDescription.xml`), a library and resources. The library is this crate,
//! compiled as a `cdylib`: it has the functions of both versions of the standard, for co-simulation and model exchange, and
//! reads the model from the resources. One library thus serves every model, and nobody needs a compiler.
//!
//! ```text
//!  model.toml ──export/──► Export, Interface ──export/describe──► modelDescription.xml ─┐
//!                                                                    this library ──────┼─export/pack──► model.fmu
//!                                                     resources: model.toml, fmu.txt ───┘
//!
//!  importer ──abi/──► Instance ──► Motion: co-simulation (run/mod.rs), model exchange (run/exchange.rs)
//! ```
//!
//! Sources: FMI 2.0.4 and FMI 3.0.2, <https://fmi-standard.org>.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod abi;
pub mod export;
#[cfg(unix)]
pub mod host;
mod instance;
mod interface;
mod run;

pub use export::{ExportError, Fmu};
pub use interface::{Export, Interface, Kinds, Named, Variable, Version};
