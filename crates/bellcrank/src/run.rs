//! `bellcrank run MODEL`.

use crate::check::with_places;
use crate::progress::Progress;
use crate::{Failure, output, print_with, tell, truth};
use bellcrank_model::Dynamics;
use bellcrank_model::file::diagnostic::escaped;
use bellcrank_model::file::{Diagnostic, Report, Span, suggest};
use bellcrank_model::read::{Read, read_model};
use bellcrank_model::scene;
use bellcrank_model::system::System;
use bellcrank_results::{Folder, json};
use bellcrank_solve::check::{self, Check, Level};
use bellcrank_solve::choices::{
    ChoiceError, Coordinates, ErrorBudget, ErrorScope, FormulationKind, MethodName, MethodParameters, Options, Origin,
    Preset, Resources, SPLITTINGS, Solver, Tested, Testing, Voice, Why, method_names,
};
use bellcrank_solve::engines::StepError;
use bellcrank_solve::newton::{self, Iteration};
use bellcrank_solve::record::{Recorder, Tee};
use bellcrank_solve::simulation::{Simulation, StartError, Status, Summary};
use bellcrank_solve::verify::{self, Kept, Verification};
use bellcrank_view::Live;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Run {
    /// All as the file says.
    pub fn of(model: &str) -> Run {
        Run { model: model.to_string(), ..Run::default() }
    }

    /// With a report there, and the accuracy told in it.
    pub fn with_report(self, file: PathBuf) -> Run {
        Run { report: Some(file), verify: true, ..self }
    }

    /// The same into a folder, without a word.
    pub fn into_folder(self, out: PathBuf) -> Run {
        Run { out: Some(out), quiet: true, ..self }
    }

    /// The same up to another time, if one is given.
    pub fn up_to(self, until: Option<f64>) -> Run {
        Run { until: until.or(self.until), ..self }
    }
}

