//! The Python package has a documented function for every kind of joint, force and body, and a keyword for every option:
//! `python/bellcrank/_catalog.py` is made from the tables that read model files.

use bellcrank_model::file::csv::TABULATED;
use bellcrank_model::file::{Field, FieldKind};
use bellcrank_model::read::{
    BODY, FMU, INCLUDE, INPUT, MARKER, PROBE, START, STATE, TABLE, VISUAL, force_fields, joint_fields,
};
use bellcrank_model::{forces, joints};
use bellcrank_solve::choices::{CHOICES, Choice, Set};
use std::fmt::Write;
use std::path::Path;

/// `UPDATE=1 cargo test -p bellcrank --test python_catalog` writes the file anew.
#[test]
fn the_python_functions_are_those_of_the_catalogs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/bellcrank/_catalog.py");
    let text = text();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "_catalog.py is not what the catalogs say: UPDATE=1 cargo test -p bellcrank --test python_catalog writes it"
    );
}

const HEAD: &str = r#""""Every kind of joint, force and body, and every option of a run.

Generated from the catalogs by `UPDATE=1 cargo test -p bellcrank --test python_catalog`: do not edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ._names import Body, Force, Joint, Probe, Symbol

if TYPE_CHECKING:
    from typing_extensions import Never

    from ._results import Results
    from ._simulation import Simulation
    from ._reports import Plan
    from ._types import (
        Course,
        Matrix,
        Names,
        Numbers,
        Pairs,
        Points,
        Progress,
        Scalar,
        Table,
        Text,
        Vector,
        Vectors,
    )
"#;

fn text() -> String {
    let mut out = HEAD.to_string();
    shapes(&mut out);
    out.push_str(
        "\n\nclass Elements:\n    \"\"\"What a model is made of.\"\"\"\n\n    \
         def _element(self, section: str, name: str, kind: str | None, values: dict[str, Any]) -> str:\n        \
         raise NotImplementedError\n",
    );
    let body = "A body; without a shape and an inertia it is a point mass. `ground` is the fixed world.";
    let of = |name, section, gives, kind, doc| Method { name, section, gives, kind, doc, inner: false };
    of("body", "body", "Body", None, body).write(&[BODY], &mut out);
    let doc = "A point whose motion is recorded.";
    of("probe", "probe", "Probe", None, doc).write(&[PROBE], &mut out);
    let doc = "A named frame on a body; joints, forces and probes stand on it as on a body.";
    of("marker", "marker", "Body", None, doc).write(&[MARKER], &mut out);
    let doc = "A solid or a mesh on a body or on the ground, for looks; the visuals of a body are drawn in place of its shape.";
    of("visual", "visual", "str", None, doc).write(&[VISUAL], &mut out);
    let doc = "Another model file as a part, whose names get this one in front: its body `hub` is `NAME.hub`.";
    of("include", "include", "str", None, doc).write(&[INCLUDE], &mut out);
    let doc = "A number that can be set while a run goes on; expressions use it by its name.";
    of("input", "input", "Symbol", None, doc).write(&[INPUT], &mut out);
    let doc = "A first-order state with the expression of its rate; expressions of the state use it by its name.";
    of("state", "state", "Symbol", None, doc).write(&[STATE], &mut out);
    let doc =
        "An FMU of another tool, which runs beside the model; expressions use its outputs by name: `motor.torque`.";
    of("fmu", "fmu", "str", None, doc).write(&[FMU], &mut out);
    let doc = "A function of one or two variables by a grid of values; expressions call it by its name.";
    of("table", "table", "str", None, doc).write(&[TABLE], &mut out);
    let doc = "Coordinates and rates of a joint at the start; the rest is assembled.";
    of("start", "start", "Joint", None, doc).write(&[START], &mut out);
    for (class, doc) in [("Joints", "Every kind of joint."), ("Forces", "Every kind of force.")] {
        let _ = write!(
            out,
            "\n\nclass {class}:\n    \"\"\"{doc}\"\"\"\n\n    def __init__(self, model: Elements) -> None:\n        \
             self._model = model\n"
        );
        match class {
            "Joints" => joints::CATALOG.iter().for_each(|k| {
                let plane =
                    k.in_plane.map_or(String::new(), |other| format!(" Only in space; in the plane use {other}."));
                let doc = format!("{}{plane}", k.doc);
                let name = k.name.replace('-', "_");
                let method = Method {
                    name: &name,
                    section: "joint",
                    gives: "Joint",
                    kind: Some(k.name),
                    doc: &doc,
                    inner: true,
                };
                method.write(&joint_fields(k), &mut out);
            }),
            _ => forces::CATALOG.iter().for_each(|k| {
                let name = k.name.replace('-', "_");
                let method = Method {
                    name: &name,
                    section: "force",
                    gives: "Force",
                    kind: Some(k.name),
                    doc: k.doc,
                    inner: true,
                };
                method.write(&force_fields(k), &mut out);
            }),
        }
    }
    runs(&mut out);
    out
}

