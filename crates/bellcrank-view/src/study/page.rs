//! The page of a study: its drawings, chosen by what stands in the address.

use super::{StudyTable, family, heat, parallel, scatter, tornado};
use crate::drawing::{Drawing, escape};
use bellcrank_results::Columns;
use std::fmt::Write;

const STYLE: &str = "
:root { color-scheme: light dark; --ground: #fff; --ink: #222; --quiet: #666; --line: #ddd; }
body { margin: 0 auto; max-width: 1080px; padding: 1.2rem; font: 15px/1.5 system-ui, sans-serif; background: var(--ground);
  color: var(--ink); }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1.02rem; margin: 2rem 0 .4rem; }
p { margin: .3rem 0; color: var(--quiet); }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: end; margin: 1rem 0; padding: .7rem 0;
  border: solid var(--line); border-width: 1px 0; }
label { display: grid; font-size: .85rem; color: var(--quiet); }
select, button { font: inherit; padding: .25rem .5rem; }
figure { margin: 0; overflow-x: auto; } svg { max-width: 100%; height: auto; border-radius: 4px; }
.warning { color: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181c; --ink: #e8e8e8; --quiet: #a0a4ab; --line: #363a41; }
  svg { filter: invert(.91) hue-rotate(180deg); } .warning { color: #ffb454; }
}
";

/// What is chosen, by column.
struct ChosenColumns {
    x: usize,
    y: usize,
    of: usize,
    curve: String,
}

/// The page for what is asked; `asked` gives the parameters of the address.
pub(crate) fn page(study: &StudyTable, asked: &dyn Fn(&str) -> Option<String>) -> String {
    let column = |key: &str| asked(key).and_then(|name| study.find(&name).ok());
    let first = |list: &[usize], k: usize| list.get(k).or(list.first()).copied().unwrap_or(0);
    let curves = channels(study);
    let curve = asked("curve").filter(|name| curves.contains(name)).or_else(|| curves.first().cloned());
    let chosen = ChosenColumns {
        x: column("x").unwrap_or_else(|| first(&study.axes, 0)),
        y: column("y").unwrap_or_else(|| first(&study.axes, 1)),
        of: column("of").unwrap_or_else(|| first(&study.wanted, 0)),
        curve: curve.unwrap_or_default(),
    };
    let model = study.table.told("model").unwrap_or_default();
    let mut out = format!(
        "<!doctype html><html lang=\"en\" data-ready=\"yes\"><meta charset=\"utf-8\"><title>{0} – study</title>\
         <link rel=\"icon\" href=\"data:,\"><meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style><h1>Study of {0}</h1>",
        escape(model)
    );
    let failed = study.failed();
    let _ = write!(out, "<p>{} runs, {} values varied", study.table.rows(), study.axes.len());
    if failed > 0 {
        let _ = write!(out, ", <span class=\"warning\">{failed} failed</span>: {}", escape(&reason(study)));
    }
    out += "</p>";
    form(&mut out, study, &chosen, &curves);
    let all: Vec<usize> = study.columns().filter(|c| *c != chosen.of).chain([chosen.of]).collect();
    let name = |c: usize| escape(study.name(c));
    let (x, y, of) = (name(chosen.x), name(chosen.y), name(chosen.of));
    figure(&mut out, "tornado", &format!("What moves {of}"), &tornado(study, chosen.of));
    figure(&mut out, "parallel", "All rows", &parallel(study, &all));
    let hue = (chosen.y != chosen.of).then_some(chosen.y);
    figure(&mut out, "scatter", &format!("{of} over {x}"), &scatter(study, chosen.x, chosen.of, hue));
    if chosen.x != chosen.y {
        let title = format!("Mean of {of} over {x} and {y}");
        figure(&mut out, "heat", &title, &heat(study, chosen.x, chosen.y, chosen.of));
    }
    if !chosen.curve.is_empty() {
        let title = format!("{} over time, by {x}", escape(&chosen.curve));
        match family(study, &chosen.curve, chosen.x) {
            Ok(drawing) => figure(&mut out, "family", &title, &drawing),
            Err(e) => _ = write!(out, "<p class=\"warning\">{}</p>", escape(&e.to_string())),
        }
    }
    out + "</html>"
}

/// The channels of the first results that were kept.
fn channels(study: &StudyTable) -> Vec<String> {
    let Some(kept) = study.table.place("folder") else { return Vec::new() };
    let folders = (0..study.table.rows()).map(|i| study.table.values[kept].shown(i));
    let Some(folder) = folders.into_iter().find(|f| !f.is_empty()) else { return Vec::new() };
    let names = Columns::open(&study.dir.join(folder)).map(|c| c.names).unwrap_or_default();
    names.into_iter().skip(1).collect()
}

/// Why the first row that failed did.
fn reason(study: &StudyTable) -> String {
    let (Some(status), Some(reason)) = (study.table.place("status"), study.table.place("reason")) else {
        return String::new();
    };
    let failed = (0..study.table.rows()).find(|i| study.table.values[status].shown(*i) == "failed");
    failed.map_or(String::new(), |i| format!("row {i}: {}", study.table.values[reason].shown(i)))
}

fn form(out: &mut String, study: &StudyTable, chosen: &ChosenColumns, curves: &[String]) {
    *out += "<form>";
    let mut select = |label: &str, key: &str, names: &mut dyn Iterator<Item = &str>, now: &str| {
        let _ = write!(out, "<label>{label}<select name=\"{key}\">");
        for name in names {
            let mark = if name == now { " selected" } else { "" };
            let _ = write!(out, "<option{mark}>{}</option>", escape(name));
        }
        *out += "</select></label>";
    };
    select("across", "x", &mut study.columns().map(|k| study.name(k)), study.name(chosen.x));
    select("up, or colour", "y", &mut study.columns().map(|k| study.name(k)), study.name(chosen.y));
    select("result", "of", &mut study.wanted.iter().map(|k| study.name(*k)), study.name(chosen.of));
    if !curves.is_empty() {
        select("curve", "curve", &mut curves.iter().map(String::as_str), &chosen.curve);
    }
    *out += "<button>Show</button></form>";
}

fn figure(out: &mut String, id: &str, title: &str, drawing: &Drawing) {
    let _ = write!(out, "<h2>{title}</h2><figure id=\"{id}\">{}</figure>", drawing.to_svg());
}
