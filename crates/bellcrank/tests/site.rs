//! The book is true: its pages are listed, its links and anchors lead somewhere, its commands run and print what the page
//! shows, its models are read, and its figures are what the program draws. `UPDATE=1` writes figures and generated pages.
//!
//! What a page says to these tests:
//!
//! - a block `toml file=NAME` is written to the page's own folder before the commands below it run;
//! - a block `console` is a session: lines with `$ ` are commands, which must end with status 0 (`$ !` with another one), and
//!   the lines below are what they print, in this order, with any numbers; `…` stands for lines that are left out;
//! - an HTML comment that begins with `run` has commands that readers need not see;
//! - an image `figures/NAME` is what a command of that page saves as NAME.

mod common;

use common::{Scratch, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Figures that show times of one machine, so that no test can draw them again.
const MEASURED: [&str; 2] = ["closed-loops-time-chain.svg", "closed-loops-time-net.svg"];

fn source() -> PathBuf {
    root().join("book/src")
}

/// Every page, by its path from `book/src`.
fn pages() -> BTreeMap<String, String> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            match path.is_dir() {
                true => walk(&path, out),
                false => out.push(path),
            }
        }
    }
    let mut files = Vec::new();
    walk(&source(), &mut files);
    let page = |path: PathBuf| {
        let name = path.strip_prefix(source()).unwrap().to_str().unwrap().to_string();
        name.ends_with(".md").then(|| (name, std::fs::read_to_string(&path).unwrap()))
    };
    files.into_iter().filter_map(page).collect()
}

/// A path without `.` and `..`; one that leads out of the book begins with `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir if plain.pop() => {}
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A page with the files that it includes.
fn whole(name: &str, text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            Some(file) => {
                let path = source().join(name).parent().unwrap().join(file.split(':').next().unwrap());
                out += &std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name} includes {file}: {e}"));
            }
            None => out += line,
        }
        out.push('\n');
    }
    out
}

/// The lines of a page outside of blocks of code and of comments.
fn prose(text: &str) -> String {
    let (mut out, mut code, mut comment) = (String::new(), false, false);
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        comment |= line.trim_start().starts_with("<!--");
        if !(code || fence || comment || line.starts_with("    ")) {
            out += line;
            out.push('\n');
        }
        code ^= fence;
        comment &= !line.contains("-->");
    }
    out
}

/// The anchor of a heading, as mdBook makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in prose(text).lines().filter(|l| l.starts_with('#')) {
        let name = anchor(line.trim_start_matches('#'));
        let count = seen.entry(name.clone()).and_modify(|n| *n += 1).or_insert(0);
        found.insert(if *count == 0 { name } else { format!("{name}-{count}") });
    }
    found
}

/// Targets of links and images in prose; code spans are not looked at.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in prose(text).split("\n\n") {
        let outside: String = paragraph.split('`').step_by(2).collect();
        for rest in outside.split("](").skip(1) {
            found.extend(rest.split(')').next().map(|target| target.split(' ').next().unwrap().to_string()));
        }
    }
    found
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let pages = pages();
    let listed: Vec<String> = links(&pages["SUMMARY.md"]).into_iter().filter(|l| !l.is_empty()).collect();
    for page in pages.keys().filter(|p| *p != "SUMMARY.md") {
        let times = listed.iter().filter(|l| *l == page).count();
        assert_eq!(times, 1, "book/src/SUMMARY.md lists {page} {times} times: each page belongs there once");
    }
    let untitled: Vec<_> = pages.iter().filter(|(name, text)| !whole(name, text).starts_with("# ")).collect();
    assert!(untitled.is_empty(), "a page begins with its title: {untitled:?}");
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let texts: BTreeMap<&String, String> = pages.iter().map(|(name, text)| (name, whole(name, text))).collect();
    let mut wrong = Vec::new();
    for (name, text) in &texts {
        for link in links(text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            if file.contains("://") || link.starts_with("mailto:") || link.is_empty() {
                continue;
            }
            let path = match file {
                "" => PathBuf::from(name),
                file => plain(&Path::new(name).parent().unwrap().join(file)),
            };
            let key = path.to_str().unwrap().to_string();
            match texts.get(&key) {
                Some(target) if anchor.is_empty() || anchors(target).contains(anchor) => {}
                Some(_) => wrong.push(format!("{name}: {link}: there is no such heading")),
                None if source().join(&path).is_file() && !key.ends_with(".md") && !key.starts_with("..") => {}
                None => wrong.push(format!("{name}: {link}: there is no such file in book/src")),
            }
        }
    }
    // the files at the top are read on the web, where paths count from the top
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        for link in links(&text).into_iter().filter(|l| !l.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if file.is_empty() { root().join(name) } else { root().join(file) };
            let there = path.exists()
                && (anchor.is_empty() || anchors(&std::fs::read_to_string(&path).unwrap()).contains(anchor));
            if !there {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A step of a page's session.
enum Step {
    /// Writes a file.
    File { name: String, text: String },
    /// A command, with what it prints on the page, if the page shows it.
    Run { command: String, fails: bool, printed: Vec<String> },
}

/// The steps of a page, in order.
fn session(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "<!-- run" {
            let hidden = lines.by_ref().take_while(|l| !l.contains("-->"));
            steps.extend(hidden.map(|l| Step::Run { command: l.trim().into(), fails: false, printed: Vec::new() }));
        }
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|l| !l.starts_with("```")).collect();
        let mut words = info.split([' ', ',']);
        match (words.next(), words.find_map(|w| w.strip_prefix("file="))) {
            (Some("console"), _) => {
                for line in block {
                    if let Some(command) = line.strip_prefix("$ ") {
                        let plain = command.strip_prefix('!').map(str::trim_start);
                        let command = plain.unwrap_or(command).split(" #").next().unwrap().trim().to_string();
                        steps.push(Step::Run { command, fails: plain.is_some(), printed: Vec::new() });
                    } else if let Some(Step::Run { printed, .. }) = steps.last_mut() {
                        printed.push(line.into());
                    } else {
                        panic!("a session begins with a command: {line}");
                    }
                }
            }
            (_, Some(name)) => steps.push(Step::File { name: name.into(), text: block.join("\n") + "\n" }),
            _ => {}
        }
    }
    steps
}

