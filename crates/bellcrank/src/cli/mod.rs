//! The command line of Bellcrank: data to stdout, words to stderr, a hint at the end of every error.
//!
//! How it ended is in the exit status: [`STATUSES`].

mod bench;
mod check;
mod compare;
mod differences;
mod digest;
mod flags;
mod fmu;
mod gallery;
mod glue;
mod inverse;
mod modes;
mod network;
mod new;
mod output;
mod places;
mod plan;
mod plot;
mod progress;
mod reproduce;
mod response;
mod robot;
mod run;
mod sensitivity;
mod shell;
mod signals;
mod statics;
mod study;
mod study_plot;
mod validate;
mod view;

pub use digest::sha256;
pub use new::EXAMPLES;

use bellcrank_model::file::diagnostic::escaped;
use bellcrank_solve::choices::fields;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Multibody dynamics: from a model file to a result you can trust.
#[derive(Parser)]
#[command(name = "bellcrank", version, max_term_width = 100, after_help = statuses())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulates a model file.
    Run(Box<run::Run>),
    /// Runs a model many times over grids and samples of its values, into one table.
    Study(study::StudyArgs),
    /// Differentiates outputs of a run by parameters, through the solver: d(camber.max)/d(k).
    Sensitivity(sensitivity::Sensitivity),
    /// Finds the position in which all forces balance, and whether it is stable.
    Statics(statics::Statics),
    /// Linearizes a model about a state: frequencies, damping and mode shapes.
    Modes(modes::Modes),
    /// Computes frequency responses from inputs to channels, and the linear model behind them.
    Response(response::Response),
    /// Computes the forces and torques that a prescribed motion needs.
    Inverse(inverse::Inverse),
    /// Checks a model without running it: degrees of freedom, redundant or contradicting equations, masses, units.
    Check(check::Check),
    /// Prints which method, formulation and solver a run would use, and why.
    Plan(Box<plan::Plan>),
    /// Reproduces the tables and figures of a paper, side by side with the published values.
    Reproduce(reproduce::Reproduce),
    /// Runs parts that have their own models and solvers, joined at their ports.
    Glue(glue::Glue),
    /// Writes a model as an FMU (FMI 2.0 or 3.0), for other simulation tools.
    Fmu(fmu::MakeFmu),
    /// Offers a part to coordinators on this machine, or to others with keys.
    Serve(network::Serve),
    /// Creates a certificate authority, certificates and a token for parts on other machines.
    Keys(network::MakeKeys),
    /// Shows results in the browser.
    View(view::View),
    /// Runs a model with several methods and tolerances, and compares cost and accuracy.
    Compare(compare::Compare),
    /// Measures speed on small and large models, side by side with other programs.
    Bench(bench::Bench),
    /// Plots recorded channels, in the terminal or as SVG or PNG.
    Plot(plot::Plot),
    /// Creates a new model from a commented example.
    New(new::New),
    /// Converts a robot file (URDF, MJCF, SDF) to a model file.
    Convert(robot::Convert),
    /// Runs every reference problem, and compares the results with exact or published values.
    Validate(validate::Validate),
    /// Runs all examples and makes a web page of them, with pictures, results and filters.
    Gallery(gallery::Gallery),
    /// Prints the JSON Schema of model files or of study files, for editors.
    Schema {
        /// Of what.
        #[arg(value_parser = ["model", "study"], default_value = "model")]
        of: String,
    },
    /// Prints the reference of the model file: every section, joint and force with its keys; or that of all channels, or of the
    /// study file.
    Reference {
        /// What about.
        #[arg(value_parser = ["model", "channels", "study"], default_value = "model")]
        about: String,
    },
    /// Prints a completion script for a shell.
    Completions(shell::Completions),
    /// Prints the manual page, or writes one per command.
    Man(shell::Man),
}

/// The exit statuses of all commands; the README has the same table.
pub const STATUSES: [(u8, &str); 5] = [
    (0, "success; doubts about the result are printed as warnings"),
    (1, "the run failed: it could not reach its end, or its results could not be written"),
    (2, "bad input: a model, an option or a file; nothing was computed"),
    (3, "with --strict: the run finished, but its result is doubtful"),
    (130, "interrupted twice (Ctrl-C); interrupted once, a run keeps its results and ends with 1"),
];

fn statuses() -> String {
    let rows = STATUSES.iter().map(|(status, meaning)| format!("  {status:>3}  {meaning}"));
    format!("Exit statuses:\n{}", rows.collect::<Vec<_>>().join("\n"))
}

/// How a command fails, with the message for stderr.
pub enum Failure {
    /// Status 2.
    BadInput(String),
    /// Status 1.
    Failed(String),
    /// Status 3.
    Doubtful(String),
}

