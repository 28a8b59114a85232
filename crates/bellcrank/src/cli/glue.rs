//! `bellcrank glue ASSEMBLY` and `bellcrank run MODEL --split JOINT,…`: options, progress and printing of glued runs.

use crate::cli::digest::{digests, sha256};
use crate::cli::network::{Network, Reach};
use crate::cli::places::spoken;
use crate::cli::{Failure, output, print, tell};
use bellcrank_glue::{
    Assembly, COUPLINGS, Checkpoints, Coordinator, Coupling, CutRunError, GlueError, GlueOptions, GluedProgress,
    GluedRunError, GluedSimulation, GluedStatus, GluedSummary, INSIDE, INTERFACE_FILE, Levels, PARTS_FILE, PartModel,
    PartSource, Solver, Subdomain, read_assembly_at, run_cut_within,
};
use bellcrank_model::System;
use bellcrank_model::file::{bounded, diagnostic::escaped, suggest};
use bellcrank_model::model::{End, Model};
use bellcrank_results::Folder;
use bellcrank_results::json::Object;
use bellcrank_solve::choices::{Coordinates, MethodParameters, Options};
use bellcrank_solve::record::{BUCKETS, Recorder, Silent};
use bellcrank_view::{Fact, Section};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options of `glue`: its fields are the flags.
#[derive(Args)]
pub struct Glue {
    /// The assembly file: parts by their models, and the joints between their ports.
    assembly: String,
    /// A part that is at an address, whatever the file says: NAME=http://127.0.0.1:7070; may be repeated.
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = moved)]
    at: Vec<(String, String)>,
    /// Window length in s; with --rtol, of the first window.
    #[arg(long, value_name = "H")]
    window: Option<f64>,
    /// Relative tolerance: window lengths follow the estimated error.
    #[arg(long, value_name = "R")]
    rtol: Option<f64>,
    /// End of the run in s.
    #[arg(long, value_name = "T")]
    until: Option<f64>,
    /// How parts are coupled: stabilized, position, windows, relaxation, gauss, naive, explicit.
    #[arg(long)]
    coupling: Option<String>,
    /// Tolerances of gaps (in lengths), gap rates (lengths per window), accelerations (fractions of the largest) and
    /// balance of loads (as a displacement, in lengths): four numbers, or one for all.
    #[arg(long, value_name = "P,V,A,D", value_delimiter = ',')]
    tolerances: Vec<f64>,
    /// Writes results.parquet, results.csv and summary.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Writes a report with the moving scene and a table of the parts to report.html in the folder of results.
    #[arg(long, requires = "out")]
    report: bool,
    /// Writes a checkpoint after every N windows, each part on its own machine (default with parts by address: 100).
    #[arg(long, value_name = "WINDOWS", requires = "out")]
    checkpoint: Option<u64>,
    /// Resumes from the last checkpoint in the folder of results.
    #[arg(long, requires = "out")]
    resume: bool,
    #[command(flatten)]
    reach: Reach,
    /// Prints one JSON object with counts, residuals and the final values.
    #[arg(long)]
    json: bool,
}

/// A part and its address.
fn moved(text: &str) -> Result<(String, String), String> {
    let (name, url) = text.split_once('=').ok_or("write NAME=ADDRESS")?;
    Ok((name.into(), url.into()))
}

/// Windows between checkpoints of a run with remote parts.
const CHECKPOINT: u64 = 100;

/// The folder of checkpoints, in that of the results.
const CHECKPOINTS: &str = "checkpoint";

/// How often the live table is drawn.
const REDRAW: Duration = Duration::from_millis(250);

/// Channels whose final values are printed.
const SHOWN_CHANNELS: usize = 24;

fn coupling(word: &str) -> Result<Coupling, Failure> {
    COUPLINGS.iter().find(|(_, name)| *name == word).map(|(c, _)| *c).ok_or_else(|| {
        let names: Vec<&str> = COUPLINGS.iter().map(|(_, name)| *name).collect();
        let near = suggest::nearest(word, names.iter().copied()).map(|n| format!("did you mean `{n}`? "));
        let (quoted, near) = (suggest::quoted(word), near.unwrap_or_default());
        Failure::BadInput(format!("unknown coupling {quoted}\nhelp: {near}couplings are {}", names.join(", ")))
    })
}

