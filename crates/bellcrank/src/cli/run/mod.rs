//! `bellcrank run MODEL`.

mod args;
mod extremes;
mod resume;
mod tell;
mod together;

pub use args::Run;

use crate::cli::check::with_places;
use crate::cli::digest::sha256;
use crate::cli::places::{failed, not_started};
use crate::cli::progress::Progress;
use crate::cli::{Failure, output, print_with, robot, signals};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::file::{Diagnostic, Report, bounded, suggest};
use bellcrank_model::read::Read;
use bellcrank_model::scene;
use bellcrank_model::system::System;
use bellcrank_results::json;
use bellcrank_solve::begin;
use bellcrank_solve::check::{self, Check};
use bellcrank_solve::choices::{EQUILIBRIUM, Options};
use bellcrank_solve::engines::StepError;
use bellcrank_solve::evidence::Evidence;
use bellcrank_solve::record::{Recorder, Tee};
use bellcrank_solve::run::{Machine, Simulation, Start, StartError, Status, Summary};
use bellcrank_solve::verify::{self, ThinnedFrames, Verification};
use bellcrank_view::Live;
use extremes::Extremes;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use together::Together;

/// The largest values are looked for in models of at most this many bodies.
const MANY: usize = 1000;

/// A run that is asked for: what to run, and how.
struct Job {
    args: Run,
    read: Read,
    /// The files that were read for the model.
    files: Vec<PathBuf>,
    system: Arc<System>,
    options: Options,
    plots: Vec<Vec<String>>,
    found: Check,
    /// Where the run begins.
    start: Start,
}

/// A run that came to its end, or did not.
struct FinishedRun {
    summary: Summary,
    kept: Option<ThinnedFrames>,
    verification: Result<Verification, String>,
    extremes: Extremes,
    /// Where its results are.
    place: Option<PathBuf>,
}

/// Runs a model.
pub fn run(args: Run) -> Result<(), Failure> {
    let (parsed, files) = bounded::noting(|| robot::parsed(&args.model, &args.set, &args.robot));
    let (mut read, told) = parsed.map_err(|e| Failure::BadInput(e.to_string()))?;
    if !args.talk.quiet {
        robot::tell_of(&told);
    }
    let options = output::options(&read, args.said())?;
    let system = Arc::new(std::mem::take(&mut read.model).into_system());
    if !args.split.is_empty() {
        refuse_in_parts(&system, &options)?;
        return crate::cli::glue::cut(&system, options, &args.split, &args.tolerances, args.out.as_ref(), args.json);
    }
    signals::set(&options.resources.interrupt, 130);
    let plots = chosen_plots(&args.plots, &system)?;
    let mut job = Job { args, read, files, system, options, plots, found: Check::default(), start: Start::default() };
    let simulation = job.start()?;
    if job.args.talks() {
        tell::start(&job.system, &simulation, &job.found, job.options.from.as_deref(), job.args.talk.verbose);
    }
    let live = job.open_live()?;
    let ended = job.simulate(simulation, live.as_ref())?;
    let told = job.tell(&ended)?;
    tell::doubts(&ended.summary);
    job.report(&ended, &told)?;
    if job.args.talks() {
        tell::next(&job.args, &ended.summary, ended.place.as_deref(), &job.system);
    }
    if let Some(live) = live {
        job.serve(live);
    }
    job.outcome(&ended)
}

/// What runs of parts cannot do.
fn refuse_in_parts(system: &System, options: &Options) -> Result<(), Failure> {
    if let Some(fmu) = system.model.fmus.first() {
        let name = suggest::quoted(&fmu.name);
        let help = "run without --split, or leave it out";
        return Err(Failure::BadInput(format!("--split: FMU {name} cannot run beside parts\nhelp: {help}")));
    }
    let asked = match (system.model.outputs.first(), options.record.is_empty()) {
        (Some(output), _) => format!("output {}", suggest::quoted(&output.name)),
        (None, false) => "--record".into(),
        _ => return Ok(()),
    };
    let help = "leave it out, or run without --split; all channels of the parts are recorded";
    Err(Failure::BadInput(format!("--split: {asked} cannot be computed where parts run by themselves\nhelp: {help}")))
}

