//! Reading of model files: text to a tree with places, expressions of parameters, tables of fields,
//! and messages that point at the line they speak of.
//!
//! ```text
//! slider.toml ─┐
//! --set K=V  ──┴─Document→ Node ─Parameters→ numbers ─fields::read→ Values
//! ```
//!
//! Nothing here knows a body, a joint or a force: they describe their keys as [`Field`]s, and the same
//! description reads the file, checks it, writes the JSON Schema and the table in the documentation.
//! Every value remembers the [`Span`] it came from, so that a later refusal can still point there.

pub mod bounded;
pub mod csv;
pub mod diagnostic;
pub mod expression;
mod fast_toml;
pub mod fields;
pub mod json;
pub mod overrides;
pub mod parameters;
pub mod repeat;
pub mod schema;
pub mod source;
pub mod suggest;
pub mod toml;
pub mod tree;
pub mod units;

pub use diagnostic::{Diagnostic, Diagnostics, Report, Severity};
pub use expression::{Expression, Jet, OwnFunction};
pub use fields::{Context, Field, FieldKind, Laws, Named, Values, choose, joined, read};
pub use overrides::{FileLayout, find};
pub use parameters::{Parameter, Parameters};
pub use source::{Source, Sources, Span};
pub use tree::{Entry, Node, NodeValue, Table};

use std::path::Path;

/// A model file as it was read: its texts and the tree of its values.
#[derive(Clone, Debug)]
pub struct Document {
    /// The texts that spans point into: the file first, then one per override.
    pub sources: Sources,
    /// The values; always a table.
    pub root: Node,
}

/// What is left of a [`Document`] when its values are read: the tree takes ten times the memory of the text.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The texts that spans point into: the file first, then one per override and per part.
    pub sources: Sources,
    /// Sections, and the entries of each with the places of their names; for settings, of their values.
    sections: Vec<(String, Vec<(Box<str>, Span)>)>,
}

impl Outline {
    /// Where the name of an entry of a section stands; of `[solve]`, its value.
    pub fn place(&self, section: &str, name: &str) -> Option<Span> {
        let (_, entries) = self.sections.iter().find(|(s, _)| s == section)?;
        entries.iter().find(|(n, _)| **n == *name).map(|(_, span)| *span)
    }

    /// Names and places of the entries of a section, in the order of the file.
    pub fn entries(&self, section: &str) -> &[(Box<str>, Span)] {
        self.sections.iter().find(|(s, _)| s == section).map_or(&[], |(_, entries)| entries)
    }

    /// The problems found in this document, ready to be shown.
    pub fn report(&self, problems: Diagnostics) -> Report {
        Report::new(self.sources.clone(), problems)
    }
}

impl Document {
    /// The texts and the places of the entries, without the values.
    pub fn outline(self) -> Outline {
        let Document { sources, root } = self;
        let NodeValue::Table(root) = root.value else { return Outline { sources, sections: Vec::new() } };
        let entries = |section: Entry| match section.node.value {
            NodeValue::Table(table) => {
                let place = |e: Entry| {
                    let span = if section.name == "solve" { e.node.span } else { e.span };
                    (e.name.into_boxed_str(), span)
                };
                let places = table.entries.into_iter().map(place).collect();
                (section.name, places)
            }
            _ => (section.name, Vec::new()),
        };
        Outline { sources, sections: root.entries.into_iter().map(entries).collect() }
    }

    /// Reads the file at `path` (JSON if it ends in `.json`, otherwise TOML) and puts the overrides
    /// `path.to.key=value` on it.
    pub fn open(path: &str, overrides: &[String], layout: &FileLayout) -> Result<Document, Report> {
        Document::open_bare(path)?.with(overrides, layout)
    }

    /// The same as it stands in the file.
    pub fn open_bare(path: &str) -> Result<Document, Report> {
        let bytes = bounded::read_stream(Path::new(path), bounded::LARGEST)
            .map_err(|error| Report::from(unreadable(path, &error)))?;
        match String::from_utf8(bytes) {
            Ok(text) => Document::bare(path, text),
            Err(error) => Err(not_utf8(path, error)),
        }
    }

