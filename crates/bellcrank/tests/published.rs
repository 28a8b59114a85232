//! What is published beside the program is what the program says, and every model obeys the schema.

mod common;

use common::{Scratch, models, root};
use serde_json::{Value, json};

/// A published file must be the output of a command; `BELLCRANK_UPDATE=1` writes it anew.
fn check_current(file: &str, command: &str) {
    let words: Vec<&str> = command.split(' ').collect();
    let said = Scratch::new(&words.join("-")).bellcrank(&words);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let path = root().join(file);
    if std::env::var_os("BELLCRANK_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &said.stdout).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == said.stdout,
        "{file} is not what the program says today; write it anew with\n\
         cargo run --release -- {command} > {file}"
    );
}

#[test]
fn the_schema_is_current() {
    check_current("schema/model.schema.json", "schema");
}

#[test]
fn the_schema_and_reference_of_studies_are_current() {
    check_current("schema/study.schema.json", "schema study");
    check_current("docs/study-file.md", "reference study");
}

#[test]
fn every_study_obeys_the_schema_and_can_be_run() {
    let schema: Value = bellcrank_study::reference::schema(bellcrank_solve::choices::fields());
    let mut studies = 0;
    for entry in std::fs::read_dir(root().join("examples/studies")).unwrap() {
        let path = entry.unwrap().path();
        let study = to_json(&std::fs::read_to_string(&path).unwrap());
        validate(&study, &schema, "study").unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        bellcrank_study::Study::open(path.to_str().unwrap()).unwrap_or_else(|e| panic!("{e}"));
        studies += 1;
    }
    assert!(studies >= 2);
    let fits = |text: &str| validate(&to_json(text), &schema, "study");
    let good = "study.model = 'm.toml'\nvary.k = [1, 2]\ncolumn.z = 'ball.z'\n";
    assert_eq!(fits(good), Ok(()));
    for (old, new) in [
        ("vary.k = [1, 2]", "vary.k = []"),
        ("vary.k = [1, 2]", "vary.k = { form = 1 }"),
        ("vary.k", "varry.k"),
        ("'ball.z'", "3"),
        ("model", "modl"),
    ] {
        assert!(fits(&good.replace(old, new)).is_err(), "{new}");
    }
}

#[test]
fn the_reference_of_channels_is_current() {
    check_current("docs/channels.md", "reference channels");
}

#[test]
fn the_reference_is_current() {
    check_current("docs/model-file.md", "reference");
}

/// Checks a value against the part of JSON Schema (draft 2020-12) that the schema uses; other words in it
/// are an error, so that nothing is skipped.
fn validate(value: &Value, schema: &Value, path: &str) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{path}: {what}"));
    let rules = schema.as_object().ok_or(format!("{path}: {schema} is no schema"))?;
    for (word, rule) in rules {
        let fits = match word.as_str() {
            "$schema" | "$id" | "title" | "description" | "default" => true,
            "type" => {
                let one = |t: &Value| match t.as_str() {
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("string") => value.is_string(),
                    Some("boolean") => value.is_boolean(),
                    Some("number") => value.is_number(),
                    Some("integer") => value.as_f64().is_some_and(|x| x.fract() == 0.0),
                    _ => false,
                };
                rule.as_array().map_or_else(|| one(rule), |types| types.iter().any(one))
            }
            "enum" => rule.as_array().is_some_and(|list| list.contains(value)),
            "const" => rule == value,
            "minimum" => value.as_f64().is_none_or(|x| rule.as_f64().is_some_and(|least| x >= least)),
            "exclusiveMinimum" => value.as_f64().is_none_or(|x| rule.as_f64().is_some_and(|least| x > least)),
            "minLength" => value.as_str().is_none_or(|s| s.chars().count() as u64 >= rule.as_u64().unwrap_or(0)),
            "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap_or(0)),
            "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap_or(0)),
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(item, rule, &format!("{path}[{i}]"))?;
                }
                true
            }
            "properties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if let Some(schema) = rule.get(name) {
                        validate(inner, schema, &format!("{path}.{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = |name: &String| rules.get("properties").is_some_and(|p| p.get(name).is_some());
                for (name, inner) in value.as_object().into_iter().flatten().filter(|(name, _)| !known(name)) {
                    match rule {
                        Value::Bool(false) => return wrong(format!("`{name}` is not a known key")),
                        Value::Bool(true) => {}
                        schema => validate(inner, schema, &format!("{path}.{name}"))?,
                    }
                }
                true
            }
            "required" => {
                let names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
                names.into_iter().all(|name| value.as_object().is_none_or(|o| o.contains_key(name)))
            }
            "anyOf" | "oneOf" => {
                let results: Vec<_> =
                    rule.as_array().into_iter().flatten().map(|schema| validate(value, schema, path)).collect();
                match (results.iter().filter(|r| r.is_ok()).count(), word.as_str()) {
                    (1, _) => true,
                    (0, _) => return wrong(format!("fits none of {word}: {results:?}")),
                    (_, kind) => kind == "anyOf",
                }
            }
            _ => return wrong(format!("the schema says `{word}`, which is not understood here")),
        };
        if !fits {
            return wrong(format!("{value} does not fit {word} {rule}"));
        }
    }
    Ok(())
}