impl Job {
    /// The simulation at its start, which is assembled once: the check looks at the same one.
    fn start(&mut self) -> Result<Simulation, Failure> {
        let machine = Machine::from(&self.system);
        let start = self.begin(&machine)?;
        if !self.args.talk.quiet || self.args.json {
            self.found = check::brief(&self.system, &self.options, &start);
        }
        if self.options.from.is_some() {
            self.start = start.clone();
        }
        let failed = |e: StartError| not_started(&self.read, self.args.said(), e);
        let mut simulation = Simulation::assembled(&machine, start, self.options.clone()).map_err(failed)?;
        if self.args.report.is_some() {
            simulation.prove();
        }
        simulation.tell_error();
        Ok(simulation)
    }

    /// Where the run begins.
    fn begin(&self, machine: &Machine) -> Result<Start, Failure> {
        let failed = |e: StartError| not_started(&self.read, self.args.said(), e);
        match self.options.from.as_deref().filter(|from| *from != EQUILIBRIUM) {
            None => begin::start(machine, &self.options).map_err(failed),
            Some(folder) => {
                let end = output::end_of_run(folder).map_err(|e| failed(e.into()))?;
                begin::from_end(machine, &end).map_err(failed)
            }
        }
    }

    fn open_live(&self) -> Result<Option<Live>, Failure> {
        let watch = &self.args.watch;
        if !watch.live {
            return Ok(None);
        }
        let failed = |e: std::io::Error| Failure::Failed(e.to_string());
        let options = bellcrank_view::ServeOptions { port: watch.port, open: !watch.no_open };
        let live = Live::new(&scene::scene(&self.system.model), &options).map_err(failed)?;
        bellcrank_view::tell(live.server(), options.open, &mut std::io::stderr()).map_err(failed)?;
        Ok(Some(live))
    }

    /// The same run with other options.
    fn again(&self, options: Options) -> Result<Simulation, StartError> {
        let machine = Machine::from(&self.system);
        let start = match self.options.from {
            Some(_) => self.start.clone(),
            None => machine.assemble()?,
        };
        Simulation::assembled(&machine, start, options)
    }

    /// Runs to the end, and once more, finer, if the accuracy is asked for.
    fn simulate(&self, mut simulation: Simulation, live: Option<&Live>) -> Result<FinishedRun, Failure> {
        let (args, options) = (&self.args, &self.options);
        let mut progress = Progress::new(options.until, args.talks());
        let mut folder = self.folder();
        if self.resume(folder.as_mut(), &mut simulation)? && args.talks() {
            tell::line(format!("resumes at t = {} s", simulation.t()));
        }
        let keeps = args.verify || args.report.is_some();
        let mut kept = keeps.then(|| ThinnedFrames::new(options, simulation.header().channels.len()));
        let mut watcher = live.map(Live::recorder);
        let mut extremes = Extremes::default();
        let mut recorders: Vec<&mut dyn Recorder> = Vec::new();
        // samples of large models cost more than they tell
        if args.talks() && self.system.model.bodies.len() <= MANY {
            recorders.push(&mut extremes);
        }
        recorders.extend(kept.as_mut().map(|r| r as &mut dyn Recorder));
        recorders.extend(watcher.as_mut().map(|r| r as &mut dyn Recorder));
        recorders.push(&mut progress);
        let summary = simulation.run(&mut Together { folder: folder.as_mut(), others: Tee(recorders) });
        progress.finish();
        if let (Status::Failed(StepError::Record(why)), 0) = (&summary.status, summary.statistics.steps) {
            // nothing was computed: the folder was no good
            return Err(Failure::BadInput(
                self.read.document.report(Diagnostic::error(why.as_str()).into()).to_string(),
            ));
        }
        let verification = match (&kept, args.verify, &summary.status) {
            (Some(kept), true, Status::Finished) => verify::verify_with(&|o| self.again(o), options, kept, &summary),
            (_, true, _) => Err("the run did not reach its end".into()),
            _ => Err("not measured; run with --verify".into()),
        };
        let place = folder.map(|folder| folder.place());
        Ok(FinishedRun { summary, kept, verification, extremes, place })
    }

