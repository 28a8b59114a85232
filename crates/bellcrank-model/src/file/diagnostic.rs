//! Messages about a text: what is wrong, where, and what to try.
//!
//! ```text
//! error: unknown key `stifness` in force `spring`
//!   --> slider.toml:31:1
//!    |
//! 31 | stifness = 100
//!    | ^^^^^^^^ did you mean `stiffness`?
//!    |
//! help: known keys are between, at, on, stiffness, damping, length
//! ```
//!
//! The user's text is shown as it is, except for what could fool or upset a terminal: control
//! characters and invisible or direction-changing marks appear escaped.

use super::source::{Source, Sources, Span};
use serde_json::{Value as Json, json};
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The model cannot be used.
    Error,
    /// The model can be used, but likely does not say what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in the user's names; one line without a full stop.
    pub message: String,
    /// Where; `None` if it is nowhere in the texts.
    pub span: Option<Span>,
    /// A few words beside the place.
    pub label: String,
    /// Other places that matter, with a few words each.
    pub related: Vec<(Span, String)>,
    /// What to try.
    pub help: Vec<String>,
}

/// Messages collected before they are reported together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

/// Messages together with the texts they point into: what a caller shows. Boxed inside, since it
/// travels as an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Report(Box<(Sources, Diagnostics)>);

/// At most this many messages are shown; the rest are counted.
const MOST_SHOWN: usize = 20;
/// Columns of a source line that are shown around the place.
const WINDOW: usize = 100;
/// Columns before the place in a line longer than the window.
const BEFORE: usize = 40;

impl Diagnostic {
    fn new(severity: Severity, message: String) -> Diagnostic {
        Diagnostic { severity, message, span: None, label: String::new(), related: Vec::new(), help: Vec::new() }
    }

    /// An error.
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, message.into())
    }

    /// A warning.
    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, message.into())
    }

    /// A note.
    pub fn note(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, message.into())
    }

    /// Points at a place.
    pub fn at(mut self, span: Span) -> Diagnostic {
        self.span = Some(span);
        self
    }

    /// Says something beside the place.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Points at another place as well.
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }

    /// Says what to try; nothing is added for an empty text.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        let help = help.into();
        if !help.is_empty() {
            self.help.push(help);
        }
        self
    }

    /// The message as plain text, ending in a line feed.
    pub fn render(&self, sources: &Sources) -> String {
        let mut out = format!("{}: {}\n", self.severity.word(), escaped(&self.message));
        let places: Vec<ShownSpan> = self.places().filter_map(|(s, l)| ShownSpan::new(sources, s, l)).collect();
        if !places.is_empty() {
            let gutter = places.iter().map(|p| p.line.to_string().len()).max().unwrap_or(1);
            self.snippets(&places, gutter, &mut out);
        }
        for help in &self.help {
            out += &format!("help: {}\n", escaped(help));
        }
        out
    }

    /// Whether another says the same of the same place, but for names: of copies by `repeat`, and of parts that are included several times.
    fn is_like(&self, other: &Diagnostic, sources: &Sources) -> bool {
        let words = |d: &Diagnostic| d.message.split('`').step_by(2).map(String::from).collect::<Vec<_>>();
        // every include has a text of its own
        let place =
            |d: &Diagnostic| d.span.map(|span| (sources.of(span).map(|s| s.name.as_str()), span.start, span.end));
        let same = self.span.is_some() && self.label == other.label && place(self) == place(other);
        same && !self.help.is_empty()
            && self.help == other.help
            && self.message != other.message
            && words(self) == words(other)
    }

    fn places(&self) -> impl Iterator<Item = (Span, &str)> {
        let first = self.span.iter().map(|span| (*span, self.label.as_str()));
        first.chain(self.related.iter().map(|(span, label)| (*span, label.as_str())))
    }

    /// The lines of each text that is pointed at, the text of the first place first.
    fn snippets(&self, places: &[ShownSpan], gutter: usize, out: &mut String) {
        let mut seen: Vec<u32> = Vec::new();
        for first in places {
            if seen.contains(&first.span.source) {
                continue;
            }
            let arrow = if seen.is_empty() { "-->" } else { ":::" };
            seen.push(first.span.source);
            let name = escaped(&first.source.name);
            *out += &format!("{:gutter$}{arrow} {name}:{}:{}\n", "", first.line, first.column);
            *out += &format!("{:gutter$} |\n", "");
            let mut here: Vec<(usize, &ShownSpan)> =
                places.iter().enumerate().filter(|(_, p)| p.span.source == first.span.source).collect();
            here.sort_by_key(|(_, p)| p.span.start);
            let mut shown: Option<(usize, String)> = None;
            for (number, place) in here {
                let excerpt = place.excerpt();
                match &shown {
                    Some((line, text)) if (*line, text) == (place.line, &excerpt.text) => {}
                    before => {
                        if before.as_ref().is_some_and(|(line, _)| line + 1 < place.line) {
                            *out += "...\n";
                        }
                        let line = format!("{:gutter$} | {}", place.line, excerpt.text);
                        *out += &format!("{}\n", line.trim_end());
                    }
                }
                let mark = if number == 0 { "^" } else { "-" }.repeat(excerpt.width);
                let mut label = escaped(place.label);
                if let Some(last) = excerpt.continues_to {
                    label += &format!("{}(to line {last})", if label.is_empty() { "" } else { " " });
                }
                let line = format!("{:gutter$} | {:2$}{mark} {label}", "", "", excerpt.column);
                *out += &format!("{}\n", line.trim_end());
                shown = Some((place.line, excerpt.text));
            }
        }
        *out += &format!("{:gutter$} |\n", "");
    }

    /// The message as an object: `severity, message, file, line, column, end_line, end_column, label,
    /// related, help`.
    pub fn to_json(&self, sources: &Sources) -> Json {
        let place = |span: Span| {
            let source = sources.of(span)?;
            let (a, b) = (source.position(span.start as usize), source.position(span.end as usize));
            Some(json!({ "file": escaped(&source.name), "line": a.line, "column": a.column,
                         "end_line": b.line, "end_column": b.column }))
        };
        let mut out = json!({ "severity": self.severity.word(), "message": escaped(&self.message) });
        let mut put = |key: &str, value: Json| out[key] = value;
        if let Some(Json::Object(place)) = self.span.and_then(place) {
            place.into_iter().for_each(|(key, value)| put(&key, value));
        }
        if !self.label.is_empty() {
            put("label", escaped(&self.label).into());
        }
        let related = self.related.iter().filter_map(|(span, label)| {
            let mut place = place(*span)?;
            place["label"] = escaped(label).into();
            Some(place)
        });
        let related: Vec<Json> = related.collect();
        if !related.is_empty() {
            put("related", related.into());
        }
        if !self.help.is_empty() {
            put("help", self.help.iter().map(|h| escaped(h)).collect::<Vec<_>>().into());
        }
        out
    }
}

