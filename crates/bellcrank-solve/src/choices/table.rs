//! The table of all options: files, command line, schema, reference and messages walk it.

use super::error::{UnknownWord, Why};
use super::formulation::FormulationKind;
use super::method::MethodName;
use super::options::Options;
use super::presets::{Preset, method_names, preset_names};
use super::words::{Coordinates, ErrorBudget, ErrorScope, Solver, SrmStart, SrmTree, StepControl, Tested};
use crate::newton::{self, Iteration};
use bellcrank_model::file::{Field, FieldKind, suggest, units};
use bellcrank_model::settings::Given;
use std::sync::LazyLock;

/// One thing a user can choose.
pub struct Choice {
    /// The key: `max_order` is `max_order = 5` in `[solve]` and `--max-order 5` on the command line.
    pub key: &'static str,
    /// What its value may be, for the reference and the schema; rules refuse it with their reason.
    pub kind: FieldKind,
    /// The unit, `""` if it has none.
    pub unit: &'static str,
    /// What holds when it is left out.
    pub default: &'static str,
    /// What stands for its value in the help of the command line.
    pub placeholder: &'static str,
    /// What it means, in a few words.
    pub doc: &'static str,
    /// How it gets into the options.
    pub set: Set,
}

/// How a value gets into the options.
#[derive(Clone, Copy)]
pub enum Set {
    /// A number.
    Number(fn(&mut Options, f64)),
    /// A whole number.
    Count(fn(&mut Options, usize)),
    /// A text.
    Text(fn(&mut Options, String)),
    /// Some texts.
    Texts(fn(&mut Options, Vec<String>)),
    /// One of a few words: what they are for, all of them, and what takes one; it is `false` for a stranger.
    Word(&'static str, fn() -> &'static [&'static str], fn(&mut Options, &str) -> bool),
}

/// All options, in the order of the reference. A preset and a method come before what they choose, so that what is given
/// besides wins.
pub static CHOICES: &[Choice] = &[
    number("until", FieldKind::Positive, "s", "1", "T", "end of the run", |o, x| o.until = x),
    word(
        "preset",
        "none",
        "settings of a published method, by its name; other options override them",
        "preset",
        || &PRESET_NAMES,
        |o, w| Preset::by_name(w).map(|p| p.apply(o)).is_some(),
    ),
    word(
        "method",
        "auto",
        "integration method, or a preset",
        "method",
        || &METHOD_NAMES,
        |o, w| {
            match (MethodName::by_name(w), Preset::by_name(w)) {
                (_, Some(preset)) => preset.apply(o),
                (Some(method), None) => o.method = method,
                (None, None) => return false,
            }
            true
        },
    ),
    word(
        "formulation",
        "by the method",
        "form of the equations",
        "formulation",
        || FormulationKind::NAMES,
        |o, w| take(&mut o.formulation, FormulationKind::by_name(w)),
    ),
    word(
        "iteration",
        "by the method",
        "Newton's iteration",
        "iteration",
        || newton::NAMES,
        |o, w| take(&mut o.iteration, Iteration::by_name(w)),
    ),
    word(
        "test",
        "by the formulation",
        "which unknowns the error and convergence tests use",
        "test",
        || Tested::NAMES,
        |o, w| take(&mut o.testing.test, Tested::by_name(w)),
    ),
    word(
        "on",
        "all",
        "which coordinates the error test uses",
        "error scope",
        || ErrorScope::NAMES,
        |o, w| put(&mut o.testing.scope, ErrorScope::by_name(w)),
    ),
    word(
        "errors",
        "told",
        "what the tolerance limits: the error of every step (`told`: and the error at the end is estimated; `step`: it is not), or that of the whole run",
        "error budget",
        || ErrorBudget::NAMES,
        |o, w| put(&mut o.testing.budget, ErrorBudget::by_name(w)),
    ),
    word(
        "control",
        "own",
        "control of order, steps and matrices of bdf",
        "control",
        || StepControl::NAMES,
        |o, w| put(&mut o.testing.control, StepControl::by_name(w)),
    ),
    word(
        "coordinates",
        "cartesian",
        "coordinates of every body, or of the joints of a tree",
        "coordinates",
        || Coordinates::NAMES,
        |o, w| put(&mut o.coordinates, Coordinates::by_name(w)),
    ),
    word(
        "solver",
        "auto",
        "solver for accelerations and reactions",
        "solver",
        || Solver::NAMES,
        |o, w| put(&mut o.solver, Solver::by_name(w)),
    ),
    count("iterates", "2", "S", "iterates of sequential regularization, and of `augmented`, 1 to 8", |o, n| {
        o.parameters.iterates = n
    }),
    number(
        "epsilon",
        FieldKind::Positive,
        "s",
        "twice the limit of stability; 1e-3 for `park`",
        "E",
        "ε of sequential regularization; of `park`, whose joints are springs with a period of 2π ε",
        |o, x| {
            o.parameters.epsilon = Some(x);
        },
    ),
    word(
        "srm_tree",
        "projected",
        "what keeps the tree of sequential regularization on its constraints",
        "keeper of the tree",
        || SrmTree::NAMES,
        |o, w| put(&mut o.parameters.srm_tree, SrmTree::by_name(w)),
    ),
    word(
        "srm_start",
        "zero",
        "multipliers that the iterates of sequential regularization begin with",
        "start of the multipliers",
        || SrmStart::NAMES,
        |o, w| put(&mut o.parameters.srm_start, SrmStart::by_name(w)),
    ),
    number(
        "baumgarte_alpha",
        FieldKind::NonNegative,
        "1/s",
        "10",
        "A",
        "α of `baumgarte`, `augmented` and `srm_tree`: constraints obey g̈ + 2α ġ + β² g = 0",
        |o, x| o.parameters.baumgarte_alpha = x,
    ),
    number(
        "baumgarte_beta",
        FieldKind::NonNegative,
        "1/s",
        "baumgarte_alpha",
        "B",
        "β of `baumgarte`, `augmented` and `srm_tree`",
        |o, x| o.parameters.baumgarte_beta = Some(x),
    ),
    number(
        "penalty",
        FieldKind::Positive,
        "",
        "1e6",
        "P",
        "penalty of `augmented`, as a multiple of the inertia that each constraint moves",
        |o, x| o.parameters.penalty = x,
    ),
    number("step", FieldKind::Positive, "s", "error control", "H", "fixed step size", |o, x| o.step = Some(x)),
    number(
        "max_step",
        FieldKind::Positive,
        "s",
        "none",
        "H",
        "longest step of methods with error control; keeps short pulses from being missed",
        |o, x| o.testing.max_step = Some(x),
    ),
    number("rtol", FieldKind::Positive, "", "1e-6", "R", "relative tolerance of methods with error control", |o, x| {
        o.rtol = x
    }),
    number(
        "atol",
        FieldKind::NonNegative,
        "SI",
        "none",
        "A",
        "absolute tolerance, added to `rtol` times the size of the machine",
        |o, x| {
            o.testing.atol = Some(x);
        },
    ),
    number(
        "sample",
        FieldKind::Positive,
        "s",
        "every step of the run, thinned to about 2000 rows",
        "DT",
        "equal intervals between recorded rows",
        |o, x| o.sample = Some(x),
    ),
    texts(
        "record",
        "what docs/channels.md marks",
        "channels to record, as patterns of names such as `pin.*`; `default` stands for the default channels",
        |o, texts| o.record = texts,
    ),
    text(
        "from",
        "as drawn",
        "where the run begins: at rest (`equilibrium`), or at the end of another run (its result folder)",
        |o, text| o.from = Some(text),
    ),
    count("max_order", "5", "K", "highest order of bdf, 1 to 5", |o, n| o.parameters.max_order = n),
    count("max_iterations", "by the method", "N", "maximum number of Newton iterations per step", |o, n| {
        o.testing.max_iterations = Some(n)
    }),
    number(
        "rho",
        FieldKind::NonNegative,
        "",
        "0.8",
        "RHO",
        "spectral radius at infinity of gen-alpha: 1 is undamped, 0 most damped",
        |o, x| {
            o.parameters.rho = x;
        },
    ),
    number("alpha", FieldKind::Number, "", "-0.3", "ALPHA", "α of hht: −1/3 damps most, 0 not at all", |o, x| {
        o.parameters.alpha = x
    }),
    number("beta", FieldKind::Positive, "", "(γ + 1/2)²/4", "BETA", "β of newmark", |o, x| {
        o.parameters.beta = Some(x)
    }),
    number(
        "gamma",
        FieldKind::Positive,
        "",
        "0.6",
        "GAMMA",
        "γ of newmark: 1/2 is undamped and of order 2",
        |o, x| {
            o.parameters.gamma = x;
        },
    ),
    number(
        "b",
        FieldKind::Number,
        "",
        "0",
        "B",
        "weight of the new reactions in the positions of hht-add; 1/2 is not allowed",
        |o, x| {
            o.parameters.b = x;
        },
    ),
    count(
        "max_steps",
        "no limit",
        "N",
        "number of steps after which the run ends; the results so far are kept",
        |o, n| {
            o.resources.max_steps = Some(n);
        },
    ),
    number(
        "max_seconds",
        FieldKind::Number,
        "s",
        "no limit",
        "S",
        "wall-clock time after which the run ends; the results so far are kept",
        |o, x| {
            o.resources.max_seconds = Some(x);
        },
    ),
    count("threads", "chosen by model size", "N", "number of threads; results do not depend on it", |o, n| {
        o.resources.threads = Some(n);
    }),
];

const fn number(
    key: &'static str,
    kind: FieldKind,
    unit: &'static str,
    default: &'static str,
    placeholder: &'static str,
    doc: &'static str,
    set: fn(&mut Options, f64),
) -> Choice {
    Choice { key, kind, unit, default, placeholder, doc, set: Set::Number(set) }
}

const fn count(
    key: &'static str,
    default: &'static str,
    placeholder: &'static str,
    doc: &'static str,
    set: fn(&mut Options, usize),
) -> Choice {
    Choice { key, kind: FieldKind::Count, unit: "", default, placeholder, doc, set: Set::Count(set) }
}

const fn text(key: &'static str, default: &'static str, doc: &'static str, set: fn(&mut Options, String)) -> Choice {
    Choice { key, kind: FieldKind::Text, unit: "", default, placeholder: "WHERE", doc, set: Set::Text(set) }
}

const fn texts(
    key: &'static str,
    default: &'static str,
    doc: &'static str,
    set: fn(&mut Options, Vec<String>),
) -> Choice {
    let kind = FieldKind::Names(1, 10_000);
    Choice { key, kind, unit: "", default, placeholder: "PATTERNS", doc, set: Set::Texts(set) }
}

const fn word(
    key: &'static str,
    default: &'static str,
    doc: &'static str,
    thing: &'static str,
    words: fn() -> &'static [&'static str],
    set: fn(&mut Options, &str) -> bool,
) -> Choice {
    let set = Set::Word(thing, words, set);
    Choice { key, kind: FieldKind::Name, unit: "", default, placeholder: "WORD", doc, set }
}

static METHOD_NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(method_names);
static PRESET_NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(preset_names);

fn take<T>(field: &mut Option<T>, value: Option<T>) -> bool {
    let known = value.is_some();
    *field = value;
    known
}

fn put<T>(field: &mut T, value: Option<T>) -> bool {
    value.map(|value| *field = value).is_some()
}

/// The option of a key.
pub fn choice(key: &str) -> Option<&'static Choice> {
    CHOICES.iter().find(|c| c.key == key)
}

