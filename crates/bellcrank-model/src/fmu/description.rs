//! `modelDescription.xml`: what an FMU has, as far as its importer needs to know.

use super::{Archive, Version, archive, platform};
use crate::file::suggest::{self, quoted};
use roxmltree::{Document, Node};
use serde::{Deserialize, Serialize};

/// The type of a variable: which functions of the standard read and write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // they are named as in the standard
pub enum Type {
    Float64,
    Float32,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Boolean,
    Text,
}

impl Type {
    /// Whether its values are whole numbers.
    pub fn is_whole(self) -> bool {
        !matches!(self, Type::Float64 | Type::Float32 | Type::Text)
    }
}

/// The elements of variables: names of FMI 2.0, then those of FMI 3.0.
const TYPES: [(&str, Type); 17] = [
    ("Real", Type::Float64),
    ("Integer", Type::Int32),
    ("Boolean", Type::Boolean),
    ("String", Type::Text),
    ("Enumeration", Type::Int32),
    ("Float64", Type::Float64),
    ("Float32", Type::Float32),
    ("Int8", Type::Int8),
    ("UInt8", Type::UInt8),
    ("Int16", Type::Int16),
    ("UInt16", Type::UInt16),
    ("Int32", Type::Int32),
    ("UInt32", Type::UInt32),
    ("Int64", Type::Int64),
    ("UInt64", Type::UInt64),
    ("Binary", Type::Text),
    ("Clock", Type::Text),
];

/// What a variable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causality {
    /// Set before the start.
    Parameter,
    /// Set at every exchange.
    Input,
    /// Read at every exchange.
    Output,
    /// Neither.
    Local,
}

/// A variable of an FMU.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What the functions of the standard call it.
    pub reference: u32,
    /// Its type; none for arrays, binaries and clocks.
    pub of: Option<Type>,
    /// What it is for.
    pub causality: Causality,
    /// Whether its start value may be set.
    pub settable: bool,
    /// Whether it may change at any time, and not at events alone.
    pub continuous: bool,
    /// Its unit, as it stands.
    pub unit: String,
    /// Its value at the start, where the file tells one.
    pub start: f64,
}

/// Variables that belong together where machines are joined.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// Its name.
    pub name: String,
    /// Names of its members, and of the variables that they are.
    pub members: Vec<(String, String)>,
}

/// A continuous state of model exchange, as far as the file tells of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeState {
    /// The value reference of its derivative.
    pub derivative: Option<u32>,
    /// The number of its variable.
    pub variable: Option<usize>,
}

/// What the file of a model exchange says about its equations.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeFacts {
    /// Its continuous states.
    pub states: Vec<ExchangeState>,
    /// How many event indicators it has.
    pub indicators: usize,
    /// Whether it tells derivatives along a direction.
    pub directional: bool,
    /// The numbers of the outputs that depend on no input, as far as the file tells.
    pub free: Vec<usize>,
    /// Whether it wants to be told of every step that was accepted.
    pub completes: bool,
}

/// What a description says.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The version of the standard.
    pub version: Version,
    /// What the library wants to be shown.
    pub token: String,
    /// The library, in the archive.
    pub library: String,
    /// Its variables, in the order of the file.
    pub variables: Vec<Variable>,
    /// Its terminals.
    pub terminals: Vec<Terminal>,
    /// Of model exchange: what there is to integrate. Co-simulation comes first where there are both.
    pub exchange: Option<ExchangeFacts>,
    /// Whether its state can be taken and set.
    pub goes_back: bool,
    /// Whether its state can be taken, set and written.
    pub keeps_state: bool,
    /// Whether its steps may differ in size.
    pub varies_step: bool,
    /// The step that its communication step must be a multiple of, in s.
    pub inner_step: Option<f64>,
    /// The communication step that it suggests, in s.
    pub step: Option<f64>,
}

impl Description {
    /// What the description of an archive says; or why the FMU cannot be used.
    pub fn of(archive: &Archive) -> Result<Description, String> {
        Description::of_kind(archive, ["CoSimulation", "ModelExchange"])
    }

    /// The same of its model exchange, where it has one.
    pub fn of_exchange(archive: &Archive) -> Result<Description, String> {
        Description::of_kind(archive, ["ModelExchange", "CoSimulation"])
    }

    fn of_kind(archive: &Archive, kinds: [&str; 2]) -> Result<Description, String> {
        let mut description = Description::parse(&archive.description()?, kinds)?;
        if let Some(text) = archive.terminals()? {
            description.terminals = terminals(&text)?;
        }
        let identifier = description.identifier().to_string();
        if archive.has_library(description.version, &identifier) {
            return Ok(description);
        }
        let here = platform(description.version);
        let others: Vec<String> = archive.platforms().into_iter().filter(|p| *p != here).collect();
        Err(match others.is_empty() {
            true => format!("has no library for {here} (`{}`)", description.library),
            false => format!("has no library for {here}; there are libraries for {}", others.join(", ")),
        })
    }

