//! `modelDescription.xml` of both versions, from one table of attributes.

use super::Fmu;
use super::units::base_unit;
use crate::interface::{Named, Variable, Version, token};
use std::fmt::Write;

/// Text as it may stand in an attribute.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // no XML can hold other control characters
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn attribute(key: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {key}=\"{}\"", xml(value)) }
}

/// What the standard calls a variable: causality, variability, initial.
fn role(variable: Variable, fmu: &Fmu) -> [&'static str; 3] {
    match variable {
        Variable::Time => ["independent", "continuous", ""],
        Variable::Parameter(k) if fmu.interface.parameters[k].calculated => {
            ["calculatedParameter", "fixed", "calculated"]
        }
        Variable::Parameter(_) => ["parameter", "fixed", "exact"],
        Variable::Input(_) => ["input", "continuous", ""],
        Variable::Output(_) => ["output", "continuous", "calculated"],
        Variable::State(_) | Variable::Derivative(_) | Variable::Indicator(_) => ["local", "continuous", "calculated"],
    }
}

/// Outputs of models with more states do not tell what they depend on.
const MOST_NEEDS: usize = 300;

impl Fmu {
    /// A name that is an identifier of C, as importers want it.
    pub fn identifier(&self) -> String {
        let name: String = self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        match name.chars().next() {
            Some(first) if !first.is_ascii_digit() => name,
            _ => format!("m_{name}"),
        }
    }

    /// The same for the same model and interface: a library checks that it runs what it was described with.
    pub fn token(&self) -> String {
        token(&self.text, &self.export.to_string())
    }

    fn unit(&self, variable: Variable) -> &str {
        match variable {
            Variable::Time => "s",
            Variable::Parameter(k) => &self.interface.parameters[k].unit,
            Variable::Input(k) => &self.interface.inputs[k].unit,
            Variable::Output(k) => &self.interface.outputs[k].unit,
            _ => "",
        }
    }

    fn doc(&self, variable: Variable) -> String {
        let (n, nz) = (self.export.n, self.export.nz);
        match variable {
            Variable::Parameter(k) => self.interface.parameters[k].doc.clone(),
            Variable::Input(k) => self.interface.inputs[k].doc.clone(),
            Variable::State(k) if k < n => format!("coordinate {} of {n}", k + 1),
            Variable::State(k) if k < 2 * n => format!("velocity {} of {n}", k - n + 1),
            Variable::State(k) => format!("state {} of {nz} of forces and controllers", k - 2 * n + 1),
            Variable::Indicator(_) => "positive while no mode of a force changes".into(),
            _ => String::new(),
        }
    }

    /// The start value, where the importer may set one.
    fn start(&self, variable: Variable) -> Option<f64> {
        let of = |named: &Named| (!named.calculated).then_some(named.start);
        match variable {
            Variable::Parameter(k) => of(&self.interface.parameters[k]),
            Variable::Input(k) => of(&self.interface.inputs[k]),
            _ => None,
        }
    }

    /// `modelDescription.xml`.
    pub fn description(&self, version: Version) -> String {
        let two = version == Version::Two;
        let (number, token_name) = if two { ("2.0", "guid") } else { ("3.0", "instantiationToken") };
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let tool = concat!("Bellcrank ", env!("CARGO_PKG_VERSION"));
        let _ = write!(
            out,
            "<fmiModelDescription fmiVersion=\"{number}\" modelName=\"{}\" {token_name}=\"{}\" generationTool=\"{tool}\" \
             variableNamingConvention=\"flat\"",
            xml(&self.name),
            self.token(),
        );
        if two {
            let _ = write!(out, " numberOfEventIndicators=\"{}\"", self.interface.indicators);
        }
        out += ">\n";
        self.add_kinds(version, &mut out);
        self.add_units(&mut out);
        out += "  <LogCategories>\n    <Category name=\"logStatusError\" description=\"what failed, and why\"/>\n    \
                <Category name=\"logEvents\" description=\"impacts, stops, friction that sticks\"/>\n  </LogCategories>\n";
        let [until, step, tolerance] = self.experiment;
        let _ = writeln!(
            out,
            "  <DefaultExperiment startTime=\"0\" stopTime=\"{until}\" tolerance=\"{tolerance:?}\" stepSize=\"{step}\"/>",
        );
        self.add_variables(version, &mut out);
        self.add_structure(version, &mut out);
        out + "</fmiModelDescription>\n"
    }