    /// Prints what is asked for, and gives the summary as JSON.
    fn tell(&self, ended: &FinishedRun) -> Result<serde_json::Value, Failure> {
        let (args, FinishedRun { summary, verification, .. }) = (&self.args, ended);
        let mut told = json::run(summary);
        if args.verify {
            let object = match verification {
                Ok(v) => json::verification(v),
                Err(why) => serde_json::json!({ "error": why }),
            };
            if let Some(out) = &args.out {
                bellcrank_results::folder::amend(out, "verification", &object)
                    .map_err(|e| Failure::Failed(e.to_string()))?;
            }
            told.insert("verification".into(), object);
        }
        if args.json {
            told.insert("findings".into(), with_places(&self.found, &self.read)["findings"].take());
            print_with(|out| json::write(&told, json::FinalValues::of(summary), out))?;
        } else if args.talks() {
            tell::end(summary, &self.options, &ended.extremes, args.talk.verbose);
            if args.verify {
                tell::verification(verification, summary);
            }
        }
        Ok(told.into())
    }

    /// Writes the report, if one is asked for.
    fn report(&self, ended: &FinishedRun, told: &serde_json::Value) -> Result<(), Failure> {
        let (Some(file), Some(kept)) = (self.args.report_file(), &ended.kept) else { return Ok(()) };
        let text = self.read.document.sources.0.first().map_or("", |s| s.text.as_str());
        let evidence = Evidence {
            system: &self.system,
            options: &self.options,
            summary: &ended.summary,
            frames: &kept.memory,
            verification: ended.verification.as_ref().map_err(String::as_str),
        };
        let source = bellcrank_view::ModelText {
            name: &self.args.model,
            text,
            sha256: sha256(text.as_bytes()),
            overridden: &self.args.set,
        };
        let failed = |e: std::io::Error| Failure::Failed(format!("cannot write {}: {e}", file.display()));
        let html = bellcrank_view::truth_report(&evidence, &source, told, self.plots.clone()).map_err(failed)?;
        std::fs::write(&file, html).map_err(failed)?;
        if self.args.talks() {
            tell::line(format!("report: {}", file.display()));
        }
        Ok(())
    }

    /// Serves the page of a live run until it is closed.
    fn serve(&self, live: Live) {
        let interactive = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let interrupted = || self.options.resources.interrupt.load(Ordering::Relaxed);
        if self.args.talks() && !interrupted() && (interactive || live.watched()) {
            tell::line("the page is served until it is closed (Ctrl-C ends it)".into());
        }
        live.wait(interactive, interrupted);
    }

    /// How the command ends.
    fn outcome(&self, ended: &FinishedRun) -> Result<(), Failure> {
        let summary = &ended.summary;
        match &summary.status {
            Status::Failed(e) => Err(failed(&self.read, e)),
            Status::Interrupted => {
                let message = format!("interrupted at t = {} s", summary.t);
                let help = match &ended.place {
                    Some(place) => {
                        let more = if self.keeps() { "; --resume continues from there" } else { "" };
                        format!("results up to that time are in {}{more}", place.display())
                    }
                    None => "use --out DIR to keep the results".into(),
                };
                let problem = Diagnostic::error(message).help(help);
                Err(Failure::Failed(self.read.document.report(problem.into()).to_string()))
            }
            Status::Finished if self.args.strict && !summary.doubts.is_empty() => {
                let reasons = output::plural(summary.doubts.len(), "reason is", "reasons are");
                Err(Failure::Doubtful(format!("the run finished, but its result is doubtful: {reasons} above")))
            }
            Status::Finished => Ok(()),
        }
    }
}

/// The channels of each plot; a name that is none is refused before anything is run.
fn chosen_plots(wanted: &[String], system: &System) -> Result<Vec<Vec<String>>, Failure> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let channels: Vec<String> = system.channels().into_iter().map(|c| c.name).collect();
    let known = |name: &str| channels.iter().any(|c| c == name);
    let mut plots = Vec::new();
    for text in wanted {
        let names: Vec<&str> = if known(text) { vec![text.as_str()] } else { text.split(',').map(str::trim).collect() };
        if let Some(name) = names.iter().find(|n| !known(n)) {
            let mut problem = Diagnostic::error(format!("there is no channel {}", suggest::quoted(name)));
            problem = match suggest::nearest(name, channels.iter().map(String::as_str)) {
                Some(near) => problem.help(format!("did you mean {}?", suggest::quoted(near))),
                None => problem.help("--json prints all channels with their final values"),
            };
            return Err(Failure::BadInput(Report::from(problem).to_string()));
        }
        plots.push(names.into_iter().map(String::from).collect());
    }
    Ok(plots)
}