/// A method that adds an element.
struct Method<'a> {
    name: &'a str,
    section: &'a str,
    /// What it gives back.
    gives: &'a str,
    kind: Option<&'a str>,
    doc: &'a str,
    /// Whether it stands on a model's `joint` or `force`, or on the model itself.
    inner: bool,
}

impl Method<'_> {
    fn write(&self, groups: &[&'static [Field]], out: &mut String) {
        let fields: Vec<&Field> = groups.iter().copied().flatten().filter(|f| f.name != "type").collect();
        let mut parameters = vec!["self".to_string(), "name: str".into()];
        if !fields.is_empty() {
            parameters.push("*".into());
        }
        parameters.extend(keywords(&fields));
        let _ = write!(out, "\n    def {}(\n", identifier(self.name));
        parameters.iter().for_each(|p| {
            let _ = writeln!(out, "        {p},");
        });
        let _ = writeln!(out, "    ) -> {}:", self.gives);
        docstring(&sentence(self.doc), &fields, "        ", out);
        let kind = self.kind.map_or("None".to_string(), |kind| format!("{kind:?}"));
        let model = if self.inner { "self._model" } else { "self" };
        let _ = writeln!(out, "        given = {{");
        entries(&fields, "            ", out);
        let _ = writeln!(out, "        }}");
        let call = format!("{model}._element({:?}, name, {kind}, given)", self.section);
        let _ = writeln!(out, "        return {}({call})", self.gives);
    }
}

/// Required keywords first, then those with defaults.
fn keywords(fields: &[&Field]) -> Vec<String> {
    let required = fields.iter().filter(|f| f.required);
    let required = required.map(|f| format!("{}: {}", identifier(f.name), type_of(f)));
    let optional = fields.iter().filter(|f| !f.required);
    let optional = optional.map(|f| format!("{}: {} | None = None", identifier(f.name), type_of(f)));
    required.chain(optional).collect()
}

fn entries(fields: &[&Field], indent: &str, out: &mut String) {
    for field in fields {
        let _ = writeln!(out, "{indent}{:?}: {},", field.name, identifier(field.name));
    }
}

fn docstring(first: &str, fields: &[&Field], indent: &str, out: &mut String) {
    let _ = write!(out, "{indent}\"\"\"{}", wrapped(first, 112 - indent.len(), indent));
    if !fields.is_empty() {
        out.push('\n');
    }
    for field in fields.iter().filter(|f| f.required).chain(fields.iter().filter(|f| !f.required)) {
        let unit = if field.unit.is_empty() { String::new() } else { format!(" [{}]", field.unit) };
        let default = if field.default.is_empty() { String::new() } else { format!("; default: {}", field.default) };
        let line = format!("{}: {}{unit}{default}", identifier(field.name), field.doc);
        let inner = format!("{indent}    ");
        let _ = write!(out, "\n{indent}{}", wrapped(&line, 110 - indent.len(), &inner));
    }
    let end = if fields.is_empty() { "\"\"\"\n".to_string() } else { format!("\n{indent}\"\"\"\n") };
    out.push_str(&end);
}

/// Text in lines of about this width; those after the first are indented.
fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            let _ = write!(out, "\n{indent}{word}");
            used = length;
        } else {
            out.push_str(if used > 0 { " " } else { "" });
            out.push_str(word);
            used += length + usize::from(used > 0);
        }
    }
    out
}

/// Functions for the tables inside bodies, and for functions of time from a file.
fn shapes(out: &mut String) {
    let tables = BODY.iter().filter_map(|f| match f.kind {
        FieldKind::Table(inner) => Some((f.name, f.doc, inner)),
        _ => None,
    });
    let tables: Vec<_> = tables.collect();
    let inner = tables.iter().flat_map(|(_, _, fields)| fields.iter()).filter_map(|f| match f.kind {
        FieldKind::Table(inner) => Some((f.name, f.doc, inner)),
        _ => None,
    });
    for (name, doc, fields) in inner.chain(tables.iter().copied()) {
        shape(name, doc, &fields.iter().collect::<Vec<_>>(), out);
    }
    let fields: Vec<&Field> = TABULATED.iter().copied().flatten().collect();
    shape("table", "A function of time from a file.", &fields, out);
}

fn shape(name: &str, doc: &str, fields: &[&Field], out: &mut String) {
    let mut parameters = keywords(fields);
    let required = fields.iter().filter(|f| f.required).count();
    if parameters.len() > required {
        parameters.insert(required, "*".into());
    }
    let _ = write!(out, "\n\ndef {}(\n", identifier(name));
    parameters.iter().for_each(|p| {
        let _ = writeln!(out, "    {p},");
    });
    out.push_str(") -> Table:\n");
    docstring(&sentence(doc), fields, "    ", out);
    let _ = writeln!(out, "    values = {{");
    entries(fields, "        ", out);
    let _ = writeln!(out, "    }}\n    return {{key: value for key, value in values.items() if value is not None}}");
}

