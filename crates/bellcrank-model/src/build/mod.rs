//! Writing a model in Rust: one documented type for every kind of body, joint and force.
//!
//! The model file is the one description of a machine. The types here are a typed front for it: each element becomes a
//! section of keys and values, and [`Model::read`] hands the text to the same reader as a file. So all checks, messages and
//! defaults are those of the file, and [`Model::to_toml`] is a file that reads back the same.
//!
//! ```
//! use bellcrank_model::build::{GROUND, Model, bodies::Body, joints::Distance};
//!
//! let mut m = Model::planar("pendulum").gravity([0.0, -9.81]);
//! let length = m.parameter("length", 0.8);
//! let bob = m.body("bob", Body::new().mass(1.5).at([length.clone(), 0.0.into()]));
//! m.joint("rod", Distance::new([GROUND, bob]).at([["0", "0"], ["length", "0"]]));
//!
//! let read = m.read().unwrap();
//! assert_eq!(read.model.bodies.len(), 1);
//! assert!(m.to_toml().contains("[joint.rod]\ntype = \"distance\"\nbetween = [\"ground\", \"bob\"]"));
//! ```
//!
//! A mistake is told as it would be in a file, with the element's name and key:
//!
//! ```
//! use bellcrank_model::build::{Model, bodies::Body};
//!
//! let mut m = Model::planar("top-heavy");
//! m.body("bob", Body::new().mass(-1.5));
//! let report = m.read().err().unwrap();
//! assert!(report.to_string().contains("body `bob`"));
//! ```
//!
//! A file that was read can be changed and written again, without its comments: [`Model::open`].
//!
//! The types of [`bodies`], [`joints`] and [`forces`] are generated from the catalogs that read the file; their fields, units
//! and defaults are those of the reference.

pub mod bodies;
pub mod forces;
pub mod joints;
mod parse;
mod toml;
pub mod value;

use crate::file::Report;
use crate::read::{Read, read_text};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use value::Value;
pub use value::{Bodies, BodyRef, JointRef, Joints, Matrix, Numbers, Orientation, Pairs, Points, Scalar, Text, Vector};

/// The fixed world, in the place of a body.
pub const GROUND: BodyRef = BodyRef::ground();

