//! `bellcrank glue ASSEMBLY` and `bellcrank run MODEL --split JOINT,…`.

use crate::network::{Network, Reach};
use crate::places::spoken;
use crate::{Failure, output, print, tell};
use bellcrank_glue::{
    COUPLINGS, Checkpoints, Coordinator, Coupling, GlueError, GlueOptions, INSIDE, Levels, PartModel, Solver, Source,
    Subdomain, Watch, cut, read_assembly_with,
};
use bellcrank_model::System;
use bellcrank_model::file::{diagnostic::escaped, suggest};
use bellcrank_model::model::{End, Model};
use bellcrank_results::Folder;
use bellcrank_results::json::Object;
use bellcrank_solve::FormulationKind;
use bellcrank_solve::options::{MethodName, MethodParameters, Options};
use bellcrank_solve::record::{Header, Memory, Recorder, Silent};
use bellcrank_solve::simulation::{Simulation, Status};
use bellcrank_view::{Fact, Section};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options of `glue`.
#[derive(Args)]
pub struct Glue {
    /// The assembly file: parts by their models, and the joints between their ports.
    assembly: String,
    /// Length of a window in s; of the first one, with --rtol.
    #[arg(long, value_name = "H")]
    window: Option<f64>,
    /// Lets the error choose the windows.
    #[arg(long, value_name = "R")]
    rtol: Option<f64>,
    /// End of the run in s.
    #[arg(long, value_name = "T")]
    until: Option<f64>,
    /// How parts are coupled: stabilized, position, windows, explicit.
    #[arg(long)]
    coupling: Option<String>,
    /// What may be left of gaps (in lengths), gap rates (lengths per window), accelerations (parts of the largest) and
    /// balance of loads (as a displacement, in lengths): four numbers, or one for all.
    #[arg(long, value_name = "P,V,A,D", value_delimiter = ',')]
    tolerances: Vec<f64>,
    /// Writes results.parquet, results.csv and summary.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Writes a report with the moving scene and a table of the parts to report.html in the folder of results.
    #[arg(long, requires = "out")]
    report: bool,
    /// Keeps the states of all parts every so many windows, each where it lives; 100 with parts by address.
    #[arg(long, value_name = "WINDOWS", requires = "out")]
    checkpoint: Option<u64>,
    /// Goes on from the last checkpoint in the folder of results.
    #[arg(long, requires = "out")]
    resume: bool,
    #[command(flatten)]
    reach: Reach,
    /// Prints one JSON object with counts, residuals and the final values.
    #[arg(long)]
    json: bool,
}

/// Windows between checkpoints, if nobody says.
const CHECKPOINT: u64 = 100;

/// Their folder, in that of the results.
const CHECKPOINTS: &str = "checkpoint";

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

