//! Why a run cannot go on, and what to do about it.

use crate::choices::{ChoiceError, Suggestion, Voice, advice};
use crate::start::AssemblyError;
use crate::wedge::Wedge;
use bellcrank_model::Subject;
use std::fmt;

/// Why a run cannot go on. What to do about it is data too: [`StepError::advice`] and [`StepError::instead`].
#[derive(Clone, Debug, PartialEq)]
pub enum StepError {
    /// The step size fell to nothing.
    Collapse {
        /// When.
        t: f64,
        /// The last step size tried.
        h: f64,
        /// What kept it from converging or from being accurate, by the user's name.
        culprit: Subject,
        /// Whether Newton's iteration (or else the error test) failed.
        convergence: bool,
        /// Whether the step was fixed by the user.
        fixed: bool,
    },
    /// The step size fell to nothing close to a position in which the constraints depend on each other.
    NearSingular {
        /// When.
        t: f64,
        /// The last step size tried.
        h: f64,
        /// Where it shows, by the user's name.
        culprit: Subject,
        /// The smallest relative pivot of a constraint.
        pivot: f64,
        /// How many equations were redundant.
        redundant: usize,
    },
    /// The equations do not determine the motion.
    Singular {
        /// When.
        t: f64,
        /// The body or joint where it shows.
        culprit: Subject,
    },
    /// The motion left the range of numbers.
    NotFinite {
        /// When.
        t: f64,
        /// The body where it shows.
        culprit: Subject,
    },
    /// A force, a drive or an expression is no number any more.
    NoNumber {
        /// When.
        t: f64,
        /// Which.
        culprit: Subject,
        /// What it is, and for which arguments.
        what: String,
    },
    /// The run would not end.
    GivenUp {
        /// When.
        t: f64,
        /// What limited its steps most, by the user's name.
        culprit: Subject,
        /// Why it was given up.
        why: String,
    },
    /// A mechanism without freedom cannot be closed.
    Open {
        /// When.
        t: f64,
        /// Why.
        why: Box<AssemblyError>,
    },
    /// Equations that held together no longer can.
    Contradiction {
        /// When.
        t: f64,
        /// The joints that cannot all hold, as few as it takes.
        sides: Vec<Subject>,
        /// By how much they are apart, in m (or rad), or per second.
        by: f64,
        /// Whether their rates contradict each other, while their positions do not yet.
        rates: bool,
    },
    /// A value that was handed to the run cannot be used.
    Refused {
        /// When.
        t: f64,
        /// Why.
        why: String,
    },
    /// A regularized loop is open beyond its bound.
    OpenLoop {
        /// When.
        t: f64,
        /// The joint that closes it.
        culprit: Subject,
        /// How far it is open, in m or rad.
        gap: f64,
        /// How far it may be open.
        bound: f64,
    },
    /// Events follow each other without end and without time passing.
    Chatter {
        /// When.
        t: f64,
        /// What switches.
        culprit: Subject,
    },
    /// A drive prescribes a position that jumps.
    Jump {
        /// When.
        t: f64,
        /// The drive.
        culprit: Subject,
        /// How far, with its unit.
        by: String,
    },
    /// A choice does not suit the equations.
    Unsuited {
        /// When.
        t: f64,
        /// Which, why, and what to choose instead.
        choice: Box<ChoiceError>,
    },
    /// An FMU failed, was stopped, or told nonsense.
    Fmu {
        /// When.
        t: f64,
        /// Which.
        culprit: Subject,
        /// What it did.
        why: String,
    },
    /// Friction presses the joint that makes it harder than it can push back.
    Wedged {
        /// When.
        t: f64,
        /// Which, and how.
        wedge: Box<Wedge>,
    },
    /// A recorder failed.
    Record(String),
}

