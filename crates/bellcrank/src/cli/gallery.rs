//! `bellcrank gallery`: runs every example, draws it, and puts its numbers beside the picture.

use crate::cli::new::{EXAMPLES, attached, heading};
use crate::cli::run::{self, Run};
use crate::cli::{Failure, tell};
use bellcrank_model::file::suggest;
use bellcrank_results::{Columns, names};
use bellcrank_view::drawing::escape;
use bellcrank_view::picture;
use clap::Args;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Options of `gallery`.
#[derive(Args)]
pub struct Gallery {
    /// The folder for the page, the pictures and the results.
    #[arg(long, value_name = "DIR", default_value = "gallery")]
    out: PathBuf,
    /// Runs only this example; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Also writes the pictures as PNG.
    #[arg(long)]
    png: bool,
}

/// Runs the examples. One that fails is shown on the page and makes the command fail.
pub fn gallery(args: Gallery) -> Result<(), Failure> {
    let known = || EXAMPLES.iter().map(|(name, _)| *name);
    if let Some(wrong) = args.only.iter().find(|n| !known().any(|m| m == n.as_str())) {
        let near = suggest::nearest(wrong, known()).map_or(suggest::list(known()), |n| format!("did you mean `{n}`?"));
        return Err(Failure::BadInput(format!("there is no example {}\nhelp: {near}", suggest::quoted(wrong))));
    }
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|n| n == name);
    let write = |name: &str, bytes: &[u8]| {
        let path = args.out.join(name);
        std::fs::write(&path, bytes).map_err(|e| Failure::Failed(format!("cannot write {}: {e}", path.display())))
    };
    std::fs::create_dir_all(&args.out).map_err(|e| {
        Failure::Failed(format!(
            "cannot make the folder {}: {}; choose another with --out",
            args.out.display(),
            e.kind()
        ))
    })?;
    let mut cards = String::new();
    let mut failed = Vec::new();
    let mut count = 0;
    for (name, text) in EXAMPLES.iter().filter(|(name, _)| wanted(name)) {
        tell(&format!("{name}: {}", heading(text).0));
        write(&format!("{name}.toml"), text.as_bytes())?;
        attached(text).try_for_each(|(file, bytes)| write(file, bytes))?;
        let folder = args.out.join(name);
        let model = args.out.join(format!("{name}.toml"));
        let page = args.out.join(format!("{name}.html"));
        let ended = run::run(Run::of(&model.to_string_lossy()).into_folder(folder.clone()).with_report(page));
        let problem = match ended {
            Ok(()) => String::new(),
            Err(Failure::BadInput(e) | Failure::Failed(e) | Failure::Doubtful(e)) => e,
        };
        if !problem.is_empty() {
            tell(&problem);
            failed.push(*name);
        }
        let bad = |e: std::io::Error| Failure::Failed(format!("{name}: {e}"));
        let summary = json(&folder.join(names::SUMMARY));
        if let Ok(columns) = Columns::open(&folder) {
            let scene = serde_json::from_value(json(&folder.join(names::SCENE))).unwrap_or_default();
            let drawing = picture(&scene, &columns, 640.0, 420.0).map_err(bad)?;
            write(&format!("{name}.svg"), drawing.to_svg().as_bytes())?;
            if let (true, Some(png)) = (args.png, drawing.to_png(1.5)) {
                write(&format!("{name}.png"), &png)?;
            }
        }
        cards += &card(name, text, &summary, &problem);
        count += 1;
    }
    write("index.html", page(&cards, count).as_bytes())?;
    tell(&format!("gallery: {}", args.out.join("index.html").display()));
    match failed.len() {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{n} of {count} examples failed: {}", failed.join(", ")))),
    }
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

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
        fact("error of its balance", format!("{:.1e} J", x("energy", "max_error"))),
        fact("drift", format!("{} m, {} m/s", small(x("drift", "position")), small(x("drift", "velocity")))),
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

fn card(name: &str, text: &str, summary: &Value, problem: &str) -> String {
    let rows: String = facts(summary).iter().map(|(k, v)| format!("<tr><th>{}<td>{}", escape(k), escape(v))).collect();
    let (title, rest) = heading(text);
    let problem = if problem.is_empty() { String::new() } else { format!("<pre class=bad>{}</pre>", escape(problem)) };
    format!(
        "<article id=\"{name}\"><a href=\"{name}.html\"><img src=\"{name}.svg\" alt=\"{name}\" width=640 height=420></a>\
         <h2>{}</h2>{}{problem}<table>{rows}</table>\
         <p class=links><a href=\"{name}.html\">in motion</a> <a href=\"{name}.toml\">model</a> \
         <code>bellcrank view {name}</code></p></article>\n",
        escape(&title),
        comment(&rest),
    )
}

fn page(cards: &str, count: usize) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Bellcrank: gallery</title><style>\
         :root{{color-scheme:light dark;--line:#d8dce2;--soft:#5b6470}}\
         @media(prefers-color-scheme:dark){{:root{{--line:#3a4048;--soft:#9aa4b0}}}}\
         body{{font:15px/1.5 system-ui,sans-serif;max-width:1400px;margin:2em auto;padding:0 1.2em}}\
         main{{display:grid;grid-template-columns:repeat(auto-fill,minmax(380px,1fr));gap:1.4em}}\
         article{{border:1px solid var(--line);border-radius:10px;overflow:hidden;padding-bottom:.6em}}\
         article>*{{margin-left:1rem;margin-right:1rem}}article>a{{display:block;margin:0;background:#fff}}\
         img{{display:block;width:100%;height:auto}}h2{{font-size:17px;margin-bottom:.3em;line-height:1.3}}\
         p{{margin-top:.4em;margin-bottom:.6em}}table{{font-size:13px;border-collapse:collapse}}\
         th{{text-align:left;font-weight:normal;color:var(--soft);padding-right:1em}}\
         .links a{{margin-right:.8em}}code{{font-size:12.5px}}.bad{{color:#c00;white-space:pre-wrap}}</style>\
         <h1>Gallery</h1><p>{count} machines, computed and drawn by Bellcrank: the last moment, pale what was before, in \
         red the paths of probes. Every number comes from the run that drew the picture.</p><main>\n{cards}</main></html>\n"
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
}