/// Runs an assembly.
pub fn glue(args: Glue) -> Result<(), Failure> {
    if let (true, Some(out)) = (args.resume, &args.out)
        && !out.join(CHECKPOINTS).join("interface.state").exists()
    {
        return Err(Failure::BadInput(format!(
            "there is no checkpoint in `{}` to go on from\nhelp: run it once with --checkpoint WINDOWS --out {0}",
            out.display()
        )));
    }
    let mut network = Network::new(&args.reach)?;
    let assembly =
        read_assembly_with(&args.assembly, &mut |address| network.connect(address)).map_err(Failure::BadInput)?;
    let setting = |key: &str| assembly.settings.number(key);
    let until = args.until.or(setting("until")).unwrap_or(1.0);
    let rtol = args.rtol.or(setting("rtol"));
    let window = args.window.or(setting("step")).unwrap_or(until / 1000.0);
    if !(until > 0.0 && window > 0.0 && window.is_finite() && rtol.is_none_or(|r| r > 0.0)) {
        return Err(Failure::BadInput("--until, --window and --rtol must be positive".into()));
    }
    let own = assembly.parts.iter().any(|p| p.method.as_deref().is_some_and(|m| m != "gen-alpha"));
    let coupling = match &args.coupling {
        Some(word) => coupling(word)?,
        None if own => Coupling::Windows,
        None => Coupling::Stabilized,
    };
    let sample = setting("sample").unwrap_or(until / 200.0);
    let tolerances = match (&args.tolerances[..], rtol) {
        ([], Some(rtol)) => Levels::within(rtol),
        ([], None) if coupling == Coupling::Windows => Levels::all(1e-8),
        ([], None) => Levels::all(1e-10),
        (given, _) => levels(given)?,
    };
    let options = GlueOptions { coupling, window, rtol, tolerances, grid: Some(sample), ..GlueOptions::default() };
    let mut whole = Model { name: assembly.name.clone(), ..Model::default() };
    let mut parts: Vec<Box<dyn Subdomain>> = Vec::new();
    let rho = setting("rho").unwrap_or(MethodParameters::default().rho);
    let far = assembly.parts.iter().any(|p| matches!(p.source, Source::There(_)));
    for part in assembly.parts {
        if let Source::Here(piece) = &part.source {
            draw_into(&mut whole, piece);
        }
        let rtol = part.rtol.or(rtol.map(|r| INSIDE * r)).unwrap_or(1e-8);
        let how = Solver { coupling, rho, method: part.method.clone(), rtol, step: part.step };
        parts.push(part.start(&how).map_err(|e| Failure::BadInput(e.to_string()))?);
    }
    let mut glued = Coordinator::new(parts, assembly.interface, 0.0, options).map_err(refused)?;
    let mut folder = args.out.as_ref().map(|out| {
        let drawn = std::mem::take(&mut whole);
        Folder::new(out).with_scene(move |out| bellcrank_model::scene::write(&drawn, out))
    });
    let mut silent = Silent;
    let recorder: &mut dyn Recorder = match &mut folder {
        Some(folder) => folder,
        None => &mut silent,
    };
    let every = args.checkpoint.or(far.then_some(CHECKPOINT)).filter(|k| *k > 0);
    let kept = args.out.as_ref().filter(|_| every.is_some() || args.resume).map(|out| Checkpoints {
        folder: out.join(CHECKPOINTS),
        every: every.unwrap_or(CHECKPOINT),
        run: bellcrank_net::wire::hex(&bellcrank_net::keys::random::<16>()),
    });
    let channels = glued.channels(true);
    let result = kept_run(&mut glued, &assembly.name, until, sample, recorder, kept.as_ref(), args.resume, !args.json);
    let summary = summary(&mut glued, &assembly.name, &result);
    recorder.end(&Object::new(summary.clone())).map_err(|e| Failure::Failed(e.to_string()))?;
    if let Err(failure) = result {
        if !args.json {
            parts_table(&mut glued).iter().for_each(|line| tell(line));
        }
        return Err(match (failure, &args.out, &kept) {
            (Failure::Failed(why), Some(out), Some(_)) => Failure::Failed(format!(
                "{}\nhelp: see to the part, and go on from the last checkpoint with --out {} --resume",
                why.trim_end(),
                out.display()
            )),
            (failure, ..) => failure,
        });
    }
    if let (true, Some(out)) = (args.report, &args.out) {
        write_report(&mut glued, out)?;
    }
    if args.json {
        return print(&summary.to_string());
    }
    tell_parts(&mut glued);
    let values = glued.observe().map_err(refused)?;
    tell(&format!("t = {} s:", glued.time()));
    for (channel, value) in channels.iter().zip(values).take(24) {
        tell(&format!("  {:32} {:>17}  {}", channel.name, output::nine_digits(value), channel.unit));
    }
    if let Some(out) = &args.out {
        tell(&format!("results: {}", out.display()));
    }
    Ok(())
}