/// Options of `run`; each is also a key of `[solve]` in the model file, and wins over it.
#[derive(Args, Default)]
pub struct Run {
    /// The model file (TOML, or JSON by its ending).
    model: String,
    /// Method: auto, bdf, gen-alpha, hht, newmark, euler, rk2, rk4, dopri5, dop853; or a method on its formulation: nstiff,
    /// hht-i3, nstiff-si2, hht-add, hht-si2.
    #[arg(long)]
    method: Option<String>,
    /// A method of the papers on coordinate splitting: cs, cm, ggl, ggl-star. It sets method, formulation, iteration, test
    /// and on; what is given besides wins.
    #[arg(long)]
    preset: Option<String>,
    /// Formulation: index3, ggl, si2, index1, add.
    #[arg(long)]
    formulation: Option<String>,
    /// Newton's iteration: auto, full, simplified, cs, cm.
    #[arg(long)]
    iteration: Option<String>,
    /// Which unknowns decide: q, q+v, all.
    #[arg(long)]
    test: Option<String>,
    /// On which coordinates errors are tested: all, independent.
    #[arg(long)]
    on: Option<String>,
    /// What the tolerance of bdf is for: step, or run (all steps together err by ten times it; for long undamped motions).
    #[arg(long)]
    errors: Option<String>,
    /// Coordinates: cartesian, or relative (those of the joints on a tree, and equations of loops).
    #[arg(long)]
    coordinates: Option<String>,
    /// What solves for accelerations and reactions: auto, direct, dense, recursion (open trees, in relative coordinates); loop-cg (many closed loops: explicit methods, and fixed
    /// steps on index3), srm or srm-all (sequential regularization: euler, rk2, rk4).
    #[arg(long)]
    solver: Option<String>,
    /// Iterates of srm, 1 to 8.
    #[arg(long, value_name = "S")]
    iterates: Option<usize>,
    /// ε of srm in s; twice the limit of stability if left out.
    #[arg(long, value_name = "E", value_parser = number, allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// Threads that work together; as many as pay if left out. Results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Fixed step size in s.
    #[arg(long, value_name = "H", value_parser = number, allow_negative_numbers = true)]
    step: Option<f64>,
    /// Relative tolerance of error-controlled methods.
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true)]
    rtol: Option<f64>,
    /// Absolute tolerance, in SI units.
    #[arg(long, value_name = "A", value_parser = number, allow_negative_numbers = true)]
    atol: Option<f64>,
    /// End of the run in s.
    #[arg(long, value_name = "T", value_parser = number, allow_negative_numbers = true)]
    until: Option<f64>,
    /// Distance of recorded samples in s.
    #[arg(long, value_name = "DT", value_parser = number, allow_negative_numbers = true)]
    sample: Option<f64>,
    /// Highest order of bdf, 1 to 5.
    #[arg(long, value_name = "K")]
    max_order: Option<usize>,
    /// Most Newton iterations per step.
    #[arg(long, value_name = "N")]
    max_iterations: Option<usize>,
    /// Spectral radius at infinity of gen-alpha: 1 is undamped, 0 most damped.
    #[arg(long, value_parser = number, allow_negative_numbers = true)]
    rho: Option<f64>,
    /// α of hht: −1/3 damps most, 0 not at all.
    #[arg(long, value_parser = number, allow_negative_numbers = true)]
    alpha: Option<f64>,
    /// β of newmark.
    #[arg(long, value_parser = number, allow_negative_numbers = true)]
    beta: Option<f64>,
    /// γ of newmark: 1/2 is undamped and of order 2.
    #[arg(long, value_parser = number, allow_negative_numbers = true)]
    gamma: Option<f64>,
    /// Share of the new reactions in the positions of hht-add; not 1/2.
    #[arg(long, value_parser = number, allow_negative_numbers = true)]
    b: Option<f64>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Runs the model whole and in parts, cut at these joints (or forces), and tells the largest difference.
    #[arg(long, value_name = "JOINTS", value_delimiter = ',')]
    split: Vec<String>,
    /// Writes results.parquet, results.csv and summary.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Runs it again, more finely, and tells how accurate it was.
    #[arg(long)]
    verify: bool,
    /// Writes a report with the moving scene, plots and the evidence of accuracy: one HTML file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "", value_parser = html_file)]
    report: Option<PathBuf>,
    /// A plot in the report: a channel, or several with commas between; may be repeated.
    #[arg(long = "plot", value_name = "CHANNELS", requires = "report")]
    plots: Vec<String>,
    /// Shows the run in the browser while it goes on.
    #[arg(long)]
    live: bool,
    /// With --live: prints the address and opens no browser.
    #[arg(long, requires = "live")]
    no_open: bool,
    /// With --live: the port to serve on, on this machine only.
    #[arg(long, requires = "live")]
    port: Option<u16>,
    /// Prints one JSON object with counts, drift, energy and the final values.
    #[arg(long)]
    json: bool,
    /// No progress bar and no summary.
    #[arg(long, short)]
    quiet: bool,
}

fn number(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "expected a number, such as 1e-3")
}

/// The file of a report; nothing stands for report.html.
fn html_file(text: &str) -> Result<PathBuf, &'static str> {
    let path = PathBuf::from(text);
    let html = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"));
    // a model that was meant is not overwritten
    if text.is_empty() || html { Ok(path) } else { Err("a report is an HTML file: name it like report.html") }
}