/// Words of a command line; quotes keep words together.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A line with every number as `#`, and runs of spaces as one.
fn shape(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    let mut inside = false; // of a word, where digits belong to a name
    while let Some(c) = chars.next() {
        let number = c.is_ascii_digit()
            || (matches!(c, '-' | '−' | '.') && chars.peek().is_some_and(|n| n.is_ascii_digit() || *n == '.'));
        if number && !inside {
            while chars.peek().is_some_and(|n| n.is_ascii_digit() || matches!(*n, '.' | 'e' | '-')) {
                chars.next();
            }
            out.push('#');
        } else if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
        inside = c.is_alphabetic() || (inside && (c.is_ascii_digit() || c == '_'));
    }
    out.trim_end().to_string()
}

/// Whether a page shows what was printed: its lines in this order, `…` for any lines between.
fn shown(page: &[String], printed: &str) -> Result<(), String> {
    let printed: Vec<String> = printed.lines().map(shape).collect();
    let (mut at, mut gap) = (0, false);
    for line in page.iter().map(|l| shape(l)) {
        if line == "…" {
            gap = true;
            continue;
        }
        let found = match gap {
            true => printed[at..].iter().position(|p| *p == line),
            false => printed.get(at).filter(|p| **p == line).map(|_| 0),
        };
        let Some(skipped) = found else {
            return Err(format!("`{line}` is not printed there, but\n{}", printed.join("\n")));
        };
        (at, gap) = (at + skipped + 1, false);
    }
    match gap || at == printed.len() {
        true => Ok(()),
        false => Err(format!("more is printed than the page shows:\n{}", printed[at..].join("\n"))),
    }
}

/// Runs the session of a page in a folder of its own, and gives the figures it saved.
fn run_page(name: &str, text: &str) -> Vec<(String, String)> {
    let s = Scratch::new(&format!("site-{}", name.replace(['/', '.'], "-")));
    std::os::unix::fs::symlink(root().join("examples").canonicalize().unwrap(), s.path("examples")).unwrap();
    let mut figures = Vec::new();
    for step in session(text) {
        let (command, fails, printed) = match step {
            Step::File { name, text } => {
                s.write(&name, text);
                continue;
            }
            Step::Run { command, fails, printed } => (command, fails, printed),
        };
        let words = words(&command);
        let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        match words[0].as_str() {
            "cd" | "mkdir" => continue, // the page's folder is there
            "bellcrank" => {}
            other => panic!("{name}: `{other}` in a session; sessions run bellcrank alone"),
        }
        if arguments[0] == "view" || arguments.contains(&"--live") {
            serves(&s, &arguments);
            continue;
        }
        let ended = s.bellcrank(&arguments);
        let said = format!("{}{}", ended.stderr, ended.stdout);
        assert_eq!(ended.code != 0, fails, "{name}: {command}\n{said}");
        if !printed.is_empty() {
            shown(&printed, &said).unwrap_or_else(|e| panic!("{name}: {command}: {e}"));
        }
        if let Some(k) = arguments.iter().position(|a| *a == "--save").filter(|k| arguments[k + 1].ends_with(".svg")) {
            let figure = arguments[k + 1].to_string();
            figures.push((figure.clone(), String::from_utf8(s.read(&figure)).unwrap()));
        }
    }
    figures
}

