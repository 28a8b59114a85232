//! Choices of the papers under their own names.

use super::formulation::FormulationKind;
use super::method::MethodName;
use super::options::Options;
use super::words::{ErrorBudget, ErrorScope, StepControl, Tested};
use crate::newton::Iteration;

/// A method on a formulation, with what a paper runs it with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// The method.
    pub method: MethodName,
    /// The formulation.
    pub formulation: FormulationKind,
    /// The highest order of BDF, if the paper limits it.
    pub max_order: Option<usize>,
    /// The iteration, the test and its scope, if the paper chooses them.
    pub newton: Option<(Iteration, Tested, ErrorScope)>,
    /// The control of the steps.
    pub control: StepControl,
}

const fn low_order(name: &'static str, method: MethodName, formulation: FormulationKind) -> Preset {
    Preset { name, method, formulation, max_order: Some(2), newton: None, control: StepControl::Own }
}

const fn splitting(name: &'static str, iteration: Iteration, test: Tested, scope: ErrorScope) -> Preset {
    let newton = Some((iteration, test, scope));
    let (method, formulation) = (MethodName::Bdf, FormulationKind::Ggl);
    Preset { name, method, formulation, max_order: None, newton, control: StepControl::Own }
}

/// The same with DASSL's control, as the papers ran it.
const fn dassl(name: &'static str, iteration: Iteration, test: Tested, scope: ErrorScope) -> Preset {
    Preset { control: StepControl::Dassl, ..splitting(name, iteration, test, scope) }
}

/// All presets: the integrators of [Negrut, Jay & Khude 2009], then those of [Yen & Petzold 1998], with our control and with DASSL's.
pub const PRESETS: &[Preset] = &[
    low_order("nstiff", MethodName::Bdf, FormulationKind::Index3),
    low_order("newmark", MethodName::Newmark, FormulationKind::Index3),
    low_order("hht-i3", MethodName::Hht, FormulationKind::Index3),
    low_order("nstiff-si2", MethodName::Bdf, FormulationKind::Si2),
    low_order("hht-add", MethodName::Hht, FormulationKind::Additive),
    low_order("hht-si2", MethodName::Hht, FormulationKind::Si2),
    splitting("cs", Iteration::CoordinateSplit, Tested::QV, ErrorScope::Independent),
    splitting("cm", Iteration::CoordinateModified, Tested::QV, ErrorScope::Independent),
    splitting("ggl", Iteration::Simplified, Tested::All, ErrorScope::All),
    splitting("ggl-star", Iteration::Simplified, Tested::QV, ErrorScope::All),
    dassl("dassl-cs", Iteration::CoordinateSplit, Tested::QV, ErrorScope::Independent),
    dassl("dassl-cm", Iteration::CoordinateModified, Tested::QV, ErrorScope::Independent),
    dassl("dassl-ggl", Iteration::Simplified, Tested::All, ErrorScope::All),
    dassl("dassl-ggl-star", Iteration::Simplified, Tested::Q, ErrorScope::All),
];

/// The integrators of [Negrut, Jay & Khude 2009].
pub const LOW_ORDER: &[Preset] = PRESETS.split_at(6).0;

/// The methods of the papers on coordinate splitting [Yen & Petzold 1998].
pub const SPLITTINGS: &[Preset] = PRESETS.split_at(6).1.split_at(4).0;

impl Preset {
    /// The preset of a name.
    pub fn by_name(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|p| p.name == name)
    }

    /// Sets what it chooses.
    pub fn apply(&self, options: &mut Options) {
        options.method = self.method;
        // papers test every step
        options.testing.budget = ErrorBudget::Told;
        options.testing.control = self.control;
        options.formulation = Some(self.formulation);
        if let Some(order) = self.max_order {
            options.parameters.max_order = order;
        }
        if let Some((iteration, test, scope)) = self.newton {
            options.iteration = Some(iteration);
            (options.testing.test, options.testing.scope) = (Some(test), scope);
        }
    }
}

/// The names of all methods, then those of presets that are no method's.
pub fn method_names() -> Vec<&'static str> {
    let presets = PRESETS.iter().map(|p| p.name).filter(|name| MethodName::by_name(name).is_none());
    MethodName::names().into_iter().chain(presets).collect()
}

/// The names of all presets.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|p| p.name).collect()
}
