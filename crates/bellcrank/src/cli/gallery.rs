//! `bellcrank gallery`: runs every example, draws it, and makes a page of them with filters.

mod page;
mod tags;

use self::tags::GalleryMachine;
use crate::cli::new::{EXAMPLES, attached, heading};
use crate::cli::run::{self, Run};
use crate::cli::{Failure, tell};
use bellcrank_model::file::suggest;
use bellcrank_model::scene::Scene;
use bellcrank_results::{Columns, names};
use bellcrank_view::picture;
use clap::Args;
use serde_json::Value;
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
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| std::fs::write(&path, bytes));
        written.map_err(|e| Failure::Failed(format!("cannot write {}: {e}", path.display())))
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
        let report = args.out.join(format!("{name}.html"));
        let ended = run::run(Run::of(&model.to_string_lossy()).into_folder(folder.clone()).with_report(report));
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
        let scene: Scene = serde_json::from_value(json(&folder.join(names::SCENE))).unwrap_or_default();
        if let Ok(columns) = Columns::open(&folder) {
            let drawing = picture(&scene, &columns, 640.0, 420.0).map_err(bad)?;
            write(&format!("{name}.svg"), drawing.to_svg().as_bytes())?;
            if let (true, Some(png)) = (args.png, drawing.to_png(1.5)) {
                write(&format!("{name}.png"), &png)?;
            }
        }
        cards += &page::card(name, &GalleryMachine { scene: &scene, summary: &summary, text }, &problem);
        count += 1;
    }
    write("index.html", page::page(&cards, count).as_bytes())?;
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
