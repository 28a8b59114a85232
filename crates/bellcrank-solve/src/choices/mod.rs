//! What a user chooses: method, formulation, iteration, test, steps and tolerances.
//!
//! [`CHOICES`] has one entry per option. From it come the keys of `[solve]`, the flags of the command line, the schema, the
//! reference and the words of every message. [`resolve`] makes [`Options`] of what a file and arguments say; a choice that
//! makes no sense is a [`ChoiceError`], which a [`Voice`] puts into words.

mod error;
mod formulation;
mod method;
mod options;
mod presets;
mod resolve;
mod rules;
mod table;
mod words;

pub use error::{Change, ChoiceError, Origin, Suggestion, UnknownWord, Voice, Why, advice};
pub use formulation::FormulationKind;
pub use method::{Family, METHODS, MethodName, MethodRow};
pub use options::{EQUILIBRIUM, MethodParameters, Options, Resources, Testing};
pub use presets::{LOW_ORDER, PRESETS, Preset, SPLITTINGS};
pub use resolve::{Said, in_file, resolve, traced, understood};
pub use rules::MAX_ITERATES;
pub use table::{CHOICES, Choice, Set, choice, fields};
pub use words::{Coordinates, ErrorBudget, ErrorScope, Solver, SrmStart, SrmTree, StepControl, Tested};