/// `run`, `simulate` and `plan` with a keyword for every option.
fn runs(out: &mut String) {
    out.push_str(
        "\n\nclass Runs:\n    \"\"\"What can be run: every option is a keyword.\"\"\"\n\n    \
         def _run(self, solve: Mapping[str, object], progress: Progress) -> Results:\n        \
         raise NotImplementedError\n\n    \
         def _simulate(self, solve: Mapping[str, object]) -> Simulation:\n        \
         raise NotImplementedError\n\n    \
         def _plan(self, solve: Mapping[str, object]) -> Plan:\n        raise NotImplementedError\n",
    );
    let run = "Runs to the end, without the interpreter's lock. Ctrl-C ends the run and raises `KeyboardInterrupt`, whose \
               `result` has what was computed.";
    let simulate = "A simulation at its start, to be stepped: see `Simulation`.";
    let plan = "What a run would do, decision by decision, without running it.";
    for (name, gives, doc) in [("run", "Results", run), ("simulate", "Simulation", simulate), ("plan", "Plan", plan)] {
        let _ = write!(out, "\n    def {name}(\n        self,\n        *,\n");
        for choice in CHOICES {
            let _ = writeln!(out, "        {}: {} | None = None,", identifier(choice.key), choice_type(choice));
        }
        if name == "run" {
            out.push_str("        progress: Progress = None,\n");
        }
        let _ = writeln!(out, "        **unknown: Never,\n    ) -> {gives}:");
        let indent = "        ";
        let _ = writeln!(out, "{indent}\"\"\"{}", wrapped(doc, 104, indent));
        for choice in CHOICES {
            let unit = if choice.unit.is_empty() { String::new() } else { format!(" [{}]", choice.unit) };
            let line = format!("{}: {}{unit}; default: {}", identifier(choice.key), choice.doc, choice.default);
            let _ = write!(out, "\n{indent}{}", wrapped(&line, 102, &format!("{indent}    ")));
        }
        if name == "run" {
            let line = "progress: a function of the time, called twenty times a second; True for a bar, False for none; \
                        default: a bar in terminals and notebooks, where tqdm is installed";
            let _ = write!(out, "\n{indent}{}", wrapped(line, 102, &format!("{indent}    ")));
        }
        let _ = writeln!(out, "\n{indent}\"\"\"\n{indent}solve = {{");
        for choice in CHOICES {
            let _ = writeln!(out, "            {:?}: {},", choice.key, identifier(choice.key));
        }
        let progress = if name == "run" { ", progress" } else { "" };
        let _ = writeln!(out, "            **unknown,\n{indent}}}\n{indent}return self._{name}(solve{progress})");
    }
}

fn choice_type(choice: &Choice) -> String {
    match choice.set {
        Set::Number(_) => "float".into(),
        Set::Count(_) => "int".into(),
        Set::Text(_) => "str".into(),
        Set::Texts(_) => "str | Sequence[str]".into(),
        Set::Word(..) => literal(choice.words()),
    }
}

fn literal(words: &[&str]) -> String {
    format!("Literal[{}]", words.iter().map(|w| format!("{w:?}")).collect::<Vec<_>>().join(", "))
}

fn type_of(field: &Field) -> String {
    use FieldKind::*;
    match field.kind {
        Number | Positive | NonNegative | Integer | Count => "Scalar".into(),
        FunctionOf(_) => "Scalar".into(),
        FunctionsOf(_) => "Vector".into(),
        Function => "Course | Callable[[float], float]".into(),
        Flag => "bool".into(),
        Word(words) => literal(words),
        Name | Text if field.name == "body" || field.name == "joint" => "str".into(),
        Text | Name | File(_) => "Text".into(),
        Names(..) => "Names".into(),
        Vector | Point | Direction => "Vector".into(),
        Axial => "Scalar | Vector".into(),
        VectorFunction => "Vectors".into(),
        AxialFunction => "Course | Vectors".into(),
        Points(..) | Directions(..) => "Points".into(),
        Numbers(..) => "Numbers".into(),
        Pairs => "Pairs".into(),
        Square { .. } => "Matrix".into(),
        Table(_) => "Table".into(),
        Any if field.name == "input" => "Scalar".into(),
        Any if field.name == "values" => "Numbers | Matrix".into(),
        Any => "Matrix | Table".into(),
    }
}

/// The key as an identifier: words of the language get an underscore.
fn identifier(key: &str) -> String {
    let key = key.replace('-', "_");
    if ["from", "in", "is", "lambda", "with", "as", "def", "class", "global"].contains(&key.as_str()) {
        format!("{key}_")
    } else {
        key
    }
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |c| c.to_uppercase().to_string());
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}