/// A command that serves a page must tell its address; it is then ended.
fn serves(s: &Scratch, arguments: &[&str]) {
    use std::io::BufRead;
    let mut command: Command = s.command(arguments);
    let mut child = command.arg("--no-open").stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).any(|line| line.contains("http://127.0.0.1:"));
    let _ = child.kill();
    let _ = child.wait();
    assert!(told, "{arguments:?} tells no address");
}

/// Numbers of a drawing may differ by less than a thousandth of the page; everything else must be equal.
fn same_drawing(a: &str, b: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let words = |text: &str| text.split(digit).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
    let numbers = |text: &str| text.split(|c| !digit(c)).filter_map(|x| x.parse::<f64>().ok()).collect::<Vec<f64>>();
    let (x, y) = (numbers(a), numbers(b));
    words(a) == words(b) && x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 0.7)
}

#[test]
fn commands_run_and_figures_are_drawn_by_them() {
    let pages = pages();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    let list: Vec<(&String, &String)> = pages.iter().collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, text)) = list.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if std::panic::catch_unwind(|| check_page(name, text)).is_err() {
                        wrong.lock().unwrap().push(name.as_str());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} (the reasons are above)", wrong.join(", "));
}

fn check_page(name: &str, text: &str) {
    let saved = run_page(name, text);
    for figure in links(text).iter().filter_map(|l| l.split("figures/").nth(1)).filter(|f| !MEASURED.contains(f)) {
        let path = source().join("figures").join(figure);
        let Some((_, drawn)) = saved.iter().rev().find(|(file, _)| file == figure) else {
            panic!("{name} shows figures/{figure}, which none of its commands saves");
        };
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, drawn).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(same_drawing(&kept, drawn), "{}: not what the program draws; UPDATE=1 draws it", path.display());
    }
}

/// Commands in the text: `bellcrank COMMAND … --flag …`, in code spans and blocks.
fn mentioned(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut code, mut rest) = (false, String::new());
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        if code || line.starts_with("    ") {
            let line = line.trim().trim_start_matches("$ ").trim_start_matches('!').trim();
            found.extend(line.starts_with("bellcrank ").then(|| line.split(" #").next().unwrap().to_string()));
        } else if !fence {
            rest += line;
            rest.push(' ');
        }
    }
    found.extend(rest.split('`').skip(1).step_by(2).filter(|c| c.starts_with("bellcrank ")).map(String::from));
    found
}

#[test]
fn commands_and_options_exist() {
    let s = Scratch::new("site-help");
    let help = |command: &str| s.bellcrank(&[command, "--help"]).stdout;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut texts: Vec<(String, String)> = pages().into_iter().collect();
    texts.extend(
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
            .map(|name| (name.to_string(), std::fs::read_to_string(root().join(name)).unwrap())),
    );
    let mut wrong = Vec::new();
    for (name, text) in &texts {
        for command in mentioned(text) {
            let all = words(&command);
            let Some(sub) = all.get(1).filter(|w| w.chars().all(|c| c.is_ascii_lowercase() || c == '-')) else {
                continue;
            };
            if sub.starts_with('-') || sub == "help" {
                continue;
            }
            let help = known.entry(sub.clone()).or_insert_with(|| help(sub));
            if help.is_empty() {
                wrong.push(format!("{name}: `{command}`: there is no such command"));
                continue;
            }
            for flag in all.iter().filter(|w| w.starts_with("--")).map(|w| w.split('=').next().unwrap()) {
                let listed = help.split([' ', ',', '\n', '[']).any(|w| w == flag);
                if !listed && flag != "--" {
                    wrong.push(format!("{name}: `{command}`: {flag} is not in bellcrank {sub} --help"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The page of all commands, as the program describes them.
fn command_line() -> String {
    let s = Scratch::new("site-commands");
    let of = |args: &[&str]| {
        let ended = s.bellcrank(args);
        assert_eq!(ended.code, 0);
        ended.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    let help = of(&["--help"]);
    let mut page = String::from(
        "# Command line\n\nThis page is what `bellcrank --help` and `bellcrank COMMAND --help` print.\n\n",
    );
    page += &format!("```text\n{}\n```\n", help.trim());
    let commands = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|l| !l.is_empty());
    for command in commands.filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' '))) {
        let name = command.split(' ').next().unwrap();
        if name != "help" {
            page += &format!("\n## `bellcrank {name}`\n\n```text\n{}\n```\n", of(&[name, "--help"]).trim());
        }
    }
    page
}

#[test]
fn the_page_of_the_command_line_is_current() {
    let path = source().join("reference/command-line.md");
    let page = command_line();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == page, "UPDATE=1 writes {} anew", path.display());
}

/// The fields of an entry of the bibliography, which has one on each line.
fn bibliography() -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(root().join("book/references.bib")).unwrap();
    let entry = |line: &str| {
        let mut fields = BTreeMap::new();
        let mut rest = line.split_once(", ")?.1;
        while let Some((name, after)) = rest.split_once(" = {") {
            let mut depth = 1;
            let end = after.find(|c: char| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth == 0
            })?;
            fields.insert(name.trim_start_matches([',', ' ']).to_string(), after[..end].replace(['{', '}', '\\'], ""));
            rest = &after[end + 1..];
        }
        Some(fields)
    };
    text.lines().filter(|l| l.starts_with('@')).filter_map(entry).collect()
}

/// The page of references: what `[Author year]` stands for, by the first author.
fn references() -> String {
    let mut lines = Vec::new();
    for entry in bibliography() {
        let field = |name: &str| entry.get(name).map_or("", String::as_str);
        let place = ["journal", "booktitle", "publisher", "institution", "howpublished"];
        let place = place.iter().map(|name| field(name)).find(|value| !value.is_empty()).unwrap_or("");
        let doi = match field("doi") {
            "" => String::new(),
            doi => format!(", [doi:{doi}](https://doi.org/{doi})"),
        };
        let authors = field("author").replace(" and ", ", ");
        let first = field("author").split(" and ").next().unwrap();
        let family = first.rsplit(' ').next().unwrap().to_lowercase();
        let line =
            format!("- {authors} ({}): *{}*. {}{doi}.", field("year"), field("title"), place.trim_end_matches('.'));
        lines.push((family, field("year").to_string(), line));
    }
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, _, line)| line).collect();
    format!(
        "# References\n\nThe sources of the methods and problems in this book and in the code. The text cites them by authors and year.\n\n{}\n",
        lines.join("\n")
    )
}