    fn identifier(&self) -> &str {
        self.library.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map_or("", |(stem, _)| stem)
    }

    fn parse(text: &str, kinds: [&str; 2]) -> Result<Description, String> {
        let tree = Document::parse(text).map_err(|e| format!("has a `modelDescription.xml` that is no XML: {e}"))?;
        let root = tree.root_element();
        let version = match root.attribute("fmiVersion").unwrap_or_default() {
            v if v == "2.0" || v.starts_with("2.0.") => Version::Two,
            v if v == "3.0" || v.starts_with("3.0") => Version::Three,
            v => return Err(format!("is of FMI {}, and FMI 2.0 and 3.0 are known", quoted(v))),
        };
        let of_kind = |name: &str| root.children().find(|n| n.has_tag_name(name));
        let Some(kind) = kinds.into_iter().find_map(of_kind) else {
            return Err("is neither for co-simulation nor for model exchange".into());
        };
        let exchanges = kind.has_tag_name("ModelExchange");
        let identifier = kind.attribute("modelIdentifier").unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if identifier.is_empty() || !identifier.chars().all(is_plain) {
            return Err(format!("has the `modelIdentifier` {}, which names no library", quoted(identifier)));
        }
        if kind.attribute("needsExecutionTool").is_some_and(is_true) {
            return Err("needs the tool that it was made with to run".into());
        }
        let token = if version == Version::Two { "guid" } else { "instantiationToken" };
        let keeps = if version == Version::Two {
            ["canGetAndSetFMUstate", "canSerializeFMUstate"]
        } else {
            ["canGetAndSetFMUState", "canSerializeFMUState"]
        };
        let says = |key: &str| kind.attribute(key).is_some_and(is_true);
        let time = |node: Option<Node>, key: &str| {
            let value: f64 = node?.attribute(key)?.trim().parse().ok()?;
            (value.is_finite() && value > 0.0).then_some(value)
        };
        let experiment = root.children().find(|n| n.has_tag_name("DefaultExperiment"));
        let variables = variables(root)?;
        Ok(Description {
            version,
            token: root.attribute(token).unwrap_or_default().to_string(),
            library: archive::library(version, identifier),
            terminals: Vec::new(),
            exchange: exchanges.then(|| exchange_facts(root, kind, version, &variables)),
            variables,
            goes_back: says(keeps[0]),
            keeps_state: keeps.iter().all(|key| says(key)),
            varies_step: exchanges || says("canHandleVariableCommunicationStepSize"),
            inner_step: time(Some(kind), "fixedInternalStepSize"),
            step: time(experiment, "stepSize"),
        })
    }

    /// The number of a variable; or what to say about a name that is none, or of another use.
    pub fn find(&self, name: &str, of: Causality) -> Result<usize, (String, Option<String>)> {
        let shown = quoted(name);
        let number = self.variables.iter().position(|v| v.name == name);
        let fits = |v: &Variable| match of {
            Causality::Parameter => v.settable,
            _ => v.causality == of && v.of != Some(Type::Text),
        };
        let word = match of {
            Causality::Parameter => "value that can be set",
            Causality::Input => "input",
            _ => "output",
        };
        match number.map(|n| (n, &self.variables[n])) {
            Some((n, v)) if v.of.is_some() && fits(v) => Ok(n),
            Some((_, v)) if v.of.is_none() => Err((format!("{shown} is an array, a clock or a binary"), None)),
            found => {
                let names = || self.variables.iter().filter(|v| v.of.is_some() && fits(v)).map(|v| v.name.as_str());
                let near = suggest::nearest(name, names()).map(|n| format!("did you mean {}?", quoted(n)));
                let article = if word.starts_with('v') { "a" } else { "an" };
                Err(match found {
                    Some(_) => (format!("{shown} is no {word}"), near),
                    None => (format!("has no variable {shown}"), near.or_else(|| some(article, word, names()))),
                })
            }
        }
    }
}

/// A few of the names that there are.
fn some<'a>(article: &str, word: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.take(8).collect();
    (!names.is_empty()).then(|| format!("{article} {word} is {}", suggest::list(names)))
}

fn is_true(text: &str) -> bool {
    matches!(text.trim(), "true" | "1")
}

