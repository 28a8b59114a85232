//! The page of the gallery: a card for every machine, and filters.

use super::tags::{GalleryMachine, TAGS};
use crate::cli::new::heading;
use bellcrank_view::drawing::escape;
use serde_json::Value;
use std::fmt::Write;

/// The key figures of a run.
fn facts(s: &Value) -> Vec<(String, String)> {
    let n = |key: &str| s[key].as_u64().unwrap_or(0);
    let x = |a: &str, b: &str| s[a][b].as_f64().unwrap_or(f64::NAN);
    let word = |key: &str| s[key].as_str().unwrap_or("").to_string();
    let redundant = match n("redundant_equations") {
        0 => String::new(),
        k => format!(", {k} redundant equations"),
    };
    let fact = |name: &str, value: String| (name.to_string(), value);
    let joule = |x: f64| if x.abs() < 5e-5 { "0".to_string() } else { format!("{x:.4}") };
    let small = |x: f64| if x == 0.0 { "0".to_string() } else { format!("{x:.0e}") };
    vec![
        fact("degrees of freedom", format!("{}{redundant}", n("degrees_of_freedom"))),
        fact("method", format!("{} on {}", word("method"), word("formulation"))),
        fact("steps", format!("{}, {} rejected", n("steps"), n("rejected"))),
        fact("energy", format!("{} → {} J", joule(x("energy", "initial")), joule(x("energy", "final")))),
        fact("error of the energy balance", format!("{:.1e} J", x("energy", "max_error"))),
        fact("joint drift", format!("{} m, {} m/s", small(x("drift", "position")), small(x("drift", "velocity")))),
    ]
}

/// A comment as HTML, paragraph by paragraph; indented lines are code.
fn comment(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        match (line.trim(), line.starts_with("     ")) {
            ("", _) => out += "</p><p>",
            (code, true) => {
                let _ = write!(out, "<code>{}</code><br>", escape(code));
            }
            (words, _) => {
                let _ = write!(out, "{} ", escape(words));
            }
        }
    }
    // every second piece between backticks is code
    let pieces = out.split('`').enumerate();
    let out: String = pieces.map(|(k, p)| if k % 2 == 1 { format!("<code>{p}</code>") } else { p.into() }).collect();
    format!("<p>{out}</p>").replace("<p></p>", "")
}

/// A title as its name and what is said of it: "A belt drive: a small pulley turns a large one" are two.
fn parts(title: &str) -> (&str, String) {
    match title.split_once(": ") {
        Some((name, about)) => {
            let mut letters = about.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
            (name, first + letters.as_str())
        }
        None => (title.trim_end_matches('.'), String::new()),
    }
}

/// The card of a machine, with the reason if its run failed.
pub fn card(name: &str, machine: &GalleryMachine, problem: &str) -> String {
    let (title, rest) = heading(machine.text);
    let (title, about) = parts(&title);
    let about = if about.is_empty() { about } else { format!("<p class=about>{}</p>", escape(&about)) };
    let rows: String =
        facts(machine.summary).iter().map(|(k, v)| format!("<tr><th>{}<td>{}", escape(k), escape(v))).collect();
    let keys: Vec<&str> = machine.tags().map(|tag| tag.key).collect();
    let chips: String = machine.tags().map(|tag| format!("<span>{}</span>", escape(tag.name))).collect();
    let problem = if problem.is_empty() { String::new() } else { format!("<pre class=bad>{}</pre>", escape(problem)) };
    format!(
        "<article id=\"{name}\" data-tags=\"{}\">\
         <a class=picture href=\"{name}.html\"><img src=\"{name}.svg\" alt=\"{name}\" width=640 height=420 loading=lazy></a>\
         <h2><a href=\"{name}.html\">{}</a></h2>{about}{problem}<p class=chips>{chips}</p>\
         <details><summary>About this machine</summary>{}<table>{rows}</table>\
         <p>Start your own from it: <code>bellcrank new my-machine --template {name}</code></p></details>\
         <p class=links><a href=\"{name}.html\">See it move</a> <a href=\"{name}.toml\">Model file</a></p></article>\n",
        keys.join(" "),
        escape(title),
        comment(&rest),
    )
}

/// The whole page. Without scripts it shows every machine and no filters. `<!--home-->` is a place for a link to the site
/// that the gallery is part of.
pub fn page(cards: &str, count: usize) -> String {
    let buttons: String = TAGS
        .iter()
        .map(|tag| {
            let name = escape(tag.name);
            format!("<button type=button data-tag={} aria-pressed=false>{name}<span></span></button>", tag.key)
        })
        .collect();
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Bellcrank: gallery</title><style>\n{}</style>\n\
         <header><!--home--><h1>Gallery</h1><p>{count} machines, computed and drawn by Bellcrank. A picture shows the end of the \
         run, earlier positions in pale colours and the paths of probes in red. Every number comes from the run that drew the \
         picture. Click a machine to see it move.</p></header>\n\
         <div class=bar hidden><div class=filters><input type=search placeholder=\"Search, e.g. crank\" aria-label=Search>\
         {buttons}<output aria-live=polite></output></div></div>\n\
         <main>\n{cards}<p class=none hidden>No machine has all of this. Release a filter or shorten the search.</p></main>\n\
         <script>\n{}</script></html>\n",
        include_str!("gallery.css"),
        include_str!("gallery.js"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_paragraphs() {
        let text = "# A <b>: title.\n#\n# One\n# `two`.\n#\n#     bellcrank run\n\n[model]\n# no more";
        let (title, rest) = heading(text);
        assert_eq!(title, "A <b>: title.");
        assert_eq!(comment(&rest), "<p>One <code>two</code>. </p><p><code>bellcrank run</code><br></p>");
    }

    #[test]
    fn a_title_has_a_name_and_what_is_said_of_it() {
        assert_eq!(parts("A belt drive: two pulleys."), ("A belt drive", "Two pulleys.".to_string()));
        assert_eq!(parts("A cart balances a pole."), ("A cart balances a pole", String::new()));
    }
}