impl StepError {
    /// When it happened; none for a recorder that failed.
    pub fn t(&self) -> Option<f64> {
        match self {
            StepError::Collapse { t, .. }
            | StepError::NearSingular { t, .. }
            | StepError::Singular { t, .. }
            | StepError::NotFinite { t, .. }
            | StepError::NoNumber { t, .. }
            | StepError::GivenUp { t, .. }
            | StepError::Open { t, .. }
            | StepError::Contradiction { t, .. }
            | StepError::Refused { t, .. }
            | StepError::OpenLoop { t, .. }
            | StepError::Chatter { t, .. }
            | StepError::Jump { t, .. }
            | StepError::Fmu { t, .. }
            | StepError::Wedged { t, .. }
            | StepError::Unsuited { t, .. } => Some(*t),
            StepError::Record(_) => None,
        }
    }

    /// The body, joint or force where it shows.
    pub fn culprit(&self) -> Option<&Subject> {
        match self {
            StepError::Collapse { culprit, .. }
            | StepError::NearSingular { culprit, .. }
            | StepError::Singular { culprit, .. }
            | StepError::NotFinite { culprit, .. }
            | StepError::NoNumber { culprit, .. }
            | StepError::GivenUp { culprit, .. }
            | StepError::OpenLoop { culprit, .. }
            | StepError::Chatter { culprit, .. }
            | StepError::Jump { culprit, .. }
            | StepError::Fmu { culprit, .. } => Some(culprit),
            StepError::Open { why, .. } => Some(why.culprit()),
            StepError::Wedged { wedge, .. } => Some(&wedge.culprit),
            StepError::Contradiction { sides, .. } => sides.first(),
            StepError::Refused { .. } | StepError::Unsuited { .. } | StepError::Record(_) => None,
        }
    }

    /// What is wrong, in one sentence without advice.
    pub fn reason(&self) -> String {
        match self {
            StepError::Collapse { t, h, culprit, convergence, fixed } => {
                let why = match (convergence, fixed) {
                    (true, true) => "Newton's iteration does not converge with the fixed step",
                    (true, false) => "Newton's iteration does not converge however small the step",
                    _ => "the error stays too large however small the step",
                };
                format!("the step collapsed at t = {t:.9} s (step {h:.3e} s): {why}; {culprit} is where it shows")
            }
            StepError::NearSingular { t, h, culprit, pivot, redundant } => {
                let rank = match redundant {
                    0 => "the rank of the constraints falls near by".to_string(),
                    n => format!("the rank of the constraints has fallen by {n}"),
                };
                format!(
                    "the step collapsed at t = {t:.9} s (step {h:.3e} s) at a singular position: {rank} (smallest pivot {pivot:.1e}), \
                     and rounding is amplified beyond the tolerance; {culprit} is where it shows"
                )
            }
            StepError::Singular { t, culprit } => format!(
                "the motion is not determined at t = {t:.9} s: {culprit} has no inertia in a direction that is free"
            ),
            StepError::NotFinite { t, culprit } => {
                format!("the motion left the range of numbers at t = {t:.9} s at {culprit}")
            }
            StepError::NoNumber { t, culprit, what } => {
                format!("{culprit} is no number at t = {t:.9} s: {what}")
            }
            StepError::GivenUp { t, culprit, why } => {
                format!("the run was stopped at t = {t:.9} s: {why}; {culprit} limited its steps most")
            }
            StepError::Open { t, why } => format!("at t = {t:.9} s {}", why.reason()),
            StepError::Contradiction { t, sides, by, rates } => {
                let sides: Vec<&str> = sides.iter().map(|s| s.words.as_str()).collect();
                let who = match sides.as_slice() {
                    [] => "the joints contradict each other".into(),
                    [one] => format!("{one} contradicts itself"),
                    [one, other] => format!("{one} contradicts {other}"),
                    [most @ .., last] => format!("{} and {last} contradict each other", most.join(", ")),
                };
                let apart = if *rates { "m/s (or rad/s)" } else { "m (or rad)" };
                format!("from t = {t:.9} s on {who}: together they cannot hold, and are apart by {by:.2e} {apart}")
            }
            StepError::Refused { t, why } => format!("at t = {t:.9} s {why}"),
            StepError::OpenLoop { t, culprit, gap, bound } => format!(
                "the loop that {culprit} closes is open by {gap:.2e} at t = {t:.9} s, and {bound:.2e} is the most that sequential \
                 regularization may leave"
            ),
            StepError::Chatter { t, culprit } => format!("{culprit} switches without end at t = {t:.9} s"),
            StepError::Jump { t, culprit, by } => {
                format!("{culprit} jumps by {by} at t = {t:.9} s: nothing can move that far in no time")
            }
            StepError::Wedged { t, wedge } => format!("at t = {t:.9} s {}", wedge.reason()),
            StepError::Fmu { t, culprit, why } => format!("at t = {t:.9} s {culprit} {why}"),
            StepError::Unsuited { t, choice } => format!("at t = {t:.9} s {}", choice.reason(Voice::Rust)),
            StepError::Record(why) => why.clone(),
        }
    }