/// What a file says about the equations of model exchange. Its derivatives are numbers of variables from one in FMI 2.0, and value
/// references in FMI 3.0; so are the states in the attribute `derivative` of these variables.
fn exchange_facts(root: Node, kind: Node, version: Version, variables: &[Variable]) -> ExchangeFacts {
    let list = root.children().find(|n| n.has_tag_name("ModelVariables"));
    let nodes: Vec<Node> = list.map_or(Vec::new(), |list| list.children().filter(Node::is_element).collect());
    let structure = root.children().find(|n| n.has_tag_name("ModelStructure"));
    let children = |of: Option<Node>, name: &str| -> usize {
        of.map_or(0, |of| of.children().filter(|n| n.has_tag_name(name)).count())
    };
    let number = |text: Option<&str>| text.and_then(|n| n.trim().parse::<usize>().ok());
    let of_reference = |reference: usize| variables.iter().position(|v| v.reference as usize == reference);
    let place = |told: usize| if version == Version::Two { told.checked_sub(1) } else { of_reference(told) };
    let (parent, tag, key) = match version {
        Version::Two => {
            (structure.and_then(|s| s.children().find(|n| n.has_tag_name("Derivatives"))), "Unknown", "index")
        }
        Version::Three => (structure, "ContinuousStateDerivative", "valueReference"),
    };
    let state = |node: Node| {
        let rate = number(node.attribute(key)).and_then(place).filter(|rate| *rate < variables.len());
        let of = rate.and_then(|rate| {
            let node = nodes.iter().find(|n| n.attribute("name") == Some(&variables[rate].name))?;
            let mut all = std::iter::once(*node).chain(node.children());
            number(all.find_map(|n| n.attribute("derivative"))).and_then(place)
        });
        let variable = of.filter(|of| *of < variables.len());
        ExchangeState { derivative: rate.map(|rate| variables[rate].reference), variable }
    };
    let states = parent.map_or(Vec::new(), |p| p.children().filter(|n| n.has_tag_name(tag)).map(state).collect());
    let says = |key: &str| kind.attribute(key).map(is_true);
    let (indicators, directional, completes) = match version {
        Version::Two => (
            number(root.attribute("numberOfEventIndicators")).unwrap_or(0),
            says("providesDirectionalDerivative"),
            says("completedIntegratorStepNotNeeded").map(|not| !not).unwrap_or(true),
        ),
        Version::Three => (
            children(structure, "EventIndicator"),
            says("providesDirectionalDerivatives"),
            says("needsCompletedIntegratorStep").unwrap_or(false),
        ),
    };
    let (outputs, tag, key) = match version {
        Version::Two => (structure.and_then(|s| s.children().find(|n| n.has_tag_name("Outputs"))), "Unknown", "index"),
        Version::Three => (structure, "Output", "valueReference"),
    };
    let is_input = |told: &str| {
        let of = number(Some(told)).and_then(place).and_then(|k| variables.get(k));
        of.is_none_or(|v| v.causality == Causality::Input)
    };
    let output = |node: Node| {
        let needs = node.attribute("dependencies")?;
        let free = !needs.split_ascii_whitespace().any(is_input);
        number(node.attribute(key)).and_then(place).filter(|_| free)
    };
    let free =
        outputs.map_or(Vec::new(), |o| o.children().filter(|n| n.has_tag_name(tag)).filter_map(output).collect());
    ExchangeFacts { free, states, indicators, directional: directional.unwrap_or(false), completes }
}

/// The terminals of `terminalsAndIcons.xml` whose members are variables.
fn terminals(text: &str) -> Result<Vec<Terminal>, String> {
    let tree = Document::parse(text).map_err(|e| format!("has a `terminalsAndIcons.xml` that is no XML: {e}"))?;
    let all = tree.root_element().descendants().filter(|n| n.has_tag_name("Terminal"));
    let member = |n: Node| Some((n.attribute("memberName")?.to_string(), n.attribute("variableName")?.to_string()));
    let terminal = |n: Node| {
        let members = n.children().filter(|n| n.has_tag_name("TerminalMemberVariable")).filter_map(member).collect();
        Some(Terminal { name: n.attribute("name")?.to_string(), members })
    };
    Ok(all.filter_map(terminal).collect())
}

fn variables(root: Node) -> Result<Vec<Variable>, String> {
    let Some(list) = root.children().find(|n| n.has_tag_name("ModelVariables")) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for node in list.children().filter(Node::is_element) {
        // FMI 2.0 has the type as an element of its own inside
        let typed = match node.has_tag_name("ScalarVariable") {
            true => node.children().find(|n| TYPES.iter().any(|(name, _)| n.has_tag_name(*name))),
            false => Some(node),
        };
        let (Some(typed), Some(name)) = (typed, node.attribute("name")) else { continue };
        let reference = node.attribute("valueReference").and_then(|r| r.trim().parse().ok());
        let Some(reference) = reference else {
            return Err(format!("has a variable {} without a `valueReference`", quoted(name)));
        };
        found.push(variable(name, reference, node, typed));
    }
    Ok(found)
}