/// One page with the scene, plots and the parts.
fn write_report(glued: &mut Coordinator, out: &Path) -> Result<(), Failure> {
    let rows = parts_cells(glued);
    let r = glued.report();
    let fact = |name: &str, value: String| Fact { name: name.into(), value, ..Fact::default() };
    let section = Section {
        title: "Parts".into(),
        text: "Parts with their own models and solvers, joined at their ports.".into(),
        facts: vec![
            fact("windows", format!("{}, {} rejected", r.windows, r.rejected)),
            fact("exchanges per window", format!("{:.2}", r.exchanges as f64 / r.windows.max(1) as f64)),
            fact("gap of joints between parts", format!("{:.2e} m", r.residuals.position)),
        ],
        table: rows,
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

/// Frames on their way to the recorder: those since the last checkpoint can still be taken back.
struct Frames<'a> {
    out: &'a mut dyn Recorder,
    /// The frames of the run so far, for whoever resumes it.
    file: Option<File>,
    /// The time and values of frames that are not recorded yet, how many are, and how many numbers a frame has.
    waiting: Vec<f64>,
    recorded: u64,
    width: usize,
    start: f64,
    sample: f64,
    until: f64,
    next: u64,
    live: ProgressBar,
    drawn: Instant,
    talk: bool,
}

/// How often the table of a run is drawn.
const REDRAW: Duration = Duration::from_millis(250);

fn broken(e: std::io::Error) -> GlueError {
    GlueError::Unfit(format!("cannot write results: {e}"))
}

impl Frames<'_> {
    fn see(&mut self, run: &mut Coordinator) -> Result<(), GlueError> {
        self.waiting.push(run.time());
        self.waiting.extend(run.observe()?);
        Ok(())
    }

    /// Gives all frames that wait to the recorder.
    fn record(&mut self) -> std::io::Result<()> {
        for frame in self.waiting.chunks_exact(self.width) {
            self.out.frame(frame[0], &frame[1..])?;
        }
        self.recorded += (self.waiting.len() / self.width) as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Takes up the frames of a run that was kept.
    fn replay(&mut self, note: &[u64]) -> std::io::Result<()> {
        let (&[count, next], Some(file)) = (note, &mut self.file) else {
            return Err(std::io::Error::other("the checkpoint tells nothing of its frames"));
        };
        let mut bytes = vec![0; 8 * self.width * count as usize];
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut bytes)?;
        let numbers =
            bytes.chunks_exact(8).map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]));
        self.waiting = numbers.collect();
        self.next = next;
        self.record()
    }
}

impl Watch for Frames<'_> {
    fn window(&mut self, run: &mut Coordinator) -> Result<(), GlueError> {
        let (t, due) = (run.time(), self.start + self.next as f64 * self.sample);
        if t >= due - 1e-9 * self.sample || t >= self.until {
            self.next = ((t - self.start) / self.sample + 1e-9) as u64 + 1;
            self.see(run)?;
        }
        if self.talk && self.drawn.elapsed() > REDRAW {
            self.drawn = Instant::now();
            self.live.set_message(parts_table(run).join("\n"));
        }
        Ok(())
    }

    fn note(&mut self) -> Result<Vec<u64>, GlueError> {
        let mut write = || -> std::io::Result<()> {
            let Some(file) = &mut self.file else { return Ok(()) };
            let bytes: Vec<u8> = self.waiting.iter().flat_map(|x| x.to_le_bytes()).collect();
            let at = 8 * self.width as u64 * self.recorded;
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&bytes)?;
            file.set_len(at + bytes.len() as u64)
        };
        write().map_err(broken)?;
        Ok(vec![self.recorded + (self.waiting.len() / self.width) as u64, self.next])
    }

    fn kept(&mut self) -> Result<(), GlueError> {
        self.record().map_err(broken)
    }

    fn taken_back(&mut self, note: &[u64], why: &GlueError) -> Result<(), GlueError> {
        self.waiting.clear();
        self.next = note.get(1).copied().unwrap_or(self.next);
        if self.talk {
            self.live.suspend(|| tell(&format!("note: {why}; all parts go on from the last checkpoint")));
        }
        Ok(())
    }
}

