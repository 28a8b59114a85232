//! Where in the model file an error belongs.
//!
//! Errors of runs still name bodies and joints in their words; this is the one place that looks for them there.

use bellcrank_model::file::{Diagnostic, Report, Span};
use bellcrank_model::read::Read;
use bellcrank_solve::choices::{ChoiceError, Origin, Said, Voice, in_file, traced};
use bellcrank_solve::simulation::StartError;
use std::fmt::Display;

/// A failure, pointing at the joint or body where the file has it.
pub fn placed(read: &Read, error: &dyn Display) -> String {
    let text = error.to_string();
    let (message, help) = text.split_once("\nhelp: ").unwrap_or((&text, ""));
    let mut problem = Diagnostic::error(message.replace("\n  ", "; ")).help(help);
    problem.span = place(read, message);
    read.document.report(problem.into()).to_string()
}

/// Where the file has the first joint or body that a text names.
pub fn place(read: &Read, text: &str) -> Option<Span> {
    let named = |(section, before): (&str, &str)| {
        let at = text.find(before)?;
        let name = text[at + before.len()..].split_once('`')?.0;
        Some((at, read.document.place(section, name)?))
    };
    let places = [("start", "the start of joint `"), ("joint", "joint `"), ("body", "body `"), ("body", "rod `")];
    places.into_iter().filter_map(named).min_by_key(|(at, _)| *at).map(|(_, span)| span)
}

/// Why a simulation does not start, in the words of the command line.
pub fn spoken(error: StartError) -> String {
    match error {
        StartError::Option(e) => Report::from(e.diagnostic(Voice::CommandLine)).to_string(),
        e => e.to_string(),
    }
}

/// A choice that cannot be run: in the words of the command line, or pointing into the file if it was made there.
pub fn refused(read: &Read, arguments: &[Said], error: ChoiceError) -> Report {
    let mut said = in_file(&read.settings);
    said.extend_from_slice(arguments);
    let error = traced(error, &said);
    let file = matches!(error.origin, Some(Origin::File(_)));
    match (error.diagnostic(Voice::CommandLine), file) {
        (problem, true) => read.document.report(problem.into()),
        (problem, false) => problem.into(),
    }
}