/// Runs the program with these arguments, the first of which is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    if let Ok(program) = std::env::current_exe() {
        bellcrank_solve::guest::set_host([program.into_os_string(), bellcrank_solve::guest::ARGUMENT.into()]);
    }
    ExitCode::from(run_with(arguments))
}

/// The same inside another program, which gets the exit code as a number.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == bellcrank_solve::guest::ARGUMENT) {
        return fmu::host();
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print(); // a reader that went away is no error
            return u8::try_from(e.exit_code()).unwrap_or(2);
        }
    };
    let result = match cli.command {
        Command::Run(options) => run::run(*options),
        Command::Study(options) => study::study(options),
        Command::Sensitivity(options) => sensitivity::run(options),
        Command::Statics(options) => statics::run(options),
        Command::Modes(options) => modes::run(options),
        Command::Response(options) => response::run(options),
        Command::Inverse(options) => inverse::run(options),
        Command::Check(options) => check::check(options),
        Command::Plan(options) => plan::plan(*options),
        Command::Reproduce(options) => reproduce::reproduce(options),
        Command::Glue(options) => glue::glue(options),
        Command::Fmu(options) => fmu::make(options),
        Command::Serve(options) => network::serve(options),
        Command::Keys(options) => network::keys(options),
        Command::View(options) => view::view(options),
        Command::Compare(options) => compare::compare(options),
        Command::Bench(options) => bench::bench(options),
        Command::Plot(options) => plot::plot(options),
        Command::New(options) => new::new(options),
        Command::Convert(options) => robot::convert(options),
        Command::Validate(options) => validate::run(options),
        Command::Gallery(options) => gallery::gallery(options),
        Command::Schema { of } if of == "study" => {
            print(&format!("{:#}", bellcrank_study::reference::schema(fields())))
        }
        Command::Schema { .. } => print(&format!("{:#}", bellcrank_model::reference::schema(fields()))),
        Command::Reference { about } if about == "channels" => print(&bellcrank_model::catalog::markdown()),
        Command::Reference { about } if about == "study" => print(&bellcrank_study::reference::markdown()),
        Command::Reference { .. } => print(&bellcrank_model::reference::markdown(fields())),
        Command::Completions(options) => shell::completions(options),
        Command::Man(options) => shell::man(options),
    };
    match result {
        Ok(()) => 0,
        Err(Failure::BadInput(text)) => fail(&text, 2),
        Err(Failure::Failed(text)) => fail(&text, 1),
        Err(Failure::Doubtful(text)) => fail(&text, 3),
    }
}

fn fail(text: &str, code: u8) -> u8 {
    let prefix = if text.starts_with("error: ") { "" } else { "error: " };
    tell(&format!("{prefix}{}", text.trim_end()));
    code
}

/// Words for people, on stderr; what could fool a terminal is escaped, and a reader that went away is no error.
fn tell(text: &str) {
    use std::io::Write;
    let mut out = std::io::stderr().lock();
    let _ = text.lines().try_for_each(|line| writeln!(out, "{}", escaped(line)));
}

/// Prints to stdout; a reader that went away is no error. What could fool a terminal is escaped: in objects as JSON has it.
fn print(text: &str) -> Result<(), Failure> {
    let is_object = text.starts_with(['{', '[']);
    print_with(|out| out.write_all(safe(text.trim_end(), is_object).as_bytes()))
}

/// Prints a drawing, which has colours of its own and escapes the names in it.
fn print_drawn(text: &str) -> Result<(), Failure> {
    print_with(|out| out.write_all(text.trim_end().as_bytes()))
}

/// A text of several lines without control characters, marks that change the direction of writing and the like.
fn safe(text: &str, is_object: bool) -> String {
    let line = |line: &str| match is_object && escaped(line) != line {
        false => escaped(line),
        true => line.chars().map(in_json).collect(),
    };
    text.split('\n')
        .map(|part| part.split('\t').map(line).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A character of a JSON string that is safe to print: they stand inside of strings alone.
fn in_json(c: char) -> String {
    let text = c.to_string();
    match escaped(&text) == text {
        true => text,
        false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    }
}

/// Prints what `write` writes, and a line feed.
fn print_with(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("cannot write to stdout: {e}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn what_fools_a_terminal_is_escaped_and_objects_stay_what_they_are() {
        assert_eq!(safe("a\tb\n\u{1b}[31mred \u{202e}", false), "a\tb\n\\u{1b}[31mred \\u{202e}");
        let object = serde_json::json!({"\u{202e}\u{9b}2J": ["\u{e0001}", 1.5, "é"]});
        let text = safe(&object.to_string(), true);
        assert!(text.is_ascii() || text.contains('é'), "{text}");
        assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), object);
    }
}
