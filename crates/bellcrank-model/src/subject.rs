//! What messages are about: places in a model, and the words for them.

use std::fmt;

/// Something in a model that a message is about, by its number among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// One of [`Model::bodies`](crate::Model::bodies).
    Body(usize),
    /// One of [`Model::joints`](crate::Model::joints).
    Joint(usize),
    /// One of [`Model::forces`](crate::Model::forces).
    Force(usize),
    /// One of [`Model::probes`](crate::Model::probes).
    Probe(usize),
    /// One of [`Model::inputs`](crate::Model::inputs).
    Input(usize),
    /// One of [`Model::states`](crate::Model::states).
    State(usize),
    /// One of [`Model::fmus`](crate::Model::fmus).
    Fmu(usize),
    /// What is given at the start for one of [`Model::joints`](crate::Model::joints).
    Start(usize),
}

impl Place {
    /// The section of the model file that such things stand in, which is also the word for one of them.
    pub fn section(self) -> &'static str {
        match self {
            Place::Body(_) => "body",
            Place::Joint(_) => "joint",
            Place::Force(_) => "force",
            Place::Probe(_) => "probe",
            Place::Input(_) => "input",
            Place::State(_) => "state",
            Place::Fmu(_) => "fmu",
            Place::Start(_) => "start",
        }
    }
}

/// What a message is about: the words for it, such as "joint `pin`", and its place in the model where it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// How a message names it.
    pub words: String,
    /// Where it stands in the model, for messages that point into the file.
    pub place: Option<Place>,
}

impl Subject {
    /// Whether it is a joint of the model.
    pub fn is_joint(&self) -> bool {
        matches!(self.place, Some(Place::Joint(_)))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Words for something that stands nowhere in a model.
impl<S: Into<String>> From<S> for Subject {
    fn from(words: S) -> Subject {
        Subject { words: words.into(), place: None }
    }
}
