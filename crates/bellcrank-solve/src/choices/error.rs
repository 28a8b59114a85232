//! What is wrong with a choice and what to choose instead, without a word of any user interface in it.
//!
//! An error knows keys, such as `max_order`. A [`Voice`] writes them as its place does: `--max-order 5` on the command
//! line, `max_order = 5` in a model file, `max_order: 5` in Rust, `max_order=5` in Python.

use bellcrank_model::file::suggest::quoted;
use bellcrank_model::file::{Diagnostic, Span};
use std::borrow::Cow;
use std::fmt;

/// How options are written in the place where the user made the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// `--max-order 5`.
    CommandLine,
    /// `max_order = 5`, in `[solve]` of a model file.
    File,
    /// `max_order: 5`.
    Rust,
    /// `max_order=5`.
    Python,
}

impl Voice {
    /// The name of an option.
    pub fn option(self, key: &str) -> String {
        match self {
            Voice::CommandLine => format!("--{}", key.replace('_', "-")),
            _ => format!("`{key}`"),
        }
    }

    /// An option with a value; what is not a number is a word.
    pub fn setting(self, key: &str, value: &str) -> String {
        let number = value.parse::<f64>().is_ok();
        match self {
            Voice::CommandLine => format!("{} {value}", self.option(key)),
            Voice::File if number => format!("`{key} = {value}`"),
            Voice::File => format!("`{key} = \"{value}\"`"),
            Voice::Rust => format!("`{key}: {value}`"),
            Voice::Python if number => format!("`{key}={value}`"),
            Voice::Python => format!("`{key}=\"{value}\"`"),
        }
    }
}

/// Where a choice was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In a model file, as a default that arguments override.
    File(Span),
    /// As an argument of the command or call.
    Argument,
}

/// How one option is to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// To this value.
    To(Cow<'static, str>),
    /// To be left out.
    Omitted,
    /// To a smaller value.
    Smaller,
    /// To a larger value.
    Larger,
}

/// Something to choose instead: one option, or several that go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// Options by their keys, each with its change.
    pub changes: Vec<(&'static str, Change)>,
    /// What follows the options, with its own punctuation: ` or less`, `; below 1/2 the method is unstable`.
    pub note: Cow<'static, str>,
}

impl Suggestion {
    fn new(key: &'static str, change: Change) -> Suggestion {
        Suggestion { changes: vec![(key, change)], note: Cow::Borrowed("") }
    }

    /// A value for an option.
    pub fn to(key: &'static str, value: impl Into<Cow<'static, str>>) -> Suggestion {
        Suggestion::new(key, Change::To(value.into()))
    }

    /// Leaving an option out.
    pub fn without(key: &'static str) -> Suggestion {
        Suggestion::new(key, Change::Omitted)
    }

    /// A smaller value of an option.
    pub fn smaller(key: &'static str) -> Suggestion {
        Suggestion::new(key, Change::Smaller)
    }

    /// A larger value of an option.
    pub fn larger(key: &'static str) -> Suggestion {
        Suggestion::new(key, Change::Larger)
    }

    /// Together with a value for another option.
    pub fn and(mut self, key: &'static str, value: impl Into<Cow<'static, str>>) -> Suggestion {
        self.changes.push((key, Change::To(value.into())));
        self
    }

    /// With a note behind it.
    pub fn note(self, note: impl Into<Cow<'static, str>>) -> Suggestion {
        Suggestion { note: note.into(), ..self }
    }

    /// The verb and its object: `("use", "--method rk2 --step 1e-3")`.
    fn spoken(&self, voice: Voice) -> (&'static str, String) {
        let values: Vec<String> = self
            .changes
            .iter()
            .map(|(key, change)| match change {
                Change::To(value) => voice.setting(key, value),
                Change::Omitted => format!("{} out", voice.option(key)),
                Change::Smaller => format!("a smaller {}", voice.option(key)),
                Change::Larger => format!("a larger {}", voice.option(key)),
            })
            .collect();
        let verb = if matches!(self.changes.first(), Some((_, Change::Omitted))) { "leave" } else { "use" };
        let between = if voice == Voice::CommandLine { " " } else { " and " };
        (verb, values.join(between) + &self.note)
    }
}

/// Suggestions as one sentence: `use --method rk2 --step 1e-3, or leave --solver out`.
pub fn advice(suggestions: &[Suggestion], voice: Voice) -> String {
    let mut text = String::new();
    let mut last = "";
    for (verb, object) in suggestions.iter().map(|s| s.spoken(voice)) {
        text += if text.is_empty() { "" } else { ", or " };
        if verb != last {
            text += verb;
            text.push(' ');
        }
        text += &object;
        last = verb;
    }
    text
}

/// What is wrong with a choice.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// A reason in words, in which no other option is named.
    Reason(String),
    /// The word is none of those the option takes.
    UnknownWord(Box<UnknownWord>),
    /// No option has this key; near it is another, and these there are.
    UnknownKey(Option<&'static str>, Vec<&'static str>),
    /// The value is of another kind: what is wanted, and what was found.
    Kind(&'static str, String),
    /// Another option excludes it.
    Excluded(&'static str),
    /// It is a parameter of one method or solver, and another was chosen.
    ParameterOf(&'static str, &'static str),
}

/// A word that an option does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownWord {
    /// What the words are for: `method`.
    pub thing: &'static str,
    /// The word.
    pub word: String,
    /// What was probably meant.
    pub near: Option<&'static str>,
    /// The words there are.
    pub known: Vec<&'static str>,
}

