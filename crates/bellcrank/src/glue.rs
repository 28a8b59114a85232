//! `bellcrank glue ASSEMBLY` and `bellcrank run MODEL --split JOINT,…`.

use crate::{Failure, output, print, tell};
use bellcrank_glue::{
    COUPLINGS, Coordinator, Coupling, GlueError, GlueOptions, INSIDE, Levels, Piece, Subdomain, cut, read_assembly,
};
use bellcrank_model::System;
use bellcrank_model::file::suggest;
use bellcrank_model::model::{End, Model};
use bellcrank_solve::options::{METHODS, MethodName, Options};
use bellcrank_solve::record::{Folder, Header, Memory, Recorder, Silent};
use bellcrank_solve::simulation::{Simulation, Status};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

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
    /// Prints one JSON object with counts, residuals and the final values.
    #[arg(long)]
    json: bool,
}

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
    let assembly = read_assembly(&args.assembly).map_err(Failure::BadInput)?;
    let setting = |key: &str| assembly.settings.numbers.get(key).copied();
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
    for part in assembly.parts {
        draw_into(&mut whole, &part.piece);
        let held = matches!(coupling, Coupling::Windows | Coupling::Explicit);
        let made = if held {
            let word = part.method.as_deref().unwrap_or("auto");
            let Some(method) = MethodName::by_name(word) else {
                let names: Vec<&str> = METHODS.iter().map(|(_, name, _)| *name).collect();
                let name = &part.piece.name;
                return Err(Failure::BadInput(format!(
                    "unknown method {} of part `{name}`\nhelp: methods are {}",
                    suggest::quoted(word),
                    names.join(", ")
                )));
            };
            let rtol = part.rtol.or(rtol.map(|r| INSIDE * r)).unwrap_or(1e-8);
            part.piece.with_own_solver(Options { method, rtol, step: part.step, ..Options::default() })
        } else {
            part.piece.in_step(coupling, setting("rho").unwrap_or(Options::default().rho))
        };
        parts.push(made.map_err(|e| Failure::BadInput(e.to_string()))?);
    }
    let mut glued = Coordinator::new(parts, assembly.interface, 0.0, options).map_err(refused)?;
    let mut folder = args.out.as_ref().map(|out| Folder::new(out).with_scene(bellcrank_model::scene::scene(&whole)));
    let mut silent = Silent;
    let recorder: &mut dyn Recorder = match &mut folder {
        Some(folder) => folder,
        None => &mut silent,
    };
    let channels = glued.channels(true);
    let result = record(&mut glued, &assembly.name, true, until, sample, recorder);
    let summary = summary(&mut glued, &assembly.name, &result);
    recorder.end(&summary).map_err(|e| Failure::Failed(e.to_string()))?;
    result?;
    if args.json {
        return print(&summary.to_string());
    }
    tell_parts(&mut glued);
    let values = glued.observe().map_err(refused)?;
    tell(&format!("t = {} s:", glued.time()));
    for (channel, value) in channels.iter().zip(values).take(24) {
        tell(&format!("  {:32} {value:>17.9}  {}", channel.name, channel.unit));
    }
    if let Some(out) = &args.out {
        tell(&format!("results: {}", out.display()));
    }
    Ok(())
}

/// Adds the bodies of a part, under the names of its channels, to what is drawn.
fn draw_into(whole: &mut Model, part: &Piece) {
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
fn record(
    glued: &mut Coordinator,
    name: &str,
    named: bool,
    until: f64,
    sample: f64,
    out: &mut dyn Recorder,
) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::Failed(e.to_string());
    out.begin(&Header { model: name.to_string(), channels: glued.channels(named) }).map_err(failed)?;
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
    let names: Vec<String> = glued.parts().iter().map(|p| p.description().name.clone()).collect();
    let mut object = json!({
        "model": name,
        "status": if ended.is_ok() { "finished" } else { "failed" },
        "t": glued.time(),
        "parts": names.iter().zip(&r.seconds).map(|(n, s)| json!({ "name": n, "seconds": s })).collect::<Vec<_>>(),
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
    for (part, seconds) in glued.parts().iter().zip(&r.seconds) {
        let d = part.description();
        let solver = if d.in_step { "in step" } else { "own solver" };
        tell(&format!("  part {:16} {solver:10}  {} ports  {seconds:.3} s", d.name, d.ports.len()));
    }
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
        (Some(_), Some("index3")) => (Coupling::Position, MethodName::GeneralizedAlpha),
        (None, Some("index3")) if options.method == MethodName::GeneralizedAlpha => {
            (Coupling::Position, options.method)
        }
        (None, _) if options.method == MethodName::GeneralizedAlpha => (Coupling::Stabilized, options.method),
        (Some(_), _) => (Coupling::Stabilized, MethodName::GeneralizedAlpha),
        _ => (Coupling::Windows, options.method),
    };
    let formulation = match coupling {
        Coupling::Position => Some("index3"),
        Coupling::Stabilized => Some("si2"),
        _ => options.formulation,
    };
    let until = options.until;
    let window = options.step.unwrap_or(until / 1000.0);
    let sample = (options.sample_distance() / window).round().max(1.0) * window;
    let options = Options { method, formulation, sample: Some(sample), ..options };
    let mut simulation = Simulation::new(&name, system.clone(), &system.initial_state(), options.clone())
        .map_err(|e| Failure::BadInput(e.to_string()))?;
    let point = output::assembled(&name, system, 0.0)?;
    let names: Vec<&str> = joints.iter().map(String::as_str).collect();
    let cut = cut(system, &point, &names).map_err(|e| Failure::BadInput(e.to_string()))?;
    let mut parts = Vec::new();
    for piece in cut.parts {
        let made = match coupling {
            Coupling::Windows => piece.with_own_solver(Options { rtol: INSIDE * options.rtol, ..options.clone() }),
            _ => piece.in_step(coupling, options.rho),
        };
        parts.push(made.map_err(|e| Failure::BadInput(e.to_string()))?);
    }
    let rtol = options.step.is_none().then_some(options.rtol);
    let tolerances = rtol.map_or(Levels::all(1e-10), Levels::within);
    let glue = GlueOptions { coupling, window, rtol, tolerances, grid: Some(sample), ..GlueOptions::default() };
    let mut glued = Coordinator::new(parts, cut.interface, 0.0, glue).map_err(refused)?;
    let mut memory = Memory::default();
    record(&mut glued, &name, false, until, sample, &mut memory)?;
    let mut whole = Memory::default();
    let ran = simulation.run(&mut whole, &mut |_, _| {});
    if let Status::Failed(e) = &ran.status {
        return Err(Failure::Failed(format!("the whole model: {e}")));
    }
    let differences = differences(&whole, &memory);
    if let Some(out) = out {
        let mut folder = Folder::new(out).with_scene(bellcrank_model::scene::scene(&system.model));
        let failed = |e: std::io::Error| Failure::Failed(e.to_string());
        folder.begin(&memory.header).map_err(failed)?;
        for (k, t) in memory.times.iter().enumerate() {
            folder.frame(*t, memory.row(k)).map_err(failed)?;
        }
        folder.end(&summary(&mut glued, &name, &Ok(()))).map_err(failed)?;
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
