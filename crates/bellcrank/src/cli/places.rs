//! Errors as the command line prints them: see [`crate::places`].

use crate::cli::Failure;
use crate::places;
use bellcrank_model::file::Report;
use bellcrank_model::read::Read;
use bellcrank_solve::choices::{ChoiceError, Said, Voice};
use bellcrank_solve::engines::StepError;
use bellcrank_solve::run::StartError;

/// Why a run failed.
pub fn failed(read: &Read, error: &StepError) -> Failure {
    Failure::Failed(places::failed(read, error, Voice::CommandLine).to_string())
}

/// Why a simulation does not start.
pub fn not_started(read: &Read, arguments: &[Said], error: StartError) -> Failure {
    let bad = !matches!(error, StartError::Step(_));
    let text = places::not_started(read, arguments, error, Voice::CommandLine).to_string();
    if bad { Failure::BadInput(text) } else { Failure::Failed(text) }
}

/// Why a simulation does not start, where no one file is at hand.
pub fn spoken(error: StartError) -> String {
    places::spoken(error, Voice::CommandLine)
}

/// A choice that cannot be run.
pub fn refused(read: &Read, arguments: &[Said], error: ChoiceError) -> Report {
    places::refused(read, arguments, error, Voice::CommandLine)
}