/// One tolerance for all residuals, or one for each.
fn levels(given: &[f64]) -> Result<Levels, Failure> {
    match *given {
        [x] if x > 0.0 => Ok(Levels::all(x)),
        [position, velocity, acceleration, dynamics] if given.iter().all(|x| *x > 0.0) => {
            Ok(Levels { position, velocity, acceleration, dynamics })
        }
        _ => Err(Failure::BadInput(format!(
            "--tolerances needs one positive number or four, found {}\n\
             help: write --tolerances 1e-10, or --tolerances 1e-10,1e-10,1e-8,1e-10 for position, velocity, \
             acceleration and dynamics",
            given.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
        ))),
    }
}

fn refused(e: GlueError) -> Failure {
    match e {
        GlueError::Open { .. } | GlueError::Unfit(_) => Failure::BadInput(e.to_string()),
        _ => Failure::Failed(e.to_string()),
    }
}

fn stopped(e: GluedRunError) -> Failure {
    match e {
        GluedRunError::Glue(e) => refused(e),
        GluedRunError::Record(why) => Failure::Failed(why),
    }
}

/// The run that the command line and the assembly's `[solve]` ask for.
struct GluedRunPlan {
    until: f64,
    sample: Option<f64>,
    options: GlueOptions,
    /// The damping ρ of parts in step.
    rho: f64,
}

fn plan(args: &Glue, assembly: &Assembly) -> Result<GluedRunPlan, Failure> {
    let setting = |key: &str| assembly.settings.number(key);
    let until = args.until.or(setting("until")).unwrap_or(1.0);
    let rtol = args.rtol.or(setting("rtol"));
    let window = args.window.or(setting("step")).unwrap_or(until / 1000.0);
    if !(until > 0.0 && window > 0.0 && window.is_finite() && rtol.is_none_or(|r| r > 0.0)) {
        return Err(Failure::BadInput("--until, --window and --rtol must be positive".into()));
    }
    let needs = |coupling| assembly.parts.iter().any(|p| p.needs() == Some(coupling));
    let coupling = match &args.coupling {
        Some(word) => coupling(word)?,
        None if needs(Coupling::Explicit) => Coupling::Explicit,
        None if needs(Coupling::Windows) => Coupling::Windows,
        None => Coupling::Stabilized,
    };
    let sample = setting("sample");
    let tolerances = match (&args.tolerances[..], rtol) {
        ([], Some(rtol)) => Levels::within(rtol),
        ([], None) if coupling == Coupling::Windows => Levels::all(1e-8),
        ([], None) => Levels::all(1e-10),
        (given, _) => levels(given)?,
    };
    // windows that follow the error give rows at equal intervals, or at least as many as other runs have
    let grid = Some(sample.unwrap_or(until / BUCKETS));
    let options = GlueOptions { coupling, window, rtol, tolerances, grid, ..GlueOptions::default() };
    Ok(GluedRunPlan { until, sample, options, rho: setting("rho").unwrap_or(MethodParameters::default().rho) })
}