    /// Reads a text under the name the user knows it by.
    pub fn parse(name: &str, text: String, overrides: &[String], layout: &FileLayout) -> Result<Document, Report> {
        Document::bare(name, text)?.with(overrides, layout)
    }

    /// The same as it stands in the text: nothing is overridden or repeated yet.
    pub fn bare(name: &str, text: String) -> Result<Document, Report> {
        if text.len() as u64 > bounded::LARGEST {
            let shown = format!("{} is larger than {} MB", suggest::quoted(name), bounded::LARGEST >> 20);
            return Err(Report::from(Diagnostic::error(shown).help("`repeat` writes many equal bodies in one")));
        }
        let sources = Sources::new(Source::new(name, text));
        match parse_source(&sources.0[0], 0) {
            Ok(root) => Ok(Document { sources, root }),
            Err(problems) => Err(Report::new(sources, problems)),
        }
    }

    /// A bare document with overrides put on it, and what repeats written out.
    pub fn with(self, overrides: &[String], layout: &FileLayout) -> Result<Document, Report> {
        self.with_parts(overrides, layout, |_| Ok(())).map(|(document, ())| document)
    }

    /// The same with files that are put into it in between; what that gives comes back.
    pub fn with_parts<T>(
        mut self,
        overrides: &[String],
        layout: &FileLayout,
        include: impl FnOnce(&mut Document) -> Result<T, Diagnostics>,
    ) -> Result<(Document, T), Report> {
        let sections: Vec<&str> = layout.named.iter().copied().chain(["start"]).collect();
        let applied = overrides::apply(&mut self.root, overrides, layout, &mut self.sources);
        let included = applied.and_then(|()| include(&mut self));
        match included.and_then(|parts| repeat::expand(&mut self.root, &sections).map(|()| parts)) {
            Ok(parts) => Ok((self, parts)),
            Err(problems) => Err(self.report(problems)),
        }
    }

    /// The entries of a section such as `[body]`; none if the file has no such section.
    pub fn section(&self, name: &str) -> Result<&[Entry], Diagnostic> {
        let Some(node) = self.root.get(name) else { return Ok(&[]) };
        match node.as_table() {
            Some(table) => Ok(&table.entries),
            None => Err(Diagnostic::error(format!("`{name}` must be a table, found {}", node.article()))
                .at(node.span)
                .label("expected a table")
                .help(format!("write it like [{name}] or [{name}.…]"))),
        }
    }

    /// The problems found in this document, ready to be shown.
    pub fn report(&self, problems: Diagnostics) -> Report {
        Report::new(self.sources.clone(), problems)
    }
}

/// The tree of a text: JSON if its name ends so, otherwise TOML. `id` is its number among the sources.
pub(crate) fn parse_source(file: &Source, id: u32) -> Result<Node, Diagnostics> {
    let json = Path::new(&file.name).extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
    if json { json::parse(file, id) } else { toml::parse(file, id) }
}
/// The message for a file that cannot be opened, with the name it may have been meant to have.
fn unreadable(path: &str, error: &std::io::Error) -> Diagnostic {
    use std::io::ErrorKind;
    let shown = suggest::quoted(path);
    let found = |what: &str| Diagnostic::error(format!("cannot read {shown}: {what}"));
    match error.kind() {
        ErrorKind::NotFound => {
            let file = Path::new(path);
            let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !folder.is_dir() {
                return found("no such file")
                    .help(format!("there is no folder {}", suggest::quoted(&folder.to_string_lossy())));
            }
            let mut names: Vec<String> = std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .take(10_000)
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| matches!(Path::new(name).extension(), Some(e) if e == "toml" || e == "json"))
                .collect();
            names.sort();
            let wanted = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let with_toml = format!("{wanted}.toml");
            let near = names.iter().find(|n| **n == with_toml).map(String::as_str);
            match near.or_else(|| suggest::nearest(&wanted, names.iter().map(String::as_str))) {
                Some(near) => {
                    let near = if path.contains(['/', '\\']) {
                        folder.join(near).to_string_lossy().into_owned()
                    } else {
                        near.into()
                    };
                    found("no such file").help(format!("did you mean {}?", suggest::quoted(&near)))
                }
                None => {
                    found("no such file").help("check the path; it is taken from the folder you are in".to_string())
                }
            }
        }
        ErrorKind::IsADirectory => found("it is a folder").help("give the model file inside it".to_string()),
        ErrorKind::PermissionDenied => found("permission denied"),
        _ => found(&error.to_string()),
    }
}

