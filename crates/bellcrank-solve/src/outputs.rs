//! Outputs of a model: what they are computed from.

use bellcrank_model::Dynamics;
use bellcrank_model::channel::Selection;
use bellcrank_model::model::Output;

/// The channels that some outputs need, and where the variables of each stand among them; `usize::MAX` for one that there is not.
pub(crate) fn channels_of(outputs: &[Output], dynamics: &dyn Dynamics) -> (Selection, Vec<Vec<usize>>) {
    let needed = dynamics.select(&mut |name, _| outputs.iter().any(|o| o.channels.iter().any(|c| c == name)));
    let place = |name: &String| needed.channels.iter().position(|c| c.name == *name).unwrap_or(usize::MAX);
    let places = outputs.iter().map(|o| o.channels.iter().map(place).collect()).collect();
    (needed, places)
}
