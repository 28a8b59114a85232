//! XML with places: elements in one list, files that include others in one document.
//!
//! Document types are refused by the reader, and with them entities of every kind: neither bombs nor external files.

use bellcrank_model::file::suggest::quoted;
use bellcrank_model::file::{Diagnostic, Report, Source, Sources, Span, bounded};
use std::path::{Path, PathBuf};

/// Files in files, and all files together.
const DEEPEST: usize = 16;
const MOST_FILES: usize = 256;

/// The elements of a file, in the order in which they begin.
pub struct Document {
    /// The texts that places point into.
    pub sources: Sources,
    elements: Vec<XmlElement>,
}

struct XmlElement {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    children: Vec<u32>,
    span: Span,
}

/// An element of a document.
#[derive(Clone, Copy)]
pub struct El<'a> {
    document: &'a Document,
    number: u32,
}

/// How files name others to be put in their place.
pub struct Includes {
    /// The element.
    pub element: &'static str,
    /// Its attribute with the file.
    pub attribute: &'static str,
}

impl Document {
    /// Reads a file, and those that it includes.
    pub fn open(path: &Path, includes: Option<Includes>) -> Result<Document, Report> {
        let text = load(path).map_err(Report::from)?;
        Document::parse(path, text, includes)
    }

    /// Reads a text under the name of its file.
    pub fn parse(path: &Path, text: String, includes: Option<Includes>) -> Result<Document, Report> {
        let mut document = Document { sources: Sources(Vec::new()), elements: Vec::new() };
        let mut open = vec![path.to_path_buf()];
        match document.add(path, text, None, includes.as_ref(), &mut open) {
            Ok(_) => Ok(document),
            Err(problem) => Err(Report::new(document.sources, problem.into())),
        }
    }

    /// The outermost element.
    pub fn root(&self) -> El<'_> {
        El { document: self, number: 0 }
    }

    /// Adds the elements of a file: below `parent` those inside its outermost one, else all of them.
    fn add(
        &mut self,
        path: &Path,
        text: String,
        parent: Option<u32>,
        includes: Option<&Includes>,
        open: &mut Vec<PathBuf>,
    ) -> Result<(), Diagnostic> {
        let number = self.sources.0.len() as u32;
        if self.sources.0.len() >= MOST_FILES {
            return Err(Diagnostic::error(format!("more than {MOST_FILES} files are included")));
        }
        self.sources.0.push(Source::new(&path.to_string_lossy(), text));
        let text = self.sources.0[number as usize].text.clone();
        let tree = roxmltree::Document::parse(&text).map_err(|e| {
            let at = byte_of(&text, e.pos());
            let help = match e {
                roxmltree::Error::DtdDetected => {
                    "document types and entities are not read: replace entities by their text"
                }
                roxmltree::Error::UnknownNamespace(ref prefix, _) if prefix == "xacro" => {
                    "it is a template: `xacro FILE > robot.urdf` makes a robot file of it"
                }
                _ => "the file is not well formed",
            };
            Diagnostic::error(format!("this is no XML file that can be read: {e}"))
                .at(Span::new(number, at, at + 1))
                .help(help)
        })?;
        // (element of the tree, number of its parent here)
        let mut stack: Vec<(roxmltree::Node, Option<u32>)> = match parent {
            None => vec![(tree.root_element(), None)],
            Some(_) => elements(tree.root_element()).map(|n| (n, parent)).rev().collect(),
        };
        while let Some((node, parent)) = stack.pop() {
            let start = node.range().start;
            let span = Span::new(number, start, start + 1 + node.tag_name().name().len());
            let included = includes.filter(|i| node.has_tag_name(i.element)).and_then(|i| node.attribute(i.attribute));
            if let (Some(file), Some(parent)) = (included, parent) {
                // beside the first file, as MuJoCo looks for it, or beside this one
                let beside = |path: &Path| path.parent().unwrap_or(Path::new("")).join(file);
                let first = beside(&open[0]);
                let file = if first.is_file() { first } else { beside(path) };
                if open.contains(&file) || open.len() >= DEEPEST {
                    let message = format!("{} includes itself", quoted(&file.to_string_lossy()));
                    return Err(Diagnostic::error(message).at(span));
                }
                let text = load(&file).map_err(|d| d.at(span))?;
                open.push(file.clone());
                self.add(&file, text, Some(parent), includes, open)?;
                open.pop();
                continue;
            }
            let own = self.elements.len() as u32;
            if let Some(parent) = parent {
                self.elements[parent as usize].children.push(own);
            }
            self.elements.push(XmlElement {
                name: node.tag_name().name().to_string(),
                attributes: node.attributes().map(|a| (a.name().to_string(), a.value().to_string())).collect(),
                text: node.text().unwrap_or("").trim().to_string(),
                children: Vec::new(),
                span,
            });
            stack.extend(elements(node).map(|n| (n, Some(own))).rev());
        }
        Ok(())
    }
}

