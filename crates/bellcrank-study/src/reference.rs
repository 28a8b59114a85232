//! The reference of study files, made from the tables that read them: JSON Schema and Markdown.

use crate::column::of_run;
use crate::file::{STUDY, VARY};
use bellcrank_model::file::Field;
use bellcrank_model::file::schema::{field_table, object_schema};
use bellcrank_solve::run::OutputSummary;
use serde_json::{Value, json};

/// The JSON Schema (draft 2020-12) of study files, for editors; `solve` are the keys of `[solve]`.
pub fn schema(solve: &'static [Field]) -> Value {
    let value = json!({ "type": ["number", "string", "boolean"] });
    let list = json!({ "type": "array", "items": value, "minItems": 1 });
    let mut vary = object_schema(&[VARY]);
    vary["properties"]["values"] = list.clone();
    let mut solve = object_schema(&[solve]);
    solve["description"] = json!("Choices for all runs; they win over those of the model");
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://bellcrank.dev/study.schema.json",
        "title": "Bellcrank study",
        "description": "Many runs of one model with other values each time, as one table.",
        "type": "object",
        "properties": {
            "$schema": { "type": "string" },
            "study": object_schema(&[STUDY]),
            "vary": {
                "type": "object",
                "description": "What is varied, by name: a parameter, or with its path in quotes anything else",
                "additionalProperties": { "anyOf": [list, vary] },
            },
            "column": {
                "type": "object",
                "description": "What is wanted of every run, by name",
                "additionalProperties": { "type": "string" },
            },
            "solve": solve,
            "set": {
                "type": "object",
                "description": "Values of the model for all runs, by their paths",
                "additionalProperties": { "type": ["number", "string", "boolean", "array"] },
            },
        },
        "required": ["study", "vary"],
        "additionalProperties": false,
    })
}

/// The reference as Markdown.
pub fn markdown() -> String {
    let measures = OutputSummary::MEASURES.map(|m| format!("`{m}`")).join(", ");
    let of_run = of_run().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let mut out = String::from("# The study file\n\nTOML (or JSON). `bellcrank study FILE --out DIR` runs it.\n");
    let mut section = |title: &str, text: &str, fields: &str| out += &format!("\n## {title}\n\n{text}\n{fields}");
    section("`[study]`", "What is run, and how points are drawn.", &format!("\n{}", field_table(&[STUDY])));
    section(
        "`[vary]`",
        "What is varied. `k = [100, 200]` lists values of the parameter `k`; a table says more. A name with a dot, in quotes, \
         is the path of any value of the model (`\"start.pin.rate\"`, `\"body.link.mass\"`) or a choice of the solver \
         (`\"solve.method\"`). Lists and grids give all their combinations; what has a distribution is drawn `samples` times at each of \
         them, the same samples at all.",
        &format!("\n{}", field_table(&[VARY])),
    );
    section(
        "`[column]`",
        &format!(
            "What is wanted of every run: `peak = \"camber.max\"`. It is an output or a channel of the model and one of \
             {measures} behind a dot; without one, its value at the end. Of the run itself there are {of_run}. Without this section \
             there are `max`, `min` and `final` of every output.",
        ),
        "",
    );
    section("`[solve]`", "Choices for all runs, as in a model file. They win over those of the model.", "");
    section("`[set]`", "Values of the model for all runs, by name or path: `\"start.pin.rate\" = 2.0`.", "");
    out
}