/// The options as fields of a section, for the schema and the reference of model files.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| CHOICES.iter().map(Choice::field).collect());
    &FIELDS
}

impl Choice {
    /// The words it takes; none where it takes a number.
    pub fn words(&self) -> &'static [&'static str] {
        match self.set {
            Set::Word(_, words, _) => words(),
            _ => &[],
        }
    }

    fn field(&self) -> Field {
        let kind = match self.words() {
            [] => self.kind,
            words => FieldKind::Word(words),
        };
        Field { name: self.key, kind, required: false, unit: self.unit, doc: self.doc, default: self.default }
    }

    /// Sets it in the options, or tells why the value is none for it.
    pub fn apply(&self, options: &mut Options, given: &Given) -> Result<(), Why> {
        if let (Set::Number(_) | Set::Count(_), Given::Text { text, .. }) = (&self.set, given)
            && let Some(problem) = units::NumberWithUnit::parse(text).and_then(|q| units::refuse(&q, self.unit))
        {
            return Err(Why::Reason(format!("`{}` {problem}", self.key)));
        }
        match self.set {
            Set::Number(set) => set(options, number_of(given)?),
            Set::Count(set) => set(options, count_of(given)?),
            Set::Texts(set) => set(options, texts_of(given)?),
            Set::Text(set) => match given {
                Given::Text { text, .. } if !text.is_empty() => set(options, text.clone()),
                _ => return Err(Why::Kind("a text", found(given))),
            },
            Set::Word(thing, words, set) => {
                let Given::Text { text, .. } = given else { return Err(Why::Kind("a word", found(given))) };
                if !set(options, text) {
                    let known = words().to_vec();
                    let near = suggest::nearest(text, known.iter().copied());
                    let word = text.clone();
                    return Err(Why::UnknownWord(Box::new(UnknownWord { thing, word, near, known })));
                }
            }
        }
        Ok(())
    }

    /// A value it could have.
    pub fn example(&self) -> &'static str {
        match self.set {
            _ if self.default.parse::<f64>().is_ok() => self.default,
            Set::Word(_, words, _) => words().first().copied().unwrap_or_default(),
            Set::Count(_) => "4",
            Set::Number(_) => "1e-3",
            Set::Texts(_) => "*",
            Set::Text(_) => super::options::EQUILIBRIUM,
        }
    }

    /// What the help of a command says of it, in one sentence.
    pub fn help(&self) -> String {
        let mut letters = self.doc.chars();
        // symbols stay as they are: ε is not Ε
        let first: String = letters.next().into_iter().map(|c| c.to_ascii_uppercase()).collect();
        let words = if self.words().is_empty() { String::new() } else { format!(": {}", self.words().join(", ")) };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" [{}]", self.unit) };
        format!("{first}{}{words}{unit} (default: {})", letters.as_str(), self.default)
    }
}

