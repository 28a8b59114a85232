//! What the fields say about themselves: JSON Schema for editors, a table for the documentation.

use super::csv::{TABULATED, TABULATED_PAIRS, TABULATED_VECTOR};
use super::fields::{Field, FieldKind};
use serde_json::{Map, Value as Json, json};

/// The JSON Schema (draft 2020-12) of a table with these fields.
pub fn object_schema(fields: &[&'static [Field]]) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields.iter().copied().flatten() {
        properties.insert(field.name.into(), field_schema(field));
        if field.required {
            required.push(Json::from(field.name));
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// The JSON Schema of one field, with its meaning, unit and default.
pub fn field_schema(field: &Field) -> Json {
    let mut schema = kind_schema(field.kind);
    let mut description = field.doc.to_string();
    if !field.unit.is_empty() {
        description += &format!(" [{}]", field.unit);
    }
    schema["description"] = description.into();
    if !field.default.is_empty() {
        match default_value(field) {
            Some(value) => schema["default"] = value,
            None => {
                schema["description"] =
                    format!("{}; default: {}", schema["description"].as_str().unwrap_or(""), field.default).into()
            }
        }
    }
    schema
}

fn default_value(field: &Field) -> Option<Json> {
    use FieldKind::*;
    let text = field.default;
    match field.kind {
        Number | Positive | NonNegative | Function | FunctionOf(_) | Integer | Count => {
            serde_json::from_str(text).ok().filter(Json::is_number)
        }
        Flag => text.parse::<bool>().ok().map(Json::from),
        Word(words) => words.contains(&text).then(|| text.into()),
        _ => None,
    }
}

fn kind_schema(kind: FieldKind) -> Json {
    use FieldKind::*;
    let number = || json!({ "type": ["number", "string"] });
    let function = || json!({ "anyOf": [number(), object_schema(TABULATED)] });
    let list = |items: Json, least: usize, most: usize| {
        let mut schema = json!({ "type": "array", "items": items, "minItems": least });
        if most < usize::MAX {
            schema["maxItems"] = most.into();
        }
        schema
    };
    let vector = || list(number(), 2, 3);
    match kind {
        Number | FunctionOf(_) => number(),
        FunctionsOf(_) => vector(),
        Function => function(),
        Positive => json!({ "type": ["number", "string"], "exclusiveMinimum": 0 }),
        NonNegative => json!({ "type": ["number", "string"], "minimum": 0 }),
        Integer => json!({ "type": ["integer", "string"] }),
        Count => json!({ "type": ["integer", "string"], "minimum": 1 }),
        Flag => json!({ "type": "boolean" }),
        Word(words) => json!({ "enum": words }),
        Text | File(_) => json!({ "type": "string" }),
        Name => json!({ "type": "string", "minLength": 1 }),
        Names(least, most) => {
            let names = list(json!({ "type": "string", "minLength": 1 }), least, most);
            if least <= 1 { json!({ "anyOf": [{ "type": "string", "minLength": 1 }, names] }) } else { names }
        }
        Vector | Point | Direction => vector(),
        Axial => json!({ "anyOf": [number(), list(number(), 3, 3)] }),
        VectorFunction => json!({ "anyOf": [list(function(), 2, 3), object_schema(TABULATED_VECTOR)] }),
        AxialFunction => {
            json!({ "anyOf": [function(), list(function(), 3, 3), object_schema(TABULATED_VECTOR)] })
        }
        Points(least, most) | Directions(least, most) => match (least, most) {
            (0 | 1, _) => json!({ "anyOf": [vector(), list(vector(), least, most)] }),
            _ => list(vector(), least, most),
        },
        Numbers(1, most) => json!({ "anyOf": [number(), list(number(), 1, most)] }),
        Numbers(least, most) => list(number(), least, most),
        Pairs => json!({ "anyOf": [list(list(number(), 2, 2), 2, usize::MAX), object_schema(TABULATED_PAIRS)] }),
        Square { plane, space } => {
            let mut sizes = vec![plane, space];
            sizes.dedup();
            let shapes = sizes.into_iter().flat_map(|n| match n {
                1 => vec![number()],
                n => vec![list(number(), n, n), list(list(number(), n, n), n, n)],
            });
            json!({ "anyOf": shapes.collect::<Vec<_>>() })
        }
        Table(fields) => object_schema(&[fields]),
        Any => json!({}),
    }
}

/// The fields as a Markdown table; those of inner tables follow theirs as `rod.from`.
pub fn field_table(fields: &[&'static [Field]]) -> String {
    let mut out = String::from("| key | value | unit | default | meaning |\n|---|---|---|---|---|\n");
    rows(fields, "", &mut out);
    out
}

fn rows(fields: &[&'static [Field]], prefix: &str, out: &mut String) {
    let cell = |text: &str| text.replace('|', "\\|");
    for field in fields.iter().copied().flatten() {
        let default = if field.required { "required" } else { field.default };
        let name = format!("{prefix}{}", field.name);
        let value = kind_words(field.kind);
        *out += &format!(
            "| `{name}` | {} | {} | {} | {} |\n",
            cell(&value),
            cell(field.unit),
            cell(default),
            cell(field.doc)
        );
        if let FieldKind::Table(inner) = field.kind {
            rows(&[inner], &format!("{name}."), out);
        }
    }
}

/// `x` and `y`.
fn listed(variables: &[&str]) -> String {
    variables.iter().map(|v| format!("`{v}`")).collect::<Vec<_>>().join(" and ")
}

/// What a value may be, in a few words.
fn kind_words(kind: FieldKind) -> String {
    use FieldKind::*;
    let several = |least: usize, most: usize, thing: &str| match (least, most) {
        (1, 1) => format!("one {thing}"),
        (a, b) if a == b => format!("{a} {thing}s"),
        (a, usize::MAX) => format!("{a} or more {thing}s"),
        (a, b) => format!("{a} to {b} {thing}s"),
    };
    match kind {
        Number => "number".into(),
        Positive => "number > 0".into(),
        NonNegative => "number ≥ 0".into(),
        Integer => "integer".into(),
        Count => "integer ≥ 1".into(),
        Flag => "true or false".into(),
        Word(words) => words.iter().map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(", "),
        Text => "text".into(),
        Name => "name".into(),
        Names(least, most) => several(least, most, "name"),
        Function => "function of `t`, or `{ table = \"file.csv\", column = \"name\" }`".into(),
        FunctionOf(variables) => format!("function of {}", listed(variables)),
        FunctionsOf(variables) => format!("vector of functions of {}", listed(variables)),
        File(kind) => format!("name of a .{kind} file"),
        Vector => "vector".into(),
        VectorFunction => "vector of functions of `t`, or `{ table = \"file.csv\", columns = […] }`".into(),
        Axial => "number in the plane, vector in space".into(),
        AxialFunction => "function of `t` in the plane, vector of them in space".into(),
        Point => "point".into(),
        Points(least, most) => several(least, most, "point"),
        Direction => "direction".into(),
        Directions(least, most) => several(least, most, "direction"),
        Numbers(1, most) => format!("a number or {}", several(1, most, "number")),
        Numbers(least, most) => several(least, most, "number"),
        Pairs => "pairs of numbers, or `{ table = \"file.csv\", columns = [\"x\", \"y\"] }`".into(),
        Square { plane: 1, space } => format!("number in the plane; {space} numbers or {space}×{space} in space"),
        Square { plane, space } if plane == space => format!("{space} numbers or {space}×{space}"),
        Square { plane, space } => {
            format!("{plane} numbers or {plane}×{plane} in the plane, {space} or {space}×{space} in space")
        }
        Table(_) => "table".into(),
        Any => "see below".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROD: &[Field] = &[Field::required("mass", FieldKind::Positive, "kg", "mass")];
    const COMMON: &[Field] = &[Field::required("between", FieldKind::Names(2, 2), "", "the two bodies")];
    const OWN: &[Field] = &[
        Field::optional("damping", FieldKind::NonNegative, "N·s/m", "0", "force per rate"),
        Field::optional("length", FieldKind::NonNegative, "m", "the length at the start", "unstretched length"),
        Field::optional("at", FieldKind::Points(1, 2), "m", "", "points"),
        Field::optional("kind", FieldKind::Word(&["soft", "hard"]), "", "soft", "a|b"),
        Field::optional("inertia", FieldKind::Square { plane: 1, space: 3 }, "", "", "inertia"),
        Field::optional("rod", FieldKind::Table(ROD), "", "", "a rod"),
    ];

    #[test]
    fn schema_of_an_object() {
        let shown = format!("{:#}", object_schema(&[COMMON, OWN]));
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn table_of_fields() {
        let shown = "\
| key | value | unit | default | meaning |
|---|---|---|---|---|
| `between` | 2 names |  | required | the two bodies |
| `damping` | number ≥ 0 | N·s/m | 0 | force per rate |
| `length` | number ≥ 0 | m | the length at the start | unstretched length |
| `at` | 1 to 2 points | m |  | points |
| `kind` | `\"soft\"`, `\"hard\"` |  | soft | a\\|b |
| `inertia` | number in the plane; 3 numbers or 3×3 in space |  |  | inertia |
| `rod` | table |  |  | a rod |
| `rod.mass` | number > 0 | kg | required | mass |
";
        assert_eq!(field_table(&[COMMON, OWN]), shown);
    }
}
