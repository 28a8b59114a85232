//! Writes the types of `bellcrank_model::build` from the tables that read model files.

use bellcrank_model::file::csv::{TABULATED, TABULATED_PAIRS, TABULATED_VECTOR};
use bellcrank_model::file::{Field, FieldKind};
use bellcrank_model::read::{BODY, INCLUDE, INPUT, MARKER, PROBE, START, STATE, VISUAL, force_fields, joint_fields};
use bellcrank_model::{forces, joints};
use std::fmt::Write;

const HEAD: &str =
    "// Generated from the catalogs by `UPDATE=1 cargo test -p bellcrank-model --test build`: do not edit.\n\n";

/// The names and texts of all generated files.
pub fn files() -> [(&'static str, String); 3] {
    let (mut body_types, mut joint_types, mut force_types) = (String::new(), String::new(), String::new());
    let body_doc = "A body; without a shape and an inertia it is a point mass. `ground` is the fixed world.";
    element(&mut body_types, "section", "Body", None, body_doc, &[BODY]);
    element(&mut body_types, "section", "Probe", None, "A point whose motion is recorded.", &[PROBE]);
    element(&mut body_types, "section", "Marker", None, "A named frame on a body.", &[MARKER]);
    element(
        &mut body_types,
        "section",
        "Visual",
        None,
        "A solid or a mesh on a body or the ground, for looks.",
        &[VISUAL],
    );
    element(&mut body_types, "section", "Include", None, "Another model file as a part.", &[INCLUDE]);
    element(&mut body_types, "section", "Start", None, "Coordinates and rates of a joint at the start.", &[START]);
    element(&mut body_types, "section", "Input", None, "A number that can be set while a run goes on.", &[INPUT]);
    element(&mut body_types, "section", "State", None, "A first-order state with its rate.", &[STATE]);
    element(&mut body_types, "table", "Table", None, "A function of time from a file.", TABULATED);
    element(
        &mut body_types,
        "table",
        "TableVector",
        None,
        "A vector of functions of time from a file.",
        TABULATED_VECTOR,
    );
    element(&mut body_types, "table", "TablePairs", None, "Pairs of numbers from a file.", TABULATED_PAIRS);
    for kind in joints::CATALOG {
        let plane =
            kind.in_plane.map_or(String::new(), |instead| format!(" Only in space; in the plane use {instead}."));
        let doc = format!("{}{plane}", kind.doc);
        element(&mut joint_types, "joint", &camel(kind.name), Some(kind.name), &doc, &joint_fields(kind));
    }
    for kind in forces::CATALOG {
        element(&mut force_types, "force", &camel(kind.name), Some(kind.name), kind.doc, &force_fields(kind));
    }
    [
        ("bodies.rs", file("Bodies and their shapes, probes, inputs, starts and tables.", &body_types)),
        ("joints.rs", file("Every kind of joint.", &joint_types)),
        ("forces.rs", file("Every kind of force.", &force_types)),
    ]
}

/// A whole file, which brings into scope what its types use.
fn file(doc: &str, types: &str) -> String {
    let values = [
        "Bodies",
        "BodyRef",
        "JointRef",
        "Joints",
        "Matrix",
        "Numbers",
        "Orientation",
        "Pairs",
        "Points",
        "Scalar",
        "Text",
        "Value",
        "Vector",
    ];
    let used = values.iter().filter(|v| types.contains(&format!(": {v} ="))).copied().collect::<Vec<_>>().join(", ");
    format!("//! {doc}\n\n{HEAD}use super::element;\nuse super::value::{{{used}}};\n{types}")
}

/// One call of `element!`, after those of the tables inside.
fn element(out: &mut String, role: &str, name: &str, kind: Option<&str>, doc: &str, groups: &[&'static [Field]]) {
    let fields: Vec<&Field> = groups.iter().copied().flatten().filter(|f| f.name != "type").collect();
    for field in &fields {
        if let FieldKind::Table(inner) = field.kind {
            element(out, "table", &table_name(name, field), None, &sentence(field.doc), &[inner]);
        }
    }
    let kind = kind.map_or("none".to_string(), |kind| format!("{kind:?}"));
    let _ = write!(out, "\nelement! {{\n    /// {}\n    {role} {name} {kind}\n", sentence(doc));
    for (word, required) in [("required", true), ("optional", false)] {
        let _ = writeln!(out, "    {word} {{");
        for field in fields.iter().filter(|f| f.required == required) {
            let unit = if field.unit.is_empty() { String::new() } else { format!(", in {}", field.unit) };
            let default =
                if field.default.is_empty() { String::new() } else { format!(" Default: {}.", field.default) };
            let doc = sentence(&format!("{}{unit}", field.doc));
            let _ = writeln!(
                out,
                "        /// {doc}{default}\n        {}: {} = {:?},",
                identifier(field.name),
                type_of(name, field),
                field.name
            );
        }
        let _ = writeln!(out, "    }}");
    }
    out.push_str("}\n");
}

fn type_of(owner: &str, field: &Field) -> String {
    use FieldKind::*;
    match field.kind {
        Number | Positive | NonNegative | Integer | Count | Function | FunctionOf(_) => "Scalar".into(),
        Flag => "bool".into(),
        Name if field.name == "body" => "BodyRef".into(),
        Name if field.name == "joint" => "JointRef".into(),
        Names(2, 2) if field.name == "between" => "Bodies".into(),
        Names(2, 2) if field.name == "joints" => "Joints".into(),
        Word(_) | Text | File(_) | Name | Names(..) => "Text".into(),
        Vector | VectorFunction | FunctionsOf(_) | Axial | AxialFunction | Point | Direction => "Vector".into(),
        Points(..) | Directions(..) => "Points".into(),
        Numbers(..) => "Numbers".into(),
        Pairs => "Pairs".into(),
        Square { .. } => "Matrix".into(),
        Table(_) => table_name(owner, field),
        Any if field.name == "input" => "Scalar".into(),
        Any if ["set", "ports"].contains(&field.name) => "Value".into(),
        Any => "Orientation".into(),
    }
}

/// What the type of a table inside an element is called: by its key, and by its owner where several have such a key.
fn table_name(owner: &str, field: &Field) -> String {
    match field.name {
        name if owner == "Visual" => format!("Visual{}", if name == "box" { "Cuboid".into() } else { camel(name) }),
        "box" => "Cuboid".into(),
        "curve" => format!("{owner}Curves"),
        name => camel(name),
    }
}

fn camel(name: &str) -> String {
    let word = |w: &str| w[..1].to_uppercase() + &w[1..];
    name.split(['-', '_']).map(word).collect()
}

/// The key as an identifier: words of the language get an underscore.
fn identifier(key: &str) -> String {
    if ["box", "static", "type"].contains(&key) { format!("{key}_") } else { key.to_string() }
}

/// With a capital letter and a full stop; square brackets are no links.
fn sentence(text: &str) -> String {
    let text = text.replace('[', "\\[").replace(']', "\\]");
    let mut characters = text.chars();
    let first = characters.next().map_or(String::new(), |c| c.to_uppercase().to_string());
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", characters.as_str())
}