/// A span with what is needed to show it.
struct ShownSpan<'a> {
    source: &'a Source,
    span: Span,
    label: &'a str,
    line: usize,
    column: usize,
}

/// The shown part of a line: the marks begin at `column` and are `width` wide.
struct Excerpt {
    text: String,
    column: usize,
    width: usize,
    continues_to: Option<usize>,
}

impl<'a> ShownSpan<'a> {
    fn new(sources: &'a Sources, span: Span, label: &'a str) -> Option<ShownSpan<'a>> {
        let source = sources.of(span)?;
        let at = source.position(span.start as usize);
        Some(ShownSpan { source, span, label, line: at.line, column: at.column })
    }

    fn excerpt(&self) -> Excerpt {
        let (line_start, line) = self.source.line(self.span.start as usize);
        let inside = |byte: u32| self.source.boundary(byte as usize).saturating_sub(line_start);
        let start = inside(self.span.start).min(line.len());
        let last = self.source.position((self.span.end.max(self.span.start.saturating_add(1)) - 1) as usize).line;
        let end = if last > self.line { line.len() } else { inside(self.span.end).clamp(start, line.len()) };

        let long = line.len() > 4 * WINDOW || line.chars().map(|c| width(&shown(c))).sum::<usize>() > WINDOW;
        let from = if long { line[..start].char_indices().rev().nth(BEFORE - 1).map_or(0, |(i, _)| i) } else { 0 };
        let mut text = String::from(if from > 0 { "…" } else { "" });
        let mut columns = text.chars().count();
        let (mut mark_from, mut mark_to) = (None, None);
        for (i, c) in line[from..].char_indices() {
            if from + i == start {
                mark_from = Some(columns);
            }
            if from + i == end {
                mark_to = Some(columns);
            }
            if long && columns >= WINDOW {
                text.push('…');
                columns += 1;
                break;
            }
            let shown = shown(c);
            columns += width(&shown);
            text += &shown;
        }
        let mark_from = mark_from.unwrap_or(columns);
        let mark_to = mark_to.unwrap_or(columns);
        let continues_to = (last > self.line).then_some(last);
        Excerpt { text, column: mark_from, width: mark_to.saturating_sub(mark_from).max(1), continues_to }
    }
}

/// A character as it is shown: tabs as four spaces, what is invisible or moves the cursor as an escape.
fn shown(c: char) -> String {
    match c {
        '\t' => "    ".into(),
        c if is_unsafe(c) => c.escape_default().to_string(),
        c => c.into(),
    }
}

/// A text in one line that is safe to print.
pub fn escaped(text: &str) -> String {
    if text.chars().any(is_unsafe) {
        text.chars().map(|c| if is_unsafe(c) { c.escape_default().to_string() } else { c.into() }).collect()
    } else {
        text.into()
    }
}