/// Runs to the end with checkpoints, or on from the last one, and records.
fn kept_run(
    glued: &mut Coordinator,
    name: &str,
    until: f64,
    sample: f64,
    out: &mut dyn Recorder,
    kept: Option<&Checkpoints>,
    resume: bool,
    talk: bool,
) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::Failed(e.to_string());
    let header = Header { model: name.to_string(), channels: glued.channels(true) };
    let width = 1 + header.channels.len();
    let live = match talk && std::io::stderr().is_terminal() {
        true => ProgressBar::new_spinner()
            .with_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())),
        false => ProgressBar::hidden(),
    };
    let note = match (resume, kept) {
        (true, Some(kept)) => Some(glued.recover(&kept.folder).map_err(refused)?),
        _ => None,
    };
    // the folder of results takes no other files before it has its own
    out.begin(&header).map_err(failed)?;
    let file = match kept {
        None => None,
        Some(kept) => {
            std::fs::create_dir_all(&kept.folder).map_err(failed)?;
            let path = kept.folder.join("frames");
            let mut options = File::options();
            Some(options.read(true).write(true).create(true).truncate(!resume).open(path).map_err(failed)?)
        }
    };
    let start = 0.0;
    let mut frames = Frames {
        out,
        file,
        waiting: Vec::new(),
        recorded: 0,
        width,
        start,
        sample,
        until,
        next: 1,
        live,
        drawn: Instant::now(),
        talk,
    };
    match note {
        Some(note) => {
            frames.replay(&note).map_err(failed)?;
            if talk {
                tell(&format!("goes on from window {}, t = {} s", glued.windows(), glued.time()));
            }
        }
        None => frames.see(glued).map_err(refused)?,
    }
    let ended = match kept {
        Some(kept) => kept.run(glued, until, &mut frames),
        None => glued.run(until, &mut |run| frames.window(run)),
    };
    frames.live.finish_and_clear();
    let written = frames.record().map_err(failed);
    ended.map_err(refused)?;
    written
}

/// Adds the bodies of a part, under the names of its channels, to what is drawn.
fn draw_into(whole: &mut Model, part: &PartModel) {
    whole.space = part.model.space;
    let shift = whole.bodies.len();
    for body in &part.model.bodies {
        let mut body = body.clone();
        body.name = format!("{}/{}", part.name, body.name);
        whole.bodies.push(body);
    }
    for joint in &part.model.joints {
        let mut joint = joint.clone();
        joint.name = format!("{}/{}", part.name, joint.name);
        joint.ends = joint.ends.iter().map(|e| End { body: e.body.map(|b| b + shift), ..*e }).collect();
        whole.joints.push(joint);
    }
}

/// Runs to the end and records at the window next to every sample.
fn record(glued: &mut Coordinator, name: &str, until: f64, sample: f64, out: &mut dyn Recorder) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::Failed(e.to_string());
    out.begin(&Header { model: name.to_string(), channels: glued.channels(false) }).map_err(failed)?;
    out.frame(glued.time(), &glued.observe().map_err(refused)?).map_err(failed)?;
    let mut next = 1u64;
    let mut broken = None;
    let start = glued.time();
    let ended = glued.run(until, &mut |c| {
        let t = c.time();
        let due = start + next as f64 * sample;
        if broken.is_none() && (t >= due - 1e-9 * sample || t >= until) {
            next = ((t - start) / sample + 1e-9) as u64 + 1;
            broken = out.frame(t, &c.observe()?).err();
        }
        Ok(())
    });
    match broken {
        Some(e) => Err(failed(e)),
        None => ended.map_err(refused),
    }
}

fn summary(glued: &mut Coordinator, name: &str, ended: &Result<(), Failure>) -> Value {
    let (r, allowed) = (glued.report().clone(), glued.options().tolerances);
    let windows = glued.windows();
    let part = |p: &dyn Subdomain, seconds: f64| {
        let mut o = json!({
            "name": p.description().name, "seconds": seconds, "windows": windows, "iterations": r.exchanges,
        });
        if let Some(t) = p.traffic() {
            o["network"] = json!({
                "address": t.address, "round_trips": t.round_trips, "repeated": t.repeated, "links": t.links,
                "bytes_sent": t.bytes[0], "bytes_received": t.bytes[1],
                "seconds_waiting": t.waiting, "seconds_working": t.working,
            });
        }
        o
    };
    let parts: Vec<Value> = glued.parts().iter().zip(&r.seconds).map(|(p, s)| part(&**p, *s)).collect();
    let mut object = json!({
        "model": name,
        "status": if ended.is_ok() { "finished" } else { "failed" },
        "t": glued.time(),
        "parts": parts,
        "windows": r.windows,
        "rejected": r.rejected,
        "exchanges": r.exchanges,
        "most_exchanges": r.most,
        "admittances": r.admittances,
        "recoveries": r.recoveries,
        "residuals": {
            "position": r.residuals.position,
            "velocity": r.residuals.velocity,
            "acceleration": r.residuals.acceleration,
            "dynamics": r.residuals.dynamics,
        },
        "tolerances": {
            "position": allowed.position,
            "velocity": allowed.velocity,
            "acceleration": allowed.acceleration,
            "dynamics": allowed.dynamics,
        },
    });
    if let (Err(Failure::Failed(why) | Failure::BadInput(why)), Some(map)) = (ended, object.as_object_mut()) {
        map.insert("error".into(), json!(why));
    }
    object
}