/// The model as JSON, through the same reader as the program's.
fn to_json(text: &str) -> Value {
    use bellcrank_model::file::{Node, NodeValue as Tree};
    fn convert(node: &Node) -> Value {
        match &node.value {
            Tree::Table(t) => Value::Object(t.entries.iter().map(|e| (e.name.clone(), convert(&e.node))).collect()),
            Tree::Array(list) => list.iter().map(convert).collect(),
            Tree::Number(x) => json!(x),
            Tree::Integer(n) => json!(n),
            Tree::Bool(b) => json!(b),
            Tree::String { text, .. } => json!(text),
        }
    }
    let read = bellcrank_model::file::Document::parse("m.toml", text.into(), &[], &bellcrank_model::read::LAYOUT);
    convert(&read.unwrap_or_else(|report| panic!("{report}")).root)
}

#[test]
fn every_model_obeys_the_schema() {
    let schema: Value = bellcrank_model::reference::schema(bellcrank_solve::choices::fields());
    let fuzz =
        ["plane", "space", "drives", "shafts"].map(|n| root().join(format!("crates/bellcrank/tests/fuzz/{n}.toml")));
    for path in models().iter().chain(&fuzz) {
        let model = to_json(&std::fs::read_to_string(path).unwrap());
        validate(&model, &schema, "model").unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

#[test]
fn the_schema_refuses_what_the_program_refuses() {
    let schema = bellcrank_model::reference::schema(bellcrank_solve::choices::fields());
    let good = "[body.a]\nmass = 1\n[joint.j]\ntype = \"distance\"\nbetween = [\"ground\", \"a\"]\nat = [[0, 0, 1], [0, 0, 0]]\n";
    let fits = |text: &str| validate(&to_json(text), &schema, "model");
    assert_eq!(fits(good), Ok(()));
    for (old, new) in [
        ("mass = 1", "mas = 1"),
        ("mass = 1", "mass = -1"),
        ("mass = 1", "mass = [1]"),
        ("mass = 1", "mass = true"),
        ("[body.a]\nmass = 1\n", ""),
        ("\"distance\"", "\"distanc\""),
        ("type = \"distance\"\n", ""),
        ("[\"ground\", \"a\"]", "[\"ground\"]"),
        ("[\"ground\", \"a\"]", "[\"ground\", \"\"]"),
        ("[0, 0, 1]", "[0, 0, 1, 2]"),
        ("[joint.j]", "[joints.j]"),
    ] {
        assert!(good.contains(old));
        assert!(fits(&good.replace(old, new)).is_err(), "{new:?} in the place of {old:?} fits the schema");
    }
}

/// Sources in brackets, such as `[Gear, Gupta & Leimkuhler 1985, §2; Petzold 1982]`, as first name and year.
fn sources(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for inside in text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(inside, _)| inside) {
        if !inside.starts_with(|c: char| c.is_uppercase()) || inside.contains(['\n', '"', '{', '`']) {
            continue;
        }
        let mut author: Option<&str> = None;
        for word in inside.split_inclusive([' ', ';']) {
            let bare = word.trim_end_matches([' ', ',', ';']);
            let year = bare.len() == 4 && bare.chars().all(|c| c.is_ascii_digit()) && author != Some("RFC");
            let name = |c: char| c.is_alphabetic() || c == '-';
            match (year, author) {
                (true, Some(name)) => {
                    found.push((name.to_string(), bare.to_string()));
                    author = None;
                }
                (false, None) if bare.starts_with(|c: char| c.is_uppercase()) && bare.chars().all(name) => {
                    author = Some(bare)
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn every_source_is_in_the_bibliography() {
    let known = "[Gear, Gupta & Leimkuhler 1985, §2; Petzold 1982] [x, y, z] [Kahn 1962]";
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert_eq!(sources(known), [pair("Gear", "1985"), pair("Petzold", "1982"), pair("Kahn", "1962")]);

    fn walk(folder: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            match entry.extension().and_then(|e| e.to_str()) {
                _ if entry.is_dir() => walk(&entry, out),
                Some("rs" | "md") => out.push(entry),
                _ => {}
            }
        }
    }
    let mut files = Vec::new();
    ["crates", "tests", "book"].iter().for_each(|folder| walk(&root().join(folder), &mut files));
    let bibliography = std::fs::read_to_string(root().join("book/references.bib")).unwrap();
    let mut missing = Vec::new();
    for file in files {
        for (author, year) in sources(&std::fs::read_to_string(&file).unwrap()) {
            if !bibliography.lines().any(|entry| entry.contains(&author) && entry.contains(&year)) {
                missing.push(format!("{author} {year} of {}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "add to book/references.bib:\n{}", missing.join("\n"));
}
