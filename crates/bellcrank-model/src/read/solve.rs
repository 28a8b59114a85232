//! `[solve]`: defaults of the solver's options, as they stand in the file.

use super::Reader;
use crate::file::*;
use std::collections::HashMap;

/// Keys of `[solve]`: defaults of the options of the same names.
pub const SOLVE: &[Field] = &[
    Field::optional("until", FieldKind::Positive, "s", "1", "end of the simulation"),
    Field::optional("method", FieldKind::Name, "", "auto", "method of integration"),
    Field::optional("formulation", FieldKind::Name, "", "by the method", "form of the equations"),
    Field::optional("iteration", FieldKind::Name, "", "by the method", "Newton's iteration"),
    Field::optional("test", FieldKind::Name, "", "q+v", "which unknowns decide"),
    Field::optional("on", FieldKind::Name, "", "all", "on which coordinates errors are tested"),
    Field::optional(
        "errors",
        FieldKind::Name,
        "",
        "step",
        "`run`: the errors of all steps of BDF share ten tolerances",
    ),
    Field::optional("coordinates", FieldKind::Name, "", "cartesian", "`relative` for joint coordinates on a tree"),
    Field::optional("solver", FieldKind::Name, "", "auto", "what solves for accelerations and reactions"),
    Field::optional("iterates", FieldKind::Count, "", "2", "iterates of sequential regularization"),
    Field::optional("epsilon", FieldKind::Positive, "s", "twice the limit", "ε of sequential regularization"),
    Field::optional("step", FieldKind::Positive, "s", "error control", "fixed step size"),
    Field::optional("rtol", FieldKind::Positive, "", "1e-6", "relative tolerance"),
    Field::optional(
        "atol",
        FieldKind::Positive,
        "SI",
        "none",
        "absolute tolerance, added to `rtol` times the size of the machine",
    ),
    Field::optional("sample", FieldKind::Positive, "s", "a 200th of the run", "distance of recorded samples"),
    Field::optional("max_order", FieldKind::Count, "", "5", "highest order of BDF"),
    Field::optional("max_iterations", FieldKind::Count, "", "by the method", "most Newton iterations per step"),
    Field::optional("rho", FieldKind::NonNegative, "", "0.8", "spectral radius at infinity of generalized-α"),
    Field::optional("alpha", FieldKind::Number, "", "-0.3", "α of HHT, from −1/3 to 0"),
    Field::optional("beta", FieldKind::Positive, "", "(γ + 1/2)²/4", "β of Newmark's method"),
    Field::optional("gamma", FieldKind::Positive, "", "0.6", "γ of Newmark's method, at least 1/2"),
    Field::optional("b", FieldKind::Number, "", "0", "share of the new reactions in the positions of hht-add, not 1/2"),
];

/// `[solve]` as it stands in the file, with places for messages.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Numbers by key.
    pub numbers: HashMap<&'static str, f64>,
    /// Words by key, with their places.
    pub words: HashMap<&'static str, (String, Span)>,
}

impl Reader<'_> {
    pub(super) fn read_solve(&mut self) -> Settings {
        let mut settings = Settings::default();
        if let Some(node) = self.root.get("solve") {
            let values = self.fields(node, "[solve]", &[SOLVE]);
            if let Some(values) = self.problems.take(values) {
                for field in SOLVE {
                    match field.kind {
                        FieldKind::Name => {
                            if let Some(word) = values.optional_name(field.name) {
                                settings.words.insert(field.name, (word.name.to_string(), word.span));
                            }
                        }
                        _ if !values.has(field.name) => {}
                        FieldKind::Count => {
                            settings
                                .numbers
                                .extend(values.optional_integer(field.name).map(|x| (field.name, x as f64)));
                        }
                        _ => settings.numbers.extend(values.optional_number(field.name).map(|x| (field.name, x))),
                    }
                }
            }
        }
        settings
    }
}