/// Control characters (escape codes begin with one), marks that change the direction of writing, and
/// characters that show nothing [Unicode UAX #9, UTR #36].
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Columns a text takes on a terminal: wide East Asian characters and emoji take two, combining marks none.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' => 0,
            '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 2,
            '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' => 2,
            '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}' => 2,
            _ => 1,
        })
        .sum()
}

impl Diagnostics {
    /// No messages.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds a message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds all messages of another collection.
    pub fn append(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if one of the messages is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// True if there are more than anybody reads: time to stop looking for more.
    pub fn enough(&self) -> bool {
        self.0.len() >= 2 * MOST_SHOWN
    }

    /// Adds a hint to each message.
    pub fn with_help(mut self, help: &str) -> Diagnostics {
        self.0 = self.0.into_iter().map(|d| d.help(help)).collect();
        self
    }

    /// Keeps the value of a result, or its messages.
    pub fn take<T>(&mut self, result: Result<T, impl Into<Diagnostics>>) -> Option<T> {
        result.map_err(|problems| self.append(problems.into())).ok()
    }

    /// The value, unless there was an error; without one, warnings and notes are dropped.
    pub fn or<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}

impl Report {
    /// Messages in the order of their places.
    pub fn new(sources: Sources, mut diagnostics: Diagnostics) -> Report {
        diagnostics.0.sort_by_key(|d| d.span);
        Report(Box::new((sources, diagnostics)))
    }

    /// The messages.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.0.1
    }

    /// The texts.
    pub fn sources(&self) -> &Sources {
        &self.0.0
    }

    /// All messages, as [`Diagnostic::to_json`] gives them.
    pub fn to_json(&self) -> Json {
        self.diagnostics().0.iter().map(|d| d.to_json(self.sources())).collect()
    }
}

impl From<Diagnostic> for Report {
    fn from(diagnostic: Diagnostic) -> Report {
        Report::new(Sources::default(), diagnostic.into())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut list: Vec<(&Diagnostic, usize)> = Vec::new();
        for diagnostic in &self.diagnostics().0 {
            match list.iter_mut().find(|(d, _)| d.is_like(diagnostic, self.sources())) {
                Some((_, copies)) => *copies += 1,
                None => list.push((diagnostic, 0)),
            }
        }
        for (i, (diagnostic, copies)) in list.iter().take(MOST_SHOWN).enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            write!(f, "{gap}{}", diagnostic.render(self.sources()))?;
            if *copies > 0 {
                writeln!(f, "and {copies} more like this, of other copies or includes")?;
            }
        }
        match list.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            _ if self.diagnostics().enough() => writeln!(f, "\n… and more"),
            more => writeln!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for Report {}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> Sources {
        Sources::new(Source::new("m.toml", text.into()))
    }

    fn at(text: &str, what: &str) -> Span {
        let start = text.find(what).unwrap();
        Span::new(0, start, start + what.len())
    }

    #[test]
    fn a_message_shows_file_line_column_and_help() {
        let text = "[force.spring]\n\tstifness = 100\n";
        let d = Diagnostic::error("unknown key `stifness` in force `spring`")
            .at(at(text, "stifness"))
            .label("did you mean `stiffness`?")
            .help("known keys are at, stiffness");
        let shown = "\
error: unknown key `stifness` in force `spring`
 --> m.toml:2:2
  |
2 |     stifness = 100
  |     ^^^^^^^^ did you mean `stiffness`?
  |
help: known keys are at, stiffness
";
        assert_eq!(d.render(&sources(text)), shown);
        assert_eq!(
            d.to_json(&sources(text)).to_string(),
            "{\"severity\":\"error\",\"message\":\"unknown key `stifness` in force `spring`\",\"file\":\"m.toml\",\
             \"line\":2,\"column\":2,\"end_line\":2,\"end_column\":10,\"label\":\"did you mean `stiffness`?\",\
             \"help\":[\"known keys are at, stiffness\"]}"
        );
    }

    #[test]
    fn several_places_share_a_snippet() {
        let text = "a = 1\nb = 2\n\n\n\n\n\n\n\na = 3";
        let second = text.rfind('a').unwrap();
        let d = Diagnostic::error("`a` is defined twice")
            .at(Span::new(0, second, second + 1))
            .label("again here")
            .also(Span::new(0, 0, 1), "first here");
        let shown = "\
error: `a` is defined twice
  --> m.toml:10:1
   |
 1 | a = 1
   | - first here
...
10 | a = 3
   | ^ again here
   |
";
        assert_eq!(d.render(&sources(text)), shown);
        let same_line = Diagnostic::error("x").at(Span::new(0, 4, 5)).label("one").also(Span::new(0, 0, 1), "two");
        let shown = "error: x\n --> m.toml:1:5\n  |\n1 | a = 1\n  | - two\n  |     ^ one\n  |\n";
        assert_eq!(same_line.render(&sources(text)), shown);
    }

