//! `bellcrank new NAME`: the examples as templates.

use crate::{Failure, print, tell};
use bellcrank_model::file::suggest;
use clap::Args;
use std::io::{ErrorKind, Write};

/// The models of `examples/`: name and text.
pub const EXAMPLES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Good ones to start from; every other example will do as well.
const FIRST: [&str; 7] = ["pendulum", "four-bar", "slider-crank", "quarter-car", "robot-arm", "net", "flexible-rod"];

/// Options of `new`.
#[derive(Args)]
pub struct New {
    /// Name of the model; it is written to NAME.toml.
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// What to start from: pendulum, four-bar, slider-crank, quarter-car, robot-arm, net, or any other of --list.
    #[arg(long, default_value = "pendulum")]
    template: String,
    /// Lists the templates.
    #[arg(long)]
    list: bool,
}

/// The first line of a model's comment: what it is.
pub fn title(text: &str) -> &str {
    text.lines().next().map_or("", |line| line.trim_start_matches(['#', ' ']))
}

/// Writes a model, and never over another file.
pub fn new(args: New) -> Result<(), Failure> {
    if args.list {
        let width = EXAMPLES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let good = FIRST.iter().filter_map(|n| EXAMPLES.iter().find(|(name, _)| name == n));
        let rest = EXAMPLES.iter().filter(|(name, _)| !FIRST.contains(name));
        let line = |(name, text): &(&str, &str)| format!("{name:width$}  {}", title(text));
        return print(&good.chain(rest).map(line).collect::<Vec<_>>().join("\n"));
    }
    let Some((template, text)) = EXAMPLES.iter().find(|(name, _)| *name == args.template) else {
        let names = || EXAMPLES.iter().map(|(name, _)| *name);
        let near = suggest::nearest(&args.template, names()).map(|n| format!("did you mean `{n}`? "));
        let known = FIRST.iter().copied().filter(|n| names().any(|m| m == *n));
        let help = format!("{}templates are {}; --list tells more", near.unwrap_or_default(), suggest::list(known));
        return Err(Failure::BadInput(format!("unknown template {}\nhelp: {help}", suggest::quoted(&args.template))));
    };
    let given = args.name.unwrap_or_default();
    let name = given.strip_suffix(".toml").unwrap_or(&given);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let help = "use letters, digits and - or _, such as my-machine; the file goes to the present folder";
        return Err(Failure::BadInput(format!("{} is no name for a model\nhelp: {help}", suggest::quoted(&given))));
    }
    let path = format!("{name}.toml");
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::AlreadyExists => {
            Failure::BadInput(format!("{path} is already there and stays as it is\nhelp: choose another name"))
        }
        _ => Failure::Failed(format!("cannot write {path}: {e}")),
    };
    let text = text
        .replace(&format!("name = \"{template}\""), &format!("name = \"{name}\""))
        .replace(&format!("examples/{template}.toml"), &path);
    let mut file = std::fs::File::create_new(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    tell(&format!("wrote {path}: {}", title(&text)));
    tell(&format!("next: bellcrank run {path} --out results, then bellcrank view results"));
    Ok(())
}