/// Runs an assembly.
pub fn glue(args: Glue) -> Result<(), Failure> {
    if let (true, Some(out)) = (args.resume, &args.out)
        && !out.join(CHECKPOINTS).join(INTERFACE_FILE).exists()
    {
        return Err(Failure::BadInput(format!(
            "there is no checkpoint in `{}` to resume from\nhelp: run it once with --checkpoint WINDOWS --out {0}",
            out.display()
        )));
    }
    let mut network = Network::new(&args.reach)?;
    let (assembly, files) =
        bounded::noting(|| read_assembly_at(&args.assembly, &args.at, &mut |address| network.connect(address)));
    let assembly = assembly.map_err(Failure::BadInput)?;
    let GluedRunPlan { until, sample, options, rho } = plan(&args, &assembly)?;
    let mut parts_are: Vec<(String, String)> =
        assembly.texts.iter().map(|(name, text)| (name.clone(), sha256(text.as_bytes()))).collect();
    let files = digests(&args.assembly, &files).into_iter();
    parts_are.extend(files.map(|(file, sum)| (format!("the file `{file}`"), sum)));
    let mut drawn = Model { name: assembly.name.clone(), ..Model::default() };
    let remote = assembly.parts.iter().any(|p| matches!(p.source, PartSource::There(_)));
    let mut parts: Vec<Box<dyn Subdomain>> = Vec::new();
    for part in assembly.parts {
        if let PartSource::Here(model) = &part.source {
            draw_into(&mut drawn, model);
        }
        let rtol = part.rtol.or(options.rtol.map(|r| INSIDE * r)).unwrap_or(1e-8);
        let how = Solver { coupling: options.coupling, rho, method: part.method.clone(), rtol, step: part.step };
        parts.push(part.start(&how).map_err(|e| Failure::BadInput(e.to_string()))?);
    }
    let coordinator = Coordinator::new(parts, assembly.interface, 0.0, options).map_err(refused)?;
    let mut run = GluedSimulation::new(&assembly.name, coordinator, until, sample);
    let every = args.checkpoint.or(remote.then_some(CHECKPOINT)).filter(|k| *k > 0);
    let checkpoints = args.out.as_ref().filter(|_| every.is_some() || args.resume).map(|out| Checkpoints {
        folder: out.join(CHECKPOINTS),
        every: every.unwrap_or(CHECKPOINT),
        run: bellcrank_net::wire::hex(&bellcrank_net::keys::random::<16>()),
        parts: json!(parts_are).to_string(),
    });
    let has_checkpoints = checkpoints.is_some();
    if let (true, Some(checkpoints)) = (args.resume, &checkpoints) {
        same_parts(&checkpoints.folder, &parts_are)?;
    }
    if let Some(checkpoints) = checkpoints {
        run = run.with_checkpoints(checkpoints, args.resume);
    }
    let mut folder =
        args.out.as_ref().map(|out| Folder::new(out).with_scene(move |out| bellcrank_model::scene::write(&drawn, out)));
    let mut silent = Silent;
    let recorder: &mut dyn Recorder = match &mut folder {
        Some(folder) => folder,
        None => &mut silent,
    };
    let mut live = Live::new(!args.json);
    let summary = run.run(recorder, &mut live);
    live.bar.finish_and_clear();
    recorder.end(&Object::new(to_json(&summary))).map_err(|e| Failure::Failed(e.to_string()))?;
    finish(&args, &mut run, summary, has_checkpoints)
}

/// Refuses to resume with an assembly or a part that is another one by now.
fn same_parts(folder: &Path, now: &[(String, String)]) -> Result<(), Failure> {
    let text = std::fs::read_to_string(folder.join(PARTS_FILE)).unwrap_or_default();
    let before: Vec<(String, String)> = serde_json::from_str(&text).unwrap_or_default();
    let changed = now.iter().find(|one| !before.contains(one)).or(before.iter().find(|one| !now.contains(one)));
    match changed {
        None => Ok(()),
        Some((name, _)) => Err(Failure::BadInput(format!(
            "{name} has changed since the run began\nhelp: resume with the original, or run the assembly without \
             --resume"
        ))),
    }
}

/// Tells how a run ended.
fn finish(args: &Glue, run: &mut GluedSimulation, summary: GluedSummary, has_checkpoints: bool) -> Result<(), Failure> {
    if let GluedStatus::Failed(e) = &summary.status {
        if !args.json {
            parts_table(&summary).iter().for_each(|line| tell(line));
        }
        return Err(match (stopped(e.clone()), &args.out) {
            (Failure::Failed(why), Some(out)) if has_checkpoints => Failure::Failed(format!(
                "{}\nhelp: see to the part, and resume from the last checkpoint with --out {} --resume",
                why.trim_end(),
                out.display()
            )),
            (failure, _) => failure,
        });
    }
    if let (true, Some(out)) = (args.report, &args.out) {
        write_report(&summary, out)?;
    }
    let channels = run.header().channels;
    let values = run.coordinator().observe().map_err(refused)?;
    if args.json {
        let last = channels.iter().zip(values).map(|(channel, value)| (channel.name.clone(), json!(value)));
        let mut object = to_json(&summary);
        object["final"] = Value::Object([("t".into(), json!(summary.t))].into_iter().chain(last).collect());
        return print(&object.to_string());
    }
    tell_summary(&summary);
    tell(&format!("t = {} s:", summary.t));
    for (channel, value) in channels.iter().zip(values).take(SHOWN_CHANNELS) {
        tell(&format!("  {:32} {:>17}  {}", channel.name, output::nine_digits(value), channel.unit));
    }
    if let Some(out) = &args.out {
        tell(&format!("results: {}", out.display()));
    }
    Ok(())
}