/// A choice that cannot be run: which, why, and what to choose instead.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceError {
    /// The key of the option, such as `max_order`.
    pub key: Cow<'static, str>,
    /// What is wrong.
    pub why: Why,
    /// What to choose instead, best first.
    pub instead: Vec<Suggestion>,
    /// Where the choice was made, if that is known.
    pub origin: Option<Origin>,
}

impl ChoiceError {
    /// An error with a reason in words.
    pub fn new(key: &'static str, reason: impl Into<String>) -> ChoiceError {
        ChoiceError::because(key, Why::Reason(reason.into()))
    }

    /// An error with a structured reason.
    pub fn because(key: impl Into<Cow<'static, str>>, why: Why) -> ChoiceError {
        ChoiceError { key: key.into(), why, instead: Vec::new(), origin: None }
    }

    /// With one more suggestion.
    pub fn instead(mut self, suggestion: Suggestion) -> ChoiceError {
        self.instead.push(suggestion);
        self
    }

    /// With a value of an option to use instead.
    pub fn try_with(self, key: &'static str, value: impl Into<Cow<'static, str>>) -> ChoiceError {
        self.instead(Suggestion::to(key, value))
    }

    /// With an option to leave out.
    pub fn try_without(self, key: &'static str) -> ChoiceError {
        self.instead(Suggestion::without(key))
    }

    /// What is wrong, in one sentence.
    pub fn reason(&self, voice: Voice) -> String {
        match &self.why {
            Why::Reason(text) => text.clone(),
            Why::UnknownWord(u) => format!("unknown {} {}", u.thing, quoted(&u.word)),
            Why::UnknownKey(..) => format!("unknown option {}", quoted(&self.key)),
            Why::Kind(wanted, found) => format!("{} must be {wanted}, found {found}", voice.option(&self.key)),
            Why::Excluded(by) => format!("{} and {} exclude each other", voice.option(&self.key), voice.option(by)),
            Why::ParameterOf(of, not) => {
                format!("{} is a parameter of {of}, not of {not}", voice.option(&self.key))
            }
        }
    }

    /// What was probably meant, where a name was mistyped.
    pub fn near(&self) -> Option<&'static str> {
        match &self.why {
            Why::UnknownWord(u) => u.near,
            Why::UnknownKey(near, _) => *near,
            _ => None,
        }
    }

    /// What to choose instead, one sentence each.
    pub fn help(&self, voice: Voice) -> Vec<String> {
        let known = match &self.why {
            Why::UnknownWord(u) => format!("{} are {}", plural(u.thing), u.known.join(", ")),
            Why::UnknownKey(_, known) => format!("options are {}", known.join(", ")),
            _ => String::new(),
        };
        [known, advice(&self.instead, voice)].into_iter().filter(|line| !line.is_empty()).collect()
    }

    /// The error as a message: in a file's own words and pointing at the line where the choice was made in one, else in
    /// the words of `voice`.
    pub fn diagnostic(&self, voice: Voice) -> Diagnostic {
        let near = self.near().map(|near| format!("did you mean `{near}`?"));
        let (voice, mut problem) = match self.origin {
            Some(Origin::File(span)) => {
                let problem = Diagnostic::error(self.reason(Voice::File)).at(span);
                (Voice::File, near.into_iter().fold(problem, Diagnostic::label))
            }
            _ => (voice, near.into_iter().fold(Diagnostic::error(self.reason(voice)), Diagnostic::help)),
        };
        for line in self.help(voice) {
            problem = problem.help(line);
        }
        problem
    }

    /// The error in one line: the reason, and the help in parentheses.
    pub fn line(&self, voice: Voice) -> String {
        match self.help(voice).join("; ") {
            help if help.is_empty() => self.reason(voice),
            help => format!("{} ({help})", self.reason(voice)),
        }
    }
}

fn plural(thing: &str) -> String {
    if thing.ends_with('s') { thing.to_string() } else { format!("{thing}s") }
}

impl fmt::Display for ChoiceError {
    /// As a user of the library reads it: keys are those of the fields.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason(Voice::Rust))?;
        let near = self.near().map(|near| format!("did you mean `{near}`?"));
        near.into_iter().chain(self.help(Voice::Rust)).try_for_each(|line| write!(f, "\nhelp: {line}"))
    }
}

impl std::error::Error for ChoiceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_error_speaks_with_every_voice() {
        let e = ChoiceError::new("max_order", "BDF has the orders 1 to 5, found 9")
            .try_with("max_order", "5")
            .instead(Suggestion::to("method", "rk2").and("step", "1e-3").note(", which has no orders"))
            .try_without("errors");
        let says = |voice| e.help(voice).join("|");
        assert_eq!(
            says(Voice::CommandLine),
            "use --max-order 5, or --method rk2 --step 1e-3, which has no orders, or leave --errors out"
        );
        assert_eq!(
            says(Voice::File),
            "use `max_order = 5`, or `method = \"rk2\"` and `step = 1e-3`, which has no orders, or leave `errors` out"
        );
        assert!(says(Voice::Rust).starts_with("use `max_order: 5`, or `method: rk2` and `step: 1e-3`"));
        assert!(says(Voice::Python).starts_with("use `max_order=5`, or `method=\"rk2\"` and `step=1e-3`"));
        assert!(e.to_string().starts_with("max_order: BDF has the orders 1 to 5, found 9\nhelp: use `max_order: 5`"));
        let e = ChoiceError::because("step", Why::Excluded("rtol"));
        assert_eq!(e.reason(Voice::CommandLine), "--step and --rtol exclude each other");
        assert_eq!(e.reason(Voice::Python), "`step` and `rtol` exclude each other");
        let s = [Suggestion::smaller("step"), Suggestion::larger("rtol")];
        assert_eq!(advice(&s, Voice::CommandLine), "use a smaller --step, or a larger --rtol");
    }
}
