//! What of a machine is recorded, and the values of it.

use super::Simulation;
use crate::choices::{ChoiceError, Suggestion};
use crate::engines::StepError;
use bellcrank_model::Dynamics;
use bellcrank_model::catalog::DEFAULT;
use bellcrank_model::channel::{Channel, Pattern, Selection};
use bellcrank_model::file::suggest;
use std::collections::HashMap;

/// What is recorded.
#[derive(Default)]
pub(super) struct Recording {
    /// The channels; none stands for those that are recorded by default.
    selection: Option<Selection>,
    /// Which of the outputs; none stands for all.
    outputs: Option<Vec<usize>>,
    /// Channels that were asked for alone; none for those that need accelerations, reactions or an output.
    single: HashMap<usize, Option<Selection>>,
}

impl Recording {
    /// What fits the patterns that were asked for; each must fit something.
    pub fn new(patterns: &[String], dynamics: &dyn Dynamics, outputs: &[String]) -> Result<Recording, ChoiceError> {
        if patterns.is_empty() {
            return Ok(Recording::default());
        }
        let patterns: Vec<Pattern> = patterns.iter().map(|p| Pattern(p.clone())).collect();
        let mut used = vec![false; patterns.len()];
        let mut fits = |name: &str, default: bool| {
            let mut any = false;
            for (used, pattern) in used.iter_mut().zip(&patterns) {
                if pattern.fits(name) || default && pattern.0 == DEFAULT {
                    (*used, any) = (true, true);
                }
            }
            any
        };
        let chosen = (0..outputs.len()).filter(|k| fits(&outputs[*k], true)).collect();
        let selection = dynamics.select(&mut fits);
        match used.iter().position(|used| !used) {
            Some(k) => Err(nothing(&patterns[k], dynamics, outputs)),
            None => Ok(Recording { selection: Some(selection), outputs: Some(chosen), single: HashMap::new() }),
        }
    }
}

/// A pattern that nothing fits.
fn nothing(pattern: &Pattern, dynamics: &dyn Dynamics, outputs: &[String]) -> ChoiceError {
    let all = dynamics.all_channels();
    let names = all.iter().map(|c| c.name.as_str()).chain(outputs.iter().map(String::as_str));
    let reason = format!("nothing is called {} that could be recorded", suggest::quoted(&pattern.0));
    let error = ChoiceError::new("record", reason);
    match suggest::nearest(&pattern.0, names).filter(|_| pattern.is_name()) {
        Some(near) => error.instead(Suggestion::to("record", near.to_string())),
        None => error.instead(Suggestion::to("record", "*").note(" for all that there is")),
    }
}

impl Simulation {
    /// What is recorded: channels, then outputs.
    pub(super) fn recorded_channels(&self) -> Vec<Channel> {
        let mut channels = match &self.recording.selection {
            Some(selection) => selection.channels.clone(),
            None => self.observer.dynamics.channels(),
        };
        let outputs = self.monitors.outputs.iter().flat_map(|outputs| outputs.channels()).enumerate();
        let wanted = |k: &usize| self.recording.outputs.as_ref().is_none_or(|some| some.contains(k));
        channels.extend(outputs.filter(|(k, _)| wanted(k)).map(|(_, channel)| channel));
        channels
    }

    /// Fills the observer's values with what is recorded, at its state.
    pub(super) fn observe_recorded(&mut self) -> Result<(), StepError> {
        let needs = self.monitors.outputs.as_ref().is_some_and(|outputs| outputs.is_reactive());
        match &self.recording.selection {
            // outputs may ask for reactions that the channels do not
            Some(some) if needs && !some.reactive => {
                self.observer.observe(Some(&Selection { reactive: true, ..some.clone() }))?;
            }
            some => self.observer.observe(some.as_ref())?,
        }
        let Some(outputs) = &mut self.monitors.outputs else { return Ok(()) };
        let mut values = std::mem::take(&mut self.observer.values);
        let first = values.len();
        outputs.observe(&mut self.observer, &mut values);
        self.observer.values = values;
        self.choose_outputs(first);
        Ok(())
    }

    /// The same at the end of the last step, where the outputs' monitor has left the observer with accelerations and reactions.
    pub(super) fn observe_left(&mut self) {
        self.observer.see(self.recording.selection.as_ref());
        let first = self.observer.values.len();
        self.observer.values.extend(self.monitors.outputs.iter().flat_map(|outputs| outputs.last()));
        self.choose_outputs(first);
    }

    /// Of the outputs behind the first values, keeps those that are recorded.
    fn choose_outputs(&mut self, first: usize) {
        let Some(some) = &self.recording.outputs else { return };
        let values = &mut self.observer.values;
        some.iter().enumerate().for_each(|(to, from)| values[first + to] = values[first + from]);
        values.truncate(first + some.len());
    }

    /// One channel at the present state, without the others; nothing if it needs what all of them need.
    pub(super) fn observe_one(&mut self, channel: usize) -> Result<Option<f64>, StepError> {
        if !self.recording.single.contains_key(&channel) {
            let single = self.select_one(channel);
            self.recording.single.insert(channel, single);
        }
        let Some(Some(one)) = self.recording.single.get(&channel) else { return Ok(None) };
        self.observer.state.clone_from(self.engine.state());
        self.observer.observe(Some(one))?;
        Ok(self.observer.values.first().copied())
    }

    fn select_one(&self, channel: usize) -> Option<Selection> {
        let name = self.recorded_channels().get(channel)?.name.clone();
        let one = self.observer.dynamics.select(&mut |other, _| other == name);
        (one.channels.len() == 1 && !one.reactive).then_some(one)
    }

    /// Fills the observer's values with the channels that are recorded by default and all outputs, whatever is recorded.
    pub(super) fn observe_all(&mut self) -> Result<(), StepError> {
        let recording = std::mem::take(&mut self.recording);
        let observed = self.observe_recorded();
        self.recording = recording;
        observed
    }
}