/// Runs a model.
pub fn run(args: Run) -> Result<(), Failure> {
    let mut read = read_model(&args.model, &args.set).map_err(|report| Failure::BadInput(report.to_string()))?;
    let options = options(&args, &read).map_err(|report| Failure::BadInput(report.to_string()))?;
    let system = Arc::new(std::mem::take(&mut read.model).into_system());
    if !args.split.is_empty() {
        return crate::glue::cut(&system, options, &args.split, args.out.as_ref(), args.json);
    }
    let interrupt = options.resources.interrupt.clone();
    let until = options.until;
    // the first Ctrl-C ends the run cleanly, the second at once
    let _ = ctrlc::set_handler(move || {
        if interrupt.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    let talk = !args.json && !args.quiet;
    let plots = chosen_plots(&args.plots, &system)?;
    let found = if args.quiet && !args.json { Check::default() } else { check::brief(&system, &options) };
    let chosen = options.clone();
    let mut simulation = Simulation::of(system.clone(), options).map_err(|e| match e {
        StartError::Option(e) => Failure::BadInput(refused(&args, &read, e).to_string()),
        StartError::Assembly(e) => Failure::BadInput(placed(&read, &e.to_string())),
        StartError::Step(e) => Failure::Failed(placed(&read, &e.to_string())),
    })?;
    if args.report.is_some() {
        simulation.prove();
    }
    if talk {
        tell_start(&system, &simulation, &found);
    }
    let live = match args.live {
        true => Some(open_live(&args, &scene::scene(&system.model))?),
        false => None,
    };
    let mut progress = Progress::new(until, talk);
    let mut folder = args.out.as_ref().map(|out| {
        let drawn = system.clone();
        Folder::new(out).with_scene(move |out| scene::write(&drawn.model, out))
    });
    let mut kept =
        (args.verify || args.report.is_some()).then(|| Kept::new(&chosen, simulation.header().channels.len()));
    let mut watcher = live.as_ref().map(Live::recorder);
    let mut recorders: Vec<&mut dyn Recorder> = Vec::new();
    recorders.extend(folder.as_mut().map(|r| r as &mut dyn Recorder));
    recorders.extend(kept.as_mut().map(|r| r as &mut dyn Recorder));
    recorders.extend(watcher.as_mut().map(|r| r as &mut dyn Recorder));
    let summary = simulation.run(&mut Tee(recorders), &mut |t, h| progress.update(t, h));
    progress.finish();
    if let (Status::Failed(StepError::Record(why)), 0) = (&summary.status, summary.statistics.steps) {
        return Err(Failure::BadInput(placed(&read, why))); // nothing was computed: the folder was no good
    }
    let mut told = json::run(&summary);
    let verification = match (&kept, args.verify, &summary.status) {
        (Some(kept), true, Status::Finished) => {
            verify::verify_with(&|o| Simulation::of(system.clone(), o), &chosen, kept, &summary)
        }
        (_, true, _) => Err("the run did not reach its end".into()),
        _ => Err("--verify would tell".into()),
    };
    if args.verify {
        let object = match &verification {
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
        told.insert("findings".into(), with_places(json::check(&found), &read)["findings"].take());
        print_with(|out| json::write(&told, json::FinalValues::of(&summary), out))?;
    } else if talk {
        tell_end(&summary, args.out.as_ref());
        if args.verify {
            tell_verification(&verification, &summary);
        }
    }
    if let (Some(file), Some(kept)) = (&args.report, &kept) {
        let evidence = truth::Evidence {
            system: &system,
            options: &chosen,
            summary: &summary,
            frames: &kept.memory,
            verification: verification.as_ref().map_err(String::as_str),
            model: (&args.model, read.document.sources.0.first().map_or("", |s| s.text.as_str())),
            set: &args.set,
        };
        let file = match (file.as_os_str().is_empty(), &args.out) {
            (false, _) => file.clone(),
            (true, Some(out)) => out.join("report.html"),
            (true, None) => PathBuf::from("report.html"),
        };
        let failed = |e: std::io::Error| Failure::Failed(format!("cannot write {}: {e}", file.display()));
        let html = truth::html(&evidence, &told.into(), plots).map_err(failed)?;
        std::fs::write(&file, html).map_err(failed)?;
        if talk {
            tell_line(format!("report: {}", file.display()));
        }
    }
    if let Some(live) = live {
        let interactive = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let interrupted = || chosen.resources.interrupt.load(Ordering::Relaxed);
        if talk && !interrupted() && (interactive || live.watched()) {
            tell_line("the page is served until it is closed (Ctrl-C ends it)".into());
        }
        live.wait(interactive, interrupted);
    }
    match &summary.status {
        Status::Failed(e) => Err(Failure::Failed(placed(&read, &e.to_string()))),
        Status::Interrupted => {
            let message = format!("interrupted at t = {} s", summary.t);
            let help = match &args.out {
                Some(out) => format!("what was recorded up to there is in {}", out.display()),
                None => "with --out DIR what was computed up to there would be kept".into(),
            };
            Err(Failure::Failed(read.document.report(Diagnostic::error(message).help(help).into()).to_string()))
        }
        Status::Finished => Ok(()),
    }
}

fn open_live(args: &Run, scene: &serde_json::Value) -> Result<Live, Failure> {
    let options = bellcrank_view::Options { port: args.port, open: !args.no_open };
    let live = Live::new(scene, &options).map_err(|e| Failure::Failed(e.to_string()))?;
    bellcrank_view::tell(live.server(), options.open, &mut std::io::stderr())
        .map_err(|e| Failure::Failed(e.to_string()))?;
    Ok(live)
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

/// A failure in words `… joint `x` …` and help, pointing at the joint or body where the file has it.
fn placed(read: &Read, text: &str) -> String {
    let (message, help) = text.split_once("\nhelp: ").unwrap_or((text, ""));
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

/// A word of the command line, or else of the file with its place.
pub type Word<'a> = Option<(&'a str, Option<Span>)>;

/// What a word means, or an error that lists what there is.
pub fn choice<T>(
    read: &Read,
    option: &str,
    word: Word,
    names: &[&str],
    find: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Report> {
    let Some((word, place)) = word else { return Ok(None) };
    find(word).map(Some).ok_or_else(|| {
        let mut problem = Diagnostic::error(format!("unknown {option} {}", suggest::quoted(word)));
        problem.span = place;
        let near = suggest::nearest(word, names.iter().copied()).map(|n| format!("did you mean `{n}`?"));
        problem = match (near, place) {
            (Some(near), Some(_)) => problem.label(near),
            (Some(near), None) => problem.help(near),
            _ => problem,
        };
        let several = match option.split_once(' ') {
            Some((kind, of)) if of.starts_with("of ") => format!("{kind}s {of}"),
            _ => format!("{option}s"),
        };
        read.document.report(problem.help(format!("{several} are {}", names.join(", "))).into())
    })
}

/// The message for a choice that cannot be run; it points into the file if it was made there.
fn refused(args: &Run, read: &Read, e: ChoiceError) -> Report {
    let on_command_line = match &*e.key {
        "method" => args.method.is_some(),
        "formulation" => args.formulation.is_some(),
        "iteration" => args.iteration.is_some(),
        "coordinates" => args.coordinates.is_some() || args.method.is_some(),
        "step" => args.step.is_some() || args.method.is_some(),
        "rtol" => args.rtol.is_some(),
        "atol" => args.atol.is_some(),
        "until" => args.until.is_some(),
        "sample" => args.sample.is_some(),
        "max_order" => args.max_order.is_some(),
        "errors" => args.errors.is_some(),
        "rho" => args.rho.is_some(),
        "alpha" => args.alpha.is_some(),
        "beta" => args.beta.is_some(),
        "gamma" => args.gamma.is_some(),
        "b" => args.b.is_some(),
        "solver" => args.solver.is_some() || args.method.is_some(),
        "iterates" => args.iterates.is_some(),
        "epsilon" => args.epsilon.is_some(),
        _ => true,
    };
    let place = match on_command_line {
        true => None,
        // where a step is missing, the method asks for it
        false => read.document.place("solve", &e.key).or_else(|| read.document.place("solve", "method")),
    };
    let e = ChoiceError { origin: place.map(Origin::File), ..e };
    read.document.report(e.diagnostic(Voice::CommandLine).into())
}

/// The options of the command line over those of the file over the defaults.
pub fn options(args: &Run, read: &Read) -> Result<Options, Report> {
    if let (Some(_), Some(_)) = (args.step, args.rtol) {
        let problem = Diagnostic::error("--step and --rtol exclude each other")
            .help("--step fixes the step size, --rtol lets the error choose it: leave one of them out");
        return Err(problem.into());
    }
    let settings = &read.settings;
    let number = |key: &str, given: Option<f64>| given.or_else(|| settings.numbers.get(key).copied());
    fn word<'a>(read: &'a Read, key: &str, given: &'a Option<String>) -> Word<'a> {
        let given = given.as_ref().map(|word| (word.as_str(), None));
        given.or_else(|| read.settings.words.get(key).map(|(word, span)| (word.as_str(), Some(*span))))
    }
    let defaults = Options::default();
    let method = word(read, "method", &args.method);
    let form = word(read, "formulation", &args.formulation);
    let iteration = word(read, "iteration", &args.iteration);
    let test = word(read, "test", &args.test);
    let on = word(read, "on", &args.on);
    let errors = word(read, "errors", &args.errors);
    let system = word(read, "coordinates", &args.coordinates);
    let solver = word(read, "solver", &args.solver);
    // a tolerance on the command line means error control, whatever step the file has
    let step = if args.rtol.is_some() { args.step } else { number("step", args.step) };
    let count = |key: &str, given: Option<usize>| given.or_else(|| settings.numbers.get(key).map(|x| *x as usize));
    let named = choice(read, "method", method, &method_names(), Options::named)?.unwrap_or(Options::default());
    let form = choice(read, "formulation", form, FormulationKind::NAMES, FormulationKind::by_name)?;
    let preset = method.and_then(|(name, _)| Preset::by_name(name)).filter(|p| p.name != p.method.name());
    if let (Some(p), Some(form)) = (preset, form.filter(|form| named.formulation != Some(*form))) {
        let reason = format!("{} is {} on {}, not on {form}", p.name, p.method.name(), p.formulation);
        let error = ChoiceError::new("formulation", reason).try_without("formulation");
        return Err(refused(args, read, error.try_with("method", p.method.name())));
    }
    let papers: Vec<&str> = SPLITTINGS.iter().map(|p| p.name).collect();
    let paper = args.preset.as_ref().map(|word| (word.as_str(), None));
    let paper = choice(read, "preset", paper, &papers, |name| SPLITTINGS.iter().find(|p| p.name == name))?;
    let mut options = Options {
        method: named.method,
        formulation: form.or(named.formulation),
        iteration: choice(read, "iteration", iteration, newton::NAMES, Iteration::by_name)?,
        coordinates: choice(read, "coordinates", system, Coordinates::NAMES, Coordinates::by_name)?.unwrap_or_default(),
        solver: choice(read, "solver", solver, Solver::NAMES, Solver::by_name)?.unwrap_or_default(),
        step,
        rtol: number("rtol", args.rtol).unwrap_or(defaults.rtol),
        until: number("until", args.until).unwrap_or(defaults.until),
        sample: number("sample", args.sample),
        parameters: MethodParameters {
            max_order: count("max_order", args.max_order).unwrap_or(named.parameters.max_order),
            rho: number("rho", args.rho).unwrap_or(defaults.parameters.rho),
            alpha: number("alpha", args.alpha).unwrap_or(defaults.parameters.alpha),
            beta: number("beta", args.beta),
            gamma: number("gamma", args.gamma).unwrap_or(defaults.parameters.gamma),
            b: number("b", args.b).unwrap_or(defaults.parameters.b),
            iterates: count("iterates", args.iterates).unwrap_or(defaults.parameters.iterates),
            epsilon: number("epsilon", args.epsilon),
        },
        testing: Testing {
            atol: number("atol", args.atol),
            test: choice(read, "test", test, Tested::NAMES, Tested::by_name)?,
            scope: choice(read, "error scope", on, ErrorScope::NAMES, ErrorScope::by_name)?.unwrap_or_default(),
            budget: choice(read, "error budget", errors, ErrorBudget::NAMES, ErrorBudget::by_name)?.unwrap_or_default(),
            max_iterations: count("max_iterations", args.max_iterations),
        },
        resources: Resources { threads: args.threads, ..Resources::default() },
    };
    if let Some(p) = paper {
        let (mut o, (iteration, test, scope)) =
            (options.clone(), p.newton.unwrap_or((Iteration::Auto, Tested::QV, ErrorScope::All)));
        o.method = if args.method.is_some() { o.method } else { MethodName::Bdf };
        o.formulation = o.formulation.filter(|_| args.formulation.is_some()).or(Some(p.formulation));
        o.iteration = o.iteration.filter(|_| args.iteration.is_some()).or(Some(iteration));
        o.testing.test = o.testing.test.filter(|_| args.test.is_some()).or(Some(test));
        o.testing.scope = if args.on.is_some() { o.testing.scope } else { scope };
        options = o;
    }
    let (method, additive) = (options.method, options.formulation == Some(FormulationKind::Additive));
    let of_alpha = matches!(method, MethodName::GeneralizedAlpha | MethodName::Auto);
    for (key, given, of, fits) in [
        ("rho", args.rho, ("method", "gen-alpha"), of_alpha),
        ("alpha", args.alpha, ("method", "hht"), method == MethodName::Hht),
        ("beta", args.beta, ("method", "newmark"), method == MethodName::Newmark),
        ("gamma", args.gamma, ("method", "newmark"), method == MethodName::Newmark),
        ("b", args.b, ("method", "hht-add"), additive),
        ("epsilon", args.epsilon, ("solver", "srm"), options.solver.regularizes()),
        ("iterates", args.iterates.map(|n| n as f64), ("solver", "srm"), options.solver.regularizes()),
    ] {
        if given.is_some() && !fits {
            let not = if of.0 == "method" { method.name() } else { options.solver.name() };
            let error = ChoiceError::because(key, Why::ParameterOf(of.1, not)).try_without(key);
            return Err(refused(args, read, error.try_with(of.0, of.1)));
        }
    }
    if system.is_some() && options.coordinates == Coordinates::Cartesian && options.solver == Solver::Recursion {
        let error = ChoiceError::new("solver", "recursion runs in relative coordinates, not in cartesian ones");
        let error = error.try_with("coordinates", "relative").try_with("solver", "direct");
        return Err(refused(args, read, error));
    }
    options.check().map_err(|e| refused(args, read, e))?;
    Ok(options)
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Nine digits after the point, or of the fraction where the number is very large or small.
fn figure(x: f64) -> String {
    match x.abs() {
        0.0 | 1e-3..1e7 => output::nine_digits(x),
        _ => format!("{x:.9e}"),
    }
}

/// Words that may hold the user's names, in one line.
fn tell_line(line: String) {
    tell(&escaped(&line));
}

fn tell_start(system: &System, simulation: &Simulation, found: &Check) {
    const MOST: usize = 8;
    let model = &system.model;
    let a = simulation.assembly();
    let redundant = match a.redundant {
        0 => String::new(),
        n => format!(", {}", plural(n, "redundant equation", "redundant equations")),
    };
    tell_line(format!(
        "{}: {}, {}, {}; {}{redundant}",
        model.name,
        plural(model.bodies.len(), "body", "bodies"),
        plural(model.joints.len(), "joint", "joints"),
        plural(model.forces.len(), "force", "forces"),
        plural(a.degrees_of_freedom, "degree of freedom", "degrees of freedom"),
    ));
    for r in found.redundancies.iter().take(MOST) {
        tell_line(format!("  redundant: {} of {}", r.directions.join(", "), r.name));
    }
    if found.redundancies.is_empty() {
        for (joint, rows) in a.redundant_joints.iter().take(MOST) {
            tell_line(format!("  redundant: {} of {joint}", plural(*rows, "equation", "equations")));
        }
    }
    let (shown, more) = found.shown();
    for f in shown.into_iter().filter(|f| f.level != Level::Note || f.kind == "unconnected") {
        tell_line(format!("{}: {}", f.level.name(), f.message));
    }
    more.into_iter().for_each(tell_line);
    if !a.moved.is_empty() {
        let iterations = plural(a.iterations, "iteration", "iterations");
        tell_line(format!("assembled in {iterations} (joints were open by {:.3e} m):", a.residual.0));
        for m in a.moved.iter().take(MOST) {
            tell_line(format!("  {} moved by {:.3e} m and {:.3e} rad", m.name, m.distance, m.angle));
        }
        if a.moved.len() > MOST {
            tell_line(format!("  and {} more", a.moved.len() - MOST));
        }
    }
}

/// The achieved accuracy, in the user's units.
fn tell_verification(verification: &Result<Verification, String>, summary: &Summary) {
    let v = match verification {
        Ok(v) => v,
        Err(why) => return tell_line(format!("accuracy: not known: {why}")),
    };
    let of = |unit: &str| if unit.is_empty() { "value".to_string() } else { unit.to_string() };
    match v.worst() {
        Some(w) => tell_line(format!(
            "accuracy: the largest error is {:.2e} {} in {} at t = {:.6} s, {:.1e} of the largest {}",
            w.error,
            w.unit,
            w.name,
            w.t,
            w.relative(),
            of(w.unit)
        )),
        None => tell_line("accuracy: no channels were recorded".into()),
    }
    let rows: Vec<_> = v.by_unit();
    let width = rows.iter().map(|d| d.unit.chars().count()).max().unwrap_or(0);
    for d in &rows {
        tell_line(format!("  {:>9.2e} {:width$}  {}", d.error, d.unit, d.name));
    }
    if !v.converges {
        let why = match v.agrees_until {
            None => "but all runs agree; the error may be a few times what is told",
            Some(_) => "the motion is chaotic, or jumps at other times",
        };
        tell_line(format!("  finer runs do not come closer to each other: {why}"));
    }
    if let Some(t) = v.agrees_until {
        tell_line(format!("  all runs agree to 1 % until t = {t:.6} s"));
    }
    let order = v.order.map_or(String::new(), |p| match verify::nominal_order(summary.names.0) {
        Some(n) if v.fixed => format!(", order {p:.2} ({} has {n})", summary.names.0),
        _ => format!(", order {p:.2}"),
    });
    let factor = v.factor.map_or(String::new(), |f| {
        let half = if v.fixed { "half the step" } else { "a tenth of the tolerance" };
        format!("; {half} makes it {f:.1} times smaller{order}")
    });
    tell_line(format!("  compared with {}{factor}", v.against));
}

fn tell_end(summary: &Summary, out: Option<&PathBuf>) {
    const MOST: usize = 24;
    let s = &summary.statistics;
    let (method, formulation, iteration) = summary.names;
    for choice in &summary.choices {
        tell_line(format!("auto: {choice}"));
    }
    if let Some(solver) = &summary.solver {
        tell_line(format!("solver: {solver}"));
    }
    tell_line(format!(
        "{method} on {formulation} ({iteration}): {}, {} rejected, {} evaluations, {} factorizations, {:.3} s",
        plural(s.steps, "step", "steps"),
        s.error_test_failures + s.convergence_failures,
        s.residual_evaluations,
        s.factorizations,
        summary.wall_seconds
    ));
    if !summary.not_unique.is_empty() {
        let (shown, all) = (summary.not_unique.iter().take(6).cloned().collect::<Vec<_>>(), summary.not_unique.len());
        let rest = if all > 6 { format!(" and {} more", all - 6) } else { String::new() };
        tell_line(format!("reactions: not unique (least ones reported) at {}{rest}", shown.join(", ")));
    }
    if let Some(split) = &summary.split {
        tell_line(format!(
            "split: {} independent and {} dependent coordinates, largest |Q| {:.2} (1 is ideal), chosen anew {}{}",
            split.independent,
            split.dependent,
            split.worst,
            plural(split.changes, "time", "times"),
            match split.redundant.is_empty() {
                true => String::new(),
                false => format!("; redundant: {}", split.redundant.join(", ")),
            }
        ));
    }
    if let Some(loops) = &summary.loops {
        let equations = plural(loops.equations, "equation of loops", "equations of loops");
        tell_line(match loops.epsilon {
            Some((epsilon, limit)) => format!(
                "{}: {equations}, ε = {epsilon:.3e} s (stable from {limit:.3e} s), drift of loops by iterate {}",
                loops.solver,
                loops.drift.iter().map(|(d, _)| format!("{d:.2e} m")).collect::<Vec<_>>().join(", ")
            ),
            None => format!(
                "{}: {equations}, {:.1} iterations each time, preconditioner made {}",
                loops.solver,
                loops.iterations as f64 / loops.solves.max(1) as f64,
                plural(loops.renewals, "time", "times")
            ),
        });
    }
    const EVENTS: usize = 5;
    for event in summary.events.iter().take(EVENTS) {
        tell_line(event.to_string());
    }
    if summary.events.len() > EVENTS {
        tell_line(format!("and {}", plural(summary.events.len() - EVENTS, "more event", "more events")));
    }
    tell_line(format!("drift: position {:.2e} m, velocity {:.2e} m/s", summary.drift.0, summary.drift.1));
    let (initial, last, error) = summary.energy;
    let (initial, last) = (figure(initial), figure(last));
    tell_line(format!(
        "energy: {initial} J at the start, {last} J at the end, largest error of the balance {error:.2e} J"
    ));
    tell_line(format!("t = {} s:", summary.t));
    let name = |name: &str| escaped(suggest::quoted(name).trim_matches('`'));
    let shown: Vec<(String, f64)> = summary.last.iter().take(MOST).map(|(n, x)| (name(n), *x)).collect();
    let width = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in shown {
        tell_line(format!("  {name:width$}  {:>17}", figure(value)));
    }
    if summary.last.len() > MOST {
        let more = plural(summary.last.len() - MOST, "more channel", "more channels");
        tell_line(format!("  and {more} (--json prints them all)"));
    }
    if let Some(out) = out {
        tell_line(format!("results: {}", out.display()));
    }
}
