//! What a user chooses: method, formulation, iteration, test, steps and tolerances.

mod error;
mod formulation;
mod method;
mod options;
mod presets;
mod rules;
mod words;

pub use error::{Change, ChoiceError, Origin, Suggestion, UnknownWord, Voice, Why, advice};
pub use formulation::FormulationKind;
pub use method::{Family, METHODS, MethodName, MethodRow};
pub use options::{MethodParameters, Options, Resources, Testing};
pub use presets::{LOW_ORDER, PRESETS, Preset, SPLITTINGS, method_names};
pub use rules::MAX_ITERATES;
pub use words::{Coordinates, ErrorBudget, ErrorScope, Solver, Tested};