fn elements<'a, 'b>(node: roxmltree::Node<'a, 'b>) -> impl DoubleEndedIterator<Item = roxmltree::Node<'a, 'b>> {
    node.children().filter(|n| n.is_element())
}

/// The text of a file.
fn load(path: &Path) -> Result<String, Diagnostic> {
    let name = quoted(&path.to_string_lossy());
    let failed = |what: String| Diagnostic::error(format!("cannot read {name}: {what}"));
    let bytes =
        bounded::read(path, bounded::LARGEST_ROBOT).map_err(|e| failed(e.to_string()).help("check the path"))?;
    String::from_utf8(bytes).map_err(|_| failed("it is no text in UTF-8".into()).help("save it as UTF-8"))
}

/// The byte of a line and a column.
fn byte_of(text: &str, at: roxmltree::TextPos) -> usize {
    let line: usize = text.split_inclusive('\n').take(at.row.saturating_sub(1) as usize).map(str::len).sum();
    let rest = text.get(line..).unwrap_or("");
    line + rest.char_indices().nth(at.col.saturating_sub(1) as usize).map_or(rest.len(), |(i, _)| i)
}

impl<'a> El<'a> {
    fn element(self) -> &'a XmlElement {
        &self.document.elements[self.number as usize]
    }

    /// Its name.
    pub fn name(self) -> &'a str {
        &self.element().name
    }

    /// Where it begins.
    pub fn span(self) -> Span {
        self.element().span
    }

    /// Its text.
    pub fn text(self) -> &'a str {
        &self.element().text
    }

    /// Its children.
    pub fn children(self) -> impl DoubleEndedIterator<Item = El<'a>> {
        self.element().children.iter().map(move |n| El { document: self.document, number: *n })
    }

    /// Its children of a name.
    pub fn all(self, name: &'a str) -> impl DoubleEndedIterator<Item = El<'a>> {
        self.children().filter(move |e| e.name() == name)
    }

    /// Its first child of a name.
    pub fn child(self, name: &'a str) -> Option<El<'a>> {
        self.all(name).next()
    }

    /// An attribute.
    pub fn attribute(self, name: &str) -> Option<&'a str> {
        self.element().attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// All attributes.
    pub fn attributes(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.element().attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What messages call it: `<joint name="elbow">`.
    pub fn words(self) -> String {
        match self.attribute("name") {
            Some(name) => format!("<{}> {}", self.name(), quoted(name)),
            None => format!("<{}>", self.name()),
        }
    }

    /// An error about it.
    pub fn error(self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(message).at(self.span())
    }

    /// The name it must have.
    pub fn own_name(self) -> Result<&'a str, Diagnostic> {
        match self.attribute("name").map(str::trim) {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(self.error(format!("a <{}> has no name", self.name())).help("add `name=\"…\"`")),
        }
    }

    /// Numbers in an attribute; `None` without it.
    pub fn numbers(self, name: &str) -> Result<Option<Vec<f64>>, Diagnostic> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        numbers(text).map(Some).ok_or_else(|| {
            let message = format!("`{name}` of {} is {}, not numbers", self.words(), quoted(text));
            self.error(message).help("finite numbers with spaces between them")
        })
    }

    /// So many numbers in an attribute.
    pub fn some<const N: usize>(self, name: &str) -> Result<Option<[f64; N]>, Diagnostic> {
        let Some(list) = self.numbers(name)? else { return Ok(None) };
        let n = list.len();
        list.try_into().map(Some).map_err(|_| {
            let message = format!("`{name}` of {} has {n} numbers, and needs {N}", self.words());
            self.error(message)
        })
    }

    /// One number in an attribute.
    pub fn number(self, name: &str) -> Result<Option<f64>, Diagnostic> {
        Ok(self.some::<1>(name)?.map(|[x]| x))
    }

    /// So many numbers in its text.
    pub fn values<const N: usize>(self) -> Result<[f64; N], Diagnostic> {
        numbers(self.text()).and_then(|list| list.try_into().ok()).ok_or_else(|| {
            let message = format!("{} is {}, and needs {N} finite numbers", self.words(), quoted(self.text()));
            self.error(message)
        })
    }
}

/// Finite numbers with white space between them.
pub fn numbers(text: &str) -> Option<Vec<f64>> {
    let one = |word: &str| word.parse::<f64>().ok().filter(|x| x.is_finite());
    text.split_ascii_whitespace().map(one).collect()
}