fn to_json(summary: &GluedSummary) -> Value {
    // plain numbers and words: nothing can fail
    serde_json::to_value(summary).unwrap_or_default()
}

/// One page with the scene, plots and the parts.
fn write_report(summary: &GluedSummary, out: &Path) -> Result<(), Failure> {
    let c = &summary.counts;
    let fact = |name: &str, value: String| Fact { name: name.into(), value, ..Fact::default() };
    let section = Section {
        title: "Parts".into(),
        text: "Parts with their own models and solvers, joined at their ports.".into(),
        facts: vec![
            fact("windows", format!("{}, {} rejected", c.windows, c.rejected)),
            fact("exchanges per window", format!("{:.2}", c.exchanges as f64 / c.windows.max(1) as f64)),
            fact("gap of joints between parts", format!("{:.2e} m", c.residuals.position)),
        ],
        table: parts_cells(summary),
        ..Section::default()
    };
    let report = bellcrank_view::Report { sections: vec![section], ..bellcrank_view::Report::default() };
    let file = out.join("report.html");
    let failed = |e: std::io::Error| Failure::Failed(format!("cannot write {}: {e}", file.display()));
    let html = bellcrank_view::report(out, &report).map_err(failed)?;
    std::fs::write(&file, html).map_err(failed)?;
    tell(&format!("report: {}", file.display()));
    Ok(())
}

/// The table of a run while it goes on.
struct Live {
    bar: ProgressBar,
    drawn: Instant,
    talk: bool,
}

impl Live {
    fn new(talk: bool) -> Live {
        let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = if talk && std::io::stderr().is_terminal() {
            ProgressBar::new_spinner().with_style(style)
        } else {
            ProgressBar::hidden()
        };
        Live { bar, drawn: Instant::now(), talk }
    }
}

impl GluedProgress for Live {
    fn window(&mut self, run: &Coordinator) {
        if self.talk && self.drawn.elapsed() > REDRAW {
            self.drawn = Instant::now();
            let now = GluedSummary::of(run, "", GluedStatus::Running);
            self.bar.set_message(parts_table(&now).join("\n"));
        }
    }

    fn resumed(&mut self, run: &Coordinator) {
        if self.talk {
            tell(&format!("resumes from window {}, t = {} s", run.windows(), run.time()));
        }
    }

    fn taken_back(&mut self, why: &GlueError) {
        if self.talk {
            self.bar.suspend(|| tell(&format!("note: {why}; all parts resume from the last checkpoint")));
        }
    }
}

/// Adds the bodies of a part, under the names of its channels, to what is drawn.
fn draw_into(whole: &mut Model, part: &PartModel) {
    whole.space = part.model.space;
    let shift = whole.bodies.len();
    for body in part.model.bodies.iter().filter(|b| b.is_shown()) {
        let mut body = body.clone();
        body.name = format!("{}/{}", part.name, body.name);
        whole.bodies.push(body);
    }
    for joint in part.model.joints.iter().filter(|j| j.joint.turns_rotor().is_none()) {
        let mut joint = joint.clone();
        joint.name = format!("{}/{}", part.name, joint.name);
        joint.ends = joint.ends.iter().map(|e| End { body: e.body.map(|b| b + shift), ..*e }).collect();
        whole.joints.push(joint);
    }
}

fn tell_summary(summary: &GluedSummary) {
    let c = &summary.counts;
    tell(&format!(
        "{}, {} rejected, {:.2} exchanges per window (at most {}), {} admittances",
        output::plural(c.windows, "window", "windows"),
        c.rejected,
        c.exchanges as f64 / c.windows.max(1) as f64,
        c.most_exchanges,
        c.admittances
    ));
    let Levels { position, velocity, acceleration, dynamics } = c.residuals;
    tell(&format!(
        "left at the joints: position {position:.1e} m, velocity {velocity:.1e} m/s, acceleration {acceleration:.1e} m/s², \
         balance of loads {dynamics:.1e} m"
    ));
    let Levels { position, velocity, acceleration, dynamics } = c.tolerances;
    tell(&format!(
        "        allowed: {position:.0e} lengths, {velocity:.0e} lengths per window, {acceleration:.0e} of the largest, \
         {dynamics:.0e} lengths"
    ));
    if let Some(lag) = c.lag {
        tell(&format!(
            "coupled in one pass: loads from the start of each window have displaced ports by about {lag:.1e} (m, rad); half the \
             window, half the error"
        ));
    }
    parts_table(summary).iter().for_each(|line| tell(line));
}

