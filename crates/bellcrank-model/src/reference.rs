//! The reference of the model file, made from the tables that read it: JSON Schema and Markdown.

use crate::file::csv::TABULATED;
use crate::file::schema::{field_table, object_schema};
use crate::file::{Field, expression};
use crate::forces;
use crate::joints::{self, Mount};
use crate::read::{
    ANGLES, BODY, FMU, FORCE_BETWEEN, FORCE_CONTROL, FORCE_ON_JOINT, FORCE_ON_ONE, INCLUDE, INPUT, JOINT,
    JOINT_ON_JOINT, JOINT_ON_JOINTS, JOINT_ON_ONE, MARKER, MODEL, OUTPUT, PARAMETER, PROBE, REPEAT, START, STATE,
    TABLE, TURN, VISUAL, force_fields, joint_fields,
};
use serde_json::{Value, json};

/// The JSON Schema (draft 2020-12) of model files, for editors; `solve` are the keys of `[solve]`, which solvers know.
pub fn schema(solve: &'static [Field]) -> Value {
    let named = |what: &str, value: Value| json!({ "type": "object", "description": format!("{what}, by name"), "additionalProperties": value });
    let kinds = |list: Vec<(&'static str, &'static str, Vec<&'static [Field]>)>| {
        let each = list.into_iter().map(|(name, doc, mut fields)| {
            fields.push(REPEAT);
            let mut object = object_schema(&fields);
            object["description"] = json!(doc);
            object["properties"]["type"] = json!({ "const": name, "description": doc });
            object
        });
        json!({ "oneOf": each.collect::<Vec<_>>() })
    };
    let joint_kinds = joints::CATALOG.iter().map(|k| (k.name, k.doc, joint_fields(k).to_vec())).collect();
    let force_kinds = forces::CATALOG.iter().map(|k| (k.name, k.doc, force_fields(k).to_vec())).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://bellcrank.dev/model.schema.json",
        "title": "Bellcrank model",
        "description": "A multibody model. SI units, or units behind numbers: \"12 mm\"; every number may be an expression of parameters.",
        "type": "object",
        "properties": {
            "$schema": { "type": "string" },
            "model": object_schema(&[MODEL]),
            "parameter": named("Numbers or expressions of other parameters", json!({ "anyOf": [{ "type": ["number", "string"] }, object_schema(&[PARAMETER])] })),
            "input": named("Numbers that can be set during a run", object_schema(&[INPUT, REPEAT])),
            "include": named("Other model files as parts", object_schema(&[INCLUDE, REPEAT])),
            "marker": named("Named frames on bodies", object_schema(&[MARKER, REPEAT])),
            "body": named("Bodies", object_schema(&[BODY, REPEAT])),
            "joint": named("Joints", kinds(joint_kinds)),
            "force": named("Forces", kinds(force_kinds)),
            "probe": named("Points whose motion is recorded", object_schema(&[PROBE, REPEAT])),
            "table": named("Functions by a grid of values, which expressions call", object_schema(&[TABLE])),
            "state": named("First-order states of your own", object_schema(&[STATE, REPEAT])),
            "output": named("What is computed from channels and recorded", object_schema(&[OUTPUT, REPEAT])),
            "fmu": named("FMUs of other tools", object_schema(&[FMU])),
            "visual": named("What bodies look like", object_schema(&[VISUAL, REPEAT])),
            "start": named("Joint coordinates and rates at the start", object_schema(&[START, REPEAT])),
            "solve": object_schema(&[solve]),
        },
        "anyOf": [{ "required": ["body"] }, { "required": ["include"] }],
        "additionalProperties": false,
    })
}

/// Where a joint stands.
fn stands(place: &Mount) -> &'static str {
    match place {
        Mount::Shared(_) => "Between two bodies.",
        Mount::Points(_) => "Between two bodies, with a point on each.",
        Mount::Body => "On one body.",
        Mount::Joint => "On a joint.",
        Mount::Joints => "On two joints.",
        Mount::Rotor => "On a coordinate of a joint.",
    }
}

