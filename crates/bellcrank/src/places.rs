//! Errors in the words of a user interface, pointing at the place in the model file that they are about.

use bellcrank_model::Subject;
use bellcrank_model::file::{Diagnostic, Report};
use bellcrank_model::read::Read;
use bellcrank_solve::choices::{ChoiceError, Origin, Said, Voice, in_file, traced};
use bellcrank_solve::engines::StepError;
use bellcrank_solve::run::StartError;

/// Why a run failed.
pub fn failed(read: &Read, error: &StepError, voice: Voice) -> Report {
    placed(read, error.culprit().as_slice(), error.reason(), error.help(voice))
}

/// Why a simulation does not start.
pub fn not_started(read: &Read, arguments: &[Said], error: StartError, voice: Voice) -> Report {
    match error {
        StartError::Option(e) => refused(read, arguments, e, voice),
        StartError::Assembly(e) => {
            let about: Vec<&Subject> = std::iter::once(e.culprit()).chain(e.others()).collect();
            placed(read, &about, e.reason(), e.advice().into())
        }
        StartError::Step(e) => failed(read, &e, voice),
    }
}

/// A message that points at the bodies, joints and forces it is about, where the file has them.
fn placed(read: &Read, about: &[&Subject], message: String, help: String) -> Report {
    let mut problem = Diagnostic::error(message).help(help);
    let mut spans = about.iter().filter_map(|s| Some((read.place(s.place?)?, s.words.clone())));
    problem.span = spans.next().map(|(span, _)| span);
    for (span, words) in spans.filter(|(span, _)| Some(*span) != problem.span).collect::<Vec<_>>() {
        problem = problem.also(span, words);
    }
    read.document.report(problem.into())
}

/// Why a simulation does not start, where no one file is at hand.
pub fn spoken(error: StartError, voice: Voice) -> String {
    match error {
        StartError::Option(e) => Report::from(e.diagnostic(voice)).to_string(),
        StartError::Step(e) => e.say(voice),
        e => e.to_string(),
    }
}

/// A choice that cannot be run: in the words of the user interface, or pointing into the file if it was made there.
pub fn refused(read: &Read, arguments: &[Said], error: ChoiceError, voice: Voice) -> Report {
    let mut said = in_file(&read.settings);
    said.extend_from_slice(arguments);
    let error = traced(error, &said);
    let file = matches!(error.origin, Some(Origin::File(_)));
    match (error.diagnostic(voice), file) {
        (problem, true) => read.document.report(problem.into()),
        (problem, false) => problem.into(),
    }
}