    fn add_kinds(&self, version: Version, out: &mut String) {
        let identifier = self.identifier();
        // the same things have other names in the two versions
        let (shared, exchange, steps) = match version {
            Version::Two => (
                "canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\" providesDirectionalDerivative=\"true\" \
                 canNotUseMemoryManagementFunctions=\"true\"",
                "",
                "canHandleVariableCommunicationStepSize=\"true\"",
            ),
            Version::Three => (
                "canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\" providesDirectionalDerivatives=\"true\"",
                "needsCompletedIntegratorStep=\"true\"",
                "canHandleVariableCommunicationStepSize=\"true\" providesIntermediateUpdate=\"true\" \
                 mightReturnEarlyFromDoStep=\"true\" canReturnEarlyAfterIntermediateUpdate=\"true\" hasEventMode=\"true\"",
            ),
        };
        if self.export.kinds.model_exchange {
            let _ = writeln!(out, "  <ModelExchange modelIdentifier=\"{identifier}\" {shared} {exchange}/>");
        }
        if self.export.kinds.co_simulation {
            let _ = writeln!(out, "  <CoSimulation modelIdentifier=\"{identifier}\" {shared} {steps}/>");
        }
    }

    fn add_units(&self, out: &mut String) {
        let variables = self.interface.list();
        let mut units: Vec<&str> = variables.iter().map(|v| self.unit(*v)).filter(|unit| !unit.is_empty()).collect();
        units.sort_unstable();
        units.dedup();
        *out += "  <UnitDefinitions>\n";
        for unit in units {
            let _ = match base_unit(unit).as_str() {
                "" => writeln!(out, "    <Unit name=\"{}\"/>", xml(unit)),
                base => writeln!(out, "    <Unit name=\"{}\">{base}</Unit>", xml(unit)),
            };
        }
        *out += "  </UnitDefinitions>\n";
    }

    fn add_variables(&self, version: Version, out: &mut String) {
        *out += "  <ModelVariables>\n";
        let variables = self.interface.list();
        let first_state = variables.iter().position(|v| *v == Variable::State(0)).unwrap_or(0);
        for (reference, variable) in variables.into_iter().enumerate() {
            let [causality, variability, initial] = role(variable, self);
            let head = [
                attribute("name", &self.interface.name(variable)),
                format!(" valueReference=\"{reference}\""),
                attribute("description", &self.doc(variable)),
                attribute("causality", causality),
                attribute("variability", variability),
                attribute("initial", initial),
            ]
            .concat();
            let mut number = attribute("unit", self.unit(variable));
            if let Some(start) = self.start(variable) {
                let _ = write!(number, " start=\"{start:?}\"");
            }
            match variable {
                // states jump at events, and where a rotation gets another centre
                Variable::State(_) => number += " reinit=\"true\"",
                // FMI 2 counts variables from 1, FMI 3 has value references
                Variable::Derivative(k) => {
                    let of = first_state + k + usize::from(version == Version::Two);
                    let _ = write!(number, " derivative=\"{of}\"");
                }
                _ => {}
            }
            let _ = match version {
                Version::Two => writeln!(out, "    <ScalarVariable{head}><Real{number}/></ScalarVariable>"),
                Version::Three => writeln!(out, "    <Float64{head}{number}/>"),
            };
        }
        *out += "  </ModelVariables>\n";
    }

    fn add_structure(&self, version: Version, out: &mut String) {
        let variables = self.interface.list();
        let unknown = |v: &Variable| role(*v, self)[2] == "calculated";
        let lists: [(&str, &str, &dyn Fn(&Variable) -> bool); 4] = [
            ("Outputs", "Output", &|v| matches!(v, Variable::Output(_))),
            ("Derivatives", "ContinuousStateDerivative", &|v| matches!(v, Variable::Derivative(_))),
            ("InitialUnknowns", "InitialUnknown", &|v| unknown(v) && !matches!(v, Variable::Indicator(_))),
            ("", "EventIndicator", &|v| matches!(v, Variable::Indicator(_))),
        ];
        // FMI 2 counts variables from 1, FMI 3 has value references
        let first = usize::from(version == Version::Two);
        let states = (0..variables.len()).filter(|r| matches!(variables[*r], Variable::State(_)));
        let states: Vec<String> = states.map(|r| (r + first).to_string()).collect();
        let needs = |r: usize| match variables[r] {
            // long lists say little
            Variable::Output(k) if self.interface.outputs[k].of_state && states.len() < MOST_NEEDS => {
                format!(" dependencies=\"{}\"", states.join(" "))
            }
            _ => String::new(),
        };
        *out += "  <ModelStructure>\n";
        for (two, three, holds) in lists {
            let references: Vec<usize> = (0..variables.len()).filter(|r| holds(&variables[*r])).collect();
            if references.is_empty() || version == Version::Two && two.is_empty() {
                continue;
            }
            match version {
                Version::Two => {
                    let _ = writeln!(out, "    <{two}>");
                    references.iter().for_each(|r| {
                        let needs = if two == "Outputs" { needs(*r) } else { String::new() };
                        let _ = writeln!(out, "      <Unknown index=\"{}\"{needs}/>", r + 1);
                    });
                    let _ = writeln!(out, "    </{two}>");
                }
                Version::Three => references.iter().for_each(|r| {
                    let needs = if three == "Output" { needs(*r) } else { String::new() };
                    let _ = writeln!(out, "    <{three} valueReference=\"{r}\"{needs}/>");
                }),
            }
        }
        *out += "  </ModelStructure>\n";
    }
}