/// The work of every part as a table, its head first.
fn parts_cells(summary: &GluedSummary) -> Vec<Vec<String>> {
    let head =
        ["part", "solver", "ports", "window", "iterations", "round trips", "kB out", "kB in", "wall s", "at work s"];
    let mut out = vec![head.map(str::to_string).to_vec()];
    for part in &summary.parts {
        let solver = if part.in_step { "in step" } else { "own solver" };
        let mut row = vec![part.name.clone(), solver.into(), part.ports.to_string(), part.windows.to_string()];
        row.push(part.iterations.to_string());
        match &part.network {
            Some(n) => {
                row.push(n.round_trips.to_string());
                row.extend([n.bytes_sent, n.bytes_received].map(|b| format!("{:.1}", b as f64 / 1e3)));
                row.extend([n.seconds_waiting, n.seconds_working].map(|s| format!("{s:.3}")));
            }
            None => {
                row.extend(["-", "-", "-"].map(str::to_string));
                row.extend([format!("{:.3}", part.seconds), format!("{:.3}", part.seconds)]);
            }
        }
        out.push(row);
    }
    out
}

/// The same as lines of text.
fn parts_table(summary: &GluedSummary) -> Vec<String> {
    let rows = parts_cells(summary);
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|j| rows.iter().map(|r| r[j].chars().count()).max().unwrap_or(0)).collect();
    let cell = |(j, text): (usize, &String)| match j {
        0 | 1 => format!("{text:width$}", width = widths[j]),
        _ => format!("{text:>width$}", width = widths[j]),
    };
    rows.iter()
        .map(|r| format!("  {}", escaped(&r.iter().enumerate().map(cell).collect::<Vec<_>>().join("  "))))
        .collect()
}

/// Runs a model whole and cut at joints, and tells the largest differences.
pub fn cut(
    system: &Arc<System>,
    options: Options,
    joints: &[String],
    tolerances: &[f64],
    out: Option<&PathBuf>,
    json: bool,
) -> Result<(), Failure> {
    let names: Vec<&str> = joints.iter().map(String::as_str).collect();
    let tolerances = if tolerances.is_empty() { None } else { Some(levels(tolerances)?) };
    let run = run_cut_within(system, options, &names, tolerances).map_err(|e| match e {
        CutRunError::Glue(e) => stopped(e),
        CutRunError::Start(e) => Failure::BadInput(spoken(e)),
        CutRunError::Whole(_) => Failure::Failed(e.to_string()),
        _ => Failure::BadInput(e.to_string()),
    })?;
    if let Some(out) = out {
        let mut folder = Folder::of_model(out, system.clone());
        let failed = |e: std::io::Error| Failure::Failed(e.to_string());
        folder.begin(&run.glued.header).map_err(failed)?;
        for (k, t) in run.glued.times.iter().enumerate() {
            folder.frame(*t, run.glued.row(k)).map_err(failed)?;
        }
        folder.end(&Object::new(to_json(&run.summary))).map_err(failed)?;
    }
    let relative = run.coordinates == Coordinates::Relative;
    if json {
        let mut object = to_json(&run.summary);
        let list = run.differences.iter().map(
            |d| json!({ "unit": d.unit, "difference": d.size, "channel": d.channel, "t": d.t, "largest": d.scale }),
        );
        object["differences"] = Value::Array(list.collect());
        object["coordinates"] =
            json!({ "whole": if relative { "relative" } else { "cartesian" }, "parts": "cartesian" });
        return print(&object.to_string());
    }
    tell_summary(&run.summary);
    if relative {
        tell("the whole ran in relative coordinates, its parts in Cartesian ones");
    }
    if !run.summary.reactions_not_unique.is_empty() {
        let names = run.summary.reactions_not_unique.join(", ");
        tell(&format!("reactions: not unique at {names}; they are left out of the comparison"));
    }
    tell("whole and glued differ at most by:");
    for d in &run.differences {
        tell(&format!(
            "  {:9.2e} {:6} at {} (t = {:.6} s; the largest {} is {:.3})",
            d.size, d.unit, d.channel, d.t, d.unit, d.scale
        ));
    }
    Ok(())
}