fn tell_parts(glued: &mut Coordinator) {
    let r = glued.report().clone();
    let per = r.exchanges as f64 / r.windows.max(1) as f64;
    tell(&format!(
        "{}, {} rejected, {per:.2} exchanges per window (at most {}), {} admittances",
        output::plural(r.windows, "window", "windows"),
        r.rejected,
        r.most,
        r.admittances
    ));
    let Levels { position, velocity, acceleration, dynamics } = r.residuals;
    tell(&format!(
        "left at the joints: position {position:.1e} m, velocity {velocity:.1e} m/s, acceleration {acceleration:.1e} m/s², \
         balance of loads {dynamics:.1e} m"
    ));
    let Levels { position, velocity, acceleration, dynamics } = glued.options().tolerances;
    tell(&format!(
        "        allowed: {position:.0e} lengths, {velocity:.0e} lengths per window, {acceleration:.0e} of the largest, \
         {dynamics:.0e} lengths"
    ));
    parts_table(glued).iter().for_each(|line| tell(line));
}

/// What every part did so far, its head first.
fn parts_cells(glued: &mut Coordinator) -> Vec<Vec<String>> {
    let (r, windows) = (glued.report().clone(), glued.windows());
    let head =
        ["part", "solver", "ports", "window", "iterations", "round trips", "kB out", "kB in", "wall s", "at work s"];
    let mut out = vec![head.map(str::to_string).to_vec()];
    for (part, seconds) in glued.parts().iter().zip(&r.seconds) {
        let d = part.description();
        let solver = if d.in_step { "in step" } else { "own solver" };
        let mut row = vec![d.name.clone(), solver.into(), d.ports.len().to_string(), windows.to_string()];
        row.push(r.exchanges.to_string());
        match part.traffic() {
            Some(t) => {
                row.push(t.round_trips.to_string());
                row.extend(t.bytes.map(|b| format!("{:.1}", b as f64 / 1e3)));
                row.extend([t.waiting, t.working].map(|s| format!("{s:.3}")));
            }
            None => {
                row.extend(["-", "-", "-"].map(str::to_string));
                row.extend([format!("{seconds:.3}"), format!("{seconds:.3}")]);
            }
        }
        out.push(row);
    }
    out
}