/// Defines the type of one kind of element: its required fields are the arguments of `new`, the optional ones have
/// methods of their names. The calls are generated.
macro_rules! element {
    (
        $(#[$doc:meta])*
        $role:ident $name:ident $kind:tt
        required { $($(#[$rdoc:meta])* $rfield:ident: $rtype:ty = $rkey:literal,)* }
        optional { $($(#[$odoc:meta])* $ofield:ident: $otype:ty = $okey:literal,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$rdoc])* pub $rfield: $rtype,)*
            $($(#[$odoc])* pub $ofield: Option<$otype>,)*
        }

        impl $name {
            /// With all that it needs; the rest has defaults.
            #[allow(clippy::new_without_default)]
            pub fn new($($rfield: impl Into<$rtype>),*) -> $name {
                $name { $($rfield: $rfield.into(),)* $($ofield: None,)* }
            }
            $(
                $(#[$odoc])*
                pub fn $ofield(mut self, $ofield: impl Into<$otype>) -> $name {
                    self.$ofield = Some($ofield.into());
                    self
                }
            )*
        }

        impl $crate::build::Element for $name {
            const KIND: Option<&'static str> = $crate::build::element!(@kind $kind);
            fn entries(&self) -> Vec<(&'static str, $crate::build::value::Value)> {
                let all: Vec<Option<(&'static str, $crate::build::value::Value)>> = vec![
                    $(Some(($rkey, self.$rfield.clone().into())),)*
                    $(self.$ofield.clone().map(|value| ($okey, value.into())),)*
                ];
                all.into_iter().flatten().collect()
            }
        }

        $crate::build::element!(@role $role $name);
    };
    (@kind none) => { None };
    (@kind $kind:literal) => { Some($kind) };
    (@role joint $name:ident) => { impl $crate::build::JointElement for $name {} };
    (@role force $name:ident) => { impl $crate::build::ForceElement for $name {} };
    (@role table $name:ident) => {
        impl From<$name> for $crate::build::value::Value {
            fn from(table: $name) -> Self {
                let entries = $crate::build::Element::entries(&table);
                Self::Table(entries.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
            }
        }
    };
    (@role section $name:ident) => {};
}
pub(crate) use element;

impl From<f64> for bodies::Input {
    fn from(start: f64) -> bodies::Input {
        bodies::Input::new().start(start)
    }
}

/// What becomes a section of the model file.
pub trait Element {
    /// The value of `type`, where the section has one.
    const KIND: Option<&'static str>;
    /// Its keys and values, without `type`.
    fn entries(&self) -> Vec<(&'static str, Value)>;
}

/// An element of `[joint.NAME]`.
pub trait JointElement: Element {}

/// An element of `[force.NAME]`.
pub trait ForceElement: Element {}

/// A section `[kind.NAME]`, or `[kind]` where the name is empty.
#[derive(Clone, Debug, PartialEq)]
struct Section {
    kind: Cow<'static, str>,
    name: String,
    entries: Vec<(String, Value)>,
}

/// A model that is written in code.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    name: String,
    folder: PathBuf,
    sections: Vec<Section>,
}

impl Model {
    /// A model in space.
    pub fn spatial(name: impl Into<String>) -> Model {
        let name = name.into();
        let header = vec![("name".to_string(), Value::Text(name.clone()))];
        let header = Section { kind: "model".into(), name: String::new(), entries: header };
        Model { name, folder: PathBuf::new(), sections: vec![header] }
    }

    /// A model in the x–y plane, with three coordinates per body.
    pub fn planar(name: impl Into<String>) -> Model {
        Model::spatial(name).with("plane", Value::Text("xy".into()))
    }

    /// With the acceleration of gravity, in m/s².
    pub fn gravity(self, gravity: impl Into<Vector>) -> Model {
        self.with("gravity", gravity.into().into())
    }

    /// With the folder in which its tables, meshes and modal files lie; otherwise the working directory.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Model {
        self.folder = folder.into();
        self
    }

    fn with(mut self, key: &str, value: Value) -> Model {
        self.sections[0].entries.push((key.to_string(), value));
        self
    }

    /// Adds a parameter, a number or an expression of other parameters; what comes back stands for it in expressions.
    pub fn parameter(&mut self, name: &str, value: impl Into<Scalar>) -> Scalar {
        self.entry("parameter", "", name, value.into().into());
        Scalar::symbol(name)
    }

    /// Adds an input: a number that can be set while a run goes on, given by its value at the start or with its unit. What
    /// comes back stands for it in the expressions of forces and drives.
    pub fn input(&mut self, name: &str, input: impl Into<bodies::Input>) -> Scalar {
        self.section("input", name, &input.into());
        Scalar::symbol(name)
    }

    /// Adds a first-order state with the expression of its rate; what comes back stands for it in expressions of the state.
    pub fn state(&mut self, name: &str, state: bodies::State) -> Scalar {
        self.section("state", name, &state);
        Scalar::symbol(name)
    }

    /// Adds a function of two variables by a grid of values, with a row for each `y`; of one variable where `y` is empty.
    /// Expressions call it by its name.
    pub fn table(&mut self, name: &str, x: &[f64], y: &[f64], rows: &[Vec<f64>]) {
        let list = |numbers: &[f64]| Value::List(numbers.iter().copied().map(Value::Number).collect());
        let mut entries = vec![("x".to_string(), list(x))];
        if !y.is_empty() {
            entries.push(("y".to_string(), list(y)));
        }
        let values = match (y, rows) {
            ([], [row]) => list(row),
            _ => Value::List(rows.iter().map(|row| list(row)).collect()),
        };
        entries.push(("values".to_string(), values));
        self.add("table", name, entries);
    }

    /// Adds a body.
    pub fn body(&mut self, name: &str, body: bodies::Body) -> BodyRef {
        self.section("body", name, &body);
        BodyRef::new(name)
    }

    /// Adds a joint.
    pub fn joint<J: JointElement>(&mut self, name: &str, joint: J) -> JointRef {
        self.section("joint", name, &joint);
        JointRef::new(name)
    }

    /// Adds a force.
    pub fn force<F: ForceElement>(&mut self, name: &str, force: F) {
        self.section("force", name, &force);
    }

    /// Adds a point whose motion is recorded.
    pub fn probe(&mut self, name: &str, probe: bodies::Probe) {
        self.section("probe", name, &probe);
    }

    /// Adds a named frame on a body; joints, forces and probes stand on it as on a body.
    pub fn marker(&mut self, name: &str, marker: bodies::Marker) -> BodyRef {
        self.section("marker", name, &marker);
        BodyRef::new(name)
    }

    /// Adds a solid or a mesh to what is drawn of a body or of the ground.
    pub fn visual(&mut self, name: &str, visual: bodies::Visual) {
        self.section("visual", name, &visual);
    }

    /// Adds another model file as a part, whose names get this one in front: its body `hub` is `NAME.hub`.
    pub fn include(&mut self, name: &str, part: bodies::Include) {
        self.section("include", name, &part);
    }

    /// Gives coordinates and rates of a joint at the start.
    pub fn start(&mut self, joint: impl Into<JointRef>, start: bodies::Start) {
        let entries = start.entries().into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        self.entry("start", "", joint.into().name(), Value::Table(entries));
    }

    /// Sets a key of `[solve]`: how the model is run unless the run says otherwise.
    pub fn solve(&mut self, key: &str, value: impl Into<Scalar>) {
        self.entry("solve", "", key, value.into().into());
    }

    /// One more key of a section, which is added if it is new.
    fn entry(&mut self, kind: &'static str, name: &str, key: &str, value: Value) {
        let at = self.sections.iter().position(|s| s.kind == kind && s.name == name);
        let at = at.unwrap_or_else(|| {
            self.sections.push(Section { kind: kind.into(), name: name.to_string(), entries: Vec::new() });
            self.sections.len() - 1
        });
        self.sections[at].entries.push((key.to_string(), value));
    }

    fn section<E: Element>(&mut self, kind: &'static str, name: &str, element: &E) {
        let kind_entry = E::KIND.map(|kind| ("type".to_string(), Value::Text(kind.to_string())));
        let entries = element.entries().into_iter().map(|(key, value)| (key.to_string(), value));
        let entries = kind_entry.into_iter().chain(entries).collect();
        self.sections.push(Section { kind: kind.into(), name: name.to_string(), entries });
    }

    /// Adds `[section.NAME]` by its keys and values, for programs that have no types for them: `type` is a key like any
    /// other. Without a name the keys go into `[section]`. Nothing is checked before the model is read.
    pub fn add(&mut self, section: &str, name: &str, entries: impl IntoIterator<Item = (String, Value)>) {
        let entries: Vec<_> = entries.into_iter().collect();
        // a named section is new: looking for it would make long models slow
        let known = if name.is_empty() { &self.sections[..] } else { &[] };
        let at = known.iter().position(|s| s.kind == section && s.name.is_empty());
        match at {
            Some(at) => self.sections[at].entries.extend(entries),
            None => {
                let kind = Cow::Owned(section.to_string());
                self.sections.push(Section { kind, name: name.to_string(), entries });
            }
        }
    }

    /// The keys of `[section.NAME]` (of `[section]` without a name) with their values, if there are any.
    pub fn entries(&self, section: &str, name: &str) -> Option<&[(String, Value)]> {
        self.sections.iter().find(|s| s.kind == section && s.name == name).map(|s| &s.entries[..])
    }

    /// Sets a key of `[section.NAME]` (of `[section]` without a name), which is added if it is new.
    pub fn set(&mut self, section: &'static str, name: &str, key: &str, value: Value) {
        match self.sections.iter_mut().find(|s| s.kind == section && s.name == name) {
            Some(found) => {
                found.entries.retain(|(k, _)| k != key);
                found.entries.push((key.to_string(), value));
            }
            None => self.entry(section, name, key, value),
        }
    }

    /// The model as the text of a file.
    pub fn to_toml(&self) -> String {
        toml::text(&self.sections)
    }

    /// Writes the model as a file.
    pub fn save(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, self.to_toml())
    }

    /// Reads the model as its file would be read.
    pub fn read(&self) -> Result<Read, Report> {
        self.read_with(&[])
    }

    /// The same with overrides, such as `parameter.k=200`.
    pub fn read_with(&self, overrides: &[String]) -> Result<Read, Report> {
        read_text(&self.path().to_string_lossy(), &self.to_toml(), overrides)
    }

    /// The file that it would be in: messages name it, and tables are looked for beside it.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.toml", self.name))
    }
}