#[test]
fn the_page_of_references_is_the_bibliography() {
    let path = source().join("about/references.md");
    let page = references();
    assert!(page.contains("- C. G. Broyden (1965): *A class of methods"), "{page}");
    assert!(!page.contains("(): ") && !page.contains("**"), "an entry lacks its year or title: {page}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == page, "UPDATE=1 writes {} anew", path.display());
}

#[test]
fn sessions_are_compared_up_to_numbers() {
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let printed = "four-bar: 3 bodies\nmethod: dopri5, rtol 1e-7; 2 s\njoints: good, closed to 2.2e-16 m\n";
    assert!(shown(&lines("four-bar: 4 bodies\n…\njoints: good, closed to 1e-9 m"), printed).is_ok());
    assert!(shown(&lines("four-bar: 3 bodies\n…"), printed).is_ok());
    for wrong in ["four-bar: 3 bodies", "four-bar: 3 joints\n…", "…\nmethod: dopri8, rtol 1e-7; 2 s\n…"] {
        assert!(shown(&lines(wrong), printed).is_err(), "{wrong}");
    }
    assert_eq!(words("bellcrank plot results 'a b' \"*.x\""), ["bellcrank", "plot", "results", "a b", "*.x"]);
    assert!(same_drawing("<a x=\"1.00\"/>", "<a x=\"1.40\"/>") && !same_drawing("<a x=\"1\"/>", "<b x=\"1\"/>"));
    assert_eq!(anchor(" Events: contact, `sticking`"), "events-contact-sticking");
}

#[test]
fn reactions_have_the_sign_and_the_frame_that_the_book_tells() {
    let page = &pages()["reference/reactions.md"];
    let Some(Step::File { name, text }) = session(page).into_iter().next() else { panic!("the page has no model") };
    let s = Scratch::new("site-reactions");
    let v = s.write(&name, text).json(&name, &[]);
    let weight = 2.0 * 9.81;
    for (channel, value) in [
        ("weld.fz", weight),
        ("weld.my", -0.5 * weight),
        ("weld.fx", 0.0),
        ("weld.mx", 0.0),
        ("swapped.fz", -weight),
        ("swapped.my", 0.5 * weight),
    ] {
        let found = v["final"][channel].as_f64().unwrap();
        assert!((found - value).abs() < 1e-9, "{channel}: {found} is not {value}");
    }
    // a motor that lifts drives: its torque has the sign of the rate, and its power is what the energy gains
    let lift = "model = { plane = \"xy\", gravity = [0, -9.81] }\nbody.arm = { rod = { from = [0, 0], to = [1, 0], mass = 2 } }\n\
        joint.pin = { type = \"revolute\", between = [\"ground\", \"arm\"], at = [0, 0] }\n\
        joint.motor = { type = \"drive\", joint = \"pin\", angle = \"0.01*t\" }\n";
    let v = s.write("lift.toml", lift).json("lift.toml", &["--until", "0.5"]);
    let torque = v["final"]["motor.mz"].as_f64().unwrap();
    assert!((torque - 0.5 * weight * (0.005f64).cos()).abs() < 1e-6, "{torque}");
}