fn number_of(given: &Given) -> Result<f64, Why> {
    match given {
        Given::Number(x) | Given::Text { number: Ok(x), .. } => Ok(*x),
        Given::Text { number: Err(why), .. } if !why.is_empty() => Err(Why::Reason(why.clone())),
        _ => Err(Why::Kind("a number", found(given))),
    }
}

/// A list of texts, or one text with commas between them.
fn texts_of(given: &Given) -> Result<Vec<String>, Why> {
    let texts: Vec<String> = match given {
        Given::Texts(texts) => texts.clone(),
        Given::Text { text, .. } => text.split(',').map(|t| t.trim().to_string()).collect(),
        _ => return Err(Why::Kind("a list of texts", found(given))),
    };
    match texts.is_empty() || texts.iter().any(String::is_empty) {
        true => Err(Why::Reason("an empty name matches nothing".into())),
        false => Ok(texts),
    }
}

fn count_of(given: &Given) -> Result<usize, Why> {
    let x = number_of(given)?;
    // whole numbers are exact in f64 up to 2⁵³
    if x.fract() != 0.0 || !(0.0..9e15).contains(&x) {
        return Err(Why::Kind("a whole number", x.to_string()));
    }
    Ok(x as usize)
}

fn found(given: &Given) -> String {
    match given {
        Given::Number(x) => x.to_string(),
        Given::Text { text, .. } => suggest::quoted(text),
        Given::Texts(_) => "a list".into(),
        Given::Other(what) => what.to_string(),
    }
}