/// The message for a file that is not text, pointing at the first byte that is wrong.
fn not_utf8(path: &str, error: std::string::FromUtf8Error) -> Report {
    let at = error.utf8_error().valid_up_to();
    let byte = error.as_bytes().get(at).copied().unwrap_or(0);
    let mut bytes = error.into_bytes();
    let line_end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
    bytes.truncate(line_end.min(at + 200));
    let source = Source { name: path.into(), text: String::from_utf8_lossy(&bytes).into_owned() };
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    let problem = Diagnostic::error(format!("{} is not UTF-8 text", suggest::quoted(path)))
        .at(Span { source: 0, start: at, end: at.saturating_add(3) })
        .label(format!("byte 0x{byte:02x} is not UTF-8"))
        .help("save the file as UTF-8 in your editor".to_string());
    Report::new(Sources::new(source), problem.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: FileLayout =
        FileLayout { settings: &["model", "solve", "start"], named: &["parameter", "body", "joint", "force"] };
    const ROD: &[Field] = &[
        Field::required("from", FieldKind::Point, "m", "one end"),
        Field::required("to", FieldKind::Point, "m", "the other end"),
        Field::required("mass", FieldKind::Positive, "kg", "mass"),
    ];
    const BODY: &[Field] = &[
        Field::optional("rod", FieldKind::Table(ROD), "", "", "a slender rod"),
        Field::optional("mass", FieldKind::NonNegative, "kg", "that of the shape", "mass"),
        Field::optional("inertia", FieldKind::Square { plane: 1, space: 3 }, "kg·m²", "that of the shape", "inertia"),
        Field::optional("at", FieldKind::Point, "m", "the origin", "centre of mass"),
        Field::optional("fixed", FieldKind::Flag, "", "false", "held in place"),
    ];
    const JOINT: &[Field] = &[
        Field::required("type", FieldKind::Word(&["revolute", "prismatic"]), "", "the kind"),
        Field::required("between", FieldKind::Names(2, 2), "", "the two bodies"),
        Field::optional("at", FieldKind::Points(1, 2), "m", "", "the point"),
        Field::optional("axis", FieldKind::Direction, "", "", "the axis"),
        Field::optional("drive", FieldKind::Function, "", "", "drive"),
    ];
    const FORCE: &[Field] = &[
        Field::required("between", FieldKind::Names(2, 2), "", "the two bodies"),
        Field::optional("at", FieldKind::Points(1, 2), "m", "", "the points"),
        Field::required("stiffness", FieldKind::NonNegative, "N/m", "force per elongation"),
        Field::optional("damping", FieldKind::NonNegative, "N·s/m", "0", "force per rate of elongation"),
        Field::optional("force", FieldKind::Function, "N", "0", "a force"),
        Field::optional("count", FieldKind::Count, "", "1", "how many"),
    ];

    fn check(text: &str, set: &[&str]) -> Result<(), Report> {
        let name = if text.starts_with('{') { "m.json" } else { "m.toml" };
        let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
        let document = Document::parse(name, text.into(), &set, &LAYOUT)?;
        let parameters = Parameters::read(document.root.get("parameter"), &[]).map_err(|p| document.report(p))?;
        let plane = document.root.get("model").and_then(|m| m.get("plane")).is_some();
        let context = Context { parameters: &parameters, plane, variables: &["t"], folder: None, laws: None };
        let mut problems = Diagnostics::new();
        for (section, fields) in [("body", BODY), ("joint", JOINT), ("force", FORCE)] {
            let entries = problems.take(document.section(section)).unwrap_or_default();
            for entry in entries {
                problems.take(read(&entry.node, &format!("{section} `{}`", entry.name), &[fields], &context));
            }
        }
        problems.or(()).map_err(|p| document.report(p))
    }

    const GOOD: &str = r#"[model]
plane = "xy"
[parameter]
k = 100.0
L1 = 0.3
m = "k/100"
[body.crank]
rod = { from = [0, 0], to = [0, "-L1"], mass = 3.0 }
[body.link]
mass = 0.9
at = [0, 1]
[joint.pin]
type = "revolute"
between = ["ground", "crank"]
at = [0, 0]
[force.spring]
between = ["ground", "link"]
stiffness = "k"
"#;

    fn messages<'t>(inputs: impl IntoIterator<Item = (&'t str, &'t str)>) -> String {
        let mut out = String::new();
        for (text, set) in inputs {
            let set: &[&str] = if set.is_empty() { &[] } else { &[set] };
            out += &match check(text, set) {
                Ok(()) => format!("fine: {}\n", set.first().unwrap_or(&text)),
                Err(report) => report.to_string(),
            };
            out += "\n";
        }
        out
    }

    fn of_files(texts: &[&str]) -> String {
        messages(texts.iter().map(|t| (*t, "")))
    }
    #[test]
    fn messages_about_fields() {
        assert!(check(GOOD, &[]).is_ok());
        let shown = of_files(&[
            "[force.spring]\nbetween = [\"a\", \"b\"]\nstifness = 100\n",
            "[force.spring]\nbetween = [\"a\", \"b\"]\n",
            "[force]\nspring = 3\n",
            "force = [1, 2]",
            "[force.spring]\nbetween = [\"a\", \"b\"]\nstiffness = [100]\ndamping = -1\ncount = 0\nforce = true",
            "[force.spring]\nbetween = \"a\"\nstiffness = nan\ndamping = \"-2*pi\"\ncount = 1.5\nforce = inf",
            "[force.spring]\nbetween = [\"a\"]\nstiffness = \"t\"\ncolour = \"red\"",
            "[body.link]\nmass = -0.9\nat = [0, 1]\ninertia = [1, 2]\nfixed = 1\nrod = {from=[0,0,0], to=[0, \"x\", {}], mas=1}",
            "[body.link]\ninertia = [[1, 2, 3], [1, 2], 3]\n",
            "[model]\nplane=\"xy\"\n[body.link]\nmass = 1e999\nat = [0, 1, 0]\ninertia = [1, 2, 3]\nrod = 5",
            "[joint.pin]\ntyp = \"revolute\"\nbetween = [\"ground\", \"\"]\nat=[[0,0,0],[0,0,0],[0,0,0]]\naxis=[0,0,0]",
            "[joint.pin]\ntype = \"revolut\"\nbetween = [\"ground\", 3]\nat=0",
            "{ \"force\": { \"spring\": { \"between\": [\"a\", \"b\"], \"stiffness\": \"kk\" } } }",
        ]);
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn messages_about_expressions() {
        let expressions = [
            "1/0",
            "sqrt(-1)",
            "log(0)",
            "2^10000",
            "1e999",
            "t/0",
            "asin(2)",
            "0^-1",
            "(-8)^(1/3)",
            "kk",
            "zeta",
            "t*k +",
            "(1 + 2",
            "1 + 2)",
            "2 k",
            "2(3)",
            "k(1)",
            "sin",
            "sin()",
            "sin(1, 2)",
            "min(1)",
            "ln(2)",
            "sine(2)",
            "foo(2)",
            "2**3",
            "k = 1",
            "5 % 2",
            "0 < t < 1",
            "k − 1",
            "2×k",
            "π",
            "1,5",
            "[1]",
            "30 deg",
            "",
            "   ",
            "* 2",
            "()",
            "step(t, 1, 0, 0, 5)",
            "max(1,,2)",
            "\u{1b}[31m",
            "1..2",
            "$HOME",
        ];
        let texts: Vec<String> = expressions
            .iter()
            .map(|e| format!("[parameter]\nk = 1\nL1 = 2\n[joint.pin]\ntype = \"revolute\"\nbetween = [\"a\", \"b\"]\ndrive = '{e}'"))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let shown = of_files(&texts);
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn messages_about_parameters() {
        let shown = of_files(&[
            "[parameter]\na = \"b + 1\"\nb = \"2*c\"\nc = \"sqrt(a)\"\nd = \"d\"\nuses = \"a + d\"\n",
            "[parameter]\nk = \"1 + (2\"\nt = 1\nmy-k = 2\nf = \"kk\"\ng = [1]\nh = \"sqrt(-k1)\"\nk1 = 4\nn = nan\nx = \"t\"",
            "parameter = 3",
            "[parameter]\nlong = \"1 + \\u0032 + q\"",
            "[parameter]\nmulti = \"\"\"\n1 +\nq\"\"\"",
        ]);
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn messages_about_syntax() {
        let shown = of_files(&[
            "[body.crank]\nmass = 1\n\n[body.link]\nmass = 1\nmass = 2\n\n[body.crank]\nmass = 2\n",
            "a = 1\na = 2",
            "[b]\nx = { y = 1, y = 2 }",
            "stiffness = 2*k\n",
            "stiffness = \n",
            "a = [1 2]\n",
            "a = [1, 2\nb = 3\n",
            "[body\nx = 1",
            "a = \"x\nb = 1",
            "a = .5",
            "a = 007",
            "a b = 1",
            "a = 1979-05-27",
            "a = \"\\q\"",
            "a = {x = 1",
            "a = true false",
            "{ \"a\": 1, \"a\": 2, }",
            "{ \"a\": 1, // x\n }",
            "{ \"a\": [1, 2",
            "{ \"a\": [1, ]}",
            "{ \"a\": \"x\n\" }",
            "{ \"a\": \"\\q\" }",
            "{ \"a\": \"\\ud800\" }",
            "{ \"a\": nul }",
            "{ \"a\": null }",
            "{ \"a\": NaN }",
            "{ \"a\": 'x' }",
            "{ \"a\": 1 \"b\": 2 }",
            "{ \"a\" 1 }",
            "{ a: 1 }",
            "{ \"a\": 01, \"b\": 1. }",
            "{ \"a\": 1. }",
            "{} x",
        ]);
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn messages_about_overrides() {
        let sets = [
            "parameter.k=200",
            "parameter.K=200",
            "body.crank.mass=2*mm",
            "body.crnak.mass=1",
            "joint.pin.at=[0,1]",
            "joint.pin.at=[L1,1]",
            "joint.pin.at=[0,1",
            "joint.pin.at.2=1",
            "joint.pin.at.1=\"L1\"",
            "joint.pin.at=[0,1,2]",
            "solve.rtol=1e-8",
            "slove.rtol=1",
            "body.link.mass.x=1",
            "body.link.rod.mass=1",
            "parameter.k=",
            "parameter.k",
            "=3",
            "a..b=3",
            "force.spring.stifness=3",
            "joint.pin.type=prismatic",
            "start.pin.rate=2",
            "parameter.k=2*k",
            "parameter.k=-5",
            "body.crank.rod.mass=0",
            "body.\"crank\".mass = 2 ",
            "body.crank.mass=1979-05-27",
        ];
        let shown = messages(sets.iter().map(|s| (GOOD, *s)));
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn messages_about_files() {
        let mut out = String::new();
        for path in ["nothing.toml", "nowhere/x.toml", "src", "Cargo.tml", "Cargo", "src/file/nothing.json"] {
            out += &format!("{}\n", Document::open(path, &[], &LAYOUT).unwrap_err());
        }
        out += &not_utf8("m.toml", String::from_utf8(b"a = 1\nb = \"\xfcber\" # x\nc = 2".to_vec()).unwrap_err())
            .to_string();
        insta::assert_snapshot!(out);
    }

    #[test]
    fn unknown_names_are_told_with_what_there_is() {
        let document = Document::parse("m.toml", "body = \"lnik\"".into(), &[], &LAYOUT).unwrap();
        let parameters = Parameters::default();
        let context = Context { parameters: &parameters, plane: true, variables: &["t"], folder: None, laws: None };
        const PROBE: &[Field] = &[Field::required("body", FieldKind::Name, "", "the body")];
        let values = read(&document.root, "probe `B`", &[PROBE], &context).unwrap();
        let problem = values.name("body").unknown("body", values.what(), ["ground", "crank", "link"]);
        let shown = "\
error: unknown body `lnik` in probe `B`
 --> m.toml:1:8
  |
1 | body = \"lnik\"
  |        ^^^^^^ did you mean `link`?
  |
help: the model has 3 bodies: ground, crank, link
";
        assert_eq!(document.report(problem.into()).to_string(), shown);
    }

    /// A small generator of numbers [Marsaglia 2003, xorshift].
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % n.max(1) as u64) as usize
        }

        /// The text with a few pieces cut out, doubled or put in.
        fn spoil(&mut self, text: &str) -> String {
            const PIECES: &str = "[ ] { } ( ) , . = : \" ' \\ \n \r \t # // + - * / ^ < 0 1 9e99 -1 nan inf null true t k \
                sin( if( \u{1b} \u{202e} é 漢 😀 \u{feff} \u{0} \"\"\" [[ body joint parameter. \\u12 \\ud800";
            let pieces: Vec<&str> = PIECES.split(' ').collect();
            let mut out: Vec<char> = text.chars().collect();
            for _ in 0..=self.below(6) {
                let (a, n) = (self.below(out.len() + 1), self.below(12));
                let b = (a + n).min(out.len());
                match self.below(5) {
                    0 => drop(out.drain(a..b)),
                    1 => {
                        let copy = out[a..b].to_vec();
                        let at = self.below(out.len() + 1);
                        out.splice(at..at, copy);
                    }
                    2 => out.truncate(out.len() - self.below(out.len() / 3 + 1)),
                    _ => {
                        let piece = pieces[self.below(pieces.len())];
                        out.splice(a..a, piece.chars());
                    }
                }
            }
            out.into_iter().collect()
        }
    }

    #[test]
    fn no_text_makes_it_panic_or_print_control_characters() {
        let json = r#"{"parameter": {"k": 1e2, "m": "k/100"}, "body": {"crank": {"mass": "m", "at": [0, "-k", 1]}},
            "force": {"spring": {"between": ["a", "b"], "stiffness": "k*(1 - exp(-2))", "force": "if(t < 1, 0, 5)"}}}"#;
        let sets = "parameter.k=200; body.crank.mass=\"2*m\"; joint.pin.at=[0, 1]; solve.rtol=1e-8; start.pin.rate=k";
        let sets: Vec<&str> = sets.split("; ").collect();
        let mut dice = Dice(0x2545_f491_4f6c_dd1d);
        let mut refused = 0;
        for round in 0..6000 {
            let text = if round % 3 == 0 { json } else { GOOD };
            let text = if round % 4 == 0 { text.to_string() } else { dice.spoil(text) };
            let set = dice.spoil(sets[round % sets.len()]);
            let set: &[&str] = if round % 2 == 0 { &[] } else { &[&set] };
            if let Err(report) = check(&text, set) {
                refused += 1;
                let shown = report.to_string();
                let clean = |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
                assert!(shown.chars().all(clean), "{shown:?}");
                assert!(shown.lines().all(|l| l.chars().count() < 400), "{shown}");
                assert!(report.to_json().as_array().is_some_and(|list| !list.is_empty()));
            }
        }
        assert!((2000..6000).contains(&refused), "{refused}");
    }

    #[test]
    fn no_expression_makes_it_panic() {
        let mut parameters = Parameters::default();
        parameters.set("k", 2.0);
        let scope = expression::Scope { parameters: &parameters, variables: &["t"], inputs: &[] };
        let seeds = "k*(1 - exp(-t/2)); if(t < 1, 0, 5); step(t, 0, 1, 2, 3)^2^t; max(1, atan2(t, 2), hypot(3, 4))";
        let seeds: Vec<&str> = seeds.split("; ").collect();
        let mut dice = Dice(88_172_645_463_325_252);
        let mut read = 0;
        for round in 0..20_000 {
            let text = dice.spoil(seeds[round % seeds.len()]);
            match Expression::parse(&text, scope) {
                Ok(f) => {
                    read += 1;
                    let (value, jet) = (f.value(0.7), f.jet(0.7));
                    assert!(value == jet.value || (value.is_nan() && jet.value.is_nan()), "{text}");
                }
                Err(fault) => assert!(text.get(fault.at).is_some(), "{text}"),
            }
        }
        assert!(read > 500, "{read}");
    }
}