fn variable(name: &str, reference: u32, node: Node, typed: Node) -> Variable {
    let tag = typed.tag_name().name();
    let is_array = typed.children().any(|n| n.has_tag_name("Dimension"));
    let of = TYPES.iter().find(|(name, _)| *name == tag).map(|(_, of)| *of);
    // enumerations are 64 bits wide in FMI 3.0
    let of = of.map(|of| if tag == "Enumeration" && node == typed { Type::Int64 } else { of });
    let of = of.filter(|_| !is_array && !matches!(tag, "Binary" | "Clock"));
    let attribute = |key: &str| node.attribute(key).unwrap_or_default();
    let causality = match attribute("causality") {
        "parameter" | "structuralParameter" => Causality::Parameter,
        "input" => Causality::Input,
        "output" => Causality::Output,
        _ => Causality::Local,
    };
    let start = typed.attribute("start");
    let exact = matches!(attribute("initial"), "exact" | "approx")
        || matches!(causality, Causality::Parameter | Causality::Input);
    let number = |text: &str| match text.trim() {
        "true" => 1.0,
        "false" => 0.0,
        text => text.parse().unwrap_or(0.0),
    };
    Variable {
        name: name.to_string(),
        reference,
        of,
        causality,
        settable: attribute("variability") != "constant" && (exact || start.is_some()),
        continuous: of == Some(Type::Float64) && matches!(attribute("variability"), "" | "continuous"),
        unit: typed.attribute("unit").unwrap_or_default().to_string(),
        start: start.map_or(0.0, number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [&str; 2] = ["CoSimulation", "ModelExchange"];

    const TWO: &str = r#"<fmiModelDescription fmiVersion="2.0" guid="{1}"><CoSimulation modelIdentifier="m" canGetAndSetFMUstate="true"/>
        <DefaultExperiment stepSize="0.01"/><ModelVariables>
        <ScalarVariable name="k" valueReference="3" causality="parameter" variability="fixed"><Real start="2.5" unit="N/m"/></ScalarVariable>
        <ScalarVariable name="on" valueReference="1" causality="input"><Boolean start="true"/></ScalarVariable>
        <ScalarVariable name="y" valueReference="2" causality="output"><Real/></ScalarVariable></ModelVariables></fmiModelDescription>"#;

    #[test]
    fn a_description_of_fmi_2() {
        let d = Description::parse(TWO, BOTH).unwrap();
        assert_eq!((d.version, d.token.as_str(), d.keeps_state, d.step), (Version::Two, "{1}", false, Some(0.01)));
        let k = &d.variables[d.find("k", Causality::Parameter).unwrap()];
        assert_eq!((k.reference, k.start, k.unit.as_str(), k.of), (3, 2.5, "N/m", Some(Type::Float64)));
        assert_eq!(d.variables[1].start, 1.0);
        let (why, help) = d.find("yy", Causality::Output).unwrap_err();
        assert_eq!((why.as_str(), help.as_deref()), ("has no variable `yy`", Some("did you mean `y`?")));
        assert_eq!(d.find("y", Causality::Input).unwrap_err().0, "`y` is no input");
    }

    #[test]
    fn arrays_and_other_versions_are_told_apart() {
        let text = r#"<fmiModelDescription fmiVersion="3.0" instantiationToken="t"><CoSimulation modelIdentifier="m"/><ModelVariables>
            <Float64 name="a" valueReference="1" causality="output"><Dimension start="3"/></Float64>
            <Enumeration name="e" valueReference="2" causality="output"/></ModelVariables></fmiModelDescription>"#;
        let d = Description::parse(text, BOTH).unwrap();
        assert_eq!(d.variables.iter().map(|v| v.of).collect::<Vec<_>>(), [None, Some(Type::Int64)]);
        assert_eq!(d.find("a", Causality::Output).unwrap_err().0, "`a` is an array, a clock or a binary");
        let refused = |text: &str| Description::parse(text, BOTH).unwrap_err();
        assert_eq!(refused(r#"<f fmiVersion="1.0"/>"#), "is of FMI `1.0`, and FMI 2.0 and 3.0 are known");
        assert!(refused(r#"<f fmiVersion="2.0"/>"#).starts_with("is neither for co-simulation nor"));
        assert!(refused(&TWO.replace("=\"m\"", "=\"../m\"")).contains("names no library"));
        assert!(refused("<!DOCTYPE a [<!ENTITY b \"c\">]><a/>").contains("is no XML"));
    }
}