/// The reference as Markdown; `solve` are the keys of `[solve]`.
pub fn markdown(solve: &'static [Field]) -> String {
    let mut out = String::from("# The model file\n\n");
    out += "TOML (or JSON), SI units, names as table keys. Any number may have its unit behind it, in quotes (`\"12 mm\"`, \
            `\"5 kN/m\"`), and any may be an expression of parameters; loads, drives and controllers also of `t` and of inputs.\n";
    values(&mut out);
    elements(&mut out);
    others(&mut out, solve);
    out += "\n## Expressions\n\n";
    out += &expression::function_table();
    out
}

/// Adds a section with the table of its keys.
fn add_section(out: &mut String, title: &str, text: &str, fields: &[&'static [Field]]) {
    *out += &format!("\n## {title}\n\n{text}\n");
    if fields.iter().any(|group| !group.is_empty()) {
        *out += &format!("\n{}", field_table(fields));
    }
}

/// The model, its numbers and its bodies.
fn values(out: &mut String) {
    let mut section = |title: &str, text: &str, fields: &[&'static [Field]]| add_section(out, title, text, fields);
    section("`[model]`", "What the model is.", &[MODEL]);
    section(
        "`[parameter]`",
        "Numbers by name, as `k = 100.0` or an expression of other parameters in quotes, in any order; or with a unit, \
        as a table.",
        &[PARAMETER],
    );
    section(
        "`[table.NAME]`",
        "A function of one or two variables by a grid of values. Expressions call it: `map(pin.rate, current)`. It \
         is once differentiable, and exact for polynomials of degree two; steps and pulses between distant points do \
         not overshoot. Beyond the grid it keeps the value at the edge.",
        &[TABLE],
    );
    section(
        "`[input.NAME]`",
        "A number that can be set during a run. Expressions of loads, of drives of a rate and of controllers use it \
        by its name; it is constant between changes, so a drive of a position cannot use it. It is recorded under \
        its name.",
        &[INPUT],
    );
    section(
        "`repeat`",
        "Bodies, joints, forces, probes, markers, parts, states, inputs, outputs, visuals and starts may stand for many: \
         `[body.\"link{i}\"]` with `repeat = 40` are 40 bodies, link1 to link40. Every `{…}` in the name and in the \
         texts of the entry is a whole number, computed from `i` = 1, 2, … and parameters; `repeat = [30, 20]` also \
         has `j`. A name without braces gets the index appended.",
        &[REPEAT],
    );
    section(
        "`[include.NAME]`",
        "Another model file as a part. Its bodies, joints, forces, probes, markers, inputs, outputs, states, tables, parameters, \
         visuals and starts come in under the names `NAME.…`, also in expressions; `[solve]`, `name` and `gravity` of the part do not. \
         A part is read in its own coordinates, and its laws see these; channels and outputs are those of the world. In a mirror, \
         turns of joints in the plane, and those of cylindrical joints and screws, change their signs.",
        &[INCLUDE],
    );
    section("`[body.NAME]`", "A body. `ground` is the fixed world.", &[BODY]);
    section(
        "`orientation` by one turn",
        "In place of a quaternion, as `{ axis = [0, 0, 1], angle = \"30 deg\" }`.",
        &[TURN],
    );
    section(
        "`orientation` by three turns",
        "Cardan or Euler angles, as `{ order = \"zyx\", angles = [\"30 deg\", 0, \"10 deg\"] }`: R = Rz Ry Rx, the yaw, pitch and \
         roll of the results.",
        &[ANGLES],
    );
}

/// Joints and forces.
fn elements(out: &mut String) {
    let mut section = |title: &str, text: &str, fields: &[&'static [Field]]| add_section(out, title, text, fields);
    section("`[joint.NAME]` between two bodies", "Keys of every joint between two bodies.", &[JOINT]);
    section("`[joint.NAME]` on one body", "Keys of joints that hold a point of one body.", &[JOINT_ON_ONE]);
    section("`[joint.NAME]` on a joint", "Keys of joints that act on the motion of another.", &[JOINT_ON_JOINT]);
    section(
        "`[joint.NAME]` on two joints",
        "Keys of joints that couple the motions of two others.",
        &[JOINT_ON_JOINTS],
    );
    for k in joints::CATALOG {
        let plane = k.in_plane.map_or(String::new(), |instead| format!(" Only in space; in the plane use {instead}."));
        section(&format!("Joint `{}`", k.name), &format!("{} {}{plane}", k.doc, stands(&k.mount)), &[k.fields]);
    }
    section("`[force.NAME]` between two bodies", "Keys of every force between two bodies.", &[FORCE_BETWEEN]);
    section("`[force.NAME]` on one body", "Keys of every force on one body.", &[FORCE_ON_ONE]);
    section("`[force.NAME]` on a joint", "Keys of every force along a joint coordinate.", &[FORCE_ON_JOINT]);
    section("`[force.NAME]` of a controller", "Keys of every controller.", &[FORCE_CONTROL]);
    section(
        "Functions of time from a file",
        "In place of any function of `t`: `{ table = \"load.csv\", column = \"fx\" }`, or of a vector of them with \
        `columns`. Before the first and after the last time the value is constant.",
        TABULATED,
    );
    for k in forces::CATALOG {
        section(&format!("Force `{}`", k.name), k.doc, &[k.fields]);
    }
}

/// What is measured, computed, drawn and chosen.
fn others(out: &mut String, solve: &'static [Field]) {
    let mut section = |title: &str, text: &str, fields: &[&'static [Field]]| add_section(out, title, text, fields);
    section(
        "`[probe.NAME]`",
        "A point whose motion is recorded, in the world or as it is seen from another body, with axes of its own.",
        &[PROBE],
    );
    section(
        "`[marker.NAME]`",
        "A named frame on a body. Joints, forces and probes name it in place of a body, and need no `at` and no `axis` then: its point is \
         theirs, its z axis the `axis` (in the plane its x axis that of a slide) and its x axis `axis2`. Between two markers a joint \
         makes their frames meet.",
        &[MARKER],
    );
    section(
        "`[state.NAME]`",
        "A first-order state of your own, such as a pressure, a current or the memory of a controller: its rate is an expression of the \
         state, and expressions of the state know it by its name. It is recorded under its name.",
        &[STATE],
    );
    section(
        "Functions of the state",
        "Components of `force` and `torque`, the `effort` of joint actuators, the `reference` of controllers without \
         `kd` and the `rate` of states may use coordinates and rates of joints (`slide.position`, `pin.rate`), \
         positions and velocities of bodies and probes (`cart.x`, `tip.vy`, `hull.wz`), states, and outputs without \
         a filter, beside `t`, inputs and parameters. `abs`, `sign`, `min`, `max` and comparisons in them are \
         events. Quantities that depend on all forces (accelerations, reactions, forces) would form an algebraic \
         loop and are refused.",
        &[],
    );
    section(
        "`[output.NAME]`",
        "A quantity that is computed from channels and recorded under its name: `camber = { value = \"wheel.roll\", \
         unit = \"rad\" }`. All channels may be used, whether they are recorded or not (docs/channels.md). The \
         summary has its largest, smallest and last value, mean and root mean square.",
        &[OUTPUT],
    );
    section(
        "`[fmu.NAME]`",
        "An FMU of another tool that runs beside the model, in a process of its own. At every multiple of `step` it is \
         given the values of `inputs = { speed = \"pin.rate\" }` and tells its outputs, which loads, drives of a rate \
         and controllers use by name (`motor.torque`); they are constant until the next exchange, and recorded under \
         that name. Runs land on the exchanges. An FMU for model exchange without `step` is part of the equations instead: \
         its states are integrated with those of the model, it is given positions, velocities and states, and loads, \
         controllers and rates of states may use its outputs.",
        &[FMU],
    );
    section(
        "`[visual.NAME]`",
        "What a body looks like: a solid or a mesh at a pose of its own. A body may have several. For appearance \
            only.",
        &[VISUAL],
    );
    section(
        "`[start]`",
        "Joint coordinates at the start: `pin = { rate = 1.0 }`. They hold exactly, full turns included; joints that \
         are not named stay as drawn and at rest, unless loops move them, which is reported. A contradiction with \
         another given value or with a joint is an error that names both. A turn has `angle` and `rate`, a slide \
         `position` and `rate`, or `speed` where the joint also turns; the results have the same names.",
        &[START],
    );
    section("`[solve]`", "Defaults of the options of `bellcrank run`.", &[solve]);
}
