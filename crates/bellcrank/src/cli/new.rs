//! `bellcrank new NAME`: starts a model from one of the examples.

use crate::cli::{Failure, print, tell};
use bellcrank_model::file::suggest;
use bellcrank_solve::choices::fields;
use clap::Args;
use std::io::{ErrorKind, Write};

/// The models of `examples/`: name and text.
pub const EXAMPLES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The other files of `examples/`, which models read: name and contents.
const ATTACHED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/attached.rs"));

/// The files that a model reads.
pub fn attached(text: &str) -> impl Iterator<Item = &'static (&'static str, &'static [u8])> {
    ATTACHED.iter().filter(move |(name, _)| text.contains(&format!("\"{name}\"")))
}

/// The schema beside a new model: editors find it by the first line of the model and complete its keys.
const SCHEMA: &str = "model.schema.json";

/// Good ones to start from; any other example works as well.
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

/// The comment at the head of a model: its first sentence, which is its title, and the lines of the rest.
pub fn heading(text: &str) -> (String, Vec<String>) {
    let lines: Vec<&str> = text.lines().map_while(|l| l.strip_prefix('#')).collect();
    let first = lines.iter().position(|l| l.trim().is_empty() || l.starts_with("  ")).unwrap_or(lines.len());
    let paragraph = lines[..first].iter().map(|l| l.trim()).collect::<Vec<_>>().join(" ");
    let sentence = paragraph.find(". ").map_or(paragraph.len(), |at| at + 1);
    // a long one ends at its colon
    let colon = paragraph[..sentence].find(": ").filter(|at| sentence > 100 && *at > 20);
    let (title, rest) = paragraph.split_at(colon.unwrap_or(sentence));
    let rest = std::iter::once(rest.trim_start_matches([':', ' ']).to_string());
    (title.to_string(), rest.chain(lines[first..].iter().map(|l| l.to_string())).collect())
}

/// Writes a model; never overwrites a file.
pub fn new(args: New) -> Result<(), Failure> {
    if args.list {
        let width = EXAMPLES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let good = FIRST.iter().filter_map(|n| EXAMPLES.iter().find(|(name, _)| name == n));
        let rest = EXAMPLES.iter().filter(|(name, _)| !FIRST.contains(name));
        let line = |(name, text): &(&str, &str)| format!("{name:width$}  {}", heading(text).0);
        return print(&good.chain(rest).map(line).collect::<Vec<_>>().join("\n"));
    }
    let Some((template, text)) = EXAMPLES.iter().find(|(name, _)| *name == args.template) else {
        let names = || EXAMPLES.iter().map(|(name, _)| *name);
        let near = suggest::nearest(&args.template, names()).map(|n| format!("did you mean `{n}`? "));
        let known = FIRST.iter().copied().filter(|n| names().any(|m| m == *n));
        let help =
            format!("{}templates are {}; --list describes all of them", near.unwrap_or_default(), suggest::list(known));
        return Err(Failure::BadInput(format!("unknown template {}\nhelp: {help}", suggest::quoted(&args.template))));
    };
    let given = args.name.unwrap_or_default();
    let name = given.strip_suffix(".toml").unwrap_or(&given);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let help = "use letters, digits and - or _, such as my-machine; the file is written to the current folder";
        return Err(Failure::BadInput(format!(
            "{} cannot be the name of a model\nhelp: {help}",
            suggest::quoted(&given)
        )));
    }
    let path = format!("{name}.toml");
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::AlreadyExists => {
            Failure::BadInput(format!("{path} already exists and is left as it is\nhelp: choose another name"))
        }
        _ => Failure::Failed(format!("cannot write {path}: {e}")),
    };
    let text = text
        .replace(&format!("name = \"{template}\""), &format!("name = \"{name}\""))
        .replace(&format!("examples/{template}.toml"), &path);
    if let Some((file, _)) = attached(&text).find(|(file, _)| std::path::Path::new(file).exists()) {
        let help = "the model needs its own copy of it: start in an empty folder";
        return Err(Failure::BadInput(format!("{file} already exists and is left as it is\nhelp: {help}")));
    }
    let title = heading(&text).0;
    let text = format!("#:schema ./{SCHEMA}\n{text}");
    let mut file = std::fs::File::create_new(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    for (name, bytes) in attached(&text) {
        let folder = std::path::Path::new(name).parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| std::fs::write(name, bytes));
        written.map_err(|e| Failure::Failed(format!("cannot write {name}: {e}")))?;
    }
    if !std::path::Path::new(SCHEMA).exists() {
        let schema = format!("{:#}\n", bellcrank_model::reference::schema(fields()));
        std::fs::write(SCHEMA, schema).map_err(|e| Failure::Failed(format!("cannot write {SCHEMA}: {e}")))?;
    }
    tell(&format!("wrote {path}: {title}"));
    tell(&format!("next: bellcrank run {path} --out results, then bellcrank view results"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::heading;

    #[test]
    fn titles_are_first_sentences() {
        let of = |text: &str| {
            let (title, rest) = heading(text);
            (title, rest.iter().map(|l| l.trim()).collect::<Vec<_>>().join("|"))
        };
        let is = |title: &str, rest: &str| (title.to_string(), rest.to_string());
        assert_eq!(of("# A bar: on a pin.\n#\n# More.\n[model]"), is("A bar: on a pin.", "||More."));
        assert_eq!(of("# A bar that bends. Run it with\n#\n#     run"), is("A bar that bends.", "Run it with||run"));
        assert_eq!(of("# A bar on two\n# lines. And on.\n"), is("A bar on two lines.", "And on."));
        let long = "# A mass on a moving belt, held by a spring: it is carried along until the spring pulls harder than\n# it can.\n";
        assert_eq!(of(long).0, "A mass on a moving belt, held by a spring");
        assert!(of(long).1.ends_with("harder than it can."));
        assert_eq!(of("[model]"), is("", ""));
    }
}