    /// What to look for in the model; empty where there is nothing to say.
    pub fn advice(&self) -> &'static str {
        match self {
            StepError::Open { why, .. } => why.advice(),
            StepError::Wedged { .. } => Wedge::ADVICE,
            StepError::Collapse { convergence: true, fixed: false, .. } => {
                "look for a force that jumps, a stiffness of the wrong unit or a position that cannot be reached"
            }
            StepError::Collapse { convergence: false, .. } => {
                "look for a force that jumps or grows without bound near this time"
            }
            StepError::Singular { .. } => "give it a mass and an inertia, or hold it by a joint",
            StepError::NotFinite { .. } => {
                "look for a function of t that becomes infinite, or a force that grows without bound"
            }
            StepError::Contradiction { .. } => {
                "they agreed until then, so that one of them was not needed: leave one out, or let them agree all the time"
            }
            StepError::NoNumber { .. } => "keep its arguments where it is finite, as with max(x, 1e-6) for a divisor",
            StepError::GivenUp { .. } => {
                "look for something far stiffer or faster than the motion, such as a stiffness of the wrong unit or a tiny mass"
            }
            StepError::Chatter { .. } => {
                "two contacts or stops may work against each other, or against a joint or a drive: make one of them soft \
                 (`stiffness` instead of `restitution`, `velocity` instead of `static`)"
            }
            StepError::Jump { .. } => "let it move in a finite time, as `step(t, 1, 0, 1.2, 0.5)` does",
            _ => "",
        }
    }

    /// Other choices that may help, best first.
    pub fn instead(&self) -> Vec<Suggestion> {
        match self {
            StepError::Collapse { convergence: true, fixed: true, .. } => {
                vec![Suggestion::smaller("step"), Suggestion::to("method", "bdf").note(", which controls its error")]
            }
            StepError::Collapse { convergence: true, fixed: false, .. } => vec![
                Suggestion::to("iteration", "full").note(", which is more robust"),
                Suggestion::larger("rtol").note(", which is more forgiving"),
            ],
            StepError::Collapse { .. } => vec![Suggestion::larger("rtol")],
            StepError::NearSingular { .. } => vec![
                Suggestion::to("method", "dop853").note(", which steps over such positions"),
                Suggestion::larger("rtol"),
            ],
            StepError::GivenUp { .. } => vec![
                Suggestion::to("method", "bdf").note(", which damps fast transients"),
                Suggestion::larger("rtol"),
                Suggestion::larger("max_steps").note(" or max_seconds, where they ended it"),
            ],
            StepError::NotFinite { .. } => vec![Suggestion::smaller("step").note(" if it is fixed")],
            StepError::OpenLoop { .. } => vec![
                Suggestion::smaller("step"),
                Suggestion::to("solver", "loop-cg").note(" or none, which close loops to rounding"),
            ],
            StepError::Unsuited { choice, .. } => choice.instead.clone(),
            _ => Vec::new(),
        }
    }

    /// What to do, in the words of a user interface; empty where there is nothing to say.
    pub fn help(&self, voice: Voice) -> String {
        let choices = advice(&self.instead(), voice);
        [self.advice(), &choices].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// What is wrong and what to do, in the words of a user interface.
    pub fn say(&self, voice: Voice) -> String {
        match self.help(voice) {
            help if help.is_empty() => self.reason(),
            help => format!("{}\nhelp: {help}", self.reason()),
        }
    }
}

impl fmt::Display for StepError {
    /// As a user of the library reads it: options are named as the fields of [`crate::Options`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Voice::Rust))
    }
}

impl std::error::Error for StepError {}