/// The same as lines of text.
fn parts_table(glued: &mut Coordinator) -> Vec<String> {
    let rows = parts_cells(glued);
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

/// Runs a model whole and cut at joints, and tells the largest difference.
pub fn split(
    system: &Arc<System>,
    options: Options,
    joints: &[String],
    out: Option<&PathBuf>,
    json: bool,
) -> Result<(), Failure> {
    let name = system.model.name.clone();
    let (coupling, method) = match (options.step, options.formulation) {
        (Some(_), Some(FormulationKind::Index3)) => (Coupling::Position, MethodName::GeneralizedAlpha),
        (None, Some(FormulationKind::Index3)) if options.method == MethodName::GeneralizedAlpha => {
            (Coupling::Position, options.method)
        }
        (None, _) if options.method == MethodName::GeneralizedAlpha => (Coupling::Stabilized, options.method),
        (Some(_), _) => (Coupling::Stabilized, MethodName::GeneralizedAlpha),
        _ => (Coupling::Windows, options.method),
    };
    let formulation = match coupling {
        Coupling::Position => Some(FormulationKind::Index3),
        Coupling::Stabilized => Some(FormulationKind::Si2),
        _ => options.formulation,
    };
    let until = options.until;
    let window = options.step.unwrap_or(until / 1000.0);
    let sample = (options.sample_distance() / window).round().max(1.0) * window;
    let options = Options { method, formulation, sample: Some(sample), ..options };
    let mut simulation = Simulation::new(system.clone(), options.clone()).map_err(|e| Failure::BadInput(spoken(e)))?;
    let point = output::assembled(&name, system, 0.0)?;
    let names: Vec<&str> = joints.iter().map(String::as_str).collect();
    let cut = cut(system, &point, &names).map_err(|e| Failure::BadInput(e.to_string()))?;
    let mut parts = Vec::new();
    for piece in cut.parts {
        let made = match coupling {
            Coupling::Windows => piece.with_own_solver(Options { rtol: INSIDE * options.rtol, ..options.clone() }),
            _ => piece.in_step(coupling, options.parameters.rho),
        };
        parts.push(made.map_err(|e| Failure::BadInput(e.to_string()))?);
    }
    let rtol = options.step.is_none().then_some(options.rtol);
    let tolerances = rtol.map_or(Levels::all(1e-10), Levels::within);
    let glue = GlueOptions { coupling, window, rtol, tolerances, grid: Some(sample), ..GlueOptions::default() };
    let mut glued = Coordinator::new(parts, cut.interface, 0.0, glue).map_err(refused)?;
    let mut memory = Memory::default();
    record(&mut glued, &name, until, sample, &mut memory)?;
    let mut whole = Memory::default();
    let ran = simulation.run(&mut whole, &mut |_, _| {});
    if let Status::Failed(e) = &ran.status {
        return Err(Failure::Failed(format!("the whole model: {e}")));
    }
    let differences = differences(&whole, &memory);
    if let Some(out) = out {
        let drawn = system.clone();
        let mut folder = Folder::new(out).with_scene(move |out| bellcrank_model::scene::write(&drawn.model, out));
        let failed = |e: std::io::Error| Failure::Failed(e.to_string());
        folder.begin(&memory.header).map_err(failed)?;
        for (k, t) in memory.times.iter().enumerate() {
            folder.frame(*t, memory.row(k)).map_err(failed)?;
        }
        folder.end(&Object::new(summary(&mut glued, &name, &Ok(())))).map_err(failed)?;
    }
    if json {
        let mut object = summary(&mut glued, &name, &Ok(()));
        let list = differences.iter().map(
            |d| json!({ "unit": d.unit, "difference": d.size, "channel": d.channel, "t": d.t, "largest": d.scale }),
        );
        object["differences"] = Value::Array(list.collect());
        return print(&object.to_string());
    }
    tell_parts(&mut glued);
    tell("whole and glued differ at most by:");
    for d in &differences {
        tell(&format!(
            "  {:9.2e} {:6} at {} (t = {:.6} s; the largest {} is {:.3})",
            d.size, d.unit, d.channel, d.t, d.unit, d.scale
        ));
    }
    Ok(())
}

struct Difference {
    unit: &'static str,
    size: f64,
    channel: String,
    t: f64,
    scale: f64,
}

/// The largest difference of each unit, over the times that both have.
fn differences(whole: &Memory, glued: &Memory) -> Vec<Difference> {
    let mut out: Vec<Difference> = Vec::new();
    let column = |m: &Memory, name: &str| m.header.channels.iter().position(|c| c.name == name);
    for (j, channel) in whole.header.channels.iter().enumerate() {
        let Some(k) = column(glued, &channel.name) else { continue };
        let mut i = 0;
        for (row, t) in whole.times.iter().enumerate() {
            while i < glued.times.len() && glued.times[i] < t - 1e-9 * (1.0 + t.abs()) {
                i += 1;
            }
            if i == glued.times.len() || (glued.times[i] - t).abs() > 1e-9 * (1.0 + t.abs()) {
                continue;
            }
            let (a, b) = (whole.row(row)[j], glued.row(i)[k]);
            let entry = match out.iter_mut().position(|d| d.unit == channel.unit) {
                Some(at) => &mut out[at],
                None => {
                    out.push(Difference { unit: channel.unit, size: 0.0, channel: String::new(), t: *t, scale: 0.0 });
                    let last = out.len() - 1;
                    &mut out[last]
                }
            };
            entry.scale = entry.scale.max(a.abs());
            if (a - b).abs() >= entry.size {
                (entry.size, entry.channel, entry.t) = ((a - b).abs(), channel.name.clone(), *t);
            }
        }
    }
    out
}