    #[test]
    fn places_in_other_texts_have_their_own_snippet() {
        let mut two = sources("[parameter]\nk = 1\n");
        two.0.push(Source::new("command line", "--set parameter.k=x".into()));
        let d = Diagnostic::error("m").at(Span::new(1, 18, 19)).label("here").also(Span::new(0, 12, 13), "in place of");
        let shown = "\
error: m
 --> command line:1:19
  |
1 | --set parameter.k=x
  |                   ^ here
 ::: m.toml:2:1
  |
2 | k = 1
  | - in place of
  |
";
        assert_eq!(d.render(&two), shown);
    }

    #[test]
    fn escapes_marks_and_wide_characters_are_harmless_and_aligned() {
        let text = "\u{1b}[31m\u{202e}漢 x = 1";
        let d = Diagnostic::error("bad \u{1b}]0;title\u{7} name\n").at(at(text, "x"));
        let shown = "\
error: bad \\u{1b}]0;title\\u{7} name\\n
 --> m.toml:1:9
  |
1 | \\u{1b}[31m\\u{202e}漢 x = 1
  |                      ^
  |
";
        assert_eq!(d.render(&sources(text)), shown);
    }

    #[test]
    fn long_lines_show_a_window() {
        let text = format!("x = [{}oops, {}]", "1, ".repeat(100), "2, ".repeat(100));
        let shown = Diagnostic::error("m").at(at(&text, "oops")).label("here").render(&sources(&text));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], " --> m.toml:1:306");
        assert!(lines[3].starts_with("1 | … 1, 1, ") && lines[3].ends_with('…'), "{shown}");
        assert!(lines[3].chars().count() <= 4 + WINDOW + 1);
        let mark = lines[4].find('^').unwrap();
        assert_eq!(lines[3].chars().skip(mark).take(4).collect::<String>(), "oops");
        // a place wider than the window, and one at the very end
        let wide = Diagnostic::error("m").at(Span::new(0, 4, text.len())).render(&sources(&text));
        assert!(wide.lines().all(|l| l.chars().count() < 110), "{wide}");
        let end = Diagnostic::error("m").at(Span::new(0, text.len(), text.len())).render(&sources(&text));
        assert!(end.lines().nth(4).unwrap().ends_with('^'));
    }

    #[test]
    fn places_over_several_lines_and_at_the_end_of_the_text() {
        let text = "a = [\r\n  1,\r\n  2]";
        let d = Diagnostic::error("m").at(Span::new(0, 4, text.len())).label("this list");
        assert_eq!(
            d.render(&sources(text)),
            "error: m\n --> m.toml:1:5\n  |\n1 | a = [\n  |     ^ this list (to line 3)\n  |\n"
        );
        let end = Diagnostic::error("m").at(Span::new(0, 6, 6));
        assert_eq!(end.render(&sources("a = 1\n")), "error: m\n --> m.toml:2:1\n  |\n2 |\n  | ^\n  |\n");
        assert_eq!(end.render(&Sources::default()), "error: m\n");
        assert_eq!(Diagnostic::error("m").render(&sources("")), "error: m\n");
        let outside = Diagnostic::error("m").at(Span { source: 0, start: u32::MAX, end: u32::MAX });
        assert!(outside.render(&sources("ä")).contains("m.toml:1:2"));
    }

    #[test]
    fn copies_of_one_entry_are_told_once() {
        let of =
            |name: &str| Diagnostic::error(format!("body `{name}` needs `mass`")).at(Span::new(0, 3, 4)).help("add it");
        let other = Diagnostic::error("body `b2` needs `inertia`").at(Span::new(0, 3, 4));
        let report = Report::new(sources("[body.\"b{i}\"]"), Diagnostics(vec![of("b1"), other, of("b2"), of("b3")]));
        let shown = report.to_string();
        assert!(shown.contains("help: add it\nand 2 more like this, of other copies or includes\n"), "{shown}");
        assert_eq!(shown.matches("error: ").count(), 2, "{shown}");
        assert_eq!(report.diagnostics().0.len(), 4);
    }

    #[test]
    fn reports_are_in_order_and_bounded() {
        let list = (0..25).rev().map(|i| Diagnostic::error(format!("e{i}")).at(Span::new(0, i, i + 1))).collect();
        let report = Report::new(sources(&"x".repeat(30)), Diagnostics(list));
        let shown = report.to_string();
        assert!(shown.starts_with("error: e0\n") && shown.ends_with("\n… and 5 more\n"));
        assert_eq!(shown.matches("error: ").count(), 20);
        assert_eq!(report.to_json().as_array().unwrap().len(), 25);
    }
}
